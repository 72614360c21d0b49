"""Sessions of researchers: safe statistics in notebooks, handed in to the review queue.

In: records in a frame or a file (CONFIDENTIAL), calls such as `crosstab` and `ols`. Out: what may
be shown, with verdict and reason, and a folder of outputs, evidence and checksums.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .calls import CallResult as CallResult
    from .notebook import RepeatedOutput as RepeatedOutput
    from .notebook import ResearchSession as ResearchSession
    from .notebook import repeated as repeated
    from .notebook import session as session
    from .session_data import SessionData as SessionData
    from .submission_folder import EVIDENCE as EVIDENCE
    from .submission_folder import MANIFEST as MANIFEST
    from .submission_folder import OUTPUTS as OUTPUTS
    from .submission_folder import RESULTS as RESULTS
    from .submission_folder import SUMS as SUMS
    from .submission_folder import HandedOutput as HandedOutput
    from .submission_folder import HandedSession as HandedSession
    from .submission_folder import SacroOutput as SacroOutput
    from .submission_folder import manifest_of as manifest_of
    from .submission_folder import placed as placed
    from .submission_folder import read_folder as read_folder
    from .submission_folder import read_manifest as read_manifest
    from .submission_folder import read_sacro as read_sacro
    from .submission_folder import sacro_document as sacro_document
    from .submission_folder import sacro_entry as sacro_entry
    from .submission_folder import with_checksums as with_checksums

lazy_face(__name__)
