"""The labels of a variable, put together once for all files that print them.

In: a spanning variable and a language. Out: a label for each code. Public.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from weakref import WeakKeyDictionary

from discreet.tables import Dimension

__all__ = ["labels_of"]

_KNOWN: MutableMapping[Dimension, dict[str, tuple[str, ...]]] = WeakKeyDictionary()


def labels_of(dimension: Dimension, language: str) -> tuple[str, ...]:
    """The label of each code in a language.

    >>> from discreet.publication.examples import census_example
    >>> labels_of(census_example().dimensions[0], "de")
    ('Insgesamt', 'männlich', 'weiblich')
    """
    known = _KNOWN.setdefault(dimension, {})
    if language not in known:
        known[language] = dimension.labels(language)
    return known[language]
