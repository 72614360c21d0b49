"""`Answers`: a `TableQuery` in, a protected table or a refusal out. Policies are asked every time;
only tables with noise are kept, and what a policy hides is hidden in each answer.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from discreet.assessment import exposure_of
from discreet.derived import area_sizes, left_out, quantiles, thinned_flows, without_areas
from discreet.errors import DiscreetError, Problem
from discreet.release import Inputs
from discreet.tables import ProtectedTable
from discreet_service.database import WriteBatch
from discreet_service.datasets import ANSWER, CatalogueUnit, DatasetCatalogue, DataVersion
from discreet_service.operation import ServiceMetrics
from discreet_service.permissions import Principal
from discreet_service.policies import (
    AskedTable,
    Language,
    LayerAxis,
    Policies,
    Verdict,
)
from discreet_service.problems import ServiceError
from discreet_service.queries.cache import AnswerCache
from discreet_service.queries.canonical import (
    AskedOrder,
    CanonicalQuery,
    SpanningCodes,
    canonical_query,
)
from discreet_service.queries.counts import protected_answer
from discreet_service.queries.evidence import QueryEvidence, SketchMemory
from discreet_service.queries.grammar import TableQuery
from discreet_service.queries.measures import COUNT_MEASURE, Measure, quantile_variable
from discreet_service.queries.presentation import in_order
from discreet_service.queries.programme_tables import ProgrammeQuery, programme_queries
from discreet_service.queries.sparse_parts import SparseParts
from discreet_service.settings import LimitSettings

PlanClass = Literal["instant", "job", "refused"]


@dataclass(frozen=True, kw_only=True)
class QueryPlan:
    """Size and class of a query."""

    query: CanonicalQuery
    cells: int  # Cells of the answer, totals and figures counted
    exposure: float  # By how many independent figures its total can be estimated from it
    kind: PlanClass  # "instant", "job" or "refused"
    limit: int  # Above how many cells it would be another kind; the largest for refused ones
    asked: AskedTable  # The table as policies see it

    @property
    def geography(self) -> frozenset[str]:
        """The variables that tell where."""
        return self.asked.geographies

    def require(self) -> None:
        """Raise an error if so many cells are not answered at all."""
        if self.kind == "refused":
            message = f"the table has {self.cells:,} cells; the limit is {self.limit:,}"
            hint, most = "choose coarser levels, fewer codes or fewer variables", self.limit
            raise ServiceError(message, "too-many-cells", "by", hint, limit=most, actual=self.cells)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "cells": self.cells,
            "exposure": round(self.exposure, 6),
            "class": self.kind,
            "limit": self.limit,
            "variables": list(self.asked.variables),
            "query": self.query.document(),
            "digest": self.asked.digest,
        }


def plan_of(
    query: CanonicalQuery,
    version: DataVersion,
    limits: LimitSettings,
    *,
    key: bytes,
    spelling: str = "",
) -> QueryPlan:
    """Size and class of a query."""
    unit = version.units[query.unit]
    by, where = tuple(_shown(one, unit) for one in query.by), []
    for one in query.where:
        variable = unit.variables[one.variable]
        level, codes = variable.level(one.level), tuple(sorted(one.codes))
        where.append(LayerAxis(one.variable, level.name, level.codes, codes, variable.geography))
    asked = AskedTable(
        dataset=query.dataset,
        version=query.version,
        unit=query.unit,
        by=by,
        where=tuple(where),
        cells=0,
        digest=query.digest(key),
        apart=unit.apart,
        spelling=spelling,
    )
    cells = math.prod(asked.spanning.values()) * len(query.measures)
    kind: PlanClass = "instant" if cells <= limits.cells_instant else "job"
    limit = limits.cells_instant if kind == "instant" else limits.cells_job
    if cells > limits.cells_job:
        kind = "refused"
    # The exposure by the variables that are no geography, each with all codes of its levels.
    axes = ([axis for axis in one if axis is not None] for one in asked.shape)
    sizes = [[axis.size for axis in one] for one in axes if not one[0].geography]
    return QueryPlan(
        query=query,
        cells=cells,
        exposure=float(exposure_of(sizes)),
        kind=kind,
        limit=limit,
        asked=replace(asked, cells=cells),
    )


def _shown(one: SpanningCodes, unit: CatalogueUnit) -> tuple[LayerAxis | None, ...]:
    """What a table shows of a variable."""
    variable = unit.variables[one.variable]
    tree, seen, axes = variable.tree, set[str](), list[LayerAxis | None]()
    wanted = None if one.codes is None else set(one.codes)
    for number in one.levels:
        level, shown = variable.level(number), variable.codes_of(number)
        if wanted is not None:
            depth = tree.levels
            shown = tuple(c for c in shown if c in wanted and depth[tree.index[c]] == number)
        own = tuple(code for code in shown if code not in seen)
        seen.update(own)
        whole = wanted is None and len(own) == level.codes
        codes = None if whole else tuple(sorted(own))
        axes.append(LayerAxis(one.variable, level.name, level.codes, codes, variable.geography))
    return (None, *axes) if one.total else tuple(axes)


#: Answers that are made at the same time are told apart by so many locks.
_LOCKS = 64
#: Tables that take fewer seconds to make are made again rather than written to the disk and read.
_WORTH_KEEPING = 0.1
#: Codes of library errors that are told as they are.
_TOLD = ("disk-full", "memory")


@dataclass(frozen=True, kw_only=True)
class PreparedQuery:
    """A query that can be asked: nothing was counted yet."""

    version: DataVersion  # Its version. CONFIDENTIAL.
    plan: QueryPlan  # What it comes to
    order: AskedOrder  # How it is to be shown

    @property
    def query(self) -> CanonicalQuery:
        """The canonical query."""
        return self.plan.query


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A protected table."""

    table: ProtectedTable  # In the order asked
    cached: bool  # Whether it had been made before


