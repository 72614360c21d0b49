"""Queries of PxWebApi 2: what is asked of a released table. Public.

In: parameters of a request, or its body. Out: a `PxQuery`, and the `Selection` that it means. A
variable that is not named stands at its total, if it has one that was published; nothing is added
up here, and no list of codes adds up either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import Problem
from discreet.publication.words import LANGUAGES
from discreet.release.programme.file import nearest
from discreet.tables import Dimension, ProtectedTable
from discreet.tables.figures import FIGURE
from discreet_service.problems import ServiceError
from discreet_service.releases.selection import Selection, select
from discreet_service.releases.value_expressions import chosen_positions, split_values

#: Formats of the API, and the format of the library that writes them; None for our own writers.
PX_FORMATS: Mapping[str, str | None] = {
    "json-stat2": None,
    "csv": None,
    "json-px": None,
    "px": "px",
    "xlsx": "xlsx",
    "html": "html",
    "parquet": "parquet",
}
DEFAULT_FORMAT = "json-stat2"
_TEXTS = ("UseCodes", "UseTexts", "UseCodesAndTexts")
_SEPARATORS = {"SeparatorTab": "\t", "SeparatorSpace": " ", "SeparatorSemicolon": ";"}
FORMAT_PARAMS = (*_TEXTS, "IncludeTitle", *_SEPARATORS)
_BRACKETS = re.compile(r"(valuecodes|codelist|outputvalues)\[(.*)\]", re.IGNORECASE | re.DOTALL)
_PLAIN = ("lang", "outputformat", "outputformatparams", "heading", "stub")


@dataclass(frozen=True, kw_only=True)
class PxQuery:
    """What is asked of a table.

    Args:
        values: Variable → expressions.
        codelists: Variable → name of a list of codes.
        heading: Variables that go across.
        stub: Variables that go down.
        language: "en" or "de".
        format: One of `PX_FORMATS`.
        params: Some of `FORMAT_PARAMS`.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    codelists: Mapping[str, str] = field(default_factory=dict)
    heading: tuple[str, ...] = ()
    stub: tuple[str, ...] = ()
    language: str = "en"
    format: str = DEFAULT_FORMAT
    params: tuple[str, ...] = ()

    @property
    def separator(self) -> str:
        """What stands between the columns of CSV."""
        return next((_SEPARATORS[each] for each in self.params if each in _SEPARATORS), ",")

    @property
    def texts(self) -> str:
        """One of UseCodes, UseTexts, UseCodesAndTexts."""
        return next((each for each in self.params if each in _TEXTS), "UseTexts")

    @classmethod
    def of_parameters(cls, given: Iterable[tuple[str, str]], language: str) -> PxQuery:
        """The query of the parameters of an address.

        Args:
            given: Names and values, such as ("valueCodes[sex]", "m,w").
            language: The language, if none is named.
        """
        problems: list[Problem] = []
        found: dict[str, Any] = {"values": {}, "codelists": {}}
        for name, value in given:
            inner = _BRACKETS.fullmatch(name)
            if inner is None and name.lower() in _PLAIN:
                found[name.lower()] = value
            elif inner is None:
                hint = nearest(name, ("valueCodes[VARIABLE]", "codelist[VARIABLE]", *_PLAIN))
                problems.append(Problem("there is no such parameter", name[:60], hint))
            elif inner[1].lower() == "valuecodes":
                found["values"].setdefault(inner[2], []).extend(split_values(value))
            elif inner[1].lower() == "codelist":
                found["codelists"][inner[2]] = value
        for key in ("heading", "stub", "outputformatparams"):
            found[key] = split_values(found.get(key, ""))
        return cls._made(found, language, problems)

    @classmethod
    def of_body(cls, body: Any, given: Mapping[str, str], language: str) -> PxQuery:
        """The query of a body, with the language and format of the address.

        Args:
            body: The parsed JSON; None for none.
            given: The parameters of the address.
            language: The language, if none is named.
        """
        problems: list[Problem] = []
        found: dict[str, Any] = {"values": {}, "codelists": {}, "heading": [], "stub": []}
        if body is not None:
            _read_body(body, found, problems)
        lower = {name.lower(): value for name, value in given.items()}
        found |= {key: lower[key] for key in ("lang", "outputformat") if key in lower}
        found["outputformatparams"] = split_values(lower.get("outputformatparams", ""))
        return cls._made(found, language, problems)

    @classmethod
    def _made(cls, found: Mapping[str, Any], language: str, problems: list[Problem]) -> PxQuery:
        spoken = (found.get("lang") or language).lower()
        if spoken not in LANGUAGES:
            problems.append(_unknown("language", spoken, "lang", LANGUAGES))
        form = (found.get("outputformat") or DEFAULT_FORMAT).lower()
        if form not in PX_FORMATS:
            problems.append(_unknown("format", form, "outputFormat", tuple(PX_FORMATS)))
        known = {each.lower(): each for each in FORMAT_PARAMS}
        params = []
        for each in found["outputformatparams"]:
            if each.lower() in known:
                params.append(known[each.lower()])
            else:
                problems.append(_unknown("parameter", each, "outputFormatParams", FORMAT_PARAMS))
        for group in (_TEXTS, tuple(_SEPARATORS)):
            if len({*params} & {*group}) > 1:
                what = f"only one of {', '.join(group)} can be asked for"
                problems.append(Problem(what, "outputFormatParams"))
        raise_selection(problems)
        return cls(
            values=found["values"],
            codelists=found["codelists"],
            heading=tuple(found["heading"]),
            stub=tuple(found["stub"]),
            language=spoken,
            format=form,
            params=tuple(params),
        )


