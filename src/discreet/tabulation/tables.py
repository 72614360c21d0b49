"""`tabulate`: records to tables with all margins and levels.

In: records of any engine, and queries. Out: `Table`s (confidential). Tables that count
the same records with the same weights share a pass when the joint cube stays small
beside the records. Frames in memory are coded and counted by kernels; lazy frames and
databases count for themselves and give back aggregates. Both give the same table, bit
for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from discreet.errors import MicrodataError, Problem, RecordKeyError, raise_all
from discreet.keygrid import KeyGrid
from discreet.microdata import read_microdata
from discreet.microdata.frames import eager_columns
from discreet.tables import Table
from discreet.tabulation.assembly import assemble
from discreet.tabulation.batches import comes_in_batches, run_in_batches
from discreet.tabulation.cube import Cube
from discreet.tabulation.measures import MeasureLayout
from discreet.tabulation.memory import CodedRecords
from discreet.tabulation.pushdown import Pass, run_passes
from discreet.tabulation.query import CubeAxis, Query

if TYPE_CHECKING:
    from discreet.tables.table import Spanning

__all__ = ["QueryGroup", "iterate_tables", "plan", "tabulate", "tabulate_many"]

#: A joint cube may have so many possible cells, whatever the number of records …
_SMALL = 2**16
#: … or this share of the records.
_SHARE = 8
_UNKNOWN_SIZE = 64


@dataclass
class QueryGroup:
    """Queries answered from one base cube.

    Args:
        where: The filter that all share.
        weight: The weight that all share.
        axes: Axes of the cube.
        values: Columns summed in the cube.
        largest: Per column, how many of the largest contributions the cube has.
        members: Positions of the queries.
    """

    where: Any
    weight: str | None
    axes: dict[CubeAxis, None] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
    largest: dict[str, int] = field(default_factory=dict)
    members: list[int] = field(default_factory=list)

    def take(self, at: int, query: Query) -> None:
        """Add a query."""
        self.axes.update(dict.fromkeys(query.axes))
        self.values.update(dict.fromkeys(query.values))
        for name, k in query.largest.items():
            self.largest[name] = max(k, self.largest.get(name, 0))
        self.members.append(at)


def plan(
    queries: Sequence[Query], *, records: int | None, sizes: Mapping[CubeAxis, int]
) -> list[QueryGroup]:
    """Group the queries, widest first.

    Args:
        queries: What to count.
        records: Number of records, if known.
        sizes: Number of values per axis, as far as known.
    """
    limit = max(_SMALL, (records or 0) // _SHARE)
    groups: list[QueryGroup] = []
    order = sorted(range(len(queries)), key=lambda at: (-len(queries[at].axes), at))
    for at in order:
        query = queries[at]
        home = _home(groups, query, limit, sizes)
        if home is None:
            home = QueryGroup(_same(query), query.weight)
            groups.append(home)
        home.take(at, query)
    return groups


def _same(query: Query) -> Any:
    """What tells filters apart: texts by what they say, expressions by identity."""
    return id(query.where) if query.opaque else query.where or ""


def _home(
    groups: Sequence[QueryGroup], query: Query, limit: int, sizes: Mapping[CubeAxis, int]
) -> QueryGroup | None:
    fitting = [
        group for group in groups if group.where == _same(query) and group.weight == query.weight
    ]
    for group in fitting:
        if all(axis in group.axes for axis in query.axes):
            return group
    for group in fitting:
        cells = 1
        for axis in {**group.axes, **dict.fromkeys(query.axes)}:
            cells *= sizes.get(axis, _UNKNOWN_SIZE)
        if cells <= limit:
            return group
    return None


#: A lazy polars frame of at most this many bytes is read once when several cubes need it.
_MEMORY_BUDGET = 2 * 2**30
_BYTES_PER_VALUE = 16

Progress = Callable[[int, int], None]


def tabulate(
    frame: Any,
    by: Sequence[Spanning],
    *,
    record_key: str | None = None,
    weight: str | None = None,
    values: Sequence[str] = (),
    contributions: int | Mapping[str, int] = 0,
    where: str | nw.Expr | None = None,
    key_grid: KeyGrid | int | str = 10**15,
    name: str = "table",
) -> Table:
    """Count records into a table with all margins and hierarchy levels.

    Args:
        frame: Records: any frame that narwhals reads, or the path of a file.
        by: The spanning variables. A text means a flat classification of the values
            found; a list of classifications means breakdowns that do not nest.
        record_key: Column of record keys; without it the table cannot be perturbed.
        weight: Column of weights.
        values: Columns to sum; a missing value adds nothing.
        contributions: How many of the largest contributions to each value column to keep
            in `Table.contributions`, up to 16; or how many per column.
        where: Which records count: a filter text or a narwhals expression.
        key_grid: The grid of the record keys.
        name: Name of the table.

    Returns:
        The table, confidential.

    >>> people = pl.DataFrame({"sex": ["m", "w", "m"], "key": [0.25, 0.5, 0.9]})
    >>> tabulate(people, by=["sex"], record_key="key")
    <Table table (confidential): sex, 3 cells>

    >>> homes = pl.DataFrame({"rent": [310.0, 900.0, 480.0]})
    >>> rents = tabulate(homes, by=[], values=["rent"], contributions=2).contributions["rent"]
    >>> rents.top.tolist()
    [[900.0, 480.0]]
    """
    query = Query(
        by=by, where=where, weight=weight, values=values, contributions=contributions, name=name
    )
    return tabulate_many(frame, [query], record_key=record_key, key_grid=key_grid)[0]


def tabulate_many(
    frame: Any,
    queries: Sequence[Query],
    *,
    record_key: str | None = None,
    key_grid: KeyGrid | int | str = 10**15,
    progress: Progress | None = None,
) -> list[Table]:
    """Count several tables; those that share records and variables share a pass.

    Args:
        frame: As for `tabulate`.
        queries: The tables.
        record_key: As for `tabulate`.
        key_grid: As for `tabulate`.
        progress: Called with the numbers of tables done and to do.

    >>> people = pl.DataFrame({"sex": ["m", "w", "m"], "age": [1, 2, 1]})
    >>> tabulate_many(people, [Query(by=["sex"], name="a"), Query(by=["age"], name="b")])
    [<Table a (confidential): sex, 3 cells>, <Table b (confidential): age, 3 cells>]
    """
    tables: list[Table | None] = [None] * len(queries)
    done = iterate_tables(frame, queries, record_key=record_key, key_grid=key_grid)
    for number, (at, table) in enumerate(done, 1):
        tables[at] = table
        if progress is not None:
            progress(number, len(queries))
    return [table for table in tables if table is not None]


def iterate_tables(
    frame: Any,
    queries: Sequence[Query],
    *,
    record_key: str | None = None,
    key_grid: KeyGrid | int | str = 10**15,
) -> Iterator[tuple[int, Table]]:
    """As `tabulate_many`, one table at a time: (position of the query, table).

    Tables come in the order in which base cubes are made, so that a long
    programme needs the memory of one cube and one table.
    """
    grid = KeyGrid.of(key_grid)
    records = read_microdata(frame)
    _check_columns(records.collect_schema(), queries, record_key)
    schema = records.collect_schema()
    conditions = [query.condition(schema) for query in queries]
    if isinstance(records, nw.LazyFrame):
        records = _perhaps_read(records, queries, record_key)
    if isinstance(records, nw.LazyFrame):
        cubes = _pushed_down(records, queries, conditions, record_key, grid)
    else:
        cubes = _in_memory(records, queries, conditions, record_key, grid)
    for group, cube in cubes:
        for at in group.members:
            yield at, assemble(cube, queries[at], grid)


def _in_memory(
    records: nw.DataFrame[Any],
    queries: Sequence[Query],
    conditions: Sequence[nw.Expr | None],
    record_key: str | None,
    grid: KeyGrid,
) -> Iterator[tuple[QueryGroup, Cube]]:
    coded = CodedRecords(
        _polars(records, _used(queries, record_key, records.columns)),
        (axis for query in queries for axis in query.axes),
        record_key=record_key,
        grid=grid,
        numbers=_numbers(queries),
    )
    sizes = {axis: coding.size for axis, coding in coded.codings.items()}
    for group in plan(queries, records=coded.height, sizes=sizes):
        where = conditions[group.members[0]]
        yield group, coded.cube(tuple(group.axes), where, _layout(group, record_key))


def _pushed_down(
    records: nw.LazyFrame[Any],
    queries: Sequence[Query],
    conditions: Sequence[nw.Expr | None],
    record_key: str | None,
    grid: KeyGrid,
) -> Iterator[tuple[QueryGroup, Cube]]:
    groups = plan(queries, records=None, sizes=_tree_sizes(queries))
    passes = [
        Pass(
            axes=tuple(group.axes),
            where=conditions[group.members[0]],
            layout=_layout(group, record_key),
        )
        for group in groups
    ]
    batched = [
        at for at, one in enumerate(passes) if one.layout.largest and comes_in_batches(records)
    ]
    grouped = [at for at in range(len(passes)) if at not in batched]
    for run, some in ((run_passes, grouped), (run_in_batches, batched)):
        cubes = run(records, [passes[at] for at in some], record_key=record_key, grid=grid)
        yield from zip([groups[at] for at in some], cubes, strict=True)


def _perhaps_read(
    records: nw.LazyFrame[Any], queries: Sequence[Query], record_key: str | None
) -> nw.LazyFrame[Any] | nw.DataFrame[Any]:
    """Read a lazy polars frame that several cubes need, if it fits into the memory budget."""
    if len(queries) < 2 or not isinstance(records.to_native(), pl.LazyFrame):
        return records
    if len(plan(queries, records=None, sizes=_tree_sizes(queries))) < 2:
        return records
    used = _used(queries, record_key, records.collect_schema().names())
    height = int(records.select(nw.len()).collect().item())
    if not used or height * len(used) * _BYTES_PER_VALUE > _MEMORY_BUDGET:
        return records
    return records.select(used).collect()


def _layout(group: QueryGroup, record_key: str | None) -> MeasureLayout:
    return MeasureLayout(
        keyed=record_key is not None,
        weight=group.weight,
        values=tuple(group.values),
        largest=group.largest,
    )


def _tree_sizes(queries: Sequence[Query]) -> dict[CubeAxis, int]:
    return {
        axis: len(tree.leaves)
        for query in queries
        for variable in query.variables
        for tree, axis in zip(variable.trees, variable.axes, strict=False)
    }


def _used(queries: Sequence[Query], record_key: str | None, every: Sequence[str]) -> list[str]:
    """Columns to read; expressions may look at any, so then it is all of them."""
    if any(query.opaque for query in queries):
        return list(every)
    named = dict.fromkeys(column for query in queries for column in query.columns)
    return list(named) + ([record_key] if record_key and record_key not in named else [])


def _polars(records: nw.DataFrame[Any], columns: Sequence[str]) -> pl.DataFrame:
    if not columns:
        return pl.DataFrame(height=len(records))
    return eager_columns(records, columns)


def _numbers(queries: Sequence[Query]) -> list[str]:
    weights = [query.weight for query in queries if query.weight]
    return list(dict.fromkeys([*weights, *(name for query in queries for name in query.values)]))


def _check_columns(schema: nw.Schema, queries: Sequence[Query], record_key: str | None) -> None:
    """All missing columns at once, with the table that names them."""
    found = ", ".join(list(schema)[:30])
    problems, keyed = [], list[Problem]()
    if not isinstance(record_key, str | None):
        raise MicrodataError(
            "record_key is the name of a column",
            code="record-key",
            where="record_key",
            hint='write record_key="…"',
        )
    if record_key is not None and record_key not in schema:
        problems.append(Problem(f"column {record_key!r} (record keys) is missing", "records"))
    for query in queries:
        if record_key is not None and record_key in query.columns:
            what = f"column {record_key!r} holds the record keys; no table is made of it"
            keyed.append(Problem(what, query.name, "keys choose the noise and nothing else"))
        filtered = query.filter.columns if query.filter else frozenset()
        problems += [
            Problem(f"column {column!r} is missing", query.name, f"columns found: {found}")
            for column in query.columns
            if column not in schema and column not in filtered
        ]
    raise_all(RecordKeyError, keyed, code="key-use", where="")
    raise_all(MicrodataError, problems, code="missing-column", many="{} columns are missing")
