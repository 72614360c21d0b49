"""Engine that leaves counting to a database: SQL goes there, only cells come back.

In: a table of a database, which stays there. Out: `Cube` (confidential), from one grouped pass
each, all of them in one transaction. Per cell come back: its records, its keys in two sums, no
part of which can overflow, sums of whole numbers (limbs) for weights and values, and, from a
pass of its own, the largest contributions. Codes are grouped letter by letter, whatever the
database takes for equal. What SQL cannot say here is fetched, and counted by other engines.

The SQL is that of SQLAlchemy Core, so names are quoted and values are parameters.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import MicrodataError
from discreet.keygrid import LIMB
from discreet.microdata import DatabaseTable, distant_records, mixed_types, parse_filter, reading
from discreet.tabulation.cube import Cube
from discreet.tabulation.engine import Engine, Pass, TabulationTask
from discreet.tabulation.flaws import raise_flaws
from discreet.tabulation.measures import COARSE, FINE, LIMBS, LIMIT, MIDDLE, MeasureLayout
from discreet.tabulation.pushdown import (
    PLACE,
    VALUE,
    WEIGHT,
    cube_of,
    measure_name,
    stumbled,
)
from discreet.tabulation.query import CubeAxis, QueryGroup, plan

#: Databases that this was run on; others are asked only if this variable is 1.
TESTED, UNTESTED = ("postgresql", "sqlite"), "DISCREET_UNTESTED_DATABASES"
#: What compares texts letter by letter; databases that always do need none.
_COLLATIONS = {
    "postgresql": "C",
    "sqlite": "BINARY",
    "mssql": "Latin1_General_100_BIN2",
    "mysql": "utf8mb4_bin",
    "mariadb": "utf8mb4_bin",
}
#: Databases that have a number which is none.
_WITH_NAN = ("postgresql", "duckdb", "oracle", "snowflake")


#: So many records tell how many codes there are; this does not change what is counted.
_SAMPLE = 20_000
#: How much dearer than here a pass over a record is, beside a cell that comes back.
_DEARER = 1


class Terms:
    """Columns of a table, and what is made of them, as SQL."""

    def __init__(self, table: Any, schema: Mapping[str, Any], dialect: str) -> None:
        import sqlalchemy

        self.sql: Any = sqlalchemy
        self.table, self.schema, self.dialect = table, schema, dialect
        self._double: Any = sqlalchemy.Double()
        if dialect == "oracle":  # whose other numbers are decimal ones
            from sqlalchemy.dialects import oracle

            self._double = oracle.BINARY_DOUBLE()

    # -- of filters -----------------------------------------------------------------

    def column(self, name: str) -> Any:
        """A column: texts letter by letter, NaN as missing."""
        kind = self.schema[name]
        if kind == pl.Float64():
            return self.number(name)
        if kind == pl.String() and (collation := _COLLATIONS.get(self.dialect)):
            return self.sql.collate(self.table.c[name], collation)
        return self.table.c[name]

    def literal(self, value: Any) -> Any:
        """A value, as a parameter."""
        return self.sql.literal(value)

    def missing(self, term: Any) -> Any:
        """Whether a term has no value."""
        return term.is_(None)

    def within(self, term: Any, values: list[Any]) -> Any:
        """Whether a term is one of some values."""
        return term.in_(values) if values else self.sql.false()

    # -- of measures ------------------------------------------------------------------

    def number(self, name: str) -> Any:
        """A column as a number of double precision; NaN as missing."""
        column = self.table.c[name]
        if self.schema[name] == pl.Boolean():
            return self.sql.case((column, 1.0), (~column, 0.0))
        if self.dialect in ("mysql", "mariadb"):  # where casts to such numbers are new
            return column * self.sql.literal_column("1e0", self._double)
        number = self.sql.cast(column, self._double)
        if self.schema[name] != pl.Float64() or self.dialect not in _WITH_NAN:
            return number
        nan = self.sql.cast(self.sql.literal("NaN"), self._double)
        return self.sql.case((number != nan, number))

    def when(self, condition: Any, then: Any, otherwise: Any = 0) -> Any:
        """One of two terms."""
        return self.sql.case((condition, then), else_=otherwise)

    def whole(self, term: Any) -> Any:
        """A term that is a whole number, as one of 64 bits."""
        return self.sql.cast(term, self.sql.BigInteger())

    def quotient(self, term: Any, number: int) -> Any:
        """A whole number that is no less than 0, divided by another, without rest."""
        if self.dialect == "postgresql":  # whose division of whole numbers is one
            return term.op("/", return_type=self.sql.BigInteger())(number)
        return self.whole((term - term % number) / number)

    def floor(self, term: Any) -> Any:
        """The largest whole number below a term that is no less than 0, in double precision."""
        if self.dialect == "sqlite":
            return self.sql.cast(self.whole(term), self._double)
        return self.sql.func.floor(term)

    def large(self, number: Any) -> Any:
        """1 where a number is too large to be added exactly."""
        return self.when(self.sql.or_(number >= LIMIT, number <= -LIMIT), 1)


class DatabaseEngine(Engine):
    """A table of a database that SQL can count."""

    name = "database"
    rank = 0
    distant = True

    def __init__(self, task: TabulationTask) -> None:
        super().__init__(task)
        records = distant_records(task.records)
        assert isinstance(records, DatabaseTable)
        self._source = records
        self._terms = Terms(records.table, records.schema, records.engine.dialect.name)
        #: The last step of the statement that is being made, and their number.
        self._last: Any = None
        self._steps = 0

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether the table is in a database that is known, and SQL can say what is asked."""
        source = distant_records(task.records)
        if not isinstance(source, DatabaseTable) or any(query.opaque for query in task.queries):
            return False
        if source.engine.dialect.name not in TESTED and os.environ.get(UNTESTED) != "1":
            return False
        kinds, key = source.schema, task.record_key
        if source.uncounted.intersection(task.reads):
            return False
        levels = [name for query in task.queries for axis in query.axes for name in axis.levels]
        texts = all(kinds[name] in (pl.String(), pl.Int64()) for name in levels)
        return texts and (key is None or kinds[key] == pl.Int64())

    @cached_property
    def height(self) -> int:
        """Number of records."""
        sql, source = self._terms.sql, self._source
        with reading(source.engine, source.where) as connection:
            rows = connection.execute(sql.select(sql.func.count()).select_from(source.table))
            return int(rows.scalar_one())

    @cached_property
    def sizes(self) -> Mapping[CubeAxis, int]:
        """Number of codes per axis; of those that are not known, that among the first records."""
        known = dict(self.task.sizes)
        unknown = [axis for query in self.task.queries for axis in query.axes if axis not in known]
        axes = list(dict.fromkeys(unknown))
        if not axes:
            return known
        sql, source = self._terms.sql, self._source
        columns = [self._axis(axis).label(f"axis{at}") for at, axis in enumerate(axes)]
        first = sql.select(*columns).select_from(source.table).limit(_SAMPLE).subquery("sample")
        counted = sql.select(*(sql.func.count(column.distinct()) for column in first.c))
        with reading(source.engine, source.where) as connection:
            row = connection.execute(counted).one()
        return known | {axis: int(size) + 1 for axis, size in zip(axes, row, strict=True)}

    def groups(self) -> list[QueryGroup]:
        """The queries in groups: a pass over the records is dearer than a large cube."""
        return plan(self.task.queries, records=self.height * _DEARER, sizes=self.sizes)

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """The cubes of all passes, of the records as they are at the beginning."""
        task, source = self.task, self._source
        with reading(source.engine, source.where) as connection:
            self._check_types(connection)
            for one in (item.complete() for item in passes):
                frame = self._answer(connection, self.grouped(one), one)
                first = [self._answer(connection, plan, one) for plan in self.largest(one)]
                if stumbled(frame):
                    raise_flaws(task.records.lazy(), one, task.record_key, task.grid)
                    message = "the records changed during the count"
                    raise MicrodataError(message, code="engine-failed", where=source.where)
                yield cube_of(frame, first, one, task.record_key, task.grid, task.schema)

    def _check_types(self, connection: Any) -> None:
        """SQLite takes any value in any column, and counts texts as 0: there must be none."""
        sql, source = self._terms.sql, self._source
        if self._terms.dialect != "sqlite":
            return
        named = dict.fromkeys(name for query in self.task.queries for name in query.columns)
        for name in [*named, *([] if self.task.record_key is None else [self.task.record_key])]:
            texts = source.schema[name] == pl.String()
            whole = ("integer", "null") if source.schema[name] == pl.Int64() else ()
            kinds = ("text", "null") if texts else whole or ("integer", "real", "null")
            wrong = sql.func.typeof(source.table.c[name]).not_in(kinds)
            statement = sql.select(sql.func.count()).select_from(source.table).where(wrong)
            if connection.execute(statement).scalar_one():
                raise mixed_types(name, source.where)

    def _answer(self, connection: Any, statement: Any, one: Pass) -> pl.DataFrame:
        """The rows of a statement; whole numbers where whole numbers are added."""
        result = connection.execute(statement)
        names = list(result.keys())
        schema, axes = self.task.schema.to_polars(), dict[str, Any]()
        for at, axis in enumerate(one.axes):
            plain = pl.String() if axis.levels else schema.get(axis.column)
            axes[f"axis{at}"] = plain if axis.bounds is None else pl.Int64()
        floats = (VALUE, WEIGHT, "low", "high")
        types = {
            name: axes.get(name, pl.Float64() if name.startswith(floats) else pl.Int64())
            for name in names
        }
        rows = [part for rows in result.partitions(100_000) for part in rows]
        if not rows:
            return pl.DataFrame(schema=types)
        return self._source.framed(types, rows)

    # -- statements ----------------------------------------------------------------------

    def grouped(self, one: Pass) -> Any:
        """The statement that counts the cells of a pass.

        In steps, each a query of the one before: numbers; amounts to be added; their limbs.
        """
        terms, layout, sql = self._terms, one.layout, self._terms.sql
        axes = [f"axis{at}" for at in range(len(one.axes))]
        columns, numbers = self._numbers(one)
        parts, amounts = self._parts(layout, columns, numbers)
        parts |= {f"end{at}": numbers[name] for at, name in enumerate(layout.largest)}
        for at, amount in enumerate(amounts.values()):
            fits = sql.and_(amount < LIMIT, amount > -LIMIT)
            parts[f"sign{at}"] = terms.when(amount < 0, -1.0, 1.0)
            parts[f"size{at}"] = sql.func.abs(terms.when(fits, amount, 0.0))
        ready = self._step(columns, axes, parts)
        names = [name for name in parts if not name.startswith(("sign", "size"))]
        cuts = {name: ready[name] for name in names}
        for at in range(len(amounts)):
            size = ready[f"size{at}"]
            cuts[f"sign{at}"] = ready[f"sign{at}"]
            cuts[f"coarse{at}"] = terms.floor(size / COARSE)
            cuts[f"rest{at}"] = (size - terms.floor(size / COARSE) * COARSE) * MIDDLE
        cut = self._step(ready, axes, cuts)
        totals = [sql.func.sum(cut[name]).label(name) for name in names if name[:3] != "end"]
        for at, source in enumerate(amounts):
            middle = terms.floor(cut[f"rest{at}"])
            fine = terms.floor((cut[f"rest{at}"] - middle) * FINE)
            for limb, part in zip(LIMBS, (cut[f"coarse{at}"], middle, fine), strict=True):
                added = sql.func.sum(terms.whole(part * cut[f"sign{at}"]))
                totals.append(added.label(measure_name(layout.rows[*source, limb])))
        for at in range(len(layout.largest)):
            totals.append(sql.func.min(cut[f"end{at}"]).label(f"low{at}"))
            totals.append(sql.func.max(cut[f"end{at}"]).label(f"high{at}"))
        cells = [cut[name] for name in axes]
        counted = sql.func.count().label("n")
        statement = sql.select(*cells, counted, *totals).select_from(self._last)
        return statement.group_by(*cells) if cells else statement

    def _step(self, columns: Any, kept: Sequence[str], parts: Mapping[str, Any]) -> Any:
        """The columns of a query with some columns of the last one and others made of them."""
        sql = self._terms.sql
        named = [columns[name] for name in kept] + [
            part.label(name) for name, part in parts.items()
        ]
        statement = sql.select(*(named or [sql.literal(1).label("one")]))
        self._last = statement.select_from(self._last).subquery(f"step{self._steps}")
        self._steps += 1
        return self._last.c

    def _numbers(self, one: Pass, more: Sequence[Any] = ()) -> tuple[Any, dict[str, Any]]:
        """The first step: its columns, and those of weights and values by their names."""
        terms, layout, key = self._terms, one.layout, self.task.record_key
        parts = {f"axis{at}": self._axis(axis) for at, axis in enumerate(one.axes)}
        listed = list(dict.fromkeys(one.numbers))
        parts |= {f"number{at}": terms.number(name) for at, name in enumerate(listed)}
        if layout.keyed and key is not None:
            parts["key"] = terms.table.c[key]
        conditions = [*more]
        if one.asked:
            conditions.append(parse_filter(str(one.asked)).built(terms))
        named = [part.label(name) for name, part in parts.items()]
        statement = terms.sql.select(*(named or [terms.sql.literal(1).label("one")]))
        statement = statement.select_from(terms.table).where(*conditions)
        self._last, self._steps = statement.subquery("step0"), 1
        columns = self._last.c
        return columns, {name: columns[f"number{at}"] for at, name in enumerate(listed)}

    def _axis(self, axis: CubeAxis) -> Any:
        """What spans a cube: codes, or numbers of intervals."""
        terms = self._terms
        if axis.levels:
            parts = [self._text(name) for name in reversed(axis.levels)]
            return terms.sql.func.coalesce(*parts) if len(parts) > 1 else parts[0]
        if axis.bounds is None:
            return terms.column(axis.column)
        number, count = terms.number(axis.column), len(axis.bounds) - 1
        below = [
            (number < bound, terms.sql.literal(at - 1 if at else count))
            for at, bound in enumerate(axis.bounds)
            if np.isfinite(bound)
        ]
        above = count if np.isfinite(axis.bounds[-1]) else count - 1
        position = terms.sql.case(*below, else_=above) if below else terms.sql.literal(above)
        return terms.sql.case((number.is_not(None), position))

    def _text(self, name: str) -> Any:
        terms = self._terms
        text = terms.sql.cast(terms.table.c[name], terms.sql.String())
        collation = _COLLATIONS.get(terms.dialect)
        return terms.sql.collate(text, collation) if collation else text

    def _parts(
        self, layout: MeasureLayout, columns: Any, numbers: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[tuple[str, ...], Any]]:
        """What is added up record by record: whole numbers, and amounts by what they are."""
        terms, sql = self._terms, self._terms.sql
        parts: dict[str, Any] = {}
        keys: dict[str, Any] = {}
        if layout.keyed:
            column = columns["key"]
            usable = sql.and_(column >= 0, column < self.task.grid.size)
            kept = terms.when(usable, column)
            keys = {"high": terms.quotient(kept, LIMB), "low": kept % LIMB}
            parts |= {f"key_{name}": part for name, part in keys.items()}
            parts["usable_keys"] = terms.when(usable, 1)
            parts["given_keys"] = terms.when(column.is_not(None), 1)
            parts["finer_keys"] = sql.literal(0)
        amounts: dict[tuple[str, ...], Any] = {}
        weight = None if layout.weight is None else numbers[layout.weight]
        if weight is not None:
            amounts["weight",] = sql.func.coalesce(weight, 0.0)
            parts["bad_w_missing"] = terms.when(weight.is_(None), 1)
            parts["bad_w_negative"] = terms.when(weight < 0, 1)
            parts["bad_w_large"] = terms.large(weight)
        for at, name in enumerate(layout.values):
            amount = sql.func.coalesce(numbers[name], 0.0)
            amount = amount if weight is None else amount * weight
            amounts["sum", name] = sql.func.coalesce(amount, 0.0)
            parts[f"bad_v{at}_large"] = terms.large(amount)
            if weight is not None:
                parts[f"bad_v{at}_plain_large"] = terms.large(numbers[name])
        for share in layout.shares:
            value = numbers[share.column]
            inside = {
                "missing": value.is_(None),
                "zero": value == 0.0,
                "negative": value < 0.0,
                "plain": value.is_not(None),
            }[share.of]
            for name, part in {"n": sql.literal(1), **keys}.items() if share.counted else ():
                row = layout.rows[share.of, share.column, name]
                parts[measure_name(row)] = terms.when(inside, part)
            if layout.sums_of(share):
                amount = value if weight is None or share.of == "plain" else value * weight
                amount = weight if share.of == "missing" else amount
                amount = sql.func.coalesce(amount, 0.0)
                amounts[share.of, share.column] = terms.when(inside, amount, 0.0)
        return parts, amounts

    def largest(self, one: Pass) -> list[Any]:
        """Per column of contributions, the statement of each cell's first records."""
        terms, sql, weight = self._terms, self._terms.sql, one.layout.weight
        statements = []
        for name, k in one.layout.largest.items():
            columns, numbers = self._numbers(one, [terms.number(name).is_not(None)])
            cells = [columns[f"axis{at}"] for at in range(len(one.axes))]
            order = [sql.func.abs(numbers[name]), *([] if weight is None else [numbers[weight]])]
            place = sql.func.row_number().over(
                partition_by=cells or None,
                order_by=[part.desc() for part in [*order, numbers[name]]],
            )
            measured = [numbers[name].label(VALUE)]
            measured += [] if weight is None else [numbers[weight].label(WEIGHT)]
            ranked = sql.select(*cells, *measured, place.label(PLACE)).subquery("ranked")
            statements.append(sql.select(ranked).where(ranked.c[PLACE] <= k))
        return statements
