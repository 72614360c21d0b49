"""What has to be counted for the tables of a programme, in shared passes over keyed records.

In: a programme and the records of its sources. Out: per table, the counts it is made of, as
soon as all of them are there; the records of a source have their keys from the data, from
identifiers, or from the units they inherit them from. CONFIDENTIAL on both sides. Records
stay plans; of units with inherited keys, identifiers and keys are held in memory, so that
their parts are added up once and not in every pass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, ProgrammeError, PublicationError
from discreet.microdata import KeyedBefore, distant_records
from discreet.protection.problems import problems_of
from discreet.protection.protocol import Counts, ReleaseContext
from discreet.record_batches import collected
from discreet.release.inputs import Inputs
from discreet.release.programme.file import UNIVERSE, RecordSource, key_column, key_line
from discreet.release.programme.variables import found_classifications

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from discreet.tables import Table


class KeyedRecords:
    """Gives the records of each source their keys, when they are asked for. CONFIDENTIAL."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.sources = inputs.programme.sources
        self._made: dict[str, Any] = {}

    def of(self, name: str) -> tuple[Any, str | None]:
        """The records of a source with their keys, and the name of the column of keys.

        Records of which cells are only hidden may have no keys.
        """
        from discreet.microdata import with_record_keys

        source = self.sources[name]
        keys = source.keys
        added_up = distant_records(self.inputs.records[name])
        if isinstance(added_up, KeyedBefore):
            return self.inputs.records[name], added_up.record_key
        if keys.column is None and keys.id is None and keys.inherit is None:
            return self.inputs.records[name], None
        if name not in self._made:
            self._made[name] = self.inputs.records[name]
            try:
                if source.keys.inherit is not None:
                    self._made[name] = self._inherited(source, source.keys.inherit)
                elif source.keys.column is None:
                    self._made[name] = with_record_keys(
                        self.inputs.records[name],
                        id=source.keys.id or [],
                        secret=self.inputs.secrets[name],
                        column=key_column(self.sources, name),
                        grid=self.inputs.grid.size,
                    )
            except DiscreetError as error:
                del self._made[name]
                if source.main or isinstance(error, ProgrammeError):
                    raise
                # The error, with the key of the programme that it belongs to.
                programme = self.inputs.programme
                first, *more = problems = problems_of(error, programme, source.keys_path)
                where, many = f"{programme.path}, {first.where}", problems if more else ()
                raise ProgrammeError(
                    first.what, code=error.code, where=where, hint=first.hint, problems=many
                ) from None
            if self._made[name].implementation.is_pyspark():
                from discreet.microdata import held

                self._made[name] = held(self._made[name])
        return self._made[name], key_column(self.sources, name)

    def _inherited(self, source: RecordSource, parts_name: str) -> Any:
        """The units, each with its key from the sum of the keys of its parts."""
        from discreet.microdata import inherit_record_keys, sum_column

        parts, key = self.of(parts_name)
        assert key is not None
        units, by = self.inputs.records[source.name], source.keys.by or []
        sums = [name for name in parts.collect_schema().names() if name == sum_column(key)]
        together = units.implementation.is_pyspark() and parts.implementation.is_pyspark()
        keys = inherit_record_keys(
            parts if together else _plan(parts, [*by, key, *sums]),
            by=by,
            record_key=key,
            grid=self.inputs.grid,
            onto=units if together else _plan(units, by),
            secret=self.inputs.secrets.get(source.name),
            orphans=source.keys.orphans or "error",
            unit=source.keys.unit,
            inheritance="plain" if source.keys.unit is None else None,
        )
        return keys if together else _joined(units, by, keys.collect(engine="streaming"))

    def __repr__(self) -> str:
        return f"<KeyedRecords of {self.inputs.programme.name} (confidential)>"


def _plan(records: nw.DataFrame[Any] | nw.LazyFrame[Any], columns: list[str]) -> pl.LazyFrame:
    """Some columns as a polars plan, whatever engine holds the records."""
    import polars as pl

    native = records.select(*columns).to_native()
    if isinstance(native, pl.LazyFrame):
        return native
    return collected(records.select(*columns)).lazy()


def _joined(units: nw.DataFrame[Any] | nw.LazyFrame[Any], by: list[str], keys: pl.DataFrame) -> Any:
    """The units with their keys, and sums to hand on, beside them."""
    import narwhals as nw
    import polars as pl

    from discreet.microdata import with_computed

    native = units.to_native()
    if isinstance(native, pl.LazyFrame):
        joined = native.join(keys.lazy(), on=by, how="left", maintain_order="left")
        return nw.from_native(joined)
    texts = keys.with_columns(pl.col(by).cast(pl.String))

    def found(columns: pl.DataFrame, name: str) -> Any:
        every = columns.join(texts, on=by, how="left", maintain_order="left")
        return every.get_column(name).to_numpy()

    for name in keys.columns:
        if name not in by:
            units = with_computed(units, by, name, partial(found, name=name), as_text=True)
    return units


@dataclass(frozen=True)
class TableCount:
    """One count: which records, with which weights, which columns to sum how.

    Counts of one table have joint codes, also where these are found in the data.
    """

    by: tuple[str, ...]
    where: str
    weight: str | None
    values: tuple[tuple[str, int], ...]
    joint: bool


def counted_tables(
    inputs: Inputs,
    names: Sequence[str],
    spanning: Mapping[str, Mapping[str, Any]],
    contributions: int = 0,
) -> Iterator[tuple[str, Counts]]:
    """Each table that is to be made, with all of its counts; they come as passes end."""
    keyed = KeyedRecords(inputs)
    for source in inputs.programme.sources:
        own = [name for name in names if inputs.programme.source_of(name).name == source]
        if own:
            yield from _counted(inputs, keyed, source, own, spanning[source], contributions)


