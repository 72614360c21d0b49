"""Table programmes and their release (layer 9).

In: a programme file and what it names (confidential). Out: a folder of protected
tables (public). `protect` does all of it; `read_programme` only reads and checks;
`protect_cells` is the same for cells that were made elsewhere.
"""

from discreet.release.auditing import ReleaseAudit, audit_release
from discreet.release.cells import protect_cells
from discreet.release.inputs import check_release, open_inputs, read_programme
from discreet.release.parameter_file import read_parameters
from discreet.release.parameters import parameter_warnings
from discreet.release.permissions import warnings_about
from discreet.release.programme import Programme
from discreet.release.run import protect
from discreet.release.summary import ReleasedTable, ReleaseSummary

__all__ = [
    "Programme",
    "ReleaseAudit",
    "ReleaseSummary",
    "ReleasedTable",
    "audit_release",
    "check_release",
    "open_inputs",
    "parameter_warnings",
    "protect",
    "protect_cells",
    "read_parameters",
    "read_programme",
    "warnings_about",
]
