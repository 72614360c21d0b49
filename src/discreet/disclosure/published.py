"""`PublishedCells`: the cells of published tables as one system, by names and codes alone.

In: protected tables of one population, without records. Out: layers – all cells on one level of
some variables, of whatever table, each cell once – and the steps from each layer to the next
coarser ones, whose cells are sums. Cells are one if their variables, classifications and codes
have the same names: what only records could tie together is a gap, "not examined".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from discreet.arrays import (
    AnyArray,
    BoolArray,
    CellIndex,
    FloatArray,
    IntArray,
    PositionArray,
    find_sorted,
)
from discreet.classifications import Classification
from discreet.disclosure.cells import (
    OccurringCells,
    cells_by_level,
    level_codes,
    pairs_unknown,
)
from discreet.disclosure.code_pairs import codes_at, codes_on
from discreet.disclosure.verdicts import Gap
from discreet.errors import TableError
from discreet.tables import CellStatus, Dimension, ProtectedTable, level_numbers

#: A layer's name: per variable in it the number of its axis and the level, by axis.
LayerKey = tuple[tuple[int, int], ...]
SHOWN = (CellStatus.published, CellStatus.bracketed, CellStatus.official)
#: More digits of a sum are not looked at: whole numbers of them would not fit.
_DECIMALS = 6


@dataclass(frozen=True, repr=False, eq=False)
class Axis:
    """One classification of a variable as a row of nested cuts.

    Cut k holds the codes of level k, and those that end above it: it divides the population
    without rest. Cut 0 is the total.
    """

    variable: str  # name of the variable
    tree: Classification  # all codes that tables list
    _ups: dict[tuple[int, int], PositionArray] = field(default_factory=dict)

    @cached_property
    def cuts(self) -> tuple[PositionArray, ...]:
        """The codes of each cut."""
        every = (codes_on(self.tree, level) for level in range(self.tree.depth + 1))
        return tuple(own.astype(np.int32) for own in every)

    @cached_property
    def places(self) -> tuple[PositionArray, ...]:
        """Per cut, the number of each code in it; -1 for others."""
        places = np.full((len(self.cuts), len(self.tree)), -1, dtype=np.int32)
        for place, cut in zip(places, self.cuts, strict=True):
            place[cut] = np.arange(len(cut))
        return tuple(places)

    def codes(self, cut: int = -1) -> list[str]:
        """The codes of a cut, by name; the finest if none is named."""
        return [self.tree.codes[at] for at in self.cuts[cut].tolist()]

    def up(self, cut: int, coarser: int) -> PositionArray:
        """Position of each code of a cut (-1: the finest) in a coarser one."""
        cut %= len(self.cuts)
        if (cut, coarser) not in self._ups:
            code = codes_at(self.tree, self.cuts[cut].astype(np.int64), coarser)
            self._ups[cut, coarser] = self.places[coarser][code]
        return self._ups[cut, coarser]


@dataclass(repr=False, eq=False)
class PublishedLayer:
    """All cells of a population on one cut of each of some variables.

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
        """Positions of cells in it, -1 for unlisted ones."""
        return find_sorted(self.ids, ids)

    def figures(self, ids: IntArray) -> tuple[IntArray, BoolArray, BoolArray]:
        """Published values of cells, masks of shown cells and of cells without noise."""
        at = self.at(ids)  # -1 stands for what is added: a zero that is shown
        official = np.append(self.official, np.False_)[at]
        return np.append(self.value, 0)[at], np.append(self.shown, np.True_)[at], official

    def extend(self, ids: IntArray) -> None:
        """List more cells; new ones show zero."""
        every = np.union1d(self.ids, ids)
        if len(every) > len(self.ids):
            self.value, self.shown, self.official = self.figures(every)
            self.ids = every

    def truth(self, ids: IntArray) -> IntArray:
        """The true counts of cells. CONFIDENTIAL."""
        assert self.true is not None  # attacks are held against the truth where it is known
        return np.append(self.true[1], 0)[find_sorted(self.true[0], ids)]


