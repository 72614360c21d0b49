"""`derive`: key figures from protected figures, side by side in one table.

In: confidential `Ingredient`s. Out: a `ProtectedTable`, or a `TableError` that lists every
problem. Figures are made of protected values only; originals decide nothing but the sign of
balances, and whether a share is one. Notes and provenance are taken over from ingredients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from discreet._version import __version__
from discreet.arrays import FloatArray, SmallIntArray
from discreet.confidential import without_values
from discreet.derived.components import (
    CellPlaces,
    Component,
    IngredientCells,
    components,
    joined,
    spread,
)
from discreet.derived.formulas import FigureValues, combined, rounded, shown
from discreet.derived.key_figure import KeyFigure, is_limit
from discreet.errors import Problem, TableError, raise_all
from discreet.tables import (
    FIGURE,
    CellNote,
    CellStatus,
    Dimension,
    Figure,
    Ingredient,
    Note,
    Parts,
    ProtectedTable,
    Provenance,
    by_language,
    correlation,
    figure_dimension,
    level_numbers,
    listed_codes,
    note_of,
    parts_with_figures,
    within,
    without_unpublished,
)

_MOST_PROBLEMS = 10


def check_arguments(ingredients: Any, figures: Any, bracket_above: Any, found_codes: Any) -> None:
    """Refuse what is no ingredient, no figure or no option."""
    problems = list(_type_problems(ingredients, figures))
    if bracket_above is not None and not is_limit(bracket_above):
        problems.append(Problem("bracket_above must be a number of at least 0", "bracket_above"))
    if found_codes not in ("list", "hide"):
        problems.append(Problem('found_codes must be "list" or "hide"', "found_codes"))
    _refuse(problems, "argument")
    _refuse(list(_name_problems(ingredients, figures)), "key-figure")


def check_codes(figures: Sequence[KeyFigure], dimensions: Sequence[Dimension]) -> None:
    """Refuse figures that name variables or codes that the table has not."""
    problems = [problem for figure in figures for problem in _code_problems(figure, dimensions)]
    if len(figures) > 1 and any(dimension.name == FIGURE for dimension in dimensions):
        message = f"a table with several figures cannot have a spanning variable called {FIGURE!r}"
        problems.append(Problem(message, FIGURE))
    _refuse(problems, "key-figure")


def _refuse(problems: Sequence[Problem], code: str) -> None:
    raise_all(
        TableError,
        problems,
        code=code,
        many="{} problems with key figures",
        where="",
        most=_MOST_PROBLEMS,
    )


def _type_problems(ingredients: Any, figures: Any) -> Iterator[Problem]:
    if not isinstance(ingredients, Mapping):
        yield Problem("give ingredients by name", "ingredients", 'such as {"people": …}')
    else:
        for name, ingredient in ingredients.items():
            if not isinstance(ingredient, Ingredient):
                message = f"expected an Ingredient, got a {type(ingredient).__name__}"
                hint = "make it with count_ingredient or magnitude_ingredient"
                yield Problem(message, str(name), hint)
    if not isinstance(figures, Sequence) or isinstance(figures, str):
        yield Problem("expected a list of key figures", "figures")
        return
    for at, figure in enumerate(figures):
        if not isinstance(figure, KeyFigure):
            message = f"expected a KeyFigure, got a {type(figure).__name__}"
            yield Problem(message, f"figures[{at}]")


def _name_problems(
    ingredients: Mapping[str, Ingredient], figures: Sequence[KeyFigure]
) -> Iterator[Problem]:
    if not any(not figure.hidden for figure in figures):
        message = "all figures are hidden" if figures else "no key figure given"
        yield Problem(message, "figures", "a table needs at least one visible figure")
    for name, times in Counter(figure.name for figure in figures).items():
        if times > 1:
            yield Problem(f"{times} figures share this name", name)
    names = {figure.name for figure in figures}
    for figure in figures:
        for name in figure.ingredients:
            if name not in ingredients:
                hint = "key figures are derived from ingredients, not from other figures"
                if name not in names:
                    near = get_close_matches(name, list(ingredients), n=1)
                    known = f"ingredients: {', '.join(ingredients)}" if ingredients else ""
                    hint = f"closest match: {near[0]!r}" if near else known
                yield Problem(f"unknown ingredient {name!r}", figure.name, hint)
        if figure.shown in ingredients:
            listed = ingredients[figure.shown].protected.figures
            kind = listed[0].kind if listed else "count"  # a plain count names no figure
            if figure.kind not in (kind, "sum" if kind == "count" else kind):
                message = f"a {kind} cannot be shown as a {figure.kind}"
                yield Problem(message, figure.name, f'write kind="{kind}"')


def _code_problems(figure: KeyFigure, dimensions: Sequence[Dimension]) -> Iterator[Problem]:
    known = {dimension.name: dimension for dimension in dimensions}
    for variable in (*figure.over, *figure.base):
        if variable not in known:
            hint = f"variables: {', '.join(known)}" if known else ""
            yield Problem(f"variable {variable!r} not found in the table", figure.name, hint)
    for variable, code in figure.base.items():
        if variable in known and code not in known[variable].index:
            yield Problem(f"{variable} has no code {code!r}", figure.name)


BRACKETS = note_of("discreet.derived", "brackets")


def notes(known: Mapping[str, Component], *, bracketed: bool) -> tuple[Note, ...]:
    """The notes of all ingredients, each once, and one on brackets if there are any."""
    listed: list[Note] = []
    for component in known.values():
        listed += [note for note in component.protected.notes if note not in listed]
    if bracketed and all(note.kind != BRACKETS.kind for note in listed):
        listed.append(BRACKETS)
    return tuple(listed)


def cell_notes(known: Mapping[str, Component], *, several: bool) -> tuple[CellNote, ...]:
    """The notes on cells of all ingredients, each once; for all figures of the cell."""
    listed: list[CellNote] = []
    for component in known.values():
        for note in component.protected.cell_notes:
            extended = CellNote((*note.codes, None), note.note) if several else note
            if extended not in listed:
                listed.append(extended)
    return tuple(listed)


def provenance(
    known: Mapping[str, Component],
    digests: Mapping[str, str],
    hidden: Collection[str] = (),
) -> Provenance:
    """One provenance for figures of several tables.

    Each digest is named once. Where several differ, they are named after the first of
    their ingredients that is shown, or numbered. A time is kept if all agree.
    """
    every = {name: component.protected.provenance for name, component in known.items()}
    methods = dict.fromkeys(origin.method for origin in every.values())
    grids = dict.fromkeys(origin.key_grid for origin in every.values() if origin.key_grid)
    times = {origin.time for origin in every.values()}
    named: dict[str, str] = {}
    for kind in dict.fromkeys(kind for origin in every.values() for kind in origin.digests):
        named.update(_named(kind, every, hidden))
    return Provenance(
        version=__version__,
        method=", ".join(methods),
        key_grid=", ".join(grids),
        digests={**named, **digests},
        time=times.pop() if len(times) == 1 else "",
    )


def _named(
    kind: str, every: Mapping[str, Provenance], hidden: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The digests of a kind, each once, under a name."""
    users: dict[str, list[str]] = {}
    for name, origin in every.items():
        if kind in origin.digests:
            users.setdefault(origin.digests[kind], []).append(name)
    for number, (digest, names) in enumerate(users.items(), 1):
        shown = [name for name in names if name not in hidden]
        if len(users) == 1:
            yield kind, digest
        else:
            yield f"{shown[0]}.{kind}" if shown else f"{kind} {number}", digest


