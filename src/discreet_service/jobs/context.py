"""The context of a job: what its function gets.

In: a job. Out: the service, what was asked for, and ways to tell how far it is. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet_service.jobs.records import Job


@dataclass(frozen=True, kw_only=True)
class JobContext:
    """What the function of a job gets."""

    service: Any  # The service, built in the process of the job
    job: Job  # The job; `job.asked()` is its request.
    # A folder of its own, for the file of the result and all it needs on the way; it is deleted
    # afterwards
    folder: Path
    # Tells how much is done, in percent, and what is being done, in a fixed word of small
    # letters. May be called as often as one likes.
    report: Callable[[int, str], None]
    # Whether it is to be stopped: who looks now and then ends in good order, others are killed
    # after some seconds
    cancelled: Callable[[], bool]

    def __repr__(self) -> str:
        return f"<JobContext: {self.job!r}>"
