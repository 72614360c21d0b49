"""From tables to protected tables (layer 6): perturbation tables and the cell-key method.

`PerturbationTable` and `MagnitudeNoise` are secret; `perturb` (counts) and
`perturb_magnitudes` (sums, means) cross the confidentiality line: a confidential
`Table` goes in, a `ProtectedTable` comes out. An `Ingredient` of key figures carries
both sides and is confidential.
"""

from discreet.perturbation.count_ingredients import count_ingredient
from discreet.perturbation.counts import perturb
from discreet.perturbation.design import design_magnitude_perturbation, design_perturbation
from discreet.perturbation.ingredient import Ingredient
from discreet.perturbation.magnitude_noise import MagnitudeNoise
from discreet.perturbation.magnitude_protection import (
    magnitude_ingredient,
    mean_ingredient,
    perturb_magnitudes,
)
from discreet.perturbation.magnitude_sums import contributors
from discreet.perturbation.magnitudes import MagnitudePerturbationTable
from discreet.perturbation.strength import FlexStrength, SimpleStrength
from discreet.perturbation.table import PerturbationTable

__all__ = [
    "FlexStrength",
    "Ingredient",
    "MagnitudeNoise",
    "MagnitudePerturbationTable",
    "PerturbationTable",
    "SimpleStrength",
    "contributors",
    "count_ingredient",
    "design_magnitude_perturbation",
    "design_perturbation",
    "magnitude_ingredient",
    "mean_ingredient",
    "perturb",
    "perturb_magnitudes",
]
