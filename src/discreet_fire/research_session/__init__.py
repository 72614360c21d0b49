"""Sessions of researchers: safe statistics in notebooks, handed in to the review queue.

In: records in a frame or a file (CONFIDENTIAL), calls such as `crosstab` and `ols`. Out: what may
be shown, with verdict and reason, and a folder of outputs, evidence and checksums.
"""

from discreet_fire.research_session.notebook import ResearchSession, session
from discreet_fire.research_session.outputs import SessionOutput

__all__ = ["ResearchSession", "SessionOutput", "session"]
