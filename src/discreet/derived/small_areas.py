"""`available_areas`: a table of areas without those that are too small for it.

In: a `ProtectedTable` spanned by areas, and the protected sizes of these. Out: the same, in which
all cells of small areas are suppressed, zeros too. Public on both sides: sizes of areas decide, as
they are published, and never a cell of the table; so which areas are left out discloses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from discreet.arrays import CellIndex
from discreet.classifications import Classification
from discreet.errors import TableError
from discreet.files import texts_of
from discreet.tables import CellStatus, Note, ProtectedTable, lacks_number

_PACKAGE, _LANGUAGES = "discreet.derived", ("en", "de")
_NAMED = 8


def available_areas(table: ProtectedTable, area: str, least: int) -> ProtectedTable:
    """A table without the areas whose protected total is below a minimum.

    Args:
        table: A protected table of counts, with the totals of all other variables.
        area: The variable of areas.
        least: The smallest protected total of an area that is shown. Where one area alone would be
            left out of a larger one, the next smallest is left out with it.

    >>> from discreet.derived.examples import commuters
    >>> small = available_areas(commuters, "home", 120)
    >>> [small.get(home=home, work="A") for home in ("A", "C", "D")]
    [99, None, None]
    """
    names = [dimension.name for dimension in table.spanning]
    if area not in names:
        message, hint = f"{area!r} is not a spanning variable", f"by: {', '.join(names)}"
        raise TableError(message, code="areas", where="area", hint=hint)
    if table.figures and (len(table.figures) > 1 or table.figures[0].kind != "count"):
        message, hint = "sizes of areas need a table of counts alone", "remove its figures"
        raise TableError(message, code="areas", where=table.name, hint=hint)
    dimension = table.dimensions[names.index(area)]
    if len(dimension.classifications) > 1:
        message = f"{area} has several classifications"
        raise TableError(message, code="areas", where="area")
    left = left_out(dimension.classifications[0], area_sizes(table, area), least)
    return without_areas(table, area, left, least)


def area_sizes(table: ProtectedTable, area: str) -> dict[str, int]:
    """The published totals of areas that have one, by their codes."""
    names = [dimension.name for dimension in table.dimensions]
    at = names.index(area)
    total = ~lacks_number(table.status)
    for other, part in enumerate(table.index):
        total &= (part > 0) if other == at else (part == 0)
    codes = table.dimensions[at].codes
    places, values = table.index[at][total].tolist(), table.value[total].tolist()
    return {codes[place]: int(value) for place, value in zip(places, values, strict=True)}


def left_out(tree: Classification, sizes: Mapping[str, int], least: int) -> frozenset[str]:
    """The areas that are too small, with all below them.

    A single one could be computed as the rest of the area above: the next smallest goes with it.
    Empty areas are known to be empty, and stay.

    >>> tree = Classification.from_parents("a", {"N": None, "N1": "N", "N2": "N", "N3": "N"})
    >>> sorted(left_out(tree, {"N": 210, "N1": 30, "N2": 80, "N3": 100}, 50))
    ['N1', 'N2']
    """
    left = np.zeros(len(tree), dtype=np.bool_)
    children: dict[int, list[int]] = {}
    for at, above in enumerate(tree.parents[1:], start=1):
        children.setdefault(above, []).append(at)
    for above in sorted(children):  # parents stand before their children
        there = [at for at in children[above] if sizes.get(tree.codes[at], 0) > 0]
        there.sort(key=lambda at: (sizes[tree.codes[at]], tree.codes[at]))
        small = sum(sizes[tree.codes[at]] < least for at in there)
        left[there[: 2 if small == 1 else small]] = True
        left[children[above]] |= left[above]
    return frozenset(np.array(tree.codes)[left].tolist())


def without_areas(
    table: ProtectedTable, area: str | None, codes: Collection[str], least: int
) -> ProtectedTable:
    """A table in which all cells of some areas are suppressed; of all it has if none is named."""
    names = [dimension.name for dimension in table.dimensions]
    at = None if area is None else names.index(area)
    shown = [code for code in codes if at is None or code in table.dimensions[at].index]
    if not shown:
        return table
    wanted = [np.arange(len(dimension), dtype=np.int32) for dimension in table.dimensions]
    if at is not None:
        wanted[at] = np.array(sorted(table.dimensions[at].index[c] for c in shown), dtype=np.int32)
    grid = np.meshgrid(*wanted, indexing="ij") if wanted else []
    index = tuple(part.ravel() for part in grid)
    length = int(np.prod([len(part) for part in wanted]))
    known = table.known(index, length)
    index = tuple(part[known] for part in index)
    hidden = np.full(int(known.sum()), CellStatus.suppressed, dtype=np.int8)
    cells = CellIndex.of(table.dimensions)
    kept = cells.find(index, table.index, (len(hidden), table.stored)) < 0
    texts = {}
    for language in _LANGUAGES:
        words = texts_of(_PACKAGE, "areas", language)
        labels = sorted(shown)[:_NAMED]
        if at is not None:
            named = table.dimensions[at].labels(language)
            labels = [named[table.dimensions[at].index[code]] for code in labels]
        more = [words["more"].format(len(shown) - _NAMED)] if len(shown) > _NAMED else []
        texts[language] = words["left out"].format(least=least, areas=", ".join([*labels, *more]))
    return replace(
        table,
        index=tuple(
            np.concatenate([own[kept], part]) for own, part in zip(table.index, index, strict=True)
        ),
        value=np.concatenate([table.value[kept], np.zeros(len(hidden), dtype=table.value.dtype)]),
        status=np.concatenate([table.status[kept], hidden]),
        notes=(*table.notes, Note("areas-left-out", texts)),
    )
