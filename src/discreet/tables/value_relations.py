"""`ValueRelation`: values that add up to others, such as home and foreign turnover to all.

In: what somebody states, as a text, or columns of values (CONFIDENTIAL). Out: the relations
between value columns with whole coefficients, as stated or as found to hold everywhere: exactly,
or within so much a record or such a share. A relation alone is public; whoever knows it works out
one of its values from the others, or nearly so.

Pairs of columns are nearly multiples of each other within so much a record, as euros and thousands
of euros, or within a share, as hours and staff. That is believed where many values bear it out that
are far larger than the room it leaves, and where one column says nearly all of how the other
varies: columns that vary little are no multiples of each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import TableError

_TERM = re.compile(
    r"\s*(?P<sign>[+-])?\s*(?:(?P<factor>\d+(?:\.\d+)?)\s*\*\s*)?"
    r"(?:`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*))"
)
_WITHIN = re.compile(r"\swithin\s+(?P<number>\d+(?:\.\d+)?)\s*(?P<share>%)?\s*$")
_PLAIN = re.compile(r"[^\W\d][\w.]*")
_NOTHING = re.compile(r"\s*0\s*")
_HINT = 'write "total = home + foreign"; put names with special characters in `…`'

#: What counts are called in relations.
COUNT = "count"
#: Columns within such a share of each other, but for a factor, are related.
NEAR = 0.01
#: Coefficients up to these are guessed from few cells; larger ones are worked out exactly, and need
#: so many cells more.
_LARGEST, _MORE_CELLS = 1_000, 3
#: And are no larger than this.
_HUGE = 10**9
#: Values are whole numbers of the last of so many decimals, or no numbers that add up exactly.
_DECIMALS = 9
#: Larger numbers are no longer clearly whole.
_WIDEST = 1e14
#: Largest coefficient, and how near to whole numbers: of exact values, and of rounded ones.
_WHOLE = ((_LARGEST, 1e-6), (12, 1e-2))
#: What sums of doubles may miss a relation by, as a share of what is added up.
ROUGH = 1e-11
#: Which share of the largest singular value counts as none, from strict to loose.
_TOLERANCES = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
#: A relation within rounding is believed where values are so many times what is rounded.
_CLEAR = 20.0
#: Columns with a smaller share of a relation have no part in it.
_FAINT = 1e-9
#: Relations are looked for in so many rows, and then held against all.
_ROWS = 20_000


@dataclass(frozen=True)
class ValueRelation:
    """The sum of coefficient × value over some value columns is 0, in every cell; or nearly 0.

    Args:
        coefs: Name and coefficient of each value; "count" stands for the number of records.
        each: By so much a record may miss it, as rounded values do.
        share: Or by this share of the values on one of its sides.

    >>> ValueRelation.read("total = home + foreign").coefs
    (('total', -1), ('home', 1), ('foreign', 1))
    >>> ValueRelation.read("euro = 1.95583 * mark").coefs
    (('euro', -100000), ('mark', 195583))
    >>> ValueRelation.read("1000 * thousands = euro within 500").each
    500.0
    """

    coefs: tuple[tuple[str, int], ...]
    each: float = 0.0
    share: float = 0.0

    @classmethod
    def read(cls, text: str, where: str = "relations") -> ValueRelation:
        """The relation that a text states.

        Args:
            text: Such as ``total = home + foreign`` or ``assets - debts = 2 * equity``; also
                ``1000 * thousands = euro within 500``, so much a record, or ``… within 1 %``.
            where: Where it stands, for messages.
        """
        near = _WITHIN.search(text) if isinstance(text, str) else None
        sides = (text[: near.start()] if near else text).split("=") if isinstance(text, str) else []
        if len(sides) != 2:
            message = "a relation needs two sides, separated by ="
            raise TableError(message, code="relations", where=where, hint=_HINT)
        factors: dict[str, Fraction] = {}
        for side, turn in zip(sides, (-1, 1), strict=True):
            for name, factor in _terms(side, where):
                factors[name] = factors.get(name, Fraction(0)) + turn * factor
        scale = math.lcm(*(factor.denominator for factor in factors.values()))
        coefs = tuple((name, int(factor * scale)) for name, factor in factors.items() if factor)
        if len(coefs) < 2:
            message = "a relation needs at least two values"
            raise TableError(message, code="relations", where=where, hint=_HINT)
        number = Fraction(near["number"]) if near else Fraction(0)
        if near and near["share"]:
            return cls.of(coefs, share=float(number / 100))
        return cls.of(coefs, each=float(number * scale))

    @classmethod
    def stated(cls, name: str, text: str) -> ValueRelation:
        """The relation of a name: its left side, unless the text has two."""
        return cls.read(text if "=" in text else f"`{name}` = {text}")

    @classmethod
    def of(
        cls, coefs: Sequence[tuple[str, int]], *, each: float = 0.0, share: float = 0.0
    ) -> ValueRelation:
        """The relation with these coefficients, divided by what is common to them."""
        common = math.gcd(*(factor for _, factor in coefs))
        own = tuple((name, factor // common) for name, factor in coefs)
        return cls(own, each=each / common, share=share)

    def without_count(self) -> ValueRelation:
        """A copy for readers who do not see numbers of records: they bound missing values."""
        own = dict(self.coefs)
        each = self.each + abs(own.pop(COUNT, 0))
        return ValueRelation(tuple(own.items()), each=each, share=self.share)

    @property
    def exact(self) -> bool:
        """Whether it leaves no room at all."""
        return not self.each and not self.share

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
        near = f" within {self.each:.12g}" if self.each else ""
        near = f" within {100 * self.share:.12g} %" if self.share else near
        return " = ".join(sides) + near

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

    def room(self, columns: Mapping[str, FloatArray], records: FloatArray | float) -> FloatArray:
        """By how much cells of so many records may miss it, besides what rounding does."""
        _, size = self.misses(columns)
        return self.each * records + self.share * np.nan_to_num(size) / 2

    def rounding(self, units: Mapping[str, float]) -> float:
        """Largest error of the relation if each value is rounded to units."""
        return sum(abs(factor) * units[name] / 2 for name, factor in self.coefs)


def _terms(side: str, where: str) -> list[tuple[str, Fraction]]:
    """Names with their coefficients; none for the number 0."""
    if _NOTHING.fullmatch(side):
        return []
    terms: list[tuple[str, Fraction]] = []
    at = 0
    while at < len(side.rstrip()):
        match = _TERM.match(side, at)
        if match is None or (terms and match["sign"] is None):
            message = "not a sum or difference of values"
            raise TableError(
                message, code="relations", where=f"{where}: {side.strip()}", hint=_HINT
            )
        factor = Fraction(match["factor"] or 1) * (-1 if match["sign"] == "-" else 1)
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
    """The relations that hold in all cells: independent ones, with whole coefficients.

    Believed is what more cells bear out than are needed to make it up. Large coefficients are
    worked out in whole numbers, and must hold in them.

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
    relations: list[ValueRelation] = []
    rows = _null_rows(matrix, *_TOLERANCES, plain=True)
    candidates = (_whole(row, *nearness) for row, nearness in product(rows, _WHOLE))
    for coefs in dict.fromkeys(filter(None, candidates)):  # small whole numbers
        relation = ValueRelation.of(_signed(names, coefs))
        room = parts * relation.rounding(rounded)
        if _borne_out(relation, columns, room, repeated):
            relations.append(relation)
    return independent(
        [*independent(relations), *_exact_relations(names, matrix, repeated=repeated)]
    )


