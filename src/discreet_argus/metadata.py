"""`ArgusMetadata`: the `.rda` description of a file of records or of cells, and such records.

In: a text that names variables, their places, code lists and roles; a text of fixed width or
with a separator. Out: the same as an object, from which classifications are made, and back;
a frame with one column per variable (CONFIDENTIAL).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.classifications import Classification
from discreet.errors import Problem, SuppressionError
from discreet.files import write_text
from discreet_argus.texts import (
    ArgusText,
    LineReader,
    open_text,
    refuse_lines,
    split_rows,
)

if TYPE_CHECKING:
    import polars as pl

Form = Literal["fixed", "free", "table"]

#: Properties that say what a variable is for, with the role they stand for.
_ROLES = {
    "<WEIGHT>": "weight",
    "<HOLDING>": "holding",
    "<REQUEST>": "request",
    "<WAIVER>": "waiver",
    "<RECORDKEY>": "record_key",
    "<SHADOW>": "shadow",
    "<COST>": "cost",
    "<COSTVAR>": "cost",
    "<LOWERPL>": "lower",
    "<UPPERPL>": "upper",
    "<FREQUENCY>": "frequency",
    "<MAXSCORE>": "top",
    "<STATUS>": "status",
}
_MARKS = {role: mark for mark, role in _ROLES.items() if mark != "<COST>"}
#: Properties of the cell-key method, kept as they are.
_KEPT = {
    *("<PFILE>", "<PFILE_FREQ>", "<PFILE_CONT>", "<PFILE_SEP>", "<CKM>", "<INCLUDEZEROS>"),
    *("<PARITY>", "<SEPARATION>", "<SCALING>", "<TRUNCABLE>"),
}
_LETTERS = {"<SAFE>": "safe", "<UNSAFE>": "unsafe", "<PROTECT>": "protected"}


@dataclass(frozen=True, kw_only=True)
class ArgusVariable:
    """One variable of a metadata file."""

    name: str
    start: int = 0  # first position in records of fixed width, from 1; 0 elsewhere
    length: int = 0  # number of positions; 0 in files of cells
    missing: tuple[str, ...] = ()  # codes of missing values
    coded: bool = False  # whether it can span tables
    numeric: bool = False  # whether it holds numbers; both may be so
    #: weight, holding, request, waiver, record_key; in files of cells frequency, shadow, cost, top,
    #: status, lower, upper; or empty
    role: str = ""
    total: str = "Total"  # code of the total
    decimals: int = 0  # digits after the decimal point
    #: Number of leading positions that each level of the hierarchy adds
    levels: tuple[int, ...] = ()
    hierarchy: str = ""  # name of its `.hrc` file
    lead: str = "@"  # the lead string there
    codelist: str = ""  # name of its `.cdl` file
    distance: tuple[int, ...] = ()  # costs of neighbours at distances 1 to 5
    #: Codes of records whose owners ask for protection; of a waiver (not known to τ-ARGUS), codes
    #: of those who have consented to be shown
    request: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # properties of other methods, as written


@dataclass(frozen=True, kw_only=True)
class ArgusMetadata:
    """A metadata file."""

    form: Form  # records of "fixed" width, "free" records with a separator, or cells ("table")
    separator: str  # sign between fields
    variables: tuple[ArgusVariable, ...]  # the variables in their order
    #: Letters of the status of cells: safe, unsafe, protected
    letters: tuple[str, str, str] = ("S", "U", "P")
    #: Where hierarchies and code lists are looked for
    folder: Path = field(default=Path(), compare=False)

    def variable(self, name: str) -> ArgusVariable:
        """The variable of this name, whatever the case of its letters."""
        for variable in self.variables:
            if variable.name.casefold() == name.casefold():
                return variable
        hint = f"found: {', '.join(variable.name for variable in self.variables)}"
        raise SuppressionError(f"variable {name!r} not found", code="argus-variable", hint=hint)

    def role(self, role: str) -> list[ArgusVariable]:
        """The variables with a role, in their order."""
        return [variable for variable in self.variables if variable.role == role]

    def classification(self, name: str, codes: Iterable[str] = ()) -> Classification:
        """The classification of a variable, of codes found in the data where no file lists them."""
        variable = self.variable(name)
        found = set(codes)
        tree = self._tree(variable, found)
        for code in variable.missing:
            if code in found and code not in tree.index:
                tree = tree.replace(missing=code).with_missing()
        return tree

    def _tree(self, variable: ArgusVariable, codes: set[str]) -> Classification:
        """The classification without codes of missing values, unless it lists them."""
        if variable.hierarchy:
            return Classification.read(
                self.file(variable.hierarchy),
                name=variable.name,
                total=variable.total,
                lead=variable.lead,
                strip=False,
            )
        listed = sorted(codes - {variable.total, *variable.missing})
        if variable.levels:
            lengths = [sum(variable.levels[: at + 1]) for at in range(len(variable.levels))]
            rising = [at for k, at in enumerate(lengths) if variable.levels[k]]
            return Classification.from_prefixes(
                variable.name, listed, rising, total=variable.total, found="all"
            )
        return Classification.flat(variable.name, listed, total=variable.total, found="all")

    def file(self, name: str) -> Path:
        """A file beside the metadata; the case of its letters does not matter."""
        place = self.folder / name.replace("\\", "/")
        if place.is_file() or not place.parent.is_dir():
            return place
        alike = [path for path in place.parent.iterdir() if path.name.lower() == place.name.lower()]
        return alike[0] if alike else place


def read_rda(
    path: str | os.PathLike[str], *, of: Literal["records", "cells"], encoding: str = "utf-8"
) -> ArgusMetadata:
    """Read a metadata file."""
    if of not in ("records", "cells"):
        raise SuppressionError("a metadata file describes records or cells", code="option")
    text = open_text(path, encoding)
    reader = _MetadataReader(text, of)
    reader.read()
    return reader.finished()


class _MetadataReader(LineReader):
    def __init__(self, text: ArgusText, of: str) -> None:
        super().__init__(text)
        self.form: Form = "table" if of == "cells" else "fixed"
        self.separator = ";"
        self.letters = {"safe": "S", "unsafe": "U", "protected": "P"}
        self.variables: list[dict[str, object]] = []

    def take(self, words: list[str]) -> None:
        if not words[0].startswith("<"):
            self._header(words)
            return
        mark, values = words[0].upper(), [word for word in words[1:] if word != ","]
        if mark == "<SEPARATOR>" and values:
            self.separator = values[0]
            if self.form == "fixed":
                self.form = "free"
        elif mark == "<SPSS>":
            hint = "save the records as text, or read them with read_microdata"
            self.wrong(".rda files of SPSS records are not supported", hint)
        elif mark in _LETTERS and values:
            self.letters[_LETTERS[mark]] = values[0]
        elif not self.variables:
            self.wrong(f"{words[0]} precedes any variable")
        else:
            self._property(mark, values)
            following = [word.upper() for word in words[1:] if word.startswith("<")]
            for more in following:
                self._property(more, [])

    def _header(self, words: list[str]) -> None:
        numbers = {"fixed": 2, "free": 1, "table": 0}[self.form]
        places, missing = words[1 : numbers + 1], words[numbers + 1 :]
        if len(places) < numbers or not all(place.isdigit() for place in places):
            form = {"fixed": "name start length", "free": "name length", "table": "name"}
            self.wrong("not a variable", f"write: {form[self.form]}")
            places = ["0"] * numbers
        name = words[0]
        if any(str(known["name"]).casefold() == name.casefold() for known in self.variables):
            self.wrong(f"variable {name!r} is described twice")
        where = [int(place) for place in places]
        self.variables.append(
            {
                "name": name,
                "start": where[0] if self.form == "fixed" else 0,
                "length": where[-1] if where else 0,
                "missing": tuple(missing),
            }
        )

    def _property(self, mark: str, values: list[str]) -> None:
        variable = self.variables[-1]
        texts = {"<TOTCODE>": "total", "<HIERCODELIST>": "hierarchy", "<CODELIST>": "codelist"}
        texts["<HIERLEADSTRING>"] = "lead"
        numbers = {"<HIERLEVELS>": "levels", "<DISTANCE>": "distance"}
        flags = {"<RECODEABLE>": "coded", "<RECODABLE>": "coded", "<NUMERIC>": "numeric"}
        if mark in flags:
            variable[flags[mark]] = True
        elif mark == "<HIERARCHICAL>":
            variable["hierarchical"] = self.line
        elif mark in texts and values:
            variable[texts[mark]] = values[0]
        elif mark in numbers and values and all(value.isdigit() for value in values):
            variable[numbers[mark]] = tuple(int(value) for value in values)
        elif mark == "<DECIMALS>" and values and values[0].isdigit():
            variable["decimals"] = int(values[0])
        elif mark in _ROLES:
            variable["role"] = _ROLES[mark]
            if mark in ("<REQUEST>", "<WAIVER>"):
                variable["request"] = tuple(values)
        elif mark in _KEPT:
            kept = variable.get("others", ())
            assert isinstance(kept, tuple)
            variable["others"] = (*kept, " ".join([mark, *values]))
        else:
            self.wrong(f"{mark} is unknown, or has wrong values")

    def finished(self) -> ArgusMetadata:
        for variable in self.variables:
            line = variable.pop("hierarchical", None)
            listed = "hierarchy" in variable or "levels" in variable
            if isinstance(line, int) and not listed:
                hint = "add <HIERCODELIST> or <HIERLEVELS>"
                self.line = line
                self.wrong(f"{variable['name']!r} is hierarchical without a hierarchy", hint)
        if not self.variables:
            self.problems.append(Problem("no variables", str(self.text.path)))
        refuse_lines(self.text, self.problems)
        return ArgusMetadata(
            form=self.form,
            separator=self.separator,
            variables=tuple(ArgusVariable(**known) for known in self.variables),  # type: ignore[arg-type]
            letters=(self.letters["safe"], self.letters["unsafe"], self.letters["protected"]),
            folder=self.text.path.parent,
        )


def write_rda(metadata: ArgusMetadata, path: str | os.PathLike[str]) -> Path:
    """Write a metadata file; reading it back gives the same."""
    lines = [] if metadata.form == "fixed" else [f'<SEPARATOR> "{metadata.separator}"']
    if metadata.form == "table" and metadata.letters != ("S", "U", "P"):
        safe, unsafe, protected = metadata.letters
        lines += [f"<SAFE> {safe}", f"<UNSAFE> {unsafe}", f"<PROTECT> {protected}"]
    for variable in metadata.variables:
        lines += _described(variable, metadata.form)
    write_text(path, "\n".join(lines) + "\n")
    return Path(path)


def _described(variable: ArgusVariable, form: Form) -> list[str]:
    places = {"fixed": [variable.start, variable.length], "free": [variable.length], "table": []}
    missing = [f'"{code}"' for code in variable.missing]
    lines = [" ".join([variable.name, *map(str, places[form]), *missing])]
    lines += ["<RECODEABLE>"] if variable.coded else []
    lines += ["<NUMERIC>"] if variable.numeric else []
    if variable.role:
        codes = "".join(f' "{code}"' for code in variable.request)
        lines.append(_MARKS[variable.role] + codes)
    lines += [f'<TOTCODE> "{variable.total}"'] if variable.coded else []
    lines += [f"<DECIMALS> {variable.decimals}"] if variable.decimals else []
    lines += [f'<CODELIST> "{variable.codelist}"'] if variable.codelist else []
    lines += ["<HIERARCHICAL>"] if variable.levels or variable.hierarchy else []
    if variable.levels:
        lines.append("<HIERLEVELS> " + " ".join(map(str, variable.levels)))
    if variable.hierarchy:
        lines.append(f'<HIERCODELIST> "{variable.hierarchy}"')
        lines.append(f'<HIERLEADSTRING> "{variable.lead}"')
    if variable.distance:
        lines.append("<DISTANCE> " + " ".join(map(str, variable.distance)))
    lines += variable.others
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def read_records(
    path: str | os.PathLike[str], metadata: ArgusMetadata, *, encoding: str = "utf-8"
) -> pl.DataFrame:
    r"""Read records.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "some.asc"
    >>> _ = file.write_text(" 1 25\nNr 30")
    >>> places = ArgusVariable(name="Region", start=1, length=2, coded=True)
    >>> income = ArgusVariable(name="Income", start=4, length=2, numeric=True)
    >>> described = ArgusMetadata(form="fixed", separator=";", variables=(places, income))
    >>> read_records(file, described).rows()
    [(' 1', 25.0), ('Nr', 30.0)]
    """
    import polars as pl

    text = open_text(path, encoding)
    if metadata.form == "table":
        refuse_lines(text, [Problem("the metadata describe cells, not records", str(text.path))])
    names = [variable.name for variable in metadata.variables]
    columns: Mapping[str, pl.Series | list[str]]
    if metadata.form == "fixed":
        columns = _fixed(text, metadata)
    else:
        columns = split_rows(text, text.lines, metadata.separator, names)
    frame, problems = {}, []
    for variable in metadata.variables:
        series = pl.Series(variable.name, columns[variable.name], dtype=pl.String)
        if variable.coded or not _is_number(variable):
            frame[variable.name] = series
        if _is_number(variable):
            numbers, wrong = _numbers(series, variable)
            lines = [text.lines[at][0] for at in np.flatnonzero(wrong).tolist()]
            message = f"{variable.name} is not a number"
            problems += [Problem(message, text.place(line)) for line in lines]
            name = f"{variable.name}_value" if variable.coded else variable.name
            frame[name] = numbers.alias(name)
    refuse_lines(text, problems)
    return pl.DataFrame(frame)


def _is_number(variable: ArgusVariable) -> bool:
    return variable.numeric or variable.role == "weight"


def _fixed(text: ArgusText, metadata: ArgusMetadata) -> dict[str, pl.Series]:
    """Cut every line at the places of the variables."""
    import polars as pl

    lines = pl.Series("line", [line for _, line in text.lines])
    needed = max(variable.start for variable in metadata.variables)
    short = (lines.str.len_chars() < needed).to_numpy()
    message = f"the record is shorter than {needed} positions"
    lacking = np.flatnonzero(short).tolist()
    hint = "check that the line is complete and the positions are right"
    refuse_lines(text, [Problem(message, text.place(text.lines[at][0]), hint) for at in lacking])
    return {
        variable.name: lines.str.slice(variable.start - 1, variable.length).str.strip_chars_end()
        for variable in metadata.variables
    }


def _numbers(series: pl.Series, variable: ArgusVariable) -> tuple[pl.Series, np.ndarray]:
    """The numbers, null where missing; and which texts are none."""
    import polars as pl

    bare = series.str.strip_chars()
    empty = (bare == "") | bare.is_in([code.strip() for code in variable.missing])
    numbers = bare.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    odd = (numbers.is_nan() | numbers.is_infinite()).fill_null(value=False)
    wrong = (numbers.is_null() & ~empty) | odd
    return numbers.set(empty, None), wrong.to_numpy()
