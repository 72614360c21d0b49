"""`Reason`: which kind of rule made a cell sensitive. Its kind may be published.

In: nothing. Out: names without parameters, for patterns, reports and publications.
"""

from __future__ import annotations

from enum import IntEnum

from discreet.errors import SuppressionError

__all__ = ["Reason"]


class Reason(IntEnum):
    """Why a cell is sensitive; in the order in which rules are usually named.

    >>> Reason.p_percent.code, Reason.p_percent.text("de")
    ('p-percent', 'p%-Regel')
    """

    none = 0
    minimum_frequency = 1
    marginal = 2
    dominance = 3
    p_percent = 4
    prior_posterior = 5
    request = 6
    zero = 7
    manual = 8

    @property
    def code(self) -> str:
        """Its name in files."""
        return self.name.replace("_", "-")

    def text(self, language: str = "en") -> str:
        """Its name in words: English ("en") or German ("de")."""
        if language not in _WORDS:
            raise SuppressionError(
                f"there are no words in the language {language!r}",
                code="language",
                where="language",
                hint="use en or de",
            )
        return _WORDS[language][self]


_WORDS = {
    "en": (
        "not sensitive",
        "minimum frequency",
        "marginal rule",
        "dominance rule",
        "p% rule",
        "prior-posterior rule",
        "request of a respondent",
        "zero from respondents",
        "marked by hand",
    ),
    "de": (
        "nicht sensibel",
        "Mindestfallzahl",
        "Randwertregel",
        "Dominanzregel",
        "p%-Regel",
        "p/q-Regel",
        "Antrag eines Auskunftgebenden",
        "Null von Auskunftgebenden",
        "von Hand gekennzeichnet",
    ),
}
