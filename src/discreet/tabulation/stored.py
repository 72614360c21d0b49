"""Engine for stores: what a query needs is read where it lies, and counted in one pass.

In: records of a store. Out: `Cube` (confidential), bit for bit that of other engines. A filter
becomes ranges of records where it tells areas apart, else tables with an entry per code; a cell's
number is a sum of such entries. What cannot be said so is left to other engines.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, IntArray
from discreet.confidential import Confidential
from discreet.errors import DiscreetError
from discreet.key_check import KeyCheck
from discreet.keygrid import LIMB, KeyGrid
from discreet.microdata import Filter, StoredRecords, distant_records, parse_filter
from discreet.tables import code_texts
from discreet.tabulation.columns import CodedColumn, code_column
from discreet.tabulation.cube import Cube
from discreet.tabulation.engine import Engine, Pass, TabulationTask
from discreet.tabulation.flaws import raise_flaws
from discreet.tabulation.measures import MeasureLayout
from discreet.tabulation.memory import (
    Amounts,
    CompiledPass,
    Counted,
    RecordArrays,
    chosen_records,
    measure,
    read_numbers,
)
from discreet.tabulation.query import CubeAxis, QueryGroup, plan

#: Up to so many cells have 2^2 places each, which take turns.
_FEW_CELLS, _LANES = 2**12, 2

#: Records per step: their numbers of cells stay in the cache.
_STEP = 2**16
#: Steps that are decoded at once where values are added.
_DECODED = 8
#: A record that a filter leaves out is at least so far off, for each column that does so.
_OUT = 2**26
_MOST_CELLS, _MOST_FILTERS = 2**24, 24
#: Conditions on several columns become tables of at most so many entries.
_JOINT = 2**22


#: Per store the codes of its axes, of so many at most.
_CODINGS: WeakKeyDictionary[StoredRecords, dict[CubeAxis, CodedColumn]] = WeakKeyDictionary()
_MOST_CODINGS = 200
#: Per store the filters of the questions at hand.
_CONDITIONS: WeakKeyDictionary[StoredRecords, dict[str, list[_Condition]]] = WeakKeyDictionary()
_MOST_CONDITIONS, _KEPT_CODES = 64, 2**17

#: Queries of fewer records wait for nobody, and take one processor.
_SHORT = 2**21
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
_FREE = threading.BoundedSemaphore(_PROCESSORS or 1)


@contextmanager
def _processors(records: int) -> Iterator[int]:
    """On how many processors to count so many records: all that are free, for a long query.

    As many long queries as there are processors run at a time: more would only take the cache
    from each other.
    """
    if records < _SHORT:
        yield 1
        return
    _FREE.acquire()
    taken = 1
    try:
        while taken < (_PROCESSORS or 1) and _FREE.acquire(blocking=False):
            taken += 1
        yield taken
    finally:
        _FREE.release(taken)


@dataclass(frozen=True, repr=False)
class _Condition:
    """A part of a filter: the columns it reads, and for each combination of codes if it is true."""

    filter: Filter
    columns: tuple[str, ...]
    passed: BoolArray | None


class StoreEngine(Engine):
    """Stores: what is asked for is counted where it lies."""

    name = "store"
    rank = 0
    distant = True

    def __init__(self, task: TabulationTask) -> None:
        super().__init__(task)
        records = distant_records(task.records)
        assert isinstance(records, StoredRecords)
        self.store = records

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether these are records of a store, and what is asked for can be counted there."""
        store = distant_records(task.records)
        if not isinstance(store, StoredRecords):
            return False
        return not any(_too_much(store, query) for query in task.queries)

    @property
    def height(self) -> int:
        """Number of records."""
        return self.store.records

    @property
    def sizes(self) -> Mapping[CubeAxis, int]:
        """Number of values per axis."""
        axes = {axis for query in self.task.queries for axis in query.axes}
        return {axis: len(self.store.values(axis.column)) for axis in axes}

    def groups(self) -> list[QueryGroup]:
        """The queries in groups: a pass is cheaper than adding up a large cube."""
        return plan(self.task.queries, records=None, sizes=self.sizes)

    def key_check(self) -> KeyCheck | None:
        """Result of the key test when the store was built."""
        task = self.task
        if task.record_key is None:
            return None
        return self.store.key_check(task.record_key, task.grid, allowed=task.unsuitable_keys)

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """One cube after the other."""
        for one in passes:
            try:
                yield _StorePass(self.store, one, self.task.grid).cube()
            except DiscreetError:
                key = self.task.record_key if one.layout.keyed else None
                raise_flaws(self.store.plan(), one, key, self.task.grid)
                raise


