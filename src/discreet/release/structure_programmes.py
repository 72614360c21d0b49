"""Programmes from structures of SDMX, such as those of Eurostat's hypercubes.

In: a structure message, and which column of the records holds each dimension. Out: a folder with
code trees made of the code lists, a programme with a table for each structure, and the names
that a transmission needs. Public: nothing is read of the records but names of columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from discreet.classifications import Classification
from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import check_writable, write_text
from discreet.publication import (
    MEASURE,
    DataStructure,
    SdmxNames,
    StructureDimension,
    read_structures,
)
from discreet.release.first_programmes import check_saved, programme_text, toml_text

#: Codes that stand for all, in the order in which they are looked for.
_TOTALS = ("_T", "TOTAL", "T", "TOT", "Total")
#: Codes of ages → the first age, and the one behind the last; None where they are open.
_AGES: tuple[tuple[re.Pattern[str], Callable[..., tuple[int, int | None]]], ...] = (
    (re.compile(r"Y_?LT(\d+)"), lambda low: (0, low)),
    (re.compile(r"Y_?GE(\d+)"), lambda low: (low, None)),
    (re.compile(r"Y(\d+)[T-](\d+)"), lambda low, high: (low, high + 1)),
    (re.compile(r"Y(\d+)"), lambda age: (age, age + 1)),
)


@dataclass(frozen=True, kw_only=True)
class StructureDraft:
    """Programme draft from structures."""

    structures: tuple[DataStructure, ...]  # the structures, each of which becomes a table
    columns: Mapping[str, str]  # dimension → column of the records that holds its codes
    names: SdmxNames  # the codes of all figures, and which codes are sent
    squares: tuple[str, ...] = ()  # dimensions of squares of the European grid
    weights: Mapping[str, str] = field(default_factory=dict)  # structure → column of weights
    #: Dimension whose codes are figures → code → filter of the records that it counts, or ""
    figures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *paths: str | os.PathLike[str],
        columns: Mapping[str, str],
        constant: Mapping[str, str] | None = None,
        squares: Sequence[str] = (),
        roots: Mapping[str, str] | None = None,
        national: Sequence[str] = (),
        adjustment: Mapping[str, str] | None = None,
        weights: Mapping[str, str] | None = None,
        figures: Mapping[str, Mapping[str, str]] | None = None,
    ) -> StructureDraft:
        """Read structures, and check that each dimension is told; see `SdmxNames`.

        Raises:
            PublicationError: If a dimension is neither a column nor constant.
        """
        stated = read_structures(*paths)
        names = SdmxNames(
            structures={structure.name: structure.reference for structure in stated},
            constant=dict(constant or {}),
            messages=tuple(map(str, paths)),
            roots=dict(roots or {}),
            national=tuple(national),
            adjustment=dict(adjustment or {}),
        )
        names.check(stated)
        draft = cls(
            structures=tuple(structure.within(names) for structure in stated),
            columns=dict(columns),
            names=names,
            squares=tuple(squares),
            weights=dict(weights or {}),
            figures=dict(figures or {}),
        )
        many, where = "{} dimensions are missing", ", ".join(names.messages)
        problems = list(draft._problems())
        raise_all(PublicationError, problems, code="structure", many=many, where=where)
        return draft

    def _problems(self) -> Iterator[Problem]:
        every: dict[str, list[StructureDimension]] = {}
        for item in (item for one in self.structures for item in one.dimensions):
            every.setdefault(item.name, []).append(item)
        constant = self.names.constant
        if len(self.figures) > 1:
            hint = "draft a programme for each"
            yield Problem("several dimensions have figures as codes", "figure", hint)
        for name in (*self.columns, *self.squares, *self.figures):
            if name not in every:
                yield Problem(f"unknown dimension {name!r}", "", f"known: {', '.join(every)}")
        for name in self.weights.keys() - {one.name for one in self.structures}:
            known = ", ".join(one.name for one in self.structures)
            yield Problem(f"unknown structure {name!r}", "weight", f"known: {known}")
        for name, items in every.items():
            single = all(len(item.sent) == 1 for item in items)
            ways = sum(name in way for way in (self.columns, constant, self.figures))
            if ways > 1 or not (ways or single):
                hint = f"add {name}=COLUMN of the microdata, or {name}=CODE of all values"
                yield Problem(f"{name} must be either a column or a constant", "", hint)
            for item in items:
                figures = self.figures.get(name)
                if figures and (lost := [code for code in item.sent if code not in figures]):
                    yield Problem(f"no figure for {name}.{lost[0]}", name, "add its filter")
                if item.codelist and constant.get(name, item.sent[0]) not in item.sent:
                    yield Problem(f"{constant[name]!r} is not a code of {item.codelist}", name)
                if not item.codelist and name in self.columns and name not in self.squares:
                    hint = "add it to the grid cells, or give the structure a code list"
                    yield Problem(f"{name} has no code list", "", hint)

    def variables(self) -> dict[str, CubeVariable]:
        """Name in the programme → variable: the dimension, with a number where the codes differ."""
        return self._spanning[0]

    def tables(self) -> dict[str, list[str]]:
        """Table → what spans it."""
        return self._spanning[1]

    @cached_property
    def _spanning(self) -> tuple[dict[str, CubeVariable], dict[str, list[str]]]:
        variables, tables = dict[str, CubeVariable](), dict[str, list[str]]()
        names: dict[tuple[str, str, frozenset[str]], str] = {}
        for structure in self.structures:
            by = tables[structure.name] = list[str]()
            for item in structure.dimensions:
                if item.name not in self.columns or len(item.sent) == 1:
                    continue
                key = (item.name, item.codelist, item.allowed)
                if key not in names:
                    variable = CubeVariable(item.name, self.columns[item.name])
                    if item.name not in self.squares:
                        tree, level = cut_tree(item, item.name, variable.column)
                        variable = variable._replace(tree=tree, level=level)
                    alike = [n for n, one in variables.items() if one.dimension == item.name]
                    new = f"{item.name}_{len(alike) + 1}" if alike else item.name
                    names[key] = next((n for n in alike if variables[n] == variable), new)
                    variables.setdefault(names[key], variable)
                by.append(names[key])
        return variables, tables

    def names_text(self, place: Path) -> str:
        """The names of a transmission, as TOML beside the programme."""
        variables = self.variables()
        renamed = {n: one.dimension for n, one in variables.items() if n != one.dimension}
        renamed |= dict.fromkeys((MEASURE,) if self.figures else (), *self.figures)
        totals = [name for name, one in variables.items() if one.tree is None]
        beside = [Path(os.path.relpath(file, place)).as_posix() for file in self.names.messages]
        document: dict[str, Any] = {
            "messages": beside,
            **({"national": list(self.names.national)} if self.names.national else {}),
            "structures": self.names.structures,
            "dimensions": renamed,
            "codes": {name: {"Total": _TOTALS[0]} for name in totals},
            "constant": self.names.constant,
            "roots": self.names.roots,
            "adjustment": self.names.adjustment,
        }
        return toml_text(document)


class CubeVariable(NamedTuple):
    """A variable of the programme: a dimension with the codes that some tables send."""

    dimension: str
    column: str
    tree: Classification | None = None  # none for squares
    level: int = 0  # the finest level that tables show; 0 for all


def cut_tree(dimension: StructureDimension, name: str, column: str) -> tuple[Classification, int]:
    """The code tree of the codes to be sent, and the level at which tables end; 0 for none.

    Codes that are not sent stay, as records have them, unless they are classes of a number.

    >>> from discreet.publication import ListedCode
    >>> pairs = ("XX", ""), ("X1", "XX"), ("X11", "X1"), ("X12", "X1")
    >>> codes = tuple(ListedCode(*pair) for pair in pairs)
    >>> sent = frozenset({"XX", "X1"})
    >>> geo = StructureDimension(name="G", titles={}, codelist="C", codes=codes, allowed=sent)
    >>> tree, level = cut_tree(geo, "G", "place")
    >>> tree.codes, level
    (('XX', 'X1', 'X11', 'X12'), 1)
    """
    kept = {_total(dimension), *dimension.sent}
    above = {code.code: code.above for code in dimension.codes}
    codes = []
    for code in dimension.codes:
        parent = code.above
        while parent and parent not in kept:
            parent = above[parent]
        codes += [replace(code, above=parent)] if code.code in kept else []
    exact = code_tree(replace(dimension, codes=tuple(codes)), name, column)
    if exact.bounds is not None or len(codes) == len(dimension.codes):
        return exact, 0
    tree = code_tree(dimension, name, column)
    levels = zip(tree.codes, tree.levels, strict=True)
    deepest = max(int(level) for code, level in levels if code in kept)
    return tree, deepest if deepest < tree.depth else 0


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
    total = _total(dimension)
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


def _total(dimension: StructureDimension) -> str:
    """The code that stands for all: the only one on top, or one of that name."""
    roots = [code.code for code in dimension.codes if not code.above]
    total = roots[0] if len(roots) == 1 else next((t for t in _TOTALS if t in roots), "")
    if not total:
        message = f"{dimension.codelist} has several top codes and no total"
        hint = f"state the root, or add a total code: {', '.join(_TOTALS[:4])}"
        raise PublicationError(message, code="structure", where=dimension.name, hint=hint)
    return total


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
    period: Mapping[str, Any] | None = None,
) -> Path:
    """Write code trees, the programme and the names of a transmission into a folder.

    Args:
        draft: What structures ask for.
        out: The folder.
        data: The section [data].
        keys: The section [keys].
        ptable: The file of the perturbation table.
        title: Heading of the release.
        period: The section [period]; none if the release has no period.
    """
    place = Path(out)
    check_writable(place)
    programme = place / "programme.toml"
    check_saved(programme)
    variables: dict[str, Any] = {}
    for name, one in draft.variables().items():
        kind = {"hierarchy": str(place / f"{name}.json")} if one.tree else {"squares": [1000]}
        level = {"level": one.level} if one.level else {}
        variables[name] = kind | {"column": one.column} | level
    tables = {}
    for structure, by in zip(draft.structures, draft.tables().values(), strict=True):
        weight = draft.weights.get(structure.name)
        figures = {
            code: {"kind": "count", **({"where": where} if where else {})}
            for item in structure.dimensions
            for code, where in draft.figures.get(item.name, {}).items()
            if code in item.sent
        }
        tables[structure.name] = {
            "by": by,
            **({"figures": figures} if figures else {}),
            "title": structure.titles.get("en") or structure.name,
            **({} if weight is None else {"weight": weight}),
            "formats": ["csv", "sdmx-csv"],
        }
    document = {
        "title": title,
        "languages": ["en"],
        "data": dict(data),
        "keys": dict(keys),
        **({"period": dict(period)} if period else {}),
        "perturbation": {"table": ptable, "found_codes": "hide"},
        "variables": variables,
        "tables": tables,
    }
    text = programme_text(document, place)
    for name, one in draft.variables().items():
        if one.tree is not None:
            one.tree.replace(name=name).write(place / f"{name}.json")
    write_text(place / "names.toml", draft.names_text(place))
    write_text(programme, f"# Drafted from structures of SDMX.\n\n{text}")
    return programme
