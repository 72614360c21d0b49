"""`logit` and `probit`: models of two outcomes whose tables may leave a research data centre.

In: a frame, an outcome (0 is failure, everything else success), terms in Stata's notation. Out:
`SafeResult` laid out as Stata does; if a rule is broken, nothing of it but the terms. Maximum
likelihood goes by Newton steps, each a least squares problem. Where the outcome is separated
by the variables, no maximum exists.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from discreet.arrays import FloatArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.layout import count_text, fixed, general, rounded
from discreet_fire.statistics.models.design import ModelDesign
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.least_squares import (
    Coefficients,
    LeastSquaresSolution,
    solve,
)
from discreet_fire.statistics.models.request import ModelFit, ModelRequest, request_of
from discreet_fire.statistics.results import CheckVerdict, SafeResult


class Slope(NamedTuple):
    """Log-likelihood of each row, its first derivative and minus its second. CONFIDENTIAL."""

    log: FloatArray
    first: FloatArray
    second: FloatArray


def _logit(predictor: FloatArray, outcome: FloatArray) -> Slope:
    share, rest = special.expit(predictor), special.expit(-predictor)
    log = special.log_expit(np.where(outcome > 0.0, predictor, -predictor))
    return Slope(log=log, first=outcome - share, second=share * rest)


def _probit(predictor: FloatArray, outcome: FloatArray) -> Slope:
    sign = 2.0 * outcome - 1.0
    z = sign * predictor
    log = special.log_ndtr(z)
    ratio = np.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log)
    return Slope(log=log, first=sign * ratio, second=ratio * (ratio + z))


#: Derivatives from predictor and outcome.
LINKS: dict[str, Callable[[FloatArray, FloatArray], Slope]] = {"logit": _logit, "probit": _probit}

_STEPS = 60
_HALVINGS = 30
#: Where the log-likelihood can rise by no more than this share of it, one step is left.
_LEFT = 1e-12
#: Rows with less curvature than this share of the largest count as having that much.
_FLAT = 1e-20
#: A step that moves predictors so far although it gains nothing leads to infinity.
_MOVING = 0.02


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LikelihoodFit:
    """A fitted model. CONFIDENTIAL.

    The solution has the inverse of the information around weighted means; the curvature is the
    weights of the last step; scores are first derivatives of the log-likelihood, not weighted.
    """

    solution: LeastSquaresSolution
    curvature: FloatArray
    scores: FloatArray
    log: float


def _sum(values: FloatArray, weights: FloatArray | None) -> float:
    return float((values if weights is None else values * weights).sum())


def maximise(
    design: ModelDesign, outcome: FloatArray, weights: FloatArray | None, command: str
) -> LikelihoodFit | None:
    """Fit the model to an outcome of 0 and 1."""
    link = LINKS[command]
    predictor = np.zeros(design.size)
    slopes: FloatArray | None = None
    constant, last = 0.0, False
    slope = link(predictor, outcome)
    log = _sum(slope.log, weights)
    for _ in range(_STEPS):
        curvature = np.maximum(slope.second, _FLAT * float(slope.second.max()))
        weighted = curvature if weights is None else curvature * weights
        # Weighted least squares of this outcome is a Newton step.
        step = solve(design, slope.first / curvature, weighted)
        slopes = np.zeros(len(step.kept)) if slopes is None else slopes
        if len(slopes) != len(step.kept):
            return None
        rise = step.total - step.residual + step.weight * step.mean**2
        way = step.predicted(design)
        if last:
            own = constant if step.constant is not None else None
            solution = dataclasses.replace(step, slopes=slopes, constant=own)
            return LikelihoodFit(solution=solution, curvature=weighted, scores=slope.first, log=log)
        last = rise <= _LEFT * (abs(log) + 1.0)
        if last and float(np.abs(way).max()) > _MOVING:
            return None
        share = 1.0
        for _ in range(_HALVINGS):
            tried = link(predictor + share * way, outcome)
            height = _sum(tried.log, weights)
            if height >= log - 1e-9 * abs(log):
                break
            share /= 2.0
        predictor, slope, log = predictor + share * way, tried, height
        slopes = slopes + share * step.slopes
        constant += share * (step.constant or 0.0)
    return None


def logit(frame: Any, outcome: str, terms: str | Sequence[str] = (), **options: Any) -> SafeResult:
    """Logistic regression of an outcome that is 0 or not.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": range(40), "y": [(x * 7) % 5 < 1 + x // 14 for x in range(40)]})
    >>> result = logit(frame, "y", "x")
    >>> result.verdict.value, round(result.stored["ll"], 4)
    ('pass', -25.2496)
    """
    return _fitted("logit", frame, outcome, terms, options)


def probit(frame: Any, outcome: str, terms: str | Sequence[str] = (), **options: Any) -> SafeResult:
    """Probit regression of an outcome that is 0 or not.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": range(40), "y": [(x * 7) % 5 < 1 + x // 14 for x in range(40)]})
    >>> result = probit(frame, "y", "x")
    >>> result.verdict.value, round(result.stored["ll"], 4)
    ('pass', -25.2595)
    """
    return _fitted("probit", frame, outcome, terms, options)


def _fitted(
    command: str, frame: Any, outcome: str, terms: str | Sequence[str], options: dict[str, Any]
) -> SafeResult:
    request = request_of(command, outcome, terms, {"weight_kind": "pweight", **options})
    if request.weight_kind == "aweight":
        message, hint = (
            "analytic weights have no meaning here",
            'weight_kind="pweight" or "fweight"',
        )
        raise OutputCheckError(message, code="weights", where=command, hint=hint)
    sample = request.sample(frame)
    sample = dataclasses.replace(sample, outcome=(sample.outcome != 0.0).astype(np.float64))
    checking = ModelChecks(sample=sample, design=request.design(sample), limits=request.limits)
    checking.cases()
    checking.left_out()
    checking.clusters()
    if sample.outcome.min() == sample.outcome.max():
        checking.note("same-outcome", "the outcome does not vary", [outcome])
        return request.withheld(checking)
    notes = _without_certain(checking, request)
    sample, design = checking.sample, checking.design
    start = solve(design, sample.outcome, sample.weights)
    checking.freedom(len(sample) - start.rank, start.rank)
    checking.cases()
    checking.totals(start.rank)
    # Sums over columns are matched exactly, so few cases behind a direction show in the
    # columns themselves, whatever the fitted shares are.
    checking.leverage(start, sample.weights)
    if checking.failed():
        return request.withheld(checking)
    model = maximise(design, sample.outcome, sample.weights, command)
    if model is None:
        checking.note("separation", "the variables separate the outcomes of some cases")
        return request.withheld(checking)
    checking.leverage(model.solution, model.curvature)
    if checking.failed():
        return request.withheld(checking)
    return request.shown(checking, _likelihood(request, checking, model, notes))


def _likelihood(
    request: ModelRequest, checking: ModelChecks, model: LikelihoodFit, notes: Sequence[str]
) -> ModelFit:
    sample, solution, robust = checking.sample, model.solution, request.is_robust
    weights, slopes = sample.weights, len(solution.slopes)
    total = float(len(sample)) if weights is None else float(weights.sum())
    number = total if request.weight_kind == "fweight" else float(len(sample))
    coefficients = Coefficients.of(
        solution, checking.design, sample, model.scores, kind=request.weight_kind,
        variance=None if robust else 1.0, n=number, df=number - 1.0, normal=True,
    )  # fmt: skip
    stored, numbers = {"N": number, "df_m": float(slopes)}, {"ll": model.log}
    if coefficients.clusters is not None:
        stored["N_clust"] = float(coefficients.clusters)
    chi2 = coefficients.wald if slopes else 0.0
    if request.constant:
        # The log-likelihood of a model with a constant alone.
        ones = _sum(sample.outcome, weights)
        parts = (n * math.log(n / total) for n in (ones, total - ones) if n > 0.0)
        numbers["ll_0"] = sum(parts)
        numbers["r2_p"] = 1.0 - model.log / numbers["ll_0"]
        if not robust:
            chi2 = max(0.0, 2.0 * (model.log - numbers["ll_0"]))
    if chi2 is not None:
        numbers["chi2"] = chi2
        numbers["p"] = float(special.chdtrc(slopes, chi2)) if slopes else math.nan
    digits = request.limits.digits
    stored |= {name: rounded(x, digits) for name, x in numbers.items() if math.isfinite(x)}
    test = "Wald" if robust or not request.constant else "LR"
    right = [
        ("Number of obs", count_text(number)),
        (f"{test} chi2({slopes})", fixed(stored.get("chi2"))),
        ("Prob > chi2", fixed(stored.get("p"), 4)),
    ]
    if "r2_p" in stored:
        right.append(("Pseudo R2", fixed(stored["r2_p"], 4)))
    name = "Log pseudolikelihood" if robust else "Log likelihood"
    left = [request.title, "", "", f"{name} = {general(stored['ll'], 10)}"]
    heading = request.heading(left, right, (54, 14), coefficients.clusters)
    return ModelFit(solution, coefficients, stored, heading, notes)


def _without_certain(checking: ModelChecks, request: ModelRequest) -> list[str]:
    """Leave out cells in which all outcomes are the same, as Stata does; notes on them.

    They cannot be estimated: their coefficients would be infinite.
    """
    notes: list[str] = []
    while not checking.failed():
        sample, columns = checking.sample, checking.design.estimated
        every = slice(0, len(sample))
        sides = ((column, _certain(column.values(every), sample.outcome)) for column in columns)
        column, side = next((pair for pair in sides if pair[1] is not None), (None, None))
        if column is None or side is None:
            break
        rows, success, sign = side
        reason = "all cases of a group have the same outcome"
        text = checking.design.terms[column.term].text
        checking.note("perfect-prediction", reason, [text], CheckVerdict.review)
        if 0 < sample.cases_where(rows) < request.limits.minimum:
            checking.note("minimum-cases", "too few cases are left out", [text])
        notes.append(
            f"note: {column.label} {sign} 0 predicts {success} perfectly; "
            f"{column.label} omitted and {int(rows.sum()):,} obs not used."
        )
        checking.sample = sample.only(~rows)
        checking.design = request.design(checking.sample)
    return notes


def _certain(
    values: FloatArray, outcome: FloatArray
) -> tuple[npt.NDArray[np.bool_], str, str] | None:
    """Rows of an indicator whose outcomes are all the same, while others vary."""
    low, high = values.min(), values.max()
    if low == high or not np.all((values == low) | (values == high)):
        return None
    for rows, sign in ((values == high, "!="), (values == low, "==")):
        own, rest = outcome[rows], outcome[~rows]
        if own.min() == own.max() and rest.min() != rest.max():
            return rows, "success" if own[0] == 1.0 else "failure", sign
    return None
