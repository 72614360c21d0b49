"""Exposure: by how many independent figures a count is estimated from all releases. A table is
boxes: of each variable a level, codes, or the total. No record is looked at.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, GrowingRows, IntArray, UintArray, mixed
from discreet_service.policies.asked import AskedTable, Box, LayerAxis, Shape, boxes_of

#: Boxes with more codes than this count as whole levels where codes are told apart.
_MOST_CODES = 500
#: Less than any count is exposed.
_NOTHING = 0.5
#: So much is remembered of tables before they are released.
_MOST_KNOWN = 5_000
#: Steps in which cells are told apart that nobody was given before.
_MOST_STEPS = 200_000


def shape_text(shape: Shape) -> str:
    """A shape as it is kept."""
    return json.dumps([[None if axis is None else list(axis) for axis in one] for one in shape])


def read_shape(text: str) -> Shape:
    """A shape that was kept."""
    return tuple(
        tuple(axis and LayerAxis(*axis)._replace(codes=axis[3] and tuple(axis[3])) for axis in one)
        for one in json.loads(text)
    )


def limit_of(box: Box, everywhere: float, levels: Mapping[str, float] | None) -> float:
    """By how many independent figures the counts of a box may be estimated."""
    places = [axis.level for axis in box if axis.geography]
    if not places or levels is None:
        return everywhere
    return min(levels.get(level, _NOTHING) for level in places)


@dataclass(frozen=True, kw_only=True, slots=True)
class MostExposed:
    """The most exposed counts of a table."""

    exposure: float  # By how many independent figures each of them is estimated
    limit: float  # By how many they may be
    target: tuple[str, ...]  # What spans them; empty for the total

    @property
    def share(self) -> float:
        """Share of the limit."""
        return self.exposure / self.limit


#: What a box has of one variable, so that boxes stand side by side; 0, or size 1, is nothing.
_COLUMN = np.dtype([("level", "i8"), ("codes", "i8"), ("size", "i8"), ("hash", "u8")])
_WHOLE = np.dtype([("hash", "u8"), ("weight", "f8")])
_NO_LEVEL = np.array((0, 0, 1, 0), dtype=_COLUMN)
_Column = np.ndarray[Any, Any]


@dataclass(kw_only=True, slots=True)
class _AlikeBoxes:
    """Boxes of one pattern, to be found by their codes: most of them share no cell with another."""

    boxes: list[Box] = field(default_factory=list)
    #: Where each stands among all released boxes
    rows: list[int] = field(default_factory=list)
    by_code: list[dict[str | None, list[int]]] = field(default_factory=list)
    #: Per variable, the first of the boxes that differ by its codes alone
    firsts: list[dict[Hashable, int]] = field(default_factory=list)

    def add(self, box: Box, row: int) -> None:
        self.by_code = self.by_code or [{} for _ in box]
        self.firsts = self.firsts or [{} for _ in box]
        for at, axis in enumerate(box):
            codes = (None,) if _is_whole(axis) else ()
            for code in (*codes, *(axis.codes or ())):
                self.by_code[at].setdefault(code, []).append(len(self.boxes))
            others = (*box[:at], axis.size, *box[at + 1 :])
            self.firsts[at].setdefault(others, len(self.boxes))
        self.boxes.append(box)
        self.rows.append(row)

    def telling(self, variable: str, asked: Sequence[LayerAxis]) -> Iterable[int]:
        """The rows that tell all that these boxes tell of some codes of a variable.

        Of boxes that differ by other codes of it alone, the first tells what all do.
        """
        at = next((k for k, axis in enumerate(self.boxes[0]) if axis.variable == variable), None)
        if at is None:
            return self.rows
        codes = [code for axis in asked if axis.level == self.boxes[0][at].level
                 for code in (*(axis.codes or ()), None)]  # fmt: skip
        chosen = {*self.firsts[at].values()}.union(
            *(self.by_code[at].get(one, ()) for one in codes)
        )
        return (self.rows[one] for one in chosen)

    def near(self, box: Box) -> Sequence[Box]:
        fewest: list[list[int]] | None = None
        most = len(self.boxes)
        for known, axis in zip(self.by_code, box, strict=bool(self.boxes)):
            if axis.codes is None:
                continue
            found = [known.get(code, []) for code in (*axis.codes, None)]
            size = sum(map(len, found))
            if size < most:
                most, fewest = size, found
        if fewest is None:
            return self.boxes
        return [self.boxes[at] for at in sorted(set(itertools.chain.from_iterable(fewest)))]


@dataclass(kw_only=True)
class ReleasedLayers:
    """All boxes that were released of one data version, each once.

    >>> def table(*names: str) -> AskedTable:
    ...     by = tuple((None, LayerAxis(name, name, 2, None, False)) for name in names)
    ...     return AskedTable(dataset="d", version="1", unit="u", by=by, where=(), cells=9,
    ...                       digest="", apart={})
    >>> released = ReleasedLayers()
    >>> released.most_exposed(table("a", "b")).exposure
    2.25
    >>> released.add(table("a", "b").shape)
    >>> released.most_exposed(table("a", "c")).exposure, released.new_cells(table("a", "c"))
    (3.0, 6)
    """

    shapes: list[Shape] = field(default_factory=list)
    _boxes: dict[Box, None] = field(default_factory=dict)
    _fresh: list[Box] = field(default_factory=list)  # those that columns lack
    _by_pattern: dict[tuple[tuple[str, str], ...], _AlikeBoxes] = field(default_factory=dict)
    _variables: dict[str, None] = field(default_factory=dict)
    # In how many boxes codes of a variable are told apart
    _coded: Counter[str] = field(default_factory=Counter)
    _columns: dict[str, GrowingRows] = field(default_factory=dict)
    _whole: GrowingRows = field(default_factory=lambda: GrowingRows(np.zeros(0, dtype=_WHOLE)))
    _groups: list[frozenset[str] | None] = field(default_factory=lambda: [None])
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    # Code → the groups that have it
    _with_code: dict[str, list[int]] = field(default_factory=dict)
    _levels: dict[tuple[str, str], int] = field(default_factory=dict)
    _digests: dict[int, int] = field(default_factory=dict)
    # How many cells of tables are new, until one more is released.
    _new_cells: dict[AskedTable, int] = field(default_factory=dict)
    # How exposed tables are, with what told of them.
    _exposed: dict[Hashable, tuple[Hashable, MostExposed]] = field(default_factory=dict)

    def add(self, shape: Shape) -> None:
        """Note that a table was released."""
        self._new_cells.clear()
        self.shapes.append(shape)
        for box in boxes_of(shape):
            if box not in self._boxes:
                row = len(self._boxes)
                self._boxes[box] = None
                self._fresh.append(box)
                self._by_pattern.setdefault(_pattern(box), _AlikeBoxes()).add(box, row)
                self._variables.update(dict.fromkeys(axis.variable for axis in box))
                self._coded.update(axis.variable for axis in box if not _is_whole(axis))

    def __len__(self) -> int:
        return len(self._boxes)

    @property
    def variables(self) -> Sequence[str]:
        """The variables of all of them."""
        return [*self._variables]

    def other_grouping(self, asked: AskedTable, harmless: Collection[str]) -> str:
        """A grouping in which a column of the table was released for the same areas; else empty.

        Two groupings of one column (ages by fives, ages by law) tell in each area who is between
        their limits. Areas of harmless levels are large enough for both.

        >>> def table(name: str, other: str) -> AskedTable:
        ...     town = LayerAxis("town", "town", 40, None, True)
        ...     by = ((None, LayerAxis(name, "1", 9, None, False)), (None, town))
        ...     apart = {(name, "1"): frozenset({(other, "1")}), ("town", "town"): frozenset()}
        ...     return AskedTable(dataset="d", version="1", unit="u", by=by, where=(), cells=410,
        ...                       digest="", apart=apart)
        >>> released = ReleasedLayers()
        >>> released.add(table("fives", "legal").shape)
        >>> released.other_grouping(table("legal", "fives"), ())
        'fives 1'
        >>> released.other_grouping(table("legal", "fives"), ("town",))
        ''
        """
        if not any(asked.apart[axis.variable, axis.level] for axis in asked.axes):
            return ""
        for box in asked.boxes:
            others = frozenset[tuple[str, str]]().union(
                *(asked.apart[axis.variable, axis.level] for axis in box)
            )
            for pattern, alike in self._by_pattern.items():
                both = others.intersection(pattern)
                if both and any(_same_areas(box, known, harmless) for known in alike.boxes):
                    return " ".join(min(both))
        return ""

    def new_cells(self, asked: AskedTable) -> int:
        """Number of cells of a table that nobody received before."""
        if asked not in self._new_cells:
            if len(self._new_cells) >= _MOST_KNOWN:
                self._new_cells.clear()
            self._new_cells[asked] = sum(
                _uncovered(box, self._by_pattern[pattern].near(box))
                if (pattern := _pattern(box)) in self._by_pattern
                else math.prod(axis.shown for axis in box)
                for box in asked.boxes
                if box not in self._boxes
            )
        return self._new_cells[asked]

    def most_exposed(
        self, asked: AskedTable, everywhere: float = 1.0, levels: Mapping[str, float] | None = None
    ) -> MostExposed:
        """The counts of a table that are most exposed for their limit, with all releases."""
        new = [box for box in dict.fromkeys(asked.boxes) if box not in self._boxes]
        rows = self._telling(asked)
        # As long as the same releases tell of it, it is as exposed as before.
        name = (asked, everywhere, None if levels is None else tuple(levels.items()))
        telling = len(self) if rows is None else hashlib.sha256(rows.tobytes()).digest()
        state = len(new), telling
        if (known := self._exposed.get(name)) is not None and known[0] == state:
            return known[1]
        targets = boxes_of(tuple((None, *filter(None, one)) for one in asked.shape))
        variables = dict.fromkeys(axis.variable for axis in asked.axes)
        exposures = self._exposures(targets, *self._side_by_side(new, variables, rows))
        best = MostExposed(exposure=0.0, limit=1.0, target=())
        for target, exposure in zip(targets, exposures, strict=True):
            limit = limit_of(target, everywhere, levels)
            names = tuple(f"{axis.variable} {axis.level}" for axis in target)
            this = MostExposed(exposure=exposure, limit=limit, target=names)
            best = max(best, this, key=lambda one: one.share)
        if len(self._exposed) >= _MOST_KNOWN:
            self._exposed.clear()
        self._exposed[name] = state, best
        return best

    def _telling(self, asked: AskedTable) -> IntArray | None:
        """The rows of released boxes that tell something of a table; None for all."""
        whole = {axis.variable for axis in asked.axes if _is_whole(axis)}
        names = [name for name in self._coded if name not in whole]
        if not names:
            return None
        name = max(names, key=lambda one: self._coded[one])
        own = [axis for axis in asked.axes if axis.variable == name]
        rows = (alike.telling(name, own) for alike in self._by_pattern.values())
        return np.array(sorted(itertools.chain.from_iterable(rows)), dtype=np.int64)

    def exposures(self, targets: Sequence[Box]) -> list[float]:
        """By how many independent figures counts are estimated, from what was released alone.

        >>> sex, age = (LayerAxis(name, "1", 2, None, False) for name in ("sex", "age"))
        >>> released = ReleasedLayers()
        >>> released.exposures([(sex,)])
        [0.0]
        >>> released.add(((None, sex), (None, age)))
        >>> released.exposures([(), (sex,), (age, sex)])
        [2.25, 1.5, 1.0]
        """
        axes = dict.fromkeys(axis for target in targets for axis in target)
        for axis in axes:
            self._level(axis)
        names = [axis.variable for axis in axes]
        return self._exposures(targets, *self._side_by_side([], names))

    def _side_by_side(
        self, new: Sequence[Box], names: Iterable[str], rows: IntArray | None = None
    ) -> tuple[dict[str, _Column], UintArray, FloatArray]:
        """All released boxes, or some of them, and some new ones: some variables, and all."""
        fresh, self._fresh = self._fresh, []
        number = len(self._boxes)
        if fresh:
            nowhere = np.full(number - len(fresh), _NO_LEVEL)
            for name, more in self._beside(fresh, self._variables).items():
                known = self._columns.get(name) or GrowingRows(nowhere)
                self._columns[name] = known.joined(more)
            self._whole = self._whole.joined(self._of_all(fresh))
        chosen = slice(number) if rows is None else rows
        whole = np.concatenate([self._whole.rows[chosen], self._of_all(new)])
        columns: dict[str, _Column] = {}
        for name, asked in self._beside(new, names).items():
            before: _Column = np.full(len(whole) - len(new), _NO_LEVEL)
            if name in self._columns:
                before = self._columns[name].rows[chosen]
            columns[name] = np.concatenate([before, asked])
        return columns, whole["hash"], whole["weight"]

    def _beside(self, boxes: Sequence[Box], names: Iterable[str]) -> dict[str, _Column]:
        """Some boxes, variable by variable."""
        columns: dict[str, _Column] = {name: np.full(len(boxes), _NO_LEVEL) for name in names}
        for at, box in enumerate(boxes):
            for axis in box:
                if axis.variable in columns:
                    level = self._level(axis)
                    place = level, self._group(axis.codes), axis.size, self._digests[level]
                    columns[axis.variable][at] = place
        return columns

    def _of_all(self, boxes: Sequence[Box]) -> _Column:
        """Of all that a box shows, the sum of the digests of its levels, and what it weighs."""
        whole = [
            (
                sum(self._digests[self._level(axis)] for axis in box) % 2**64,
                -sum(math.log(axis.size) for axis in box),
            )
            for box in boxes
        ]
        return np.array(whole, dtype=_WHOLE)

    def _level(self, axis: LayerAxis) -> int:
        level = self._levels.setdefault((axis.variable, axis.level), len(self._levels) + 1)
        if level not in self._digests:
            # Their sums tell which levels were added; nothing has the digest 0.
            self._digests[level] = int(mixed(np.array([level], dtype=np.uint64))[0])
        return level

    def _group(self, codes: tuple[str, ...] | None) -> int:
        if codes is None or len(codes) > _MOST_CODES:
            return 0
        if codes not in self._numbers:
            self._numbers[codes] = len(self._groups)
            for code in codes:
                self._with_code.setdefault(code, []).append(len(self._groups))
            self._groups.append(frozenset(codes))
        return self._numbers[codes]

    def _exposures(
        self,
        targets: Sequence[Box],
        columns: Mapping[str, _Column],
        total: UintArray,
        weight: FloatArray,
    ) -> list[float]:
        """The exposure of the counts that some axes span, those of the worst place."""
        axes = dict.fromkeys(axis for target in targets for axis in target)
        lying = {axis: self._lying(axis, columns[axis.variable]) for axis in axes}
        exposures = []
        for target in targets:
            usable = np.ones(len(total), dtype=np.bool_)
            rest, left = total.copy(), weight.copy()
            places: list[IntArray] = []
            for axis in target:
                fits, digests, parts, place = lying[axis]
                usable &= fits
                rest -= digests
                left += parts
                if axis.geography and (axis.codes is None or len(axis.codes) > 1):
                    places.append(place)
            kept = np.flatnonzero(usable)
            exposures.append(self._worst(rest[kept], left[kept], [each[kept] for each in places]))
        return exposures

    def _lying(
        self, axis: LayerAxis, column: _Column
    ) -> tuple[BoolArray, UintArray, FloatArray, IntArray]:
        """Per box whether it has counts of an axis or parts of them, and what it shares with it:
        the digest of its level, how many codes weigh as one, and its codes.
        """
        same = column["level"] == self._levels[axis.variable, axis.level]
        meets = same
        if axis.codes is not None:
            groups = itertools.chain([0], *(self._with_code.get(code, ()) for code in axis.codes))
            meets = same & np.isin(column["codes"], [*groups])
        finer = (column["level"] > 0) & ~same & (column["size"] >= axis.size)
        fits = meets | finer
        # Finer codes of one code are as many parts of it.
        parts = np.log(np.where(same, column["size"], min(axis.size, 10**9)))
        digests = np.where(same, column["hash"], 0).astype(np.uint64)
        return fits, digests, parts, np.where(same, column["codes"], 0)

    def _worst(self, rest: UintArray, left: FloatArray, places: list[IntArray]) -> float:
        """Crossings each once, added up for each place; what is known of all counts for each."""
        tied = np.zeros(len(rest), dtype=np.bool_)
        for place in places:
            tied |= place != 0
        common, sums = dict[int, float](), dict[tuple[str, ...], dict[int, float]]()
        rows = list(zip(rest.tolist(), np.exp(left).tolist(), tied.tolist(), strict=True))
        for crossing, weight, somewhere in rows:
            if not somewhere:
                common.setdefault(crossing, weight)
        base = math.fsum(common.values())
        most = base
        for row, (crossing, weight, somewhere) in enumerate(rows):
            if not somewhere or crossing in common:
                continue
            groups = [self._groups[int(place[row])] for place in places]
            for chosen in itertools.product(*(sorted(group or ("",)) for group in groups)):
                own = sums.setdefault(chosen, {})
                own[crossing] = max(own.get(crossing, 0.0), weight)
        for own in sums.values():
            most = max(most, base + math.fsum(own.values()))
        return most


def _same_areas(box: Box, other: Box, harmless: Collection[str]) -> bool:
    """Whether two boxes show counts of the same areas, or some that add up to the same."""
    axes, shared = {axis.variable: axis for axis in other}, False
    for axis in box:
        known = axes.get(axis.variable)
        if known is None:
            continue
        some = known.level == axis.level and None not in (known.codes, axis.codes)
        if some and set(known.codes or ()).isdisjoint(axis.codes or ()):
            return False
        coarser = min(axis, known, key=lambda one: one.size)
        shared = shared or (axis.geography and coarser.level not in harmless)
    return shared


def _is_whole(axis: LayerAxis) -> bool:
    """Whether codes are not told apart."""
    return axis.codes is None or len(axis.codes) > _MOST_CODES


def _pattern(box: Box) -> tuple[tuple[str, str], ...]:
    return tuple((axis.variable, axis.level) for axis in box)


def _uncovered(box: Box, others: Sequence[Box]) -> int:
    """How many cells of a box are in no other of the same pattern.

    Axis by axis: codes that lie in the same others are counted together. Where that takes too many
    steps, more cells are charged than there are, never fewer.
    """
    number, steps, waiting = 0, 0, [(1, 0, tuple(range(len(others))))]
    while waiting:
        cells, depth, inside = waiting.pop()
        steps += len(inside)
        if not inside or steps > _MOST_STEPS:
            number += cells * math.prod(axis.shown for axis in box[depth:])
        elif depth < len(box):
            axis, every, named = box[depth], list[int](), dict[str, list[int]]()
            for at in inside:
                codes = others[at][depth].codes
                every += [at] if codes is None else []
                for code in codes or ():
                    named.setdefault(code, []).append(at)
            steps += sum(map(len, named.values()))
            alike = Counter(tuple(named.get(code, ())) for code in axis.codes or named)
            if axis.codes is None:
                alike[()] += max(axis.size - len(named), 0)
            waiting += [(cells * size, depth + 1, (*every, *own)) for own, size in alike.items()]
    return number
