"""Programmes from structures of SDMX, such as those of Eurostat's hypercubes.

In: a structure message, and which column of the records holds each dimension. Out: a folder with
code trees made of the code lists, a programme with a table for each structure, and the names
that a transmission needs. Public: nothing is read of the records but names of columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.classifications import Classification
from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import check_writable, toml_key, toml_value, write_text
from discreet.publication import DataStructure, StructureDimension, read_structures
from discreet.release.first_programmes import check_saved, programme_text

#: Codes that stand for all, in the order in which they are looked for.
_TOTALS = ("_T", "TOTAL", "T", "TOT", "Total")
#: Codes of ages → the first age, and the one behind the last; None where they are open.
_AGES: tuple[tuple[re.Pattern[str], Callable[..., tuple[int, int | None]]], ...] = (
    (re.compile(r"Y_?LT(\d+)"), lambda low: (0, low)),
    (re.compile(r"Y_?GE(\d+)"), lambda low: (low, None)),
    (re.compile(r"Y(\d+)[T-](\d+)"), lambda low, high: (low, high + 1)),
    (re.compile(r"Y(\d+)"), lambda age: (age, age + 1)),
)
_SQUARES = (1000,)


@dataclass(frozen=True, kw_only=True)
class StructureDraft:
    """What structures ask for."""

    structures: tuple[DataStructure, ...]  # the structures, each of which becomes a table
    columns: Mapping[str, str]  # dimension → column of the records that holds its codes
    constant: Mapping[str, str]  # dimension → the code that all figures have
    squares: tuple[str, ...] = ()  # dimensions of squares of the European grid

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str],
        constant: Mapping[str, str] | None = None,
        squares: Sequence[str] = (),
    ) -> StructureDraft:
        """Read structures, and check that each dimension is told.

        Raises:
            PublicationError: If a dimension is neither a column nor constant.
        """
        found = tuple(read_structures(path))
        draft = cls(
            structures=found,
            columns=dict(columns),
            constant=dict(constant or {}),
            squares=tuple(squares),
        )
        problems = list(draft._problems())
        raise_all(
            PublicationError,
            problems,
            code="structure",
            many="{} dimensions are missing",
            where=str(path),
        )
        return draft

    def _problems(self) -> Iterator[Problem]:
        every = {each.name: each for one in self.structures for each in one.dimensions}
        for name in (*self.columns, *self.constant, *self.squares):
            if name not in every:
                yield Problem(f"unknown dimension {name!r}", "", f"known: {', '.join(every)}")
        for name, each in every.items():
            if (name in self.columns) == (name in self.constant):
                hint = f"add {name}=COLUMN of the microdata, or {name}=CODE of all values"
                yield Problem(f"{name} must be either a column or a constant", "", hint)
            known = {code.code for code in each.codes}
            if each.codelist and name in self.constant and self.constant[name] not in known:
                yield Problem(f"{self.constant[name]!r} is not a code of {each.codelist}", name)
            if not each.codelist and name in self.columns and name not in self.squares:
                hint = "add it to the grid cells, or give the structure a code list"
                yield Problem(f"{name} has no code list", "", hint)

    def variables(self) -> dict[str, StructureDimension]:
        """Name in the programme → dimension: by its name, with the code list where these differ."""
        dimensions: dict[str, StructureDimension] = {}
        for structure in self.structures:
            for item in self._spanning(structure):
                dimensions[self._variable(item)] = item
        return dimensions

    def _spanning(self, structure: DataStructure) -> list[StructureDimension]:
        return [dimension for dimension in structure.dimensions if dimension.name in self.columns]

    def _variable(self, each: StructureDimension) -> str:
        lists = {
            one.codelist
            for structure in self.structures
            for one in structure.dimensions
            if one.name == each.name
        }
        return each.name if len(lists) == 1 else f"{each.name}_{each.codelist}"

    def tables(self) -> dict[str, list[str]]:
        """Table → what spans it."""
        return {
            structure.name: [self._variable(item) for item in self._spanning(structure)]
            for structure in self.structures
        }

    def names(self, totals: Mapping[str, str]) -> str:
        """The names of a transmission, as TOML."""
        renamed = {name: each.name for name, each in self.variables().items() if name != each.name}
        sections: dict[str, Mapping[str, str]] = {
            "structures": {structure.name: structure.reference for structure in self.structures},
            "dimensions": renamed,
            **{f"codes.{toml_key(name)}": {"Total": code} for name, code in totals.items()},
            "constant": self.constant,
        }
        return "\n".join(
            "\n".join(
                [f"[{section}]", *(f"{toml_key(k)} = {toml_value(v)}" for k, v in own.items()), ""]
            )
            for section, own in sections.items()
            if own
        )


def code_tree(dimension: StructureDimension, name: str, column: str) -> Classification:
    """The code tree of a code list; its total is the root, or the code that stands for all.

    Classes of age, such as Y_LT15, Y15T29 and Y_GE85, become groups of a number.

    Raises:
        PublicationError: If there are several roots and none of them stands for all.

    >>> from discreet.publication.data_structures import ListedCode
    >>> codes = tuple(map(ListedCode, ("_T", "Y_LT15", "Y15T64", "Y_GE65")))
    >>> ages = StructureDimension(name="AGE", titles={}, codelist="CL_AGE", codes=codes)
    >>> tree = code_tree(ages, "AGE", "age")
    >>> tree.codes, tree.bounds
    (('_T', 'Y_LT15', 'Y15T64', 'Y_GE65'), (0.0, 15.0, 65.0, inf))
    """
    roots = [code.code for code in dimension.codes if not code.above]
    total = roots[0] if len(roots) == 1 else next((t for t in _TOTALS if t in roots), "")
    if not total:
        message = f"{dimension.codelist} has several top codes and no total"
        hint = f"add a total code: {', '.join(_TOTALS[:4])}"
        raise PublicationError(message, code="structure", where=dimension.name, hint=hint)
    above = {code.code: code.above or total for code in dimension.codes if code.code != total}
    parents = {code: None if one == total else one for code, one in above.items()}
    tree = Classification.from_parents(
        name,
        parents,
        total=total,
        labels={code.code: dict(code.labels) for code in dimension.codes if code.labels},
        titles=dict(dimension.titles),
        column=column,
    )
    bounds = _bounds(tree.leaves)
    return tree if bounds is None else tree.replace(bounds=bounds)


def _bounds(leaves: Sequence[str]) -> tuple[float, ...] | None:
    """The bounds of classes of age; None unless all leaves are such, each beginning at the last."""
    classes = []
    for code in leaves:
        found = [
            made(*map(int, match.groups()))
            for pattern, made in _AGES
            if (match := pattern.fullmatch(code))
        ]
        if not found:
            return None
        classes.append(found[0])
    lows = [low for low, _ in classes]
    highs = [high for _, high in classes]
    if len(classes) < 2 or highs[:-1] != lows[1:]:
        return None
    return (*map(float, lows), float("inf") if highs[-1] is None else float(highs[-1]))


def write_structure_programme(
    draft: StructureDraft,
    out: str | os.PathLike[str],
    *,
    data: Mapping[str, Any],
    keys: Mapping[str, Any],
    ptable: str,
    title: str = "Hypercubes",
) -> Path:
    """Write code trees, the programme and the names of a transmission into a folder."""
    place = Path(out)
    check_writable(place)
    programme = place / "programme.toml"
    check_saved(programme)
    variables: dict[str, Any] = {}
    trees: dict[str, Classification] = {}
    totals: dict[str, str] = {}
    for name, each in draft.variables().items():
        column = draft.columns[each.name]
        if each.name in draft.squares:
            variables[name] = {"squares": list(_SQUARES), "column": column}
            totals[name] = _TOTALS[0]
            continue
        trees[name] = code_tree(each, name, column)
        variables[name] = {"hierarchy": str(place / f"{name}.json"), "column": column}
    tables = {
        structure.name: {
            "by": by,
            "title": structure.titles.get("en") or structure.name,
            "formats": ["csv", "sdmx-csv"],
        }
        for structure, by in zip(draft.structures, draft.tables().values(), strict=True)
    }
    document = {
        "title": title,
        "languages": ["en"],
        "data": dict(data),
        "keys": dict(keys),
        "perturbation": {"table": ptable, "found_codes": "hide"},
        "variables": variables,
        "tables": tables,
    }
    text = programme_text(document, place)
    for name, tree in trees.items():
        tree.write(place / f"{name}.json")
    write_text(place / "names.toml", draft.names(totals))
    write_text(programme, f"# Drafted from structures of SDMX.\n\n{text}")
    return programme
