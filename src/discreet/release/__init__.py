"""Table programmes and their release.

In: a programme file and what it names (confidential). Out: a folder of protected
tables (public). `protect` does all of it; `read_programme` only reads and checks;
`protect_cells` is the same for cells that were made elsewhere; `anonymisation` has
programmes for records.
"""

from typing import TYPE_CHECKING

import discreet.release.methods  # noqa: F401 - what programmes can ask for
from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .lookup import protect_cells as protect_cells
    from .methods.noise.attacks import attack as attack
    from .methods.noise.attacks import attack_periods as attack_periods
    from .methods.noise.parameters import parameter_warnings as parameter_warnings
    from .methods.noise.parameters import read_parameters as read_parameters
    from .programme.file import Programme as Programme
    from .programme.problems import warnings_about as warnings_about
    from .report.summary import ReleasedTable as ReleasedTable
    from .report.summary import ReleaseSummary as ReleaseSummary
    from .revision import RevisionCheck as RevisionCheck
    from .revision import check_revision as check_revision
    from .run.data_checks import check_release as check_release
    from .run.data_checks import checked_inputs as checked_inputs
    from .run.inputs import open_inputs as open_inputs
    from .run.inputs import read_programme as read_programme
    from .run.release import protect as protect
    from .run.release_audit import ReleaseAudit as ReleaseAudit
    from .run.release_audit import audit_release as audit_release
    from .run.verification import VerifiedRelease as VerifiedRelease
    from .run.verification import verify_release as verify_release
    from .transmission import Transmission as Transmission
    from .transmission import transmit as transmit

lazy_face(__name__)
