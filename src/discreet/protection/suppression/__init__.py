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
    from discreet.confidential import Confidential as Confidential
    from discreet.disclosure import UNBOUNDED as UNBOUNDED
    from discreet.disclosure import Blanks as Blanks
    from discreet.disclosure import Knowledge as Knowledge
    from discreet.disclosure import LinkedTable as LinkedTable
    from discreet.disclosure import Relations as Relations
    from discreet.disclosure import TableCells as TableCells
    from discreet.disclosure import additive_values as additive_values
    from discreet.disclosure import audit_published as audit_published
    from discreet.disclosure import figures_shown as figures_shown
    from discreet.disclosure import linked_cells as linked_cells
    from discreet.disclosure import make_whole as make_whole
    from discreet.disclosure import recomputed_totals as recomputed_totals
    from discreet.disclosure import relations_of as relations_of
    from discreet.disclosure import shared_values as shared_values
    from discreet.disclosure import stacked_relations as stacked_relations
    from discreet.disclosure import table_relations as table_relations
    from discreet.disclosure import units_of as units_of
    from discreet.disclosure import zeros_of as zeros_of
    from discreet.kernels import compiled as compiled
    from discreet.kernels import compiled_at_once as compiled_at_once

    from .method import SuppressionProtection as SuppressionProtection
    from .methods.registry import Progress as Progress
    from .methods.registry import find_pattern as find_pattern
    from .problem.linked_tables import Cost as Cost
    from .problem.linked_tables import build_problem as build_problem
    from .problem.system import CellState as CellState
    from .problem.system import Earlier as Earlier
    from .problem.system import SuppressionProblem as SuppressionProblem
    from .problem.system import hidden_in as hidden_in
    from .proof.audit import Audit as Audit
    from .proof.audit import audit as audit
    from .proof.audit import audit_problem as audit_problem
    from .proof.audit import check_releases as check_releases
    from .proof.audit import rounded_values as rounded_values
    from .proof.certificate import Certificate as Certificate
    from .proof.certificate import Pattern as Pattern
    from .proof.certificate import attack_intervals as attack_intervals
    from .proof.certificate import certify as certify
    from .proof.certificate import held_in_joint_cubes as held_in_joint_cubes
    from .publish.protected_tables import METHOD as METHOD
    from .publish.protected_tables import figure_of as figure_of
    from .publish.protected_tables import ingredient_of as ingredient_of
    from .publish.protected_tables import pattern_notes as pattern_notes
    from .publish.report import PartHidden as PartHidden
    from .publish.report import SuppressionReport as SuppressionReport
    from .publish.report import described_pattern as described_pattern
    from .publish.report import interval_lines as interval_lines
    from .publish.report import pattern_lines as pattern_lines
    from .publish.report import report_on as report_on
    from .publish.suppression import SharedSuppression as SharedSuppression
    from .publish.suppression import Suppression as Suppression
    from .publish.suppression import suppress as suppress
    from .settings import AuditSettings as AuditSettings
    from .settings import Method as Method
    from .settings import SearchSettings as SearchSettings
    from .settings import SuppressionSettings as SuppressionSettings

lazy_face(__name__)
