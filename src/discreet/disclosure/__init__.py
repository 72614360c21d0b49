"""What follows from all that is published together. CONFIDENTIAL.

Cells are sets of records, whatever tables call them. A verdict is safe, open or not examined. A
core is a set of tables that say more together than the cells which they share. Figures with noise
are estimated from all that adds up. Without records, published tables are one system by the names
of variables and codes; what else may tie them together is not examined.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .cells import Cells as Cells
    from .cores import Combinations as Combinations
    from .cores import Core as Core
    from .cores import FinestCells as FinestCells
    from .cores import cyclic_cores as cyclic_cores
    from .cores import layers_of as layers_of
    from .coverage import Coverage as Coverage
    from .estimates import LayerExposure as LayerExposure
    from .estimates import LeastSquares as LeastSquares
    from .partitions import Doubt as Doubt
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
    from .record_atoms import EXPECTED as EXPECTED
    from .record_atoms import RecordAtoms as RecordAtoms
    from .record_atoms import go_together as go_together
    from .shown_sets import ShownSets as ShownSets
    from .shown_sets import TooManySetsError as TooManySetsError
    from .system import UNPUBLISHED as UNPUBLISHED
    from .system import CellSystem as CellSystem
    from .system import unexamined_by_name as unexamined_by_name
    from .units import LinkedRecords as LinkedRecords
    from .units import UnitLink as UnitLink
    from .units import UnitSystem as UnitSystem
    from .units import sources_of as sources_of
    from .verdicts import DisclosureVerdict as DisclosureVerdict
    from .verdicts import Gap as Gap
    from .verdicts import Judged as Judged
    from .verdicts import VerdictWord as VerdictWord

lazy_face(__name__)
