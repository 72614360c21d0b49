"""What a receiver of SDMX requires of a table, held against its observations.

In: the receiver's structure, with the codes to be sent, and lines of observations under its names.
Out: the lines to be sent, and what is missing or does not fit. Codes only, no figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import Problem
from discreet.publication.data_structures import DataStructure

_CHUNK, _SHOWN = 2**20, 3
#: Columns of SDMX-CSV that no structure names.
_LEADING = ("STRUCTURE", "STRUCTURE_ID", "ACTION")


@dataclass(kw_only=True)
class StructureCheck:
    """Missing and superfluous observations of a table."""

    structure: DataStructure
    required: int = 0  # number of cells that the structure asks for
    missing: int = 0  # how many of them have no line
    left_out: int = 0  # number of lines that it does not ask for; they are not sent
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, what: str, hint: str = "") -> None:
        """Note what does not fit."""
        self.problems.append(Problem(what, self.structure.name, hint))

    def text(self) -> str:
        """The numbers of cells."""
        ending = f", {self.left_out:,} others not sent" if self.left_out else ""
        return f"all {self.required:,} required cells{ending}"


def sent_lines(structure: DataStructure, lines: pl.DataFrame) -> pl.DataFrame:
    """The lines that a structure asks for, with its dimensions and attributes only."""
    lines = _filled(structure, lines).filter(structure.allowed())
    attributes = [item.name for item in structure.attributes]
    names = [*_LEADING, *(item.name for item in structure.dimensions), "OBS_VALUE", *attributes]
    return lines.select(name for name in names if name in lines.columns)


def check_lines(
    structure: DataStructure, chunks: Iterable[pl.DataFrame], confidential: str = "CONF_STATUS"
) -> StructureCheck:
    """Hold the lines of a table against a structure; `confidential` says which values are.

    >>> from discreet.publication.data_structures import ListedCode, StructureDimension
    >>> codes = (ListedCode("_T"), ListedCode("M"), ListedCode("F"))
    >>> sex = StructureDimension(name="SEX", titles={}, codelist="CL_SEX", codes=codes)
    >>> cube = DataStructure(agency="X", name="HC", version="1.0", titles={}, dimensions=(sex,))
    >>> found = check_lines(cube, [pl.DataFrame({"SEX": ["_T", "M"], "OBS_VALUE": ["2", "1"]})])
    >>> found.problems[0].what
    '1 of 3 required cells missing, such as SEX=F'
    """
    check = StructureCheck(structure=structure)
    names = [item.name for item in structure.dimensions]
    listed = {item.name: item.sent for item in structure.dimensions}
    sizes = tuple(map(len, listed.values()))
    there: list[IntArray] = []
    used: dict[str, set[str | None]] = {}
    for lines in chunks:
        filled = _filled(structure, lines)
        if lost := [name for name in names if name not in filled.columns]:
            hint = "add it to by, or give it one code in [constant]"
            check.wrong(f"the table lacks the dimension {', '.join(lost)}", hint)
            return check
        for item in structure.dimensions:
            known = {code.code for code in item.codes}
            unknown = sorted(set(filled[item.name].unique()) - known) if item.codelist else []
            if unknown:
                what = f"{len(unknown):,} codes of {item.name} are not in {item.codelist}"
                check.wrong(f"{what}, such as {unknown[0]!r}", f"map them in [codes.{item.name}]")
        sent = filled.filter(structure.allowed())
        check.left_out += filled.height - sent.height
        places = [
            sent[name].cast(pl.Enum(codes), strict=False).to_physical().to_numpy().astype(np.int64)
            for name, codes in listed.items()
        ]
        if sent.height:
            there.append(np.ravel_multi_index(places, sizes).astype(np.int64))
        for name in {confidential, *(attribute.name for attribute in structure.attributes)}:
            empty = [None] if name not in sent.columns else sent[name].unique()
            used.setdefault(name, set()).update(empty if sent.height else ())
    found = np.unique(np.concatenate(there)) if there else np.zeros(0, dtype=np.int64)
    examples: list[str] = []
    for required in _required(structure, sizes):
        lost_keys = np.setdiff1d(required, found, assume_unique=True)
        check.required += len(required)
        check.missing += len(lost_keys)
        for key in lost_keys[: _SHOWN - len(examples)].tolist():
            at = np.unravel_index(key, sizes)
            cell = (f"{n}={listed[n][int(i)]}" for n, i in zip(names, at, strict=True))
            examples.append(" ".join(cell))
    if not check.required:
        hint = "correct the periods and codes of the table, or ask for another structure"
        check.wrong("no cell lies within the constraints", hint)
    if check.missing:
        what = f"{check.missing:,} of {check.required:,} required cells missing"
        check.wrong(f"{what}, such as {'; '.join(examples)}", "tabulate these codes, too")
    stated = {attribute.name for attribute in structure.attributes}
    if confidential not in stated and used.get(confidential, set()) - {"F", None}:
        hint = "ask the receiver for a structure with it"
        check.wrong(f"confidential values need the attribute {confidential}", hint)
    for attribute in structure.attributes:
        values = used.get(attribute.name, set())
        if attribute.required and None in values:
            hint = f'add {attribute.name} = "CODE" to [constant]'
            check.wrong(f"the attribute {attribute.name} is required", hint)
        wrong = sorted(code for code in values if code is not None and code not in attribute.codes)
        if attribute.codes and wrong:
            what = f"{attribute.name} has no code {', '.join(map(repr, wrong))}"
            check.wrong(what, f"map it in [codes.{attribute.name}]")
    return check


def _filled(structure: DataStructure, lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with the dimensions that have one code only."""
    single = {item.name: item.sent[0] for item in structure.dimensions if len(item.sent) == 1}
    return lines.with_columns(
        pl.lit(code).alias(name) for name, code in single.items() if name not in lines.columns
    )


def _required(structure: DataStructure, sizes: tuple[int, ...]) -> Iterator[IntArray]:
    """The numbers of all cells within the constraints, some at a time."""
    total = int(np.prod(sizes, dtype=np.int64))
    for start in range(0, total, _CHUNK):
        keys = np.arange(start, min(start + _CHUNK, total), dtype=np.int64)
        places = np.unravel_index(keys, sizes)
        codes = {
            item.name: pl.Series(item.sent, dtype=pl.String).gather(at)
            for item, at in zip(structure.dimensions, places, strict=True)
        }
        cells = pl.DataFrame({**codes, "OBS_VALUE": keys}).filter(structure.allowed())
        yield cells["OBS_VALUE"].to_numpy()
