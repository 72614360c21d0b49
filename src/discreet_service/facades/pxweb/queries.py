"""Queries of PxWebApi 2: parameters or a body as the `Selection` that they mean. Public. A variable
that is not named stands at its published total; nothing is added up.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

import numpy as np

from discreet.errors import Problem, nearest
from discreet.publication import LANGUAGES
from discreet.tables import FIGURE, Dimension, ProtectedTable
from discreet_service.problems import ServiceError, refuse
from discreet_service.releases import Selection, select

#: Formats of the API, the usual one first.
PX_FORMATS = ("json-stat2", "csv", "json-px", "px", "xlsx", "html", "parquet")
_TEXTS = ("UseCodes", "UseTexts", "UseCodesAndTexts")
_SEPARATORS = {"SeparatorTab": "\t", "SeparatorSpace": " ", "SeparatorSemicolon": ";"}
FORMAT_PARAMS = (*_TEXTS, "IncludeTitle", *_SEPARATORS)
_BRACKETS = re.compile(r"(valuecodes|codelist|outputvalues)\[(.*)\]", re.IGNORECASE | re.DOTALL)
_MOST_TOLD = 50
_PLAIN = ("lang", "outputformat", "outputformatparams", "heading", "stub")


@dataclass(frozen=True, kw_only=True)
class PxQuery:
    """Query of a table."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)  # Variable → expressions
    codelists: Mapping[str, str] = field(default_factory=dict)  # Variable → name of a list of codes
    heading: tuple[str, ...] = ()  # Variables that go across
    stub: tuple[str, ...] = ()  # Variables that go down
    language: str = "en"  # "en" or "de"
    format: str = PX_FORMATS[0]  # One of `PX_FORMATS`
    params: tuple[str, ...] = ()  # Some of `FORMAT_PARAMS`

    @property
    def separator(self) -> str:
        """Separator of the columns of CSV."""
        return next((_SEPARATORS[param] for param in self.params if param in _SEPARATORS), ",")

    @property
    def texts(self) -> str:
        """One of UseCodes, UseTexts, UseCodesAndTexts."""
        return next((param for param in self.params if param in _TEXTS), "UseTexts")

    @classmethod
    def of_parameters(cls, given: Iterable[tuple[str, str]], language: str) -> PxQuery:
        """The query of the parameters of an address."""
        problems: list[Problem] = []
        found: dict[str, Any] = {"values": {}, "codelists": {}}
        for name, value in given:
            inner = _BRACKETS.fullmatch(name)
            if inner is None and name.lower() in _PLAIN:
                found[name.lower()] = value
            elif inner is None:
                hint = nearest(name, ("valueCodes[VARIABLE]", "codelist[VARIABLE]", *_PLAIN))
                problems.append(Problem("unknown parameter", name[:60], hint))
            elif inner[1].lower() == "valuecodes":
                found["values"].setdefault(inner[2], []).extend(split_values(value))
            elif inner[1].lower() == "codelist":
                found["codelists"][inner[2]] = value
        for key in ("heading", "stub", "outputformatparams"):
            found[key] = split_values(found.get(key, ""))
        return cls._made(found, language, problems)

    @classmethod
    def of_body(cls, body: Any, given: Mapping[str, str], language: str) -> PxQuery:
        """The query of a body, with the language and format of the address."""
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
        form = (found.get("outputformat") or PX_FORMATS[0]).lower()
        if form not in PX_FORMATS:
            problems.append(_unknown("format", form, "outputFormat", PX_FORMATS))
        known = {entry.lower(): entry for entry in FORMAT_PARAMS}
        params = []
        for item in found["outputformatparams"]:
            if item.lower() in known:
                params.append(known[item.lower()])
            else:
                problems.append(_unknown("parameter", item, "outputFormatParams", FORMAT_PARAMS))
        for group in (_TEXTS, tuple(_SEPARATORS)):
            if len({*params} & {*group}) > 1:
                message = f"use only one of {', '.join(group)}"
                problems.append(Problem(message, "outputFormatParams"))
        refuse(problems, "selection", "invalid-selection", _MOST_TOLD)
        return cls(values=found["values"], codelists=found["codelists"],
                   heading=tuple(found["heading"]), stub=tuple(found["stub"]), language=spoken,
                   format=form, params=tuple(params))  # fmt: skip


