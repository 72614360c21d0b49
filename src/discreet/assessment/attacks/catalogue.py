"""What releases tell, put in order: every published count once, and what adds up to what.

In: protected tables by universe, and for assessment their true tables. Out: `Catalogue`: per
universe a `System` of `Layer`s – all cells on one level of some variables, from whatever table
they are – with the steps from each layer to coarser ones. Public, unless true tables were given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.arrays import (
    AnyArray,
    BoolArray,
    CellIndex,
    FloatArray,
    IntArray,
    PositionArray,
    find_sorted,
    quotient,
)
from discreet.errors import TableError
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table, level_numbers

#: A layer's name: per variable in it the number of its axis and the depth, by axis.
LayerKey = tuple[tuple[int, int], ...]


class TrueTable(NamedTuple):
    """A true table and the protected one it belongs to. CONFIDENTIAL."""

    universe: str  # the universe of the protected table
    place: int  # its place among the tables of that universe
    table: Table  # the true table
    figure: str = ""  # the sum that it is the truth of; "" for counts
    column: str = ""  # the value column of that sum


_SHOWN = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


@dataclass(frozen=True, repr=False, eq=False)
class Axis:
    """One classification of a variable as a row of nested cuts.

    Cut k holds the codes of level k, and those that end above it: it divides the universe
    without rest. Cut 0 is the total.
    """

    variable: str  # name of the variable
    name: str  # name of the classification
    codes: tuple[str, ...]  # all codes, the total first
    parents: PositionArray  # position of each code's parent, -1 for the total
    levels: tuple[str, ...] = ()  # names of the levels below the total

    @cached_property
    def depth(self) -> PositionArray:
        """The level of each code; parents stand before their parts."""
        depth = np.zeros(len(self.codes), dtype=np.int32)
        for at, above in enumerate(self.parents.tolist()):
            if above >= 0:
                depth[at] = depth[above] + 1
        return depth

    @cached_property
    def cuts(self) -> tuple[PositionArray, ...]:
        """The codes of each cut."""
        leaf = np.ones(len(self.codes), dtype=np.bool_)
        leaf[self.parents[self.parents >= 0]] = False
        cuts = []
        for k in range(int(self.depth.max()) + 1):
            cut = np.flatnonzero((self.depth == k) | (leaf & (self.depth < k)))
            cuts.append(cut.astype(np.int32))
        return tuple(cuts)

    @cached_property
    def places(self) -> tuple[PositionArray, ...]:
        """Per cut, the number of each code in it; -1 for others."""
        places = []
        for cut in self.cuts:
            place = np.full(len(self.codes), -1, dtype=np.int32)
            place[cut] = np.arange(len(cut))
            places.append(place)
        return tuple(places)

    @cached_property
    def up(self) -> tuple[PositionArray, ...]:
        """Per cut from 1 on, where each of its codes lies in the cut above."""
        parents = [np.zeros(0, dtype=np.int32)]
        for k in range(1, len(self.cuts)):
            cut = self.cuts[k]
            above = np.where(self.depth[cut] == k, self.parents[cut], cut)
            parents.append(self.places[k - 1][above])
        return tuple(parents)

    @cached_property
    def parts(self) -> tuple[IntArray, ...]:
        """Per cut from 1 on, how many of its codes lie in each code of the cut above."""
        parts = [np.zeros(0, dtype=np.int64)]
        for up, above in zip(self.up[1:], self.cuts, strict=False):
            parts += [np.bincount(up, minlength=len(above)).astype(np.int64)]
        return tuple(parts)


@dataclass(repr=False, eq=False)
class Layer:
    """All cells of a universe on one cut of each of some variables.

    Cells that are not listed show zero.
    """

    key: LayerKey  # which variables and cuts
    sizes: tuple[int, ...]  # number of codes of each cut
    ids: IntArray  # the cells, as numbers in the grid of these cuts, ascending
    value: IntArray  # what they show
    shown: BoolArray  # whether they show anything
    official: BoolArray  # whether they are shown as they are, without noise
    tables: list[str]  # the tables that show it
    #: Cells with true counts and these counts, for assessment. CONFIDENTIAL
    true: tuple[IntArray, IntArray] | None = None
    #: Of sums, the two largest contributions to each of these cells. CONFIDENTIAL
    largest: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def grid(self) -> CellIndex:
        """The numbering of its cells."""
        return CellIndex(self.sizes)

    def at(self, ids: IntArray) -> IntArray:
        """Where cells stand in it; -1 for those it does not list."""
        return find_sorted(self.ids, ids)

    def truth(self, ids: IntArray) -> IntArray:
        """The true counts of cells. CONFIDENTIAL."""
        if self.true is None:
            raise TableError("the true counts were not handed in", code="truth", where="attack")
        at = find_sorted(self.true[0], ids)
        return np.where(at >= 0, self.true[1][at], 0).astype(np.int64)


@dataclass(frozen=True, repr=False, eq=False)
class LayerStep:
    """From the cells of a layer to those of the layer one cut coarser in one variable."""

    fine: Layer  # the finer layer
    coarse: Layer  # the coarser one
    whole: IntArray  # per cell of the finer layer, its whole in the coarser
    unlisted: IntArray  # per cell of the coarser layer, how many parts show zero and are not listed


def coarser(ids: IntArray, sizes: Sequence[int], at: int, axis: Axis, cut: int) -> IntArray:
    """The numbers of cells after a variable went up by one cut; its size becomes that cut's."""
    inner = 1
    for size in sizes[at + 1 :]:
        inner *= size
    rest, low = np.divmod(ids, inner)
    high, code = np.divmod(rest, sizes[at])
    numbers: IntArray = (
        high * len(axis.cuts[cut - 1]) + axis.up[cut][code].astype(np.int64)
    ) * inner + low
    return numbers


