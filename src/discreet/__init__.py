"""Statistical disclosure control for official statistics.

Data flows one way: records → table (confidential) → protected table → publication.

- Records: `read_microdata`, `with_record_keys`, `inherit_record_keys`, `import_record_keys`
- Classifications: `Classification`
- Tables: `tabulate` makes a `Table` (confidential), `tabulate_many` one for each `Query`;
  `Table.from_cells` takes one made elsewhere
- Cell-key method: `PerturbationTable`, `perturb` → `ProtectedTable`
- Design of the noise: `design_perturbation`; for sums of values
  `design_magnitude_perturbation` → `MagnitudePerturbationTable`
- Whole programmes: `protect`
- Errors: all are `DiscreetError`

Names are loaded when first used, so that ``import discreet`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from discreet._version import __version__

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.errors import DiscreetError
    from discreet.keygrid import KeyGrid
    from discreet.microdata import (
        import_record_keys,
        inherit_record_keys,
        read_microdata,
        with_record_keys,
    )
    from discreet.perturbation import (
        MagnitudePerturbationTable,
        PerturbationTable,
        design_magnitude_perturbation,
        design_perturbation,
        perturb,
    )
    from discreet.release import protect
    from discreet.tables import CellStatus, ProtectedTable, Table
    from discreet.tabulation import Query, tabulate, tabulate_many

_HOMES = {
    "CellStatus": "tables",
    "Classification": "classifications",
    "DiscreetError": "errors",
    "KeyGrid": "keygrid",
    "MagnitudePerturbationTable": "perturbation",
    "PerturbationTable": "perturbation",
    "ProtectedTable": "tables",
    "Query": "tabulation",
    "Table": "tables",
    "design_magnitude_perturbation": "perturbation",
    "design_perturbation": "perturbation",
    "import_record_keys": "microdata",
    "inherit_record_keys": "microdata",
    "perturb": "perturbation",
    "protect": "release",
    "read_microdata": "microdata",
    "tabulate": "tabulation",
    "tabulate_many": "tabulation",
    "with_record_keys": "microdata",
}

__all__ = [
    "CellStatus",
    "Classification",
    "DiscreetError",
    "KeyGrid",
    "MagnitudePerturbationTable",
    "PerturbationTable",
    "ProtectedTable",
    "Query",
    "Table",
    "__version__",
    "design_magnitude_perturbation",
    "design_perturbation",
    "import_record_keys",
    "inherit_record_keys",
    "perturb",
    "protect",
    "read_microdata",
    "tabulate",
    "tabulate_many",
    "with_record_keys",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"discreet.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
