"""Custom groups: codes that are filtered together (P6).

A filter of several codes is a group of somebody's own: with groups one is free to choose, every
count can be taken apart in as many ways as there are partitions, and averaged. Only groups that
were reviewed and stand in the policy are let through, for all users the same ones.
"""

from __future__ import annotations

from discreet_service.policies.asked import AskedFilter
from discreet_service.policies.document import CustomGroupPolicy
from discreet_service.policies.rules import RuleCase, RuleVerdict, passed, refused


def reviewed(condition: AskedFilter, groups: CustomGroupPolicy) -> bool:
    """Whether a filter is one code, or a reviewed group; whatever it is called."""
    if len(condition.codes) == 1:
        return True
    return any(
        (group.variable, group.level) == (condition.variable, condition.level)
        and set(group.codes) == set(condition.codes)
        for group in groups.groups
    )


def custom_groups_rule(case: RuleCase) -> RuleVerdict:
    """P6: no groups but reviewed ones."""
    groups = case.policy.custom_groups
    own = [one.variable for one in case.asked.where if not reviewed(one, groups)]
    if own:
        return refused("P6", f"a group of codes that was not reviewed: {', '.join(own)}")
    return passed("P6")
