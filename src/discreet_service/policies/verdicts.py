"""Verdicts: whether a table may be answered, by all rules. A rule that is unknown or fails refuses.
What is allowed counts as released in the same transaction, before anybody gets it.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import sqlalchemy as sa

from discreet.release import MERGED
from discreet_service.database import (
    REFUSED_TABLES,
    RELEASED_TABLES,
    RELEASED_UNIVERSES,
    ServiceDatabase,
    Statement,
    WriteBatch,
    equal_to,
    insert_row,
    put_row,
)
from discreet_service.permissions import Principal
from discreet_service.policies.asked import AskedTable, Box, LayerAxis
from discreet_service.policies.counters import Counters
from discreet_service.policies.document import (
    CustomGroupPolicy,
    DifferencePolicy,
    ExposurePolicy,
    PolicyDocument,
)
from discreet_service.policies.evidence import Evidence
from discreet_service.policies.exposure import (
    MostExposed,
    ReleasedLayers,
    read_shape,
    shape_text,
)
from discreet_service.policies.in_force import HeldPolicy, PoliciesInForce
from discreet_service.policies.ledger import NEAR, FewUnits, UniverseDefinition, UniverseLedger
from discreet_service.policies.leverage import ShownFigures
from discreet_service.policies.patterns import near_pattern, note, pattern_rule, patterns_of
from discreet_service.policies.rates import charge_cells, rate_rule, take_query
from discreet_service.policies.rules import (
    POPULATION,
    POPULATION_RULES,
    REFUSING,
    Language,
    Outcome,
    Rule,
    RuleCase,
    RuleVerdict,
    SparsityShares,
    UniverseFacts,
    failed,
    later,
    padded,
    passed,
    refused,
)
from discreet_service.policies.sketches import UniverseSketch
from discreet_service.problems import ServiceError


def small_universe_rule(case: RuleCase) -> RuleVerdict:
    """P4: the perturbed count of those whom the table is about."""
    if case.facts is None:
        return later("P4")
    if case.facts.count < case.policy.small_universes.least:
        return refused("P4", "its population is below the minimum")
    return passed("P4")


def difference_rule(case: RuleCase) -> RuleVerdict:
    """P5: released universes, sums and differences of them that differ from it by few.

    Rows of the same areas in two groupings of one column differ by few somewhere: the grouping
    that was released first is the one.
    """
    other = case.layers.other_grouping(case.asked, case.policy.differences.several_groupings)
    if other:
        return refused("P5", f"one of its columns was published for the same areas as {other}")
    if case.facts is None:
        return later("P5")
    sketch = case.facts.sketch
    if sketch is None:
        if UniverseDefinition.of(case.asked) not in case.ledger:
            return failed("P5", "published tables were read again meanwhile")
        return passed("P5", "all units, or published before")
    if len(case.ledger) >= case.policy.differences.most_universes:
        return refused("P5", "the ledger has the maximum number of populations")
    few = case.facts.few(case.policy.differences)
    small = [" and ".join(one.others) for one in few if one.small]
    near = tuple(one.others for one in few)
    if small:
        verdict = refused("P5", f"it differs by few units from {small[0]}")
    else:
        verdict = passed("P5", f"{len(near)} near ones" if near else "")
    return replace(verdict, near=near)


def sparsity_rule(case: RuleCase) -> RuleVerdict:
    """P7: small cells and rows in which one category has all."""
    if case.policy.sparsity.then == "hide" and not case.asked.programme:
        return passed("P7", "sparse subtables are suppressed in the answer")
    if case.facts is None:
        return later("P7")
    sparsity = case.facts.sparsity
    if sparsity is None:  # counted under a policy that hid parts
        return failed("P7", "the policy has been changed since")
    if sparsity.exceeds(case.policy.sparsity):
        return refused("P7", "too many small cells, or rows with a single category")
    return passed("P7")


def cells_of(asked: AskedTable) -> int:
    """Cells with totals: the larger of what is said and what the variables span."""
    return max(asked.cells, math.prod(asked.spanning.values()))


def size_rule(case: RuleCase) -> RuleVerdict:
    """P1: cells with totals, and codes of each variable."""
    size, cells = case.policy.size, cells_of(case.asked)
    if cells > size.cells_job:
        reason = f"{cells:,} cells of {size.cells_job:,}"
        return refused("P1", reason, actual=cells, limit=size.cells_job)
    for name, shown in case.asked.spanning.items():
        if shown > size.categories:
            reason = f"{name} has {shown:,} codes of {size.categories:,}"
            return refused("P1", reason, actual=shown, limit=size.categories)
    return passed("P1", f"{cells:,} cells")


def variables_rule(case: RuleCase) -> RuleVerdict:
    """P2: variables that are no geography, by the deepest level of geography shown.

    A level of geography that the policy does not name is not answered: nobody thought of it.
    """
    asked, limits = case.asked, case.policy.variables
    geography = {axis.level for axis in asked.axes if axis.geography}
    names = {axis.variable for axis in asked.axes if not axis.geography}
    unknown = sorted(geography - limits.depth.keys())
    if unknown:
        return refused("P2", f"no depth for the level {', '.join(unknown)}")
    most = min([limits.most, *(limits.depth[level] for level in geography)])
    places, flows = asked.geographies, case.policy.flows
    if flows is not None and len(places) > 1:
        unknown = sorted(geography - flows.depth.keys())
        if unknown or len(places) > 2:
            reason = f"no flows for the level {', '.join(unknown)}" if unknown else "three places"
            return refused("P2", reason)
        most = min(most, *(flows.depth[level] for level in geography))
    if len(names) > most:
        reason = f"{len(names)} variables of {most}"
        return refused("P2", reason, actual=len(names), limit=most)
    return passed("P2", f"{len(names)} variables of {most}")


def exposure_rule(case: RuleCase) -> RuleVerdict:
    """P3: by how many independent figures its most exposed counts can be estimated.

    Sizes of classifications tell the least that it is, and refuse before anything is counted; how
    much it is, perturbed figures tell.
    """
    limits = case.policy.exposure
    exposed = case.layers.most_exposed(case.asked, limits.everywhere, limits.levels)
    examined = exposed.share <= 1 and not limits.unlimited
    if examined and case.facts is None:
        return later("P3")
    if examined and case.facts is not None:
        measured = case.facts.measured(limits)
        if measured is None and limits.unexamined == "refuse":
            return refused("P3", "all answers together have too many cells to be examined")
        exposed = measured or exposed
    reason = f"exposure {exposed.exposure:.2f} by {' x '.join(exposed.target) or 'the total'}"
    if exposed.share > 1:
        return refused("P3", f"{reason} of {exposed.limit:.2f}")
    return passed("P3", reason)


def reviewed(condition: LayerAxis, groups: CustomGroupPolicy) -> bool:
    """Whether a filter is one code, or a reviewed group; whatever it is called."""
    codes = set(condition.codes or ())
    return len(codes) == 1 or any(
        (group.variable, group.level) == (condition.variable, condition.level)
        and set(group.codes) == codes
        for group in groups.groups
    )


def custom_groups_rule(case: RuleCase) -> RuleVerdict:
    """P6: no groups but reviewed ones, and so many groupings at break points."""
    groups = case.policy.custom_groups
    for name in case.asked.variables:
        base, merged, _ = name.partition(MERGED)
        known = {one for one in case.layers.variables if one.startswith(base + MERGED)}
        if merged and len({*known, name}) > groups.groupings:
            return refused("P6", f"{len(known)} groupings of {base} of {groups.groupings}")
    own = [one.variable for one in case.asked.where if not reviewed(one, groups)]
    if own:
        return refused("P6", f"a user-defined group of codes: {', '.join(own)}")
    return passed("P6")


#: Every rule there is.
RULES_BY_NAME: Mapping[str, Rule] = {
    "P1": size_rule,
    "P2": variables_rule,
    "P3": exposure_rule,
    "P4": small_universe_rule,
    "P5": difference_rule,
    "P6": custom_groups_rule,
    "P7": sparsity_rule,
    "P8": rate_rule,
    "P9": pattern_rule,
}
#: Rules that hold for what was released before; it is released, whatever the others say.
_ALWAYS = ("P1", "P8", "P9")
#: Rules that two persons can set aside.
_OVERRIDABLE = ("P2", "P3", "P4", "P5", "P6", "P7")
#: Milliseconds by which clocks of processes may differ before everything is read anew.
_CLOCKS_APART = 5_000
#: What somebody else writes in a batch.
BatchNote = Callable[[WriteBatch], None]
#: Who asks where it does not matter who does.
_NOBODY = Principal(name="", kind="local", grants=())
#: A table that was released; the number that it got.
_RELEASED = Statement(
    sa.insert(RELEASED_TABLES).returning(RELEASED_TABLES.c.id),
    [one.name for one in RELEASED_TABLES.c if one.name != "id"],
)
#: Under which problem a refusal is told.
_CODES = {"P1": "too-many-cells", "P8": "rate-limited", "P9": "rate-limited"}


class PolicyRefusalError(ServiceError):
    """A table is not answered."""

    def __init__(self, verdict: Verdict, what: str, **facts: Any) -> None:
        super().__init__(what, **facts)
        self.verdict = verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Whether a table may be answered."""

    allowed: bool  # Whether no rule refuses
    instant: bool  # Whether it is small enough to be answered at once
    rules: tuple[RuleVerdict, ...]  # What each rule says
    repeat: bool = False  # Whether somebody was given it before
    limit: int = 0  # Cells that are allowed at most

    @property
    def refusing(self) -> tuple[RuleVerdict, ...]:
        """The rules that refuse."""
        return tuple(one for one in self.rules if one.outcome in REFUSING)

    @property
    def names(self) -> tuple[str, ...]:
        """The rules that refuse, as callers and the query log may know them."""
        return tuple(dict.fromkeys(map(_public_name, self.refusing)))

    def require(self, language: Language = "en") -> None:
        """Raise the refusal, if there is one."""
        if error := self.error(language):
            raise error

    def error(self, language: Language = "en") -> PolicyRefusalError | None:
        """Error for callers; equal for P4, P5 and P7. None if the query is allowed."""
        if not self.refusing:
            return None
        # What does not depend on people comes first: it can be told apart anyway.
        first = min(self.refusing, key=lambda one: one.rule in POPULATION_RULES)
        code = _CODES.get(first.rule, "refused-by-policy")
        if first.outcome is Outcome.failed and first.rule not in POPULATION_RULES:
            code = "data-not-ready"
        return PolicyRefusalError(
            self,
            first.text[language],
            code=code,
            rule=_public_name(first),
            limit=first.limit,
            actual=first.actual,
            retry_after=first.retry_after,
        )

    def told(self, language: Language = "en") -> dict[str, Any]:
        """The verdict for callers: rules about people are one, alerts are for staff."""
        entries: dict[str, dict[str, Any]] = {}
        for one in sorted(self.rules, key=lambda one: one.outcome not in REFUSING):
            outcome = "refused" if one.outcome in REFUSING else "passed"
            if one.outcome is Outcome.later:
                outcome = "later"
            entry: dict[str, Any] = {"rule": _public_name(one), "outcome": outcome}
            if one.text:
                entry["text"] = one.text[language]
            if one.limit is not None and one.actual is not None:
                entry |= {"limit": one.limit, "actual": one.actual}
            entries.setdefault(entry["rule"], entry)
        rules = [entries[name] for name in sorted(entries)]
        return {"allowed": self.allowed, "instant": self.instant, "rules": rules}

    def explained(self) -> list[dict[str, str]]:
        """The verdict for staff that may see why."""
        return [
            {"rule": one.rule, "outcome": one.outcome.value, "explanation": one.explanation}
            for one in self.rules
        ]


