"""Squares merged until a rule holds: a quadtree of the European grid, and what it needs.

In: a protected table of squares of several nested sizes. Out: `MergedSquares`: squares as small as
the rule allows, of which each record has exactly one. A square is divided while every part of it
in which anybody is shown meets the minimum, so that no square less some of its parts leaves few.

The shape of the tree is a function of protected figures: it tells what these tell, and no more.
A tree of true counts tells on which side of the minimum each true count lies; it is made by
explicit choice only, and is CONFIDENTIAL. Parts without a published figure stay squares of their
own where their square is divided: whether anybody lives there is what the figures leave open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Unpack

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray, find_sorted
from discreet.classifications import (
    EXTENT,
    TOTAL,
    Classification,
    Details,
    read_squares,
    square_codes,
)
from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem, raise_all
from discreet.microdata import like, open_frame, require_columns, require_new
from discreet.record_batches import collected
from discreet.tables import CellStatus, ProtectedTable, Table

#: Stands between an area and a square, and behind a square of which this is what is left.
_IN, _REST = "/", "-rest"
_SHOWN = (CellStatus.published, CellStatus.official, CellStatus.zero_or_changed_to_zero)


class MergedSquaresError(DiscreetError):
    """Tables of which squares cannot be merged."""


@dataclass(frozen=True, repr=False)
class _DividedSquares:
    """Squares of one size, or areas: which are divided, with a rest or not, into which parts."""

    divided: IntArray  # numbers of the divided ones, in order
    rest: BoolArray  # of each, whether parts were put together
    #: Numbers of the parts, one size smaller, that stand beside such a rest, in order
    kept: IntArray


@dataclass(frozen=True, kw_only=True, repr=False)
class MergedSquares:
    """Squares of several sizes that do not overlap; see `merge_squares`.

    Args:
        sizes: Sides in metres, coarsest first.
        areas: The areas within which squares were merged; None without any.
        of_true_counts: Whether the tree tells about true counts: CONFIDENTIAL then.
        tiers: Which squares are divided, areas first.
    """

    sizes: tuple[int, ...]
    areas: tuple[str, ...] | None
    of_true_counts: bool
    tiers: tuple[_DividedSquares, ...]

    def codes(self, squares: Iterable[str], areas: Iterable[str] | None = None) -> list[str]:
        """The merged square in which each of these squares of the smallest size lies.

        Args:
            squares: Their codes.
            areas: The area of each, where there are areas.
        """
        size, north, east = read_squares(squares)
        if (size != self.sizes[-1]).any():
            message = f"records need grid cells of {self.sizes[-1]} m, as in the classification"
            raise MergedSquaresError(message, code="merged-squares", where="squares")
        named, places = None, np.zeros(1, dtype=np.int64)
        if self.areas is not None:
            named = pl.Series(list(() if areas is None else areas), dtype=pl.String)
            known = {code: at for at, code in enumerate(self.areas)}
            # The number of each area; one beyond all for areas that no table had.
            places = np.array([known.get(code, len(known)) for code in named], dtype=np.int64)
        if len(places) not in (1, len(north)):
            message = "each grid cell needs exactly one area"
            raise MergedSquaresError(message, code="merged-squares", where="areas")
        codes = np.full(len(north), "", dtype=np.object_)
        open_, within = np.arange(len(north)), np.broadcast_to(places, len(north))
        for at, tier in enumerate(self.tiers):
            level = at - (self.areas is not None)
            side = self.sizes[level] if level >= 0 else EXTENT
            own = _numbers(side, within[open_], north[open_], east[open_])
            tier_at = find_sorted(tier.divided, own)
            whole = tier_at < 0
            self._name(codes, open_[whole], level, north, east, named)
            rest = np.zeros(len(own), dtype=np.bool_)
            rest[~whole] = tier.rest[tier_at[~whole]]
            below = _numbers(self.sizes[level + 1], within[open_], north[open_], east[open_])
            rest &= find_sorted(tier.kept, below) < 0
            self._name(codes, open_[rest], level, north, east, named, end=_REST)
            open_ = open_[~whole & ~rest]
        self._name(codes, open_, len(self.sizes) - 1, north, east, named)
        return codes.tolist()

    def _name(
        self,
        names: Any,
        which: IntArray,
        level: int,
        north: IntArray,
        east: IntArray,
        named: pl.Series | None,
        *,
        end: str = "",
    ) -> None:
        """Write the codes of these squares at one level, or of their areas."""
        if not len(which):
            return
        prefix = None if named is None else named.gather(which)
        if level < 0 and prefix is not None:
            names[which] = (prefix + end).to_list()
            return
        size = self.sizes[level]
        south, west = north[which] // size * size, east[which] // size * size
        codes = pl.Series(square_codes(size, south, west)) + end
        names[which] = (codes if prefix is None else prefix + _IN + codes).to_list()

    @without_values
    def assign(
        self,
        frame: Any,
        square: str = "square",
        *,
        area: str | None = None,
        column: str = "merged_square",
    ) -> Any:
        """Add the merged square of each record; none where it has no square or no area.

        Args:
            frame: Records: polars, pandas or pyarrow.
            square: Column of their squares of the smallest size.
            area: Column of their areas, where there are areas.
            column: Name of the new column.
        """
        records = open_frame(frame)
        if (area is None) != (self.areas is None):
            message = "records need areas only if grid cells were aggregated within areas"
            raise MergedSquaresError(message, code="merged-squares", where="area")
        names = [square] if area is None else [square, area]
        require_columns(records, names)
        require_new(records, column)
        texts = [nw.col(name).cast(nw.String) for name in names]
        every = collected(records.select(texts).unique()).drop_nulls()
        codes = self.codes(every[square], None if area is None else every[area])
        joint = nw.concat_str(*texts, separator=_IN)  # without a value where one of them has none
        places = every.select(pl.concat_str(names, separator=_IN)).to_series()
        known = dict(zip(places, codes, strict=True))
        there = (~nw.col(name).is_null() for name in names)
        merged = nw.when(nw.all_horizontal(*there, ignore_nulls=False)).then(
            joint.replace_strict(known, default=None, return_dtype=nw.String)
        )
        return like(records.with_columns(merged.alias(column)), frame)

    def classification(
        self, name: str, codes: Iterable[str], *, total: str = TOTAL, **details: Unpack[Details]
    ) -> Classification:
        """The tree of merged squares that occur, below the larger ones that hold them.

        Codes count as found in the data; say ``found="none"`` for a list that is public.

        Args:
            name: Name of the variable.
            codes: Merged squares, as `assign` gives them, in any order.
            total: Code of the total.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.
        """
        leaves = pl.Series("code", list(codes), dtype=pl.String).drop_nulls().unique().sort()
        chain = _chain(leaves, self.sizes, areas=self.areas is not None)
        frame = chain.rename({str(size): f"{size} m" for size in self.sizes})
        details.setdefault("found", "all")
        details.setdefault("column", name)
        return Classification.from_levels(
            frame, columns=frame.columns, name=name, total=total, **details
        )

    def __repr__(self) -> str:
        remark = " (confidential)" if self.of_true_counts else ""
        return f"<MergedSquares{remark}: {' > '.join(map(str, self.sizes))} m>"


def _chain(leaves: pl.Series, sizes: Sequence[int], *, areas: bool) -> pl.DataFrame:
    """Of each merged square the larger ones, coarsest first, then itself; none below it."""
    parts = leaves.to_frame("code").with_columns(
        area=pl.col("code").str.extract(f"^(.*){_IN}", 1) if areas else pl.lit(None, pl.String),
        square=pl.col("code").str.extract(r"(CRS3035RES\d+mN\d+E\d+)(?:-rest)?$", 1),
        rest=pl.col("code").str.ends_with(_REST),
    )
    size, north, east = (np.zeros(len(leaves), dtype=np.int64) for _ in range(3))
    known = parts["square"].is_not_null()
    which = known.arg_true().to_numpy()
    size[which], north[which], east[which] = read_squares(parts["square"].drop_nulls())
    none = pl.lit(None, pl.String)
    columns: dict[str, pl.Series] = {}
    if areas:
        only = pl.col("code").str.strip_suffix(_REST)
        columns["area"] = parts.select(pl.coalesce("area", only)).to_series()
    for side in sizes:
        codes = pl.Series(square_codes(side, north // side * side, east // side * side))
        above = parts.with_columns(own=codes, size=pl.Series(size)).select(
            pl.when((pl.col("size") > 0) & (pl.col("size") <= side))
            .then(pl.concat_str(pl.col("area") + _IN, "own") if areas else pl.col("own"))
            .otherwise(none)
        )
        columns[str(side)] = above.to_series()
    columns["rest"] = parts.select(pl.when("rest").then("code").otherwise(none)).to_series()
    return pl.DataFrame(columns)


def _numbers(size: int, area: IntArray, north: IntArray, east: IntArray) -> IntArray:
    """A number for each square of one size in each area, or for each area."""
    across = -(-EXTENT // size)
    return (area * across + north // size) * across + east // size


@without_values
def merge_squares(
    table: ProtectedTable | Table,
    least: int,
    *,
    also: Sequence[tuple[ProtectedTable | Table, int]] = (),
    least_share: float = 0.0,
    rest: bool = False,
    true_counts: bool = False,
) -> MergedSquares:
    """Merge squares until each of them meets a minimum.

    From the coarsest size on, a square is divided into those of the next size if each of them in
    which anybody is shown has at least `least`. Figures that are not shown meet no minimum. A
    square of the coarsest size, or an area, that does not meet the minimum itself stays as it is.

    Args:
        table: Persons by squares (`Classification.from_squares`, of any sizes that nest); or by
            areas and squares: then squares are merged within each area, and add up to it.
        least: So many each square has at least.
        also: Further tables of the same squares, such as households, with their minimum.
        least_share: Of what is shown for a square, each part has at least this share.
        rest: Put parts that do not meet the minimum together, and divide all the same; such a
            rest has the code of its square and "-rest". Without it, more squares are merged.
        true_counts: Whether tables of true counts are meant. Who sees which squares were merged
            then learns on which side of the minimum true counts lie.

    >>> import discreet as dc
    >>> codes = ["100mN26840E43340", "100mN26840E43341", "100mN26850E43340"]
    >>> tree = Classification.from_squares("square", codes, sizes=[200, 100])
    >>> people = pl.DataFrame({"square": [codes[k] for k in (0, 0, 1, 2, 2)]})
    >>> people = people.with_columns(pl.col("square").replace_strict(
    ...     dict(zip(codes, square_codes(100, *np.array([[2684000, 2684000, 2685000],
    ...                                              [4334000, 4334100, 4334000]]))))))
    >>> merged = merge_squares(dc.tabulate(people, [tree]), 2, true_counts=True)
    >>> sorted(set(merged.assign(people)["merged_square"]))
    ['CRS3035RES100mN2685000E4334000', 'CRS3035RES200mN2684000E4334000']
    """
    wanted = [(table, least), *also]
    _check(wanted, least_share, true_counts)
    grids = [_SquareCells.of(one) for one, _ in wanted]
    for grid in grids[1:]:
        if grid.sizes != grids[0].sizes or (grid.areas is None) != (grids[0].areas is None):
            message = "all tables need grid cells of the same sizes, all with or all without areas"
            raise MergedSquaresError(message, code="merged-squares", where="also")
    sizes, areas = grids[0].sizes, grids[0].areas
    if areas is not None:
        areas = tuple(dict.fromkeys(code for grid in grids for code in grid.areas or ()))
    levels = _levels(grids, areas)
    bounds = np.array([bound for _, bound in wanted], dtype=np.float64)
    tiers = _divided(levels, sizes, bounds, least_share, rest=rest, areas=areas is not None)
    return MergedSquares(sizes=sizes, areas=areas, of_true_counts=true_counts, tiers=tuple(tiers))


def _check(
    wanted: Sequence[tuple[ProtectedTable | Table, int]], share: float, true_counts: bool
) -> None:
    problems = []
    for table, least in wanted:
        value: object = table
        if not isinstance(value, ProtectedTable | Table):
            problems.append(Problem("not a Table", "table", "create it with discreet.tabulate"))
            continue
        if isinstance(table, Table) != true_counts:
            hint = "protect the table first, or add true_counts=True" * isinstance(table, Table)
            message = "true counts need true_counts=True, protected counts do not"
            problems.append(Problem(message, table.name, hint or "remove true_counts"))
        if isinstance(table, ProtectedTable):
            if table.figures:
                problems.append(Problem("grid cells are aggregated by counts", table.name))
            if table.parts is not None or table.suppressed_parts:
                message = "some levels of the table are suppressed"
                hint = "use a table with all levels published"
                problems.append(Problem(message, table.name, hint))
        if not isinstance(least, int) or isinstance(least, bool) or least < 1:
            problems.append(Problem("a minimum must be a whole number of at least 1", "least"))
    if not 0 <= share < 1:
        problems.append(Problem("a share must be at least 0 and below 1", "least_share"))
    raise_all(MergedSquaresError, problems, code="merged-squares")


@dataclass(frozen=True, kw_only=True, repr=False)
class _SquareCells:
    """The cells of a table of squares. CONFIDENTIAL if its counts are."""

    sizes: tuple[int, ...]
    areas: tuple[str, ...] | None
    size: IntArray
    area: IntArray
    north: IntArray
    east: IntArray
    value: FloatArray
    known: BoolArray

    @classmethod
    def of(cls, table: ProtectedTable | Table) -> _SquareCells:
        """Read the codes of a table of squares, or of areas and squares."""
        hint = 'by=[squares], or by=["municipality", squares]'
        if len(table.dimensions) not in (1, 2):
            message = "aggregation needs a table by grid cells, or by areas and grid cells"
            raise MergedSquaresError(message, code="merged-squares", where=table.name, hint=hint)
        squares = table.dimensions[-1]
        (tree, *others) = squares.classifications
        if others:
            message = "aggregation needs one classification of grid cells"
            raise MergedSquaresError(message, code="merged-squares", where=table.name, hint=hint)
        listed = [at for at, code in enumerate(tree.codes) if at and code != tree.missing]
        parts = [np.zeros(len(tree.codes), dtype=np.int64) for _ in range(3)]
        for part, read in zip(parts, read_squares([tree.codes[at] for at in listed]), strict=True):
            part[listed] = read
        sizes = tuple(sorted({*parts[0][listed].tolist()}, reverse=True))
        if len(sizes) < 2 or any(coarse % fine for coarse, fine in pairwise(sizes)):
            message = "grid cells need two or more sizes, each a multiple of the next"
            hint = "Classification.from_squares(…, sizes=[1_600, 800, 400, 200, 100])"
            raise MergedSquaresError(message, code="merged-squares", where=table.name, hint=hint)
        at = table.index[-1]
        chosen, area, areas = parts[0][at] > 0, np.zeros(len(at), dtype=np.int64), None
        if len(table.dimensions) == 2:
            own = table.dimensions[0]
            chosen = (chosen | (at == 0)) & own.is_leaf[table.index[0]]
            area, areas = table.index[0].astype(np.int64), tuple(own.codes)
        if isinstance(table, Table):
            value, known = table.count.astype(np.float64), np.ones(len(at), dtype=np.bool_)
        else:
            value, known = table.value.astype(np.float64), np.isin(table.status, _SHOWN)
        return cls(
            sizes=sizes,
            areas=areas,
            size=parts[0][at][chosen],
            area=area[chosen],
            north=parts[1][at][chosen],
            east=parts[2][at][chosen],
            value=value[chosen],
            known=known[chosen],
        )


@dataclass(frozen=True, repr=False)
class _SquaresOfSize:
    """Squares of one size, or areas: their numbers in order, and a row of figures per table."""

    number: IntArray
    value: FloatArray
    known: BoolArray
    above: IntArray


def _levels(grids: Sequence[_SquareCells], areas: tuple[str, ...] | None) -> list[_SquaresOfSize]:
    """Figures by size, coarsest first; squares that hold listed ones are there, too."""
    sizes = grids[0].sizes
    wanted = [0, *sizes] if areas is not None else list(sizes)
    places = {code: at for at, code in enumerate(areas or ())}
    cells = []
    for grid in grids:
        moved = np.array([places[code] for code in grid.areas or ()], dtype=np.int64)
        area = moved[grid.area] if grid.areas is not None else grid.area
        cells.append((grid, area))
    levels: list[_SquaresOfSize] = []
    below: list[tuple[IntArray, IntArray, IntArray]] = []  # of the next smaller size
    for size in reversed(wanted):
        squares = [
            (area[own], grid.north[own], grid.east[own])
            for grid, area in cells
            for own in [grid.size == size]
        ]
        side = size or EXTENT
        numbers = [_numbers(side, *item) for item in [*squares, *below]]
        every, first = np.unique(np.concatenate(numbers), return_index=True)
        value = np.zeros((len(grids), len(every)))
        known = np.ones((len(grids), len(every)), dtype=np.bool_)
        for row, ((grid, _), own) in enumerate(zip(cells, numbers[: len(grids)], strict=True)):
            at = np.searchsorted(every, own)
            value[row, at] = grid.value[grid.size == size]
            known[row, at] = grid.known[grid.size == size]
        joined = [np.concatenate(part) for part in zip(*squares, *below, strict=True)]
        if levels:
            above = np.searchsorted(every, _numbers(side, *below[0]))
            levels[-1] = replace(levels[-1], above=above)
        levels.append(_SquaresOfSize(every, value, known, np.zeros(0, dtype=np.int64)))
        area, north, east = (part[first] for part in joined)
        below = [(area, north, east)]
    return levels[::-1]


def _divided(
    levels: Sequence[_SquaresOfSize],
    sizes: Sequence[int],
    least: FloatArray,
    share: float,
    *,
    rest: bool,
    areas: bool,
) -> list[_DividedSquares]:
    """From the coarsest size on, which squares are divided."""
    tiers = []
    active = np.ones(len(levels[0].number), dtype=np.bool_)
    for upper, lower in pairwise(levels):
        count, above = len(upper.number), lower.above
        occupied = np.any((lower.value > 0) | ~lower.known, axis=0)
        good = np.all(lower.known & (lower.value >= least[:, None]), axis=0)
        if share:
            whole = np.where(upper.known, upper.value, np.inf)[0][above]
            good &= lower.value[0] >= share * whole
        poor = occupied & ~good
        if rest:
            good, poor = _with_rest(lower, good, poor, least, count)
        few = np.bincount(above[poor], minlength=count) > 0
        some = np.bincount(above[good], minlength=count) > 0
        divided = active & some & (~few | rest)
        with_rest = few[divided]
        stands = divided[above] & (good | ~few[above])
        kept = lower.number[stands & few[above]]
        tiers.append(_DividedSquares(upper.number[divided], with_rest, kept))
        active = stands
    return tiers


def _with_rest(
    lower: _SquaresOfSize, good: BoolArray, poor: BoolArray, least: FloatArray, count: int
) -> tuple[BoolArray, BoolArray]:
    """Of squares with parts that are too small, the smallest others join these until all meet."""
    good, poor, above = good.copy(), poor.copy(), lower.above
    order = np.lexsort((lower.number, lower.value[0], above))
    shown = np.where(lower.known, lower.value, 0.0)
    while True:
        held = np.array([np.bincount(above[poor], row[poor], minlength=count) for row in shown])
        few = np.bincount(above[poor], minlength=count) > 0
        lacking = few & (held < least[:, None]).any(axis=0)
        at = order[good[order] & lacking[above[order]]]
        if not len(at):
            break
        first = np.ones(len(at), dtype=np.bool_)
        first[1:] = np.diff(above[at]) != 0
        good[at[first]], poor[at[first]] = False, True
    good &= ~lacking[above]
    return good, poor