#: Larger whole numbers are not exact as floating-point numbers.
_EXACT = 2.0**53

#: Sums of weights and values agree up to this, relatively.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class _Column:
    """The cells of one figure, ready for publication."""

    figure: Figure
    places: CellPlaces
    value: FloatArray
    status: SmallIntArray

    @property
    def bracketed(self) -> bool:
        """Whether any cell is printed in parentheses; what is rounded to zero is not."""
        return bool(((self.status == CellStatus.bracketed) & (self.value != 0)).any())


@without_values
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
    >>> from discreet.protection.noise import count_ingredient
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
    stated = [part for c in known.values() if (part := c.protected.parts) is not None]
    parts = frozenset.intersection(*stated) if stated else None  # those that all have
    columns = [_column(figure, known, parts, bracket_above) for figure in visible]
    if universe is None:
        every = [dict(component.protected.universe) for component in known.values()]
        universe = every[0] if all(own == every[0] for own in every) else {}
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
        universe=by_language(universe, "universe"),
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
) -> tuple[CellPlaces, FigureValues]:
    """A figure of two ingredients wherever one of them has anything."""
    part, whole = (known[name] for name in figure.compared)
    # The variables whose code is another below the line, and that code.
    axes = {dimension.name: axis for axis, dimension in enumerate(part.dimensions)}
    to = {axes[variable]: 0 for variable in figure.over}
    for variable, code in figure.base.items():
        to[axes[variable]] = part.dimensions[axes[variable]].index[code]
    below = whole.visible
    if to:
        # A part that is zero has a share, too, wherever its whole is not.
        fixed = [below.index[axis] == position for axis, position in to.items()]
        below = below.chosen(np.logical_and.reduce(fixed))
        below = spread(part.grid, below, list(to), figure.name)
        below = below.chosen(within(part.dimensions, below.index, len(below), parts))
    places = joined(part.grid, [part.visible, below])
    reference = places.moved(to)
    if not bool(within(part.dimensions, reference.index, len(reference), parts).all()):
        raise TableError(
            "the table lacks the totals of this figure",
            code="no-total",
            where=figure.name,
            hint="include the cells of these totals",
        )
    above, under = part.at(places), whole.at(reference)
    if figure.kind == "share":
        _check_share(figure.name, above, under)
    same = np.full(len(places), part is whole)  # a cell that is compared with itself
    for own, other in zip(places.index, reference.index, strict=True):
        same &= own == other
    together = _together(figure, (part, places), (whole, reference))
    return places, combined(figure.kind, above, under, same, together, figure.scale)


