"""The words on pictures, in English and German.

In: the name of a text. Out: the text. Nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from discreet.errors import PublicationError
from discreet.files import texts_of

LANGUAGES = ("en", "de")


def words(language: str) -> Mapping[str, str]:
    """All texts of one language.

    >>> words("de")["noise"]
    'Überlagerung'
    """
    if language not in LANGUAGES:
        raise PublicationError(
            "pictures have no words in this language",
            code="picture-language",
            where="language",
            hint=f"use {' or '.join(LANGUAGES)}",
        )
    return texts_of("discreet.assessment", "pictures", language)


def number(value: Decimal | str, language: str) -> str:
    """A decimal number as the language writes it, with a true minus sign.

    >>> number("-0.25", "de")
    '−0,25'
    """
    text = str(value).replace("-", "−")
    return text.replace(".", ",") if language == "de" else text


def sign(value: float, language: str = "en") -> str:
    """A noise value with its sign.

    >>> sign(-2), sign(0), sign(1.5, "de")
    ('−2', '0', '+1,5')
    """
    text = f"{value:g}"
    return number(f"+{text}" if value > 0 else text, language)


def hidden_words(language: str) -> Mapping[str, str]:
    """All texts of one language, which has been checked before.

    >>> hidden_words("de")["hidden"]
    'gesperrt'
    """
    return texts_of("discreet.assessment", "hidden", language)