def _unknown(kind: str, given: str, where: str, known: Sequence[str]) -> Problem:
    return Problem(f"there is no such {kind}", where, nearest(given[:60], known))


def raise_selection(problems: Sequence[Problem]) -> None:
    """Raise one error for everything that is wrong with a selection."""
    if problems:
        what = problems[0].what if len(problems) == 1 else f"{len(problems)} things are wrong"
        raise ServiceError(
            what,
            code="invalid-selection",
            where=problems[0].where,
            hint=problems[0].hint,
            problems=problems[:50],
        )


def _read_body(body: Any, found: dict[str, Any], problems: list[Problem]) -> None:
    """Selection and placement of a body; what has another form is a problem."""
    hint = '{"selection": [{"variableCode": "sex", "valueCodes": ["*"]}]}'
    selection = body.get("selection", []) if isinstance(body, dict) else None
    if not isinstance(selection, list):
        problems.append(Problem("a selection is needed", "selection", hint))
        return
    for at, entry in enumerate(selection):
        name = entry.get("variableCode") if isinstance(entry, dict) else None
        values = (entry.get("valueCodes") or []) if isinstance(entry, dict) else None
        if not isinstance(name, str) or not _is_texts(values):
            problems.append(Problem("this names no variable and codes", f"selection[{at}]", hint))
            continue
        found["values"][name] = values
        named = entry.get("codelist", entry.get("codeList"))
        if isinstance(named, str) and named:
            found["codelists"][name] = named
    placement = body.get("placement") or {}
    for key in ("heading", "stub"):
        given = placement.get(key) or [] if isinstance(placement, dict) else None
        if not _is_texts(given):
            problems.append(Problem("names of variables are needed", f"placement.{key}"))
        else:
            found[key] = given


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


# -- lists of codes -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelList:
    """The codes of one level of a variable, as a list of codes. It adds nothing up.

    Args:
        id: Its name among all: TABLE~VARIABLE~BREAKDOWN.LEVEL.
        labels: language → heading.
        positions: The positions of its codes.
    """

    id: str
    labels: Mapping[str, str]
    positions: tuple[int, ...]


