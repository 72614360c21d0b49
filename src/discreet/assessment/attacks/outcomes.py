"""`AttackOutcome`: what one attack found, which reader can carry it out, and whether that is open.

In: the rates of all attacks. Out: a row per attack, from which text, JSON and pages are made. An
attack without a rate was not examined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.disclosure import DisclosureVerdict, Gap, VerdictWord
from discreet.files import texts_of

#: Who carries an attack out: anybody; who knows a person; who contributes; who knows one column or
#: period; who keeps earlier releases.
AttackReader = Literal["public", "acquaintance", "contributor", "owner", "keeper"]
#: So many of the best estimates of averaging may be right; of all else nothing may be found.
_TOLERATED = {"average": 0.6}
_READERS: dict[str, AttackReader] = {
    "average": "public", "determined": "public", "twins": "acquaintance", "groups": "public",
    "contradictions": "keeper", "shared": "public", "official": "public", "regular": "public",
    "alike": "owner", "values": "contributor", "whole": "public", "uncounted": "public",
}  # fmt: skip
#: Attacks whose rates are shares of success; of all others they are numbers.
SHARES = ("average", "values")
_PACKAGE = "discreet.assessment.attacks"


@dataclass(frozen=True, kw_only=True)
class AttackOutcome:
    """What one attack found.

    >>> AttackOutcome(attack="twins", reader="acquaintance", rate=2).line()
    'Sets that differ by few persons (readers who know somebody): 2 – open'
    """

    attack: str  # the name of its rate
    reader: AttackReader
    rate: float | int | None  # what it found, or how often it succeeds; None if not examined

    @property
    def verdict(self) -> VerdictWord:
        """Whether it finds more than it may."""
        if self.rate is None:
            return "not examined"
        return "open" if self.rate > _TOLERATED.get(self.attack, 0) else "safe"

    def words(self, language: str = "en") -> tuple[str, str, str]:
        """The attack, its reader and its verdict in words."""
        texts = texts_of(_PACKAGE, "outcomes", language)
        return texts[self.attack], texts[self.reader], texts[self.verdict.replace(" ", "-")]

    def line(self) -> str:
        """The same as a line of a report."""
        attack, reader, verdict = self.words()
        found = "" if self.rate is None else f"{self.rate:,}"
        if self.rate is not None and self.attack in SHARES:
            found = f"{100 * self.rate:.1f} %"
        return f"{attack} ({reader}): {' – '.join(filter(None, (found, verdict)))}"

    def described(self) -> dict[str, str | float | None]:
        """The same as plain values."""
        return {
            "attack": self.attack,
            "reader": self.reader,
            "rate": self.rate,
            "verdict": self.verdict,
        }


def outcomes_of(rates: Mapping[str, float | int | None]) -> list[AttackOutcome]:
    """What each attack found; the exposure of cells is no attack, but what averaging rests on."""
    return [
        AttackOutcome(attack=name, reader=_READERS[name], rate=rate)
        for name, rate in rates.items()
        if name != "exposure"
    ]


def verdict_of(outcomes: list[AttackOutcome], left_out: Sequence[str] = ()) -> DisclosureVerdict:
    """One verdict on some attacks, which left out some tables."""
    gaps = [Gap("attack", one.words()[0]) for one in outcomes if one.verdict == "not examined"]
    if left_out:
        gaps.append(Gap("attacked-tables", ", ".join(left_out), len(left_out)))
    return DisclosureVerdict.of((one.words()[0] for one in outcomes if one.verdict == "open"), gaps)


def verdict_sentence(verdict: DisclosureVerdict, language: str = "en") -> str:
    """A verdict on attacks in words: nothing is said of readers who do something else."""
    return verdict.sentence(texts_of(_PACKAGE, "outcomes", language)["subject"], language)
