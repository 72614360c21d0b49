"""Statistical disclosure control for official statistics.

Data flows one way: records → table (confidential) → protected table → publication.

- Records: `read_microdata`, `detect_reading`, `with_record_keys`, `with_period_keys`,
  `inherit_record_keys`, `import_record_keys`, `with_squares`
- Classifications: `Classification`
- Tables: `tabulate` makes a `Table` (confidential), `tabulate_many` one for each `Query`;
  `Table.from_cells` takes one made elsewhere, with its sums as `ValueColumns` say
- Cell-key method: `PerturbationTable`, `perturb` → `ProtectedTable`; `perturb_invariant` keeps
  how often each value stands in a table
- Design of the noise: `design_perturbation`; for sums of values
  `design_magnitude_perturbation` → `MagnitudePerturbationTable`
- Sums and means: `MagnitudeNoise` with `FlexStrength` or `SimpleStrength`,
  `perturb_magnitudes` → `ProtectedTable`; `perturb_units` with `UnitNoise` for sums that add up
- Key figures: `derive` makes shares, means, changes, … as each `KeyFigure` says; `quantiles`
  makes medians and others of protected counts by classes; `thinned_flows` hides
  or merges small flows of a table by origin and destination, `available_areas` leaves out areas
  that are too small for a table
- Samples: `estimate_sample` gives rounded estimates with their `PrecisionClasses`, drawn as a
  `SampleDesign` says
- Cell suppression: `primary` applies the rules of `discreet.rules` to a table, `suppress`
  hides cells → `ProtectedTable`, `audit` finds out what hidden cells still tell
- Adjustment: `adjust` moves sensitive figures to a safe distance and hides none
- Rounding: `round_counts`, each figure on its own or so that totals stay sums; `make_additive`
  changes protected figures until totals are sums of their parts
- Table parts: `check_parts` holds a table against `PartRules`, `suppress_parts` hides what
  breaks them; `tune_parts` finds thresholds for a target (confidential); `area_tables` makes a
  table for each area of a protected one
- What protection did to a table: `compare` (confidential); what a release gives away:
  `attack` (secret)
- Which method fits a file, and how to begin: `advise`
- Whole programmes: `protect`; their parameters in one sealed file: `pack_parameters`,
  `open_parameters`; whether a release is as its office made it: `verify_release`
- Cubes, to which records are added up in many places (confidential): `make_cubes`,
  `join_cube_files`
- Stores, from which any table is made at once (confidential): `Store`
- Methods on records: `discreet.pretabular`; programmes of them: `anonymise`; who can be found
  in a file, and what changing it did: `assess_records`, `compare_records` (confidential)
- Publication: `Imprint` names publisher, licence and contact of a protected table; `CountMargin`
  says how exact counts with noise are, and shares, differences and ranks made of them
- Maps of protected tables: `Boundaries` of areas, which their `write` takes
- Errors: all are `DiscreetError`; what is none but should be known is a `DiscreetWarning`

Names are loaded when first used, so that ``import discreet`` stays light.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from discreet.faces import lazy_face
from discreet.renderings import register_renderings

if TYPE_CHECKING:
    from . import pretabular as pretabular
    from . import rules as rules
    from ._version import __version__ as __version__
    from .assessment import assess_records as assess_records
    from .assessment import compare as compare
    from .assessment import compare_records as compare_records
    from .classifications import Classification as Classification
    from .derived import KeyFigure as KeyFigure
    from .derived import PrecisionClasses as PrecisionClasses
    from .derived import SampleDesign as SampleDesign
    from .derived import available_areas as available_areas
    from .derived import derive as derive
    from .derived import estimate_sample as estimate_sample
    from .derived import quantiles as quantiles
    from .derived import thinned_flows as thinned_flows
    from .errors import DiscreetError as DiscreetError
    from .errors import DiscreetWarning as DiscreetWarning
    from .keygrid import KeyGrid as KeyGrid
    from .microdata import detect_reading as detect_reading
    from .microdata import import_record_keys as import_record_keys
    from .microdata import inherit_record_keys as inherit_record_keys
    from .microdata import read_microdata as read_microdata
    from .microdata import with_period_keys as with_period_keys
    from .microdata import with_record_keys as with_record_keys
    from .microdata import with_squares as with_squares
    from .protection.adjustment import adjust as adjust
    from .protection.noise import FlexStrength as FlexStrength
    from .protection.noise import MagnitudeNoise as MagnitudeNoise
    from .protection.noise import MagnitudePerturbationTable as MagnitudePerturbationTable
    from .protection.noise import PerturbationTable as PerturbationTable
    from .protection.noise import SimpleStrength as SimpleStrength
    from .protection.noise import UnitNoise as UnitNoise
    from .protection.noise import design_magnitude_perturbation as design_magnitude_perturbation
    from .protection.noise import design_perturbation as design_perturbation
    from .protection.noise import perturb as perturb
    from .protection.noise import perturb_invariant as perturb_invariant
    from .protection.noise import perturb_magnitudes as perturb_magnitudes
    from .protection.noise import perturb_units as perturb_units
    from .protection.parts import PartRules as PartRules
    from .protection.parts import check_parts as check_parts
    from .protection.parts import suppress_parts as suppress_parts
    from .protection.parts import tune_parts as tune_parts
    from .protection.rounding import make_additive as make_additive
    from .protection.rounding import round_counts as round_counts
    from .protection.suppression import audit as audit
    from .protection.suppression import suppress as suppress
    from .publication import Boundaries as Boundaries
    from .publication import CountMargin as CountMargin
    from .release import advise as advise
    from .release import anonymise as anonymise
    from .release import area_tables as area_tables
    from .release import attack as attack
    from .release import join_cube_files as join_cube_files
    from .release import make_cubes as make_cubes
    from .release import open_parameters as open_parameters
    from .release import pack_parameters as pack_parameters
    from .release import protect as protect
    from .release import verify_release as verify_release
    from .rules import primary as primary
    from .store import Store as Store
    from .tables import CellStatus as CellStatus
    from .tables import Imprint as Imprint
    from .tables import ProtectedTable as ProtectedTable
    from .tables import Table as Table
    from .tables import ValueColumns as ValueColumns
    from .tabulation import Query as Query
    from .tabulation import tabulate as tabulate
    from .tabulation import tabulate_many as tabulate_many

lazy_face(__name__)

register_renderings(
    great_table="discreet.publication",
    notebook_html="discreet.publication",
    plot="discreet.assessment",
    write="discreet.publication",
)


class _PluginModules:
    """Finds modules that plugins offer under names of their own below `discreet`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        if not name.startswith(("discreet.", "discreet_fire.")):
            return None
        from discreet.plugins import module_spec

        return module_spec(name)


sys.meta_path.append(_PluginModules)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A module of a plugin; the names above are found after this."""
        if not name.startswith("_") and name not in dir(sys.modules[__name__]):
            from discreet.plugins import plugin

            if module := plugin("module", f"discreet.{name}"):
                return module
        raise AttributeError(name)
