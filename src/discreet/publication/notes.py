"""Remarks printed with a table: its own, and how far its published figures add up.

In: `ProtectedTable`. Out: notes in a language. Public: every number here is a
published value or a sum of published values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, MutableMapping
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from discreet.publication.notation import number_text
from discreet.publication.words import LANGUAGES, words
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable

__all__ = ["FIGURES", "non_additivity", "printed_notes"]

#: Kind of the note with the published figures that do not add up.
FIGURES = "non-additivity-figures"

_GENERAL = "non-additivity"

#: Every file of a table prints the same note; it is forgotten with the table.
_KNOWN: MutableMapping[ProtectedTable, Note | None] = WeakKeyDictionary()

Mask = npt.NDArray[np.bool_]


def printed_notes(table: ProtectedTable) -> tuple[Note, ...]:
    """The notes of a table and, where its figures do not add up, those figures."""
    own = [note for note in table.notes if note.kind != FIGURES]
    figures = non_additivity(table)
    return tuple(own) if figures is None else (*own, figures)


def non_additivity(table: ProtectedTable) -> Note | None:
    """What the parts of the grand total add up to, where that is not the grand total.

    For each spanning variable and level, the published values of that level are
    added with all other variables at their total; then the innermost cells. Parts
    with a suppressed cell have no sum. None if all sums agree.

    Figures other than counts (shares, means) need not add up: a table of
    non-integers is looked at only if it carries a note of kind "non-additivity".
    """
    counts = table.value.dtype.kind == "i"
    if not table.dimensions or not (counts or any(n.kind == _GENERAL for n in table.notes)):
        return None
    if table not in _KNOWN:
        _KNOWN[table] = _figures_note(table)
    return _KNOWN[table]


def _figures_note(table: ProtectedTable) -> Note | None:
    found = {language: list(_differences(table, language)) for language in LANGUAGES}
    if not found[LANGUAGES[0]]:
        return None
    texts = {}
    for language, sums in found.items():
        total = number_text(_grand_total(table) or 0, table.decimals, language)
        texts[language] = words(language).add_up.format(total=total, sums=", ".join(sums))
    return Note(FIGURES, texts)


def _grand_total(table: ProtectedTable) -> int | float | None:
    return _sum(table, _all(table, [part == 0 for part in table.index]))


def _differences(table: ProtectedTable, language: str) -> Iterator[str]:
    """Each sum that differs from the grand total, with the name of its part."""
    total = _grand_total(table)
    if total is None:
        return
    text = words(language)
    printed = number_text(total, table.decimals, language)
    for name, mask in _parts(table, language):
        value = _sum(table, mask)
        if value is None:
            continue
        shown = number_text(value, table.decimals, language)
        if shown != printed:
            yield text.add_by.format(sum=shown, name=name)


def _parts(table: ProtectedTable, language: str) -> Iterator[tuple[str, Mask]]:
    """The ways to split the grand total: by one variable at one level; by all at once."""
    at_total = [part == 0 for part in table.index]
    for at, dimension in enumerate(table.dimensions):
        others = [mask for k, mask in enumerate(at_total) if k != at]
        for name, codes in _cuts(dimension, language):
            yield name, _all(table, [*others, codes[table.index[at]]])
    if len(table.dimensions) > 1:
        yield from _inner(table, language)


def _cuts(dimension: Dimension, language: str) -> Iterator[tuple[str, Mask]]:
    """The codes of each level that together make up the total.

    Branches that end above a level are part of it with their last code.
    """
    text = words(language)
    several = len(dimension.classifications) > 1
    for tree, classification in enumerate(dimension.classifications):
        own = (dimension.breakdown == tree) & (dimension.levels > 0)
        title = classification.title(language) if several else dimension.title(language)
        for level in range(1, classification.depth + 1):
            named = classification.level_names[level - 1 : level]
            where = named[0] if named else text.level.format(level=level)
            name = text.add_level.format(name=title, level=where)
            short = dimension.is_leaf & (dimension.levels < level)
            yield (
                title if classification.depth == 1 else name,
                own & ((dimension.levels == level) | short),
            )


def _inner(table: ProtectedTable, language: str) -> Iterator[tuple[str, Mask]]:
    """The innermost cells; once for each way to choose among breakdowns that do not nest."""
    choices = [range(len(dimension.classifications)) for dimension in table.dimensions]
    for chosen in itertools.product(*choices):
        masks, names = [], [words(language).add_inner]
        for dimension, part, tree in zip(table.dimensions, table.index, chosen, strict=True):
            leaves = dimension.is_leaf & (dimension.breakdown == tree)
            masks.append(leaves[part])
            if len(dimension.classifications) > 1:
                names.append(dimension.classifications[tree].title(language))
        yield ", ".join(names), _all(table, masks)


def _all(table: ProtectedTable, masks: list[Mask]) -> Mask:
    result = np.ones(table.stored, dtype=np.bool_)
    for mask in masks:
        result &= mask
    return result


def _sum(table: ProtectedTable, mask: Mask) -> int | float | None:
    """The sum of published values; None if one of them is suppressed."""
    if bool((table.status[mask] == CellStatus.suppressed).any()):
        return None
    value = table.value[mask]
    # fsum is exact, so the order of the cells does not matter.
    return int(value.sum()) if value.dtype.kind == "i" else math.fsum(value.tolist())
