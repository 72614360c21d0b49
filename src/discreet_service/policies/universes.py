"""Universes: tables about few, or that tell about few together with others (P4, P5, P7).

Each decision is a function of perturbed values and of who is in a difference, the same whoever
asks. All three are made whatever the first of them says, and refuse in the same words.
"""

from __future__ import annotations

from dataclasses import replace

from discreet_service.policies.asked import AskedTable, Evidence
from discreet_service.policies.document import PolicyDocument
from discreet_service.policies.ledger import NEAR, UniverseDefinition, UniverseLedger
from discreet_service.policies.rules import (
    RuleCase,
    RuleVerdict,
    UniverseFacts,
    failed,
    later,
    passed,
    refused,
)
from discreet_service.policies.sparsity import SparsityShares


def gathered(
    asked: AskedTable, evidence: Evidence, policy: PolicyDocument, ledger: UniverseLedger
) -> UniverseFacts:
    """What records tell of a table, as far as rules need it. CONFIDENTIAL."""
    sketch = None
    if UniverseDefinition.of(asked) not in ledger:
        sketch = evidence.universe_sketch(NEAR * policy.differences.least)
    sparsity = None
    if policy.sparsity.then == "refuse" or asked.programme:
        judged = [not one.geography for one in asked.by]
        sparsity = SparsityShares.of(evidence.published_counts(), policy.sparsity.small, judged)
    return UniverseFacts(count=evidence.universe_count(), sketch=sketch, sparsity=sparsity)


def small_universe_rule(case: RuleCase) -> RuleVerdict:
    """P4: the perturbed count of those whom the table is about."""
    if case.facts is None:
        return later("P4")
    if case.facts.count < case.policy.small_universes.least:
        return refused("P4", "its universe is below the least")
    return passed("P4")


def difference_rule(case: RuleCase) -> RuleVerdict:
    """P5: released universes, sums and differences of them that differ from it by few."""
    if case.facts is None:
        return later("P5")
    sketch = case.facts.sketch
    if sketch is None:
        return passed("P5", "everybody, or released before")
    if len(case.ledger) >= case.policy.differences.most_universes:
        return refused("P5", "the ledger has as many universes as it may have")
    compared, policy = case.facts.compared, case.policy.differences
    if compared and compared.released == len(case.ledger) and compared.policy == policy:
        few = compared.few
    else:
        few = case.ledger.few(UniverseDefinition.of(case.asked), sketch, policy)
    small = [" and ".join(one.others) for one in few if one.small]
    near = tuple(one.others for one in few)
    if small:
        found = refused("P5", f"it differs by few from {small[0]}")
    else:
        found = passed("P5", f"{len(near)} near ones" if near else "")
    return replace(found, near=near)


def sparsity_rule(case: RuleCase) -> RuleVerdict:
    """P7: small cells and rows in which one category has all."""
    if case.policy.sparsity.then == "hide" and not case.asked.programme:
        return passed("P7", "sparse parts are hidden in the answer")
    if case.facts is None:
        return later("P7")
    sparsity = case.facts.sparsity
    if sparsity is None:  # counted under a policy that hid parts
        return failed("P7", "the policy was changed meanwhile")
    if sparsity.exceeds(case.policy.sparsity):
        return refused("P7", "too many small cells, or rows with a single category")
    return passed("P7")