@dataclass(frozen=True, repr=False, eq=False)
class LayerStep:
    """From the cells of a layer to those of a coarser layer, whose cells are their sums."""

    fine: PublishedLayer  # the finer layer
    coarse: PublishedLayer  # the coarser one
    whole: IntArray  # per cell of the finer layer, its whole in the coarser; -1 for none listed
    unlisted: IntArray  # per cell of the coarser layer, how many parts show zero and are not listed

    @property
    def inside(self) -> IntArray:
        """The cells of the finer layer that have a whole."""
        return np.flatnonzero(self.whole >= 0)

    @cached_property
    def place(self) -> IntArray:
        """The whole of each of these."""
        return self.whole if (self.whole >= 0).all() else self.whole[self.inside]

    @cached_property
    def number(self) -> IntArray:
        """Per cell of the coarser layer, how many of its parts are listed."""
        return np.bincount(self.place, minlength=len(self.coarse)).astype(np.int64)

    def sums(self, values: AnyArray) -> FloatArray:
        """Per cell of the coarser layer, the sum over its listed parts."""
        every = len(self.place) == len(self.whole)
        weights: FloatArray = (values if every else values[self.inside]).astype(np.float64)
        sums: AnyArray = np.bincount(self.place, weights=weights, minlength=len(self.coarse))
        return sums


@dataclass(frozen=True, repr=False, eq=False)
class TableLayers:
    """The layers that a table has, and where its codes stand in them."""

    dimensions: Sequence[Dimension]  # what spans it
    #: Per variable and level, and with the total first: axis, cut, and the place of each code
    options: Sequence[Sequence[tuple[int, int, PositionArray]]]
    #: Per choice of a level of each variable its layer, and the variables in order of its axes
    layers: Mapping[tuple[int, ...], tuple[LayerKey, list[int]]]
    sizes: Mapping[LayerKey, tuple[int, ...]]  # number of codes of each cut of a layer

    def of_cells(
        self, index: Sequence[PositionArray], size: int
    ) -> Iterator[tuple[LayerKey, IntArray, IntArray]]:
        """Cells by layer: their places in the index, and their numbers there, ascending."""
        places = [[place for _, _, place in own] for own in self.options]
        for chosen, rows, codes in cells_by_level(places, index, size):
            if chosen in self.layers:
                key, order = self.layers[chosen]
                ids = CellIndex(self.sizes[key]).numbers([codes[at] for at in order], len(rows))
                sort = np.argsort(ids, kind="stable")
                yield key, rows[sort], ids[sort]


