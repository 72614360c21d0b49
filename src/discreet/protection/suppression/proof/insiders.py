"""`Insiders`: who stands alone behind which cells, across relations and tables. CONFIDENTIAL.

In: a problem, the tables it was made of, and what is known of the only contributor of a cell:
the number of his holding or record. Out: for each cell of the problem the number of the one
who knows it, the same for all cells of a contributor. Where tables do not say who he is, two
cells count as his if they may be: taken together, insiders know more, never less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.protection.suppression.problem.demands import Earlier
from discreet.protection.suppression.problem.linked_tables import ProblemSource, TableCells
from discreet.protection.suppression.problem.system import Confidential, SuppressionProblem
from discreet.rules import SEVERAL, UNNAMED, lone_contributors
from discreet.tables import Table

#: A note for tables that say nothing about contributors.
UNKNOWN_CONTRIBUTORS = (
    "how many contributors the cells have is not known: what these learn was left out of account"
)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Insiders(Confidential):
    """Who knows which cells (confidential)."""

    #: For each cell of the problem the number of its only contributor; -1 for others
    owner: IntArray
    #: The same where contributors that may be one and the same have one number, as large as the
    #: number of cells or larger; None where there are no such doubts
    group: IntArray | None = None

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


class _Groups:
    """Cells that belong together, by a first one of each group."""

    def __init__(self, cells: int) -> None:
        self._leader = list(range(cells))

    def leader(self, cell: int) -> int:
        """The cell that stands for the group of a cell."""
        leader = cell
        while self._leader[leader] != leader:
            leader = self._leader[leader]
        while self._leader[cell] != leader:
            self._leader[cell], cell = leader, self._leader[cell]
        return leader

    def join(self, one: int, other: int) -> None:
        """Put two groups together."""
        first, second = sorted((self.leader(one), self.leader(other)))
        self._leader[second] = first


def insiders_of(
    problem: SuppressionProblem,
    members: TableCells,
    sources: Sequence[ProblemSource],
    values: Sequence[str | None],
    guarded: Sequence[bool] | None = None,
    earlier: Sequence[Earlier] = (),
) -> Insiders | None:
    """Who stands alone behind which cells; None where the tables do not count contributors.

    A total and a part of it with one contributor each are his; so are cells of linked tables of
    the same holding or record key, and what the values of one cell tell of a single record. Where
    tables do not say who he is, those of cells of the same value may be the same one.
    """
    if earlier and len(members.before) == len(earlier):
        members = replace(members, cells=(*members.cells, *members.before))
        sources = [*sources, *((entry.table, entry.primary) for entry in earlier)]
        values = [*values, *(values[0] for _ in earlier)]
        guarded = None if guarded is None else [*guarded, *(True for _ in earlier)]
    tables = [table for table, _ in sources]
    chosen = [True] * len(tables) if guarded is None else guarded
    listed = [
        _contributors(table, primary, value) if own else np.full(len(table), SEVERAL)
        for (table, primary), value, own in zip(sources, values, chosen, strict=True)
    ]
    alone = members.gathered(tuple(entry != SEVERAL for entry in listed), len(problem))
    counts = tuple(t.contributors(value) for t, value in zip(tables, values, strict=True))
    if _contradicted(problem, members.numbers(counts, len(problem)), alone):
        return None
    sure = _Groups(len(problem))
    first: dict[Any, int] = {}
    lone: list[_LoneCell] = []
    for at, table in enumerate(tables):
        cells, numbers = members.cells[at], listed[at]
        for place in np.flatnonzero((numbers != SEVERAL) & (cells >= 0)).tolist():
            number, cell = int(numbers[place]), int(cells[place])
            lone.append(_LoneCell(number, int(problem.value[cell]), cell, table, place))
            if number != UNNAMED:
                sure.join(first.setdefault(number, cell), cell)
            if table.count[place] == 1:
                sure.join(first.setdefault((id(table), place), cell), cell)
    _join_ancestors(problem, alone, sure)
    owner = np.full(len(problem), -1, dtype=np.int64)
    for item in np.flatnonzero(alone).tolist():
        owner[item] = sure.leader(item)
    return Insiders(owner=owner, group=_possible_groups(owner, lone, sure))


def _contributors(table: Table, primary: Any, value: str | None) -> IntArray:
    contributors: IntArray | None = getattr(primary, "contributor", None)
    return lone_contributors(table, value) if contributors is None else contributors


def _contradicted(problem: SuppressionProblem, counts: IntArray, alone: BoolArray) -> bool:
    """Whether a total has one contributor and several of its parts have some: no such counts."""
    links = problem.relations
    parts = np.zeros(len(links), dtype=np.int64)
    np.add.at(parts, links.row, (links.coef > 0) & (counts[links.cell] > 0))
    totals = links.totals
    sums = _plain_sums(problem)
    return bool((sums & (totals >= 0) & alone[totals] & (counts[totals] == 1) & (parts > 1)).any())


def _possible_groups(owner: IntArray, lone: Sequence[_LoneCell], sure: _Groups) -> IntArray | None:
    """Contributors who may be the same one, taken together; None if there are none."""
    _join_alike(lone, sure)
    group = np.full(len(owner), -1, dtype=np.int64)
    for cell in np.flatnonzero(owner >= 0).tolist():
        group[cell] = len(owner) + sure.leader(cell)
    pairs = np.unique(np.stack([group, owner]), axis=1)
    several, number = np.unique(pairs[0], return_counts=True)
    group[~np.isin(group, several[number > 1])] = -1
    return group if (group >= 0).any() else None


def _join_ancestors(problem: SuppressionProblem, alone: BoolArray, groups: _Groups) -> None:
    """A total of one contributor and its part of one are the same contributor's."""
    links = problem.relations
    total = links.totals[links.row]
    for entry in np.flatnonzero((total >= 0) & alone[total] & alone[links.cell]):
        groups.join(int(total[entry]), int(links.cell[entry]))