def whole_numbers(column: FloatArray) -> tuple[IntArray, int] | None:
    """A column in units of its last decimal, and how many decimals it has; None if it has many.

    >>> whole_numbers(np.array([1.25, 3.0]))
    (array([125, 300]), 2)
    """
    for decimals in range(_DECIMALS + 1):
        scaled = column * 10.0**decimals
        near = np.rint(scaled)
        if np.abs(scaled).max(initial=0.0) >= _WIDEST:
            return None
        if (np.abs(scaled - near) <= 1e-9 + 4e-16 * np.abs(scaled)).all():
            return near.astype(np.int64), decimals
    return None


def _exact_relations(
    names: Sequence[str], matrix: FloatArray, *, repeated: bool
) -> list[ValueRelation]:
    """Relations with coefficients of any size, worked out and held against cells exactly."""
    columns = [whole_numbers(column) for column in matrix.T]
    usable = [at for at, column in enumerate(columns) if column is not None]
    if len(usable) < 2:
        return []
    relations = []
    for row in _null_rows(matrix[:, usable], _TOLERANCES[0]):
        own = [usable[at] for at in np.flatnonzero(np.abs(row) > _FAINT)]
        known = [column for at in own if (column := columns[at]) is not None]
        most = max((decimals for _, decimals in known), default=0)
        scaled = [part.astype(object) * 10 ** (most - decimals) for part, decimals in known]
        rows = np.stack(scaled, axis=1) if len(own) > 1 else np.zeros((0, 0), dtype=object)
        different = list(dict.fromkeys(map(tuple, rows[rows.any(axis=1)].tolist())))
        if (len(rows) if repeated else len(different)) < len(own) + _MORE_CELLS:
            continue
        coefs = _solved(different, len(own))
        if coefs is not None and not (np.array(different, dtype=object) @ coefs).any():
            relations.append(ValueRelation.of(_signed([names[at] for at in own], coefs)))
    return relations