def _counted(
    inputs: Inputs,
    keyed: KeyedRecords,
    source: str,
    names: Sequence[str],
    spanning: Mapping[str, Any],
    least: int,
) -> Iterator[tuple[str, Counts]]:
    """The tables of one source."""
    from discreet.tabulation import Query, iterate_tables

    wanted = {name: counts_of(inputs, name) for name in names}
    # Counts of one table stand together, so that few tables wait for their last one.
    counts = list(dict.fromkeys(count for every in wanted.values() for count in every))
    users: dict[TableCount, list[str]] = {count: [] for count in counts}
    for name, every in wanted.items():
        for count in every:
            users[count].append(name)
    records, record_key = keyed.of(source)
    names_joint = [name for count in counts if count.joint for name in count.by]
    classifications = found_classifications(inputs.programme, names_joint, inputs.records[source])
    joint = {**spanning, **classifications}
    queries = [
        Query(
            by=[(joint if count.joint else spanning)[variable] for variable in count.by],
            where=count.where or None,
            weight=count.weight,
            values=[column for column, _ in count.values],
            contributions={column: max(least, top) for column, top in count.values},
            name=users[count][0],
        )
        for count in counts
    ]
    waiting: dict[str, dict[str, Table]] = {name: {} for name in names}
    origin = inputs.programme.sources[key_line(inputs.programme.sources, source)[-1]]
    passes = iterate_tables(
        records,
        queries,
        record_key=record_key,
        key_grid=inputs.grid,
        allow_unsuitable_keys=origin.keys.allow_unsuitable,
    )
    for at, table in passes:
        where = counts[at].where
        for name in users[counts[at]]:
            # A table that others are only held against stays one: it is measured once.
            own = name != table.name and where in inputs.programme.method(name).needs(inputs, name)
            waiting[name][where] = dataclasses.replace(table, name=name) if own else table
            if len(waiting[name]) == len(wanted[name]):
                yield name, waiting.pop(name)


def cube_queries(inputs: Inputs, source: str) -> list[Any]:
    """Cubes for all tables of a source, additive with those of other sources.

    Which codes there are is not known before all cubes are joined: where the data decide,
    columns are counted as they are, and on their own.
    """
    from discreet.tabulation import Query

    programme = inputs.programme
    names = [name for name in programme.tables if programme.source_of(name).name == source]
    counts = dict.fromkeys(count for name in names for count in counts_of(inputs, name))
    spanning = {count: _as_they_are(inputs, count.by) for count in counts}
    queries = [
        Query(
            by=spanning[count],
            where=count.where or None,
            weight=count.weight,
            values=[column for column, _ in count.values],
            contributions=dict(count.values),
        )
        for count in counts
    ]
    every = (each for by in spanning.values() for each in by)
    found = dict.fromkeys(item for item in every if isinstance(item, str))
    return [*queries, *(Query(by=[column]) for column in found)]


def _as_they_are(inputs: Inputs, by: Sequence[str]) -> list[Any]:
    """What spans a table: classifications that need no data, and columns."""
    variables, made = inputs.programme.variables, list[Any]()
    entries = {name: variables.get(name) for name in by}
    parts = [part for name, e in entries.items() for part in (e and e.alternatives) or [name]]
    for name in parts:
        entry = variables.get(name)
        if entry is not None and entry.levels:
            message = "partial aggregates do not contain levels from columns"
            hint = "give the variable a hierarchy file with the parent of each code"
            where = f"{inputs.programme.path}, variables.{name}.levels"
            raise ProgrammeError(message, code="cube-levels", where=where, hint=hint)
        column = name if entry is None else entry.coarser_column(name) or entry.column or name
        one = inputs.trees.get(name, column)
        made += [one] if one not in made else []
    return made


def counts_of(inputs: Inputs, name: str) -> list[TableCount]:
    """The counts behind a table: those its method needs, that of all records if [parts] does."""
    entry = inputs.programme.tables[name]
    needs = dict(inputs.programme.method(name).needs(inputs, name))
    if not needs:
        message = f"the method does not declare the counts of {name!r}"
        raise PublicationError(message, code="protection", where="protect")
    if inputs.programme.thresholds(name) is not None and inputs.programme.held_against_all(name):
        needs.setdefault(UNIVERSE, {})
    by = tuple(entry.by or [])
    found = any(variable not in inputs.programme.variables for variable in by)
    return [
        TableCount(
            by=by,
            where=where,
            weight=entry.weight or None,
            values=tuple(sorted(columns.items())),
            joint=found and len(needs) > 1,
        )
        for where, columns in needs.items()
    ]


def release_context(
    spanning: Mapping[str, Mapping[str, Any]],
    *,
    digests: Mapping[str, str] | None = None,
    printed: Mapping[str, Mapping[str, str]] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> ReleaseContext:
    """The context of a release, or of a part of one."""

    def round_shown(*arguments: Any, **options: Any) -> Any:
        from discreet.protection.rounding import round_shown

        return round_shown(*arguments, **options)

    def hide_less(*, knowledge: Any, **table: Any) -> Any:
        from discreet.release.coarser_tables import hide_less
        from discreet.release.record_tables import RecordTable

        return hide_less(RecordTable(**table, stated=True), method="fast", knowledge=knowledge)

    return ReleaseContext(
        spanning=spanning,
        digests=digests or {},
        printed=printed or {},
        tell=tell,
        round_shown=round_shown,
        hide_less=hide_less,
    )
