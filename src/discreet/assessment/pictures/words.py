"""The words on pictures, in English and German.

In: the name of a text. Out: the text. Nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from discreet.errors import PublicationError

__all__ = ["LANGUAGES", "number", "sign", "words"]

LANGUAGES = ("en", "de")

_ENGLISH: Mapping[str, str] = {
    "confidential": "CONFIDENTIAL – shows secret parameters of the perturbation. "
    "Not for publication.",
    "confidential_cells": "CONFIDENTIAL – shows which cells are sensitive. Not for publication.",
    "tableau": "Noise by original count and cell key",
    "heatmap": "Transition matrix: published by original count, in %",
    "distributions": "Distribution of the noise by original count, in %",
    "quality": "Expected relative error by original count",
    "risk": "Disclosure risk",
    "noise": "noise",
    "count": "original count",
    "published": "published count",
    "cell_key": "cell key, as a share of the key grid",
    "interval": "interval",
    "keys": "keys",
    "share": "probability",
    "row_some": "rows {shown} of 0–{last}",
    "beyond_last": "{last}+: this row and all larger counts",
    "beyond_block": "larger counts repeat rows {first}–{last}",
    "never": "never published: {values}",
    "diagonal": "framed: unchanged",
    "row_head": "original {label}:  variance {variance},  unchanged {stay} %",
    "class": "{lower} to {upper} %",
    "class_first": "up to {upper} %",
    "relative_error": "expected relative error in %",
    "bracket": "values above {limit} % are bracketed",
    "found": "probability that a part is found exactly",
    "found_head": "A sum and its {terms} parts are published",
    "found_any_head": "A sum and its parts are published",
    "part": "original count of the part",
    "once": "1 in ",
    "never_found": "never",
    "accepted": "limit",
    "origin": "probability in %",
    "origin_head": "A published value came from an original 1 or 2",
    "knows_maximum": "the attacker knows the largest noise",
    "knows_table": "the attacker knows the whole table",
    "trade_off": "Largest safe variance by largest noise",
    "variance": "largest safe variance",
    "deviation": "mean absolute deviation of large counts",
    "max_noise": "largest noise",
    "largest": "accepted risk",
    "series": "perturbation table",
}

_GERMAN: Mapping[str, str] = {
    "confidential": "VERTRAULICH – zeigt geheime Parameter der Überlagerung. "
    "Nicht zur Veröffentlichung.",
    "confidential_cells": "VERTRAULICH – zeigt, welche Felder geheimhaltungsbedürftig sind. "
    "Nicht zur Veröffentlichung.",
    "tableau": "Überlagerung nach Originalwert und Cell-Key",
    "heatmap": "Übergangsmatrix: veröffentlichter Wert nach Originalwert, in %",
    "distributions": "Verteilung der Überlagerung nach Originalwert, in %",
    "quality": "Erwarteter relativer Fehler nach Originalwert",
    "risk": "Aufdeckungsrisiko",
    "noise": "Überlagerung",
    "count": "Originalwert",
    "published": "veröffentlichter Wert",
    "cell_key": "Cell-Key, als Anteil am Schlüsselraster",
    "interval": "Intervall",
    "keys": "Schlüssel",
    "share": "Wahrscheinlichkeit",
    "row_some": "Zeilen {shown} von 0–{last}",
    "beyond_last": "{last}+: diese Zeile und alle größeren Werte",
    "beyond_block": "größere Werte wiederholen die Zeilen {first}–{last}",
    "never": "nie veröffentlicht: {values}",
    "diagonal": "umrandet: unverändert",
    "row_head": "Original {label}:  Varianz {variance},  unverändert {stay} %",
    "class": "{lower} bis {upper} %",
    "class_first": "bis {upper} %",
    "relative_error": "erwarteter relativer Fehler in %",
    "bracket": "Werte über {limit} % werden geklammert",
    "found": "Wahrscheinlichkeit, einen Teil genau zu finden",
    "found_head": "Eine Summe und ihre {terms} Teile sind veröffentlicht",
    "found_any_head": "Eine Summe und ihre Teile sind veröffentlicht",
    "part": "Originalwert des Teils",
    "once": "1 zu ",
    "never_found": "nie",
    "accepted": "Grenze",
    "origin": "Wahrscheinlichkeit in %",
    "origin_head": "Ein veröffentlichter Wert stammt von einer 1 oder 2",
    "knows_maximum": "der Angreifer kennt die größte Überlagerung",
    "knows_table": "der Angreifer kennt die ganze Tabelle",
    "trade_off": "Größte sichere Varianz nach größter Überlagerung",
    "variance": "größte sichere Varianz",
    "deviation": "mittlere absolute Abweichung großer Werte",
    "max_noise": "größte Überlagerung",
    "largest": "erlaubtes Risiko",
    "series": "Überlagerungstabelle",
}


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
    return _ENGLISH if language == "en" else _GERMAN


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