def _too_much(store: StoredRecords, query: Any) -> bool:
    """Whether a query is none for tables of codes."""
    columns = store.columns
    if query.opaque or any(axis.levels for axis in query.axes):
        return True
    if any(columns.get(axis.column, {"kind": "plain"})["kind"] == "plain" for axis in query.axes):
        return True
    if any(store.values(axis.column).dtype.is_float() and not axis.bounds for axis in query.axes):
        return True  # numbers with decimals are no codes, unless a filter leaves them out
    if query.filter and len(query.filter.parts()) > _MOST_FILTERS:
        return True
    if math.prod(len(store.values(axis.column)) for axis in query.axes) <= _MOST_CELLS:
        return False
    layout = MeasureLayout(keyed=False, weight=None, values=())
    one = Pass(axes=query.axes, where=None, layout=layout, asked=query.where or None)
    return _StorePass(store, one, KeyGrid.of(LIMB)).cells > _MOST_CELLS


class _StorePass:
    """One pass over a store."""

    def __init__(self, store: StoredRecords, one: Pass, grid: KeyGrid) -> None:
        self.store, self.one, self.grid = store, one, grid
        self.codings = [_coding(store, axis) for axis in one.axes]
        asked = one.asked if isinstance(one.asked, str) else ""
        self.conditions = _conditions(store, asked) if asked else []
        self._joint = [each for each in self.conditions if len(each.columns) != 1]
        named = [name for condition in self.conditions for name in condition.columns]
        coded = [name for name in named if store.columns[name]["kind"] != "plain"]
        self.passed = {
            name: np.ones(len(store.values(name)), np.bool_)
            for name in dict.fromkeys([*(axis.column for axis in one.axes), *coded])
        }
        for condition in self.conditions:
            if len(condition.columns) == 1 and condition.passed is not None:
                self.passed[condition.columns[0]] &= condition.passed
        inside = np.diff(store.offsets) > 0  # the areas with records that may pass
        for name, passed in self.passed.items():
            kind = store.columns[name]["kind"]
            if kind != "coded":
                inside &= passed if kind == "sorted" else passed[store.codes(name)]
        self.areas = np.flatnonzero(inside)
        self.kept, self.tables, self.cells = self._tables()

    def _tables(self) -> tuple[list[IntArray], dict[str, Any], int]:
        """Per axis the positions that may occur, per column what a code adds, number of cells."""
        store, kept, places = self.store, [], []
        for axis, coding in zip(self.one.axes, self.codings, strict=True):
            name, position = axis.column, coding.codes.to_numpy()
            kind, passed = store.columns[name]["kind"], self.passed[name]
            if kind != "coded":
                own = self.areas if kind == "sorted" else store.codes(name)[self.areas]
                among = np.zeros(len(passed), dtype=np.bool_)
                among[own] = True
                passed = among
            used = np.zeros(coding.size, dtype=np.bool_)
            used[position[passed]] = True
            kept.append(np.flatnonzero(used))
            places.append((np.cumsum(used) - 1).clip(0)[position])
        sizes = [max(len(item), 1) for item in kept]
        tables: dict[str, Any] = {
            name: np.where(passed, 0, _OUT).astype(np.int32) for name, passed in self.passed.items()
        }
        cells = math.prod(sizes)
        stride = cells
        for axis, size, place in zip(self.one.axes, sizes, places, strict=True):
            stride //= size
            tables[axis.column] += (place * stride).astype(np.int32)
        return kept, tables, cells

    def begin(self) -> None:
        """Make ready what tells the cell of a record."""
        from discreet.tabulation import compiled_store as loops

        self.loops, self.area_table = loops, np.zeros(len(self.store.offsets) - 1, np.int32)
        self.steps: list[tuple[Any, Any]] = []
        for name, table in self.tables.items():
            kind = self.store.columns[name]["kind"]
            if kind == "coded" and bool(table.any()):
                self.steps.append((self.store.codes(name), table))
            elif kind != "coded":
                codes = slice(None) if kind == "sorted" else self.store.codes(name)
                self.area_table += table[codes]

    def cube(self) -> Cube:
        """Count."""
        self.begin()
        one = self.one.complete()
        counted = one.numbers or one.layout.largest
        measured = self._measured(one) if counted else self._counted(one)
        flat = np.flatnonzero(measured.measures[0] != 0)
        sizes = [max(len(item), 1) for item in self.kept]
        positions = CellIndex(tuple(sizes)).positions(flat)
        measured = measured.of_cells(flat)
        codings = zip(self.codings, self.kept, strict=True)
        return Cube(
            axes=one.axes,
            codes=tuple(positions),
            values=tuple(coding.values[own] for coding, own in codings),
            measures=measured.measures,
            layout=one.layout,
            largest=measured.largest,
        )

    def ranges(self, step: int) -> Iterator[tuple[int, int]]:
        """The records of the areas, at most so many at a time."""
        if not len(self.areas):
            return
        breaks = np.flatnonzero(np.diff(self.areas) > 1) + 1
        for run in np.split(self.areas, breaks):
            first, last = self.store.offsets[run[0]], self.store.offsets[run[-1] + 1]
            edges = [*range(int(first), int(last), step), int(last)]
            yield from pairwise(edges)

    def cell_numbers(self, start: int, stop: int, room: Any) -> Any:
        """The number of the cell of each record; beyond all cells for those left out."""
        numbers = room[: stop - start]
        area = int(np.searchsorted(self.store.offsets, start, side="right")) - 1
        self.loops.start_areas(self.store.offsets, self.area_table, area, start, numbers)
        for codes, table in self.steps:
            self.loops.add_table(codes[start:stop], table, numbers)
        for condition in self._joint:
            if condition.passed is None:
                frame = self.store.frame(sorted(condition.filter.columns), start, stop)
                numbers[~_mask(self.store, condition.filter, frame)] += _OUT
                continue
            sizes = [len(self.store.values(name)) for name in condition.columns]
            codes = [self._codes(name, start, stop) for name in condition.columns]
            joint = np.ravel_multi_index(codes, sizes)
            numbers[~condition.passed[joint]] += _OUT
        return numbers

    def _codes(self, name: str, start: int, stop: int) -> Any:
        kind = self.store.columns[name]["kind"]
        if kind == "coded":
            return self.store.codes(name)[start:stop]
        areas = self.store.areas(start, stop)
        return areas if kind == "sorted" else self.store.codes(name)[areas]

    def _counted(self, one: Pass) -> Counted:
        """Records, and their keys; on as many processors as nobody else counts on."""
        ranges = list(self.ranges(_STEP))
        with _processors(sum(stop - start for start, stop in ranges)) as most:
            parts = [
                ranges[at * len(ranges) // most : (at + 1) * len(ranges) // most]
                for at in range(most)
            ]
            if most == 1:
                counts, sums = self._counted_in(ranges, one)
            else:
                with ThreadPoolExecutor(most) as pool:
                    results = list(pool.map(lambda part: self._counted_in(part, one), parts))
                counts, sums = results[0]
                for more, keys in results[1:]:
                    counts += more
                    sums += keys - self.grid.size
                    sums += self.grid.size & (sums >> 63)
        rows = [counts, *divmod(sums, LIMB)] if one.layout.keyed else [counts]
        return Counted(np.vstack(rows)[:, :-1], {})

    def _counted_in(self, ranges: Sequence[tuple[int, int]], one: Pass) -> tuple[Any, Any]:
        """The records of these ranges, and the sums of their keys."""
        small = all(codes.dtype.itemsize <= 2 for codes, _ in self.steps)
        if one.layout.keyed and small and len(self.steps) == 2 and not self._joint:
            return self._counted_by_two(ranges)
        counts = np.zeros(self.cells + 1, dtype=np.int64)
        sums = np.zeros(self.cells + 1, dtype=np.int64)
        room = np.empty(_STEP, dtype=np.int32)
        keys = self.store.keys if one.layout.keyed else None
        for start, stop in ranges:
            numbers = self.cell_numbers(start, stop, room)
            if keys is None:
                self.loops.count(numbers, counts)
            else:
                self.loops.count_keys(numbers, keys[start:stop], self.grid.size, counts, sums)
        return counts, sums

    def _counted_by_two(self, ranges: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
        """The same in one loop, without the numbers of cells between."""
        store, ((codes, table), (others, other)) = self.store, self.steps
        lanes = _LANES if self.cells <= _FEW_CELLS else 0
        counts = np.zeros((self.cells + 1) << lanes, dtype=np.int64)
        sums = np.zeros((self.cells + 1) << lanes, dtype=np.int64)
        for start, stop in ranges:
            area = int(np.searchsorted(store.offsets, start, side="right")) - 1
            self.loops.count_codes(
                *(store.offsets, self.area_table, area, start),
                *(codes[start:stop], table, others[start:stop], other),
                *(store.keys[start:stop], self.grid.size, lanes, counts, sums),
            )
        # Sums on the grid: a few of them stay far below 2^63.
        shape = (self.cells + 1, 1 << lanes)
        return counts.reshape(shape).sum(axis=1), sums.reshape(shape).sum(axis=1) % self.grid.size

    def _measured(self, one: Pass) -> Counted:
        """The same with weights, values and the largest contributions."""
        step = _STEP * _DECODED
        room, layout, loops = np.empty(step, dtype=np.int32), one.layout, None
        for start, stop in [(0, 0), *self.ranges(step)]:
            numbers = self.cell_numbers(start, stop, room) if stop else room[:0]
            chosen = np.flatnonzero(numbers < self.cells)
            frame = self.store.frame(list(dict.fromkeys(one.numbers)), start, stop)[chosen]
            amounts = Amounts.of(layout, {n: read_numbers(frame[n], n) for n in frame.columns})
            keys = self.store.keys[start:stop][chosen] if layout.keyed else None
            records = RecordArrays(
                codes=[numbers[chosen].astype(np.uint32)],
                sizes=[self.cells],
                keys=keys,
                modulus=self.grid.size,
                count=len(chosen),
                amounts=amounts,
                layout=layout,
            )
            loops = CompiledPass(records) if loops is None else loops
            loops.records = records
            measure(loops, (0, len(chosen)))
        assert loops is not None
        loops.finish((0, 0))
        return Counted(loops.measures, loops.largest)


def _conditions(store: StoredRecords, text: str) -> list[_Condition]:
    """The parts of a filter; the steps of an answer ask for the same."""
    known = _CONDITIONS.setdefault(store, {})
    if (conditions := known.get(text)) is None:
        if len(known) >= _MOST_CONDITIONS:
            known.clear()
        conditions = [_condition(store, part) for part in parse_filter(text).parts()]
        if sum(one.passed.size for one in conditions if one.passed is not None) <= _KEPT_CODES:
            known[text] = conditions
    return conditions


def _condition(store: StoredRecords, part: Filter) -> _Condition:
    """A part of the filter, worked out for each combination of codes if there are few."""
    columns = tuple(sorted(part.columns))
    if any(name == store.record_key for name in columns):
        return _Condition(part, (), None)
    plain = any(store.columns[name]["kind"] == "plain" for name in columns)
    sizes = [len(store.values(name)) for name in columns]
    if plain or math.prod(sizes) > _JOINT:
        return _Condition(part, (), None)
    if len(columns) == 1:
        frame = store.values(*columns).to_frame(*columns)
    else:
        codes = np.unravel_index(np.arange(math.prod(sizes)), sizes)
        values = zip(columns, codes, strict=True)
        frame = pl.DataFrame({name: store.values(name).gather(at) for name, at in values})
    return _Condition(part, columns, _mask(store, part, frame))


def _mask(store: StoredRecords, part: Filter, frame: pl.DataFrame) -> BoolArray:
    if (texts := part.among_texts(frame.to_dict())) is not None:
        return texts.to_numpy()
    passed = np.zeros(frame.height, dtype=np.bool_)
    passed[chosen_records(frame, part.to_narwhals(store.plan().collect_schema()))] = True
    return passed


def _coding(store: StoredRecords, axis: CubeAxis) -> CodedColumn:
    """For each code of a column, its position on an axis; many questions have the same."""
    known = _CODINGS.setdefault(store, {})
    if axis not in known:
        if len(known) >= _MOST_CODINGS:
            known.clear()
        values = store.values(axis.column)
        codes = pl.int_range(len(values), dtype=pl.UInt32, eager=True)
        known[axis] = (
            CodedColumn(codes, code_texts(values, axis.column), compact=True)
            if axis.bounds is None
            else code_column(values, axis)
        )
    return known[axis]


class StoredChoice(Confidential):
    """The records of a store that a filter lets through. CONFIDENTIAL."""

    def __init__(self, store: StoredRecords, condition: str, grid: KeyGrid) -> None:
        layout = MeasureLayout(keyed=False, weight=None, values=())
        one = Pass(axes=(), where=None, layout=layout, asked=condition or None)
        self._pass = _StorePass(store, one, grid)
        self._store = store

    @property
    def areas(self) -> IntArray:
        """The areas with records that may be let through."""
        return self._pass.areas

    @property
    def whole(self) -> bool:
        """Whether all records of these areas are let through."""
        columns = self._store.columns
        return all(
            one.passed is not None
            and len(one.columns) == 1
            and columns[one.columns[0]]["kind"] != "coded"
            for one in self._pass.conditions
        )

    def parts(self) -> Iterator[tuple[int, Any]]:
        """Ranges of records: the first, and for each 0 if it is let through, else more."""
        self._pass.begin()
        room = np.empty(_STEP, dtype=np.int32)
        for start, stop in self._pass.ranges(_STEP):
            yield start, self._pass.cell_numbers(start, stop, room)
