"""Jobs: work in the background that survives the end of whoever does it.

In: requests that take long. Out: their results as files, each released once, kept for some weeks.
"""

from discreet_service.jobs.queue import JobQueue

__all__ = ["JobQueue"]
