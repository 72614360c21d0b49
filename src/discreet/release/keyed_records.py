"""The records of each source with their keys: in the data, made of identifiers, or inherited.

In: the inputs of a release. Out: per source, records with a column of keys. CONFIDENTIAL
on both sides. Records stay plans; of units with inherited keys, identifiers and keys are
held in memory, so that their parts are added up once and not in every pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, ProgrammeError
from discreet.release.finding import problems_of
from discreet.release.source import Source, key_column

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from discreet.release.inputs import Inputs

__all__ = ["KeyedRecords"]


class KeyedRecords:
    """Gives the records of each source their keys, when they are asked for. CONFIDENTIAL.

    Args:
        inputs: What the release is made from.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.sources = inputs.programme.sources
        self._made: dict[str, Any] = {}

    def of(self, name: str) -> tuple[Any, str | None]:
        """The records of a source with their keys, and the name of the column of keys.

        Records of which cells are only hidden may have no keys.
        """
        source = self.sources[name]
        keys = source.keys
        if keys.column is None and keys.id is None and keys.inherit is None:
            return self.inputs.records[name], None
        if name not in self._made:
            self._made[name] = self.inputs.records[name]
            try:
                if source.keys.inherit is not None:
                    self._made[name] = self._inherited(source, source.keys.inherit)
                elif source.keys.column is None:
                    self._made[name] = self._keyed(source)
            except DiscreetError as error:
                del self._made[name]
                if source.main or isinstance(error, ProgrammeError):
                    raise
                raise self._placed(source, error) from None
        return self._made[name], key_column(self.sources, name)

    def _placed(self, source: Source, error: DiscreetError) -> ProgrammeError:
        """The error, with the key of the programme that it belongs to."""
        programme = self.inputs.programme
        problems = problems_of(error, programme, source.keys_path)
        where = f"{programme.path}, {problems[0].where}"
        return ProgrammeError(
            problems[0].what,
            code=error.code,
            where=where,
            hint=problems[0].hint,
            problems=problems if len(problems) > 1 else (),
        )

    def _keyed(self, source: Source) -> Any:
        """The records with keys made of their identifiers."""
        from discreet.microdata import with_record_keys

        inputs = self.inputs
        return with_record_keys(
            inputs.records[source.name],
            id=source.keys.id or [],
            secret=inputs.secret_of(source.name),
            column=key_column(self.sources, source.name),
            grid=inputs.grid.size,
        )

    def _inherited(self, source: Source, parts_name: str) -> Any:
        """The units, each with the sum of the keys of its parts."""
        from discreet.microdata import inherit_record_keys

        parts, key = self.of(parts_name)
        assert key is not None
        units, by = self.inputs.records[source.name], source.keys.by or []
        keys = inherit_record_keys(
            _plan(parts, [*by, key]),
            by=by,
            record_key=key,
            grid=self.inputs.grid,
            onto=_plan(units, by),
            secret=self.inputs.secrets.get(source.name),
            orphans=source.keys.orphans or "error",
        )
        return _joined(units, by, key, keys.collect(engine="streaming"))

    def __repr__(self) -> str:
        return f"<KeyedRecords of {self.inputs.programme.name} (confidential)>"


def _plan(records: nw.DataFrame[Any] | nw.LazyFrame[Any], columns: list[str]) -> pl.LazyFrame:
    """Some columns as a polars plan, whatever engine holds the records."""
    import polars as pl

    native = records.select(*columns).to_native()
    if isinstance(native, pl.LazyFrame):
        return native
    plan: pl.LazyFrame = records.select(*columns).lazy().collect("polars").to_native().lazy()
    return plan


def _joined(
    units: nw.DataFrame[Any] | nw.LazyFrame[Any], by: list[str], key: str, keys: pl.DataFrame
) -> Any:
    """The units with their keys beside them."""
    import narwhals as nw
    import polars as pl

    from discreet.microdata.frames import with_computed

    native = units.to_native()
    if isinstance(native, pl.LazyFrame):
        joined = native.join(keys.lazy(), on=by, how="left", maintain_order="left")
        return nw.from_native(joined)
    texts = keys.select(pl.col(by).cast(pl.String), key)

    def found(columns: pl.DataFrame) -> Any:
        every = columns.join(texts, on=by, how="left", maintain_order="left")
        return every.get_column(key).to_numpy()

    return with_computed(units, by, key, found, as_text=True)
