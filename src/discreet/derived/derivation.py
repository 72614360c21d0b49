"""`derive`: key figures from protected figures, side by side in one table.

In: confidential `Ingredient`s. Out: a `ProtectedTable`. Figures are made of protected
values only; originals decide nothing but the sign of balances, and whether a share is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.derived.cells import Cells, Component, components
from discreet.derived.checks import check_arguments, check_codes
from discreet.derived.formulas import Result, combined, shown
from discreet.derived.key_figure import KeyFigure
from discreet.derived.places import Places, joined, spread
from discreet.derived.remarks import cell_notes, notes, provenance
from discreet.derived.rounding import rounded
from discreet.errors import TableError
from discreet.perturbation.ingredient import Ingredient
from discreet.tables import (
    CellStatus,
    Dimension,
    Figure,
    ProtectedTable,
    figure_dimension,
    without_unpublished,
)
from discreet.tables.listing import listed_codes
from discreet.tables.parts import Parts, level_numbers, parts_with_figures, within
from discreet.tables.texts import by_language

__all__ = ["derive"]

FloatArray = npt.NDArray[np.float64]
StatusArray = npt.NDArray[np.int8]

#: Larger whole numbers are not exact as floating-point numbers.
_EXACT = 2.0**53

#: Sums of weights and values agree up to this, relatively.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class _Column:
    """The cells of one figure, ready for publication."""

    figure: Figure
    places: Places
    value: FloatArray
    status: StatusArray

    @property
    def bracketed(self) -> bool:
        """Whether any cell is printed in parentheses; what is rounded to zero is not."""
        return bool(((self.status == CellStatus.bracketed) & (self.value != 0)).any())


def derive(
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    *,
    bracket_above: float | None = 0.15,
    found_codes: Literal["list", "hide"] = "list",
    name: str = "table",
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
) -> ProtectedTable:
    """Compute key figures from protected figures.

    Args:
        ingredients: name → protected figure beside its originals. All have the same
            spanning variables; their filters may differ.
        figures: The figures, in the order of the columns.
        bracket_above: Bracket figures whose expected relative error exceeds this; None
            for no brackets. Counts have none.
        found_codes: "hide" leaves out codes without a figure that only the data tell.
        name: Name of the table.
        titles: language → heading.
        universe: language → who is counted; that of the ingredients if they agree.
        digests: name → keyed digest, added to the provenance.

    >>> import polars as pl
    >>> from discreet import PerturbationTable, Table, derive
    >>> from discreet.perturbation import count_ingredient
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [9, 5, 4], "key": [0.1, 0.9, 0.2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> people = count_ingredient(table, ptable)  # 8, 6, 3
    >>> by_sex = KeyFigure(name="share", kind="share", part="people", over=["sex"])
    >>> derive({"people": people}, [by_sex]).to_polars()["value"].to_list()
    [100.0, 75.0, 37.5]
    """
    check_arguments(ingredients, figures, bracket_above, found_codes)
    visible = [figure for figure in figures if not figure.hidden]
    used = dict.fromkeys(name for figure in visible for name in figure.ingredients)
    known = components({name: ingredients[name] for name in used})
    dimensions = next(iter(known.values())).dimensions
    check_codes(visible, dimensions)
    parts = _parts(known)
    columns = [_column(figure, known, parts, bracket_above) for figure in visible]
    if found_codes == "hide":
        columns = _without_unpublished(columns, known)
    protected = _assembled(
        columns,
        dimensions,
        known,
        parts,
        provenance=provenance(known, digests or {}, {f.name for f in figures if f.hidden}),
        notes=notes(known, bracketed=any(column.bracketed for column in columns)),
        cell_notes=cell_notes(known, several=len(columns) > 1),
        name=name,
        titles=by_language(titles, "titles"),
        universe=_universe(known) if universe is None else by_language(universe, "universe"),
    )
    return without_unpublished(protected) if found_codes == "hide" else protected


# -- one figure ---------------------------------------------------------------


def _column(
    figure: KeyFigure, known: Mapping[str, Component], parts: Parts | None, limit: float | None
) -> _Column:
    made_as = _figure(figure, known)
    if figure.shown:
        component = known[figure.shown]
        places = component.visible
        result = shown(figure.kind, component.at(places))
    else:
        places, result = _compared(figure, known, parts)
    value = rounded(result.value, made_as.decimals)
    return _Column(made_as, places, value, _status(figure, result, limit))


def _compared(
    figure: KeyFigure, known: Mapping[str, Component], parts: Parts | None
) -> tuple[Places, Result]:
    """A figure of two ingredients wherever one of them has anything."""
    part, whole = (known[name] for name in figure.compared)
    to = _fixed(figure, part.dimensions)
    below = whole.visible
    if to:
        # A part that is zero has a share, too, wherever its whole is not.
        fixed = [below.index[axis] == position for axis, position in to.items()]
        below = below.chosen(np.logical_and.reduce(fixed))
        below = spread(part.sizes, below, list(to), figure.name)
        below = below.chosen(within(part.dimensions, below.index, len(below), parts))
    places = joined(part.sizes, [part.visible, below])
    reference = places.moved(to)
    if not bool(within(part.dimensions, reference.index, len(reference), parts).all()):
        raise TableError(
            "the table lacks the totals that this figure is measured against",
            code="no-total",
            where=figure.name,
            hint="hand in the cells of these totals, too",
        )
    above, under = part.at(places), whole.at(reference)
    if figure.kind == "share":
        _check_share(figure.name, above, under)
    same = _one_cell(places, reference) & (part is whole)
    return places, combined(figure.kind, above, under, same, figure.scale)


def _check_share(name: str, above: Cells, under: Cells) -> None:
    """Refuse shares of what is no part: noise may exceed the whole, originals may not.

    Without it, cutting off at 100 would turn wrong figures into plausible ones.
    """
    seen = (above.value > 0) & (under.value > 0)  # the originals of zeros are not known here
    if bool((above.original > under.original * (1 + _SLACK))[seen].any()):
        raise TableError(
            "a share needs a part of its whole, but the original part is the larger one",
            code="no-share",
            where=name,
            hint='check part and whole, or take kind="ratio" with factor=100',
        )


def _one_cell(places: Places, reference: Places) -> npt.NDArray[np.bool_]:
    """Where a cell is compared with itself."""
    same = np.ones(len(places), dtype=np.bool_)
    for own, other in zip(places.index, reference.index, strict=True):
        same &= own == other
    return same


def _fixed(figure: KeyFigure, dimensions: Sequence[Dimension]) -> dict[int, int]:
    """The variables whose code is another below the line, and that code."""
    axes = {dimension.name: axis for axis, dimension in enumerate(dimensions)}
    fixed = {axes[variable]: 0 for variable in figure.over}
    for variable, code in figure.base.items():
        fixed[axes[variable]] = dimensions[axes[variable]].index[code]
    return fixed


def _figure(figure: KeyFigure, known: Mapping[str, Component]) -> Figure:
    """How it is printed; a figure shown as it is takes over what is not said."""
    titles, unit, decimals = dict(figure.titles), figure.units, figure.digits
    for made in known[figure.shown].protected.figures if figure.shown else ():
        titles = titles or dict(made.titles)
        unit = unit or dict(made.unit)
        decimals = made.decimals if figure.decimals is None else decimals
    return Figure(name=figure.name, kind=figure.kind, titles=titles, unit=unit, decimals=decimals)


def _status(figure: KeyFigure, result: Result, limit: float | None) -> StatusArray:
    """What the cells of a figure are; decided before rounding."""
    if figure.bracket_above is not None:
        limit = float(figure.bracket_above)
    elif figure.kind == "count":
        limit = None
    status = np.full(len(result.value), CellStatus.published, dtype=np.int8)
    status[result.official] = CellStatus.official
    if limit is not None:
        status[result.error > limit] = CellStatus.bracketed
    status[~result.numbered] = CellStatus.not_applicable
    status[result.suppressed] = CellStatus.suppressed
    return status


# -- the table ----------------------------------------------------------------


def _assembled(
    columns: Sequence[_Column],
    dimensions: tuple[Dimension, ...],
    known: Mapping[str, Component],
    parts: Parts | None,
    **description: Any,
) -> ProtectedTable:
    """All figures in one table, with a dimension of their own if they are several."""
    index = [
        np.concatenate([column.places.index[axis] for column in columns])
        for axis in range(len(dimensions))
    ]
    suppressed: Parts = frozenset()
    for component in known.values():
        suppressed |= component.protected.suppressed_parts
    figures = tuple(column.figure for column in columns)
    if len(columns) > 1:
        dimensions = (*dimensions, figure_dimension(figures))
        lengths = [len(column.places) for column in columns]
        index.append(np.repeat(np.arange(len(columns)), lengths).astype(np.int32))
        suppressed = parts_with_figures(suppressed, dimensions)
        parts = None if parts is None else parts_with_figures(parts, dimensions)
    value: Any = np.concatenate([column.value for column in columns])
    if all(figure.summed and not figure.decimals for figure in figures):
        value = _whole(value)
    return ProtectedTable(
        dimensions=dimensions,
        index=tuple(index),
        value=value,
        status=np.concatenate([column.status for column in columns]),
        decimals=max(figure.decimals for figure in figures),
        parts=parts,
        suppressed_parts=suppressed,
        figures=figures,
        **description,
    )


def _whole(value: FloatArray) -> FloatArray | npt.NDArray[np.int64]:
    """Figures without decimals as whole numbers, if they are exact."""
    exact = bool((np.abs(value) < _EXACT).all())
    return value.astype(np.int64) if exact else value


def _parts(known: Mapping[str, Component]) -> Parts | None:
    """The table parts that all ingredients have."""
    stated = [part for c in known.values() if (part := c.protected.parts) is not None]
    return frozenset.intersection(*stated) if stated else None


def _universe(known: Mapping[str, Component]) -> dict[str, str]:
    every = [dict(component.protected.universe) for component in known.values()]
    return every[0] if all(universe == every[0] for universe in every) else {}


def _without_unpublished(
    columns: Sequence[_Column], known: Mapping[str, Component]
) -> list[_Column]:
    """Leave out figures on found codes that none of the ingredients has a figure for.

    A zero share is a figure, but its code must not be listed because of it.
    """
    dimensions = next(iter(known.values())).dimensions
    kept = list(columns)
    for axis, dimension in enumerate(dimensions):
        used = [component.visible.index[axis] for component in known.values()]
        hidden = {part[axis] for c in known.values() for part in c.protected.suppressed_parts}
        unknown = np.isin(level_numbers(dimension), sorted(hidden))
        keep = listed_codes(dimension, np.concatenate([*used, np.flatnonzero(unknown)]))
        for at, column in enumerate(kept):
            here = keep[column.places.index[axis]]
            kept[at] = _Column(
                column.figure, column.places.chosen(here), column.value[here], column.status[here]
            )
    return kept
