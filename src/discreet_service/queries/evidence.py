"""`QueryEvidence`: what records tell policies of a query, each worked out only if it is asked for.

In: a canonical query, and what answers other queries. Out: perturbed counts, as everybody would be
shown them, and keyed digests of units (CONFIDENTIAL), which never leave the policies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from discreet.arrays import IntArray, UintArray
from discreet.confidential import without_values
from discreet.microdata.filters import parse_filter
from discreet.record_batches import collected
from discreet.tables import ProtectedTable
from discreet_service.datasets import CatalogueUnit, DataVersion
from discreet_service.queries.canonical import CanonicalQuery, SpanningCodes
from discreet_service.queries.counts import filter_texts
from discreet_service.queries.measures import COUNT_MEASURE
from discreet_service.queries.record_filters import joint_filter

#: Gives the protected table of a query, made now or before.
TableOf = Callable[[CanonicalQuery], ProtectedTable]
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, repr=False)
class QueryEvidence:
    """What records tell of a query; the same for all who ask it.

    Args:
        query: The query.
        version: Its version.
        table_of: Gives protected tables.
        key: What digests of units are keyed with.
    """

    query: CanonicalQuery
    version: DataVersion
    table_of: TableOf
    key: bytes

    def universe_count(self) -> int:
        """The perturbed count of the records that the filters let through."""
        total = replace(self.query, by=(), measures=(COUNT_MEASURE,))
        found = self.table_of(total).get()
        return int(found or 0)

    @without_values
    def universe_units(self) -> UintArray:
        """The records that the filters let through, as keyed digests. CONFIDENTIAL."""
        records, column = self.version.records(self.query.unit)
        schema = records.collect_schema()
        usual = self.version.entry(self.query.unit).where or ""
        texts = [usual, *filter_texts(self.query, self.version)]
        condition = joint_filter(texts, schema)
        plan = records.lazy()
        if isinstance(condition, str):
            condition = parse_filter(condition).to_narwhals(schema)
        if condition is not None:
            plan = plan.filter(condition)
        keys = collected(plan.select(column))[column]
        return _keyed(keys, self.key)

    def published_counts(self) -> IntArray:
        """The perturbed inner cells of the table, an array with one axis for each variable."""
        inner = tuple(self._inner(one) for one in self.query.by)
        finest = replace(self.query, by=inner, measures=(COUNT_MEASURE,))
        table = self.table_of(finest)
        shape = tuple(len(dimension) for dimension in table.dimensions)
        published = np.rint(table.value).astype(np.int64)
        if not shape:  # the grand total alone
            return np.asarray(published.sum())  # none is listed where it is zero
        counts = np.zeros(shape, dtype=np.int64)
        counts[table.index] = published
        return counts[tuple(slice(1, None) for _ in shape)]

    def _inner(self, one: SpanningCodes) -> SpanningCodes:
        """The finest codes that a query shows of a variable, without its total."""
        if one.codes is None:
            return replace(one, levels=(max(one.levels),), total=False)
        variable = self._unit.variables[one.variable]
        shown = {variable.tree.index[code] for code in one.codes}
        above = variable.above(shown)
        codes = tuple(code for code in one.codes if variable.tree.index[code] not in above)
        return replace(one, codes=codes, total=False)

    @property
    def _unit(self) -> CatalogueUnit:
        return self.version.units[self.query.unit]

    def __repr__(self) -> str:
        return "<QueryEvidence (confidential)>"


def _keyed(keys: pl.Series, key: bytes) -> UintArray:
    """Record keys under a secret permutation of 64 bits."""
    secret = np.frombuffer(hashlib.sha256(b"units 1\n" + key).digest(), dtype="<u8")
    numbers = keys.to_physical()
    if numbers.dtype.is_float():
        found = numbers.cast(pl.Float64).to_numpy().view(np.uint64)
    else:
        found = numbers.cast(pl.Int64).to_numpy().view(np.uint64)
    with np.errstate(over="ignore"):
        for part in secret.tolist():
            found = found + np.uint64(part)
            found = (found ^ (found >> np.uint64(30))) * _FIRST
            found = (found ^ (found >> np.uint64(27))) * _SECOND
            found = found ^ (found >> np.uint64(31))
    return np.asarray(found, dtype=np.uint64)