def _solved(rows: Sequence[tuple[int, ...]], columns: int) -> tuple[int, ...] | None:
    """The only coefficients, but for a factor, with which columns add up to nothing in rows."""
    pivots: dict[int, list[Fraction]] = {}
    for one in rows:
        if len(pivots) == columns - 1:
            break
        row = [Fraction(number) for number in one]
        for at, pivot in pivots.items():
            if row[at]:
                row = [a - row[at] * b for a, b in zip(row, pivot, strict=True)]
        first = next((at for at, number in enumerate(row) if number), None)
        if first is None:
            continue
        row = [number / row[first] for number in row]
        for at, pivot in pivots.items():
            pivots[at] = [a - pivot[first] * b for a, b in zip(pivot, row, strict=True)]
        pivots[first] = row
    free = [at for at in range(columns) if at not in pivots]
    if len(free) != 1:
        return None
    values = [-pivots[at][free[0]] if at in pivots else Fraction(1) for at in range(columns)]
    factor = math.lcm(*(value.denominator for value in values))
    coefs = tuple(int(value * factor) for value in values)
    return coefs if all(coefs) and max(map(abs, coefs)) <= _HUGE else None


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


def _null_rows(matrix: FloatArray, *tolerances: float, plain: bool = False) -> Iterator[FloatArray]:
    """What columns may add up to nothing with: of themselves if `plain`, else of their shares."""
    step = max(1, len(matrix) // _ROWS)
    some = matrix[::step]
    some = some[np.any(some != 0, axis=1)]
    if not len(some):
        return
    scale = np.maximum(np.abs(some).max(axis=0), 1e-300)
    triangle = np.linalg.qr(some / scale, mode="r")
    _, sizes, ways = np.linalg.svd(triangle, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(len(scale) - len(sizes))])
    for tolerance in tolerances:
        null = ways[sizes <= tolerance * sizes[0]] / (scale if plain else 1.0)
        yield from _reduced(null / np.maximum(np.abs(null).max(axis=1, keepdims=True), 1e-300))


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
    """The relations that do not follow from known and earlier ones."""
    names = list(dict.fromkeys(n for item in (*known, *relations) for n in item.values))
    kept: list[ValueRelation] = []
    rank = _rank(known, names)
    for relation in relations:
        if _rank([*known, *kept, relation], names) > rank:
            kept.append(relation)
            rank += 1
    return kept


