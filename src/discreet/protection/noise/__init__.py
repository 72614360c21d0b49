"""From tables to protected tables: perturbation tables and the cell-key method.

`PerturbationTable` and `MagnitudeNoise` are secret; `perturb` (counts) and
`perturb_magnitudes` (sums, means) cross the confidentiality line: a confidential
`Table` goes in, a `ProtectedTable` comes out. An `Ingredient` of key figures carries
both sides and is confidential.
"""

from discreet.protection.noise.counts import count_ingredient, perturb
from discreet.protection.noise.design import design_magnitude_perturbation, design_perturbation
from discreet.protection.noise.invariant import (
    InvariantRisk,
    invariant_risk,
    invariant_table,
    perturb_invariant,
)
from discreet.protection.noise.magnitude_noise import FlexStrength, MagnitudeNoise, SimpleStrength
from discreet.protection.noise.magnitude_table import MagnitudePerturbationTable
from discreet.protection.noise.magnitudes import (
    contributors,
    magnitude_ingredient,
    mean_ingredient,
    perturb_magnitudes,
)
from discreet.protection.noise.table import PerturbationTable
from discreet.protection.noise.unit_factors import UnitNoise
from discreet.protection.noise.unit_sums import UnitRisk, perturb_units, unit_risk
from discreet.tables.ingredient import Ingredient

__all__ = [
    "FlexStrength",
    "Ingredient",
    "InvariantRisk",
    "MagnitudeNoise",
    "MagnitudePerturbationTable",
    "PerturbationTable",
    "SimpleStrength",
    "UnitNoise",
    "UnitRisk",
    "contributors",
    "count_ingredient",
    "design_magnitude_perturbation",
    "design_perturbation",
    "invariant_risk",
    "invariant_table",
    "magnitude_ingredient",
    "mean_ingredient",
    "perturb",
    "perturb_invariant",
    "perturb_magnitudes",
    "perturb_units",
    "unit_risk",
]
