"""Suppression (layer 6): which cells, and which parts of tables, are published.

Cells: `suppress` hides cells of confidential `Table`s until every sensitive one is proven
to be protected, `audit` finds out what tables with blanks still tell. `build_problem` and
`find_pattern` are the steps between, `Suppression` and `report_on` say what happened.
Parts: `check_parts` looks at a `Table`, `suppress_parts` at a `ProtectedTable`.

What is about cells is loaded when first used, for it brings compilers along.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from discreet.suppression.parts import (
    PartDecisions,
    PartRules,
    check_parts,
    measure_parts,
    release_shares,
    suppress_parts,
)

if TYPE_CHECKING:
    from discreet.suppression.auditing import Audit, audit
    from discreet.suppression.building import build_problem
    from discreet.suppression.costs import Cost
    from discreet.suppression.demands import Earlier
    from discreet.suppression.figures_together import figure_of
    from discreet.suppression.foreign import Blanks, audit_published
    from discreet.suppression.jj import read_jj, write_jj
    from discreet.suppression.knowledge import Knowledge
    from discreet.suppression.methods import find_pattern
    from discreet.suppression.pattern import Pattern
    from discreet.suppression.problem import SuppressionProblem
    from discreet.suppression.releases import check_releases
    from discreet.suppression.report import SuppressionReport, report_on
    from discreet.suppression.sharing import SharedSuppression
    from discreet.suppression.suppressing import Suppression, suppress

_HOMES = {
    "Audit": "auditing",
    "Blanks": "foreign",
    "Cost": "costs",
    "Earlier": "demands",
    "Knowledge": "knowledge",
    "Pattern": "pattern",
    "SharedSuppression": "sharing",
    "Suppression": "suppressing",
    "SuppressionProblem": "problem",
    "SuppressionReport": "report",
    "audit": "auditing",
    "audit_published": "foreign",
    "build_problem": "building",
    "check_releases": "releases",
    "figure_of": "figures_together",
    "find_pattern": "methods",
    "read_jj": "jj",
    "report_on": "report",
    "suppress": "suppressing",
    "write_jj": "jj",
}

__all__ = [
    "Audit",
    "Blanks",
    "Cost",
    "Earlier",
    "Knowledge",
    "PartDecisions",
    "PartRules",
    "Pattern",
    "SharedSuppression",
    "Suppression",
    "SuppressionProblem",
    "SuppressionReport",
    "audit",
    "audit_published",
    "build_problem",
    "check_parts",
    "check_releases",
    "figure_of",
    "find_pattern",
    "measure_parts",
    "read_jj",
    "release_shares",
    "report_on",
    "suppress",
    "suppress_parts",
    "write_jj",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.suppression' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"discreet.suppression.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