@dataclass(repr=False, eq=False)
class System:
    """The published counts of one universe."""

    name: str  # the universe
    axes: list[Axis] = field(default_factory=list)  # the classifications of its variables
    means: bool = False  # whether they are means, which do not add up
    layers: dict[LayerKey, Layer] = field(default_factory=dict)  # by key
    contradictions: int = 0  # cells that two tables show with different values, and where first
    contradicting: str = ""
    left_out: list[str] = field(default_factory=list)  # tables or parts that hold no counts
    #: Axes of which tables show some codes side by side, which do not add up to their total
    partial: set[int] = field(default_factory=set)

    def sizes(self, key: LayerKey) -> tuple[int, ...]:
        """Number of codes of each cut of a layer."""
        return tuple(len(self.axes[axis].cuts[cut]) for axis, cut in key)

    def title(self, key: LayerKey) -> str:
        """A layer in words.

        >>> System("persons").title(())
        'total'
        """
        named = []
        for axis, cut in key:
            item = self.axes[axis]
            level = f" {cut}" if len(item.cuts) > 2 else ""
            if level and len(item.levels) == len(item.cuts) - 1:
                level = f" ({item.levels[cut - 1]})"
            named.append(item.name + level)
        return " x ".join(named) or "total"

    def cell_name(self, layer: Layer, cell: int) -> str:
        """A cell by its codes."""
        places = layer.grid.positions(layer.ids[cell : cell + 1])
        named = []
        for (axis, cut), place in zip(layer.key, places, strict=True):
            item = self.axes[axis]
            named.append(f"{item.variable}={item.codes[item.cuts[cut][place[0]]]}")
        return ", ".join(named) or "total"

    def steps(self) -> Iterator[LayerStep]:
        """Each way from a published layer to one that is one cut coarser.

        None leads over codes that tables show side by side: they do not add up.
        """
        for key, fine in self.layers.items():
            for at, (number, cut) in enumerate(key):
                if number in self.partial:
                    continue
                above = (*key[:at], *([(number, cut - 1)] if cut > 1 else []), *key[at + 1 :])
                coarse = self.layers.get(above)
                if coarse is not None:
                    yield self._step(fine, coarse, at)

    def all_steps(self) -> Iterator[LayerStep]:
        """Each way from a published layer to the next coarser ones, the finest layers first.

        The next ones may be several cuts coarser, where none between is published.
        """
        for key in sorted(self.layers, key=lambda each: (-sum(cut for _, cut in each), each)):
            fine = self.layers[key]
            waiting, known = [(key, fine.ids)], {key}
            while waiting:
                own, ids = waiting.pop()
                for at, (number, cut) in enumerate(own):
                    above = (*own[:at], *([(number, cut - 1)] if cut > 1 else []), *own[at + 1 :])
                    if above in known or number in self.partial:
                        continue
                    known.add(above)
                    wholes = coarser(ids, self.sizes(own), at, self.axes[number], cut)
                    coarse = self.layers.get(above)
                    if coarse is None:
                        waiting.append((above, wholes))
                        continue
                    whole = coarse.at(wholes)
                    listed = np.bincount(whole[whole >= 0], minlength=len(coarse))
                    yield LayerStep(fine, coarse, whole, self._parts(key, coarse) - listed)

    def _parts(self, key: LayerKey, coarse: Layer) -> IntArray:
        """How many cells of a finer layer lie in each cell of a coarser one, listed or not."""
        parts = np.ones(len(coarse), dtype=np.int64)
        places = dict(zip(dict(coarse.key), coarse.grid.positions(coarse.ids), strict=True))
        above = dict(coarse.key)
        for number, cut in key:
            up: AnyArray = np.arange(len(self.axes[number].cuts[cut]))
            for finer in range(cut, above.get(number, 0), -1):
                up = self.axes[number].up[finer][up]
            within = np.bincount(up, minlength=len(self.axes[number].cuts[above.get(number, 0)]))
            parts *= within[places[number]] if number in places else int(within[0])
        return parts

    def _step(self, fine: Layer, coarse: Layer, at: int) -> LayerStep:
        number, cut = fine.key[at]
        axis = self.axes[number]
        whole = coarse.at(coarser(fine.ids, fine.sizes, at, axis, cut))
        parts = axis.parts[cut]
        expected = np.full(len(coarse), parts[0], dtype=np.int64)
        if cut > 1:
            place = sum(1 for other, _ in coarse.key if other < number)
            expected = parts[coarse.grid.position(coarse.ids, place)]
        listed = np.bincount(whole[whole >= 0], minlength=len(coarse)).astype(np.int64)
        return LayerStep(fine, coarse, whole, expected - listed)

    def completed(self) -> System:
        """The same with every whole listed that has listed parts: it shows zero."""
        for key in sorted(self.layers, key=lambda each: -sum(cut for _, cut in each)):
            fine = self.layers[key]
            for at, (number, cut) in enumerate(key):
                above = (*key[:at], *([(number, cut - 1)] if cut > 1 else []), *key[at + 1 :])
                if above in self.layers:
                    wholes = coarser(fine.ids, fine.sizes, at, self.axes[number], cut)
                    _list(self.layers[above], wholes)
        return self

    def __repr__(self) -> str:
        return f"<System {self.name}: {len(self.layers):,} layers>"


