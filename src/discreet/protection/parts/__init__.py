"""Suppression of table parts: measures, rules, the walk, and the protected table.

`PartRules` are secret, `measure_parts` is confidential; `PartDecisions` are free of true
values, and `suppress_parts` works on what is to be published.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .decisions import HIDDEN_AREAS as HIDDEN_AREAS
    from .decisions import SUPPRESSED_PARTS as SUPPRESSED_PARTS
    from .decisions import PartDecisions as PartDecisions
    from .decisions import described_decisions as described_decisions
    from .decisions import joint_decisions as joint_decisions
    from .decisions import note as note
    from .decisions import release_shares as release_shares
    from .decisions import suppress_parts as suppress_parts
    from .levels import Level as Level
    from .levels import area_shares as area_shares
    from .levels import level_of as level_of
    from .levels import levels_of as levels_of
    from .levels import name_of_part as name_of_part
    from .levels import named_level as named_level
    from .levels import place_of as place_of
    from .levels import top_areas as top_areas
    from .rules import PartRules as PartRules
    from .rules import PartTuning as PartTuning
    from .rules import Reading as Reading
    from .rules import check_parts as check_parts
    from .rules import measure_parts as measure_parts
    from .rules import tune_parts as tune_parts
    from .settings import ThresholdSettings as ThresholdSettings
    from .tied_parts import PartTies as PartTies
    from .tied_parts import released_parts as released_parts

lazy_face(__name__)
