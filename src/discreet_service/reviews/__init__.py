"""The review desk: submissions of researchers, decisions of reviewers, releases. CONFIDENTIAL.

In: uploads, and a review queue of `discreet_fire`. Out: what each person may see of it.
"""

from discreet_service.reviews.desk import OwnSubmission, ReviewDesk, SubmissionReport
from discreet_service.reviews.uploads import LOGS, UploadedProgram, packed, unpacked

__all__ = [
    "LOGS",
    "OwnSubmission",
    "ReviewDesk",
    "SubmissionReport",
    "UploadedProgram",
    "packed",
    "unpacked",
]
