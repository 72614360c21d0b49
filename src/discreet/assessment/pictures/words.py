"""The words on pictures, in English and German.

In: the name of a text. Out: the text. Nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from discreet.errors import PublicationError

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


_HIDDEN_ENGLISH: Mapping[str, str] = {
    "shown": "published",
    "zero": "exactly zero or changed to zero",
    "primary": "sensitive (primary)",
    "secondary": "hidden to protect others (secondary)",
    "hidden": "hidden",
    "bracketed": "published, limited value",
    "official": "published",
    "none": "no value possible",
    "absent": "not in the table",
    "kind": "cell",
    "value": "value",
    "by_code": "Hidden cells by {variable}",
    "by_part": "Hidden cells by table part",
    "column_primary": "● primary",
    "column_secondary": "○ secondary",
    "column_hidden": "hidden",
    "column_cells": "of cells",
    "column_share": "share",
    "some_codes": "{title}: {shown} of {all} codes",
    "below": "codes include all codes below them",
    "own": "cells of each code itself; zeros are not counted",
    "zeros": "zeros are not counted",
    "some_parts": "{shown} of {all} table parts, those with most hidden cells",
    "share_axis": "share of cells that are hidden",
}

_HIDDEN_GERMAN: Mapping[str, str] = {
    "shown": "veröffentlicht",
    "zero": "genau null oder auf null geändert",
    "primary": "geheimhaltungsbedürftig (primär)",
    "secondary": "zum Schutz anderer gesperrt (sekundär)",
    "hidden": "gesperrt",
    "bracketed": "veröffentlicht, Aussagewert eingeschränkt",
    "official": "veröffentlicht",
    "none": "kein Wert möglich",
    "absent": "nicht in der Tabelle",
    "kind": "Feld",
    "value": "Wert",
    "by_code": "Gesperrte Felder nach {variable}",
    "by_part": "Gesperrte Felder nach Tabellenteil",
    "column_primary": "● primär",
    "column_secondary": "○ sekundär",
    "column_hidden": "gesperrt",
    "column_cells": "von Feldern",
    "column_share": "Anteil",
    "some_codes": "{title}: {shown} von {all} Positionen",
    "below": "Positionen mit allen Positionen unter ihnen",
    "own": "Felder der Position selbst; Nullen sind nicht gezählt",
    "zeros": "Nullen sind nicht gezählt",
    "some_parts": "{shown} von {all} Tabellenteilen, die mit den meisten gesperrten Feldern",
    "share_axis": "Anteil gesperrter Felder",
}


def hidden_words(language: str) -> Mapping[str, str]:
    """All texts of one language, which has been checked before.

    >>> hidden_words("de")["hidden"]
    'gesperrt'
    """
    return _HIDDEN_ENGLISH if language == "en" else _HIDDEN_GERMAN
