"""`DisclosureVerdict`: safe, open or not examined, with what was left out.

In: names of what readers work out, and the gaps of an examination. Out: one word of three, and
sentences in English and German. A gap that a user accepts by its name counts no longer, and stays
in the report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.files import texts_of

VerdictWord = Literal["safe", "open", "not examined"]
#: Kinds of gaps; `words.toml` has the texts of each.
GapKind = Literal[
    "joint-cube", "joint-contributors", "whole-numbers", "coalitions", "contributors", "estimates",
    "dependencies", "breakdowns", "filters", "filter-codes", "records", "weights", "between",
    "joint", "values", "levels", "units", "attack", "attacked-tables", "names", "populations",
    "sides", "unit-values", "weightings",
]  # fmt: skip

_PACKAGE = "discreet.disclosure"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that an examination leaves out.

    >>> cube = Gap("joint-cube", "age, area", 970_478)
    >>> cube.name, cube.size()
    ('joint cube of age, area', '970,478 combinations')
    """

    kind: GapKind
    about: str = ""  # what it is about, such as variables
    number: int = 0  # how large it is

    def _text(self, part: str, language: str) -> str:
        number = f"{self.number:,}" if language == "en" else f"{self.number:,}".replace(",", ".")
        text = texts_of(_PACKAGE, "gaps", language)[f"{self.kind}{part}"]
        return text.format(about=self.about, number=number)

    @property
    def name(self) -> str:
        """Its name: users who accept the gap name it so."""
        return self._text("", "en")

    def size(self, language: str = "en") -> str:
        """Size of the gap."""
        return self._text("-size", language)

    def remedy(self, language: str = "en") -> str:
        """Remedy for the gap."""
        return self._text("-remedy", language)

    def text(self, language: str = "en") -> str:
        """Name and size."""
        return f"{self._text('', language)} ({self.size(language)})"

    def described(self) -> dict[str, str]:
        """As plain values, for JSON."""
        return {"name": self.name, "size": self.size(), "remedy": self.remedy()}


@dataclass(frozen=True, kw_only=True, slots=True)
class DisclosureVerdict:
    """Verdict on published figures.

    Open wins over not examined, and not examined over safe.

    >>> gap = Gap("joint-cube", "age, area", 970_478)
    >>> DisclosureVerdict.of((), [gap]).word
    'not examined'
    >>> DisclosureVerdict.of((), [gap], accept=["joint cube of age, area"]).word
    'safe'
    """

    opened: tuple[str, ...] = ()  # what readers work out, by name
    gaps: tuple[Gap, ...] = ()  # what was not examined
    accepted: tuple[Gap, ...] = ()  # what was not examined, and was accepted by its name

    @classmethod
    def of(
        cls, opened: Iterable[str], gaps: Iterable[Gap], accept: Sequence[str] = ()
    ) -> DisclosureVerdict:
        """A verdict; gaps with an accepted name do not count."""
        every = tuple(dict.fromkeys(gaps))
        return cls(
            opened=tuple(opened),
            gaps=tuple(gap for gap in every if gap.name not in accept),
            accepted=tuple(gap for gap in every if gap.name in accept),
        )

    @classmethod
    def joined(cls, verdicts: Iterable[DisclosureVerdict]) -> DisclosureVerdict:
        """The verdict on all that several are about."""
        listed = list(verdicts)
        return cls(
            opened=tuple(name for one in listed for name in one.opened),
            gaps=tuple(dict.fromkeys(gap for one in listed for gap in one.gaps)),
            accepted=tuple(dict.fromkeys(gap for one in listed for gap in one.accepted)),
        )

    def and_gaps(self, gaps: Iterable[Gap], accept: Sequence[str] = ()) -> DisclosureVerdict:
        """A copy with further gaps."""
        more = DisclosureVerdict.of((), gaps, accept)
        return DisclosureVerdict.joined([self, more])

    @property
    def word(self) -> VerdictWord:
        """The verdict in a word."""
        return "open" if self.opened else "not examined" if self.gaps else "safe"

    @property
    def safe(self) -> bool:
        """Whether everything was examined and nothing is open."""
        return self.word == "safe"

    def sentence(self, subject: str, language: str = "en") -> str:
        """The verdict on a subject as a sentence."""
        words = texts_of(_PACKAGE, "verdicts", language)
        return words[self.word.replace(" ", "-")].format(subject=subject)

    def lines(self, language: str = "en") -> list[str]:
        """Gaps with remedies, and gaps that were accepted."""
        words = texts_of(_PACKAGE, "verdicts", language)
        return [
            *(
                words["gap"].format(gap=gap.text(language), remedy=gap.remedy(language))
                for gap in self.gaps
            ),
            *(words["accepted"].format(gap=gap.text(language)) for gap in self.accepted),
        ]

    @property
    def notes(self) -> list[str]:
        """Accepted gaps, as notes of a report."""
        return [f"not examined, and accepted: {gap.text()}" for gap in self.accepted]

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "verdict": self.word,
            "safe": self.safe,
            "not_examined": [gap.described() for gap in self.gaps],
            "accepted": [gap.described() for gap in self.accepted],
        }


class Judged(ABC):
    """An object with a verdict on published figures."""

    @property
    @abstractmethod
    def judgement(self) -> DisclosureVerdict:
        """The verdict, with all that is open or was not examined."""

    @property
    def verdict(self) -> VerdictWord:
        """The verdict in a word: safe, open or not examined."""
        return self.judgement.word

    @property
    def safe(self) -> bool:
        """Whether everything was examined and nothing is open."""
        return self.judgement.safe

    def __repr__(self) -> str:
        return f"<{type(self).__name__} (confidential): {self.verdict}>"