def _together(
    figure: KeyFigure, above: tuple[Component, CellPlaces], under: tuple[Component, CellPlaces]
) -> FloatArray:
    """The correlation of the noise of two figures, for all that is stated of their keys.

    Keys count as the same if the figure says so, or if both come from the same table. Cells
    that merely happen to have the same keys count as independent.
    """
    (part, places), (whole, reference) = above, under
    keys = part.ingredient.keys, whole.ingredient.keys
    stated = figure.shared_key
    if not stated and (part is whole or keys[0] is None or keys[0] is not keys[1]):
        return np.zeros(len(places), dtype=np.float64)
    at = part.stored(places), whole.stored(reference)
    both = np.flatnonzero((at[0] >= 0) & (at[1] >= 0))
    cells = at[0][both], at[1][both]
    one, other = keys
    same = one is not None and other is not None and (one[cells[0]] == other[cells[1]]).all()
    if stated and not same:
        raise TableError(
            "part and whole do not have the same cell keys",
            code="shared-key",
            where=figure.name,
            hint="remove shared_key: their noise is independent",
        )
    together = np.zeros(len(places), dtype=np.float64)
    together[both] = correlation(part.ingredient.draws, whole.ingredient.draws, cells)
    return together


def _check_share(name: str, above: IngredientCells, under: IngredientCells) -> None:
    """Refuse shares of what is no part: noise may exceed the whole, originals may not.

    Without it, cutting off at 100 would turn wrong figures into plausible ones.
    """
    seen = (above.value > 0) & (under.value > 0)  # the originals of zeros are not known here
    if bool((above.original > under.original * (1 + _SLACK))[seen].any()):
        raise TableError(
            "the part of the share is larger than the whole",
            code="no-share",
            where=name,
            hint='check part and whole, or use kind="ratio" with factor=100',
        )


def _figure(figure: KeyFigure, known: Mapping[str, Component]) -> Figure:
    """How it is printed; a figure shown as it is takes over what is not said."""
    titles, unit, decimals = dict(figure.titles), figure.units, figure.digits
    for item in known[figure.shown].protected.figures if figure.shown else ():
        titles = titles or dict(item.titles)
        unit = unit or dict(item.unit)
        decimals = item.decimals if figure.decimals is None else decimals
    return Figure(name=figure.name, kind=figure.kind, titles=titles, unit=unit, decimals=decimals)


def _status(figure: KeyFigure, result: FigureValues, limit: float | None) -> SmallIntArray:
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
    whole = all(figure.summed and not figure.decimals for figure in figures)
    if whole and bool((np.abs(value) < _EXACT).all()):
        value = value.astype(np.int64)
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