def _list(layer: Layer, ids: IntArray) -> None:
    """List cells in a layer; new ones show zero."""
    missing = np.setdiff1d(ids, layer.ids)
    if not missing.size:
        return
    size = len(missing)
    order = np.argsort(np.concatenate([layer.ids, missing]), kind="stable")
    zeros = np.zeros(size, dtype=np.int64)
    layer.ids = np.concatenate([layer.ids, missing])[order]
    layer.value = np.concatenate([layer.value, zeros])[order]
    layer.shown = np.concatenate([layer.shown, np.ones(size, dtype=np.bool_)])[order]
    layer.official = np.concatenate([layer.official, np.zeros(size, dtype=np.bool_)])[order]


@dataclass(frozen=True, kw_only=True)
class BareFigures:
    """Figures that tell something by themselves, or beside a count that is not shown."""

    table: str
    figure: str
    whole: int  # number of shares of exactly everything: all records have it
    uncounted: int  # number of figures shown where a count beside them is hidden


@dataclass(frozen=True, repr=False)
class Catalogue:
    """Everything that releases tell of counts and sums."""

    systems: Mapping[str, System]  # the counts, per universe
    #: The sums, per universe and figure, as whole numbers of their last decimal
    values: Mapping[tuple[str, str], System] = field(default_factory=dict)
    bare: Sequence[BareFigures] = ()  # figures that tell by themselves

    @classmethod
    def of(
        cls,
        universes: Mapping[str, Sequence[ProtectedTable]],
        truth: Mapping[str, Sequence[Table | None]] | Iterable[TrueTable] | None = None,
    ) -> Catalogue:
        """The catalogue of tables."""
        axes = _joined_axes([table for tables in universes.values() for table in tables])
        readings: dict[tuple[str, str], _Reading] = {}
        taken: dict[tuple[str, int, str], _Taken | None] = {}
        for name, tables in universes.items():
            readings[name, ""] = _Reading(System(name, axes))
            for place, table in enumerate(tables):
                means = {item.name: item.kind == "mean" for item in table.figures}
                valued = (item.name for item in table.figures if item.kind in ("sum", "mean"))
                for figure in ("", *valued):
                    title = f"{name}: {figure}".removeprefix(": ")
                    system = System(title, axes, means=means.get(figure, False))
                    own = readings.setdefault((name, figure), _Reading(system, figure))
                    if own.system.means != system.means:
                        continue  # sums elsewhere: what has one name is no system with means
                    taken[name, place, figure] = own.take(table)
        if isinstance(truth, Mapping):
            truth = _in_turn(universes, truth)
        for true in truth or ():
            held = taken.get((true.universe, true.place, true.figure))
            if held is not None:
                readings[true.universe, true.figure].hold(held, true.table, true.column)
        for (name, figure), reading in readings.items():
            if not figure:
                named = {table.name for table in universes[name] if _has_sums(table)}
                left_out = [item for item in reading.system.left_out if item not in named]
                reading.system.left_out = left_out
        done = {key: reading.system.completed() for key, reading in readings.items()}
        return cls(
            {name: system for (name, figure), system in done.items() if not figure},
            {key: system for key, system in done.items() if key[1]},
            [item for tables in universes.values() for table in tables for item in _bare(table)],
        )

    def __repr__(self) -> str:
        layers = sum(len(system.layers) for system in self.systems.values())
        return f"<Catalogue: {len(self.systems)} universes, {layers:,} layers>"


