"""How much noise is safe: `trade_off` between maximum noise, variance, risk and quality.

In: parameters of a design. Out: figures per maximum noise. SECRET once a point of
the curve is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.assessment.evaluation import evaluate
from discreet.assessment.probabilities import NoiseChances
from discreet.assessment.quality import expected_quality
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import PerturbationTable

if TYPE_CHECKING:
    import polars as pl

_PARTS = (2, 3)
_FINEST = Decimal("0.0001")


def large_risk(ptable: PerturbationTable, terms: int = 2) -> float:
    """Probability that a sum and its parts, all large, determine the originals. SECRET.

    That happens only when the noise of all parts lies at one end and that of the sum at
    the other.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> large_risk(ptable), large_risk(ptable, terms=3)
    (0.03125, 0.0078125)
    """
    chances = NoiseChances.of(ptable)
    reach = int(max(np.abs(chances.noise)))
    at = {int(value): place for place, value in enumerate(chances.noise)}
    least, most = (
        float(chances.share[-1, at[end]]) if end in at else 0.0 for end in (-reach, reach)
    )
    return least**terms * most + most**terms * least


def trade_off(
    max_noise: Iterable[int],
    limit: float,
    *,
    forbidden: Iterable[int] = (),
    stay: Any = None,
    terms: int = 2,
    step: str | Decimal = "0.01",
) -> pl.DataFrame:
    """The largest variance that is safe, for each maximum noise. SECRET.

    Safe means: an attacker who knows the maximum noise and sees a sum with its parts,
    all large, learns the originals with a probability of at most `limit`. For a given
    maximum noise that probability grows with the variance, since the ends become
    likelier. Columns: `max_noise`, `variance` (a multiple of `step`; null where even a
    feasible variance is not safe), `risk`, and for large counts `stay`,
    `mean_absolute_deviation`, `at_most_1`, `at_least_3`, `at_least_4`.

    Args:
        max_noise: Maximum noises to try.
        limit: The largest probability that is accepted.
        forbidden: Values never to be published; they need some variance.
        stay: Fixed stay probability.
        terms: 2 or 3 parts.
        step: Steps of the variance.

    >>> trade_off([2, 3], limit=1e-5)["variance"].to_list()
    [0.58, 1.47]
    """
    import polars as pl

    tried, size = tuple(max_noise), _checked(limit, terms, step)
    wanted = _Wanted(float(limit), tuple(forbidden), stay, terms, size)
    rows = [wanted.best(reach) for reach in tried]
    columns = ["max_noise", "variance", "risk", "stay", "mean_absolute_deviation"]
    columns += ["at_most_1", "at_least_3", "at_least_4"]
    schema = {name: pl.Int64 if name == "max_noise" else pl.Float64 for name in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclass(frozen=True, repr=False)
class _Wanted:
    """What all points of the curve have in common."""

    limit: float
    forbidden: tuple[int, ...]
    stay: Any
    terms: int
    step: Decimal

    def best(self, reach: int) -> tuple[Any, ...]:
        """The row of the curve for one maximum noise."""
        from discreet.protection.noise import design_rows

        widest = design_rows(reach, reach**2, self.forbidden, stay=self.stay).table()
        if self._risk(widest) <= self.limit:  # safe however large the variance is
            reached = Decimal(evaluate(widest)["variance"][-1])
            return self._row(reach, int(reached / self.step), widest)
        low, high = 0, int(reach**2 / self.step) + 1
        while high - low > 1:
            middle = (low + high) // 2
            # The last row is the same without forbidden values, and quicker to come by.
            plain = design_rows(reach, float(middle * self.step), stay=self.stay).table()
            low, high = (middle, high) if self._risk(plain) <= self.limit else (low, middle)
        try:
            variance = float(low * self.step)
            table = design_rows(reach, variance, self.forbidden, stay=self.stay).table()
        except PerturbationError:  # `widest` was possible: the variance is too small
            return (reach, *[None] * 7)
        return self._row(reach, low, table)

    def _risk(self, ptable: PerturbationTable) -> float:
        return large_risk(ptable, self.terms)

    def _row(self, reach: int, steps: int, table: PerturbationTable) -> tuple[Any, ...]:
        quality = expected_quality(table, [table.n_max])
        return (
            reach,
            float(steps * self.step),
            self._risk(table),
            quality.unchanged,
            quality.mean_absolute_deviation,
            quality.at_most_1,
            quality.at_least_3,
            quality.at_least_4,
        )


def _checked(limit: float, terms: int, step: str | Decimal) -> Decimal:
    """The step as a number, if everything makes sense."""
    problems = []
    if not (isinstance(limit, int | float) and 0 < limit < 1):
        problems.append(Problem("the limit is a probability between 0 and 1", "limit"))
    if terms not in _PARTS or isinstance(terms, bool):
        problems.append(Problem("sums have 2 or 3 parts", "terms"))
    try:
        size = Decimal(step)
    except (ArithmeticError, TypeError, ValueError):
        size = Decimal(0)
    if not (size.is_finite() and size >= _FINEST):
        problems.append(Problem(f"the step is a number of at least {_FINEST}", "step"))
    if problems:
        first = problems[0]
        raise PerturbationError(first.what, code="trade-off", where=first.where, problems=problems)
    return size
