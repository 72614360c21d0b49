"""Cell suppression: which cells of tables are published. CONFIDENTIAL.

`suppress` hides cells of confidential `Table`s until every sensitive one is proven to be
protected, `audit` finds out what tables with blanks still tell. `build_problem` and
`find_pattern` are the steps between, `Suppression` and `report_on` say what happened.

problem/ is the system of cells and relations, proof/ what hidden cells prove and what
attackers find out, methods/ the search for patterns, publish/ tables in and tables out.
Everything is loaded when first used, for it brings compilers along.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .methods.registry import find_pattern as find_pattern
    from .problem.demands import Earlier as Earlier
    from .problem.linked_tables import build_problem as build_problem
    from .problem.parameters import Cost as Cost
    from .problem.parameters import Knowledge as Knowledge
    from .problem.system import SuppressionProblem as SuppressionProblem
    from .proof.audit import Audit as Audit
    from .proof.audit import audit as audit
    from .proof.certificate import Pattern as Pattern
    from .proof.release_audit import Blanks as Blanks
    from .proof.release_audit import audit_published as audit_published
    from .proof.release_audit import check_releases as check_releases
    from .publish.ingredients import ingredient_of as ingredient_of
    from .publish.protected_tables import figure_of as figure_of
    from .publish.report import SuppressionReport as SuppressionReport
    from .publish.report import report_on as report_on
    from .publish.suppression import SharedSuppression as SharedSuppression
    from .publish.suppression import Suppression as Suppression
    from .publish.suppression import suppress as suppress

lazy_face(__name__)
