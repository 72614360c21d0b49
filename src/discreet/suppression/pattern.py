"""`Pattern`: the cells that a method hides, with its proof, cost and bound. CONFIDENTIAL.

In: a `SuppressionProblem` and a mask of hidden cells. Out: the same, certified: who of
the sensitive cells is protected, what the secondary suppressions cost, how far that is
at most from the cheapest pattern. Which cells are hidden is published with the table;
the certificate and costs are not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.certificate import Certificate, certify
from discreet.suppression.problem import CellState, SuppressionProblem

__all__ = ["Pattern", "certified"]

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pattern:
    """Which cells are hidden, and what is known about it (confidential).

    Args:
        problem: Digest of the problem that it belongs to.
        hidden: Which cells are hidden: sensitive ones and secondary suppressions.
        method: Name of the method that found it.
        cost: What the secondary suppressions cost.
        secondaries: How many they are.
        certificate: A verdict for each sensitive cell.
        bound: No pattern that protects all sensitive cells costs less; None if unknown.
        complete: Whether the method came to its end; False if a time limit stopped it.
        seconds: How long it took; not part of the digest.
        notes: What else users should know, in words.
    """

    problem: str
    hidden: BoolArray
    method: str
    cost: int
    secondaries: int
    certificate: Certificate
    bound: int | None = None
    complete: bool = True
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether every sensitive cell is proven to be protected."""
        return not len(self.certificate.unprotected)

    @property
    def gap(self) -> float | None:
        """By what share of its cost the pattern is at most too dear; None if unknown."""
        if self.bound is None:
            return None
        return (self.cost - self.bound) / self.cost if self.cost else 0.0

    @property
    def optimal(self) -> bool:
        """Whether no cheaper pattern protects all sensitive cells."""
        return self.safe and self.bound is not None and self.bound >= self.cost

    def digest(self) -> str:
        """SHA-256 over the problem, the hidden cells and the verdicts."""
        digest = hashlib.sha256(b"discreet suppression pattern 1")
        digest.update(f"{self.problem} {self.method} {self.cost} {self.bound}".encode())
        digest.update(np.packbits(self.hidden).tobytes())
        digest.update(np.ascontiguousarray(self.certificate.cells, dtype="<i8").tobytes())
        digest.update(np.packbits(self.certificate.protected).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        verdict = "safe" if self.safe else "NOT safe"
        return (
            f"<Pattern (confidential) by {self.method}: {int(self.hidden.sum()):,} of "
            f"{len(self.hidden):,} cells hidden, {verdict}>"
        )


def certified(
    problem: SuppressionProblem,
    hidden: BoolArray,
    method: str,
    *,
    certificate: Certificate | None = None,
    **known: Any,
) -> Pattern:
    """A pattern with its certificate; the last step of every method.

    Args:
        problem: The problem.
        hidden: Which of its cells the method hides. Sensitive cells and earlier
            secondaries must be among them, fixed ones must not.
        method: Name of the method.
        certificate: Verdicts on exactly these hidden cells, if already there.
        known: Other fields of `Pattern`: bound, complete, seconds, notes.
    """
    if (problem.hidden & ~hidden).any() or hidden[problem.state == CellState.fixed].any():
        raise SuppressionError(
            "a pattern hides published cells or shows cells that must be hidden", code="pattern"
        )
    return Pattern(
        problem=problem.digest(),
        hidden=hidden,
        method=method,
        cost=problem.cost_of(hidden),
        secondaries=int((hidden & (problem.state != CellState.primary)).sum()),
        certificate=certificate or certify(problem, hidden),
        **known,
    )
