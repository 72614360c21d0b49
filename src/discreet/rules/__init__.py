"""Primary rules: which cells of a table are sensitive. SECRET and confidential.

`primary` applies rules to a confidential `Table`. On counts: `MinimumFrequency` and
`MarginalRule`; on values: `Dominance`, `PPercent`, `PQ`, `Request`, `ZeroUnsafe`; for
records or for holdings, which `count_holdings` counts. `CodeRules` hold for some codes only,
`Waivers` tell who has not consented to be shown, `MissingSafe` lets cells go, `Marks` say
what people decided (all of it: `marked_cells`), and `NothingSensitive` that there is no rule.
Rules are secret, their results confidential; only the kind of rule, a `Reason`, may be
published.

Every module here is loaded with the package, so that a rule is known once its module is here.
"""

import importlib
import pkgutil

from discreet.rules.codes import CodeRules
from discreet.rules.concentration import PQ, Dominance, PPercent, Request
from discreet.rules.contributors import (
    MarginalRule,
    MinimumFrequency,
    MissingSafe,
    NothingSensitive,
    ZeroUnsafe,
)
from discreet.rules.holdings import count_holdings
from discreet.rules.known_bounds import read_bounds
from discreet.rules.marked_cells import marked_cells
from discreet.rules.marks import Mark, Marks
from discreet.rules.primaries import CellVerdict, Primary, primary
from discreet.rules.protocol import Reason, Rule, known_rules
from discreet.rules.waivers import Waivers, count_waivers

__all__ = [
    "PQ",
    "CodeRules",
    "Dominance",
    "MarginalRule",
    "Mark",
    "Marks",
    "MinimumFrequency",
    "MissingSafe",
    "NothingSensitive",
    "PPercent",
    "Primary",
    "Reason",
    "Request",
    "Rule",
    "CellVerdict",
    "Waivers",
    "ZeroUnsafe",
    "count_holdings",
    "count_waivers",
    "known_rules",
    "marked_cells",
    "primary",
    "read_bounds",
]

for _found in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_found.name}")
globals().update({rule.__name__: rule for rule in known_rules().values()})
