"""Suppressed table parts in words.

In: `ProtectedTable`. Out: a note that names its suppressed parts, by the levels of
their variables. Public.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.publication.words import LANGUAGES, words
from discreet.tables import Dimension, Note, ProtectedTable
from discreet.tables.figures import Figure

__all__ = ["SUPPRESSED_PARTS", "part_names", "suppressed_parts_note"]

#: Kind of the note that names the suppressed parts.
SUPPRESSED_PARTS = "suppressed-parts"

_FINEST, _TOTAL = 0, 1


def suppressed_parts_note(table: ProtectedTable) -> Note | None:
    """The note on suppressed parts; None if there are none, or a note says it already."""
    if not table.suppressed_parts or any(n.kind == SUPPRESSED_PARTS for n in table.notes):
        return None
    texts = {}
    for language in LANGUAGES:
        names = "; ".join(part_names(table, language))
        texts[language] = words(language).suppressed_parts.format(parts=names)
    return Note(SUPPRESSED_PARTS, texts)


def part_names(table: ProtectedTable, language: str) -> list[str]:
    """The name of each suppressed part; with the figures concerned, if not all are."""
    spanning = table.spanning
    figures: dict[tuple[int, ...], set[int]] = {}
    for part in sorted(table.suppressed_parts):
        figures.setdefault(part[: len(spanning)], set()).update(part[len(spanning) :])
    names = []
    for part, numbers in figures.items():
        name = _name(spanning, part, language)
        titles = [figure.title(language) for figure in _concerned(table, numbers)]
        names.append(f"{name} ({', '.join(titles)})" if titles else name)
    return names


def _concerned(table: ProtectedTable, numbers: Iterable[int]) -> list[Figure]:
    """The figures of a part; none where all figures are concerned."""
    if not table.several_figures or {_FINEST, _TOTAL} <= set(numbers):
        return []
    only_first = _TOTAL in set(numbers)
    return list(table.figures[:1] if only_first else table.figures[1:])


def _name(spanning: Iterable[Dimension], part: Iterable[int], language: str) -> str:
    pairs = zip(spanning, part, strict=True)
    named = [_level(dimension, number, language) for dimension, number in pairs]
    return " × ".join(filter(None, named)) or words(language).no_break


def _level(dimension: Dimension, number: int, language: str) -> str:
    """The level of a variable in a part; empty for the total."""
    depth = int(dimension.levels.max())
    if number == _TOTAL or depth == 0:
        return ""
    level = depth if number == _FINEST else number - 1
    if depth == 1:
        return dimension.title(language)
    text = words(language)
    given = dimension.classifications[0].level_names[level - 1 : level]
    where = given[0] if given else text.level.format(level=level)
    return text.add_level.format(name=dimension.title(language), level=where)
