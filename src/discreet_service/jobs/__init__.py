"""Jobs: work in the background that survives the end of whoever does it.

In: requests that take long. Out: their results as files, each released once, kept for some weeks.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .context import JobContext as JobContext
    from .context import JobInputs as JobInputs
    from .context import JobOutput as JobOutput
    from .kinds import kind_of as kind_of
    from .queue import JobQueue as JobQueue
    from .records import Job as Job
    from .records import JobState as JobState
    from .records import shown_event as shown_event
    from .retention import upkeep as upkeep
    from .retention import verify_trail as verify_trail
    from .worker import work as work

lazy_face(__name__)
