"""Audit: the trail of acts, sealed entry by entry, and the log of queries apart from it.

In: who did what, who asked for what. Out: the same, as it was written down. Neither holds cells,
keys or noise.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .kinds import AuditKind as AuditKind
    from .kinds import FactValue as FactValue
    from .kinds import shown_text as shown_text
    from .query_log import LogMode as LogMode
    from .query_log import LogVerdict as LogVerdict
    from .query_log import QueryLog as QueryLog
    from .query_log import shown_query as shown_query
    from .trail import AuditTrail as AuditTrail
    from .trail import SignedHead as SignedHead
    from .trail import TrailVerdict as TrailVerdict
    from .trail import shown_entry as shown_entry
    from .trail import utc as utc

lazy_face(__name__)