def _rank(relations: Sequence[ValueRelation], names: Sequence[str]) -> int:
    if not relations:
        return 0
    matrix: IntArray = np.zeros((len(relations), len(names)), dtype=np.int64)
    for row, relation in enumerate(relations):
        for name, factor in relation.coefs:
            matrix[row, names.index(name)] = factor
    return int(np.linalg.matrix_rank(matrix.astype(np.float64)))


#: A relation within so much is believed where values are so many times as large,
_FAR_LARGER = 10.0
#: and where so many different ones are.
_DIFFERENT = 12
#: What it leaves open of how values vary, as a share, in logarithms.
_LEFT_OPEN = 0.2
#: Ratios have no more digits than this, or no larger denominators.
_DIGITS, _DENOMINATOR = 7, 10**6
#: What is rounded, and how: one column or the other or both, to the nearest unit or downwards.
_ROUNDINGS = tuple(
    (Fraction(n * own, 2), Fraction(n * other, 2))
    for n in (1, 2)
    for own, other in ((1, 0), (0, 1), (1, 1))
)


def near_relations(
    columns: Mapping[str, FloatArray], share: float, *, rounded: bool = True
) -> list[ValueRelation]:
    """The relations of pairs within a share of their values, or where `rounded` within rounding.

    >>> euro = np.array([1234.0, 98765, 45678, 7654, 33333, 8000, 64321, 27182, 31415, 16180,
    ...                  14142, 17320, 22360, 26457])
    >>> columns = {"euro": euro, "thousands": np.rint(euro / 1000)}
    >>> [found.text for found in near_relations(columns, 0.01)]
    ['euro = 1000 * thousands within 500']
    """
    names = [name for name, column in columns.items() if name != COUNT and np.any(column)]
    relations: list[ValueRelation] = []
    for name, other in combinations(names, 2):
        one, two = columns[name], columns[other]
        pair = _rounded(one, two) if rounded else None
        if pair is None:
            pair = _within_share(one, two, share)
        if pair is not None:
            coefs, each, near = pair
            terms = [(n, c) for n, c in zip((name, other, COUNT), coefs, strict=True) if c]
            relations.append(ValueRelation.of(terms, each=each, share=near))
    return relations


_Pair = tuple[tuple[int, int, int], float, float]


def _rounded(one: FloatArray, two: FloatArray) -> _Pair | None:
    """The relation of two columns of which one or both are rounded multiples of the other."""
    parts = [whole_numbers(column) for column in (one, two)]
    if parts[0] is None or parts[1] is None:
        return None
    units = [  # all values are multiples of them
        Fraction(int(np.gcd.reduce(np.abs(numbers))) or 1, 10**decimals)
        for numbers, decimals in filter(None, parts)
    ]
    slope, start = _line(one, two)
    if not slope:
        return None
    for constant in dict.fromkeys([Fraction(0), round(start / units[0]) * units[0]]):
        moved = one - float(constant)
        for own, other in sorted(_ROUNDINGS, key=lambda r: r[0] + r[1] * abs(slope) * units[1]):
            factor = _factor(
                moved, two, 1.05 * float(own * units[0] + other * abs(slope) * units[1])
            )
            if factor is None:
                continue
            room = own * units[0] + other * abs(factor) * units[1]
            if not _clear(moved, two * float(factor), float(room)):
                return None
            if np.abs(moved - two * float(factor)).max() > float(room) * (1 + 1e-9):
                continue
            scale = math.lcm(factor.denominator, constant.denominator)
            coefs = (-scale, int(factor * scale), int(constant * scale))
            return coefs, float(room * scale), 0.0
    return None


def _line(one: FloatArray, two: FloatArray) -> tuple[float, float]:
    """Slope and start of the line through the values at the ends of the second column."""
    high, low = int(two.argmax()), int(two.argmin())
    width = float(two[high] - two[low])
    if not width:
        return 0.0, 0.0
    slope = float(one[high] - one[low]) / width
    return slope, float(one[low] - slope * two[low])


