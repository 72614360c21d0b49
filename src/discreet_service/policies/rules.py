"""Rules: what each of them is given, and how it decides.

In: a `RuleCase`. Out: a `RuleVerdict` with a text for callers, which never depends on who is in the
data, and an explanation for staff. Rules about people (P4, P5, P7) share one text and one name.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from typing import Literal

import sqlalchemy as sa

from discreet_service.policies.asked import AskedTable
from discreet_service.policies.document import PolicyDocument
from discreet_service.policies.exposure import ReleasedLayers
from discreet_service.policies.ledger import ComparedUniverse, UniverseLedger
from discreet_service.policies.sketches import UniverseSketch
from discreet_service.policies.sparsity import SparsityShares

Language = Literal["en", "de"]

#: Rules whose refusals nobody is to tell apart, and what they are called together.
POPULATION_RULES = ("P4", "P5", "P7")
POPULATION = "P4/P5/P7"
#: Refusals by them take a multiple of this.
TIME_CLASS = 50


class Outcome(StrEnum):
    """What a rule says."""

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
    """What one rule says of a table."""

    rule: str  # Its name, P1 to P9
    outcome: Outcome  # What it says
    # language → what callers are told; empty unless it refuses
    text: Mapping[Language, str] = field(default_factory=dict)
    explanation: str = ""  # For staff that may see it: why. Never with true counts.
    retry_after: int | None = None  # Seconds after which it may say something else
    # Universes, by their filters, from which it differs little
    near: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class UniverseFacts:
    """What records tell of a table, worked out once. CONFIDENTIAL."""

    count: int  # Perturbed count of the universe
    sketch: UniverseSketch | None  # Its sketch; None if the ledger has it, or it is everybody
    # How sparse the perturbed table is; None where sparse parts are hidden
    sparsity: SparsityShares | None
    # What its universe differs from by few; None if that is to be worked out
    compared: ComparedUniverse | None = None


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class RuleCase:
    """What rules decide on."""

    asked: AskedTable  # The table
    principal: str  # Who asks, by name
    policy: PolicyDocument  # What may be asked
    now: int  # The time, in milliseconds
    connection: sa.Connection  # The database
    layers: ReleasedLayers  # What was released
    ledger: UniverseLedger  # About whom
    facts: UniverseFacts | None  # What records tell; None before that is known


Rule = Callable[[RuleCase], RuleVerdict]


def passed(rule: str, explanation: str = "") -> RuleVerdict:
    """A rule has nothing against it."""
    return RuleVerdict(rule=rule, outcome=Outcome.passed, explanation=explanation)


def refused(
    rule: str, explanation: str, *, retry_after: int | None = None, **facts: str
) -> RuleVerdict:
    """A rule refuses, in the words that it has for all.

    >>> refused("P4", "…").text == refused("P5", "…").text
    True
    """
    return RuleVerdict(
        rule=rule,
        outcome=Outcome.refused,
        text=_words(rule, **facts),
        explanation=explanation,
        retry_after=retry_after,
    )


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
