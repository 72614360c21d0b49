"""`Insiders`: who stands alone behind which cells, across relations and tables. CONFIDENTIAL.

What is known of the only contributor of a cell, the number of his holding or record, gives for each
cell of a problem the number of the one who knows it, the same for all cells of a contributor. Where
tables do not say who he is, two cells count as his if they may be: taken together, insiders know
more, never less. `Knowledge` is what all readers are said to know beforehand of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure.relations import Relations, component_labels
from discreet.disclosure.table_system import TableCells
from discreet.errors import SuppressionError
from discreet.rules import SEVERAL, UNNAMED, lone_contributors
from discreet.tables import Table

#: Of more cells of the same value, all count as of one contributor.
_ALIKE = 60


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Insiders(Confidential):
    """Cells that contributors know (confidential)."""

    #: For each cell of the problem the number of its only contributor; -1 for others
    owner: IntArray
    #: The same where contributors that may be one and the same have one number, as large as the
    #: number of cells or larger; None where there are no such doubts
    group: IntArray | None = None
    #: The share of the protection levels that hold against them; 0: one unit
    share: float = 1.0

    @classmethod
    def each_apart(cls, respondents: IntArray) -> Insiders:
        """Each cell of one respondent has another one."""
        alone = np.where(respondents == 1, np.arange(len(respondents)), -1)
        return cls(owner=alone.astype(np.int64))

    @property
    def known(self) -> BoolArray:
        """Cells that somebody stands alone behind."""
        return self.owner >= 0

    def of(self, insider: int) -> BoolArray:
        """The cells that an insider knows."""
        column = self.owner if insider < len(self.owner) or self.group is None else self.group
        known: BoolArray = column == insider
        return known

    def numbered(self) -> Iterator[tuple[int, IntArray]]:
        """Each insider with all cells that he knows."""
        for column in (self.owner, self.group):
            if column is not None:
                cells = np.flatnonzero(column >= 0)
                cells = cells[np.argsort(column[cells], kind="stable")]
                for own in np.split(cells, np.flatnonzero(np.diff(column[cells])) + 1):
                    if own.size:
                        yield int(column[own[0]]), own.astype(np.int64)

    def behind(self, hidden: BoolArray) -> Iterator[tuple[int, IntArray]]:
        """Each insider of hidden cells with all cells, hidden or not, that he knows."""
        return ((insider, own) for insider, own in self.numbered() if hidden[own].any())


def insiders_of(
    links: Relations,
    worth: IntArray,
    members: TableCells,
    sources: Sequence[tuple[Table, Any]],
    values: Sequence[str | None],
    guarded: Sequence[bool] | None = None,
    earlier: Sequence[Any] = (),
) -> Insiders | None:
    """Lone contributors of cells; None if the tables do not count contributors.

    A total and a part of it with one contributor each are his; so are cells of linked tables of
    the same holding or record key, and what the values of one cell tell of a single record. Where
    tables do not say who he is, those of cells of the same value may be the same one.
    """
    now = len(sources)
    if earlier and len(members.before) == len(earlier):
        members = replace(members, cells=(*members.cells, *members.before))
        sources = [*sources, *((entry.table, entry.primary) for entry in earlier)]
        values = [*values, *(values[0] for _ in earlier)]
        guarded = None if guarded is None else [*guarded, *(True for _ in earlier)]
    size, numbers = links.cells, []
    chosen = [True] * len(sources) if guarded is None else guarded
    for at, ((table, primary), value, own) in enumerate(zip(sources, values, chosen, strict=True)):
        contributors = np.full(len(table), SEVERAL)
        if own:
            stated = getattr(primary, "contributor", None)
            contributors = lone_contributors(table, value) if stated is None else stated
        if _contradicted(
            links, members.cells[at], table.contributors(value), contributors != SEVERAL
        ):
            if at < now:
                return None
            contributors = np.full(len(table), SEVERAL)  # who contributed then is not known
        numbers.append(contributors)
    alone = members.gathered([contributors != SEVERAL for contributors in numbers], size)
    changed = members.changed
    alone[changed.before] |= alone[changed.now]
    pairs: list[tuple[int, int]] = []  # cells of one and the same contributor
    first: dict[Any, int] = {}
    lone: list[_LoneCell] = []
    for cells, contributors, (table, _) in zip(members.cells, numbers, sources, strict=True):
        for place in np.flatnonzero((contributors != SEVERAL) & (cells >= 0)).tolist():
            number, cell = int(contributors[place]), int(cells[place])
            lone.append(_LoneCell(number, int(worth[cell]), cell, table, place))
            if number != UNNAMED:
                pairs.append((first.setdefault(number, cell), cell))
            if table.count[place] == 1:
                pairs.append((first.setdefault((id(table), place), cell), cell))
    both = zip(changed.now.tolist(), changed.before.tolist(), strict=True)
    pairs += [(cell, then) for cell, then in both if alone[cell]]
    total = links.totals[links.row]
    for entry in np.flatnonzero((total >= 0) & alone[total] & alone[links.cell]).tolist():
        pairs.append((int(total[entry]), int(links.cell[entry])))
    owner = np.where(alone, _labels(pairs, size), -1)
    # Contributors who may be the same one, taken together.
    possible = _labels([*pairs, *_alike(lone)], size)
    group = np.where(alone, size + possible, -1)
    several, number_of = np.unique(
        np.unique(np.stack([group, owner]), axis=1)[0], return_counts=True
    )
    group[~np.isin(group, several[number_of > 1])] = -1
    return Insiders(owner=owner, group=group if (group >= 0).any() else None)


def _labels(pairs: Sequence[tuple[int, int]], size: int) -> IntArray:
    """For each cell the smallest that pairs tie it to, directly or by others."""
    ties = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return component_labels(Relations.of_pairs(size, ties))


def _contradicted(
    links: Relations, cells: IntArray, contributors: IntArray, alone: BoolArray
) -> bool:
    """Whether a total has one contributor and several of its parts have some: no such counts.

    Looked at are the relations within one table: parts that are other values, or of another data
    version, may all be of the same contributor.
    """
    count, single = np.full(links.cells, -1, np.int64), np.zeros(links.cells, np.bool_)
    np.maximum.at(count, cells[cells >= 0], contributors[cells >= 0])
    single[cells[alone & (cells >= 0)]] = True
    parts, others = np.zeros((2, len(links)), dtype=np.int64)
    np.add.at(parts, links.row, (links.coef > 0) & (count[links.cell] > 0))
    np.add.at(others, links.row, count[links.cell] < 0)
    totals = links.totals
    sums = _plain_sums(links) & (others == 0) & (totals >= 0)
    return bool((sums & single[totals] & (count[totals] == 1) & (parts > 1)).any())


@dataclass(frozen=True)
class _LoneCell:
    """A cell of a table with one contributor: his number, its value, and where it stands."""

    number: int
    value: int
    cell: int
    table: Table
    at: int

    def may_be(self, other: _LoneCell) -> bool:
        """Whether the contributor may be that of another cell, also of another table."""
        if self.cell == other.cell:
            return False  # that is known
        if self.table is other.table:
            return self.at == other.at
        if UNNAMED not in (self.number, other.number):
            return self.number == other.number
        theirs = {dimension.name: at for at, dimension in enumerate(other.table.dimensions)}
        for at, one in enumerate(self.table.dimensions):
            place = theirs.get(one.name)
            if place is None or len(one.classifications) > 1:
                continue
            far = other.table.dimensions[place]
            if len(far.classifications) > 1:
                continue
            own = one.codes[self.table.index[at][self.at]]
            code = far.codes[other.table.index[place][other.at]]
            if own not in far.index or code not in one.index:
                continue  # whether one of them contains the other is not known
            if code not in _above(one, own) and own not in _above(far, code):
                return False
        return True


def _above(dimension: Any, code: str) -> list[str]:
    codes, at = [], dimension.index[code]
    while at >= 0:
        codes.append(dimension.codes[at])
        at = int(dimension.parents[at])
    return codes


def _alike(lone: Sequence[_LoneCell]) -> Iterator[tuple[int, int]]:
    """Cells of linked tables, of the same value, that may have the same contributor."""
    by_value: dict[int, list[_LoneCell]] = {}
    for item in lone if len({id(entry.table) for entry in lone}) > 1 else ():
        by_value.setdefault(item.value, []).append(item)
    for alike in by_value.values():
        if len(alike) > _ALIKE:
            yield from ((alike[0].cell, item.cell) for item in alike)
        else:
            pairs = combinations(alike, 2)
            yield from ((one.cell, other.cell) for one, other in pairs if one.may_be(other))


def known_parts(
    links: Relations, value: IntArray, insiders: Insiders, hidden: BoolArray
) -> dict[tuple[int, int], int]:
    """Part of a dominated total that the insider knows as his own: more than half.

    Given are (insider, cell) of hidden cells that he does not know as a whole. What is at stake
    there is the rest: the levels protect him, not the others, against whom they are too wide.
    """
    if bool((value < 0).any()):
        return {}
    first, order = links.by_cell
    sums = _plain_sums(links)
    parts: dict[tuple[int, int], int] = {}
    for owner, cells in insiders.behind(hidden):
        known = {int(cell): int(value[cell]) for cell in cells}
        own = frozenset(known)
        below: dict[int, int] = {}
        todo = list(known)
        noted = dict.fromkeys(known, 0)
        while todo:
            cell = todo.pop()
            more, noted[cell] = known[cell] - noted[cell], known[cell]
            for entry in order[first[cell] : first[cell + 1]] if more else ():
                row = int(links.row[entry])
                total = int(links.totals[row])
                if not sums[row] or links.coef[entry] < 0 or total in own:
                    continue
                below[row] = below.get(row, 0) + more
                if 2 * below[row] > value[total] and below[row] > known.get(total, 0):
                    known[total] = below[row]
                    noted.setdefault(total, 0)
                    todo.append(total)
                    if hidden[total]:
                        parts[owner, total] = below[row]
    return parts


def _plain_sums(links: Relations) -> BoolArray:
    """Which relations are a total and its parts, nothing else."""
    negative = np.bincount(links.row[links.coef == -1], minlength=len(links))
    other = np.bincount(links.row[np.abs(links.coef) != 1], minlength=len(links))
    plain: BoolArray = (negative == 1) & (other == 0) & (links.rhs == 0)
    return plain


#: The attacker knows nothing about a cell beyond this, in units.
UNBOUNDED = 2**53


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The bounds that an attacker is said to know for each cell beforehand.

    A cell of value v lies between v - below·|v| and v + above·|v|, and at 0 or above
    in tables without negative values; what every reader knows comes on top.
    Knowledge that is stated is taken as it is: sensitive cells to which it leaves no room
    are refused. Where none is stated, the shares below give way to protection levels.

    Args:
        below: Share of the value that the cell may be smaller; None for no bound.
        above: Share that it may be larger; None for no bound.
        negative: Whether attackers reckon with negative values; None: if there are any.
        rules: Whether they know the number of a minimum frequency, below which sensitive
            counts lie.

    >>> Knowledge(above=0.5).share_text
    'from 0 to 1.5 times the true value'
    """

    below: float | None = 1.0
    above: float | None = 1.0
    negative: bool | None = None
    rules: bool = True

    def __post_init__(self) -> None:
        for name, share in (("below", self.below), ("above", self.above)):
            if share is not None and not 0 <= share < float("inf"):
                message = "the share is a number of at least 0, or None"
                hint = "0.5 for half of the true value"
                raise SuppressionError(message, code="knowledge", where=name, hint=hint)

    @property
    def share_text(self) -> str:
        """The bounds in words, for reports."""
        low = "any value" if self.below is None else f"{max(0.0, 1 - self.below):g}"
        if self.below is not None and self.below > 1:
            low = f"{1 - self.below:g}"
        high = "any value" if self.above is None else f"{1 + self.above:g} times the true value"
        return f"from {low} to {high}"

    def signed(self, value: IntArray) -> bool:
        """Whether attackers reckon with negative values."""
        return bool((value < 0).any()) if self.negative is None else self.negative

    def bounds(self, value: IntArray) -> tuple[IntArray, IntArray]:
        """Lowest and highest value of each cell, in units, by the shares alone."""
        low = -np.full(len(value), UNBOUNDED, dtype=np.int64)
        high = np.full(len(value), UNBOUNDED, dtype=np.int64)
        size = np.abs(value).astype(np.float64)
        if self.below is not None:
            low = np.maximum(value - np.ceil(np.minimum(self.below * size, UNBOUNDED)), low)
        if self.above is not None:
            high = np.minimum(value + np.ceil(np.minimum(self.above * size, UNBOUNDED)), high)
        if not self.signed(value):
            low = np.maximum(low, 0)
        return low.astype(np.int64), high.astype(np.int64)
