"""What [parts] decides about the tables of a release, however these are protected.

In: the true counts behind a table (CONFIDENTIAL) and the thresholds of a programme (SECRET).
Out: what was decided about the parts of each count, which may be published.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from discreet.protection.protocol import Counts
from discreet.release.inputs import Inputs
from discreet.release.programme.universes import UNIVERSE

if TYPE_CHECKING:
    from discreet.protection.parts import PartDecisions
    from discreet.tables import Table


def part_decisions(inputs: Inputs, name: str, counts: Counts) -> dict[str, PartDecisions]:
    """Filter → what the rules say of the parts of that count; none without rules.

    Args:
        inputs: What the release is made from.
        name: Name of the table.
        counts: What was counted for it.
    """
    thresholds = inputs.thresholds(name)
    if thresholds is None:
        return {}
    from discreet.protection.parts import PartRules, check_parts

    rules, method = PartRules(**thresholds), inputs.programme.method(name)
    against: Table | Literal["none"] = "none"
    if inputs.held_against_all(name):
        against = counts[UNIVERSE]
    return {
        where: check_parts(
            counts[where],
            rules,
            universe=None if where == UNIVERSE else against,
            deviation=partial(method.deviations, inputs),
        )
        for where in method.needs(inputs, name)
    }