def level_lists(table_id: str, dimension: Dimension) -> list[LevelList]:
    """The lists of codes of a variable: one per level, where there are several.

    Args:
        table_id: Name of the table among all.
        dimension: The variable.
    """
    trees = dimension.classifications
    if len(trees) == 1 and trees[0].depth <= 1:
        return []
    found = []
    for k, tree in enumerate(trees):
        for level in range(1, tree.depth + 1):
            own = (dimension.breakdown == k) & (dimension.levels == level)
            given = tree.level_names[level - 1 : level]
            words = {"en": f"level {level}", "de": f"Ebene {level}"}
            found.append(
                LevelList(
                    id=f"{table_id}~{dimension.name}~{k}.{level}",
                    labels={
                        each: f"{tree.title(each)}: {given[0] if given else words[each]}"
                        for each in LANGUAGES
                    },
                    positions=tuple(np.flatnonzero(own).tolist()),
                )
            )
    return found


def find_level_list(table_id: str, dimension: Dimension, name: str) -> LevelList | None:
    """The list of codes of a name, if the variable has it."""
    return next((each for each in level_lists(table_id, dimension) if each.id == name), None)


# -- what is meant ------------------------------------------------------------------


def selection_of(
    query: PxQuery, table: ProtectedTable, table_id: str, *, most: int, first: int
) -> Selection:
    """What a query means.

    Args:
        query: The query.
        table: The table.
        table_id: Its name among all.
        most: Cells that may be asked for at once.
        first: Cells that are given if nothing is selected.
    """
    problems: list[Problem] = []
    names = [dimension.name for dimension in table.dimensions]
    for where, named in (
        ("valueCodes", query.values),
        ("codelist", query.codelists),
        ("heading", query.heading),
        ("stub", query.stub),
    ):
        problems += [
            _unknown("variable", name, where, names) for name in named if name not in names
        ]
    placed = [*query.heading, *query.stub]
    if len({*placed}) < len(placed):
        problems.append(Problem("a variable goes down or across, and once", "heading"))
    wanted: dict[str, Sequence[int] | None] = {}
    if not query.values and not query.codelists and not problems:
        wanted = dict(default_positions(table, first))
    else:
        for dimension in table.dimensions:
            wanted[dimension.name] = _positions(query, dimension, table, table_id, problems)
    raise_selection(problems)
    return select(table, wanted, most=most)


def _positions(
    query: PxQuery,
    dimension: Dimension,
    table: ProtectedTable,
    table_id: str,
    problems: list[Problem],
) -> list[int] | None:
    """The codes of a variable; None if it is left out."""
    name = dimension.name
    codes: Mapping[str, int] = dimension.index
    named = query.codelists.get(name)
    if named is not None:
        known = find_level_list(table_id, dimension, named)
        if known is None:
            lists = [each.id for each in level_lists(table_id, dimension)]
            problems.append(_unknown("list of codes", named, f"codelist[{name}]", lists))
            return None
        codes = {dimension.codes[at]: at for at in known.positions}
    expressions = query.values.get(name)
    if not expressions and named is None:
        if name == FIGURE and table.several_figures:
            what = "say which figures are wanted: nothing stands for all of them together"
            problems.append(Problem(what, f"valueCodes[{name}]", "write *"))
        return None
    found = chosen_positions(expressions or ["*"], codes, name, problems)
    if not found and not problems:
        problems.append(Problem(f"no code of {name} is selected", f"valueCodes[{name}]"))
    return found


def default_positions(table: ProtectedTable, first: int) -> dict[str, list[int]]:
    """What is given if nothing is selected: everything, or as little as fits.

    The longest variables are cut to their totals and the codes right below, then to their totals.
    """
    found = {each.name: list(range(len(each))) for each in table.dimensions}

    def size() -> int:
        return math.prod(map(len, found.values()))

    for deepest in (1, 0):
        for dimension in sorted(table.spanning, key=len, reverse=True):
            if size() <= first:
                return found
            found[dimension.name] = np.flatnonzero(dimension.levels <= deepest).tolist()
    return found
