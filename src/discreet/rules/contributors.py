"""Rules on contributors: how many there are, and how much the largest make up. SECRET.

In: parameters. Out: rules that look at `CellEvidence` and say which cells are sensitive:
`MinimumFrequency`, `MarginalRule`, `ZeroUnsafe`; `Dominance`, `PPercent`, `PQ`, and `Request` for
respondents who asked for protection; `MissingSafe`, which lets cells go; and `NothingSensitive`,
which says that there is no rule. With X the sum of absolute contributions and T(m) that of the m
largest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import SuppressionError
from discreet.rules.evidence import CellEvidence, RuleInference, RuleJudgement, places_in
from discreet.rules.protocol import MOST, Per, Reason, Rule, Ties, choice, number, whole
from discreet.tables import Table

_OF = ("records", "values", "nonzero", "weights")
_INFINITE = float("inf")
#: With fewer counts than these to choose from, a reason would tell the count.
_ROOM = 2


@dataclass(frozen=True, repr=False)
class MinimumFrequency(Rule):
    """A cell with fewer than n contributors, but some, is sensitive (Mindestfallzahl). SECRET.

    Args:
        n: The smallest number that may be shown.
        safety_range: Protection levels as a percentage of the cell's value.
        of: What is counted: "records"; "values", those with a value (neither missing nor
            NaN); "nonzero", those with a value other than 0; "weights", the sum of weights.
            Unless said otherwise, values of a value column and records of a count.
        per: Whether contributors are records or holdings.

    >>> MinimumFrequency(3)
    <MinimumFrequency: secret>
    """

    key = "minimum_frequency"
    bare = ("n",)
    filters: ClassVar[dict[str, str]] = {}
    reason = Reason.declare(1, "minimum_frequency", en="minimum frequency", de="Mindestfallzahl")
    contributions = 1

    n: float
    safety_range: float = 30.0
    of: Literal["records", "values", "nonzero", "weights"] | None = None
    per: Per = "record"

    def __post_init__(self) -> None:
        weights = self.of == "weights"
        self.check(
            number("n", self.n, 0, _INFINITE) if weights else whole("n", self.n, 1),
            number("safety_range", self.safety_range, 0, _INFINITE),
            [] if self.of is None else choice("of", self.of, _OF),
        )

    @property
    def of_counts(self) -> bool:
        """Whether it can judge tables of counts."""
        return self.of in (None, "records", "weights")

    @property
    def conf_status(self) -> str:
        """Too few units."""
        return "A"

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        of = self.of or cells.contributors
        count = cells.count(of, self.name)
        present = cells.count("records", self.name) > 0
        if of != "records":
            # A cell to which nobody contributes hides nobody.
            present = present & (count > 0)
        return cells.both(present & (count < self.n), cells.share(self.safety_range))

    def inference(self, cells: CellEvidence) -> RuleInference:
        """Of published counts: fewer than n where it marks, n or more where it does not."""
        weighted = cells.places.table.weight is not None
        shown = "weights" if weighted else "records"
        if cells.value is not None or self.per == "holding" or (self.of or "records") != shown:
            return RuleInference.nothing()
        # Sums of weights are published rounded, so that n itself can stand there.
        most = self.n if weighted else self.n - 1
        if most < _ROOM:
            return RuleInference(at_most=_INFINITE, at_least=self.n, opens=True)
        return RuleInference(at_most=most, at_least=most if weighted else self.n, opens=False)


@dataclass(frozen=True, repr=False)
class MarginalRule(Rule):
    """A cell that makes up all but few of a margin is sensitive (Randwertregel). SECRET.

    Nearly everyone in the margin then has the property that the cell stands for. Of a value
    column only records with a value count: who has none adds nothing to the margin.

    Args:
        difference: A cell is sensitive if some margin exceeds it by no more than this.
        safety_range: Protection levels of values, in percent. For counts the level is what
            brings the cell further from its margin than the rule asks.
        per: Whether contributors are records or holdings.

    >>> MarginalRule(difference=1)
    <MarginalRule: secret>
    """

    key = "marginal"
    bare = ("difference",)
    filters: ClassVar[dict[str, str]] = {}
    reason = Reason.declare(2, "marginal", en="marginal rule", de="Randwertregel")
    contributions = 1
    of_counts = True

    difference: int = 1
    safety_range: float = 30.0
    per: Per = "record"

    def __post_init__(self) -> None:
        self.check(
            whole("difference", self.difference, 0),
            number("safety_range", self.safety_range, 0, _INFINITE),
        )

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        count = cells.count(cells.contributors, self.name)
        nearest = np.full(len(cells), np.inf)
        for variable in range(len(cells.places.table.dimensions)):
            above = cells.places.parents(variable)
            apart = np.where(above >= 0, count[above] - count, np.inf)
            nearest = np.minimum(nearest, apart)
        sensitive = (count > 0) & (nearest <= self.difference)
        if cells.value is not None:
            return cells.both(sensitive, cells.share(self.safety_range))
        wanted = self.difference + 1 - np.where(sensitive, nearest, 0.0)
        return cells.directed(sensitive, np.minimum(wanted, count), np.zeros(len(cells)))

    def inference(self, cells: CellEvidence) -> RuleInference:
        """Told as a reason, it says that a count is nearly one of its margins."""
        return replace(RuleInference.nothing(), opens=cells.value is None)


@dataclass(frozen=True, repr=False)
class ZeroUnsafe(Rule):
    """A cell whose contributors all have the value 0 is sensitive. SECRET.

    Args:
        safety_range: The upper protection level, in the unit of the value; the lower one is 0.

    >>> ZeroUnsafe(safety_range=10)
    <ZeroUnsafe: secret>
    """

    key = "zeros"
    bare = ("safety_range",)
    filters: ClassVar[dict[str, str]] = {}
    reason = Reason.declare(7, "zero", en="zero from respondents", de="Null von Auskunftgebenden")
    contributions = 1
    of_counts = False

    safety_range: float
    per: ClassVar[Per] = "record"

    def __post_init__(self) -> None:
        self.check(number("safety_range", self.safety_range, 0, _INFINITE))

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        present = cells.count("values", self.name) > 0
        sensitive = present & (cells.count("nonzero", self.name) == 0)
        nothing = np.zeros(len(cells))
        return cells.directed(sensitive, nothing, nothing + self.safety_range)

    def inference(self, cells: CellEvidence) -> RuleInference:
        """Told as a reason, it says that the value is 0."""
        return replace(RuleInference.nothing(), opens=True)


@dataclass(frozen=True, repr=False)
class MissingSafe:
    """No rule marks a cell of a missing category; marks by hand still do.

    >>> MissingSafe()
    <MissingSafe>
    """

    def exempt(self, cells: CellEvidence) -> BoolArray:
        """The cells that no rule marks."""
        table = cells.places.table
        free = np.zeros(len(cells), dtype=np.bool_)
        for dimension, part in zip(table.dimensions, table.index, strict=True):
            missing = [
                dimension.index[tree.missing]
                for tree in dimension.classifications
                if tree.missing in tree.index
            ]
            free |= np.isin(part, missing)
        return free

    def __repr__(self) -> str:
        return "<MissingSafe>"


@dataclass(frozen=True, repr=False)
class NothingSensitive:
    """The statement that no rule applies: every cell may be published as it is.

    Without rules and marks `primary` refuses to judge, for nothing would be hidden.

    >>> NothingSensitive()
    <NothingSensitive>
    """

    def __repr__(self) -> str:
        return "<NothingSensitive>"


#: Contributions that differ by no more than rounding are equally large.
_NEARLY = 1e-9


def no_inference(rule: Rule, cells: CellEvidence) -> RuleInference:
    """Nothing about the sum: shares of contributors do not bound it."""
    return RuleInference.nothing()


@dataclass(frozen=True, repr=False)
class Dominance(Rule):
    """The (n, k) rule: the n largest have more than k % of the total (Dominanzregel). SECRET.

    Args:
        n: How many contributors are taken together.
        k: Their largest share that is not sensitive, in percent.
        per: Whether contributors are records or holdings.
        ties: What becomes of a cell exactly on the limit.

    >>> Dominance(n=2, k=85)
    <Dominance: secret>
    """

    key = "dominance"
    bare = ("n", "k")
    filters: ClassVar[dict[str, str]] = {}
    reason = Reason.declare(3, "dominance", en="dominance rule", de="Dominanzregel")
    of_counts = False

    n: int
    k: float
    per: Per = "record"
    ties: Ties = "safe"

    def __post_init__(self) -> None:
        self.check(whole("n", self.n, 1, MOST), number("k", self.k, 0, 100))

    @property
    def contributions(self) -> int:
        """Number of largest contributions that the rule uses."""
        return self.n

    @property
    def conf_status(self) -> str:
        """Dominance by one unit or by two; of more it is another measure of concentration."""
        return {1: "O", 2: "T"}.get(self.n, "M")

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        sensitive, level = self._dominated(cells)
        if cells.unwaived is None:
            return cells.in_contributions(sensitive, level)
        # Who has consented may be shown, and knows own figures: the others are protected
        # where they are among the largest, and where they alone would be sensitive.
        first = cells.unwaived.largest(1, self.name)
        nth = cells.largest(self.n, self.name)
        nth = nth - cells.largest(self.n - 1, self.name) if self.n > 1 else nth
        sensitive &= (first > 0) & (first >= nth * (1 - _NEARLY))
        others, theirs = self._dominated(cells.unwaived)
        level = np.maximum(np.where(sensitive, level, 0.0), np.where(others, theirs, 0.0))
        return cells.in_contributions(sensitive | others, level)

    def _dominated(self, cells: CellEvidence) -> tuple[BoolArray, FloatArray]:
        """Cells that their largest contributors dominate, and the levels that they need."""
        total, top = cells.total(self.name), cells.largest(self.n, self.name)
        level = 100 * top / self.k - total
        return (top > 0) & cells.exceeds(level, 100 * top / self.k, self.ties), level

    inference = no_inference


@dataclass(frozen=True, repr=False)
class PPercent(Rule):
    """The p% rule: others could estimate the largest within p % (p%-Regel). SECRET.

    Args:
        p: How close an estimate of the largest contribution may not come, in percent.
        n: How many other contributors pool what they know.
        per: Whether contributors are records or holdings.
        ties: What becomes of a cell exactly on the limit.

    >>> PPercent(10)
    <PPercent: secret>
    """

    key = "p_percent"
    bare = ("p",)
    filters: ClassVar[dict[str, str]] = {}
    reason = Reason.declare(4, "p_percent", en="p% rule", de="p%-Regel")
    of_counts = False

    p: float
    n: int = 1
    per: Per = "record"
    ties: Ties = "safe"

    def __post_init__(self) -> None:
        self.check(number("p", self.p, 0, _INFINITE), whole("n", self.n, 1, MOST - 1))

    @property
    def contributions(self) -> int:
        """Number of largest contributions that the rule uses."""
        return self.n + 1

    @property
    def conf_status(self) -> str:
        """A measure of concentration other than dominance."""
        return "M"

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        return _estimated(cells, self.p / 100, self.n, self.ties, self.name)

    inference = no_inference


@dataclass(frozen=True, repr=False)
class PQ(Rule):
    """The (p, q) rule: as p%, for attackers who know all others within q % beforehand. SECRET.

    Args:
        p: How close an estimate of the largest contribution may not come, in percent.
        q: How well every contribution is known before publication, in percent; above p.
        n: How many other contributors pool what they know.
        per: Whether contributors are records or holdings.
        ties: What becomes of a cell exactly on the limit.

    >>> PQ(p=10, q=50)
    <PQ: secret>
    """

    key = "pq"
    bare = ("p", "q")
    filters: ClassVar[dict[str, str]] = {}
    reason = Reason.declare(5, "prior_posterior", en="prior-posterior rule", de="p/q-Regel")
    of_counts = False

    p: float
    q: float
    n: int = 1
    per: Per = "record"
    ties: Ties = "safe"

    def __post_init__(self) -> None:
        flaws = [
            number("p", self.p, 0, 100),
            number("q", self.q, 0, _INFINITE),
            whole("n", self.n, 1, MOST - 1),
        ]
        if not (flaws[0] or flaws[1]) and not self.p < self.q <= 100:
            flaws.append(["q must be above p and at most 100"])
        self.check(*flaws)

    @property
    def contributions(self) -> int:
        """Number of largest contributions that the rule uses."""
        return self.n + 1

    @property
    def conf_status(self) -> str:
        """A measure of concentration other than dominance."""
        return "M"

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        return _estimated(cells, self.p / self.q, self.n, self.ties, self.name)

    inference = no_inference


def _estimated(cells: CellEvidence, share: float, n: int, ties: str, rule: str) -> RuleJudgement:
    """Cells in which what is left of the total is below a share of the largest contribution."""
    total, first = cells.total(rule), cells.guarded.largest(1, rule)
    known = cells.largest(n + 1, rule)
    if cells.unwaived is not None:
        # The n largest of the others, beside the largest of those who have not consented.
        known = np.minimum(cells.largest(n, rule) + first, known)
    level = share * first - (total - known)
    sensitive = (first > 0) & cells.exceeds(level, total + share * first, ties)
    return cells.in_contributions(sensitive, level)


@dataclass(frozen=True, repr=False, eq=False)
class Request(Rule):
    """Protect large contributors on request (Antragsregel, as in foreign trade). SECRET.

    Args:
        percent: A cell is sensitive if one who asked has more than this share of it.
        asked: Table of those who asked only, by the same variables, with contributions;
            confidential.
        minimum: A cell with one who asked is also sensitive if it has fewer contributors.
        safety_range: Protection levels as a percentage of the cell's value.
        per: Whether contributors are records or holdings; the table is made alike.
        ties: What becomes of a cell exactly on the limit.
    """

    key = "request"
    bare = ()
    filters: ClassVar[dict[str, str]] = {"asked": "where"}
    reason = Reason.declare(
        6, "request", en="request of a respondent", de="Antrag eines Auskunftgebenden"
    )
    contributions = 1
    of_counts = False

    percent: float
    asked: Table
    minimum: int = 0
    safety_range: float = 20.0
    per: Per = "record"
    ties: Ties = "safe"

    def __post_init__(self) -> None:
        self.check(
            number("percent", self.percent, 0, 100, open_low=False),
            [] if isinstance(self.asked, Table) else ["asked must be a table"],
            whole("minimum", self.minimum, 0),
            number("safety_range", self.safety_range, 0, _INFINITE),
        )

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""
        total = cells.total(self.name)
        place = places_in(cells.places.table, self.asked, "the applicants")
        size = np.zeros(len(cells))
        size[place >= 0] = self._sizes(cells)[place[place >= 0]]
        limit = self.percent / 100 * total
        large = cells.exceeds(size - limit, limit, self.ties) & (size > 0)
        few = (place >= 0) & (cells.count(cells.contributors, self.name) < self.minimum)
        return cells.both(large | few, cells.share(self.safety_range))

    inference = no_inference

    def _sizes(self, cells: CellEvidence) -> FloatArray:
        assert cells.contributions is not None
        contribution = self.asked.contributions.get(cells.contributions.column)
        if contribution is None:
            message = "the table of the applicants lacks the largest contributions"
            where = cells.contributions.column
            hint = "tabulate it with the same values and contributions=1"
            raise SuppressionError(message, code="contributions", where=where, hint=hint)
        return np.nan_to_num(np.abs(contribution.top[:, 0]), nan=0.0)
