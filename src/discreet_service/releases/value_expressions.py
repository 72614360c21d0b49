"""Value expressions: which codes of a variable a query of PxWebApi 2 means. Public.

In: codes, `*` and `?`, `top(n)`, `bottom(n)`, `from(a)`, `to(b)`, `range(a,b)`. Out: positions of
codes in the order of the variable's list, each once; or what is wrong, for all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from discreet.errors import Problem
from discreet.release.programme.file import nearest

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

    Args:
        expressions: The expressions.
        codes: Code → position, in order.
        where: What to name in problems.
        problems: What is wrong is added here.

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
        if len(given) not in (1, 2) or not all(_WHOLE.fullmatch(each) for each in given):
            return wrong(f"{name}({','.join(given)})")
        number, start = int(given[0]), int(given[1]) if given[1:] else 0
        line = order if name == "top" else order[::-1]
        return line[start : start + number]
    ends = [each[1:-1] if each.startswith("[") else each for each in given]
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
