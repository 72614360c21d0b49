"""From tables to protected tables: perturbation tables and the cell-key method.

`PerturbationTable` and `MagnitudeNoise` are secret; `perturb` (counts) and
`perturb_magnitudes` (sums, means) cross the confidentiality line: a confidential
`Table` goes in, a `ProtectedTable` comes out. An `Ingredient` of key figures carries
both sides and is confidential.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from discreet.tables import Ingredient as Ingredient

    from .counts import NON_ADDITIVITY as NON_ADDITIVITY
    from .counts import UNSUITABLE_KEYS as UNSUITABLE_KEYS
    from .counts import CountCells as CountCells
    from .counts import check_found_codes as check_found_codes
    from .counts import count_ingredient as count_ingredient
    from .counts import keep_found_codes as keep_found_codes
    from .counts import perturb as perturb
    from .counts import perturbed_cells as perturbed_cells
    from .design.discretisation import discretised as discretised
    from .design.permutation import permuted as permuted
    from .design.tables import design_magnitude_perturbation as design_magnitude_perturbation
    from .design.tables import design_perturbation as design_perturbation
    from .design.tables import design_rows as design_rows
    from .design.tables import preset as preset
    from .formats import as_text as as_text
    from .intervals import DECIMAL_SCALE as DECIMAL_SCALE
    from .intervals import Closed as Closed
    from .intervals import Intervals as Intervals
    from .intervals import count_deviations as count_deviations
    from .intervals import moments as moments
    from .intervals import pack as pack
    from .invariant import InvariantRisk as InvariantRisk
    from .invariant import invariant_risk as invariant_risk
    from .invariant import invariant_table as invariant_table
    from .invariant import perturb_invariant as perturb_invariant
    from .invariant import transition_rows as transition_rows
    from .invariant_method import InvariantProtection as InvariantProtection
    from .limits import CHANCE as CHANCE
    from .limits import P_PERCENT as P_PERCENT
    from .magnitude_noise import FlexStrength as FlexStrength
    from .magnitude_noise import MagnitudeNoise as MagnitudeNoise
    from .magnitude_noise import SimpleStrength as SimpleStrength
    from .magnitude_table import MagnitudePart as MagnitudePart
    from .magnitude_table import MagnitudePerturbationTable as MagnitudePerturbationTable
    from .magnitude_table import check_kind as check_kind
    from .magnitudes import contributors as contributors
    from .magnitudes import magnitude_ingredient as magnitude_ingredient
    from .magnitudes import mean_ingredient as mean_ingredient
    from .magnitudes import perturb_magnitudes as perturb_magnitudes
    from .method import NoiseProtection as NoiseProtection
    from .method import noise_warnings as noise_warnings
    from .method import unused_noise as unused_noise
    from .settings import CountNoiseSettings as CountNoiseSettings
    from .settings import InvariantSettings as InvariantSettings
    from .settings import MagnitudeNoiseSettings as MagnitudeNoiseSettings
    from .settings import MagnitudeSettings as MagnitudeSettings
    from .settings import MarkedNoiseSettings as MarkedNoiseSettings
    from .settings import PerturbationSettings as PerturbationSettings
    from .settings import UnitNoiseSettings as UnitNoiseSettings
    from .sources import PerturbationFile as PerturbationFile
    from .sources import read_json as read_json
    from .table import PerturbationTable as PerturbationTable
    from .unit_factors import UnitNoise as UnitNoise
    from .unit_method import UnitNoiseProtection as UnitNoiseProtection
    from .unit_sums import UnitRisk as UnitRisk
    from .unit_sums import perturb_units as perturb_units
    from .unit_sums import unit_risk as unit_risk

lazy_face(__name__)