@dataclass(repr=False, eq=False)
class PublishedCells:
    """Published counts, or sums of one column, of one population."""

    name: str  # the population, and the sum
    axes: list[Axis] = field(default_factory=list)  # the classifications of its variables
    means: bool = False  # whether they are means, which do not add up
    layers: dict[LayerKey, PublishedLayer] = field(default_factory=dict)  # by key
    contradictions: int = 0  # cells that two tables show with different values, and where first
    contradicting: str = ""
    left_out: list[str] = field(default_factory=list)  # tables that hold no such figures
    #: Axes of which tables show some codes side by side, which do not add up to their total
    partial: set[int] = field(default_factory=set)

    def sizes(self, key: LayerKey) -> tuple[int, ...]:
        """Number of codes of each cut of a layer."""
        return tuple(len(self.axes[axis].cuts[cut]) for axis, cut in key)

    def title(self, key: LayerKey) -> str:
        """A layer in words.

        >>> PublishedCells("persons").title(())
        'total'
        """
        named = []
        for axis, cut in key:
            tree = self.axes[axis].tree
            level = f" {cut}" if tree.depth > 1 else ""
            if level and len(tree.level_names) == tree.depth:
                level = f" ({tree.level_names[cut - 1]})"
            named.append(tree.name + level)
        return " x ".join(named) or "total"

    def cell_name(self, layer: PublishedLayer, cell: int) -> str:
        """A cell by its codes."""
        places = layer.grid.positions(layer.ids[cell : cell + 1])
        named = [
            f"{self.axes[axis].variable}={self.axes[axis].codes(cut)[place[0]]}"
            for (axis, cut), place in zip(layer.key, places, strict=True)
        ]
        return ", ".join(named) or "total"

    # -- what adds up ------------------------------------------------------------------

    def steps(self) -> Iterator[LayerStep]:
        """Each way from a published layer to the next coarser ones, the finest layers first.

        The next ones may be several cuts coarser, where none between is published. None leads
        over codes that tables show side by side: they do not add up.
        """
        for key in self._finest_first():
            fine = self.layers[key]
            for coarse, wholes in self._wholes(fine):
                whole = coarse.at(wholes)
                listed = np.bincount(whole[whole >= 0], minlength=len(coarse))
                yield LayerStep(fine, coarse, whole, self._parts(key, coarse) - listed)

    def complete(self) -> None:
        """List every whole that has listed parts: it shows zero."""
        for key in self._finest_first():
            for coarse, wholes in self._wholes(self.layers[key]):
                coarse.extend(wholes)

    def _finest_first(self) -> list[LayerKey]:
        return sorted(self.layers, key=lambda key: (-sum(cut for _, cut in key), key))

    def _wholes(self, fine: PublishedLayer) -> Iterator[tuple[PublishedLayer, IntArray]]:
        """The next coarser layers, with the number there of each cell."""
        codes = dict(zip(fine.key, fine.grid.positions(fine.ids), strict=True))
        cut_of = dict(fine.key)
        waiting, known = [fine.key], {fine.key}
        while waiting:
            own = waiting.pop()
            for at, (number, cut) in enumerate(own):
                above = (*own[:at], *([(number, cut - 1)] if cut > 1 else []), *own[at + 1 :])
                if above in known or number in self.partial:
                    continue
                known.add(above)
                coarse = self.layers.get(above)
                if coarse is None:
                    waiting.append(above)
                    continue
                places = [
                    self.axes[axis].up(cut_of[axis], to)[codes[axis, cut_of[axis]]]
                    for axis, to in above
                ]
                yield coarse, coarse.grid.numbers(places, len(fine))

    def _parts(self, key: LayerKey, coarse: PublishedLayer) -> IntArray:
        """How many cells of a finer layer lie in each cell of a coarser one, listed or not."""
        parts = np.ones(len(coarse), dtype=np.int64)
        places = dict(zip(dict(coarse.key), coarse.grid.positions(coarse.ids), strict=True))
        above = dict(coarse.key)
        for number, cut in key:
            within = np.bincount(self.axes[number].up(cut, above.get(number, 0)))
            parts *= within[places[number]] if number in places else int(within[0])
        return parts

    # -- tables ------------------------------------------------------------------------

    def take(self, table: ProtectedTable, figure: str = "") -> TableLayers | None:
        """Put the layers of a table in; None if it holds no such figure."""
        cells = sum_cells(table, figure) if figure else count_cells(table)
        if cells is None:
            self.left_out.append(table.name)
            return None
        index, value, status = cells
        taken = self._layers_of(table)
        shown = np.isin(status, [*SHOWN, CellStatus.zero_or_changed_to_zero])
        official = status == CellStatus.official
        nothing = np.zeros(0, dtype=np.int64)
        listed = dict.fromkeys(taken.sizes, (nothing, nothing))
        listed |= {key: (rows, ids) for key, rows, ids in taken.of_cells(index, len(value))}
        for key, (rows, ids) in listed.items():
            figures = value[rows].astype(np.int64), shown[rows], official[rows]
            self._put(PublishedLayer(key, taken.sizes[key], ids, *figures, tables=[table.name]))
        return taken

    def _layers_of(self, table: ProtectedTable) -> TableLayers:
        """All combinations of levels that a table has."""
        number_of = {(axis.variable, axis.tree.name): at for at, axis in enumerate(self.axes)}
        options: list[list[tuple[int, int, PositionArray]]] = []
        for dimension in table.spanning:
            own = []
            for choice, code in level_codes(dimension):
                if choice is None:
                    own.append((-1, 0, code))
                    continue
                tree = dimension.classifications[choice.tree]
                number = number_of[dimension.name, tree.name]
                place_of = {name: at for at, name in enumerate(self.axes[number].tree.codes)}
                known = np.array([place_of[name] for name in tree.codes], dtype=np.int64)
                place = self.axes[number].places[choice.level][known]
                own.append((number, choice.level, np.where(code >= 0, place[code], -1)))
                self.partial |= {number} if dimension.chosen else set()
            options.append(own)
        layers = {}
        for chosen in product(*(range(len(own)) for own in options)):
            used = [own[at] for own, at in zip(options, chosen, strict=True)]
            if _has_layer(table, [place >= 0 for _, _, place in used]):
                order = sorted((own[:2], at) for at, own in enumerate(used) if own[0] >= 0)
                layers[chosen] = tuple(part for part, _ in order), [at for _, at in order]
        sizes = {key: self.sizes(key) for key, _ in layers.values()}
        return TableLayers(table.spanning, options, layers, sizes)

    def _put(self, layer: PublishedLayer) -> None:
        """Add a layer; what another table has of it already must be the same."""
        old = self.layers.setdefault(layer.key, layer)
        if old is layer:
            return
        old.extend(layer.ids)
        value, shown, official = layer.figures(old.ids)
        differ = old.shown & shown & (old.value != value)
        if differ.any():
            self.contradictions += int(differ.sum())
            first = f"{old.tables[0]}, {layer.tables[0]}"
            self.contradicting = self.contradicting or first
        # What one table shows without noise is known, whatever another shows.
        better = (shown & ~old.shown) | (official & ~old.official)
        old.value = np.where(better, value, old.value)
        old.shown, old.official = old.shown | shown, old.official | official
        old.tables += layer.tables