class Answers:
    """Answers queries."""

    def __init__(
        self,
        *,
        datasets: DatasetCatalogue,
        policies: Policies,
        cache: AnswerCache,
        metrics: ServiceMetrics,
        limits: LimitSettings,
        key: bytes,
    ) -> None:
        self.datasets, self.policies, self.cache = datasets, policies, cache
        self.metrics, self.limits = metrics, limits
        self._key = key
        self._sparse = SparseParts(policies, self._table, most_cells=limits.cells_job)
        self._sketches = SketchMemory()
        self._small_areas: dict[tuple[str, str, str, int], frozenset[str]] = {}
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def prepared(self, dataset: str, query: TableQuery) -> PreparedQuery:
        """A query in its canonical form, with its plan; an error lists all that is wrong."""
        if query.dataset not in (None, dataset):
            message = "the query names another data set than its address"
            raise ServiceError(message, "invalid-query", "dataset")
        version = self.datasets.version(dataset, query.version)
        found, order = canonical_query(query, version)
        written = query.model_dump_json(exclude={"format", "language", "dataset"})
        spelling = self._digest("spelling", written)
        plan = self.plan(found, version, spelling)
        return PreparedQuery(version=version, plan=plan, order=order)

    def again_of(self, document: dict[str, Any]) -> PreparedQuery:
        """A query that was prepared before, as a job keeps it."""
        query = CanonicalQuery.of_document(document["query"])
        measures = [Measure(kind, of, tuple(over)) for kind, of, over in document["measures"]]
        order = AskedOrder(by=tuple(document["by"]), measures=tuple(measures))
        version = self.datasets.version(query.dataset, query.version)
        return PreparedQuery(version=version, plan=self.plan(query, version), order=order)

    def plan(self, query: CanonicalQuery, version: DataVersion, spelling: str = "") -> QueryPlan:
        """Size and class of a query under the limits of this service."""
        return plan_of(query, version, self.limits, key=self._key, spelling=spelling)

    def verdict(self, prepared: PreparedQuery, principal: Principal) -> Verdict:
        """Verdict of the policies before anything is counted; nothing is charged or logged."""
        return self.policies.check(prepared.plan.asked, principal)

    def admit(
        self,
        prepared: PreparedQuery,
        principal: Principal,
        language: Language,
        ready: Callable[[Verdict], Callable[[WriteBatch], None]] | None = None,
    ) -> Verdict:
        """Let a query be answered: it counts as released from now on; or raise its refusal."""
        prepared.plan.require()
        self._sparse.require(prepared.query, prepared.version)
        requested, evidence = prepared.plan.asked, self.evidence(prepared)
        verdict = self.policies.decide(requested, principal, evidence, ready)
        for rule in verdict.names:
            self.metrics.refusals.labels(rule=rule).inc()
        verdict.require(language)
        return verdict

    def programme(
        self, inputs: Inputs, version: DataVersion
    ) -> list[tuple[ProgrammeQuery, PreparedQuery]]:
        """The tables of a programme as policies judge them, each with its place."""
        found = []
        for programme_query in programme_queries(inputs, version):
            query, order = canonical_query(programme_query.query, version)
            plan = self.plan(query, version)
            cells = plan.cells * programme_query.figures
            # An answer lacks sparse parts, a release shows them: neither admits the other.
            digest = hmac.new(self._key, f"programme 1\n{plan.asked.digest}".encode(), "sha256")
            requested = replace(plan.asked, cells=cells, programme=True, digest=digest.hexdigest())
            plan = replace(plan, cells=cells, asked=requested)
            prepared = PreparedQuery(version=version, plan=plan, order=order)
            found.append((programme_query, prepared))
        return found

    def admit_programme(
        self, inputs: Inputs, version: DataVersion, principal: Principal, language: Language
    ) -> None:
        """Let a programme be carried out: its tables count as released; or raise all refusals."""
        tables = self.programme(inputs, version)
        # Nothing is charged for a programme of which the first look shows that it is refused.
        self._require_all(
            [(one.where, self.verdict(each, principal)) for one, each in tables], language
        )
        verdicts = []
        for one, each in tables:
            requested = each.plan.asked
            verdicts.append(
                (one.where, self.policies.decide(requested, principal, self.evidence(each)))
            )
        self._require_all(verdicts, language)

    def _require_all(self, verdicts: Sequence[tuple[str, Verdict]], language: Language) -> None:
        errors = [(where, error) for where, each in verdicts if (error := each.error(language))]
        for _, error in errors:
            for rule in error.verdict.names:
                self.metrics.refusals.labels(rule=rule).inc()
        if errors:
            first = errors[0][1]
            first.problems = tuple(Problem(error.what, where) for where, error in errors)
            raise first

    @staticmethod
    def is_instant(prepared: PreparedQuery, verdict: Verdict) -> bool:
        """Whether a query is answered at once, by the service and by its policy."""
        return prepared.plan.kind == "instant" and verdict.instant

    def require_instant(self, prepared: PreparedQuery) -> None:
        """Raise an error if a query needs a job: for those who can have none."""
        requested = prepared.plan.asked
        size = self.policies.policy(requested.dataset, requested.version).size
        most = min(size.cells_instant, self.limits.cells_instant)
        if prepared.plan.cells > most:
            message = f"a table of more than {most:,} cells runs as a job"
            hint = "ask for fewer cells, or with a key"
            raise ServiceError(message, "too-many-cells", "by", hint, limit=most)

    def evidence(self, prepared: PreparedQuery) -> QueryEvidence:
        """Evidence of records on a query, computed when a policy needs it."""
        return QueryEvidence(query=prepared.query, version=prepared.version,
                             table_of=partial(self._table, prepared.version), key=self._key,
                             kept=self._sketches,
                             hidden_of=partial(self._sparse.hidden, prepared.version))  # fmt: skip

    def answer(self, prepared: PreparedQuery) -> Answer:
        """The table of a query that was admitted."""
        noisy, cached = self._found(prepared.version, prepared.query)
        table = self._sparse.thinned(noisy, prepared.query, prepared.version)
        table = self._thinned_flows(self._of_available_areas(table, prepared), prepared)
        self.metrics.cells.labels(mode="query").inc(prepared.plan.cells)
        if cached:
            self.metrics.cache_hits.inc()
        return Answer(table=self._shown(table, prepared), cached=cached)

    def _of_available_areas(self, table: ProtectedTable, prepared: PreparedQuery) -> ProtectedTable:
        """The table without areas that are too small for it: their published sizes decide."""
        query, version = prepared.query, prepared.version
        limits = self.policies.policy(query.dataset, query.version).areas
        requested = prepared.plan.asked
        others = len(set(requested.variables) - requested.geographies)
        if limits is None or not others:
            return table
        least = limits.least[min(others, len(limits.least)) - 1]
        spanning = {one.variable for one in query.by}
        fixed = {one.variable: set(one.codes) for one in query.where}
        for name in sorted(requested.geographies):
            left = self._left_out(query, version, name, least)
            if name in spanning:
                table = without_areas(table, name, left, least)
            if small := left & fixed.get(name, set()):
                table = without_areas(table, None, small, least)
        return table

    def _left_out(
        self, query: CanonicalQuery, version: DataVersion, name: str, least: int
    ) -> frozenset[str]:
        """The areas of a variable that are too small, worked out once for a version."""
        place = (version.fingerprint, query.unit, name, least)
        if place not in self._small_areas:
            variable = version.units[query.unit].variables[name]
            every = SpanningCodes(variable=name, levels=tuple(range(1, variable.finest + 1)),
                                  codes=None, total=True)  # fmt: skip
            whole = replace(query, by=(every,), where=(), measures=(COUNT_MEASURE,))
            sizes = area_sizes(self._table(version, whole), name)
            self._small_areas[place] = left_out(variable.tree, sizes, least)
        return self._small_areas[place]

    def _thinned_flows(self, table: ProtectedTable, prepared: PreparedQuery) -> ProtectedTable:
        """The table without flows of few, if the policy says so."""
        query = prepared.query
        limits = self.policies.policy(query.dataset, query.version).flows
        flow = query.flow(prepared.version.units[query.unit])
        if limits is None or flow is None or table.figures:
            return table
        variables = prepared.version.units[query.unit].variables
        fixed = {one.variable: (variables[one.variable].tree, one.codes) for one in query.where}
        return thinned_flows(table, *flow, least=limits.least, fixed=fixed)

    @staticmethod
    def _shown(table: ProtectedTable, prepared: PreparedQuery) -> ProtectedTable:
        """The table in the order asked; or its quantiles, which are made of nothing else."""
        order = prepared.order
        variable = quantile_variable(order.measures)
        if variable is None:
            return in_order(table, order)
        version, unit = prepared.version, prepared.query.unit
        inputs = version.asking(version.entry(unit))
        whole = AskedOrder(by=(*order.by, variable), measures=(COUNT_MEASURE,))
        return quantiles(
            in_order(table, whole),
            variable,
            sorted({measure.share for measure in order.measures if measure.share}),
            breaks=version.units[unit].variables[variable].tree.bounds,
            deviation=partial(inputs.programme.method(ANSWER).quality, inputs),
        )

    def sparse_tables(self, version: DataVersion) -> tuple[int, int]:
        """Number of tables that judge answers of a version in this process and hide parts."""
        return self._sparse.judged(version)

    def etag(self, prepared: PreparedQuery, shown: str) -> str:
        """The tag of an answer, known before it is made."""
        order = json.dumps(
            [list(prepared.order.by), [measure.name for measure in prepared.order.measures]]
        )
        name = self._name(prepared.version, prepared.query)
        policy = self.policies.policy(prepared.query.dataset, prepared.query.version)
        hidden = self._sparse.mark(prepared.query, prepared.version)
        hidden += "".join(one.model_dump_json() for one in (policy.flows, policy.areas) if one)
        return self._digest("etag", f"{name}\n{order}\n{shown}\n{hidden}")[:32]

    def _digest(self, purpose: str, text: str) -> str:
        content = f"{purpose} 1\n{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, content, hashlib.sha256).hexdigest()

    def _name(self, version: DataVersion, query: CanonicalQuery) -> str:
        """The name of an answer: it has a part of all that determines it."""
        return self._digest("answer", f"{version.fingerprint}\n{query.digest(self._key)}")

    def _table(self, version: DataVersion, query: CanonicalQuery) -> ProtectedTable:
        return self._found(version, query)[0]

    def _found(self, version: DataVersion, query: CanonicalQuery) -> tuple[ProtectedTable, bool]:
        """The protected table of a query, and whether it had been made before."""
        name = self._name(version, query)
        kept = self.cache.get(name)
        if kept is not None:
            return kept, True
        with self._locks[int(name[:8], 16) % _LOCKS]:
            kept = self.cache.get(name)
            if kept is not None:
                return kept, True
            start = time.perf_counter()
            try:
                table = protected_answer(query, version, query.digest(self._key))
            except ServiceError:
                raise
            except DiscreetError as error:
                # An error of the library says nothing of records or places.
                if error.code in _TOLD:
                    raise
                message = "these figures are not available for these variables"
                hint = "query the figures one by one to find it"
                raise ServiceError(message, "invalid-query", "measures", hint) from None
            took = time.perf_counter() - start
            self.metrics.stages.labels(stage="protect").observe(took)
            self.cache.put(name, table, on_disk=took >= _WORTH_KEEPING)
        return table, False

    def document(self, prepared: PreparedQuery) -> dict[str, Any]:
        """A prepared query as a job keeps it."""
        order = prepared.order
        return {
            "query": prepared.query.document(),
            "by": list(order.by),
            "measures": [[one.kind, one.of, list(one.over)] for one in order.measures],
        }
