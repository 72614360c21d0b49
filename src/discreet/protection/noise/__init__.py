"""From tables to protected tables: perturbation tables and the cell-key method.

`PerturbationTable` and `MagnitudeNoise` are secret; `perturb` (counts) and
`perturb_magnitudes` (sums, means) cross the confidentiality line: a confidential
`Table` goes in, a `ProtectedTable` comes out. An `Ingredient` of key figures carries
both sides and is confidential.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from discreet.tables.ingredient import Ingredient as Ingredient

    from .counts import count_ingredient as count_ingredient
    from .counts import perturb as perturb
    from .design.tables import design_magnitude_perturbation as design_magnitude_perturbation
    from .design.tables import design_perturbation as design_perturbation
    from .invariant import InvariantRisk as InvariantRisk
    from .invariant import invariant_risk as invariant_risk
    from .invariant import invariant_table as invariant_table
    from .invariant import perturb_invariant as perturb_invariant
    from .invariant_method import InvariantProtection as InvariantProtection
    from .magnitude_noise import FlexStrength as FlexStrength
    from .magnitude_noise import MagnitudeNoise as MagnitudeNoise
    from .magnitude_noise import SimpleStrength as SimpleStrength
    from .magnitude_table import MagnitudePerturbationTable as MagnitudePerturbationTable
    from .magnitudes import contributors as contributors
    from .magnitudes import magnitude_ingredient as magnitude_ingredient
    from .magnitudes import mean_ingredient as mean_ingredient
    from .magnitudes import perturb_magnitudes as perturb_magnitudes
    from .table import PerturbationTable as PerturbationTable
    from .unit_factors import UnitNoise as UnitNoise
    from .unit_sums import UnitRisk as UnitRisk
    from .unit_sums import perturb_units as perturb_units
    from .unit_sums import unit_risk as unit_risk

lazy_face(__name__)
