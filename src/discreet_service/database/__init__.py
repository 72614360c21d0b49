"""The database: what the service keeps, in SQLite or PostgreSQL.

In: rows of all parts of the service. Out: the same, whole or not at all. Nothing of records or
cells is kept here.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .connections import ServiceDatabase as ServiceDatabase
    from .connections import record_of as record_of

lazy_face(__name__)
