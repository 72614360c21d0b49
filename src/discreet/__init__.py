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
- Key figures: `derive` makes shares, means, changes, … as each `KeyFigure` says
- Samples: `estimate_sample` gives rounded estimates with their `PrecisionClasses`, drawn as a
  `SampleDesign` says
- Cell suppression: `primary` applies the rules of `discreet.rules` to a table, `suppress`
  hides cells → `ProtectedTable`, `audit` finds out what hidden cells still tell
- Rounding: `round_counts`, each figure on its own or so that totals stay sums; `make_additive`
  changes protected figures until totals are sums of their parts
- Table parts: `check_parts` holds a table against `PartRules`, `suppress_parts` hides what
  breaks them; `tune_parts` finds thresholds for a target (confidential); `area_tables` makes a
  table for each area of a protected one
- What protection did to a table: `compare` (confidential); what a release gives away:
  `attack` (secret)
- Whole programmes: `protect`; their parameters in one sealed file: `pack_parameters`,
  `open_parameters`; whether a release is as its office made it: `verify_release`
- Cubes, to which records are added up in many places (confidential): `make_cubes`,
  `join_cube_files`
- Stores, from which any table is made at once (confidential): `Store`
- Methods on records: `discreet.pretabular`; programmes of them: `anonymise`; who can be found
  in a file, and what changing it did: `assess_records`, `compare_records` (confidential)
- Maps of protected tables: `Boundaries` of areas, which their `write` takes
- Errors: all are `DiscreetError`; what is none but should be known is a `DiscreetWarning`

Names are loaded when first used, so that ``import discreet`` stays light.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from discreet._version import __version__

if TYPE_CHECKING:
    from discreet.assessment import compare
    from discreet.assessment.record_risk import assess_records, compare_records
    from discreet.classifications import Classification
    from discreet.derived import (
        KeyFigure,
        PrecisionClasses,
        SampleDesign,
        derive,
        estimate_sample,
    )
    from discreet.errors import DiscreetError, DiscreetWarning
    from discreet.keygrid import KeyGrid
    from discreet.microdata import (
        detect_reading,
        import_record_keys,
        inherit_record_keys,
        read_microdata,
        with_period_keys,
        with_record_keys,
        with_squares,
    )
    from discreet.protection.noise import (
        FlexStrength,
        MagnitudeNoise,
        MagnitudePerturbationTable,
        PerturbationTable,
        SimpleStrength,
        UnitNoise,
        design_magnitude_perturbation,
        design_perturbation,
        perturb,
        perturb_invariant,
        perturb_magnitudes,
        perturb_units,
    )
    from discreet.protection.parts import PartRules, check_parts, suppress_parts, tune_parts
    from discreet.protection.rounding import make_additive, round_counts
    from discreet.protection.suppression import audit, suppress
    from discreet.publication.boundaries import Boundaries
    from discreet.release import attack, protect, verify_release
    from discreet.release.anonymisation import anonymise
    from discreet.release.area_tables import area_tables
    from discreet.release.cubes import join_cube_files, make_cubes
    from discreet.release.packages import open_parameters, pack_parameters
    from discreet.rules import primary
    from discreet.store import Store
    from discreet.tables import CellStatus, ProtectedTable, Table, ValueColumns
    from discreet.tabulation import Query, tabulate, tabulate_many

_HOMES = {
    "Boundaries": "publication.boundaries",
    "CellStatus": "tables",
    "Classification": "classifications",
    "DiscreetError": "errors",
    "DiscreetWarning": "errors",
    "FlexStrength": "protection.noise",
    "KeyFigure": "derived",
    "KeyGrid": "keygrid",
    "MagnitudeNoise": "protection.noise",
    "MagnitudePerturbationTable": "protection.noise",
    "PartRules": "protection.parts",
    "PerturbationTable": "protection.noise",
    "PrecisionClasses": "derived",
    "ProtectedTable": "tables",
    "Query": "tabulation",
    "SampleDesign": "derived",
    "SimpleStrength": "protection.noise",
    "Store": "store",
    "Table": "tables",
    "UnitNoise": "protection.noise",
    "ValueColumns": "tables",
    "anonymise": "release.anonymisation",
    "area_tables": "release.area_tables",
    "assess_records": "assessment.record_risk",
    "attack": "release",
    "audit": "protection.suppression",
    "check_parts": "protection.parts",
    "compare": "assessment",
    "compare_records": "assessment.record_risk",
    "derive": "derived",
    "design_magnitude_perturbation": "protection.noise",
    "design_perturbation": "protection.noise",
    "detect_reading": "microdata",
    "estimate_sample": "derived",
    "import_record_keys": "microdata",
    "inherit_record_keys": "microdata",
    "join_cube_files": "release.cubes",
    "make_additive": "protection.rounding",
    "make_cubes": "release.cubes",
    "open_parameters": "release.packages",
    "pack_parameters": "release.packages",
    "perturb": "protection.noise",
    "perturb_invariant": "protection.noise",
    "perturb_magnitudes": "protection.noise",
    "perturb_units": "protection.noise",
    "primary": "rules",
    "protect": "release",
    "read_microdata": "microdata",
    "round_counts": "protection.rounding",
    "suppress": "protection.suppression",
    "suppress_parts": "protection.parts",
    "tabulate": "tabulation",
    "tabulate_many": "tabulation",
    "tune_parts": "protection.parts",
    "verify_release": "release",
    "with_period_keys": "microdata",
    "with_record_keys": "microdata",
    "with_squares": "microdata",
}

#: Modules that are used by their name, as in `discreet.rules.PPercent`.
_MODULES = ("pretabular", "rules")

__all__ = [
    "Boundaries",
    "CellStatus",
    "Classification",
    "DiscreetError",
    "DiscreetWarning",
    "FlexStrength",
    "KeyFigure",
    "KeyGrid",
    "MagnitudeNoise",
    "MagnitudePerturbationTable",
    "PartRules",
    "PerturbationTable",
    "PrecisionClasses",
    "ProtectedTable",
    "Query",
    "SampleDesign",
    "SimpleStrength",
    "Store",
    "Table",
    "UnitNoise",
    "ValueColumns",
    "__version__",
    "anonymise",
    "area_tables",
    "assess_records",
    "attack",
    "audit",
    "check_parts",
    "compare",
    "compare_records",
    "derive",
    "design_magnitude_perturbation",
    "design_perturbation",
    "detect_reading",
    "estimate_sample",
    "import_record_keys",
    "inherit_record_keys",
    "join_cube_files",
    "make_additive",
    "make_cubes",
    "open_parameters",
    "pack_parameters",
    "perturb",
    "perturb_invariant",
    "perturb_magnitudes",
    "perturb_units",
    "primary",
    "protect",
    "read_microdata",
    "round_counts",
    "suppress",
    "suppress_parts",
    "tabulate",
    "tabulate_many",
    "tune_parts",
    "verify_release",
    "with_period_keys",
    "with_record_keys",
    "with_squares",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if name in _MODULES:
        return importlib.import_module(f"discreet.{name}")
    if home is None and not name.startswith("_"):
        from discreet.plugins import plugin

        if module := plugin("module", f"discreet.{name}"):
            return module
    if home is None:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"discreet.{home}"), name)
    globals()[name] = value
    return value


class _PluginModules:
    """Finds modules that plugins offer under names of their own below `discreet`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        if not name.startswith(("discreet.", "discreet_fire.")):
            return None
        from discreet.plugins import module_spec

        return module_spec(name)


sys.meta_path.append(_PluginModules)


def __dir__() -> list[str]:
    return sorted(__all__)
