"""The review desk: submissions of researchers, decisions of reviewers, releases. CONFIDENTIAL.

In: uploads, and a review queue of `discreet_fire`. Out: what each person may see of it.
"""

from discreet_service.reviews.desk import OwnSubmission, ReviewDesk, SubmissionReport
from discreet_service.reviews.uploads import UploadedProgram, unpacked

__all__ = ["OwnSubmission", "ReviewDesk", "SubmissionReport", "UploadedProgram", "unpacked"]
