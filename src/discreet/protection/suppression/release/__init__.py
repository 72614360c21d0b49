"""What `SuppressionProtection` is made of: checks, sensitive and hidden cells, earlier tables.

Its face is what the method names: loaded by programmes that hide cells, and by no others.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from discreet.disclosure import units_of as units_of
    from discreet.protection.suppression.problem.linked_tables import build_problem as build_problem
    from discreet.protection.suppression.problem.system import hidden_in as hidden_in
    from discreet.protection.suppression.publish.protected_tables import figure_of as figure_of
    from discreet.protection.suppression.publish.protected_tables import marks_of as marks_of

    from .hidden_cells import RecountedTable as RecountedTable
    from .hidden_cells import SensitiveTable as SensitiveTable
    from .hidden_cells import TableSuppression as TableSuppression
    from .hidden_cells import changed_notes as changed_notes
    from .hidden_cells import components as components
    from .hidden_cells import differing as differing
    from .hidden_cells import internal_entry as internal_entry
    from .hidden_cells import public_entries as public_entries
    from .hidden_cells import recounted_tables as recounted_tables
    from .hidden_cells import tables_before as tables_before
    from .hidden_cells import verdict_on as verdict_on
    from .sensitive_cells import PrimaryJudge as PrimaryJudge
    from .sensitive_cells import column_of as column_of
    from .sensitive_cells import needed as needed
    from .sensitive_cells import rules_of as rules_of
    from .sensitive_cells import unpublished_values as unpublished_values
    from .sensitive_cells import wanted_values as wanted_values

lazy_face(__name__)
