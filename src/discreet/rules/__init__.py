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
from typing import TYPE_CHECKING

from discreet.faces import lazy_face
from discreet.rules import protocol

if TYPE_CHECKING:
    from .contributors import PQ as PQ
    from .contributors import Dominance as Dominance
    from .contributors import MarginalRule as MarginalRule
    from .contributors import MinimumFrequency as MinimumFrequency
    from .contributors import MissingSafe as MissingSafe
    from .contributors import NothingSensitive as NothingSensitive
    from .contributors import PPercent as PPercent
    from .contributors import Request as Request
    from .contributors import ZeroUnsafe as ZeroUnsafe
    from .evidence import CellLookup as CellLookup
    from .holdings import SEVERAL as SEVERAL
    from .holdings import UNNAMED as UNNAMED
    from .holdings import Waivers as Waivers
    from .holdings import count_holdings as count_holdings
    from .holdings import count_waivers as count_waivers
    from .holdings import lone_contributors as lone_contributors
    from .marks import Mark as Mark
    from .marks import Marks as Marks
    from .marks import read_bounds as read_bounds
    from .primaries import CellVerdict as CellVerdict
    from .primaries import Primary as Primary
    from .primaries import marked_cells as marked_cells
    from .primaries import primary as primary
    from .protocol import CodeRules as CodeRules
    from .protocol import Per as Per
    from .protocol import Reason as Reason
    from .protocol import Rule as Rule
    from .protocol import is_number as is_number
    from .protocol import known_rules as known_rules
    from .rule_sets import RuleSet as RuleSet
    from .rule_sets import rule_filters as rule_filters
    from .rule_sets import rule_problems as rule_problems

lazy_face(__name__)

for _found in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_found.name}")
globals().update({rule.__name__: rule for rule in protocol.known_rules().values()})