def _public_name(one: RuleVerdict) -> str:
    return POPULATION if one.rule in POPULATION_RULES else one.rule


@dataclass(kw_only=True, repr=False)
class _Released:
    """What was released of a data version, as far as this process has read it."""

    ledger: UniverseLedger
    layers: ReleasedLayers = field(default_factory=ReleasedLayers)
    figures: ShownFigures = field(default_factory=ShownFigures)
    digests: set[str] = field(default_factory=set)
    last: int = 0
    #: When the newest universe was released that was read.
    newest: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    #: Who is about to release something; held while it is compared with all released before.
    deciding: threading.Lock = field(default_factory=threading.Lock)
    #: What others had written, and how many batches had failed, when it was read to the end.
    known: tuple[int, int] = (-1, 0)

    def forget(self, key: bytes) -> None:
        """Read everything anew: what was noted here never got to the disk."""
        self.ledger, self.layers = UniverseLedger(key=key), ReleasedLayers()
        self.figures = ShownFigures(every=self.figures.every)
        self.digests, self.last, self.newest = set(), 0, 0


class Policies:
    """Policies of all data versions."""

    def __init__(
        self,
        database: ServiceDatabase,
        in_force: PoliciesInForce,
        *,
        key: bytes,
        clock: Callable[[], int],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database, self.in_force, self._key = database, in_force, key
        self._clock, self._wait = clock, wait
        self._released: dict[tuple[str, str, str], _Released] = {}
        self._lock = threading.Lock()
        # Only of batches; they hold as long as nobody else writes.
        self._counters, self._counted = Counters(), (0, 0)

    def check(self, asked: AskedTable, principal: Principal) -> Verdict:
        """Verdicts of rules before anything is counted; nothing is charged or logged."""
        self.in_force.ensure(asked.dataset, asked.version)
        with self._database.reading() as connection:
            self._read(asked, connection)
            held = self.in_force.held(asked.dataset, asked.version)
            return self._judged(self._case(asked, principal, connection, held, Counters()), held)

    def decide(
        self,
        asked: AskedTable,
        principal: Principal,
        evidence: Evidence,
        ready: Callable[[Verdict], BatchNote] | None = None,
    ) -> Verdict:
        """Decide without raising; callers must answer allowed queries only.

        Args:
            asked: The table.
            principal: Who asks.
            evidence: What records tell of it.
            ready: Makes the answer ready, and gives what is written together with its release; not
                called for tables that were published before, or are refused at first sight.
        """
        self.in_force.ensure(asked.dataset, asked.version)
        verdict, looked = self._foreseen(asked, principal), False
        if not verdict.allowed or verdict.repeat:
            verdict, looked = self._database.batched(partial(self.look, asked, principal)), True
            if not verdict.allowed or verdict.repeat:
                return verdict
        with padded(self._clock, self._wait):
            facts = self._gathered(asked, evidence)
            beside = None if ready is None else ready(verdict)
            with self._of(asked).deciding:
                # Others write while this is compared; what they release is compared again.
                self._compare(asked, facts)
                settled = partial(self._decided, asked, principal, facts, beside, looked)
                return self._database.batched(settled)

    def look(self, asked: AskedTable, principal: Principal, batch: WriteBatch) -> Verdict:
        """Verdicts of rules on a query that is logged now, before anything is counted.

        Nothing else is needed for what was released before.
        """
        return self._decided(asked, principal, None, None, False, batch)

    def _foreseen(self, asked: AskedTable, principal: Principal) -> Verdict:
        """What `look` will say, by what is in memory; a rule that needs more fails.

        It saves work, or a second writing, and decides nothing.
        """
        held = self.in_force.held(asked.dataset, asked.version)
        return self._judged(self._case(asked, principal, None, held, self._counters), held)

    def _decided(
        self,
        asked: AskedTable,
        principal: Principal,
        facts: UniverseFacts | None,
        beside: BatchNote | None,
        looked: bool,
        batch: WriteBatch,
    ) -> Verdict:
        """What rules say; what they allow with the data counts as released."""
        case, held = self._case_of(asked, principal, batch, facts, looked)
        if not looked:
            note(case, list(patterns_of(asked)))
        verdict = self._judged(case, held)
        near = [each for one in verdict.rules for each in one.near]
        note(case, [near_pattern(asked, others) for others in near])
        if not looked and not any(one.rule == "P8" for one in verdict.refusing):
            take_query(case)
        if not verdict.allowed:
            self._note_refusal(case, verdict)
        elif facts is not None:
            self._release(case, verdict)
            if beside is not None:
                beside(batch)
        return verdict

    def released(self, dataset: str, version: str, digests: Collection[str]) -> bool:
        """Whether all of some tables count as released."""
        own = equal_to(RELEASED_TABLES, dataset=dataset, version=version)
        with self._database.reading() as connection:
            known = set(connection.scalars(sa.select(RELEASED_TABLES.c.digest).where(*own)))
        return known.issuperset(digests)

    def refusing(
        self, asked: AskedTable, policies: Sequence[PolicyDocument], connection: sa.Connection
    ) -> list[tuple[str, ...]]:
        """The rules of each policy that refuse a table by what its form and past answers tell.

        Whether it was published does not matter; what only records tell is not asked.
        """
        released, refusals = self._read(asked, connection), []
        for policy in policies:
            held = HeldPolicy(document=policy, first=True, overrides={})
            case = self._case(asked, _NOBODY, connection, held, Counters())
            with released.lock:
                verdicts = [judged(name, case) for name in policy.rules if name in _OVERRIDABLE]
            refusals.append(tuple(one.rule for one in verdicts if one.outcome in REFUSING))
        return refusals

    def policy(self, dataset: str, version: str) -> PolicyDocument:
        """The policy in force. CONFIDENTIAL."""
        self.in_force.ensure(dataset, version)
        return self.in_force.held(dataset, version).document

    def exposures(
        self, table: AskedTable, targets: Sequence[Box], connection: sa.Connection
    ) -> list[float]:
        """The exposure of counts by what was released alone, for staff."""
        released = self._read(table, connection)
        with released.lock:
            return released.layers.exposures(targets)

    def _case_of(
        self,
        asked: AskedTable,
        principal: Principal,
        batch: WriteBatch,
        facts: UniverseFacts | None,
        looked: bool,
    ) -> tuple[RuleCase, HeldPolicy]:
        """What is decided in a batch: all that was written before is known."""
        if self._counted != (known := batch.known(self)):
            self._counters.forget()
            self._counted = known
        batch.at_end[self._counters.write] = None
        released = self._of(asked)
        with released.lock:
            if released.known[1] != batch.failures:
                released.forget(self._key)
            if released.known != known:
                self._read(asked, batch.connection)
                released.known = known
        held = self.in_force.held(asked.dataset, asked.version, batch.number)
        case = self._case(asked, principal, batch.connection, held, self._counters)
        return replace(case, facts=facts, looked=looked), held

    def _case(
        self,
        asked: AskedTable,
        principal: Principal,
        connection: sa.Connection | None,
        held: HeldPolicy,
        counters: Counters,
    ) -> RuleCase:
        released = self._of(asked)
        return RuleCase(asked=asked, principal=principal.caller, account=principal.name,
                        policy=held.document,
                        now=self._clock(), database=connection, counters=counters,
                        layers=released.layers, ledger=released.ledger)  # fmt: skip

    def _judged(self, case: RuleCase, held: HeldPolicy) -> Verdict:
        policy, released = case.policy, self._of(case.asked)
        repeat = case.asked.digest in released.digests
        overridden = case.now < held.overrides.get(case.asked.digest, 0)
        verdicts = []
        with released.lock:
            for name in policy.rules:
                if repeat and name not in _ALWAYS:
                    verdicts.append(passed(name, "published before"))
                    continue
                one = judged(name, case)
                if overridden and name in _OVERRIDABLE and one.outcome in REFUSING:
                    reason = one.explanation
                    one = RuleVerdict(rule=name, outcome=Outcome.overridden, explanation=reason)
                verdicts.append(one)
        return Verdict(
            allowed=not any(one.outcome in REFUSING for one in verdicts),
            instant=cells_of(case.asked) <= policy.size.cells_instant,
            rules=tuple(verdicts),
            repeat=repeat,
            limit=policy.size.cells_job,
        )

    def _gathered(self, asked: AskedTable, evidence: Evidence) -> UniverseFacts:
        """What records tell of a table, as far as rules need it. CONFIDENTIAL."""
        ledger, policy = self._of(asked).ledger, self.policy(asked.dataset, asked.version)
        sketch = sparsity = None
        if UniverseDefinition.of(asked) not in ledger:
            sketch = evidence.universe_sketch(NEAR * policy.differences.least)
        if policy.sparsity.then == "refuse" or asked.programme:
            judged = [name not in asked.geographies for name in asked.spanning]
            sparsity = SparsityShares.of(evidence.published_counts(), policy.sparsity.small, judged)
        few, measured = self._beside_released(asked, evidence, sketch)
        return UniverseFacts(count=evidence.universe_count(), sketch=sketch, sparsity=sparsity,
                             few=few, measured=measured)  # fmt: skip

    def _beside_released(
        self, asked: AskedTable, evidence: Evidence, sketch: UniverseSketch | None
    ) -> tuple[
        Callable[[DifferencePolicy], list[FewUnits]],
        Callable[[ExposurePolicy], MostExposed | None],
    ]:
        """Tell from what a table differs by few, and what it exposes; worked out again if something
        has changed meanwhile.
        """
        released = self._of(asked)
        every = not self.in_force.held(asked.dataset, asked.version).first
        with released.lock:
            if released.figures.every != every:
                released.figures = ShownFigures(every=every)
            figures = released.figures
        known: dict[tuple[int, str], Any] = {}

        def few(limits: DifferencePolicy) -> list[FewUnits]:
            assert sketch is not None
            now = len(released.ledger), limits.model_dump_json()
            if now not in known:
                known[now] = released.ledger.few(UniverseDefinition.of(asked), sketch, limits)
            compared: list[FewUnits] = known[now]
            return compared

        def measured(limits: ExposurePolicy) -> MostExposed | None:
            now = len(released.layers.shapes), limits.model_dump_json()
            if now not in known:
                known[now] = figures.measured(asked, released.layers, evidence,
                                              limits.everywhere, limits.levels)  # fmt: skip
            worst: MostExposed | None = known[now]
            return worst

        return few, measured

    def _compare(self, asked: AskedTable, facts: UniverseFacts) -> None:
        """Work out, before others have to wait for it, what rules will ask of a table."""
        policy, released = self.policy(asked.dataset, asked.version), self._of(asked)
        with suppress(Exception):  # the rule ends in the same error, which refuses
            if not policy.exposure.unlimited:
                facts.measured(policy.exposure)
        with suppress(Exception):
            if facts.sketch and len(released.ledger) < policy.differences.most_universes:
                facts.few(policy.differences)

    def _release(self, case: RuleCase, verdict: Verdict) -> None:
        asked, released = case.asked, self._of(case.asked)
        with released.lock:
            cells = charge_cells(case)
            if not verdict.repeat:
                shape = asked.shape
                facts = {"unit": asked.unit, "digest": asked.digest, "cells": cells}
                (row,) = _RELEASED.rows(case.connection, **asked.place, **facts,
                                        shape=shape_text(shape), released_at=case.now)  # fmt: skip
                released.last = int(row[0])
                released.digests.add(asked.digest)
                released.layers.add(shape)
            definition = UniverseDefinition.of(asked)
            if case.facts is None or case.facts.sketch is None or definition in case.ledger:
                return
            sketch = case.facts.sketch.sealed(self._key, _about(asked, definition))
            texts = {"universe": definition.digest, "variables": definition.text, "facts": "{}"}
            insert_row(case.connection, RELEASED_UNIVERSES, **asked.place, unit=asked.unit,
                       **texts, sketch=sketch, released_at=case.now)  # fmt: skip
            case.ledger.add(definition, case.facts.sketch)
            released.newest = case.now

    def _note_refusal(self, case: RuleCase, verdict: Verdict) -> None:
        """Keep for staff why something was refused."""
        table = {**case.asked.place, "digest": case.asked.digest}
        rules = json.dumps(verdict.explained(), ensure_ascii=False)
        put_row(case.connection, REFUSED_TABLES, table, principal=case.principal, rules=rules,
                refused_at=case.now)  # fmt: skip

    def _read(self, asked: AskedTable, connection: sa.Connection) -> _Released:
        """What was released, read on from where this process stopped reading."""
        number, about = RELEASED_TABLES.c.id, {**asked.place, "unit": asked.unit}
        columns = number, RELEASED_TABLES.c.digest, RELEASED_TABLES.c.shape
        released = self._of(asked)
        with released.lock:
            rows = connection.execute(
                sa.select(*columns)
                .where(*equal_to(RELEASED_TABLES, **about), number > released.last)
                .order_by(number)
            ).all()
            for row in rows:
                released.layers.add(read_shape(row.shape))
                released.digests.add(row.digest)
                released.last = int(row.id)
            self._read_universes(asked, connection, released)
        return released

    def _of(self, asked: AskedTable) -> _Released:
        """What was released, as far as it was read."""
        place = (asked.dataset, asked.version, asked.unit)
        with self._lock:
            if place not in self._released:
                self._released[place] = _Released(ledger=UniverseLedger(key=self._key))
            return self._released[place]

    def _read_universes(
        self, asked: AskedTable, connection: sa.Connection, released: _Released
    ) -> None:
        """Universes that others released: the newest, and if some are missing, all."""
        known, ledger = RELEASED_UNIVERSES.c, released.ledger
        where = equal_to(RELEASED_UNIVERSES, **asked.place, unit=asked.unit)
        counted = sa.select(sa.func.count()).select_from(RELEASED_UNIVERSES).where(*where)
        number = connection.scalar(counted)
        for since in (released.newest - _CLOCKS_APART, 0):
            if number == len(ledger):
                return
            for row in connection.execute(
                sa.select(RELEASED_UNIVERSES)
                .where(*where, known.released_at >= since)
                .order_by(known.released_at, known.universe)
            ):
                released.newest = max(released.newest, int(row.released_at))
                definition = UniverseDefinition.of_text(row.variables)
                if definition not in ledger:
                    about = _about(asked, definition)
                    ledger.add(definition, UniverseSketch.opened(row.sketch, self._key, about))


def judged(name: str, case: RuleCase) -> RuleVerdict:
    """Verdict of a rule; an unknown or failing rule refuses."""
    rule = RULES_BY_NAME.get(name)
    if rule is None:
        return failed(name, "unknown rule")
    try:
        verdict = rule(case)
    except Exception as error:
        # Not its words: they may quote what is confidential.
        return failed(name, f"the rule ended in {type(error).__name__}")
    if verdict.rule != name:
        return failed(name, "another rule decided")
    return verdict


def _about(asked: AskedTable, definition: UniverseDefinition) -> bytes:
    """What a sealed sketch belongs to."""
    return "|".join((asked.dataset, asked.version, definition.digest)).encode()
