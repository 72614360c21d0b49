"""The base cube from an engine that hands over its records in batches.

In: a lazy polars frame or a DuckDB relation. Out: `Cube` (confidential). The engine
reads, filters and hands over the columns needed; the kernels count each batch, which
is several times faster than lists of largest values in the engines, and memory stays
that of a batch and the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from discreet.errors import DiscreetError
from discreet.keygrid import KeyGrid
from discreet.memory_limit import batch_size, cells_held, cells_room
from discreet.record_batches import batches
from discreet.tabulation.cube import Cube, join_cubes
from discreet.tabulation.engine import Engine, Pass, TabulationTask
from discreet.tabulation.flaws import engine_keys, engines_add, number, raise_flaws
from discreet.tabulation.memory import CodedRecords

if TYPE_CHECKING:
    from discreet.tabulation.query import CubeAxis

_POLARS = nw.Implementation.POLARS
#: Records per batch.
_BATCH = 2**21
#: From so many cells on, the cubes of batches are joined before the next one comes.
_CELLS = 2**22


class BatchEngine(Engine):
    """Lazy polars frames; DuckDB, where the largest contributions are wanted.

    Passes with the same filter share one reading of the records, so that no pass sees others.
    """

    name = "batches"
    rank = 2

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether an engine in this process hands over records batch by batch."""
        kinds = (_POLARS, nw.Implementation.DUCKDB)
        return isinstance(task.records, nw.LazyFrame) and task.records.implementation in kinds

    def suits(self, one: Pass) -> bool:
        """Whether the kernels are faster: at lists of largest values, and at any column of polars.

        Also where only they can read the keys.
        """
        key = self.task.record_key
        readable = key is None or engines_add(self.task.schema[key])
        polars = self.task.records.implementation is _POLARS
        return (polars and bool(one.axes)) or bool(one.layout.largest) or not readable

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """The cubes of all passes.

        Bad records are found batch by batch; the engine then counts all of them for the error.
        """
        frame, by_place = self.task.records, dict[int, Cube]()
        assert isinstance(frame, nw.LazyFrame)
        for at, first in enumerate(passes):
            if at not in by_place:
                places = [
                    place
                    for place, one in enumerate(passes)
                    if place >= at and place not in by_place and _filter(one) == _filter(first)
                ]
                together = [passes[place] for place in places]
                try:
                    cubes = _read_once(frame, together, self.task.record_key, self.task.grid)
                except DiscreetError:
                    for one in passes:
                        raise_flaws(frame, one, self.task.record_key, self.task.grid)
                    raise
                by_place.update(zip(places, cubes, strict=False))
            yield by_place.pop(at)


def _filter(one: Pass) -> str | int:
    """What tells filters apart: texts by what they say, expressions by identity."""
    return one.asked if isinstance(one.asked, str) else id(one.where)


def _read_once(
    frame: nw.LazyFrame[Any], passes: Sequence[Pass], record_key: str | None, grid: KeyGrid
) -> list[Cube]:
    """The cubes of as many passes as there is room for, the first ones; of one at least."""
    pending: list[list[Cube]] = [[] for _ in passes]
    axes: dict[CubeAxis, None] = dict.fromkeys(axis for one in passes for axis in one.axes)
    numbers = dict.fromkeys(name for one in passes for name in one.numbers)
    most, room = cells_held(_CELLS, len(passes)), cells_room()
    for batch in _batches(_needed(frame, passes, axes, numbers, record_key, grid)):
        records = CodedRecords(batch, axes, record_key=record_key, grid=grid, numbers=numbers)
        for cubes, one in zip(pending, passes, strict=False):
            cubes.append(records.cube(one.axes, None, one.layout))
            if sum(map(len, cubes[1:])) > max(most, len(cubes[0])):
                cubes[:] = [join_cubes(cubes)]
        while room is not None and len(pending) > 1 and _cells(pending) > room:
            pending.pop()
    return [join_cubes(cubes) for cubes in pending]


def _cells(pending: Sequence[Sequence[Cube]]) -> int:
    return sum(len(cube) for cubes in pending for cube in cubes)


def _needed(
    frame: nw.LazyFrame[Any],
    passes: Sequence[Pass],
    axes: Iterable[CubeAxis],
    numbers: Iterable[str],
    record_key: str | None,
    grid: KeyGrid,
) -> nw.LazyFrame[Any]:
    """The columns that the passes read, of the records that pass their filter."""
    schema = frame.collect_schema()
    if passes[0].where is not None:
        frame = frame.filter(passes[0].where)
    columns = {name: nw.col(name) for axis in axes for name in axis.columns}
    for name in numbers:
        columns.setdefault(name, number(name, schema))
    if record_key is not None:
        columns[record_key] = engine_keys(record_key, schema, grid)
    return frame.select(*(part.alias(name) for name, part in columns.items()))


def _batches(plan: nw.LazyFrame[Any]) -> Iterator[pl.DataFrame]:
    """The records, in any order; at least one batch.

    Engines hand over row groups as they are stored, many of them small; the kernels
    work on large batches much faster.
    """
    held: list[pl.DataFrame] = []
    height, count = 0, 0
    size = batch_size(_BATCH)
    for part in batches(plan, size):
        held.append(part)
        height += part.height
        if height >= size:
            yield pl.concat(held)
            held, height = [], 0
            count += 1
    if held and (height or not count):
        yield pl.concat(held)
