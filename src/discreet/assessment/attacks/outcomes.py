"""`AttackOutcome`: what one attack found, which reader can carry it out, and whether that is open.

In: the rates of all attacks, and limits of some. Out: a row per attack, from which text, JSON and
pages are made. An attack without a rate was not examined; one without a limit may find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.assessment.words import number
from discreet.disclosure import DisclosureVerdict, VerdictWord
from discreet.files import texts_of

#: Who carries an attack out: anybody; who knows a person; who contributes; who knows one column or
#: period; who keeps earlier releases.
AttackReader = Literal["public", "acquaintance", "contributor", "owner", "keeper"]
#: So many of the best estimates of averaging may be right; of all else nothing may be found.
_TOLERATED = {"average": 0.6}
READERS: dict[str, AttackReader] = {
    "average": "public", "exposure": "public", "determined": "public", "twins": "acquaintance",
    "groups": "public", "contradictions": "keeper", "shared": "public", "official": "public",
    "regular": "public", "alike": "owner", "values": "contributor", "whole": "public",
    "uncounted": "public",
}  # fmt: skip
#: Attacks whose rates are shares of success; of all others they are numbers.
SHARES = ("average", "values")
#: Where the words of attacks stand.
PACKAGE = "discreet.assessment.attacks"


@dataclass(frozen=True, kw_only=True)
class AttackOutcome:
    """Result of one attack.

    >>> AttackOutcome(attack="twins", reader="acquaintance", rate=2).line()
    'Sets that differ by few persons (readers who know a respondent): 2 – open'
    """

    attack: str  # the name of its rate
    reader: AttackReader
    rate: float | int | None  # what it found, or how often it succeeds; None if not examined
    limit: float | None = None  # what it may find; None where nobody states a limit

    @property
    def verdict(self) -> VerdictWord:
        """Whether it finds more than it may."""
        if self.rate is None:
            return "not examined"
        most = _TOLERATED.get(self.attack, 0) if self.limit is None else self.limit
        return "open" if self.rate > most else "safe"

    def words(self, language: str = "en") -> tuple[str, str, str]:
        """The attack, its reader and its verdict in words."""
        texts = texts_of(PACKAGE, "outcomes", language)
        limited = "" if self.limit is None or self.rate is None else "-limit"
        verdict = texts[f"{self.verdict.replace(' ', '-')}{limited}"]
        return texts[self.attack], texts[self.reader], verdict

    def line(self) -> str:
        """As a line of a report."""
        attack, reader, verdict = self.words()
        figures = "" if self.rate is None else self._number(self.rate)
        if figures and self.limit is not None:
            figures += f" (limit {self._number(self.limit)})"
        return f"{attack} ({reader}): {' – '.join(filter(None, (figures, verdict)))}"

    def _number(self, rate: float) -> str:
        if self.attack in SHARES:
            return f"{100 * rate:.1f} %"
        return number(rate, "en")

    def failure(self) -> str:
        """In what it does not keep its limit; nothing if it does, or has none."""
        if self.limit is None or self.verdict == "safe":
            return ""
        if self.rate is None:
            return f"{self.attack} is not examined"
        return f"{self.attack} is {number(self.rate, 'en')}, above {number(self.limit, 'en')}"

    def described(self) -> dict[str, str | float | None]:
        """As plain values, for JSON."""
        return {
            "attack": self.attack,
            "reader": self.reader,
            "rate": self.rate,
            "limit": self.limit,
            "verdict": self.verdict,
        }


def verdict_sentence(
    verdict: DisclosureVerdict, language: str = "en", outcomes: Sequence[AttackOutcome] = ()
) -> str:
    """A verdict on attacks in words: nothing is said of readers who do something else.

    Where attacks have limits, it says whether the release keeps within them, and what is open or
    not examined beside them.
    """
    texts = texts_of(PACKAGE, "outcomes", language)
    words = {one.verdict for one in outcomes if one.limit is not None}
    if not words:
        return verdict.sentence(texts["subject"], language)
    worst = next(word for word in ("open", "not examined", "safe") if word in words)
    sentences = [texts[f"{worst.replace(' ', '-')}-limits"]]
    others = [one for one in outcomes if one.limit is None and one.verdict == "open"]
    if others:
        named = ", ".join(one.words(language)[0] for one in others)
        sentences.append(texts["open-others"].format(attacks=named))
    if verdict.gaps and worst != "not examined":
        sentences.append(texts["not-examined-others"])
    return " ".join(sentences)
