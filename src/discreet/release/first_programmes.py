"""First programmes: of one table, from the words of a line; the table itself without one.

In: a file of records, what spans a table, and what protects it. Out: the programme that says
so, as TOML; or the table in its file, made by that programme. Nothing here has seen data.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    ("perturbation", "table"),
    ("variables", "hierarchy"),
    ("variables", "codelist"),
}
#: What a folder gets.
_ALL = ("csv", "xlsx", "html")


@dataclass(frozen=True, kw_only=True)
class TableLine:
    """One table as a line asks for it: nothing is needed but what has no default."""

    #: The keys of [data]: `source`, or `database` with `table` or `query`, and how a file is to be
    #: read
    data: Mapping[str, Any]
    by: Sequence[str]  # the spanning variables
    ptable: str  # the file of the perturbation table
    #: The keys of [keys]: `column`, or `id` with `secret_file` or `secret_env`
    keys: Mapping[str, Any]
    perturbation: Mapping[str, Any] = field(default_factory=dict)  # further keys of [perturbation]
    #: Name of a spanning variable → keys of its section
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Further keys of the table: `where`, `weight`, `title`, `round_to`, `official` …
    table: Mapping[str, Any] = field(default_factory=dict)
    language: str = "en"  # the language of what is published

    def document(self, name: str, formats: Sequence[str]) -> dict[str, Any]:
        """The programme, with the table by a name.

        >>> line = TableLine(data={"source": "p.csv"}, by=["sex"], ptable="pt.json",
        ...                  keys={"column": "key"})
        >>> line.document("people", ["csv"])["tables"]
        {'people': {'by': ['sex'], 'formats': ['csv']}}
        """
        title = {"title": self.table["title"]} if "title" in self.table else {}
        return {
            **title,
            "languages": [self.language],
            "data": dict(self.data),
            "keys": dict(self.keys),
            "perturbation": {"table": self.ptable, **self.perturbation},
            "variables": {each: dict(keys) for each, keys in self.variables.items()},
            "tables": {name: {"by": list(self.by), "formats": list(formats), **self.table}},
        }


@without_values
def protect_line(
    line: TableLine,
    out: str | os.PathLike[str],
    *,
    progress: _Progress | None = None,
    show_values: bool = False,
) -> ReleaseSummary:
    """Make the table of a line: into a file, or into a folder with pages about it."""
    target = Path(out)
    single = bool(target.suffix)
    if single:
        check_writable(target.parent)
    else:
        make_folder(target)
    with tempfile.TemporaryDirectory(
        prefix=f".{target.name}.", suffix=TEMPORARY_SUFFIX, dir=target.parent
    ) as folder:
        inputs = _inputs(line, target, Path(folder), show_values=show_values)
        if not single:
            return carry_out(inputs, target, progress=progress)
        made = carry_out(inputs, Path(folder) / "release", progress=progress)
        (table,) = made.tables
        ((file, digest),) = table.files.items()
        with atomic_path(target) as temporary:
            (made.out / file).replace(temporary)
    return replace(
        made,
        out=target.parent,
        report=target,
        tables=(replace(table, files={target.name: digest}),),
    )


def save_programme(
    line: TableLine, path: str | os.PathLike[str], out: str | os.PathLike[str] | None
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
        what, hint = "there is a file already; programmes are not replaced", "take another name"
        raise PublicationError(what, code="exists", where=str(target), hint=hint)


def _table_name(target: Path) -> str:
    """What a table is called whose file has this name."""
    ending = suffix_of(format_of(target))
    stem = target.name[: -len(ending)] if target.name.lower().endswith(ending) else target.stem
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "table"


# -- the programme ----------------------------------------------------------------


@without_values
def check_line(
    line: TableLine, out: str | os.PathLike[str] | None, *, show_values: bool = False
) -> Inputs:
    """Open and check everything that a line names and all records, and write nothing."""
    nowhere = Path(tempfile.gettempdir()) / f"line{TEMPORARY_SUFFIX}"
    inputs = _inputs(line, out, nowhere, show_values=show_values)
    raise_problems(inputs.programme.place, data_problems(inputs, show_values=show_values))
    return inputs


def _inputs(
    line: TableLine, out: str | os.PathLike[str] | None, folder: Path, *, show_values: bool
) -> Inputs:
    """What a line names, opened; what is kept beside a programme lies in a folder."""
    document = _with_files(_document(line, out), os.path.abspath)
    (name,) = document["tables"]
    programme, problems = from_document(document, folder / f"{name}.toml")
    return open_programme(programme, problems, show_values=show_values)


def _document(line: TableLine, out: str | os.PathLike[str] | None) -> dict[str, Any]:
    """The programme of a line, with a table that is called as its file is."""
    if out is None or not Path(out).suffix:
        return line.document("table", _ALL)
    return line.document(_table_name(Path(out)), [format_of(Path(out))])


def _with_files(document: Mapping[str, Any], moved: Callable[[str], str]) -> dict[str, Any]:
    """The programme with the names of its files as they are to be written."""

    def placed(section: str, keys: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: moved(value) if (section, key) in _FILES and not is_url(value) else value
            for key, value in keys.items()
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
