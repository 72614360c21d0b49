"""Audit: the trail of acts, sealed entry by entry, and the log of queries apart from it.

In: who did what, who asked for what. Out: the same, as it was written down. Neither holds cells,
keys or noise.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .trail import AuditKind as AuditKind
    from .trail import AuditTrail as AuditTrail
    from .trail import FactValue as FactValue
    from .trail import LogMode as LogMode
    from .trail import LogVerdict as LogVerdict
    from .trail import QueryLog as QueryLog
    from .trail import SignedHead as SignedHead
    from .trail import TrailVerdict as TrailVerdict
    from .trail import shown_entry as shown_entry
    from .trail import shown_query as shown_query
    from .trail import utc as utc

lazy_face(__name__)
