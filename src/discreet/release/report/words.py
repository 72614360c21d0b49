"""The words of the pages about quality, in English and German."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import PublicationError

Words = Mapping[str, str]

_ENGLISH: Words = {
    "quality": "Quality of the figures",
    "public lead": "What protection did to the figures of this release, over all tables "
    "together. Bounds are rounded outward.",
    "internal lead": "What protection did to the figures of this release.",
    "confidential": "CONFIDENTIAL – for internal use only. This page shows true counts, noise "
    "and parameters of the procedure. It must not be published or passed on.",
    "summary": "At a glance",
    "tables": "Tables",
    "cells": "Cells",
    "complete": "Shown completely",
    "thinned": "Some parts suppressed",
    "blocked": "Suppressed altogether",
    "statements": "Statements",
    "no statements": "There are too few cells for statements that reveal nothing.",
    "shown": "Tables shown completely, by the finest level of each variable",
    "level": "Variable: finest level",
    "software": "Software",
    "noise": "Noise of counts",
    "noise value": "Noise",
    "share": "Share",
    "by size": "Mean absolute deviation by size of the original count",
    "relative by size": "Mean relative error by size of the original count",
    "original": "Original",
    "by depth": "Mean absolute deviation by table part",
    "depth": "Variables broken down",
    "mad": "Mean abs. deviation",
    "bias": "Mean deviation",
    "relative": "Mean rel. error",
    "unchanged": "Unchanged",
    "at_most_1": "At most ±1",
    "at_least_3": "3 or more",
    "at_least_4": "4 or more",
    "deviation": "Relative deviation of other figures",
    "deviation class": "Deviation",
    "kind": "Kind of figure",
    "brackets": "Figures in brackets",
    "bracketed": "In brackets",
    "shown figures": "Figures shown",
    "sums": "Totals and the sums of their parts",
    "compared": "Totals compared",
    "differing": "With a difference",
    "mean difference": "Mean |difference|",
    "largest": "Largest |difference|",
    "aside": "Cells not assessed, and zeros",
    "suppressed": "Cells with records, suppressed",
    "official": "Official cells",
    "changed_to_zero": "Changed to zero",
    "zeros_changed": "Zeros changed",
    "suppressed cells": "Suppressed cells, published tables",
    "reasons": "Reasons for suppressed parts",
    "reason": "Reason",
    "parts": "Parts",
    "each table": "Each table",
    "table": "Table",
    "state": "Parts shown",
    "kind count": "counts",
    "kind sum": "sums",
    "kind mean": "means",
    "kind share": "shares",
    "kind ratio": "ratios",
    "kind per_thousand": "per-thousand rates",
    "kind change": "rates of change",
    "kind balance": "balances",
    "kind index": "indices",
}

_GERMAN: Words = {
    "quality": "Qualität der Werte",
    "public lead": "Was die Geheimhaltung an den Werten dieser Veröffentlichung geändert hat, "
    "über alle Tabellen zusammen. Schranken sind nach außen gerundet.",
    "internal lead": "Was die Geheimhaltung an den Werten dieser Veröffentlichung geändert hat.",
    "confidential": "VERTRAULICH – nur für den internen Gebrauch. Diese Seite zeigt Originalwerte, "
    "Überlagerungen und Parameter des Verfahrens. Sie darf weder veröffentlicht noch "
    "weitergegeben werden.",
    "summary": "Auf einen Blick",
    "tables": "Tabellen",
    "cells": "Felder",
    "complete": "Vollständig gezeigt",
    "thinned": "Teile gesperrt",
    "blocked": "Ganz gesperrt",
    "statements": "Aussagen",
    "no statements": "Es gibt zu wenige Felder für Aussagen, die nichts verraten.",
    "shown": "Vollständig gezeigte Tabellen nach der feinsten Ebene jedes Merkmals",
    "level": "Merkmal: feinste Ebene",
    "software": "Software",
    "noise": "Überlagerung der Fallzahlen",
    "noise value": "Überlagerung",
    "share": "Anteil",
    "by size": "Mittlere absolute Abweichung nach Größe des Originalwerts",
    "relative by size": "Mittlerer relativer Fehler nach Größe des Originalwerts",
    "original": "Originalwert",
    "by depth": "Mittlere absolute Abweichung nach Tabellenteil",
    "depth": "Gegliederte Merkmale",
    "mad": "Mittl. abs. Abweichung",
    "bias": "Mittl. Abweichung",
    "relative": "Mittl. rel. Fehler",
    "unchanged": "Unverändert",
    "at_most_1": "Höchstens ±1",
    "at_least_3": "3 oder mehr",
    "at_least_4": "4 oder mehr",
    "deviation": "Relative Abweichung der übrigen Kennzahlen",
    "deviation class": "Abweichung",
    "kind": "Art der Kennzahl",
    "brackets": "Geklammerte Werte",
    "bracketed": "Geklammert",
    "shown figures": "Gezeigte Werte",
    "sums": "Summen und die Summe ihrer Teile",
    "compared": "Verglichene Summen",
    "differing": "Mit Abweichung",
    "mean difference": "Mittl. |Abweichung|",
    "largest": "Größte |Abweichung|",
    "aside": "Nicht bewertete Felder und Nullen",
    "suppressed": "Besetzte Felder, gesperrt",
    "official": "Amtliche Felder",
    "changed_to_zero": "Auf null geändert",
    "zeros_changed": "Geänderte Nullen",
    "suppressed cells": "Gesperrte Felder der veröffentlichten Tabellen",
    "reasons": "Gründe für gesperrte Tabellenteile",
    "reason": "Grund",
    "parts": "Teile",
    "each table": "Jede Tabelle",
    "table": "Tabelle",
    "state": "Gezeigte Teile",
    "kind count": "Fallzahlen",
    "kind sum": "Summen",
    "kind mean": "Mittelwerte",
    "kind share": "Anteile",
    "kind ratio": "Verhältniszahlen",
    "kind per_thousand": "Promilleraten",
    "kind change": "Veränderungsraten",
    "kind balance": "Salden",
    "kind index": "Indizes",
}

_WORDS: Mapping[str, Words] = {"en": _ENGLISH, "de": _GERMAN}

#: Languages in which there are pages about quality.
LANGUAGES = tuple(_WORDS)


def words(language: str) -> Words:
    """The words of a language.

    >>> words("de")["tables"]
    'Tabellen'
    """
    if language not in _WORDS:
        raise PublicationError(
            f"there are no words about quality in language {language!r}",
            code="language",
            where="languages",
            hint=f"languages: {', '.join(LANGUAGES)}",
        )
    return _WORDS[language]
