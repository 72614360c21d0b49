"""`ValueRelation`: values that add up to others, such as home and foreign turnover to all.

In: what somebody states, as a text, or columns of values (CONFIDENTIAL). Out: the relations
between value columns with whole coefficients, as stated or as found to hold everywhere. A
relation alone is public; whoever knows it works out one of its values from the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import TableError

_TERM = re.compile(
    r"\s*(?P<sign>[+-])?\s*(?:(?P<factor>\d+)\s*\*\s*)?(?:`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*))"
)
_PLAIN = re.compile(r"[^\W\d][\w.]*")
_NOTHING = re.compile(r"\s*0\s*")
_HINT = 'write "total = home + foreign"; names with other signs stand in `…`'

#: Larger coefficients are no relation that anybody knows.
_LARGEST = 1_000
#: Largest coefficient, and how near to whole numbers: of exact values, and of rounded ones.
_WHOLE = ((_LARGEST, 1e-6), (12, 1e-2))
#: What sums of doubles may miss a relation by, as a share of what is added up.
ROUGH = 1e-11
#: Which share of the largest singular value counts as none, from strict to loose.
_TOLERANCES = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
#: A relation within rounding is believed where values are so many times what is rounded.
_CLEAR = 20.0
#: Relations are looked for in so many rows, and then held against all.
_ROWS = 20_000


@dataclass(frozen=True)
class ValueRelation:
    """The sum of coefficient × value over some value columns is 0, in every cell.

    Args:
        coefs: Name and coefficient of each value; "count" stands for the number of records.

    >>> ValueRelation.read("total = home + foreign").coefs
    (('total', -1), ('home', 1), ('foreign', 1))
    """

    coefs: tuple[tuple[str, int], ...]

    @classmethod
    def read(cls, text: str, where: str = "relations") -> ValueRelation:
        """The relation that a text states.

        Args:
            text: Such as ``total = home + foreign`` or ``assets - debts = 2 * equity``.
            where: Where it stands, for messages.
        """
        sides = text.split("=") if isinstance(text, str) else []
        if len(sides) != 2:
            message = "a relation has two sides, with = between them"
            raise TableError(message, code="relations", where=where, hint=_HINT)
        factors: dict[str, int] = {}
        for side, turn in zip(sides, (-1, 1), strict=True):
            for name, factor in _terms(side, where):
                factors[name] = factors.get(name, 0) + turn * factor
        coefs = tuple((name, factor) for name, factor in factors.items() if factor)
        if len(coefs) < 2:
            message = "a relation is about two values or more"
            raise TableError(message, code="relations", where=where, hint=_HINT)
        return cls.of(coefs)

    @classmethod
    def stated(cls, name: str, text: str) -> ValueRelation:
        """The relation of a name: its left side, unless the text has two."""
        return cls.read(text if "=" in text else f"`{name}` = {text}")

    @classmethod
    def of(cls, coefs: Sequence[tuple[str, int]]) -> ValueRelation:
        """The relation with these coefficients, divided by what is common to them."""
        common = math.gcd(*(factor for _, factor in coefs))
        return cls(tuple((name, factor // common) for name, factor in coefs))

    @property
    def values(self) -> tuple[str, ...]:
        """The names of its values."""
        return tuple(name for name, _ in self.coefs)

    @property
    def text(self) -> str:
        """The relation as it is written."""
        sides = []
        for turn in (-1, 1):
            side = [(name, turn * factor) for name, factor in self.coefs if turn * factor > 0]
            named = [(name if _PLAIN.fullmatch(name) else f"`{name}`", n) for name, n in side]
            terms = [f"{factor} * {name}" if factor > 1 else name for name, factor in named]
            sides.append(" + ".join(terms) or "0")
        return " = ".join(sides)

    def misses(self, columns: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """By how much columns of values miss it in each cell, and the size of what is added up.

        CONFIDENTIAL. Not a number where one of the values is not.
        """
        terms = np.stack([factor * columns[name] for name, factor in self.coefs])
        return np.abs(terms.sum(axis=0)), np.abs(terms).sum(axis=0)

    def within(self, columns: Mapping[str, FloatArray], room: FloatArray | float) -> BoolArray:
        """In which cells it holds, but for rounding by `room`; also where a value is missing."""
        miss, size = self.misses(columns)
        return ~(miss > room + ROUGH * size)

    def rounding(self, units: Mapping[str, float]) -> float:
        """What it may be missed by at most where each value is rounded to units."""
        return sum(abs(factor) * units[name] / 2 for name, factor in self.coefs)


def _terms(side: str, where: str) -> list[tuple[str, int]]:
    """Names with their coefficients; none for the number 0."""
    if _NOTHING.fullmatch(side):
        return []
    terms: list[tuple[str, int]] = []
    at = 0
    while at < len(side.rstrip()):
        match = _TERM.match(side, at)
        if match is None or (terms and match["sign"] is None):
            message = "this side of a relation is no sum or difference of values"
            raise TableError(
                message, code="relations", where=f"{where}: {side.strip()}", hint=_HINT
            )
        factor = int(match["factor"] or 1) * (-1 if match["sign"] == "-" else 1)
        terms.append((match["quoted"] or match["name"], factor))
        at = match.end()
    if not terms:
        message = "a side of the relation is empty"
        raise TableError(message, code="relations", where=where, hint=_HINT)
    return terms


def found_relations(
    columns: Mapping[str, FloatArray],
    units: Mapping[str, float] | None = None,
    parts: FloatArray | float = 1.0,
    *,
    repeated: bool = False,
) -> list[ValueRelation]:
    """The relations that hold in all cells: independent ones, with small whole coefficients.

    Believed is what more cells bear out than are needed to make it up.

    >>> home = np.array([3.0, 5.0, 2.5, 8.0])
    >>> foreign = np.array([1.0, 0.0, 7.0, 2.0])
    >>> columns = {"all": home + foreign, "home": home, "foreign": foreign}
    >>> [found.text for found in found_relations(columns)]
    ['all = home + foreign']
    """
    names = [name for name, column in columns.items() if np.any(column)]
    if len(names) < 2:
        return []
    matrix = np.stack([columns[name] for name in names], axis=1)
    rounded = dict.fromkeys(names, 0.0) if units is None else units
    relations: dict[tuple[int, ...], ValueRelation] = {}
    for coefs in _candidates(matrix):
        relation = ValueRelation.of(_signed(names, coefs))
        if coefs not in relations and _borne_out(
            relation, columns, parts * relation.rounding(rounded), repeated
        ):
            relations[coefs] = relation
    return independent(list(relations.values()))


def _borne_out(
    relation: ValueRelation,
    columns: Mapping[str, FloatArray],
    room: FloatArray | float,
    repeated: bool,
) -> bool:
    """Whether a relation holds in all cells, and in enough clear and different ones."""
    if not relation.within(columns, room).all():
        return False
    _, size = relation.misses(columns)
    clear = np.flatnonzero(size > _CLEAR * room)[:_ROWS]
    values = np.stack([columns[name][clear] for name in relation.values], axis=1)
    different = np.unique(values, axis=0)
    needed = len(relation.values)
    if (len(values) if repeated else len(different)) < needed:
        return False
    scaled = different / np.maximum(np.abs(different).max(axis=0), 1e-300)
    return int(np.linalg.matrix_rank(scaled, tol=1e-9 * len(scaled))) >= needed - 1


def _signed(names: Sequence[str], coefs: Sequence[int]) -> list[tuple[str, int]]:
    """Names with coefficients; the fewer of one sign are negative, the total where it is one."""
    pairs = [(name, factor) for name, factor in zip(names, coefs, strict=True) if factor]
    negative = sum(factor < 0 for _, factor in pairs)
    positive = len(pairs) - negative
    turn = negative > positive or (negative == positive and pairs[0][1] > 0)
    return [(name, -factor if turn else factor) for name, factor in pairs]


def _candidates(matrix: FloatArray) -> list[tuple[int, ...]]:
    """Small whole coefficients of columns that may add up to nothing."""
    step = max(1, len(matrix) // _ROWS)
    some = matrix[::step]
    some = some[np.any(some != 0, axis=1)]
    if not len(some):
        return []
    scale = np.maximum(np.abs(some).max(axis=0), 1e-300)
    triangle = np.linalg.qr(some / scale, mode="r")
    _, sizes, ways = np.linalg.svd(triangle, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(len(scale) - len(sizes))])
    candidates: dict[tuple[int, ...], None] = {}
    for tolerance in _TOLERANCES:
        null = ways[sizes <= tolerance * sizes[0]] / scale
        for row in _reduced(null / np.maximum(np.abs(null).max(axis=1, keepdims=True), 1e-300)):
            for largest, rough in _WHOLE:
                coefs = _whole(row, largest, rough)
                if coefs is not None:
                    candidates[coefs] = None
    return list(candidates)


def _reduced(rows: FloatArray) -> FloatArray:
    """The rows in echelon form: each has a column of its own."""
    rows = rows.copy()
    for at in range(len(rows)):
        rest = np.abs(rows[at:])
        best, column = np.unravel_index(int(rest.argmax()), rest.shape)
        rows[[at, at + int(best)]] = rows[[at + int(best), at]]
        rows[at] /= rows[at, column]
        others = np.arange(len(rows)) != at
        rows[others] -= np.outer(rows[others, column], rows[at])
    return rows


def _whole(row: FloatArray, largest: int, rough: float) -> tuple[int, ...] | None:
    """A multiple of the row in small whole numbers; None if there is none."""
    row = row / np.abs(row).max(initial=1e-300)
    parts = [Fraction(float(item)).limit_denominator(largest) for item in row]
    if np.abs(np.array([float(part) for part in parts]) - row).max() > rough:
        return None
    factor = math.lcm(*(part.denominator for part in parts))
    whole = [int(part * factor) for part in parts]
    most = max(abs(item) for item in whole)
    if sum(item != 0 for item in whole) < 2 or most > largest:
        return None
    first = next(item for item in whole if item)
    return tuple(item if first < 0 else -item for item in whole)


def independent(
    relations: Sequence[ValueRelation], known: Sequence[ValueRelation] = ()
) -> list[ValueRelation]:
    """Those of the relations that do not follow from known ones and those before them."""
    names = list(dict.fromkeys(n for item in (*known, *relations) for n in item.values))
    kept: list[ValueRelation] = []
    for relation in relations:
        before = _rank([*known, *kept], names)
        if _rank([*known, *kept, relation], names) > before:
            kept.append(relation)
    return kept


def _rank(relations: Sequence[ValueRelation], names: Sequence[str]) -> int:
    if not relations:
        return 0
    matrix: IntArray = np.zeros((len(relations), len(names)), dtype=np.int64)
    for row, relation in enumerate(relations):
        for name, factor in relation.coefs:
            matrix[row, names.index(name)] = factor
    return int(np.linalg.matrix_rank(matrix.astype(np.float64)))
