"""The words of decisions on table parts, in English and German.

In: codes and names. Out: texts. No true value and no threshold stands in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_LanguageTexts = Mapping[str, str]

_REASONS: Mapping[str, _LanguageTexts] = {
    "small-cells": {
        "en": "too many cells with very few records",
        "de": "zu viele sehr kleine Zellen",
    },
    "unique-units": {
        "en": "too many records alone in their cell",
        "de": "zu viele Einheiten allein in ihrer Zelle",
    },
    "group-disclosure": {
        "en": "too many groups whose records are all alike",
        "de": "zu viele Gruppen, deren Einheiten alle dieselbe Ausprägung haben",
    },
    "empty-cells": {"en": "too many empty cells", "de": "zu viele leere Zellen"},
    "average-size": {
        "en": "too few records per cell on average",
        "de": "zu geringe durchschnittliche Zellbesetzung",
    },
    "relative-error": {
        "en": "too large an expected relative error",
        "de": "zu großer erwarteter relativer Fehler",
    },
}
_OF: Mapping[str, _LanguageTexts] = {
    "table": {"en": "{}", "de": "{}"},
    "universe": {"en": "without the filter: {}", "de": "ohne den Filter: {}"},
    "difference": {
        "en": "among the records that the filter leaves out: {}",
        "de": "unter den Einheiten, die der Filter auslässt: {}",
    },
    "filter": {
        "en": "all or none pass the filter: {}",
        "de": "der Filter trifft auf alle oder keine zu: {}",
    },
}
_ACTIONS: Mapping[str, _LanguageTexts] = {
    "released": {
        "en": "{part}: released",
        "de": "{part}: wird veröffentlicht",
    },
    "suppressed": {
        "en": "{part}: suppressed ({reasons})",
        "de": "{part}: gesperrt ({reasons})",
    },
    "follows": {
        "en": "{part}: released without a check, as the sum of a released part",
        "de": "{part}: wird ohne Prüfung veröffentlicht, als Summe eines veröffentlichten Teils",
    },
}
_OUTCOMES: Mapping[str, _LanguageTexts] = {
    "complete": {
        "en": "Table {table} is released completely.",
        "de": "Tabelle {table} wird vollständig veröffentlicht.",
    },
    "thinned": {
        "en": "Table {table} is released in parts.",
        "de": "Tabelle {table} wird in Teilen veröffentlicht.",
    },
    "blocked": {
        "en": "Table {table} is not released.",
        "de": "Tabelle {table} wird nicht veröffentlicht.",
    },
}
_UNIVERSES: Mapping[str, _LanguageTexts] = {
    "checked": {
        "en": " It was checked with and without its filter.",
        "de": " Sie wurde mit und ohne ihren Filter geprüft.",
    },
    "none": {
        "en": " It was not checked without its filter.",
        "de": " Sie wurde nicht ohne ihren Filter geprüft.",
    },
    "unfiltered": {"en": "", "de": ""},
}
_SUGGEST = {"en": "It would pass {}.", "de": "Sie bestünde {}."}
_DROP = {"en": "without {}", "de": "ohne {}"}
_COARSEN = {"en": "with {}", "de": "mit {}"}
_AND = {"en": " and ", "de": " und "}
_NOTE = {
    "en": "Suppressed parts of the table, shown as “.”: {}.",
    "de": "Gesperrte Tabellenteile, als „.“ ausgewiesen: {}.",
}
_FINER = {
    "en": "{} (each with all finer parts)",
    "de": "{} (jeweils mit allen feineren Teilen)",
}


def reason(code: str, of: str, language: str) -> str:
    """Why a part is suppressed."""
    return _OF[of][language].format(_REASONS[code][language])


def decision(part: str, action: str, reasons: str, language: str) -> str:
    """What becomes of a part."""
    return _ACTIONS[action][language].format(part=part, reasons=reasons)


def headline(table: str, outcome: str, universe: str, language: str) -> str:
    """What becomes of a table."""
    return _OUTCOMES[outcome][language].format(table=table) + _UNIVERSES[universe][language]


def suggestion(changes: Sequence[tuple[str, bool]], language: str) -> str:
    """What to change: names of levels, and whether their variable is dropped.

    >>> suggestion([("sex", True), ("region (state)", False)], "en")
    'It would pass without sex and with region (state).'
    """
    texts = [(_DROP if drop else _COARSEN)[language].format(name) for name, drop in changes]
    return _SUGGEST[language].format(_AND[language].join(texts))


def note(parts: Sequence[str], language: str, *, finer: bool) -> str:
    """The note under a table: which parts are suppressed."""
    listed = "; ".join(parts)
    return _NOTE[language].format(_FINER[language].format(listed) if finer else listed)