def _has_layer(table: ProtectedTable, on: Sequence[BoolArray]) -> bool:
    """Whether a table has all cells of a layer, and does not hide it as a whole."""
    if table.parts is None and not table.suppressed_parts:
        return True
    levels = [
        set(level_numbers(dimension)[own].tolist())
        for dimension, own in zip(table.spanning, on, strict=True)
    ]
    if table.several_figures:
        levels.append({0})
    parts = set(product(*levels))
    return not parts & table.suppressed_parts and (table.parts is None or parts <= table.parts)


#: Codes, values and statuses of cells.
FigureCells = tuple[Sequence[PositionArray], AnyArray, AnyArray]


def count_cells(safe: ProtectedTable) -> FigureCells | None:
    """The cells of a table that are counts."""
    kinds = [figure.kind for figure in safe.figures] or ["count"]
    return _cells_of(safe, kinds.index("count")) if "count" in kinds else None


def sum_cells(safe: ProtectedTable, name: str) -> FigureCells:
    """The cells of a table that are a sum, as whole numbers of its last decimal."""
    names = [figure.name for figure in safe.figures]
    index, value, status = _cells_of(safe, names.index(name) if safe.several_figures else 0)
    value = np.nan_to_num(value.astype(np.float64)) * figure_scale(safe, name)
    return index, np.rint(value), status


def _cells_of(safe: ProtectedTable, figure: int) -> FigureCells:
    if not safe.several_figures:
        return safe.index, safe.value, safe.status
    rows = np.flatnonzero(safe.index[-1] == figure)
    return [part[rows] for part in safe.index[:-1]], safe.value[rows], safe.status[rows]


def figure_scale(safe: ProtectedTable, name: str) -> int:
    """By how much the figures of a sum are multiplied to be whole numbers."""
    decimals = next((figure.decimals for figure in safe.figures if figure.name == name), 0)
    return int(10 ** min(_DECIMALS, decimals))


def published_axes(tables: Sequence[ProtectedTable]) -> list[Axis]:
    """The classifications of all tables, the same for all populations; tables leave codes out."""
    trees: dict[tuple[str, str], Classification] = {}
    for dimension in (own for table in tables for own in table.spanning):
        for tree in dimension.classifications:
            old = trees.setdefault((dimension.name, tree.name), tree)
            if old.codes != tree.codes:
                trees[dimension.name, tree.name] = _joined(dimension.name, old, tree)
    return [Axis(variable, trees[variable, name]) for variable, name in sorted(trees)]


def _joined(variable: str, old: Classification, new: Classification) -> Classification:
    """One tree of all codes that two tables list."""
    parent: dict[str, str | None] = {}
    for tree in (old, new):
        for code, above in zip(tree.codes[1:], tree.parents[1:], strict=True):
            named = tree.codes[above] if above else None
            if parent.setdefault(code, named) != named:
                message = f"code {code!r} of {new.name} has different parents in different tables"
                hint = "give tables of one publication, or a separate population for each"
                raise TableError(message, code="classification", where=variable, hint=hint)
    joined = Classification.from_parents(old.name, parent, total=old.total)
    same = joined.depth == len(old.level_names)
    return joined.replace(level_names=old.level_names) if same else joined


def unexamined_names(populations: Mapping[str, Sequence[ProtectedTable]]) -> tuple[Gap, ...]:
    """Gaps if cells are known by the names of variables and codes only."""
    apart: set[tuple[str, str]] = set()
    for tables in populations.values():
        spans = [
            [{tree.name for tree in own.classifications} for own in table.spanning]
            for table in tables
        ]
        occurring: list[OccurringCells] = []
        for table in tables:  # the cells that do not show zero
            index, value, status = count_cells(table) or _cells_of(table, 0)
            zero = (value == 0) & np.isin(status, [*SHOWN, CellStatus.zero_or_changed_to_zero])
            occurring.append((table.spanning, [part[~zero] for part in index]))
        apart |= pairs_unknown(occurring, spans)
    gaps = []
    if apart:
        about = ", ".join(sorted({name for pair in apart for name in pair}))
        gaps.append(Gap("names", about, len(apart)))
    if len(populations) > 1:
        gaps.append(Gap("populations", ", ".join(filter(None, populations)), len(populations)))
    return tuple(gaps)
