"""Texts by language: headings, units, who is counted. Public.

In: whatever somebody wrote for a text. Out: language → text, or a `TableError` that says
where which text is missing its language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import TableError

__all__ = ["by_language", "texts_by"]


def by_language(texts: Any, where: str) -> dict[str, str]:
    """Language → text; nothing for None.

    >>> by_language({"en": "Rent", "de": "Miete"}, "titles")
    {'en': 'Rent', 'de': 'Miete'}
    >>> by_language(None, "titles")
    {}
    """
    return texts_by(texts, where, "texts by language are needed", 'such as {"en": …, "de": …}')


def texts_by(texts: Any, where: str, what: str, hint: str) -> dict[str, str]:
    """Name → text, as a dictionary; nothing for None."""
    given = {} if texts is None else texts
    named = isinstance(given, Mapping)
    if not named or not all(isinstance(text, str) for text in (*given, *given.values())):
        raise TableError(what, code="argument", where=where, hint=hint)
    return dict(given)
