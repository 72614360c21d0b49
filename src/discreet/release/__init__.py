"""Table programmes and their release.

In: a programme file and what it names (confidential). Out: a folder of protected
tables (public). `protect` does all of it; `read_programme` only reads and checks;
`protect_cells` is the same for cells that were made elsewhere; `anonymisation` has
programmes for records.
"""

from discreet.release import methods as methods  # registers what programmes can ask for
from discreet.release.lookup import protect_cells
from discreet.release.methods.noise.attacks import attack, attack_periods
from discreet.release.methods.noise.parameters import parameter_warnings, read_parameters
from discreet.release.programme.file import Programme
from discreet.release.programme.problems import warnings_about
from discreet.release.report.summary import ReleasedTable, ReleaseSummary
from discreet.release.revision import RevisionCheck, check_revision
from discreet.release.run.data_checks import check_release, checked_inputs
from discreet.release.run.inputs import open_inputs, read_programme
from discreet.release.run.release import protect
from discreet.release.run.release_audit import ReleaseAudit, audit_release
from discreet.release.run.verification import VerifiedRelease, verify_release
from discreet.release.transmission import Transmission, transmit

__all__ = [
    "Programme",
    "ReleaseAudit",
    "ReleaseSummary",
    "ReleasedTable",
    "RevisionCheck",
    "Transmission",
    "VerifiedRelease",
    "attack",
    "attack_periods",
    "audit_release",
    "check_release",
    "check_revision",
    "checked_inputs",
    "open_inputs",
    "parameter_warnings",
    "protect",
    "protect_cells",
    "read_parameters",
    "read_programme",
    "transmit",
    "verify_release",
    "warnings_about",
]
