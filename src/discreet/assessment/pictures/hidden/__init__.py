"""Pictures of cell suppression: which cells of a table are hidden, and where they crowd.

In: a `ProtectedTable` – the picture shows what the table tells, and is public as it is – or
the `Suppression` that made it – then primary and secondary cells are told apart, and the
picture is SECRET. Out: a `Picture`. No hidden value is known here.
"""

from discreet.assessment.pictures.hidden.cells import hidden_cells
from discreet.assessment.pictures.hidden.shares import hidden_by_code, hidden_by_part

__all__ = ["hidden_by_code", "hidden_by_part", "hidden_cells"]