def _factor(one: FloatArray, two: FloatArray, room: float) -> Fraction | None:
    """The roundest factor that makes one column of the other, within room, if there is any."""
    there = two != 0
    if (np.abs(one[~there]) > room).any():
        return None
    ends = np.stack([one[there] - room, one[there] + room]) / two[there]
    low, high = float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
    slack = 1e-12 * max(abs(low), abs(high))
    if low - slack > high + slack:
        return None
    return _roundest(Fraction(low - slack), Fraction(high + slack))


def _roundest(low: Fraction, high: Fraction) -> Fraction | None:
    """The number between two with the fewest digits, it or its inverse; or a simple fraction."""
    if low <= 0 <= high:
        return None
    if high < 0:
        turned = _roundest(-high, -low)
        return None if turned is None else -turned
    digits, number = _shortest(low, high)
    inverse_digits, inverse = _shortest(1 / high, 1 / low)
    if min(digits, inverse_digits) > _DIGITS:
        return _simplest(low, high)
    return number if digits <= inverse_digits else 1 / inverse


def _shortest(low: Fraction, high: Fraction) -> tuple[int, Fraction]:
    """The number between two positive ones with the fewest digits, and how many these are."""
    power = math.floor(math.log10(float(high)))
    digits = 1
    while True:
        step = Fraction(10) ** (power + 1 - digits)
        number = math.ceil(low / step) * step
        if number <= high or digits > _DIGITS:
            return digits, number
        digits += 1


def _simplest(low: Fraction, high: Fraction) -> Fraction | None:
    """The fraction with the smallest denominator between two positive numbers, if it is small."""
    whole: list[int] = []
    while len(whole) < 40:
        floor = low.numerator // low.denominator
        if floor == low or floor + 1 <= high:
            whole.append(floor if floor == low else floor + 1)
            break
        whole.append(floor)
        low, high = 1 / (high - floor), 1 / (low - floor)
    result = Fraction(whole.pop())
    while whole:
        result = whole.pop() + 1 / result
    return result if result.denominator <= _DENOMINATOR else None


def _clear(one: FloatArray, near: FloatArray, room: float) -> bool:
    """Whether enough different values are far larger than the room, and said by the other."""
    clear = (np.abs(one) > _FAR_LARGER * room) & (np.abs(near) > _FAR_LARGER * room)
    if len(np.unique(one[clear])) < _DIFFERENT or len(np.unique(near[clear])) < _DIFFERENT:
        return False
    ratio, size = np.log(np.abs(one[clear] / near[clear])), np.log(np.abs(one[clear]))
    return bool(ratio.std() <= _LEFT_OPEN * size.std())


def _within_share(one: FloatArray, two: FloatArray, share: float) -> _Pair | None:
    """The relation of two columns of which one is the other times a number, within a share."""
    there = two != 0
    if (one < 0).any() or (two < 0).any() or ((one != 0) != there).any() or not there.any():
        return None
    ratio = one[there] / two[there]
    low, high = float(ratio.min()), float(ratio.max())
    width = (high - low) / (high + low)
    if width > share or not _clear(one, two * (low + high) / 2, 0.0):
        return None
    factor = _roundest(
        Fraction((low + high) / 2) * (1 - Fraction(share) / 100),
        Fraction((low + high) / 2) * (1 + Fraction(share) / 100),
    )
    if factor is None:
        return None
    middle = float(factor)
    # Of both sides the share counts by half; and it is told with two digits, no smaller.
    near = max(high / middle - 1, 1 - low / middle) * 1.02 + 1e-12
    unit = 10.0 ** (1 - math.floor(math.log10(near)))
    return (-factor.denominator, factor.numerator, 0), 0.0, math.ceil(near * unit) / unit


def pairs_apart(
    relations: Sequence[ValueRelation], known: Sequence[ValueRelation]
) -> Iterator[ValueRelation]:
    """Relations of pairs that no exact one ties together already."""
    tied = [{*relation.values} - {COUNT} for relation in known if relation.exact]
    for relation in relations:
        if {*relation.values} - {COUNT} not in tied:
            yield relation
