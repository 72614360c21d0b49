"""Suppression (layer 6): which cells, and which parts of tables, are published.

Cells: `suppress` hides cells of confidential `Table`s until every sensitive one is proven
to be protected, `audit` finds out what tables with blanks still tell. `build_problem` and
`find_pattern` are the steps between, `Suppression` and `report_on` say what happened.
Parts: `check_parts` looks at a `Table`, `suppress_parts` at a `ProtectedTable`.
"""

from discreet.suppression.auditing import Audit, audit
from discreet.suppression.building import build_problem
from discreet.suppression.costs import Cost
from discreet.suppression.demands import Earlier
from discreet.suppression.foreign import Blanks, audit_published
from discreet.suppression.jj import read_jj, write_jj
from discreet.suppression.knowledge import Knowledge
from discreet.suppression.methods import find_pattern
from discreet.suppression.parts import (
    PartDecisions,
    PartRules,
    check_parts,
    measure_parts,
    release_shares,
    suppress_parts,
)
from discreet.suppression.pattern import Pattern
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.releases import check_releases
from discreet.suppression.report import SuppressionReport, report_on
from discreet.suppression.suppressing import Suppression, suppress

__all__ = [
    "Audit",
    "Blanks",
    "Cost",
    "Earlier",
    "Knowledge",
    "PartDecisions",
    "PartRules",
    "Pattern",
    "Suppression",
    "SuppressionProblem",
    "SuppressionReport",
    "audit",
    "audit_published",
    "build_problem",
    "check_parts",
    "check_releases",
    "find_pattern",
    "measure_parts",
    "read_jj",
    "release_shares",
    "report_on",
    "suppress",
    "suppress_parts",
    "write_jj",
]
