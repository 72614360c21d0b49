"""Attacks carried out on publications: what they give away.

Protected tables go in, by the universe they count; what each attack finds comes out.

- `attacked`: all attacks on tables, as an `AttackReport`
- `Catalogue`: every published count once, and what adds up to what
- `averaged`, `bounded`, `resolved`, `likeliest`, `near_twins`, `found_parameters`, `shared_noise`,
  `group_disclosures`, `attacked_values`, `alike_noise`, `reconstruct`: each attack on its own
- `NoiseOdds`, `exposure_of`: how likely attacks succeed, before anything is counted
- `attacked_panel`: what tables of several periods give away, on a panel whose truth is known; the
  attacks themselves are those of `periods`
"""

from discreet.assessment.attacks.attributes import GroupDisclosures, group_disclosures
from discreet.assessment.attacks.averages import AveragedCounts, averaged
from discreet.assessment.attacks.bounds import (
    CountBounds,
    Likely,
    NoiseRange,
    bounded,
    likeliest,
    resolved,
)
from discreet.assessment.attacks.catalogue import BareFigures, Catalogue, System
from discreet.assessment.attacks.equality import NearTwins, near_twins
from discreet.assessment.attacks.odds import NoiseOdds, exposure_of
from discreet.assessment.attacks.panels import AttackSuccess, attacked_panel
from discreet.assessment.attacks.parameters import (
    FoundParameters,
    SharedNoise,
    found_parameters,
    shared_noise,
)
from discreet.assessment.attacks.reconstruction import Reconstruction, reconstruct
from discreet.assessment.attacks.report import AttackReport, attacked
from discreet.assessment.attacks.values import (
    AlikeNoise,
    AttackedValues,
    alike_noise,
    attacked_values,
)

__all__ = [
    "AlikeNoise",
    "AttackReport",
    "AttackSuccess",
    "AttackedValues",
    "BareFigures",
    "Catalogue",
    "CountBounds",
    "AveragedCounts",
    "FoundParameters",
    "GroupDisclosures",
    "Likely",
    "NearTwins",
    "NoiseOdds",
    "NoiseRange",
    "Reconstruction",
    "SharedNoise",
    "System",
    "alike_noise",
    "attacked",
    "attacked_panel",
    "attacked_values",
    "averaged",
    "bounded",
    "exposure_of",
    "found_parameters",
    "group_disclosures",
    "likeliest",
    "near_twins",
    "reconstruct",
    "resolved",
    "shared_noise",
]
