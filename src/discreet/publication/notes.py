"""Notes printed with a table: its own, its suppressed parts, how far it adds up.

In: `ProtectedTable`. Out: notes in a language. Public: every number here is a published
value or a sum of published values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray
from discreet.publication.layout import whole_notes
from discreet.publication.notation import number_text
from discreet.publication.vocabulary import LANGUAGES, only_total, words
from discreet.tables import CellStatus, Dimension, Figure, Note, Parts, ProtectedTable

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
    given = dimension.classifications[0].level_names
    return _level_name(given, level, dimension.title(language), language)


def _level_name(given: Sequence[str], level: int, title: str, language: str) -> str:
    """A variable and one of its several levels."""
    text, given = words(language), given[level - 1 : level]
    where = given[0] if given else text.level.format(level=level)
    return text.add_level.format(name=title, level=where)


#: Kind of the note with the published figures that do not add up.
FIGURES = "non-additivity-figures"

_GENERAL = "non-additivity"

#: Every file of a table prints the same note; it is forgotten with the table.
_KNOWN: MutableMapping[ProtectedTable, Note | None] = WeakKeyDictionary()

#: Positions, values and states of cells.
_CellArrays = tuple[tuple[npt.NDArray[np.int32], ...], npt.NDArray[Any], npt.NDArray[np.int8]]


def printed_notes(table: ProtectedTable) -> tuple[Note, ...]:
    """The notes of a table; its suppressed parts; the figures that do not add up."""
    own = [note for note in table.notes if note.kind != FIGURES]
    made = [suppressed_parts_note(table), non_additivity(table)]
    return (*own, *whole_notes(table), *(note for note in made if note is not None))


def unlisted_text(table: ProtectedTable, language: str) -> str:
    """What the cells are that a sparse file does not list."""
    text = words(language)
    summed = [figure.summed for figure in table.figures] or [True]
    kinds = [text.unlisted_zero] if all(summed) else []
    if not all(summed):
        zeros = [f for f in table.figures if f.summed]
        kinds += [f"{text.unlisted_zero} ({_titles(zeros, language)})"] if zeros else []
        none = [f for f in table.figures if not f.summed]
        kinds.append(f"{text.unlisted_none} ({_titles(none, language)})")
    if table.suppressed_parts:
        kinds.append(text.unlisted_suppressed)
    return text.unlisted.format(kinds="; ".join(kinds))


def _titles(figures: Iterable[Figure], language: str) -> str:
    return ", ".join(figure.title(language) for figure in figures)


def non_additivity(table: ProtectedTable) -> Note | None:
    """What the parts of the grand total add up to, where that is not the grand total.

    For each spanning variable and level, the published values of that level are
    added with all other variables at their total; then the innermost cells. Parts
    with a suppressed cell have no sum. None if all sums agree, or some codes were chosen.

    Counts are looked at; sums and weighted counts only if the table carries a note of
    kind "non-additivity"; means, shares and other figures need not add up.
    """
    if table not in _KNOWN:
        whole = table.spanning and not any(item.chosen for item in table.spanning)
        _KNOWN[table] = _figures_note(table) if whole else None
    return _KNOWN[table]


def _figures_note(table: ProtectedTable) -> Note | None:
    noted = any(note.kind == _GENERAL for note in table.notes)
    texts: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for figure, part in _additive(table, noted):
        total, values = _sums(part)
        for language in LANGUAGES:
            sums = list(_differences(part, total, values, language))
            if sums:
                whole = number_text(total or 0, part.decimals, language)
                said = words(language).add_up.format(total=whole, sums=", ".join(sums))
                name = f"{figure.title(language)}: " if figure and table.several_figures else ""
                texts[language].append(name + said)
    if not texts[LANGUAGES[0]]:
        return None
    return Note(FIGURES, {language: " ".join(said) for language, said in texts.items()})


def _additive(table: ProtectedTable, noted: bool) -> Iterator[tuple[Figure | None, ProtectedTable]]:
    """The figures whose parts should add up, each as a table of its own."""
    if not table.figures:
        if noted or table.value.dtype.kind == "i":
            yield None, table
        return
    for at, figure in enumerate(table.figures):
        if figure.kind == "count" or (noted and figure.kind == "sum"):
            yield figure, _alone(table, at)


def _alone(table: ProtectedTable, at: int) -> ProtectedTable:
    """One figure of a table, without the dimension of the figures."""
    decimals = table.figures[at].decimals
    if not table.several_figures:
        return replace(table, figures=(), decimals=decimals, cell_notes=())
    mask = table.index[-1] == at
    value: Any = table.value[mask]
    if decimals == 0 and bool((value == np.rint(value)).all()):
        value = value.astype(np.int64)
    number = 1 if at == 0 else 0  # in the dimension of figures, the first stands as the total
    return replace(
        table,
        dimensions=table.spanning,
        index=tuple(part[mask] for part in table.index[:-1]),
        value=value,
        status=table.status[mask],
        parts=_narrowed(table.parts, number),
        suppressed_parts=_narrowed(table.suppressed_parts, number) or frozenset(),
        figures=(),
        decimals=decimals,
        cell_notes=(),
    )


def _narrowed(parts: Parts | None, number: int) -> Parts | None:
    """The parts of one figure, without the dimension of the figures."""
    if parts is None:
        return None
    return frozenset(part[:-1] for part in parts if part[-1] == number)


def _sums(table: ProtectedTable) -> tuple[int | float | None, list[int | float | None]]:
    """The grand total, and the sum of each part of it; None where there is no sum."""
    margins = _margins(table)
    total = _sum(table, [only_total(dimension) for dimension in table.dimensions], margins)
    if total is None:
        return None, []
    every = (table.index, table.value, table.status)
    one_way = [_sum(table, codes, margins) for _, codes in _one_way(table, LANGUAGES[0])]
    inner = [_sum(table, codes, every) for _, codes in _inner(table, LANGUAGES[0])]
    return total, one_way + inner


def _margins(table: ProtectedTable) -> _CellArrays:
    """The cells with all variables at their total, or all but one."""
    broken_down = np.zeros(table.stored, dtype=np.int8)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        broken_down += (dimension.levels > 0).astype(np.int8)[part]
    here = np.flatnonzero(broken_down <= 1)
    return tuple(part[here] for part in table.index), table.value[here], table.status[here]


def _differences(
    table: ProtectedTable,
    total: int | float | None,
    values: Sequence[int | float | None],
    language: str,
) -> Iterator[str]:
    """Each sum that differs from the grand total, with the name of its part."""
    if total is None:
        return
    text = words(language)
    printed = number_text(total, table.decimals, language)
    parts = itertools.chain(_one_way(table, language), _inner(table, language))
    for (name, _), value in zip(parts, values, strict=True):
        if value is None:
            continue
        shown = number_text(value, table.decimals, language)
        if shown != printed:
            yield text.add_by.format(sum=shown, name=name)


def _one_way(table: ProtectedTable, language: str) -> Iterator[tuple[str, list[BoolArray]]]:
    """The ways to split the grand total by one variable at one level."""
    at_total = [only_total(dimension) for dimension in table.dimensions]
    for at, dimension in enumerate(table.dimensions):
        for name, codes in _cuts(dimension, language):
            yield name, [*at_total[:at], codes, *at_total[at + 1 :]]


def _cuts(dimension: Dimension, language: str) -> Iterator[tuple[str, BoolArray]]:
    """The codes of each level that together make up the total.

    Branches that end above a level are part of it with their last code.
    """
    several = len(dimension.classifications) > 1
    for tree, classification in enumerate(dimension.classifications):
        own = (dimension.breakdown == tree) & (dimension.levels > 0)
        title = classification.title(language) if several else dimension.title(language)
        for level in range(1, classification.depth + 1):
            short = dimension.is_leaf & (dimension.levels < level)
            name = _level_name(classification.level_names, level, title, language)
            yield (
                title if classification.depth == 1 else name,
                own & ((dimension.levels == level) | short),
            )


def _inner(table: ProtectedTable, language: str) -> Iterator[tuple[str, list[BoolArray]]]:
    """The innermost cells; once for each way to choose among breakdowns that do not nest.

    With one variable they are those of its finest level, which are looked at already.
    """
    if len(table.dimensions) < 2:
        return
    choices = [range(len(dimension.classifications)) for dimension in table.dimensions]
    for chosen in itertools.product(*choices):
        codes, names = [], [words(language).add_inner]
        for dimension, tree in zip(table.dimensions, chosen, strict=True):
            codes.append(dimension.is_leaf & (dimension.breakdown == tree))
            if len(dimension.classifications) > 1:
                names.append(dimension.classifications[tree].title(language))
        yield ", ".join(names), codes


def _sum(
    table: ProtectedTable, codes: Sequence[BoolArray], cells: _CellArrays
) -> int | float | None:
    """The sum of published values; None if one of them is suppressed or unknown."""
    if _lacks(table, codes):
        return None
    index, values, status = cells
    mask = np.ones(len(values), dtype=np.bool_)
    for part, wanted in zip(index, codes, strict=True):
        mask &= wanted[part]
    if bool((status[mask] == CellStatus.suppressed).any()):
        return None
    value = values[mask]
    # fsum is exact, so the order of the cells does not matter.
    return int(value.sum()) if value.dtype.kind == "i" else math.fsum(value.tolist())


def _lacks(table: ProtectedTable, codes: Sequence[BoolArray]) -> bool:
    """Whether some of these cells lie on suppressed parts, or on parts the table lacks."""
    if table.parts is None and not table.suppressed_parts:
        return False
    # One code stands for all of its level: parts are made of levels.
    each = [_one_per_level(d, wanted) for d, wanted in zip(table.dimensions, codes, strict=True)]
    grid = np.meshgrid(*each, indexing="ij")
    index = [part.ravel().astype(np.int32) for part in grid]
    size = len(index[0])
    suppressed = table.absent(index, size) == CellStatus.suppressed
    return bool(suppressed.any() or not table.known(index, size).all())


def _one_per_level(dimension: Dimension, wanted: BoolArray) -> npt.NDArray[np.int64]:
    shown = np.flatnonzero(wanted)
    kinds = np.where(dimension.is_leaf, -1, dimension.levels)[shown]
    return shown[np.unique(kinds, return_index=True)[1]]
