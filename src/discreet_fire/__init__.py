"""Output checking for research data centres: programs and logs made safe before release."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet_fire.research_session import ResearchSession
    from discreet_fire.statistics import SafeLimits

__all__ = ["session"]


def session(
    project: str,
    *,
    data: Any,
    entity: str | None = None,
    limits: SafeLimits | str | os.PathLike[str] | None = None,
) -> ResearchSession:
    """Begin a session of a researcher; see `discreet_fire.research_session.session`."""
    from discreet_fire.research_session import session as begin

    return begin(project, data=data, entity=entity, limits=limits)
