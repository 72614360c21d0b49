"""Rules: a `RuleCase` in, a `RuleVerdict` out: a text for callers, which never depends on who is in
the data, and an explanation for staff. P4, P5 and P7 share one text and one name.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
import sqlalchemy as sa

from discreet.arrays import BoolArray, IntArray, PositionArray
from discreet_service.policies.asked import AskedTable
from discreet_service.policies.counters import Counters
from discreet_service.policies.document import DifferencePolicy, ExposurePolicy, PolicyDocument
from discreet_service.policies.exposure import MostExposed, ReleasedLayers
from discreet_service.policies.ledger import FewUnits, UniverseLedger
from discreet_service.policies.sketches import UniverseSketch

if TYPE_CHECKING:
    from discreet_service.policies.document import SparsityPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class SparsityShares:
    """Sparsity of a perturbed table."""

    cells: int  # Cells that are not empty
    small: float  # The share of small ones among them
    single: float  # The largest share, over variables, of rows in which one category has all

    @classmethod
    def of(cls, counts: IntArray, small: int, judged: Sequence[bool]) -> SparsityShares:
        """Sparsity of a table.

        >>> import numpy as np
        >>> SparsityShares.of(np.array([[9, 0], [3, 8]]), 3, [False, True])
        SparsityShares(cells=3, small=0.3333333333333333, single=0.5)
        """
        there = counts > 0
        cells = int(there.sum())
        few = int((there & (counts <= small)).sum())
        single = 0.0
        for axis, tells in enumerate(judged):
            if not tells or counts.shape[axis] < 2:
                continue
            filled = there.sum(axis=axis)
            rows = int((filled > 0).sum())
            if rows:
                single = max(single, int((filled == 1).sum()) / rows)
        return cls(cells=cells, small=few / cells if cells else 0.0, single=single)

    def exceeds(self, limits: SparsityPolicy) -> bool:
        """Whether this is too sparse to be shown."""
        if self.cells < limits.least_cells:
            return False
        return self.small > limits.share_small or self.single > limits.share_single


def hidden_parts(
    counts: IntArray,
    levels: Sequence[Sequence[PositionArray]],
    judged: Sequence[bool],
    limits: SparsityPolicy,
    unknown: BoolArray | None = None,
) -> BoolArray:
    """Which parts of a table are hidden: those that are too sparse, with all that are finer.

    What is coarser than a part that is shown is thus shown itself, and a part that is hidden is no
    sum of parts that are shown. Whether a part is hidden depends on its own levels alone and on no
    others that a table has beside them, so that it is the same in all tables.

    >>> from discreet_service.policies.document import SparsityPolicy
    >>> limits = SparsityPolicy(small=3, share_small=0.4, share_single=1, least_cells=4)
    >>> counts = np.array([[20, 11, 9], [11, 10, 1], [9, 1, 8]])
    >>> codes = [np.array([0]), np.array([1, 2])]
    >>> hidden_parts(counts, [codes, codes], [True, True], limits).tolist()
    [[False, False], [False, True]]
    """
    parts = np.zeros([len(level) for level in levels], dtype=np.bool_)
    for part in product(*(range(len(level)) for level in levels)):
        cells = np.ix_(*(each[level] for each, level in zip(levels, part, strict=True)))
        tells = [bool(level) and each for level, each in zip(part, judged, strict=True)]
        sparse = SparsityShares.of(counts[cells], limits.small, tells).exceeds(limits)
        parts[part] = sparse or (unknown is not None and bool(unknown[cells].all()))
    for axis in range(parts.ndim):
        parts = np.logical_or.accumulate(parts, axis=axis)
    return parts


Language = Literal["en", "de"]

#: Rules whose refusals nobody is to tell apart, and what they are called together.
POPULATION_RULES = ("P4", "P5", "P7")
POPULATION = "P4/P5/P7"
#: Refusals by them take a multiple of this.
TIME_CLASS = 50


class Outcome(StrEnum):
    """Outcome of a rule."""

    passed = "passed"
    alerted = "alerted"
    refused = "refused"
    failed = "failed"
    overridden = "overridden"
    later = "later"


#: Outcomes with which a table is not answered.
REFUSING = (Outcome.refused, Outcome.failed)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleVerdict:
    """Verdict of one rule on a table."""

    rule: str  # Its name, P1 to P9
    outcome: Outcome  # What it says
    # language → what callers are told; empty unless it refuses
    text: Mapping[Language, str] = field(default_factory=dict)
    explanation: str = ""  # For staff that may see it: why. Never with true counts.
    retry_after: int | None = None  # Seconds after which it may say something else
    # What the table has of what is limited, and the limit: of what no record tells
    actual: int | None = None
    limit: int | None = None
    # Universes, by their filters, from which it differs little
    near: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class UniverseFacts:
    """Facts from records about a table, computed once. CONFIDENTIAL."""

    count: int  # Perturbed count of the universe
    sketch: UniverseSketch | None  # Its sketch; None if the ledger has it, or it is everybody
    # How sparse the perturbed table is; None where sparse parts are hidden
    sparsity: SparsityShares | None
    # What its universe differs from by few, and what it exposes, beside all released ones,
    # whatever they are by now
    few: Callable[[DifferencePolicy], list[FewUnits]]
    measured: Callable[[ExposurePolicy], MostExposed | None]


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class RuleCase:
    """Input of the rules."""

    asked: AskedTable  # The table
    principal: str  # Who asks, by name; of the public, from where
    account: str  # To whom new cells are charged; all of the public are one
    policy: PolicyDocument  # What may be asked
    now: int  # The time, in milliseconds
    database: sa.Connection | None  # None to do with what is in memory
    counters: Counters  # What was counted of callers
    layers: ReleasedLayers  # What was released
    ledger: UniverseLedger  # About whom
    facts: UniverseFacts | None = None  # What records tell; None before that is known
    looked: bool = False  # Whether it was looked at before, and took its query from the bucket

    @property
    def connection(self) -> sa.Connection:
        """The database."""
        if self.database is None:
            raise LookupError("not in memory")
        return self.database


Rule = Callable[[RuleCase], RuleVerdict]


def passed(rule: str, explanation: str = "") -> RuleVerdict:
    """A rule has nothing against it."""
    return RuleVerdict(rule=rule, outcome=Outcome.passed, explanation=explanation)


def refused(
    rule: str,
    explanation: str,
    *,
    retry_after: int | None = None,
    actual: int | None = None,
    limit: int | None = None,
    **facts: str,
) -> RuleVerdict:
    """A rule refuses, in the words that it has for all.

    >>> refused("P4", "…").text == refused("P5", "…").text
    True
    """
    return RuleVerdict(rule=rule, outcome=Outcome.refused, text=_words(rule, **facts),
                       explanation=explanation, retry_after=retry_after, actual=actual,
                       limit=limit)  # fmt: skip


def failed(rule: str, explanation: str) -> RuleVerdict:
    """A rule could not be applied: nothing is answered."""
    text = _words(rule if rule in POPULATION_RULES else "unknown")
    return RuleVerdict(rule=rule, outcome=Outcome.failed, text=text, explanation=explanation)


def later(rule: str) -> RuleVerdict:
    """A rule decides when the table is counted."""
    return RuleVerdict(rule=rule, outcome=Outcome.later, explanation="decided with the data")


def _words(rule: str, **facts: str) -> Mapping[Language, str]:
    words = _WORDS["population" if rule in POPULATION_RULES else rule]
    return {"en": words["en"].format(**facts), "de": words["de"].format(**facts)}


_WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("discreet_service.policies").joinpath("words.toml").read_text("utf-8")
)


@contextmanager
def padded(clock: Callable[[], int], wait: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Let a block take a multiple of 50 milliseconds, however it ends.

    >>> waited: list[float] = []
    >>> with padded(iter((1_000, 1_012)).__next__, waited.append):
    ...     pass
    >>> waited
    [0.038]
    """
    start = clock()
    try:
        yield
    finally:
        wait((-(clock() - start) % TIME_CLASS) / 1000)
