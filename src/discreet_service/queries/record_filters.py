"""Filters on records for codes of any level.

In: finest codes of a variable, and the column that holds them. Out: a filter text that every
engine reads, stores at full speed; or, where it would be too long, an expression. Ranges stand in
place of long lists: all values of a column are known to have codes. Not so in databases, each of
which sorts texts in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np

from discreet.arrays import BoolArray
from discreet.classifications import Classification
from discreet.microdata.filters import parse_filter
from discreet.release.programme.universes import all_of
from discreet_service.problems import ServiceError

#: The longest text that is handed on; the filter language reads at most 10,000 characters.
LONGEST_TEXT = 8_000


def filter_text(tree: Classification, leaves: BoolArray, kind: Any, *, ranges: bool = True) -> str:
    """The filter that lets records with some finest codes through.

    >>> sex = Classification.flat("sex", ["d", "m", "w"])
    >>> filter_text(sex, np.array([False, False, True, True]), nw.String())
    "((`sex` >= 'm' and `sex` <= 'w'))"
    """
    column = f"`{tree.source}`"
    chosen = [code for code, own in zip(tree.codes, leaves.tolist(), strict=True) if own]
    parts = []
    if tree.missing in chosen:
        parts.append(f"{column} is null")
    if tree.bounds is not None:
        parts += _interval_parts(tree, set(chosen), column)
    elif str(kind) == "Boolean":
        parts += [f"{column} == {code}" for code in chosen if code in ("true", "false")]
    else:
        parts += list(
            _code_parts(
                tree,
                set(chosen),
                column,
                hasattr(kind, "is_numeric") and bool(kind.is_numeric()),
                ranges,
            )
        )
    if not parts:
        raise ServiceError("no record can have these codes", code="invalid-query", where=tree.name)
    return f"({' or '.join(parts)})"


def _interval_parts(tree: Classification, chosen: set[str], column: str) -> list[str]:
    """Conditions on a number: neighbouring intervals joined."""
    assert tree.bounds is not None
    intervals = [code for code in tree.leaves if code != tree.missing]
    parts = []
    for first, last in _runs([code in chosen for code in intervals]):
        low, high = tree.bounds[first], tree.bounds[last + 1]
        bounds = [f"{column} >= {_literal(low)}"] if math.isfinite(low) else []
        bounds += [f"{column} < {_literal(high)}"] if math.isfinite(high) else []
        parts.append(f"({' and '.join(bounds)})" if bounds else f"{column} is not null")
    return parts


def _literal(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _code_parts(
    tree: Classification, chosen: set[str], column: str, number: bool, ranges: bool
) -> Iterator[str]:
    """Conditions on codes: those that stand together in the order of the column are a range."""
    leaves = [code for code in tree.leaves if not number or _whole(code)]
    order = sorted(leaves, key=int) if number else sorted(leaves)
    literal = str if number else _quoted
    for first, last in _runs([code in chosen for code in order]):
        if not (ranges or number) or last - first < 1:
            for code in order[first : last + 1]:
                yield f"{column} == {literal(code)}"
        else:
            low, high = literal(order[first]), literal(order[last])
            yield f"({column} >= {low} and {column} <= {high})"


def _whole(code: str) -> bool:
    return code.removeprefix("-").isdecimal() and code.isascii()


def _quoted(code: str) -> str:
    """A code as a literal: nothing in it can end the text, and no blank stands in it."""
    escaped = "".join(
        letter if letter.isprintable() and letter not in "\\'\"`# " else (f"\\U{ord(letter):08x}")
        for letter in code
    )
    return f"'{escaped}'"


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last place of each run of true marks."""
    padded = np.concatenate([[False], np.asarray(marks, dtype=np.bool_), [False]]).astype(np.int8)
    change = np.diff(padded)
    starts, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1) - 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def joint_filter(texts: Sequence[str], schema: Any) -> str | nw.Expr | None:
    """All conditions at once: a text where it is short enough; None for no condition."""
    whole = all_of(*texts)
    if len(whole) <= LONGEST_TEXT:
        return whole or None
    given = [_expression(text, schema) for text in texts if text.strip()]
    return reduce(lambda one, other: one & other, given)


def _expression(text: str, schema: Any) -> nw.Expr:
    """The expression of a condition; long ones are read piece by piece."""
    if len(text) <= LONGEST_TEXT:
        return parse_filter(text).to_narwhals(schema)
    pieces, held = [], ""
    for part in text[1:-1].split(" or "):
        if held and len(held) + len(part) > LONGEST_TEXT:
            pieces.append(held)
            held = ""
        held = f"{held} or {part}" if held else part
    read = [parse_filter(piece).to_narwhals(schema) for piece in (*pieces, held)]
    return reduce(lambda one, other: one | other, read)
