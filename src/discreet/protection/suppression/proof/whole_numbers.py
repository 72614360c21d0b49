"""Attackers who know that values are whole numbers. CONFIDENTIAL.

Verdicts of deviations that may be fractions are held against integer programs where fractions
might be all there is: not where whole moves were seen, nor in networks, whose corners are whole. Of
blocks with more cells than `MOST_CELLS`, only the surroundings of a cell move: what these do not
prove is a gap, unless relations have large coefficients and levels are far larger than their steps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray
from discreet.disclosure import (
    LARGE,
    TOLERANCE,
    Gap,
    Patches,
    Unknowns,
    WholeAttacker,
    blocks_of,
    outer_bounds,
)
from discreet.protection.suppression.problem.system import SuppressionProblem, unknowns_of
from discreet.protection.suppression.proof.certificate import Certificate

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