def _has_sums(table: ProtectedTable) -> bool:
    return any(figure.kind == "sum" for figure in table.figures)


def _bare(table: ProtectedTable) -> Iterator[BareFigures]:
    """The figures of a table that tell by themselves."""
    if not table.several_figures:
        return
    row = CellIndex(tuple(len(item) for item in table.spanning)).numbers(
        table.index[:-1], len(table.value)
    )
    of, shown = table.index[-1], np.isin(table.status, _SHOWN)
    counts = [at for at, figure in enumerate(table.figures) if figure.kind == "count"]
    hidden = row[(table.status == CellStatus.suppressed) & np.isin(of, counts)]
    for at, figure in enumerate(table.figures):
        if at in counts:
            continue
        own = shown & (of == at)
        whole = _whole(table, own) if figure.kind == "share" else 0
        uncounted = int(np.isin(row[own], hidden).sum())
        if whole or uncounted:
            yield BareFigures(
                table=table.name, figure=figure.name, whole=whole, uncounted=uncounted
            )


def _whole(table: ProtectedTable, own: BoolArray) -> int:
    """The shares of everything; that of a total in itself tells nothing."""
    all_of_it = table.value == 100
    counted = own & all_of_it
    for part in table.index[:-1]:
        total = own & (part == 0)
        if all_of_it[total].all():
            counted &= ~total
    return int(counted.sum())


def _joined_axes(tables: Sequence[ProtectedTable]) -> list[Axis]:
    """The classifications of all tables, the same for all universes; tables leave codes out."""
    axes: dict[tuple[str, str], Axis] = {}
    for table in tables:
        for dimension in table.spanning:
            for tree in dimension.classifications:
                new = Axis(
                    variable=dimension.name,
                    name=tree.name,
                    codes=tree.codes,
                    parents=np.asarray(tree.parents, dtype=np.int32),
                    levels=tuple(tree.level_names),
                )
                old = axes.setdefault((dimension.name, tree.name), new)
                if old.codes != new.codes:
                    axes[dimension.name, tree.name] = _joined(old, new)
    return [axes[name] for name in sorted(axes)]


