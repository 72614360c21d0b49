"""`QueryEvidence`: what records tell policies of a query, each worked out only if it is asked for.

In: a canonical query, and what answers other queries. Out: perturbed counts, as everybody would be
shown them, and keyed digests of units (CONFIDENTIAL), which never leave the policies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import numpy as np

from discreet.arrays import IntArray, UintArray
from discreet.confidential import without_values
from discreet.microdata import StoredRecords, distant_records, parse_filter
from discreet.record_batches import collected
from discreet.tables import ProtectedTable
from discreet_service.datasets import ANSWER, CatalogueUnit, DataVersion
from discreet_service.policies import UniverseSketch
from discreet_service.queries.canonical import CanonicalQuery, SpanningCodes
from discreet_service.queries.counts import filter_texts, joint_filter
from discreet_service.queries.measures import COUNT_MEASURE
from discreet_service.queries.unit_sketches import SketchMemory, StoredUnits, keyed_units

#: Gives the protected table of a query, made now or before.
TableOf = Callable[[CanonicalQuery], ProtectedTable]
#: Tables up to here are made at once, and policies look at what will be shown.
_MOST_CELLS = 100_000


@dataclass(frozen=True, repr=False)
class QueryEvidence:
    """What records tell of a query; the same for all who ask it."""

    query: CanonicalQuery
    version: DataVersion
    table_of: TableOf  # Gives protected tables
    key: bytes  # What digests of units are keyed with
    kept: SketchMemory  # Sketches that were made before

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
        bare = self.version.asking(self.version.entry(query.unit))
        return None if bare.thresholds(ANSWER) is not None else self.table_of(query)

    def _codes(self, one: SpanningCodes) -> tuple[str, ...]:
        """The codes that a query shows of a variable, in order."""
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
        condition = self._condition(records.collect_schema())
        held = distant_records(records)
        if not isinstance(held, StoredRecords) or not isinstance(condition, str | None):
            return UniverseSketch.of(self.universe_units(), size)
        place = f"{self.version.fingerprint} {self.query.unit} {size}"
        units = self.kept.units(place, lambda: StoredUnits(held, self.key, size))
        return units.sketch(condition or "", self.version.inputs.grid)

    def _condition(self, schema: Any) -> str | nw.Expr | None:
        """Which records the table is about."""
        usual = self.version.entry(self.query.unit).where or ""
        return joint_filter([usual, *filter_texts(self.query, self.version)], schema)

    @without_values
    def universe_units(self) -> UintArray:
        """The records that the filters let through, as keyed digests. CONFIDENTIAL."""
        records, column = self.version.records(self.query.unit)
        schema = records.collect_schema()
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
        if self._whole is not None and inner:
            dimensions = self._whole.dimensions
            places = [
                [dimension.index[code] for code in self._codes(one)]
                for one, dimension in zip(inner, dimensions, strict=True)
            ]
            counts = np.zeros(tuple(map(len, dimensions)), dtype=np.int64)
            counts[self._whole.index] = np.rint(self._whole.value).astype(np.int64)
            return np.asarray(counts[np.ix_(*places)])
        table = self.table_of(replace(self.query, by=inner, measures=(COUNT_MEASURE,)))
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
        above = variable.above({variable.tree.index[code] for code in one.codes})
        codes = tuple(code for code in one.codes if variable.tree.index[code] not in above)
        return replace(one, codes=codes, total=False)

    @property
    def _unit(self) -> CatalogueUnit:
        return self.version.units[self.query.unit]
