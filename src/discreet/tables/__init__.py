"""`Table` (confidential) and `ProtectedTable` (publishable): the two sides."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .cell_values import ValueColumns as ValueColumns
    from .dimension import Dimension as Dimension
    from .figures import Figure as Figure
    from .figures import figure_dimension as figure_dimension
    from .protected import WITHOUT_NUMBER as WITHOUT_NUMBER
    from .protected import CellNote as CellNote
    from .protected import CellStatus as CellStatus
    from .protected import Note as Note
    from .protected import ProtectedTable as ProtectedTable
    from .protected import Provenance as Provenance
    from .protected import Withheld as Withheld
    from .protected import without_unpublished as without_unpublished
    from .table import Contributions as Contributions
    from .table import Table as Table

lazy_face(__name__)