def _in_turn(
    universes: Mapping[str, Sequence[ProtectedTable]],
    truth: Mapping[str, Sequence[Table | None]],
) -> Iterator[TrueTable]:
    for name, tables in universes.items():
        own = truth.get(name, [None] * len(tables))
        for place, (_, true) in enumerate(zip(tables, own, strict=True)):
            if true is not None:
                yield TrueTable(name, place, true)
                for figure in tables[place].figures:
                    if figure.kind in ("sum", "mean") and figure.name in true.contributions:
                        yield TrueTable(name, place, true, figure.name, figure.name)


class _Reading:
    """Tables on their way into a system: their counts, or one of their sums."""

    def __init__(self, system: System, figure: str = "") -> None:
        self.system, self.figure = system, figure
        self.known = {(axis.variable, axis.name): at for at, axis in enumerate(system.axes)}

    def take(self, safe: ProtectedTable) -> _Taken | None:
        """Put its layers into the system; None if it holds no such figure."""
        counts = sum_cells(safe, self.figure) if self.figure else count_cells(safe)
        if counts is None:
            self.system.left_out.append(safe.name)
            return None
        index, value, status = counts
        dimensions = safe.spanning
        options = [self._options(dimension) for dimension in dimensions]
        shown = np.isin(status, [*_SHOWN, CellStatus.zero_or_changed_to_zero])
        cells = _ShownCells(
            value=value.astype(np.int64), shown=shown, official=status == CellStatus.official
        )
        by_choice = dict(_by_layer(options, index, len(value)))
        layers = {}
        for chosen in itertools.product(*(range(len(option)) for option in options)):
            if self._complete(safe, options, chosen):
                layer = self._layer(options, chosen, cells, by_choice.get(chosen))
                self._put(safe.name, layer)
                layers[chosen] = layer.key
        return _Taken(dimensions, options, layers, 10 ** _decimals(safe, self.figure))

    def hold(self, taken: _Taken, true: Table, column: str = "") -> None:
        """Give the layers of a table their true counts, or sums of a column. CONFIDENTIAL."""
        kept, places = _same_codes(true, taken.dimensions)
        counted, largest = dict(_by_layer(taken.options, places, len(kept))), None
        amounts: AnyArray = true.count[kept].astype(np.int64)
        if column:
            of = true.contributions[column]
            scale = np.full(len(kept), float(taken.scale))
            if self.system.means:  # who knows how many there are computes the sum
                number = of.count if of.weight is None else of.weight
                scale = quotient(scale, number[kept].astype(np.float64))
            amounts = np.rint(of.total[kept] * scale).astype(np.int64)
            first = of.top if of.top_weight is None else of.top * of.top_weight
            largest = np.nan_to_num(np.abs(first[kept][:, :2])) * scale[:, np.newaxis]
        for chosen, key in taken.layers.items():
            layer = self.system.layers[key]
            if layer.true is None:
                ids, rows = _true(layer, taken.options, chosen, counted.get(chosen))
                layer.true = ids, amounts[rows]
                layer.largest = None if largest is None else largest[rows]

    def _options(self, dimension: Dimension) -> list[_Option]:
        """The total, and all cuts of its classifications."""
        options = [_Option(-1, 0, np.zeros(len(dimension), dtype=np.int32) - 1)]
        options[0].place[0] = 0
        for tree, shift in zip(dimension.classifications, dimension.offsets, strict=True):
            number = self.known[dimension.name, tree.name]
            axis = self.system.axes[number]
            self.system.partial |= {number} if dimension.chosen else set()
            at = {code: place for place, code in enumerate(axis.codes)}
            own = np.array([at[code] for code in tree.codes[1:]], dtype=np.int64)
            for cut in range(1, len(axis.cuts)):
                place = np.full(len(dimension), -1, dtype=np.int32)
                place[1 + shift : 1 + shift + len(own)] = axis.places[cut][own]
                options.append(_Option(number, cut, place))
        return options

    def _complete(
        self, safe: ProtectedTable, options: Sequence[list[_Option]], chosen: tuple[int, ...]
    ) -> bool:
        """Whether a table has all cells of a layer, and does not hide it as a whole."""
        if safe.parts is None and not safe.suppressed_parts:
            return True
        levels = [
            set(level_numbers(dimension)[choices[at].place >= 0].tolist())
            for dimension, choices, at in zip(safe.spanning, options, chosen, strict=True)
        ]
        if safe.several_figures:
            levels.append({0})
        parts = set(itertools.product(*levels))
        if parts & safe.suppressed_parts:
            return False
        return safe.parts is None or parts <= safe.parts

    def _layer(
        self,
        options: Sequence[list[_Option]],
        chosen: tuple[int, ...],
        cells: _ShownCells,
        occurring: _Found | None,
    ) -> Layer:
        key, order = _key(options, chosen)
        sizes = self.system.sizes(key)
        if occurring is None:
            occurring = _Found(np.zeros(0, dtype=np.int64), [np.zeros(0, np.int32)] * len(chosen))
        ids = CellIndex(sizes).numbers([occurring.places[at] for at in order], len(occurring.rows))
        sort = np.argsort(ids, kind="stable")
        rows = occurring.rows[sort]
        return Layer(
            key=key,
            sizes=sizes,
            ids=ids[sort],
            value=cells.value[rows],
            shown=cells.shown[rows],
            official=cells.official[rows],
            tables=[],
        )

    def _put(self, table: str, layer: Layer) -> None:
        """Add a layer; what another table has of it already must be the same."""
        old = self.system.layers.get(layer.key)
        if old is None:
            layer.tables.append(table)
            self.system.layers[layer.key] = layer
            return
        _list(old, layer.ids)
        _list(layer, old.ids)
        differ = old.shown & layer.shown & (old.value != layer.value)
        if differ.any():
            self.system.contradictions += int(differ.sum())
            self.system.contradicting = self.system.contradicting or f"{old.tables[0]}, {table}"
        fresh = ~old.shown & layer.shown
        old.value[fresh] = layer.value[fresh]
        old.shown |= layer.shown
        old.official |= layer.official
        old.tables.append(table)


