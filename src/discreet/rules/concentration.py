"""Rules on how much of a cell its largest contributors make up. SECRET.

In: parameters. Out: rules that look at `CellEvidence` and say which cells are sensitive:
`Dominance`, `PPercent`, `PQ`, and `Request` for respondents who asked for protection.
With X the sum of absolute contributions and T(m) that of the m largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import SuppressionError
from discreet.rules.cell_lookup import places_in
from discreet.rules.evidence import CellEvidence, RuleInference, RuleJudgement
from discreet.rules.protocol import MOST, Per, Reason, Rule, Ties, number, whole
from discreet.tables import Table

_INFINITE = float("inf")
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
