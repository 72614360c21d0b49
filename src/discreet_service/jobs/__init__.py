"""Jobs: work in the background that survives the end of whoever does it.

In: requests that take long. Out: their results as files, each released once, kept for some weeks.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .queue import JobQueue as JobQueue

lazy_face(__name__)