def _unknown(kind: str, given: str, where: str, known: Sequence[str]) -> Problem:
    return Problem(f"unknown {kind}", where, nearest(given[:60], known))


def _read_body(body: Any, found: dict[str, Any], problems: list[Problem]) -> None:
    hint = '{"selection": [{"variableCode": "sex", "valueCodes": ["*"]}]}'
    selection = body.get("selection", []) if isinstance(body, dict) else None
    if not isinstance(selection, list):
        problems.append(Problem("selection is missing", "selection", hint))
        return
    for at, entry in enumerate(selection):
        name = entry.get("variableCode") if isinstance(entry, dict) else None
        values = (entry.get("valueCodes") or []) if isinstance(entry, dict) else None
        if not isinstance(name, str) or not _is_texts(values):
            problems.append(
                Problem("variableCode and valueCodes are missing", f"selection[{at}]", hint)
            )
            continue
        found["values"][name] = values
        named = entry.get("codelist", entry.get("codeList"))
        if isinstance(named, str) and named:
            found["codelists"][name] = named
    placement = body.get("placement") or {}
    for key in ("heading", "stub"):
        codes = placement.get(key) or [] if isinstance(placement, dict) else None
        if not _is_texts(codes):
            problems.append(Problem("expected names of variables", f"placement.{key}"))
        else:
            found[key] = codes


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@dataclass(frozen=True, slots=True)
class LevelList:
    """The codes of one level of a variable, as a list of codes. It adds nothing up."""

    id: str  # Its name among all: TABLE~VARIABLE~BREAKDOWN.LEVEL.
    labels: Mapping[str, str]  # language → heading
    positions: tuple[int, ...]  # The positions of its codes


def level_lists(table_id: str, dimension: Dimension) -> dict[str, LevelList]:
    """The lists of codes of a variable by name: one per level, where there are several."""
    trees = dimension.classifications
    if len(trees) == 1 and trees[0].depth <= 1:
        return {}
    found = {}
    for k, tree in enumerate(trees):
        for level in range(1, tree.depth + 1):
            own = (dimension.breakdown == k) & (dimension.levels == level)
            level_name = tree.level_names[level - 1 : level]
            words = {"en": f"level {level}", "de": f"Ebene {level}"}
            labels = {item: f"{tree.title(item)}: {(*level_name, words[item])[0]}"
                      for item in LANGUAGES}  # fmt: skip
            name = f"{table_id}~{dimension.name}~{k}.{level}"
            found[name] = LevelList(name, labels, tuple(np.flatnonzero(own).tolist()))
    return found


def selection_of(query: PxQuery, table: ProtectedTable, table_id: str, *, most: int) -> Selection:
    """Codes that a query selects."""
    problems: list[Problem] = []
    names = [dimension.name for dimension in table.dimensions]
    for where, named in (
        ("valueCodes", query.values),
        ("codelist", query.codelists),
        ("heading", query.heading),
        ("stub", query.stub),
    ):
        problems += [_unknown("variable", n, where, names) for n in named if n not in names]
    placed = [*query.heading, *query.stub]
    if len({*placed}) < len(placed):
        problems.append(Problem("a variable can be in rows or columns, once", "heading"))
    stated = bool(query.values or query.codelists or problems)
    wanted: dict[str, Sequence[int] | None] = dict.fromkeys(names)  # None stands at the total
    wanted |= {} if stated else default_positions(table, most)
    for dimension in table.dimensions if stated else ():
        name, codes = dimension.name, dimension.index
        chosen, expressions = query.codelists.get(name), query.values.get(name)
        if chosen is not None:
            lists = level_lists(table_id, dimension)
            if chosen not in lists:
                problems.append(_unknown("list of codes", chosen, f"codelist[{name}]", [*lists]))
                continue
            codes = {dimension.codes[at]: at for at in lists[chosen].positions}
        if expressions or chosen is not None:
            wanted[name] = chosen_positions(expressions or ["*"], codes, name, problems)
            if not wanted[name] and not problems:
                message = f"no code of {name} is selected"
                problems.append(Problem(message, f"valueCodes[{name}]"))
        elif name == FIGURE and table.several_figures:
            message = "select the values: they have no total"
            problems.append(Problem(message, f"valueCodes[{name}]", "write *"))
    refuse(problems, "selection", "invalid-selection", _MOST_TOLD)
    return select(table, wanted, most=most)


