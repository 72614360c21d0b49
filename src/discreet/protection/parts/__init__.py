"""Suppression of table parts: measures, rules, the walk, and the protected table.

`PartRules` are secret, `measure_parts` is confidential; `PartDecisions` are free of true
values, and `suppress_parts` works on what is to be published.
"""

from discreet.protection.parts.areas import AreaParts, AreaShare, area_shares
from discreet.protection.parts.decisions import (
    HIDDEN_AREAS,
    SUPPRESSED_PARTS,
    PartDecision,
    PartDecisions,
    PartReason,
    PartSuggestion,
    ReleaseShare,
    described_decisions,
    joint_decisions,
    release_shares,
    suppress_parts,
)
from discreet.protection.parts.levels import PartLevel
from discreet.protection.parts.rules import PartRules, check_parts, measure_parts
from discreet.protection.parts.shared_parts import agreed_decisions, released_parts
from discreet.protection.parts.tuned_thresholds import PartTuning, tune_parts

__all__ = [
    "AreaParts",
    "AreaShare",
    "HIDDEN_AREAS",
    "area_shares",
    "SUPPRESSED_PARTS",
    "PartDecision",
    "PartDecisions",
    "PartLevel",
    "PartTuning",
    "PartRules",
    "PartReason",
    "ReleaseShare",
    "PartSuggestion",
    "agreed_decisions",
    "check_parts",
    "described_decisions",
    "joint_decisions",
    "measure_parts",
    "release_shares",
    "released_parts",
    "suppress_parts",
    "tune_parts",
]
