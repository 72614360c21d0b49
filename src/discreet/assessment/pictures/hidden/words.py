"""The words on pictures of hidden cells, in English and German. Public."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["hidden_words"]

_ENGLISH: Mapping[str, str] = {
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

_GERMAN: Mapping[str, str] = {
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
    return _ENGLISH if language == "en" else _GERMAN
