"""The review desk: submissions of researchers, decisions of reviewers, releases. CONFIDENTIAL.

In: uploads, and a review queue of `discreet_fire`. Out: what each person may see of it.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .desk import LOGS as LOGS
    from .desk import OwnSubmission as OwnSubmission
    from .desk import ReviewDesk as ReviewDesk
    from .desk import SubmissionReport as SubmissionReport
    from .desk import packed as packed
    from .desk import run_submission as run_submission

lazy_face(__name__)
