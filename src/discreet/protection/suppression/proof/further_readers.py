"""Readers who know more than sums: that values are whole, that no combination is negative.

CONFIDENTIAL. Verdicts of deviations that may be fractions are held against integer programs where
fractions might be all there is: not where whole moves were seen, nor in networks, whose corners are
whole. Of blocks with more cells than `MOST_CELLS`, only the surroundings of a cell move: what these
do not prove is a gap, unless relations have large coefficients and levels are far larger than their
steps. Verdicts of relations among cells are held against linear programs over the combinations of
cyclic cores, published or not: A x B, A x C and B x C bound A x B x C. Blocks with more than
`MOST_ATOMS` combinations are not examined; the gaps name them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import (
    LARGE,
    TOLERANCE,
    Gap,
    Insiders,
    JointAttacker,
    LinkedTable,
    Patches,
    TableCells,
    Unknowns,
    WholeAttacker,
    blocks_of,
    cores_of,
    joint_blocks,
    outer_bounds,
)
from discreet.protection.suppression.problem.demands import Earlier, levels_against
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import Certificate, certify
from discreet.tables import Table

if TYPE_CHECKING:
    from discreet.disclosure import Combinations, Core

#: Blocks of more combinations are not examined; of a core, at most so many are listed at all.
MOST_ATOMS = 5_000
MOST_LISTED = 500_000
#: So many contributors who stand alone in cells of a core are examined, one by one.
_MOST_INSIDERS = 200


def linked_with_earlier(
    members: TableCells,
    tables: Sequence[Table],
    values: Sequence[str | None],
    earlier: Sequence[Earlier],
) -> list[LinkedTable]:
    """The tables that readers lay side by side, those published before of the same data included.

    Combinations of other data are others.
    """
    number = len(members.cells)
    rows = zip(tables, members.cells, values, members.partitions[:number], strict=True)
    listed = [LinkedTable(*row) for row in rows]
    if not len(members.changed):
        before = zip(earlier, members.before, members.partitions[number:], strict=True)
        listed += [LinkedTable(item.table, own, values[0], known) for item, own, known in before]
    return listed


def held_in_joint_cubes(
    problem: SuppressionProblem,
    hidden: BoolArray,
    certificate: Certificate,
    tables: Sequence[LinkedTable],
) -> tuple[Certificate, tuple[Gap, ...]]:
    """The certificate in which cells are open that a joint cube opens; what was not examined."""
    gaps: dict[Gap, None] = {}
    for core, joint, whole in _cubes(problem, hidden, tables):
        certificate, left = _held(problem, hidden, certificate, joint, whole=whole)
        if left:
            gaps[Gap("joint-cube", core.about, left)] = None
    return certificate, tuple(gaps)


def _cubes(
    problem: SuppressionProblem, hidden: BoolArray, tables: Sequence[LinkedTable]
) -> list[tuple[Core, Combinations | int, bool]]:
    """The cores of each value, with their combinations; whether these are whole numbers."""
    return [
        (core, core.combinations(MOST_LISTED), value is None)
        for value in dict.fromkeys(table.value for table in tables)
        for core in cores_of(
            problem.value, problem.low, hidden, [t for t in tables if t.value == value]
        )
    ]


def opened_to_insiders(
    problem: SuppressionProblem,
    hidden: BoolArray,
    insiders: Insiders,
    tables: Sequence[LinkedTable],
    most: int = 1,
) -> tuple[IntArray, tuple[Gap, ...]]:
    """Sensitive cells that contributors compute exactly who take away what is theirs alone.

    They know that no combination is negative; relations among cells alone keep these cells from
    them. How near they come to others does not count. Coalitions of `most` contributors are
    not examined, nor are more contributors than `_MOST_INSIDERS`: the gaps name the cores.
    """
    problem, gaps = levels_against(problem, 0.0), []
    opened = np.zeros(len(problem), dtype=np.bool_)
    for core, joint, whole in _cubes(problem, hidden, tables):
        if isinstance(joint, int):
            continue  # this is a gap for all readers
        inside = np.zeros(len(problem), dtype=np.bool_)
        inside[joint.cell] = True
        alone = list(insiders.behind(hidden & inside))
        left = len(alone) if len(alone) > 1 and most > 1 else len(alone[_MOST_INSIDERS:])
        for _, own in alone[:_MOST_INSIDERS]:
            rest = hidden.copy()
            rest[own] = False
            before = certify(problem, rest, rest & (problem.state == CellState.primary) & ~opened)
            after, large = _held(problem, rest, before, joint, whole=whole)
            lost = after.cells[before.protected & ~after.protected]
            # Where tables name nobody, a lone contributor with the same value may be he himself.
            who = insiders.owner if insiders.group is None else insiders.group
            his = (who[lost] >= 0) & np.isin(who[lost], who[own])
            opened[lost[~his]] = True
            left = max(left, int(large > 0))
        if left:
            gaps.append(Gap("joint-contributors", core.about, left))
    return np.flatnonzero(opened).astype(np.int64), tuple(gaps)


def _held(
    problem: SuppressionProblem,
    hidden: BoolArray,
    certificate: Certificate,
    joint: Combinations | int,
    *,
    whole: bool,
) -> tuple[Certificate, int]:
    """The certificate held against one core, and how many combinations were not examined.

    Of cells that are open already, it says which are exactly known.
    """
    if certificate.known.all():
        return certificate, 0
    if isinstance(joint, int):
        return certificate, joint
    columns = certificate.columns()
    left = 0
    wanted = certificate.cells[~certificate.known]
    for block in joint_blocks(unknowns_of(problem, hidden), problem.value, wanted, joint):
        if block.atoms > MOST_ATOMS:
            left += block.atoms
            continue
        attack = JointAttacker(block, whole=whole, slack=np.zeros_like(block.slack))
        if not attack.feasible:  # sums of rounded figures may miss rounded sums
            attack = JointAttacker(block, whole=whole, slack=block.slack)
        places = np.searchsorted(certificate.cells, block.cells)
        for cell, place in zip(block.watched.tolist(), places, strict=True):
            if not certificate.protected[place] and attack.moves(cell):
                continue
            reach = attack.reached(cell)
            if reach is None:
                left += block.atoms
                break
            low, high, enough = reach
            if not enough:
                columns["protected"][place] = columns["whole"][place] = False
                columns["low"][place], columns["high"][place] = low, high
    return replace(certificate, **columns), left


#: So many cells move at most.
MOST_CELLS = 100
#: In large blocks so many cells around one move, one after the other where fewer leave it open.
_AROUND = (100, 300, 600)
#: Of so many cells in large blocks the surroundings are searched for whole moves.
_SEARCHED = 300
#: Where levels are so many steps of whole numbers, these say next to nothing.
_STEPS = 2.0


def held_in_whole_numbers(
    problem: SuppressionProblem, hidden: BoolArray, certificate: Certificate
) -> Certificate:
    """The certificate in which cells count as open that no whole numbers protect."""
    left = np.flatnonzero(certificate.protected & ~certificate.whole)
    if not left.size:
        return certificate
    watched = np.zeros(len(problem), dtype=np.bool_)
    watched[certificate.cells[left]] = True
    known = unknowns_of(problem, hidden, watched)
    least, most = outer_bounds(known)
    columns = certificate.columns()
    untested, searched = certificate.untested, 0
    for block in blocks_of(known.part(most - least > TOLERANCE)):
        number = np.searchsorted(known.cells, block.cells)
        attacker = WholeAttacker(block, least[number], most[number])
        at = np.flatnonzero(block.sensitive)
        place = np.searchsorted(certificate.cells, block.cells[at])
        if attacker.network:
            columns["whole"][place] = True
        elif len(block) > MOST_CELLS:
            fine, equally_far = _finely(block), np.ones(len(block))
            patches = Patches(block.relations, np.ones(len(block), dtype=np.bool_))
            columns["whole"][place[fine[at]]] = True
            for cell, own in zip(at[~fine[at]].tolist(), place[~fine[at]].tolist(), strict=True):
                moved = False
                searched += 1
                for many in _AROUND if searched <= _SEARCHED else ():
                    near = np.zeros(len(block), dtype=np.bool_)
                    near[patches.nearest(np.array([cell]), many, equally_far)] = True
                    close = WholeAttacker(block.part(near), least[number][near], most[number][near])
                    reach = close.reached(int(near[:cell].sum()))
                    moved = reach is not None and reach[2]
                    if moved:
                        break
                columns["whole"][own] = moved
                untested += not moved
        else:
            for cell, own in zip(at.tolist(), place.tolist(), strict=True):
                reach = attacker.reached(cell)
                untested += reach is None
                if reach is not None:
                    columns["whole"][own] = columns["protected"][own] = reach[2]
                    if not reach[2]:
                        columns["low"][own], columns["high"][own] = reach[:2]
    return replace(certificate, **columns, untested=int(untested))


def untested_gaps(certificate: Certificate) -> tuple[Gap, ...]:
    """Gaps that were not examined; empty if there are none."""
    return (Gap("whole-numbers", "", certificate.untested),) if certificate.untested else ()


def _finely(block: Unknowns) -> BoolArray:
    """For which cells whole numbers are steps that are small beside their levels.

    Of relations with large coefficients alone: 1,000 thousands are about a million euros.
    """
    links = block.relations
    size = np.bincount(links.row, np.abs(links.coef), minlength=len(links))
    step = np.ones(len(block))
    np.maximum.at(step, links.cell, size[links.row] / np.abs(links.coef))
    levels = np.maximum.reduce([block.lower, block.upper, block.sliding])
    fine: BoolArray = levels >= _STEPS * step
    return fine if size.max(initial=0) > LARGE else np.zeros_like(fine)