def default_positions(table: ProtectedTable, first: int) -> dict[str, list[int]]:
    """Default selection: everything, or as little as fits.

    The longest variables are cut to their totals and the codes right below, then to their totals.
    """
    found = {item.name: list(range(len(item))) for item in table.dimensions}

    def size() -> int:
        return math.prod(map(len, found.values()))

    for deepest in (1, 0):
        for dimension in sorted(table.spanning, key=len, reverse=True):
            if size() <= first:
                return found
            found[dimension.name] = np.flatnonzero(dimension.levels <= deepest).tolist()
    return found


_CALL = re.compile(r"(top|bottom|from|to|range)\((.*)\)", re.IGNORECASE | re.DOTALL)
_WHOLE = re.compile(r"\d{1,9}")
#: More says nothing that fewer do not, and takes long to match.
_MOST_EXPRESSIONS = 100_000
_MOST_SIGNS = 20


def split_values(text: str) -> list[str]:
    """The expressions of a list: commas in brackets part nothing.

    A code with a comma in it stands in square brackets.

    >>> split_values("a,range(b,c),[d,e]")
    ['a', 'range(b,c)', '[d,e]']
    """
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth = max(0, depth - 1)
        elif sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def chosen_positions(
    expressions: Sequence[str], codes: Mapping[str, int], where: str, problems: list[Problem]
) -> list[int]:
    """The positions of the codes that expressions mean, as the code list orders them.

    >>> problems = []
    >>> chosen_positions(["top(1)", "3*"], {"10": 0, "20": 1, "30": 2}, "age", problems)
    [0, 2]
    >>> chosen_positions(["40"], {"10": 0, "20": 1}, "age", problems), problems[0].hint
    ([], 'known: 10, 20')
    """
    if len(expressions) > _MOST_EXPRESSIONS:
        problems.append(Problem("too many codes selected", where, "use * for all codes"))
        return []
    order, meant = list(codes), set[str]()
    for expression in expressions:
        meant.update(_means(expression.strip(), order, codes, where, problems))
    return [at for code, at in codes.items() if code in meant]


def _means(
    text: str,
    order: list[str],
    codes: Mapping[str, int],
    where: str,
    problems: list[Problem],
) -> Sequence[str]:

    def wrong(text: str) -> list[str]:
        short = len(text) <= 60 and text.isprintable()
        shown = text if short else text[:60].encode("unicode_escape").decode("ascii")
        problems.append(Problem(f"{shown!r} is not a code of {where}", where, nearest(text, order)))
        return []

    if text in codes:
        return [text]
    if text.startswith("[") and text.endswith("]"):
        return [text[1:-1]] if text[1:-1] in codes else wrong(text[1:-1])
    call = _CALL.fullmatch(text)
    if call is not None:
        # The codes that a function means: of the first or last, or between two.
        name, values = call[1].lower(), split_values(call[2])
        if name in ("top", "bottom"):
            if len(values) not in (1, 2) or not all(_WHOLE.fullmatch(item) for item in values):
                return wrong(f"{name}({','.join(values)})")
            number, start = int(values[0]), int(values[1]) if values[1:] else 0
            line = order if name == "top" else order[::-1]
            return line[start : start + number]
        ends = [item[1:-1] if item.startswith("[") else item for item in values]
        if len(ends) != (2 if name == "range" else 1):
            return wrong(f"{name}({','.join(values)})")
        for end in ends:
            if end not in codes:
                return wrong(end)
        places = [order.index(end) for end in ends]
        first = 0 if name == "to" else places[0]
        last = len(order) - 1 if name == "from" else places[-1]
        return order[min(first, last) : max(first, last) + 1]
    if "*" in text or "?" in text:
        if text.count("*") + text.count("?") > _MOST_SIGNS:
            problems.append(Problem("too many * and ? in one pattern", where))
            return []
        # Only * (any signs) and ? (one sign) mean something.
        fits = re.compile(translate(text.replace("[", "[[]"))).match
        return [code for code in order if fits(code)] or wrong(text)
    return wrong(text)


