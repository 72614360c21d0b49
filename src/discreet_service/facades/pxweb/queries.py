"""Queries of PxWebApi 2: what is asked of a released table. Public.

In: parameters of a request, or its body. Out: a `PxQuery`, and the `Selection` that it means. A
variable that is not named stands at its total, if it has one that was published; nothing is added
up here, and no list of codes adds up either.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from discreet.errors import Problem, nearest
from discreet.publication import LANGUAGES
from discreet.tables import FIGURE, Dimension, ProtectedTable
from discreet_service.problems import ServiceError
from discreet_service.releases import Selection, select

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
    """What is asked of a table."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)  # Variable → expressions
    codelists: Mapping[str, str] = field(default_factory=dict)  # Variable → name of a list of codes
    heading: tuple[str, ...] = ()  # Variables that go across
    stub: tuple[str, ...] = ()  # Variables that go down
    language: str = "en"  # "en" or "de"
    format: str = DEFAULT_FORMAT  # One of `PX_FORMATS`
    params: tuple[str, ...] = ()  # Some of `FORMAT_PARAMS`

    @property
    def separator(self) -> str:
        """What stands between the columns of CSV."""
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
        form = (found.get("outputformat") or DEFAULT_FORMAT).lower()
        if form not in PX_FORMATS:
            problems.append(_unknown("format", form, "outputFormat", tuple(PX_FORMATS)))
        known = {entry.lower(): entry for entry in FORMAT_PARAMS}
        params = []
        for item in found["outputformatparams"]:
            if item.lower() in known:
                params.append(known[item.lower()])
            else:
                problems.append(_unknown("parameter", item, "outputFormatParams", FORMAT_PARAMS))
        for group in (_TEXTS, tuple(_SEPARATORS)):
            if len({*params} & {*group}) > 1:
                message = f"only one of {', '.join(group)} can be asked for"
                problems.append(Problem(message, "outputFormatParams"))
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
        message = problems[0].what if len(problems) == 1 else f"{len(problems)} things are wrong"
        raise ServiceError(
            message,
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
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# -- lists of codes -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelList:
    """The codes of one level of a variable, as a list of codes. It adds nothing up."""

    id: str  # Its name among all: TABLE~VARIABLE~BREAKDOWN.LEVEL.
    labels: Mapping[str, str]  # language → heading
    positions: tuple[int, ...]  # The positions of its codes


def level_lists(table_id: str, dimension: Dimension) -> list[LevelList]:
    """The lists of codes of a variable: one per level, where there are several."""
    trees = dimension.classifications
    if len(trees) == 1 and trees[0].depth <= 1:
        return []
    found = []
    for k, tree in enumerate(trees):
        for level in range(1, tree.depth + 1):
            own = (dimension.breakdown == k) & (dimension.levels == level)
            level_name = tree.level_names[level - 1 : level]
            words = {"en": f"level {level}", "de": f"Ebene {level}"}
            found.append(
                LevelList(
                    id=f"{table_id}~{dimension.name}~{k}.{level}",
                    labels={
                        item: f"{tree.title(item)}: {level_name[0] if level_name else words[item]}"
                        for item in LANGUAGES
                    },
                    positions=tuple(np.flatnonzero(own).tolist()),
                )
            )
    return found


def find_level_list(table_id: str, dimension: Dimension, name: str) -> LevelList | None:
    """The list of codes of a name, if the variable has it."""
    return next(
        (level_list for level_list in level_lists(table_id, dimension) if level_list.id == name),
        None,
    )


# -- what is meant ------------------------------------------------------------------


def selection_of(
    query: PxQuery, table: ProtectedTable, table_id: str, *, most: int, first: int
) -> Selection:
    """What a query means."""
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
            lists = [level_list.id for level_list in level_lists(table_id, dimension)]
            problems.append(_unknown("list of codes", named, f"codelist[{name}]", lists))
            return None
        codes = {dimension.codes[at]: at for at in known.positions}
    expressions = query.values.get(name)
    if not expressions and named is None:
        if name == FIGURE and table.several_figures:
            message = "say which figures are wanted: nothing stands for all of them together"
            problems.append(Problem(message, f"valueCodes[{name}]", "write *"))
        return None
    found = chosen_positions(expressions or ["*"], codes, name, problems)
    if not found and not problems:
        problems.append(Problem(f"no code of {name} is selected", f"valueCodes[{name}]"))
    return found


def default_positions(table: ProtectedTable, first: int) -> dict[str, list[int]]:
    """What is given if nothing is selected: everything, or as little as fits.

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
        problems.append(Problem("too many codes are named", where, "write * for all of them"))
        return []
    order = list(codes)
    found: set[int] = set()
    for expression in expressions:
        means = _means(expression.strip(), order, codes, where, problems)
        found.update(codes[code] for code in means)
    rank = {position: at for at, position in enumerate(codes.values())}
    return sorted(found, key=rank.__getitem__)


def _means(
    text: str,
    order: list[str],
    codes: Mapping[str, int],
    where: str,
    problems: list[Problem],
) -> Sequence[str]:
    """The codes that one expression means."""
    wrong = partial(_wrong, problems, where, order)
    if text in codes:
        return [text]
    if text.startswith("[") and text.endswith("]"):
        return [text[1:-1]] if text[1:-1] in codes else wrong(text[1:-1])
    call = _CALL.fullmatch(text)
    if call is not None:
        return _called(call[1].lower(), split_values(call[2]), order, codes, wrong)
    if "*" in text or "?" in text:
        if text.count("*") + text.count("?") > _MOST_SIGNS:
            problems.append(Problem("too many * and ? stand in one pattern", where))
            return []
        return list(_matching(text, order)) or wrong(text)
    return wrong(text)


def _wrong(problems: list[Problem], where: str, order: list[str], text: str) -> list[str]:
    shown = text if len(text) <= 60 and text.isprintable() else text[:60].encode("unicode_escape")
    told = shown if isinstance(shown, str) else shown.decode("ascii")
    problems.append(Problem(f"{told!r} is no code of {where}", where, nearest(text, order)))
    return []


def _called(
    name: str,
    given: list[str],
    order: list[str],
    codes: Mapping[str, int],
    wrong: partial[list[str]],
) -> Sequence[str]:
    """The codes that a function means: of the first or last, or between two."""
    if name in ("top", "bottom"):
        if len(given) not in (1, 2) or not all(_WHOLE.fullmatch(item) for item in given):
            return wrong(f"{name}({','.join(given)})")
        number, start = int(given[0]), int(given[1]) if given[1:] else 0
        line = order if name == "top" else order[::-1]
        return line[start : start + number]
    ends = [item[1:-1] if item.startswith("[") else item for item in given]
    if len(ends) != (2 if name == "range" else 1):
        return wrong(f"{name}({','.join(given)})")
    for end in ends:
        if end not in codes:
            return wrong(end)
    places = [order.index(end) for end in ends]
    first = 0 if name == "to" else places[0]
    last = len(order) - 1 if name == "from" else places[-1]
    return order[min(first, last) : max(first, last) + 1]


def _matching(pattern: str, order: list[str]) -> Iterator[str]:
    """The codes that fit a pattern of * (any signs) and ? (one sign)."""
    parts = re.split(r"\*+", pattern)
    for code in order:
        if _fits(code, parts):
            yield code


def _fits(code: str, parts: list[str]) -> bool:
    """Whether the parts stand in a code one after another; greedily, which is enough."""
    first, *rest = parts
    if not _begins(code, first, 0):
        return False
    at = len(first)
    if not rest:
        return at == len(code)
    for part in rest[:-1]:
        while at + len(part) <= len(code) and not _begins(code, part, at):
            at += 1
        if at + len(part) > len(code):
            return False
        at += len(part)
    return len(code) - len(rest[-1]) >= at and _begins(code, rest[-1], len(code) - len(rest[-1]))


def _begins(code: str, part: str, at: int) -> bool:
    """Whether a part with ? for any sign stands at a place of a code."""
    if at + len(part) > len(code):
        return False
    return all(sign in ("?", code[at + k]) for k, sign in enumerate(part))


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
    given: Mapping[str, Any] = body if isinstance(body, dict) else {}
    table, spoken = given.get("tableId"), given.get("language") or language
    params = given.get("outputFormatParams") or []
    if not isinstance(table, str) or not table:
        problems.append(Problem("a table is needed", "tableId"))
    if not isinstance(spoken, str):
        problems.append(Problem("this is no language", "language"))
    if not isinstance(given.get("outputFormat") or "", str):
        problems.append(Problem("this is no format", "outputFormat"))
    if not isinstance(params, list) or not all(isinstance(param, str) for param in params):
        problems.append(Problem("names of parameters are needed", "outputFormatParams"))
    problems += [
        Problem("there is no such member", str(item)[:60]) for item in given if item not in _KNOWN
    ]
    raise_selection(problems)
    query = {
        "tableId": table,
        "language": spoken,
        "selection": given.get("selection") or {"selection": []},
        "outputFormat": given.get("outputFormat") or "json-stat2",
        "outputFormatParams": params,
    }
    try:
        text = _packed(query)
    except (ValueError, RecursionError):  # half a character, no number, or nested too deeply
        what = "the query cannot be written as JSON in UTF-8"
        raise ServiceError(what, code="invalid-selection", where="selection") from None
    number = base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")
    if len(number) > _LONGEST or len(text) > _LARGEST:
        what, hint = "the query is too long to be saved", "write * or range(a,b) for many codes"
        raise ServiceError(what, code="invalid-selection", where="selection", hint=hint)
    return number, query


def _packed(query: Mapping[str, Any]) -> bytes:
    how: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "sort_keys": True}
    return json.dumps(query, separators=(",", ":"), **how).encode()


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
        what, hint = "there is no such saved query", "save it, and use the number that is answered"
        raise ServiceError(what, code="not-found", where="savedqueries", hint=hint) from None
    return query


def query_of(saved: Mapping[str, Any], given: Mapping[str, str]) -> PxQuery:
    """The query that is meant; the address may name another language or format."""
    lower = {name.lower(): value for name, value in given.items()}
    params = ",".join(saved["outputFormatParams"])
    own = {"outputFormat": lower.get("outputformat", saved["outputFormat"])}
    own["outputFormatParams"] = lower.get("outputformatparams", params)
    own["lang"] = lower.get("lang", saved["language"])
    return PxQuery.of_body(saved["selection"], own, saved["language"])
