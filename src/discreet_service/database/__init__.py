"""The database: what the service keeps, in SQLite or PostgreSQL.

In: rows of all parts of the service. Out: the same, whole or not at all. Nothing of records or
cells is kept here.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .connections import RowPage as RowPage
    from .connections import ServiceDatabase as ServiceDatabase
    from .connections import Statement as Statement
    from .connections import WriteBatch as WriteBatch
    from .connections import change_rows as change_rows
    from .connections import drop_rows as drop_rows
    from .connections import equal_to as equal_to
    from .connections import insert_row as insert_row
    from .connections import newest_rows as newest_rows
    from .connections import put_row as put_row
    from .connections import record_of as record_of
    from .connections import row_of as row_of
    from .schema import API_KEYS as API_KEYS
    from .schema import ASKED_PATTERNS as ASKED_PATTERNS
    from .schema import AUDIT_ENTRIES as AUDIT_ENTRIES
    from .schema import AUDIT_HEADS as AUDIT_HEADS
    from .schema import DATA_VERSIONS as DATA_VERSIONS
    from .schema import IDEMPOTENCY_KEYS as IDEMPOTENCY_KEYS
    from .schema import JOB_EVENTS as JOB_EVENTS
    from .schema import JOBS as JOBS
    from .schema import LOGIN_ATTEMPTS as LOGIN_ATTEMPTS
    from .schema import LOGIN_DELAYS as LOGIN_DELAYS
    from .schema import PARAMETER_SETS as PARAMETER_SETS
    from .schema import POLICIES as POLICIES
    from .schema import POLICY_ALERTS as POLICY_ALERTS
    from .schema import PROPOSALS as PROPOSALS
    from .schema import PUBLICATIONS as PUBLICATIONS
    from .schema import QUERY_LOG as QUERY_LOG
    from .schema import RATE_COUNTERS as RATE_COUNTERS
    from .schema import REFUSAL_OVERRIDES as REFUSAL_OVERRIDES
    from .schema import REFUSED_TABLES as REFUSED_TABLES
    from .schema import RELEASED_TABLES as RELEASED_TABLES
    from .schema import RELEASED_UNIVERSES as RELEASED_UNIVERSES
    from .schema import SESSIONS as SESSIONS
    from .schema import UPKEEP_RUNS as UPKEEP_RUNS
    from .schema import USER_GRANTS as USER_GRANTS
    from .schema import USERS as USERS

lazy_face(__name__)
