"""What an attacker can find out, `disclosure_risk`, and how much noise is safe, `trade_off`.

In: a perturbation table and a distribution of counts; parameters of a design. Out: probabilities;
figures per maximum noise. SECRET: who knows them knows the table better. The attacker sees a sum
and its two or three parts, each perturbed on its own, and knows the maximum noise or even the
whole table. An original is determined when only one value of it agrees with all that is published.
All results are whole numbers compared with one; rounding cannot matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray
from discreet.assessment.probabilities import NoiseChances, distribution, evaluate
from discreet.assessment.quality import expected_quality
from discreet.assessment.words import number, percent, words_of
from discreet.confidential import SecretValues
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import PerturbationTable

if TYPE_CHECKING:
    import polars as pl

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, repr=False)
class Beliefs:
    """Possible originals for each count, as far as counts differ."""

    move: FloatArray  # probability of count → published value
    possible: BoolArray  # whether the attacker holds count → published value possible
    limit: int  # all counts from here on are alike; parts go from 0 to here
    terms: int  # number of parts of a sum
    reach: int  # largest absolute noise

    @classmethod
    def of(cls, ptable: PerturbationTable, terms: int, *, whole_table: bool) -> Beliefs:
        """The beliefs of one who knows the whole table, or only the maximum noise.

        Either knows that zeros stay zero, which is no secret, unless they do not.
        From the first of the equal rows + 2·reach on, every original that a published value
        may have belongs to equal rows, so that larger counts make no difference.
        """
        chances = NoiseChances.of(ptable)
        alike = chances.last_alike
        if alike is None:
            message = "large counts use a repeated block of different rows"
            hint = "use a table whose last rows are equal"
            raise PerturbationError(message, code="risk", hint=hint)
        reach = int(max(np.abs(chances.noise[chances.units.any(axis=0)])))
        limit = max(alike + 2 * reach, 3)  # 1 and 2 never stand for larger counts
        counts = terms * (limit + 2 * reach) + 1
        values = terms * limit + reach + 1
        move = np.zeros((counts, values + 3 * reach * terms + 1), dtype=np.float64)
        row = np.minimum(np.arange(counts), alike)
        for at, noise in enumerate(chances.noise.tolist()):
            count = np.flatnonzero(chances.units[row, at])
            move[count, count + noise] = chances.share[row[count], at]
        if whole_table:
            possible = move > 0
        else:
            count, value = np.indices(move.shape)
            possible = np.abs(value - count) <= reach
            if chances.units[0, -chances.noise[0]] == chances.scale:
                possible[0, 1:] = False
        return cls(move[:, :values], possible[:, :values], limit, terms, reach)


class Attack:
    """The combinations of published parts and sum in which an original is determined.

    Arrays have one axis per part and a last one for the sum; along them run the
    published values 0, 1, ….
    """

    def __init__(self, beliefs: Beliefs) -> None:
        parts, values = beliefs.limit + 2 * beliefs.reach + 1, beliefs.limit + beliefs.reach + 1
        self.beliefs = beliefs
        self._part: Singles = beliefs.possible[:parts, :values].astype(np.float32)
        self._sum: Singles = beliefs.possible.astype(np.float32)
        others = self._part.T  # what the other parts may sum to: published values, flat × sum
        if beliefs.terms == 3:
            sums = _sums(others[:, None, :], others[None, :, :])
            others = sums.reshape(-1, sums.shape[-1])
        self.part, self.sum = self._first_part(others), self._whole(others)
        self.any = self.sum | self.part
        for axis in range(1, beliefs.terms):
            self.any |= np.swapaxes(self.part, 0, axis)

    def chance(self, determined: BoolArray) -> FloatArray:
        """Probability of `determined` for each combination of original parts."""
        move, limit, terms = self.beliefs.move, self.beliefs.limit, self.beliefs.terms
        shape = determined.shape[:-1]
        part = move[: limit + 1, : shape[0]]
        chance = np.zeros((limit + 1,) * terms, dtype=np.float64)
        total = np.indices(chance.shape).sum(axis=0)
        place, value = np.nonzero(determined.reshape(-1, determined.shape[-1]))
        order = np.argsort(value, kind="stable")  # few are determined: go through those only
        place, value = place[order], value[order]
        for whole in range(terms * limit + 1):
            near = (whole - self.beliefs.reach, whole + self.beliefs.reach + 1)
            seen = slice(*np.searchsorted(value, near).tolist())
            weight = move[whole, value[seen]]
            spread = np.bincount(place[seen], weight, math.prod(shape))
            likely = np.asarray(spread.reshape(shape), dtype=np.float64)
            for _ in range(terms):  # each turn takes one axis from published to original
                likely = np.asarray(np.tensordot(likely, part, axes=(0, 1)), dtype=np.float64)
            here = total == whole
            chance[here] = likely[here]
        return chance

    def _first_part(self, others: Singles) -> BoolArray:
        """Whether exactly one original of the first part fits."""
        part = self._part
        values, wholes = part.shape[1], self._sum.shape[1]
        number = np.zeros((values, len(others), wholes), dtype=np.int16)
        for count in range(len(part)):
            rows = self._sum[count : count + others.shape[1]]
            fits = others[:, : len(rows)] @ rows > 0
            number[part[count] > 0] += fits
        one: BoolArray = number == 1
        return one.reshape((values,) * self.beliefs.terms + (wholes,))

    def _whole(self, others: Singles) -> BoolArray:
        """Whether exactly one original of the sum fits."""
        values = self._part.shape[1]
        fits = []
        for value in range(values):
            first = np.broadcast_to(self._part[:, value], (len(others), len(self._part)))
            sums = _sums(first, others)
            fits.append(np.rint(sums @ self._sum[: sums.shape[1]]) == 1)
        return np.stack(fits).reshape((values,) * self.beliefs.terms + (-1,))


def _sums(first: Singles, second: Singles) -> Singles:
    """Along the last axis: whether a number is a sum of one of each."""
    lengths = first.shape[-1], second.shape[-1]
    shape = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    sums = np.zeros((*shape, sum(lengths) - 1), dtype=np.float32)
    for at in np.flatnonzero(first.any(axis=tuple(range(first.ndim - 1)))).tolist():
        sums[..., at : at + lengths[1]] += first[..., at, None] * second
    return (sums > 0).astype(np.float32)


Knows = Literal["maximum", "table"]

_LARGEST = 30_000_000  # combinations of published values that fit in memory


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DisclosureRisk(SecretValues):
    """Probabilities that originals become known. SECRET.

    Args:
        terms: Number of parts of the sum.
        knows: What the attacker knows: the "maximum" noise or the whole "table".
        any_original: Probability that at least one original, part or sum, is determined.
        part: The same for one part that is named beforehand.
        sum: The same for the sum.
        worst: The largest `any_original` of all combinations of parts.
        worst_parts: That combination.
        large: `any_original` where all parts are so large that only equal rows matter.
        large_from: Parts from here on are that large.
        by_count: Per original count of a part: `count`, `part`: the probability that it
            is determined.
        small: Per published value: `value`, `share` (how often it is published),
            `from_1`, `from_2`, `from_1_or_2` (probability that it came from there).
    """

    terms: int
    knows: Knows
    any_original: float
    part: float
    sum: float
    worst: float
    worst_parts: tuple[int, ...]
    large: float
    large_from: int
    by_count: pl.DataFrame
    small: pl.DataFrame

    def text(self, language: str = "en") -> str:
        """The main figures in plain words. SECRET."""
        words = words_of("risk", language)
        times = number(1 / self.any_original, language, 0) if self.any_original else ""
        once = words["once"].format(times=times) if times else words["never"]
        sentence = words["sums"].format(
            knows=words[self.knows],
            terms=words[f"terms {self.terms}"],
            any=percent(self.any_original, language),
            once=once,
            large=percent(self.large, language),
            worst=percent(self.worst, language),
            parts=" + ".join(number(part, language) for part in self.worst_parts),
        )
        known = self.small.drop_nulls("from_1_or_2")
        top = known.sort(["from_1_or_2", "value"], descending=[True, False]).row(0, named=True)
        return sentence + words["small"].format(
            value=top["value"], share=percent(top["from_1_or_2"], language)
        )

    def described(self) -> dict[str, Any]:
        """The figures by name, without those by count. SECRET."""
        left = ("by_count", "small")
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in left}


def disclosure_risk(
    ptable: PerturbationTable,
    terms: int = 2,
    counts: Any = None,
    *,
    knows: Knows = "maximum",
) -> DisclosureRisk:
    """Probability that a published sum and its parts determine an original. SECRET.

    Parts are drawn independently from `counts`; cells with different records have
    independent noise. All probabilities are computed, none is simulated.

    Args:
        ptable: The perturbation table.
        terms: 2 or 3 parts.
        counts: A `Table`, a list of true counts, or a mapping from count to number of
            cells. Without it, all counts from 1 on for which the risk differs, each
            equally often.
        knows: "maximum": the largest absolute noise; "table": the perturbation table.
            Either knows that zeros stay zero, if they do.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> risk = disclosure_risk(ptable)
    >>> risk.large  # 2 · ¼ · ¼ · ¼: the noise of the parts at one end, of the sum at the other
    0.03125
    """
    import polars as pl

    if terms not in (2, 3) or isinstance(terms, bool):
        raise PerturbationError(
            "the number of parts of a sum must be 2 or 3", code="risk", where="terms"
        )
    if knows not in ("maximum", "table"):
        message = 'the prior knowledge must be "maximum" or "table"'
        raise PerturbationError(message, code="risk", where="knows")
    beliefs = Beliefs.of(ptable, terms, whole_table=knows == "table")
    if (beliefs.limit + beliefs.reach + 1) ** terms * beliefs.possible.shape[1] > _LARGEST:
        raise PerturbationError(
            "the perturbation table is too large for sums of this many parts",
            code="risk-size",
            where="terms",
            hint="use terms=2" if terms == 3 else "use less noise or fewer rows",
        )
    prior = _prior(counts, beliefs.limit)
    attack = Attack(beliefs)
    any_ = attack.chance(attack.any)
    part, whole = (
        any_ if np.array_equal(kind, attack.any) else attack.chance(kind)
        for kind in (attack.part, attack.sum)
    )
    occurs = np.flatnonzero(prior)
    drawn = any_[np.ix_(*[occurs] * terms)]
    place = np.unravel_index(int(drawn.argmax()), drawn.shape)
    by_count = part
    for _ in range(terms - 1):
        by_count = by_count @ prior
    return DisclosureRisk(
        terms=terms,
        knows=knows,
        any_original=_mean(any_, prior),
        part=_mean(part, prior),
        sum=_mean(whole, prior),
        worst=float(drawn.max()),
        worst_parts=tuple(sorted(int(occurs[at]) for at in place)),
        large=float(any_[(beliefs.limit,) * terms]),
        large_from=beliefs.limit,
        by_count=pl.DataFrame({"count": occurs.astype(np.int64), "part": by_count[occurs]}),
        small=_small(beliefs.move, prior, beliefs.reach),
    )


def small_values(ptable: PerturbationTable, counts: Any) -> pl.DataFrame:
    """Probability that a published small value was an original 1 or 2. SECRET.

    The attacker knows the perturbation table and how often each count occurs.

    Args:
        ptable: The perturbation table.
        counts: As for `disclosure_risk`. Zeros count if they are listed.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}, 2: {0: 1}})
    >>> small_values(ptable, {1: 10, 2: 10, 3: 10})["from_1"].to_list()
    [1.0, None, 0.3333333333333333, 0.0]
    """
    beliefs = Beliefs.of(ptable, 1, whole_table=True)
    return _small(beliefs.move, _prior(counts, beliefs.limit), beliefs.reach)


def _prior(counts: Any, limit: int) -> FloatArray:
    """The probability of each count up to the limit, which stands for all beyond."""
    prior = np.zeros(limit + 1, dtype=np.float64)
    if counts is None:
        prior[1:] = 1.0
    else:
        count, cells = distribution(counts)
        np.add.at(prior, np.minimum(count, limit), cells)
    return np.asarray(prior / math.fsum(prior.tolist()), dtype=np.float64)


def _mean(chance: FloatArray, prior: FloatArray) -> float:
    for _ in range(chance.ndim):
        chance = np.asarray(chance @ prior)
    return float(chance)


def _small(move: FloatArray, prior: FloatArray, reach: int) -> pl.DataFrame:
    """Bayes' rule for every value that an original 1 or 2 can become."""
    import polars as pl

    rows = []
    for value in range(min(2 + reach, move.shape[1] - 1) + 1):
        joint = prior * move[: len(prior), value]
        share = math.fsum(joint.tolist())
        ones, twos = (float(joint[at]) / share if share else None for at in (1, 2))
        both = float(joint[1] + joint[2]) / share if share else None
        rows.append((value, share, ones, twos, both))
    names = ["share", "from_1", "from_2", "from_1_or_2"]
    schema = {"value": pl.Int64, **dict.fromkeys(names, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


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

    from discreet.protection.noise import design_rows

    tried, size = tuple(max_noise), _checked(limit, terms, step)
    banned = tuple(forbidden)

    def best(reach: int) -> tuple[Any, ...]:
        """The row of the curve for one maximum noise."""
        table = design_rows(reach, reach**2, banned, stay=stay).table()
        if large_risk(table, terms) <= limit:  # safe however large the variance is
            low = int(Decimal(evaluate(table)["variance"][-1]) / size)
        else:
            low, high = 0, int(reach**2 / size) + 1
            while high - low > 1:
                middle = (low + high) // 2
                # The last row is the same without forbidden values, and quicker to come by.
                plain = design_rows(reach, float(middle * size), stay=stay).table()
                low, high = (middle, high) if large_risk(plain, terms) <= limit else (low, middle)
            try:
                table = design_rows(reach, float(low * size), banned, stay=stay).table()
            except PerturbationError:  # the widest was possible: the variance is too small
                return (reach, *[None] * 7)
        quality = expected_quality(table, [table.n_max])
        shares = (getattr(quality, name) for name in columns[3:])
        return (reach, float(low * size), large_risk(table, terms), *shares)

    columns = ["max_noise", "variance", "risk", "unchanged", "mean_absolute_deviation"]
    columns += ["at_most_1", "at_least_3", "at_least_4"]
    schema = {name: pl.Int64 if name == "max_noise" else pl.Float64 for name in columns}
    frame = pl.DataFrame([best(reach) for reach in tried], schema=schema, orient="row")
    return frame.rename({"unchanged": "stay"})


def _checked(limit: float, terms: int, step: str | Decimal) -> Decimal:
    """The step as a number, if everything makes sense."""
    problems = []
    if not (isinstance(limit, int | float) and 0 < limit < 1):
        problems.append(Problem("the limit must be a probability between 0 and 1", "limit"))
    if terms not in _PARTS or isinstance(terms, bool):
        problems.append(Problem("the number of parts of a sum must be 2 or 3", "terms"))
    try:
        size = Decimal(step)
    except (ArithmeticError, TypeError, ValueError):
        size = Decimal(0)
    if not (size.is_finite() and size >= _FINEST):
        problems.append(Problem(f"the step must be at least {_FINEST}", "step"))
    if problems:
        first = problems[0]
        raise PerturbationError(first.what, code="trade-off", where=first.where, problems=problems)
    return size
