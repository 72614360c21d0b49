"""Statistics on the quality of tables, sealed with the key of a release.

In: protected tables beside what they are held against (CONFIDENTIAL). Out: texts that the
state of a release keeps, encrypted with a key that is made of the data; and back.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.protection.protocol import AssessedTable
from discreet.release.state.memory import ReleaseKey

if TYPE_CHECKING:
    from discreet.assessment import QualityLog
    from discreet.protection.parts import PartDecisions
    from discreet.tables import ProtectedTable

_PURPOSE = b"discreet release quality 1"


def sealed_quality(
    table: ProtectedTable,
    assessed: AssessedTable,
    decisions: PartDecisions | None,
    key: ReleaseKey,
) -> str:
    """The statistics on one table, sealed."""
    from discreet.assessment import QualityLog

    log = QualityLog()
    log.add(
        table.name,
        assessed.counts,
        table,
        ingredients=assessed.ingredients,
        figures=assessed.figures,
        decisions=decisions,
    )
    return base64.b64encode(log.sealed(_sealing_key(key))).decode("ascii")


def quality_of(
    extras: Mapping[str, Mapping[str, Any]], keys: Mapping[str, ReleaseKey]
) -> QualityLog:
    """The statistics on all tables of a release."""
    from discreet.assessment import QualityLog

    whole = QualityLog()
    for name, entry in extras.items():
        sealed = base64.b64decode(entry["quality"])
        whole = whole.merge(QualityLog.opened(sealed, _sealing_key(keys[name])))
    return whole


def _sealing_key(key: ReleaseKey) -> bytes:
    return hmac.new(key.value, _PURPOSE, hashlib.sha256).digest()
