"""First programmes: of one table, from the words of a line; the table itself without one.

In: a file of records, what spans a table, and what protects it. Out: the programme that says
so, as TOML; or the table in its file, made by that programme. Nothing here has seen data.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.confidential import without_values
from discreet.errors import PublicationError
from discreet.files import (
    TEMPORARY_SUFFIX,
    atomic_path,
    check_writable,
    make_folder,
    toml_key,
    toml_value,
    write_text,
)
from discreet.microdata import is_url
from discreet.publication import format_of, suffix_of
from discreet.release.inputs import Inputs
from discreet.release.programme.file import from_document, raise_problems
from discreet.release.report.summary import ReleaseSummary
from discreet.release.run.data_checks import data_problems
from discreet.release.run.inputs import open_programme
from discreet.release.run.release import carry_out

_Progress = Callable[[int, int, str], None]
#: Deeper tables of keys are written in a line.
_DEEPEST = 2
#: Entries of these sections are files, relative to the programme.
_FILES = {
    ("data", "source"),
    ("data", "database"),
    ("data", "metadata"),
    ("keys", "secret_file"),
    ("period", "earlier"),
    ("period", "first"),
    ("perturbation", "table"),
    ("variables", "hierarchy"),
    ("variables", "codelist"),
}
#: What a folder gets.
_ALL = ("csv", "xlsx", "html")


@without_values
def protect_line(
    line: Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    progress: _Progress | None = None,
    show_values: bool = False,
) -> ReleaseSummary:
    """Make the table of a line: into a file, or into a folder with pages about it.

    Args:
        line: A programme without names of tables: under `table` stand the keys of its one table.
        out: The file of the table, or the folder of the release.
        progress: Called after each step with steps done, steps to do, and a name.
        show_values: Let errors about the data quote the first wrong value of a column.
    """
    target = Path(out)
    single = bool(target.suffix)
    if single:
        check_writable(target.parent)
    else:
        make_folder(target)
    with tempfile.TemporaryDirectory(
        prefix=f".{target.name}.", suffix=TEMPORARY_SUFFIX, dir=target.parent
    ) as folder:
        # Of what a release of one file makes, no more than that file is kept.
        kept = {**line, "quality": {"enabled": False}} if single else line
        inputs = _inputs(kept, target, Path(folder), show_values=show_values)
        if not single:
            return carry_out(inputs, target, progress=progress)
        summary = carry_out(inputs, Path(folder) / "release", progress=progress)
        (table,) = summary.tables
        ((file, digest),) = table.files.items()
        with atomic_path(target) as temporary:
            (summary.out / file).replace(temporary)
    return replace(
        summary,
        out=target.parent,
        report=target,
        tables=(replace(table, files={target.name: digest}),),
    )


def save_programme(
    line: Mapping[str, Any], path: str | os.PathLike[str], out: str | os.PathLike[str] | None
) -> None:
    """Write the programme that makes the same table."""
    target = Path(path)
    check_saved(target)
    write_text(target, programme_text(_document(line, out), target.parent))


def programme_text(document: Mapping[str, Any], folder: Path) -> str:
    """A programme that will stand in a folder; the files it names are so far seen from here."""
    return toml_text(_with_files(document, lambda file: _relative(file, folder)))


def check_saved(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no programme can be written, before anything else is."""
    target = Path(path)
    check_writable(target.parent)
    if target.exists():
        message, hint = (
            "the file exists already; programmes are never replaced",
            "choose another name",
        )
        raise PublicationError(message, code="exists", where=str(target), hint=hint)


# -- the programme ----------------------------------------------------------------


@without_values
def check_line(
    line: Mapping[str, Any], out: str | os.PathLike[str] | None, *, show_values: bool = False
) -> Inputs:
    """Open and check everything that a line names and all records, and write nothing."""
    nowhere = Path(tempfile.gettempdir()) / f"line{TEMPORARY_SUFFIX}"
    inputs = _inputs(line, out, nowhere, show_values=show_values)
    raise_problems(inputs.programme.place, data_problems(inputs, show_values=show_values))
    return inputs


def _inputs(
    line: Mapping[str, Any], out: str | os.PathLike[str] | None, folder: Path, *, show_values: bool
) -> Inputs:
    """What a line names, opened; what is kept beside a programme lies in a folder."""
    document = _with_files(_document(line, out), os.path.abspath)
    (name,) = document["tables"]
    programme, problems = from_document(document, folder / f"{name}.toml")
    return open_programme(programme, problems, show_values=show_values)


def _document(line: Mapping[str, Any], out: str | os.PathLike[str] | None) -> dict[str, Any]:
    """The programme of a line, with a table that is called as its file is."""
    document = dict(line)
    table, name, formats = document.pop("table"), "table", list(_ALL)
    if out is not None and Path(out).suffix:
        target, formats = Path(out), [format_of(Path(out))]
        ending = suffix_of(formats[0])
        stem = target.name[: -len(ending)] if target.name.lower().endswith(ending) else target.stem
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "table"
    title = {"title": table["title"]} if "title" in table else {}
    return {**title, **document, "tables": {name: {**table, "formats": formats}}}


def _with_files(document: Mapping[str, Any], moved: Callable[[str], str]) -> dict[str, Any]:
    """The programme with the names of its files as they are to be written."""

    def placed(section: str, keys: Mapping[str, Any]) -> dict[str, Any]:
        def place(value: Any) -> Any:
            if isinstance(value, list):
                return [place(one) for one in value]
            return value if is_url(value) else moved(value)

        return {
            key: place(value) if (section, key) in _FILES else value for key, value in keys.items()
        }

    moved_files = {
        section: placed(section, keys) if isinstance(keys, Mapping) else keys
        for section, keys in document.items()
    }
    for name, keys in document.get("variables", {}).items():
        moved_files["variables"][name] = placed("variables", keys)
    return moved_files


def _relative(file: str, folder: Path) -> str:
    """A file as seen from a folder, with the slashes that programmes have everywhere."""
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # another drive
        return Path(file).absolute().as_posix()


def toml_text(document: Mapping[str, Any]) -> str:
    """A programme as TOML: a section for each table of keys, inner ones as they come.

    >>> print(toml_text({"title": "T", "keys": {"id": "person"}, "variables": {"age": {"codes":
    ...       ["a", "b"]}}}), end="")
    title = "T"
    <BLANKLINE>
    [keys]
    id = "person"
    <BLANKLINE>
    [variables.age]
    codes = ["a", "b"]
    """
    sections: list[str] = []
    _write_section((), document, sections)
    return "\n".join(sections)


def _write_section(path: tuple[str, ...], keys: Mapping[str, Any], sections: list[str]) -> None:
    own = {key: value for key, value in keys.items() if not _is_section(path, value)}
    lines = [f"[{'.'.join(map(toml_key, path))}]"] if path and own else []
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in own.items()]
    if lines:
        sections.append("\n".join(lines) + "\n")
    for key, value in keys.items():
        if _is_section(path, value):
            _write_section((*path, key), value, sections)


def _is_section(path: tuple[str, ...], value: Any) -> bool:
    return isinstance(value, dict) and len(path) < _DEEPEST
