"""Patterns that hold against attackers who know that values are whole numbers. CONFIDENTIAL.

In: a problem and the pattern of any method. Out: the pattern, with more cells hidden where
fractions were all that protected a cell: the cheapest whole move around it, by small
integer programs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray
from discreet.disclosure import refuse_cells
from discreet.protection.suppression.methods.moved_cells import moved_cells
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    Pattern,
    certified,
    certify,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import relation_distances
from discreet.protection.suppression.proof.whole_numbers import held_in_whole_numbers

_ROUNDS = 5


def protected_in_whole_numbers(problem: SuppressionProblem, pattern: Pattern) -> Pattern:
    """The pattern, with what it takes to protect cells in whole numbers as well."""
    if not pattern.safe:
        return pattern
    hidden = pattern.hidden
    certificate = held_in_whole_numbers(problem, hidden, pattern.certificate)
    opened = len(certificate.unprotected)
    for _ in range(_ROUNDS):
        if not len(certificate.unprotected):
            break
        more = _with_whole_moves(problem, hidden, certificate)
        if not (more & ~hidden).any():
            break
        hidden = more
        certificate = held_in_whole_numbers(problem, hidden, certify(problem, hidden))
    message = "apart from its true value only fractions are possible, and values are whole"
    hint = "let more cells be hidden, widen the bounds said to be known, or merge categories"
    refuse_cells(certificate.unprotected, problem.name, message, "whole-numbers", hint)
    if not opened:
        return replace(pattern, certificate=certificate)
    note = f"more is hidden around {opened:,} sensitive cells that only fractions protected"
    known = {name: getattr(pattern, name) for name in ("bound", "complete", "seconds")}
    known |= {"certificate": certificate, "notes": (*pattern.notes, note)}
    return certified(problem, hidden, pattern.method, **known)


def _with_whole_moves(
    problem: SuppressionProblem, hidden: BoolArray, certificate: Certificate
) -> BoolArray:
    """More cells hidden, so that each open cell moves in whole numbers as far as it must."""
    draft = DraftPattern(problem)
    draft.hidden = hidden[draft.unknowns.cells]
    draft.halve()
    step, price = relation_distances(draft), np.maximum(draft.cost, 1e-3)
    for cell in draft.at(certificate.unprotected).tolist():
        moved = moved_cells(draft, cell, step, price, whole=True)
        if moved is not None:
            draft.hidden[moved] = True
    return draft.mask()
