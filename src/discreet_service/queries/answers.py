"""`Answers`: from what somebody asks to what they are shown.

In: a `TableQuery` and who asks. Out: an `Answer` with a protected table, or a refusal. Policies are
asked every time, also for what was made before; the same question has the same answer whoever asks
and however. Only tables with noise are kept; what a policy hides of them is hidden in each answer.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.errors import DiscreetError, Problem
from discreet.release import Inputs
from discreet.tables import ProtectedTable
from discreet_service.datasets import DatasetCatalogue, DataVersion
from discreet_service.operation import ServiceMetrics
from discreet_service.permissions import Principal
from discreet_service.policies import Language, Policies, PolicyRefusalError, Verdict
from discreet_service.problems import ServiceError
from discreet_service.queries.cache import AnswerCache
from discreet_service.queries.canonical import AskedOrder, CanonicalQuery, canonical_query
from discreet_service.queries.counts import protected_answer
from discreet_service.queries.evidence import QueryEvidence
from discreet_service.queries.grammar import TableQuery
from discreet_service.queries.measures import Measure
from discreet_service.queries.plan import QueryPlan, plan_of
from discreet_service.queries.presentation import in_order
from discreet_service.queries.programme_tables import programme_queries
from discreet_service.queries.sparse_parts import SparseParts
from discreet_service.queries.unit_sketches import SketchMemory
from discreet_service.settings import LimitSettings

#: Answers that are made at the same time are told apart by so many locks.
_LOCKS = 64
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
        """What it means."""
        return self.plan.query


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A protected table, and where it comes from."""

    prepared: PreparedQuery  # What was asked
    table: ProtectedTable  # The table, in the order asked
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
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def prepared(self, dataset: str, query: TableQuery) -> PreparedQuery:
        """A query in its canonical form, with its plan; an error lists all that is wrong."""
        if query.dataset not in (None, dataset):
            message = "the query names another data set than its address"
            raise ServiceError(message, code="invalid-query", where="dataset")
        version = self.datasets.version(dataset, query.version)
        found, order = canonical_query(query, version)
        written = query.model_dump_json(exclude={"format", "language", "dataset"})
        spelling = self._digest("spelling", written)
        plan = plan_of(found, version, self.limits, key=self._key, spelling=spelling)
        return PreparedQuery(version=version, plan=plan, order=order)

    def again_of(self, document: dict[str, Any]) -> PreparedQuery:
        """A query that was prepared before, as a job keeps it."""
        query = CanonicalQuery.of_document(document["query"])
        order = AskedOrder(
            by=tuple(document["by"]),
            measures=tuple(
                Measure(kind, of, tuple(over)) for kind, of, over in document["measures"]
            ),
        )
        version = self.datasets.version(query.dataset, query.version)
        plan = plan_of(query, version, self.limits, key=self._key)
        return PreparedQuery(version=version, plan=plan, order=order)

    def verdict(self, prepared: PreparedQuery, principal: Principal) -> Verdict:
        """What the policies say before anything is counted; nothing is charged or noted."""
        return self.policies.check(prepared.plan.asked, principal)

    def admit(self, prepared: PreparedQuery, principal: Principal, language: Language) -> Verdict:
        """Let a query be answered: it counts as released from now on; or raise its refusal."""
        prepared.plan.require()
        self._sparse.require(prepared.query, prepared.version)
        verdict = self.policies.decide(prepared.plan.asked, principal, self.evidence(prepared))
        for rule in verdict.names:
            self.metrics.refusals.labels(rule=rule).inc()
        verdict.require(language)
        return verdict

    def programme(self, inputs: Inputs, version: DataVersion) -> list[tuple[str, PreparedQuery]]:
        """The tables of a programme as policies judge them, each with its place."""
        found = []
        for programme_query in programme_queries(inputs, version):
            query, order = canonical_query(programme_query.query, version)
            plan = plan_of(query, version, self.limits, key=self._key)
            cells = plan.cells * programme_query.figures
            # An answer lacks sparse parts, a release shows them: neither admits the other.
            digest = hmac.new(self._key, f"programme 1\n{plan.asked.digest}".encode(), "sha256")
            asked = replace(plan.asked, cells=cells, programme=True, digest=digest.hexdigest())
            plan = replace(plan, cells=cells, asked=asked)
            found.append(
                (programme_query.where, PreparedQuery(version=version, plan=plan, order=order))
            )
        return found

    def admit_programme(
        self, inputs: Inputs, version: DataVersion, principal: Principal, language: Language
    ) -> None:
        """Let a programme be carried out: its tables count as released; or raise all refusals."""
        tables = self.programme(inputs, version)
        # Nothing is charged for a programme of which the first look shows that it is refused.
        self._require_all(
            [(where, self.verdict(each, principal)) for where, each in tables], language
        )
        verdicts = []
        for where, each in tables:
            asked = each.plan.asked
            verdicts.append((where, self.policies.decide(asked, principal, self.evidence(each))))
        self._require_all(verdicts, language)

    def _require_all(self, verdicts: Sequence[tuple[str, Verdict]], language: Language) -> None:
        found = [(where, verdict, verdict.error(language)) for where, verdict in verdicts]
        refused = [(where, verdict, error) for where, verdict, error in found if error is not None]
        for _, verdict, _ in refused:
            for rule in verdict.names:
                self.metrics.refusals.labels(rule=rule).inc()
        if refused:
            _, verdict, error = refused[0]
            raise PolicyRefusalError(
                verdict,
                error.what,
                code=error.code,
                rule=error.rule,
                limit=error.limit,
                retry_after=error.retry_after,
                problems=[Problem(each.what, where) for where, _, each in refused],
            )

    @staticmethod
    def is_instant(prepared: PreparedQuery, verdict: Verdict) -> bool:
        """Whether a query is answered at once, by the service and by its policy."""
        return prepared.plan.kind == "instant" and verdict.instant

    def evidence(self, prepared: PreparedQuery) -> QueryEvidence:
        """What records tell of a query; worked out when a policy asks for it."""
        return QueryEvidence(
            query=prepared.query,
            version=prepared.version,
            table_of=partial(self._table, prepared.version),
            key=self._key,
            kept=self._sketches,
        )

    def answer(self, prepared: PreparedQuery) -> Answer:
        """The table of a query that was admitted."""
        noisy, cached = self._found(prepared.version, prepared.query)
        table = self._sparse.thinned(noisy, prepared.query, prepared.version)
        self.metrics.cells.labels(mode="query").inc(prepared.plan.cells)
        if cached:
            self.metrics.cache_hits.inc()
        return Answer(prepared=prepared, table=in_order(table, prepared.order), cached=cached)

    def sparse_tables(self, version: DataVersion) -> tuple[int, int]:
        """How many tables judged answers of a version in this process, and hide parts of them."""
        return self._sparse.judged(version)

    def etag(self, prepared: PreparedQuery, shown: str) -> str:
        """The tag of an answer, known before it is made."""
        order = json.dumps(
            [list(prepared.order.by), [measure.name for measure in prepared.order.measures]]
        )
        name = self._name(prepared.version, prepared.query)
        hidden = self._sparse.mark(prepared.query)
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
            table = self._made(version, query)
            self.metrics.stages.labels(stage="protect").observe(time.perf_counter() - start)
            self.cache.put(name, table)
        return table, False

    def _made(self, version: DataVersion, query: CanonicalQuery) -> ProtectedTable:
        """The table, made now; an error of the library says nothing of records or places."""
        try:
            return protected_answer(query, version, query.digest(self._key))
        except ServiceError:
            raise
        except DiscreetError as error:
            if error.code in _TOLD:
                raise
            message = "these figures cannot be made of these variables"
            hint = "ask for the figures one by one to see which"
            raise ServiceError(message, code="invalid-query", where="measures", hint=hint) from None

    def document(self, prepared: PreparedQuery) -> dict[str, Any]:
        """A prepared query as a job keeps it."""
        order = prepared.order
        return {
            "query": prepared.query.document(),
            "by": list(order.by),
            "measures": [[one.kind, one.of, list(one.over)] for one in order.measures],
        }