def _true(
    layer: Layer,
    options: Sequence[list[_Option]],
    chosen: tuple[int, ...],
    occurring: _Found | None,
) -> tuple[IntArray, IntArray]:
    """The cells of a layer that have records, and their places among those of the table."""
    if occurring is None:
        none = np.zeros(0, dtype=np.int64)
        return none, none
    _, order = _key(options, chosen)
    ids = layer.grid.numbers([occurring.places[at] for at in order], len(occurring.rows))
    sort = np.argsort(ids, kind="stable")
    return ids[sort], occurring.rows[sort]


@dataclass(frozen=True)
class _Option:
    """A cut of a variable: where each code of the dimension stands in it, else -1."""

    axis: int
    cut: int
    place: PositionArray


@dataclass(frozen=True)
class _Taken:
    """A table that was taken, without its cells: which layers it shows."""

    dimensions: Sequence[Dimension]
    options: Sequence[list[_Option]]
    layers: Mapping[tuple[int, ...], LayerKey]
    scale: int


@dataclass(frozen=True)
class _ShownCells:
    value: IntArray
    shown: BoolArray
    official: BoolArray


@dataclass(frozen=True)
class _Found:
    """Rows of a table, and per variable their places in a cut."""

    rows: IntArray
    places: Sequence[PositionArray]


def _key(options: Sequence[list[_Option]], chosen: tuple[int, ...]) -> tuple[LayerKey, list[int]]:
    """The key of a layer, and its variables by their place in the table."""
    taken = [(options[at][which], at) for at, which in enumerate(chosen)]
    own = sorted((option.axis, option.cut, at) for option, at in taken if option.axis >= 0)
    return tuple((axis, cut) for axis, cut, _ in own), [at for _, _, at in own]


def _by_layer(
    options: Sequence[list[_Option]], index: Sequence[PositionArray], length: int
) -> Iterator[tuple[tuple[int, ...], _Found]]:
    """The rows of each layer; codes that end early stand in several cuts."""
    rows = np.arange(length, dtype=np.int64)
    which: list[PositionArray] = []
    for choices, part in zip(options, index, strict=True):
        lists = [np.flatnonzero(option.place[part[rows]] >= 0) for option in choices]
        kept = np.concatenate(lists)
        taken = np.repeat(np.arange(len(choices)), [len(item) for item in lists])
        rows = rows[kept]
        which = [old[kept] for old in which]
        which.append(taken.astype(np.int32))
    grid = CellIndex.of(list(options))
    layers = grid.numbers(which, len(rows))
    order = np.argsort(layers, kind="stable")
    edges = np.flatnonzero(np.diff(layers[order])) + 1
    for same in np.split(order, edges) if len(order) else []:
        chosen = tuple(int(number[same[0]]) for number in which)
        own = rows[same]
        places = [
            choices[at].place[index[place][own]]
            for place, (choices, at) in enumerate(zip(options, chosen, strict=True))
        ]
        yield chosen, _Found(own, places)