@dataclass(frozen=True)
class _LoneCell:
    """A cell of a table with one contributor: his number, its value, and where it stands."""

    number: int
    value: int
    cell: int
    table: Table
    at: int

    def may_be(self, other: _LoneCell) -> bool:
        """Whether the contributor may be that of a cell of another table."""
        if self.table is other.table:
            return self.at == other.at
        if UNNAMED not in (self.number, other.number):
            return self.number == other.number
        theirs = {dimension.name: at for at, dimension in enumerate(other.table.dimensions)}
        for at, dimension in enumerate(self.table.dimensions):
            if dimension.name in theirs and len(dimension.classifications) == 1:
                place = theirs[dimension.name]
                far = other.table.dimensions[place]
                own = dimension.codes[self.table.index[at][self.at]]
                code = far.codes[other.table.index[place][other.at]]
                if len(far.classifications) == 1 and not _in_line(dimension, far, own, code):
                    return False
        return True


def _in_line(one: Any, other: Any, own: str, code: str) -> bool:
    """Whether one of two codes contains the other; where that is not known, too."""
    if own not in other.index or code not in one.index:
        return True
    return code in _above(one, own) or own in _above(other, code)


def _above(dimension: Any, code: str) -> list[str]:
    """A code and all above it."""
    codes, at = [], dimension.index[code]
    while at >= 0:
        codes.append(dimension.codes[at])
        at = int(dimension.parents[at])
    return codes


#: Of more cells of the same value, all count as of one contributor.
_ALIKE = 60


def _join_alike(lone: Sequence[_LoneCell], groups: _Groups) -> None:
    """Join cells of linked tables, of the same value, that may have the same contributor."""
    if len({id(entry.table) for entry in lone}) < 2:
        return
    by_value: dict[int, list[_LoneCell]] = {}
    for item in lone:
        by_value.setdefault(item.value, []).append(item)
    for alike in by_value.values():
        if len(alike) > _ALIKE:
            for item in alike:
                groups.join(alike[0].cell, item.cell)
            continue
        for at, one in enumerate(alike):
            for other in alike[at + 1 :]:
                if one.cell != other.cell and one.may_be(other):
                    groups.join(one.cell, other.cell)


def known_parts(
    problem: SuppressionProblem, insiders: Insiders, hidden: BoolArray
) -> dict[tuple[int, int], int]:
    """How much of a total that an insider dominates he knows to be his own: more than half.

    Given are (insider, cell) of hidden cells that he does not know as a whole. What is at stake
    there is the rest: the levels protect him, not the others, against whom they are too wide.
    """
    if bool((problem.value < 0).any()):
        return {}
    links, value = problem.relations, problem.value
    first, order = links.by_cell
    sums = _plain_sums(problem)
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


def _plain_sums(problem: SuppressionProblem) -> BoolArray:
    """Which relations are a total and its parts, nothing else."""
    links = problem.relations
    negative = np.bincount(links.row[links.coef == -1], minlength=len(links))
    other = np.bincount(links.row[(links.coef != 1) & (links.coef != -1)], minlength=len(links))
    plain: BoolArray = (negative == 1) & (other == 0) & (links.rhs == 0)
    return plain


def levels_of_rest(
    problem: SuppressionProblem, cell: int, known: int
) -> tuple[int, int, int] | None:
    """The levels of a cell against one who knows more than half of it; None for no others.

    They shrink as the rest does in comparison with the known part. One unit at least stays
    uncertain; downwards the rest keeps a unit.
    """
    rest = int(problem.value[cell]) - known
    if rest <= 0:
        return None
    lower, upper, sliding = (
        -(-int(column[cell]) * rest // known)
        for column in (problem.lower, problem.upper, problem.sliding)
    )
    lower = min(lower, rest - 1)
    return lower, upper, sliding if lower + upper else max(sliding, 1)
