"""Rules on the number of contributors. SECRET.

In: parameters. Out: rules that look at `CellEvidence` and say which cells are sensitive:
`MinimumFrequency`, `MarginalRule`, `ZeroUnsafe`; `MissingSafe`, which lets cells go; and
`NothingSensitive`, which says that there is no rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import BoolArray
from discreet.rules.evidence import CellEvidence, RuleInference, RuleJudgement
from discreet.rules.protocol import Per, Reason, Rule, choice, number, whole

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
