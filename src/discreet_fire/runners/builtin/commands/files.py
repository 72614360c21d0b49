"""Data in and out: `use`, `save`, `import delimited`, `input`, `preserve`, `restore`.

In: calls. Out: the session's data. Files are read and written inside the do-file's folder
only; temporary files never reach the disk. What would write data for elsewhere is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from discreet.files import atomic_path
from discreet_fire.runners.builtin.data.data_files import (
    dta_bytes,
    marks_of,
    note_marks,
    read_data,
    read_delimited,
)
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable
from discreet_fire.runners.builtin.disclosure.copies import copied_names
from discreet_fire.runners.builtin.disclosure.units import few, number_microdata
from discreet_fire.runners.builtin.interpreter import numbers_of
from discreet_fire.runners.builtin.language.calls import CommandCall, read_call, split_outside
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.values import (
    STR_MAX,
    limited,
    number_or_code,
    shortened,
    text_column,
    text_width,
)
from discreet_fire.runners.builtin.macro_expansion import words_of
from discreet_fire.runners.builtin.registry import command, find, settle_options
from discreet_fire.runners.builtin.samples import selected
from discreet_fire.runners.builtin.state.parts import SavedData
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import Check, CheckVerdict, SafeResult

_TEMPORARY = re.compile(r"__\d{6}\Z")


def file_name(text: str) -> str:
    """The one file that a text names, without its quotes."""
    words = words_of(text)
    DoError.when(len(words) != 1, "invalid file specification", code=198)
    return words[0]


def _given(session: Session, name: str) -> Path | None:
    """The file of a name that was given to the run, whatever folder stands before it."""
    return session.memory.sources.get(name.replace("\\", "/").rsplit("/", 1)[-1])


def stored_data(session: Session, name: str, suffix: str = ".dta") -> SavedData:
    """The data of a file: saved by this run, given to it, or in its folder."""
    word = file_name(name)
    path = _given(session, word) or _given(session, word + suffix)
    path = path if path is not None else session.path_of(word, suffix)
    if path not in session.memory.files:
        data = read_data(path)
        number_microdata(session, data, path)
        session.memory.files[path] = SavedData(data, *marks_of(path))
    return session.memory.files[path]


def _check_unchanged(session: Session, call: CommandCall) -> None:
    if session.data.variables and session.data.changed and not call.has("clear"):
        raise DoError("no; data in memory would be lost", code=4)


@command("use")
def use(session: Session, call: CommandCall) -> None:
    """`use file [, clear]`, `use varlist [if] [in] using file`."""
    _check_unchanged(session, call)
    kept = stored_data(session, call.using or call.head)
    before = session.data
    session.take(kept)
    try:
        data = session.data
        wanted = set(data.listed(call.head if call.using and call.head else "_all"))
        if call.condition is not None or call.rows is not None:
            data.take(selected(session, call))
        data.drop([name for name in data.variables if name not in wanted])
    except DoError:
        session.data = before
        raise
    if call.has("nolabel"):
        data.value_labels.clear()
    data.settle()


@command("save saveold")
def save(session: Session, call: CommandCall) -> None:
    """`save file [, replace]`; a person has to see that the file stays inside."""
    path = session.path_of(file_name(call.head), ".dta")
    if path in {one.resolve() for one in session.memory.sources.values()}:
        raise DoError("the data given to the run may not be overwritten", code=608)
    UnsupportedError.when(path.suffix.lower() != ".dta", "saving other files than .dta")
    name = path.relative_to(session.memory.folder.resolve()).as_posix()
    if session.trace.touched:
        session.trace.names.add(name)
    inside = bool(_TEMPORARY.match(path.stem))
    known = path in session.memory.files or path.exists()
    if known and not call.has("replace") and not inside:
        raise DoError(f"file {name} already exists", code=602)
    if not session.data.variables and not call.has("emptyok"):
        raise DoError("no variables defined", code=111)
    kept = session.kept()
    if call.has("nolabel"):
        kept.data.value_labels.clear()
    elif not call.has("orphans"):
        used = {one.value_label for one in kept.data.variables.values()}
        for unused in kept.data.value_labels.keys() - used:
            del kept.data.value_labels[unused]
    if not inside:
        _refuse_long(session, kept.data)
        _write(path, kept)
    session.data.settle()
    kept.data.settle()
    session.memory.files[path] = kept
    if not inside:
        reason = "data are saved; the file may not leave the centre"
        check = Check(rule="microdata", verdict=CheckVerdict.review, reason=reason, where=name)
        session.show(SafeResult(command=call.name, shown=f"file {name} saved", checks=[check]))


def _refuse_long(session: Session, data: DataSet) -> None:
    """Texts of more than 2,045 bytes are not saved; that there are any may hang on one value."""
    for one in data.variables.values():
        if one.kind == "strL":
            error = UnsupportedError("saving strL variables")
            error.redacted = few(session, [len(text.encode()) > STR_MAX for text in one.values])
            raise error


def _write(path: Path, kept: SavedData) -> None:
    DoError.when(not path.parent.is_dir(), "the folder of the file does not exist", code=601)
    content = dta_bytes(kept.data)
    note_marks(path, content, kept.variables | copied_names(kept.data), kept.made)
    with atomic_path(path, private=True) as place:
        place.write_bytes(content)


@command("import insheet")
def import_text(session: Session, call: CommandCall) -> None:
    """`import delimited [using] file [, options]`, `insheet using file`."""
    text = call.text
    if call.name == "import":
        kind, _, text = text.strip().partition(" ")
        if not ("delimited".startswith(kind) and len(kind) >= 5):
            raise UnsupportedError(f"import {kind}")
    inner = read_call(call.name, text, call.line)
    known = find(call.name)
    if known is not None:
        settle_options(known, inner)
    _check_unchanged(session, inner)
    UnsupportedError.when(inner.using and inner.head, "import with a list of variables")
    name = file_name(inner.using or inner.head)
    path = _given(session, name)
    path = path or session.path_of(name, ".csv")
    session.data = read_delimited(path, **_reading(inner))
    number_microdata(session, session.data, path)
    session.data.settle()


def _reading(call: CommandCall) -> dict[str, Any]:
    """What the options say, for `read_delimited`."""
    reading: dict[str, Any] = {}
    sign = call.argument("delimiters")
    if sign is not None:
        word, *others = split_outside(sign, ",") if sign != "," else [sign]
        UnsupportedError.when(others, "options of delimiters()")
        word = word.strip().strip('"')
        reading["delimiter"] = {"\\t": "\t", "tab": "\t", "comma": ","}.get(word, word)
    if call.has("tab") or call.has("comma"):
        reading["delimiter"] = "\t" if call.has("tab") else ","
    names = call.argument("varnames")
    if names is not None:
        if names not in ("1", "nonames"):
            raise UnsupportedError("import with varnames() other than 1 and nonames")
        reading["header"] = names == "1"
    if call.has("names") or call.has("nonames"):
        reading["header"] = call.has("names")
    if call.argument("encoding"):
        reading["encoding"] = str(call.argument("encoding")).strip('"')
    case = call.argument("case")
    if case is not None:
        reading["case"] = case
    texts = call.argument("stringcols")
    if texts == "_all":
        reading["texts"] = range(1, 100_000)
    elif texts:
        reading["texts"] = [int(one) for one in numbers_of(texts)]
    return reading


@command("input")
def typed_in(session: Session, call: CommandCall) -> None:
    """`input [type] name … end`."""
    before, *options = call.text.replace("\t", " ").split(",")
    UnsupportedError.when("".join(options).strip(), "an option of input")
    columns: list[tuple[str, str]] = []
    kind = ""
    for word in before.split():
        if re.fullmatch(r"byte|int|long|float|double|str\d+", word):
            kind = word
            continue
        columns.append((word, kind))
        kind = ""
    if (session.data.variables and session.data.rows) or not columns:
        raise UnsupportedError("input where there are data already")
    lines = [line for line in (call.options.get("lines") or "").splitlines() if line.strip()]
    table = [words_of(line.replace(",", " ")) for line in lines]
    if any(len(row) != len(columns) for row in table):
        raise DoError("a line of input has too few or too many values", code=198)
    data = DataSet(rows=len(table))
    for at, (name, stored) in enumerate(columns):
        data.check_new(name)
        data.variables[name] = _typed([row[at] for row in table], stored or "float")
    session.data = data


def _typed(words: list[str], kind: str) -> DataVariable:
    width = text_width(kind)
    if width is not None:
        return DataVariable(text_column(shortened(text, width) for text in words), kind)
    numbers = [number_or_code(word) for word in words]
    if None in numbers:
        raise DoError("a value of input is no number", code=198)
    return DataVariable(limited(np.array(numbers, dtype=np.float64), kind), kind)


@command("preserve")
def preserve(session: Session, call: CommandCall) -> None:
    """`preserve`; each program or do-file may put the data aside once at a time."""
    preserved, depth = session.memory.preserved, session.macros.depth
    DoError.when(preserved and preserved[-1][0] >= depth, "already preserved", code=621)
    preserved.append((depth, session.kept()))


@command("restore")
def restore(session: Session, call: CommandCall) -> None:
    """`restore [, not preserve]`: data put aside are taken back, or only forgotten."""
    preserved = session.memory.preserved
    if not preserved or preserved[-1][0] < session.macros.depth:
        raise DoError("nothing to restore", code=622)
    kept = preserved[-1][1]
    if not call.has("preserve"):
        preserved.pop()
    if not call.has("not"):
        session.take(kept)


@command("clear")
def clear(session: Session, call: CommandCall) -> None:
    """`clear`, `clear all`, `clear mata`, `clear results` …"""
    kind = call.text.strip()
    if kind not in ("", "all", "*", "mata", "matrix", "results", "programs", "ado"):
        raise UnsupportedError(f"clear {kind}")
    if kind in ("", "all", "*"):
        session.take(SavedData(DataSet(), frozenset()))
    if kind in ("all", "*", "matrix"):
        session.results.matrices.clear()
    if kind in ("all", "*"):
        session.results.scalars.clear()
        session.results.estimates.clear()
        session.results.model = None
    if kind in ("all", "*", "results"):
        session.results.stored.update({"r": {}, "e": {}, "s": {}})
    if kind in ("all", "*", "programs"):
        session.macros.programs.clear()


@command("erase rm")
def erase(session: Session, call: CommandCall) -> None:
    """`erase file`: only files that this run has saved are deleted."""
    path = session.path_of(file_name(call.text), "")
    sources = {one.resolve() for one in session.memory.sources.values()}
    if path not in session.memory.files or path in sources:
        raise DoError("only files that this run has saved may be erased", code=601)
    del session.memory.files[path]
    path.unlink(missing_ok=True)


@command("cd")
def change_folder(session: Session, call: CommandCall) -> None:
    """`cd folder`; with nothing it stays where it is."""
    if not call.text.strip():
        return
    path = session.path_of(file_name(call.text))
    DoError.when(not path.is_dir(), "unable to change to folder", code=170)
    session.memory.here = path.relative_to(session.memory.folder.resolve()).as_posix()
    if session.trace.touched:
        session.trace.names.add(session.memory.here)


@command("pwd")
def folder(session: Session, call: CommandCall) -> None:
    """`pwd`."""
    session.write(session.memory.here or ".")


@command("mkdir")
def make_folder(session: Session, call: CommandCall) -> None:
    """`mkdir folder`."""
    path = session.path_of(file_name(call.text.split(",")[0]))
    wrong = path.exists() or not path.parent.is_dir()
    DoError.when(wrong, "could not create folder", code=693)
    path.mkdir()
