"""Titles of answers: what a table shows and whom it counts, in the words of the catalogue.

In: a canonical query and its unit. Out: language → text. Public.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet_service.datasets import CatalogueUnit
from discreet_service.queries.canonical import CanonicalQuery, FilterCodes

_LANGUAGES = ("en", "de")
_BY = {"en": " by ", "de": " nach "}
_MORE = {"en": "and {} more", "de": "und {} weitere"}
_SHOWN = 5


def said_in(texts: Mapping[str, str], language: str, otherwise: str = "") -> str:
    """A text in a language, else in another one, else what is said otherwise.

    >>> said_in({"en": "Persons"}, "de")
    'Persons'
    """
    return texts.get(language) or next(iter(texts.values()), otherwise)


def title_of(query: CanonicalQuery, unit: CatalogueUnit) -> dict[str, str]:
    """The heading of an answer."""
    found = {}
    for language in _LANGUAGES:
        names = [unit.variables[one.variable].tree.title(language) for one in query.by]
        counted = said_in(unit.label, language, unit.name)
        found[language] = counted + (_BY[language] + ", ".join(names) if names else "")
    return found


def universe_of(
    query: CanonicalQuery, unit: CatalogueUnit, usual: Mapping[str, str]
) -> dict[str, str]:
    """Whom an answer counts; nothing for everybody."""
    if not query.where:
        return dict(usual)
    universe = {}
    for language in _LANGUAGES:
        said = [said_in(usual, language)] if usual else []
        said += [_condition(one, unit, language) for one in query.where]
        universe[language] = "; ".join(said)
    return universe


def _condition(one: FilterCodes, unit: CatalogueUnit, language: str) -> str:
    tree = unit.variables[one.variable].tree
    labels = [tree.label(code, language) for code in one.codes[:_SHOWN]]
    if len(one.codes) > _SHOWN:
        labels.append(_MORE[language].format(len(one.codes) - _SHOWN))
    return f"{tree.title(language)}: {', '.join(labels)}"
