"""`QueryEvidence`: what records tell policies of a query, worked out if asked for: perturbed
counts, and keyed digests of units (CONFIDENTIAL), which never leave the policies.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, IntArray, UintArray, mixed
from discreet.confidential import without_values
from discreet.disclosure import Axis, Marks, SketchSum
from discreet.keygrid import KeyGrid
from discreet.microdata import StoredRecords, distant_records, parse_filter
from discreet.record_batches import collected
from discreet.tables import CellStatus, ProtectedTable
from discreet.tabulation import StoredChoice
from discreet_service.datasets import CatalogueUnit, DataVersion
from discreet_service.last_used import LastUsed
from discreet_service.policies import LayerAxis, LayerFigures, Shape, UniverseSketch
from discreet_service.queries.canonical import CanonicalQuery, FilterCodes, SpanningCodes
from discreet_service.queries.counts import answer_form, filter_texts, joint_filter
from discreet_service.queries.measures import COUNT_MEASURE
from discreet_service.queries.presentation import every_cell

#: Stores of more areas are read for each universe; so many take some 40 MB.
_MOST_AREAS = 20_000
#: Sketches that are remembered, each some 2 kB, and sources whose areas are.
_MOST_SKETCHES, _MOST_SOURCES = 4_000, 8
#: Sketches that are made at the same time are told apart by so many locks.
_LOCKS = 64


def keyed_units(keys: pl.Series, key: bytes) -> UintArray:
    """Record keys under a secret permutation of 64 bits. CONFIDENTIAL."""
    numbers = keys.to_physical()
    whole = numbers.cast(pl.Float64 if numbers.dtype.is_float() else pl.Int64)
    return _keyed(whole.to_numpy().view(np.uint64), key)


def _keyed(digests: UintArray, key: bytes) -> UintArray:
    secret = np.frombuffer(hashlib.sha256(b"units 1\n" + key).digest(), dtype="<u8")
    with np.errstate(over="ignore"):
        for part in secret.tolist():
            digests = mixed(digests + np.uint64(part))
    return digests


class StoredUnits:
    """The units of a store. CONFIDENTIAL."""

    def __init__(self, store: StoredRecords, key: bytes, size: int) -> None:
        self._store, self._key, self._size = store, key, size
        self._lock = threading.Lock()

    def sketch(
        self, condition: str, grid: KeyGrid, related: Mapping[str, frozenset[str]]
    ) -> UniverseSketch:
        """The sketch of the records that a filter lets through, with the codes that it names."""
        chosen = StoredChoice(self._store, condition, grid)
        total, again = SketchSum(self._size), list[UintArray]()
        if chosen.whole and len(self._store.offsets) <= _MOST_AREAS + 1:
            counts, sums, marks = self._of_areas
            areas = chosen.areas
            total.add_sketches(counts[areas], sums[areas], [marks[at] for at in areas.tolist()])
            inside = np.zeros(len(counts), dtype=np.bool_)
            inside[areas] = True
            again.append(self._units(self._repeated[inside[self._areas_of_repeated]]))
        else:
            for start, numbers in chosen.parts():
                once, more = self._told_apart(np.flatnonzero(numbers == 0) + start)
                total.add(self._units(once))
                again.append(self._units(more))
        total.add(np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *again])))
        known = None if len(self._repeated) else related
        return UniverseSketch.of_sum(total, self._size, known)

    def _units(self, records: IntArray) -> UintArray:
        keys = np.asarray(self._store.keys[records], dtype=np.int64)
        return _keyed(keys.view(np.uint64), self._key)

    def _told_apart(self, records: IntArray) -> tuple[IntArray, IntArray]:
        """Records whose key no other has, and those whose key others have."""
        if not len(self._repeated):
            return records, records[:0]
        known = self._has_others[records]
        return records[~known], records[known]

    @cached_property
    def _has_others(self) -> BoolArray:
        """Whether other records have the key of a record."""
        keys = np.asarray(self._store.keys)
        ordered = np.sort(keys)
        several = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.isin(keys, several) if len(several) else np.zeros(len(keys), dtype=np.bool_)

    @cached_property
    def _repeated(self) -> IntArray:
        return np.flatnonzero(self._has_others)

    @cached_property
    def _areas_of_repeated(self) -> IntArray:
        return np.searchsorted(self._store.offsets, self._repeated, side="right") - 1

    @property
    def _of_areas(self) -> tuple[IntArray, IntArray, list[Marks]]:
        """For each area, the sketch of its units whose key no other record has."""
        with self._lock:
            return self._areas

    @cached_property
    def _areas(self) -> tuple[IntArray, IntArray, list[Marks]]:
        offsets = self._store.offsets
        counts, sums, marks = [], [], []
        for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            total = SketchSum(self._size)
            total.add(self._units(self._told_apart(np.arange(first, last))[0]))
            counts.append(total.count)
            sums.append(total.sums)
            marks.append(total.marks)
        return np.array(counts, dtype=np.int64), np.stack(sums), marks


class SketchMemory:
    """Sketches that were made before: those used last stay. CONFIDENTIAL."""

    def __init__(self) -> None:
        self._sketches = LastUsed[str, UniverseSketch](_MOST_SKETCHES)
        self._units = LastUsed[str, StoredUnits](_MOST_SOURCES)
        self._lock, self._locks = threading.Lock(), [threading.Lock() for _ in range(_LOCKS)]

    def units(self, name: str, make: Callable[[], StoredUnits]) -> StoredUnits:
        """The units of a source, made now or before."""
        with self._lock:
            if (units := self._units.get(name)) is None:
                self._units.put(name, units := make())
            return units

    def sketch(self, name: str, make: Callable[[], UniverseSketch]) -> UniverseSketch:
        """A sketch, made now or before; of several who ask for it at once, one makes it."""
        with self._locks[hash(name) % _LOCKS]:
            if (sketch := self._sketches.get(name)) is None:
                self._sketches.put(name, sketch := make())
            return sketch


#: Gives the protected table of a query, made now or before.
TableOf = Callable[[CanonicalQuery], ProtectedTable]
#: Per level of each variable that spans an answer, and per figure, whether the part is hidden;
#: None if none are.
HiddenOf = Callable[[CanonicalQuery], BoolArray | None]
#: Tables up to here are made at once, and policies look at what will be shown.
_MOST_CELLS = 100_000


@dataclass(frozen=True, repr=False)
class QueryEvidence:
    """Evidence of records on a query; equal for all callers."""

    query: CanonicalQuery
    version: DataVersion
    table_of: TableOf  # Gives protected tables
    key: bytes  # What digests of units are keyed with
    kept: SketchMemory  # Sketches that were made before
    hidden_of: HiddenOf  # Tells which parts of answers are hidden

    @cached_property
    def _whole(self) -> ProtectedTable | None:
        """The table itself, where its cells are all that is asked for; else None.

        A cell has the same figure in each table, but rules for parts look at whole tables.
        """
        query = self.query
        if query.measures != (COUNT_MEASURE,) or not all(one.total for one in query.by):
            return None
        if math.prod(1 + len(self._codes(one)) for one in query.by) > _MOST_CELLS:
            return None
        parts = answer_form(query, self.version).thresholds is not None
        return None if parts else self.table_of(query)

    def _codes(self, one: SpanningCodes) -> tuple[str, ...]:
        if one.codes is not None:
            return one.codes
        variable = self._unit.variables[one.variable]
        shown = sorted({at for level in one.levels for at in variable.cuts[level].tolist()})
        return tuple(variable.tree.codes[at] for at in shown)

    def universe_count(self) -> int:
        """The perturbed count of the records that the filters let through."""
        if self._whole is not None:
            totals = [dimension.codes[0] for dimension in self._whole.dimensions]
            return int(self._whole.get(*totals) or 0)
        return int(self.table_of(replace(self.query, by=(), measures=(COUNT_MEASURE,))).get() or 0)

    def universe_sketch(self, size: int) -> UniverseSketch:
        """The sketch of the records that the filters let through. CONFIDENTIAL."""
        where = [[one.variable, one.level, one.codes] for one in self.query.where]
        name = json.dumps([self.version.fingerprint, self.query.unit, where, size])
        return self.kept.sketch(name, partial(self._sketched, size))

    @without_values
    def _sketched(self, size: int) -> UniverseSketch:
        records = self.version.records(self.query.unit)[0]
        condition = self._condition(self.version.schema(self.query.unit))
        held = distant_records(records)
        if not isinstance(held, StoredRecords) or not isinstance(condition, str | None):
            return UniverseSketch.of(self.universe_units(), size)
        place = f"{self.version.fingerprint} {self.query.unit} {size}"
        units = self.kept.units(place, lambda: StoredUnits(held, self.key, size))
        related = {}
        for one in self.query.where:
            variable = self._unit.variables[one.variable]
            codes, index = variable.tree.codes, variable.tree.index
            own = [index[code] for code in one.codes]
            within = np.flatnonzero(variable.within(own)).tolist()
            related[one.variable] = frozenset(codes[at] for at in {*within, *variable.above(own)})
        return units.sketch(condition or "", self.version.inputs.grid, related)

    def _condition(self, schema: Any) -> str | nw.Expr | None:
        """Which records the table is about."""
        usual = self.version.entry(self.query.unit).where or ""
        return joint_filter([usual, *filter_texts(self.query, self.version)], schema)

    @without_values
    def universe_units(self) -> UintArray:
        """The records that the filters let through, as keyed digests. CONFIDENTIAL."""
        records, column = self.version.records(self.query.unit)
        schema = self.version.schema(self.query.unit)
        condition = self._condition(schema)
        plan = records.lazy()
        if isinstance(condition, str):
            condition = parse_filter(condition).to_narwhals(schema)
        if condition is not None:
            plan = plan.filter(condition)
        return keyed_units(collected(plan.select(column))[column], self.key)

    def published_counts(self) -> IntArray:
        """The perturbed inner cells of the table, an array with one axis for each variable."""
        inner = tuple(self._inner(one) for one in self.query.by)
        table = self._whole
        if table is None:
            table = self.table_of(replace(self.query, by=inner, measures=(COUNT_MEASURE,)))
        published = np.rint(table.value).astype(np.int64)
        if not inner:  # the grand total alone
            return np.asarray(published.sum())  # none is listed where it is zero
        counts = np.zeros(tuple(map(len, table.dimensions)), dtype=np.int64)
        counts[table.index] = published
        places = [
            [dimension.index[code] for code in self._codes(one)]
            for one, dimension in zip(inner, table.dimensions, strict=True)
        ]
        return np.asarray(counts[np.ix_(*places)])

    def axis(self, variable: str) -> Axis:
        """The classification of a variable."""
        return self._unit.variables[variable].axis

    def whole(self, shape: Shape) -> Shape:
        """A shape with all codes of its levels; of areas, those with one area above in common."""
        return tuple(
            tuple(None if axis is None else self._completed(axis, one) for axis in one)
            for one in shape
        )

    def _completed(self, axis: LayerAxis, beside: Sequence[LayerAxis | None]) -> LayerAxis:
        if axis.codes is None or not axis.geography:
            return axis._replace(codes=None)
        variable = self._unit.variables[axis.variable]
        number = variable.level_numbers[axis.level]
        cut, up = variable.cuts[number], variable.axis.up(number, number - 1)
        # Codes that end above stand on several levels.
        shown = {code for other in beside if other is not None for code in self._codes_of(other)}
        own = np.array([variable.tree.codes[at] in shown for at in cut.tolist()])
        family = np.isin(up, up[own])
        codes = tuple(variable.tree.codes[at] for at in cut[family].tolist())
        return axis._replace(codes=None if family.all() else codes)

    def _codes_of(self, axis: LayerAxis) -> tuple[str, ...]:
        if axis.codes is not None:
            return axis.codes
        variable = self._unit.variables[axis.variable]
        return variable.codes_of(variable.level_numbers[axis.level])

    def layer_figures(self, shape: Shape, *, every: bool) -> Iterator[LayerFigures]:
        """The perturbed figures of a table of such a whole shape, layer by layer."""
        by, where = [], []
        for one in shape:
            axes = [axis for axis in one if axis is not None]
            variable = self._unit.variables[axes[0].variable]
            levels = tuple(variable.level_numbers[axis.level] for axis in axes)
            own = {code for axis in axes for code in self._codes_of(axis)}
            codes = tuple(code for code in variable.tree.codes if code in own)
            if len(codes) == 1 and None not in one:
                where.append(FilterCodes(variable=variable.name, level=levels[0], codes=codes))
                continue
            by.append(SpanningCodes(
                variable=variable.name, levels=levels, total=None in one,
                codes=None if all(axis.codes is None for axis in axes) else codes,
            ))  # fmt: skip
        query = replace(self.query, by=tuple(by), where=tuple(where), measures=(COUNT_MEASURE,))
        table, hidden = self.table_of(query), None if every else self.hidden_of(query)
        index, value, status = every_cell(table)
        dimensions = {one.name: one for one in table.dimensions}
        sizes = [len(one) for one in table.dimensions]
        figures, noisy = np.zeros(sizes), np.zeros(sizes, dtype=np.bool_)
        at = index if index else ...
        figures[at] = value
        # What a rule of the programme hides counts as shown with noise.
        above = (value != 0) | (status == CellStatus.suppressed)
        noisy[at] = above & (status != CellStatus.official)
        names = [next(axis.variable for axis in one if axis is not None) for one in shape]
        for chosen in product(*shape):
            rows, places, shown, cuts = [], [], list[int](), list[int]()
            for name, axis in zip(names, chosen, strict=True):
                variable = self._unit.variables[name]
                codes = (variable.tree.total,) if axis is None else self._codes_of(axis)
                if name in dimensions:
                    rows.append([dimensions[name].index[code] for code in codes])
                if axis is not None:
                    shown.append(variable.level_numbers[axis.level])
                    cuts.append(len(variable.cuts[shown[-1]]))
                    positions = [variable.tree.index[code] for code in codes]
                    places.append(variable.axis.places[shown[-1]][positions])
            box = tuple(axis for axis in chosen if axis is not None)
            depth = {axis.variable: level for axis, level in zip(box, shown, strict=True)}
            if hidden is not None and hidden[(*(depth.get(one.variable, 0) for one in by), 0)]:
                continue
            grid = [part.ravel() for part in np.meshgrid(*places, indexing="ij")]
            cells = CellIndex(tuple(cuts)).numbers(grid, None if grid else 1)
            order = np.argsort(cells)
            yield LayerFigures(
                box=box, levels=tuple(shown),
                cells=cells[order], figures=figures[np.ix_(*rows)].ravel()[order],
                noisy=noisy[np.ix_(*rows)].ravel()[order],
            )  # fmt: skip

    def _inner(self, one: SpanningCodes) -> SpanningCodes:
        """The finest codes that a query shows of a variable, without its total."""
        if one.codes is None:
            return replace(one, levels=(max(one.levels),), total=False)
        variable = self._unit.variables[one.variable]
        above = variable.above({variable.tree.index[code] for code in one.codes})
        codes = tuple(code for code in one.codes if variable.tree.index[code] not in above)
        return replace(one, codes=codes, total=False)

    @property
    def _unit(self) -> CatalogueUnit:
        return self.version.units[self.query.unit]
