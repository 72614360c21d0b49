"""Sessions of researchers: safe statistics in notebooks, handed in to the review queue.

In: records in a frame or a file (CONFIDENTIAL), calls such as `crosstab` and `ols`. Out: what may
be shown, with verdict and reason, and a folder of outputs, evidence and checksums.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .notebook import ResearchSession as ResearchSession
    from .notebook import session as session
    from .outputs import SessionOutput as SessionOutput

lazy_face(__name__)
