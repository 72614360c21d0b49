"""Numbers in words, in English and German.

In: numbers and a language. Out: texts. Confidential where the numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import PerturbationError
from discreet.files import texts_of

_JOINT: Mapping[str, str] = {"en": " and ", "de": " und "}


def words_of(section: str, language: str) -> Mapping[str, str]:
    """The texts of an assessment, if there are words in the language.

    >>> words_of("risk", "de")["never"]
    'nie'
    """
    if language not in _JOINT:
        raise PerturbationError(
            f"unknown language {language!r}",
            code="language",
            where="language",
            hint="use en or de",
        )
    return texts_of("discreet.assessment", section, language)


def number(value: float, language: str, decimals: int = 2) -> str:
    """A number with digit groups and at most so many decimals.

    >>> number(1234.5, "en"), number(1234.5, "de"), number(-0.001, "en")
    ('1,234.5', '1 234,5', '0')
    """
    text = f"{value:,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    text = "0" if text == "-0" else text
    return text if language == "en" else text.replace(",", " ").replace(".", ",")


def percent(share: float, language: str) -> str:
    """A share in per cent, small ones with the digits that count.

    >>> percent(0.655, "en"), percent(0.000012, "de"), percent(0, "en"), percent(0.9999, "en")
    ('65.5 %', '0,0012 %', '0 %', '99.99 %')
    """
    hundred = 100 * share
    decimals = 1
    # Rounding makes nothing of something, and of almost everything not everything.
    while decimals < 15 and (
        round(hundred, decimals) == 0 < hundred or round(hundred, decimals) == 100 > hundred
    ):
        decimals += 1
    return f"{number(hundred, language, decimals + (decimals > 1))} %"


def listed(values: list[int], language: str) -> str:
    """1, 2 and 3.

    >>> listed([1, 2, 3], "en"), listed([7], "de")
    ('1, 2 and 3', '7')
    """
    texts = [number(value, language) for value in values]
    if len(texts) < 2:
        return "".join(texts)
    return ", ".join(texts[:-1]) + _JOINT[language] + texts[-1]
