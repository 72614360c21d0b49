"""What a release remembers of a table besides the table: decisions and statistics.

In: a table just made, or what an earlier run remembered. Out: plain values for JSON, and
from them what was put in. Decisions are public. Statistics on quality are confidential:
they rest encrypted with a key that is made of the data.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.release.digests import ReleaseKey
from discreet.release.part_log import described, joint
from discreet.release.protecting import Made

if TYPE_CHECKING:
    from discreet.assessment.release_quality import QualityLog

__all__ = ["quality_of", "remembered"]

_PURPOSE = b"discreet release quality 1"


def remembered(made: Made, key: ReleaseKey, *, quality: bool) -> dict[str, Any]:
    """What is kept of a table that was just made.

    Args:
        made: The table and how it came about.
        key: The key of the digests of its source.
        quality: Whether there is to be a report on quality.
    """
    decisions = described(made.decisions)
    if not quality:
        return {"decisions": decisions}
    sealed = _log(made).sealed(_sealing_key(key))
    return {"decisions": decisions, "quality": base64.b64encode(sealed).decode("ascii")}


def quality_of(
    extras: Mapping[str, Mapping[str, Any]], keys: Mapping[str, ReleaseKey]
) -> QualityLog:
    """The statistics on all tables of a release.

    Args:
        extras: Name of table → what was remembered of it.
        keys: Name of table → the key of the digests of its source.
    """
    from discreet.assessment.release_quality import QualityLog

    whole = QualityLog()
    for name, entry in extras.items():
        sealed = base64.b64decode(entry["quality"])
        whole = whole.merge(QualityLog.opened(sealed, _sealing_key(keys[name])))
    return whole


def _sealing_key(key: ReleaseKey) -> bytes:
    return hmac.new(key.value, _PURPOSE, hashlib.sha256).digest()


def _log(made: Made) -> QualityLog:
    from discreet.assessment.release_quality import QualityLog

    log = QualityLog()
    decided = joint(list(made.decisions.values())) if made.decisions else None
    log.add(
        made.protected.name,
        made.counts.get(""),
        made.protected,
        ingredients=made.ingredients,
        figures=made.figures,
        decisions=decided,
    )
    return log
