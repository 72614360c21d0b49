"""The words of decisions on table parts, in English and German.

In: codes and names. Out: texts. No true value and no threshold stands in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.files import texts_of


def reason(code: str, of: str, language: str) -> str:
    """Why a part is suppressed."""
    return _texts("of", language)[of].format(_texts("reasons", language)[code])


def decision(part: str, action: str, reasons: str, language: str) -> str:
    """What becomes of a part."""
    return _texts("actions", language)[action].format(part=part, reasons=reasons)


def headline(table: str, outcome: str, universe: str, language: str) -> str:
    """What becomes of a table."""
    sentence = _texts("outcomes", language)[outcome].format(table=table)
    return sentence + _texts("universes", language)[universe]


def suggestion(changes: Sequence[tuple[str, bool]], language: str) -> str:
    """What to change: names of levels, and whether their variable is dropped.

    >>> suggestion([("sex", True), ("region (state)", False)], "en")
    'It would pass without sex and with region (state).'
    """
    text = _texts("phrases", language)
    texts = [text["drop" if drop else "coarsen"].format(name) for name, drop in changes]
    return text["suggest"].format(text["and"].join(texts))


def note(parts: Sequence[str], language: str, *, finer: bool) -> str:
    """The note under a table: which parts are suppressed."""
    text, listed = _texts("phrases", language), "; ".join(parts)
    return text["note"].format(text["finer"].format(listed) if finer else listed)


def areas_hidden(areas: int, language: str) -> str:
    """How many single areas lack parts."""
    return _texts("phrases", language)["areas hidden"].format(areas)


def areas_note(variable: str, language: str) -> str:
    """The note under a table of which single areas lack parts."""
    return _texts("phrases", language)["areas note"].format(variable)


def _texts(section: str, language: str) -> Mapping[str, str]:
    return texts_of("discreet.protection.parts", section, language)
