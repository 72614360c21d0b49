"""Suppression of table parts: measures, rules, the walk, and the protected table.

`PartRules` are secret, `measure_parts` is confidential; `PartDecisions` are free of true
values, and `suppress_parts` works on what is to be published.
"""

from discreet.suppression.parts.decisions import PartDecision, PartDecisions, Reason, Suggestion
from discreet.suppression.parts.names import PartLevel
from discreet.suppression.parts.publishing import SUPPRESSED_PARTS, suppress_parts
from discreet.suppression.parts.rules import PartRules
from discreet.suppression.parts.shares import ReleaseShare, release_shares
from discreet.suppression.parts.walk import check_parts, measure_parts

__all__ = [
    "SUPPRESSED_PARTS",
    "PartDecision",
    "PartDecisions",
    "PartLevel",
    "PartRules",
    "Reason",
    "ReleaseShare",
    "Suggestion",
    "check_parts",
    "measure_parts",
    "release_shares",
    "suppress_parts",
]
