"""`thinned_flows`: origin–destination tables without flows of few.

In: a `ProtectedTable` spanned by two classifications with common codes, such as place of residence
and place of work. Out: the same, in which flows between different areas that are shown with fewer
than a minimum are hidden, or merged per origin. Public on both sides: protected counts alone
decide, so a hidden flow discloses nothing but that its protected count is small. Totals and flows
within an area stay: they are cells of the tables by one of the variables, or of a filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.arrays import BoolArray, IntArray, PositionArray
from discreet.classifications import Classification
from discreet.errors import TableError
from discreet.files import texts_of
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable

#: The code of destinations that are merged.
OTHERS = "others"
_PACKAGE, _LANGUAGES = "discreet.derived", ("en", "de")


def thinned_flows(
    table: ProtectedTable,
    origin: str,
    destination: str,
    least: int,
    then: Literal["hide", "merge"] = "hide",
    *,
    fixed: Mapping[str, tuple[Classification, Sequence[str]]] | None = None,
) -> ProtectedTable:
    """An origin–destination table without flows of few.

    Args:
        table: A protected table of counts, spanned by both.
        origin: The variable of origins.
        destination: That of destinations, with codes of the same areas.
        least: Flows between areas with fewer protected counts are not shown.
        then: "hide" suppresses them; "merge" adds up those to the finest destinations as "others",
            per origin, and suppresses the rest.
        fixed: Of a variable that filters the table and does not span it, its classification and
            the codes that are let through.

    >>> from discreet.derived.examples import commuters
    >>> thinned_flows(commuters, "home", "work", 10).get(home="A", work="B") is None
    True
    >>> thinned_flows(commuters, "home", "work", 10, "merge").get(home="A", work="others")
    21
    """
    if table.figures and (len(table.figures) > 1 or table.figures[0].kind != "count"):
        raise _refused("flows need a table of counts alone", table.name, "remove its figures")
    names = [dimension.name for dimension in table.spanning]
    ends = []
    for name, where in ((origin, "origin"), (destination, "destination")):
        if name in (fixed or {}):
            tree, codes = (fixed or {})[name]
            ends.append(_FlowEnd(tree, np.array([[tree.index[code]] for code in codes])))
        elif name in names:
            dimension = table.dimensions[names.index(name)]
            if len(dimension.classifications) > 1:
                raise _refused(f"{name} has several classifications", where)
            ends.append(
                _FlowEnd(dimension.classifications[0], table.index[names.index(name)][None, :])
            )
        else:
            raise _refused(f"{name!r} is not a spanning variable", where, f"by: {', '.join(names)}")
    if not set(ends[0].tree.codes[1:]) & set(ends[1].tree.codes[1:]):
        raise _refused(f"{origin} and {destination} have no common areas", "destination")
    small = ~_internal(*ends) & (table.value < least) & (table.value > 0)
    small &= table.status != CellStatus.official
    status = np.where(small, np.int8(CellStatus.suppressed), table.status).astype(np.int8)
    texts = {language: texts_of(_PACKAGE, "flow", language)[then].format(least=least)
             for language in _LANGUAGES}  # fmt: skip
    thinned = replace(table, status=status, notes=(*table.notes, Note("flows", texts)))
    return (
        thinned
        if then == "hide"
        else _merged(table, thinned, small, names.index(destination), least)
    )


class _FlowEnd(NamedTuple):
    """Origins or destinations of the cells of a table."""

    tree: Classification
    places: IntArray | PositionArray  # per code that is let through, the code of each cell


def _internal(one: _FlowEnd, other: _FlowEnd) -> BoolArray:
    """Which cells are totals, or have an origin and a destination one of which is in the other."""
    found = np.zeros(np.broadcast_shapes(one.places.shape[1:], other.places.shape[1:]), np.bool_)
    for here, there in product(one.places, other.places):
        found |= (here == 0) | (there == 0)
        for first, second, lower, upper in (
            (one.tree, other.tree, here, there),
            (other.tree, one.tree, there, here),
        ):
            place = np.array([second.index.get(code, -1) for code in first.codes])
            parents = np.maximum(np.array(first.parents), 0)
            above = lower
            while above.any():  # each code and those above it, but for the total
                found |= np.where(above > 0, place[above], -1) == upper
                above = parents[above]
    return found


def _merged(
    table: ProtectedTable, thinned: ProtectedTable, small: BoolArray, end: int, least: int
) -> ProtectedTable:
    """The table with a destination more, for flows of few to the finest ones."""
    dimension = table.dimensions[end]
    tree = dimension.classifications[0]
    if OTHERS in tree.index:
        raise _refused(f"{OTHERS!r} is a code already", dimension.name)
    labels = {language: texts_of(_PACKAGE, "flow", language)[OTHERS] for language in _LANGUAGES}
    wider = tree.replace(
        codes=(*tree.codes, OTHERS),
        parents=(*tree.parents, 0),
        labels={**tree.labels, OTHERS: labels},
    )
    finest = small & dimension.is_leaf[table.index[end]]
    rest = [part[finest] for at, part in enumerate(table.index) if at != end]
    groups, which = np.unique(np.stack([*rest]), axis=1, return_inverse=True)
    value = np.zeros(groups.shape[1], dtype=table.value.dtype)
    np.add.at(value, which.ravel(), table.value[finest])
    index: list[PositionArray] = []
    others = iter(groups)
    for at, part in enumerate(thinned.index):
        more = np.full(len(value), len(tree)) if at == end else next(others)
        index.append(np.concatenate([part, more]).astype(np.int32))
    status = np.where(value < least, CellStatus.suppressed, CellStatus.published).astype(np.int8)
    dimensions: list[Any] = list(table.dimensions)
    dimensions[end] = Dimension(classifications=(wider,), name=dimension.name)
    return replace(
        thinned,
        dimensions=tuple(dimensions),
        index=tuple(index),
        value=np.concatenate([thinned.value, value]),
        status=np.concatenate([thinned.status, status]),
    )


def _refused(what: str, where: str, hint: str = "") -> TableError:
    return TableError(what, code="flows", where=where, hint=hint)
