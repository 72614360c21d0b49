"""Cell suppression: which cells of tables are published. CONFIDENTIAL.

`suppress` hides cells of confidential `Table`s until every sensitive one is proven to be
protected, `audit` finds out what tables with blanks still tell. `build_problem` and
`find_pattern` are the steps between, `Suppression` and `report_on` say what happened.

problem/ is the system of cells and relations, proof/ what hidden cells prove and what
attackers find out, methods/ the search for patterns, publish/ tables in and tables out.
Everything is loaded when first used, for it brings compilers along.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.protection.suppression.methods.registry import find_pattern
    from discreet.protection.suppression.problem.demands import Earlier
    from discreet.protection.suppression.problem.linked_tables import build_problem
    from discreet.protection.suppression.problem.parameters import Cost, Knowledge
    from discreet.protection.suppression.problem.system import SuppressionProblem
    from discreet.protection.suppression.proof.audit import Audit, audit
    from discreet.protection.suppression.proof.certificate import Pattern
    from discreet.protection.suppression.proof.release_audit import (
        Blanks,
        audit_published,
        check_releases,
    )
    from discreet.protection.suppression.publish.ingredients import ingredient_of
    from discreet.protection.suppression.publish.protected_tables import figure_of
    from discreet.protection.suppression.publish.report import SuppressionReport, report_on
    from discreet.protection.suppression.publish.suppression import (
        SharedSuppression,
        Suppression,
        suppress,
    )

_HOMES = {
    "Audit": "proof.audit",
    "Blanks": "proof.release_audit",
    "Cost": "problem.parameters",
    "Earlier": "problem.demands",
    "Knowledge": "problem.parameters",
    "Pattern": "proof.certificate",
    "SharedSuppression": "publish.suppression",
    "Suppression": "publish.suppression",
    "SuppressionProblem": "problem.system",
    "SuppressionReport": "publish.report",
    "audit": "proof.audit",
    "audit_published": "proof.release_audit",
    "build_problem": "problem.linked_tables",
    "check_releases": "proof.release_audit",
    "figure_of": "publish.protected_tables",
    "find_pattern": "methods.registry",
    "ingredient_of": "publish.ingredients",
    "report_on": "publish.report",
    "suppress": "publish.suppression",
}

__all__ = [
    "Audit",
    "Blanks",
    "Cost",
    "Earlier",
    "Knowledge",
    "Pattern",
    "SharedSuppression",
    "Suppression",
    "SuppressionProblem",
    "SuppressionReport",
    "audit",
    "audit_published",
    "build_problem",
    "check_releases",
    "figure_of",
    "find_pattern",
    "ingredient_of",
    "report_on",
    "suppress",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.protection.suppression' has no attribute {name!r}")
    value = getattr(
        importlib.import_module(f"discreet.protection.suppression.{_HOMES[name]}"), name
    )
    globals()[name] = value
    return value
