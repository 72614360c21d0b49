"""Structure: how large and deep a table may be, and how often it says the same (P1, P2, P3).

No record is looked at: sizes are those of classifications.
"""

from __future__ import annotations

from discreet_service.policies.asked import AskedTable
from discreet_service.policies.document import PolicyDocument
from discreet_service.policies.rules import RuleCase, RuleVerdict, passed, refused


def cells_of(asked: AskedTable) -> int:
    """Cells with totals: the larger of what is said and what the variables span."""
    return max(asked.cells, asked.spanned)


def is_instant(asked: AskedTable, policy: PolicyDocument) -> bool:
    """Whether a table is small enough to be answered at once."""
    return cells_of(asked) <= policy.size.cells_instant


def size_rule(case: RuleCase) -> RuleVerdict:
    """P1: cells with totals, and codes of each variable."""
    size, cells = case.policy.size, cells_of(case.asked)
    if cells > size.cells_job:
        return refused("P1", f"{cells:,} cells of {size.cells_job:,}")
    for one in case.asked.by:
        if one.shown > size.categories:
            return refused("P1", f"{one.name} has {one.shown:,} codes of {size.categories:,}")
    return passed("P1", f"{cells:,} cells")


def variables_rule(case: RuleCase) -> RuleVerdict:
    """P2: variables that are no geography, by the deepest level of geography shown.

    A level of geography that the policy does not name is not answered: nobody thought of it.
    """
    asked, limits = case.asked, case.policy.variables
    geography = {level.name for one in asked.by if one.geography for level in one.levels}
    geography |= {one.level for one in asked.where if one.geography}
    names = {one.name for one in asked.by if not one.geography}
    names |= {one.variable for one in asked.where if not one.geography}
    unknown = sorted(geography - limits.depth.keys())
    if unknown:
        return refused("P2", f"no depth for the level {', '.join(unknown)}")
    most = min([limits.most, *(limits.depth[level] for level in geography)])
    if len(names) > most:
        return refused("P2", f"{len(names)} variables of {most}")
    return passed("P2", f"{len(names)} variables of {most}")


def exposure_rule(case: RuleCase) -> RuleVerdict:
    """P3: by how many independent figures its most exposed counts can be estimated."""
    limits = case.policy.exposure
    found = case.layers.most_exposed(case.asked, limits.everywhere, limits.levels)
    said = f"exposure {found.exposure:.2f} by {' x '.join(found.target) or 'the total'}"
    if found.share > 1:
        return refused("P3", f"{said} of {found.limit:.2f}")
    return passed("P3", said)