#: Signs of a number: addresses have an end. Bytes of a query, however well it was packed.
_LONGEST, _LARGEST = 4_000, 60_000
_NUMBER = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST}}}")
_KNOWN = ("id", "tableId", "language", "selection", "outputFormat", "outputFormatParams")


def saved_query(body: Any, language: str) -> tuple[str, dict[str, Any]]:
    """The number of a query that somebody saves, and the query.

    >>> number, query = saved_query({"tableId": "T1", "selection": {"selection": []}}, "de")
    >>> query["language"], opened_query(number) == query
    ('de', True)
    """
    problems: list[Problem] = []
    members: Mapping[str, Any] = body if isinstance(body, dict) else {}
    table, spoken = members.get("tableId"), members.get("language") or language
    params = members.get("outputFormatParams") or []
    if not isinstance(table, str) or not table:
        problems.append(Problem("expected a table", "tableId"))
    if not isinstance(spoken, str):
        problems.append(Problem("not a language", "language"))
    if not isinstance(members.get("outputFormat") or "", str):
        problems.append(Problem("not a format", "outputFormat"))
    if not _is_texts(params):
        problems.append(Problem("expected names of parameters", "outputFormatParams"))
    problems += [
        Problem("unknown member", str(item)[:60]) for item in members if item not in _KNOWN
    ]
    refuse(problems, "selection", "invalid-selection", _MOST_TOLD)
    query = {
        "tableId": table,
        "language": spoken,
        "selection": members.get("selection") or {"selection": []},
        "outputFormat": members.get("outputFormat") or PX_FORMATS[0],
        "outputFormatParams": params,
    }
    try:
        how: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "sort_keys": True}
        text = json.dumps(query, separators=(",", ":"), **how).encode()
    except (ValueError, RecursionError):  # half a character, no number, or nested too deeply
        message = "the query cannot be written as JSON in UTF-8"
        raise ServiceError(message, "invalid-selection", "selection") from None
    number = base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")
    if len(number) > _LONGEST or len(text) > _LARGEST:
        message, hint = "the query is too long to save", "use * or range(a,b) for many codes"
        raise ServiceError(message, "invalid-selection", "selection", hint)
    return number, query


def opened_query(number: str) -> dict[str, Any]:
    """The query that a number holds."""
    try:
        if not _NUMBER.fullmatch(number):
            raise ValueError(number)
        packed = base64.urlsafe_b64decode(number + "=" * (-len(number) % 4))
        reader = zlib.decompressobj()
        text = reader.decompress(packed, _LARGEST)
        if reader.unconsumed_tail or not reader.eof:
            raise ValueError(number)
        made, query = saved_query(json.loads(text), "en")
        if made != number:
            raise ValueError(number)
    except (ValueError, zlib.error, binascii.Error, RecursionError, ServiceError):
        message, hint = "saved query not found", "save the query, and use the returned number"
        raise ServiceError(message, "not-found", "savedqueries", hint) from None
    return query


def query_of(saved: Mapping[str, Any], given: Mapping[str, str]) -> PxQuery:
    """The query that is meant; the address may name another language or format."""
    lower = {name.lower(): value for name, value in given.items()}
    params = ",".join(saved["outputFormatParams"])
    own = {"outputFormat": lower.get("outputformat", saved["outputFormat"])}
    own["outputFormatParams"] = lower.get("outputformatparams", params)
    own["lang"] = lower.get("lang", saved["language"])
    return PxQuery.of_body(saved["selection"], own, saved["language"])
