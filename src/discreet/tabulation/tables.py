"""`tabulate`: records to tables with all margins and levels.

In: records of any engine, and queries. Out: `Table`s (confidential). Tables that count
the same records with the same weights share a pass when the joint cube stays small
beside the records. The engines are found in this package: each takes the records that it
can read, and all give the same table, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, RecordKeyError, raise_all
from discreet.keygrid import KeyGrid
from discreet.memory_limit import share_heap
from discreet.microdata import distant_records, import_record_keys, read_microdata
from discreet.tables import Table
from discreet.tabulation.assembly import assemble
from discreet.tabulation.cube import Cube
from discreet.tabulation.cube_sets import cubes_of_records
from discreet.tabulation.engine import Engine, Pass, TabulationTask, known_engines, refusals
from discreet.tabulation.flaws import check_types
from discreet.tabulation.measures import MeasureLayout
from discreet.tabulation.query import Query, QueryGroup, plan

if TYPE_CHECKING:
    from discreet.tables import Spanning

Progress = Callable[[int, int], None]


@without_values
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
    key_digits: str = "exact",
    allow_unsuitable_keys: bool = False,
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
        key_digits: "exact", or "round" to round decimals of more than 15 digits, as random
            numbers that other tools drew have them.
        allow_unsuitable_keys: Count even if the keys cannot be keys: identifiers, values,
            keys of another grid. Their noise protects nothing, and releases say so.
        name: Name of the table.

    Returns:
        The table, confidential.

    >>> import polars as pl
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
    ((_, table),) = iterate_tables(
        frame,
        [query],
        record_key=record_key,
        key_grid=key_grid,
        key_digits=key_digits,
        allow_unsuitable_keys=allow_unsuitable_keys,
    )
    return table


@without_values
def tabulate_many(
    frame: Any,
    queries: Sequence[Query],
    *,
    record_key: str | None = None,
    key_grid: KeyGrid | int | str = 10**15,
    key_digits: str = "exact",
    allow_unsuitable_keys: bool = False,
    progress: Progress | None = None,
) -> list[Table]:
    """Count several tables; those that share records and variables share a pass.

    Args:
        frame: As for `tabulate`.
        queries: The tables.
        record_key: As for `tabulate`.
        key_grid: As for `tabulate`.
        key_digits: As for `tabulate`.
        allow_unsuitable_keys: As for `tabulate`.
        progress: Called with the numbers of tables done and to do.

    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["m", "w", "m"], "age": [1, 2, 1]})
    >>> tabulate_many(people, [Query(by=["sex"], name="a"), Query(by=["age"], name="b")])
    [<Table a (confidential): sex, 3 cells>, <Table b (confidential): age, 3 cells>]
    """
    tables: list[Table | None] = [None] * len(queries)
    done = iterate_tables(
        frame,
        queries,
        record_key=record_key,
        key_grid=key_grid,
        key_digits=key_digits,
        allow_unsuitable_keys=allow_unsuitable_keys,
    )
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
    key_digits: str = "exact",
    allow_unsuitable_keys: bool = False,
    test_keys: bool = True,
) -> Iterator[tuple[int, Table]]:
    """As `tabulate_many`, one table at a time: (position of the query, table).

    Tables come in the order in which base cubes are made, so that a long
    programme needs the memory of one cube and one table. Numbers that the package has just
    drawn need no test.
    """
    records = read_microdata(frame)
    if record_key is not None and key_digits != "exact":
        records = import_record_keys(
            records, column=record_key, grid=key_grid, to=record_key, digits=key_digits
        )
    task = TabulationTask(
        records=records,
        queries=queries,
        record_key=record_key,
        grid=KeyGrid.of(key_grid),
        unsuitable_keys=allow_unsuitable_keys,
    )
    if isinstance(records, nw.LazyFrame):  # else memory would grow with the file
        share_heap()
    engines = _engines(task)
    keys = engines[0].key_check() if test_keys else None
    for group, cube in _counted(engines, engines[0].groups()):
        for at in group.members:
            yield at, assemble(cube, queries[at], task.grid, keys)


@without_values
def add_up(
    records: Any,
    queries: Sequence[Query],
    *,
    record_key: str | None = None,
    key_grid: KeyGrid | int | str = 10**15,
    allow_unsuitable_keys: bool = False,
) -> bytes:
    """The file of cubes of some records: what is left of them when they are added up."""
    task = TabulationTask(
        records=read_microdata(records),
        queries=queries,
        record_key=record_key,
        grid=KeyGrid.of(key_grid),
        unsuitable_keys=allow_unsuitable_keys,
    )
    engines = _engines(task)
    # Which cubes there are is up to the queries alone, so that those of all parts add up.
    counted = list(_counted(engines, plan(queries, records=None, sizes=task.sizes)))
    return cubes_of_records(task, counted, engines[0].key_check())


def _engines(task: TabulationTask) -> list[Engine]:
    """The engines that take a task, once it is clear that it can be done."""
    _check_columns(task.schema, task.queries, task.record_key)
    check_types(task.schema, task.queries, task.record_key)
    task.conditions  # noqa: B018 - filters that fit
    with refusals(filtered=False):
        distant = distant_records(task.records) is not None
        known = [engine for engine in known_engines() if engine.distant == distant]
        engines = [engine(task) for engine in known if engine.takes(task)]
        # Records that are not counted where they are come here.
        others = [engine for engine in known_engines() if not engine.distant] if not engines else []
        return engines or [engine(task) for engine in others if engine.takes(task)]


def _counted(
    engines: Sequence[Engine], groups: Sequence[QueryGroup]
) -> Iterator[tuple[QueryGroup, Cube]]:
    """The cubes of all groups; engines that suit few passes come first."""
    task = engines[0].task
    shared: list[tuple[QueryGroup, Pass, Engine]] = []
    for group in groups:
        one = Pass(
            axes=tuple(group.axes),
            where=task.conditions[group.members[0]],
            layout=MeasureLayout(
                keyed=task.record_key is not None,
                weight=group.weight,
                values=tuple(group.values),
                largest=group.largest,
            ),
            asked=task.queries[group.members[0]].where,
        )
        shared.append((group, one, next(engine for engine in engines if engine.suits(one))))
    for engine in reversed(engines):
        own = [(group, one) for group, one, chosen in shared if chosen is engine]
        cubes = engine.run([one for _, one in own])
        yield from ((group, cube) for (group, _), cube in zip(own, cubes, strict=True))


def _check_columns(schema: nw.Schema, queries: Sequence[Query], record_key: str | None) -> None:
    """All missing columns at once, with the table that names them."""
    frame = ", ".join(list(schema)[:30])
    problems, keyed = [], list[Problem]()
    if not isinstance(record_key, str | None):
        raise MicrodataError(
            "record_key must be the name of a column",
            code="record-key",
            where="record_key",
            hint='write record_key="…"',
        )
    if record_key is not None and record_key not in schema:
        problems.append(Problem(f"column {record_key!r} of record keys not found", "records"))
    for query in queries:
        if record_key is not None and record_key in query.columns:
            message = f"column {record_key!r} contains the record keys and cannot be used in tables"
            keyed.append(Problem(message, query.name, "record keys only determine the noise"))
        filtered = query.filter.columns if query.filter else frozenset()
        problems += [
            Problem(f"column {column!r} not found", query.name, f"columns: {frame}")
            for column in query.columns
            if column not in schema and column not in filtered
        ]
    raise_all(RecordKeyError, keyed, code="key-use", where="")
    raise_all(MicrodataError, problems, code="missing-column", many="{} columns not found")
