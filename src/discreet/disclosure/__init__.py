"""What follows from all that is published together. CONFIDENTIAL.

Cells are sets of records, whatever tables call them. A verdict is safe, open or not examined. A
core is a set of tables that say more together than the cells which they share. Figures with noise
are estimated from all that adds up. Without records, published tables are one system by the names
of variables and codes; what else may tie them together is not examined.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .cells import UNPUBLISHED as UNPUBLISHED
    from .cells import CellSystem as CellSystem
    from .cells import Coverage as Coverage
    from .cells import tied_tables as tied_tables
    from .code_pairs import code_lines as code_lines
    from .cores import Combinations as Combinations
    from .cores import Core as Core
    from .cores import JointAttacker as JointAttacker
    from .cores import LinkedTable as LinkedTable
    from .cores import cores_of as cores_of
    from .cores import joint_blocks as joint_blocks
    from .equal_codes import same_codes as same_codes
    from .estimates import LayerExposure as LayerExposure
    from .estimates import LeastSquares as LeastSquares
    from .fingerprints import RecordIdentity as RecordIdentity
    from .insiders import UNBOUNDED as UNBOUNDED
    from .insiders import Insiders as Insiders
    from .insiders import Knowledge as Knowledge
    from .insiders import insiders_of as insiders_of
    from .insiders import known_parts as known_parts
    from .leaves import Exchanges as Exchanges
    from .leaves import Leaves as Leaves
    from .leaves import Patch as Patch
    from .leaves import Patches as Patches
    from .leaves import SolverEffort as SolverEffort
    from .leaves import farthest_flow as farthest_flow
    from .leaves import least_flow as least_flow
    from .leaves import leaves_of as leaves_of
    from .leaves import moves_of as moves_of
    from .named_cells import ABSENT as ABSENT
    from .named_cells import EMPTY as EMPTY
    from .named_cells import LinkedCells as LinkedCells
    from .named_cells import ValueColumn as ValueColumn
    from .named_cells import ValueRows as ValueRows
    from .named_cells import VariableCode as VariableCode
    from .named_cells import code_positions as code_positions
    from .named_cells import figures_shown as figures_shown
    from .named_cells import linked_cells as linked_cells
    from .named_cells import places_in as places_in
    from .named_cells import refuse_cells as refuse_cells
    from .named_cells import relations_of as relations_of
    from .named_cells import table_relations as table_relations
    from .partitions import Partitions as Partitions
    from .published import SHOWN as SHOWN
    from .published import Axis as Axis
    from .published import LayerKey as LayerKey
    from .published import LayerStep as LayerStep
    from .published import PublishedCells as PublishedCells
    from .published import PublishedLayer as PublishedLayer
    from .published import TableLayers as TableLayers
    from .published import count_cells as count_cells
    from .published import figure_scale as figure_scale
    from .published import published_axes as published_axes
    from .published import unexamined_names as unexamined_names
    from .relations import Relations as Relations
    from .relations import component_labels as component_labels
    from .relations import opened_by_pairs as opened_by_pairs
    from .relations import stacked_relations as stacked_relations
    from .relations import tidied_relations as tidied_relations
    from .shown_sets import EXPECTED as EXPECTED
    from .shown_sets import RecordAtoms as RecordAtoms
    from .shown_sets import ShownSets as ShownSets
    from .shown_sets import TooManySetsError as TooManySetsError
    from .shown_sets import go_together as go_together
    from .sketches import LARGEST_MINIMUM as LARGEST_MINIMUM
    from .sketches import PRIMES as PRIMES
    from .sketches import LedgerUniverse as LedgerUniverse
    from .sketches import Marks as Marks
    from .sketches import ReleasedUniverses as ReleasedUniverses
    from .sketches import SketchSum as SketchSum
    from .sketches import conflicts_with as conflicts_with
    from .sketches import marks_of as marks_of
    from .sketches import members_behind as members_behind
    from .sketches import sums_of as sums_of
    from .table_system import ChangedCells as ChangedCells
    from .table_system import TableCells as TableCells
    from .table_system import TableSystem as TableSystem
    from .table_system import additive_values as additive_values
    from .table_system import recomputed_totals as recomputed_totals
    from .table_system import rows_across as rows_across
    from .table_system import shared_values as shared_values
    from .table_system import units_of as units_of
    from .units import LinkedRecords as LinkedRecords
    from .units import UnitLink as UnitLink
    from .unknowns import LARGE as LARGE
    from .unknowns import TOLERANCE as TOLERANCE
    from .unknowns import ZEROS_HIDDEN as ZEROS_HIDDEN
    from .unknowns import Attacker as Attacker
    from .unknowns import Blanks as Blanks
    from .unknowns import DeviationCheck as DeviationCheck
    from .unknowns import KnownZeros as KnownZeros
    from .unknowns import Proof as Proof
    from .unknowns import Reach as Reach
    from .unknowns import Unknowns as Unknowns
    from .unknowns import WholeAttacker as WholeAttacker
    from .unknowns import audit_published as audit_published
    from .unknowns import blocks_of as blocks_of
    from .unknowns import make_whole as make_whole
    from .unknowns import mobile_cells as mobile_cells
    from .unknowns import outer_bounds as outer_bounds
    from .unknowns import published_intervals as published_intervals
    from .unknowns import zeros_of as zeros_of
    from .verdicts import DisclosureVerdict as DisclosureVerdict
    from .verdicts import Gap as Gap
    from .verdicts import Judged as Judged
    from .verdicts import VerdictWord as VerdictWord

lazy_face(__name__)