def _joined(old: Axis, new: Axis) -> Axis:
    """One tree of all codes that two tables list."""
    parent = dict(_pairs(old))
    for code, above in _pairs(new):
        if parent.setdefault(code, above) != above:
            message = f"code {code!r} of {new.name} has another parent in another table"
            hint = "hand in tables of one publication, or each under a universe of its own"
            raise TableError(message, code="classification", where=new.variable, hint=hint)
    parts: dict[str, list[str]] = {}
    for code, above in parent.items():
        parts.setdefault(above, []).append(code)
    codes: list[str] = []
    waiting = [old.codes[0]]
    while waiting:
        code = waiting.pop()
        codes.append(code)
        waiting += parts.get(code, [])[::-1]
    at = {code: place for place, code in enumerate(codes)}
    parents = np.array([at.get(parent.get(code, ""), -1) for code in codes], dtype=np.int32)
    return Axis(old.variable, old.name, tuple(codes), parents, old.levels)


def _pairs(axis: Axis) -> list[tuple[str, str]]:
    """Each code but the total with its parent."""
    codes, parents = axis.codes, axis.parents.tolist()
    return [(codes[at], codes[parents[at]]) for at in range(1, len(codes))]


def count_cells(safe: ProtectedTable) -> tuple[Sequence[PositionArray], AnyArray, AnyArray] | None:
    """The cells of a table that are counts: codes, values, statuses."""
    if not safe.several_figures:
        if safe.figures and safe.figures[0].kind != "count":
            return None
        return safe.index, safe.value, safe.status
    kinds = [figure.kind for figure in safe.figures]
    if "count" not in kinds:
        return None
    rows = np.flatnonzero(safe.index[-1] == kinds.index("count"))
    index = [part[rows] for part in safe.index[:-1]]
    return index, safe.value[rows], safe.status[rows]


def sum_cells(
    safe: ProtectedTable, name: str
) -> tuple[Sequence[PositionArray], AnyArray, AnyArray] | None:
    """The cells of a table that are a sum, as whole numbers of its last decimal."""
    at = [figure.name for figure in safe.figures].index(name) if name else -1
    rows: AnyArray = np.arange(len(safe.value))
    index: Sequence[PositionArray] = safe.index
    if safe.several_figures:
        rows = np.flatnonzero(safe.index[-1] == at)
        index = [part[rows] for part in safe.index[:-1]]
    value = np.nan_to_num(safe.value[rows].astype(np.float64)) * 10 ** _decimals(safe, name)
    return index, np.rint(value), safe.status[rows]


def _decimals(safe: ProtectedTable, name: str) -> int:
    """The digits of a sum that are looked at; whole numbers of more would not fit."""
    return min(6, next((figure.decimals for figure in safe.figures if figure.name == name), 0))


def _same_codes(
    true: Table, dimensions: Sequence[Dimension]
) -> tuple[IntArray, list[PositionArray]]:
    """The cells of a true table whose codes are published, by these codes."""
    names = [dimension.name for dimension in true.dimensions]
    positions = []
    for dimension in dimensions:
        if dimension.name not in names:
            message = f"variable {dimension.name!r} does not span the true table"
            raise TableError(message, code="truth", where="attack")
        at = names.index(dimension.name)
        place = [dimension.index.get(code, -1) for code in true.dimensions[at].codes]
        positions.append(np.array(place, dtype=np.int32)[true.index[at]])
    there = np.ones(len(true), dtype=np.bool_)
    for part in positions:
        there &= part >= 0
    for at, dimension in enumerate(true.dimensions):
        if dimension.name not in [item.name for item in dimensions]:
            there &= true.index[at] == 0
    kept = np.flatnonzero(there)
    return kept, [part[kept] for part in positions]
