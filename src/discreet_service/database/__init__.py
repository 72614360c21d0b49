"""The database: what the service keeps, in SQLite or PostgreSQL.

In: rows of all parts of the service. Out: the same, whole or not at all. Nothing of records or
cells is kept here.
"""

from discreet_service.database.connections import ServiceDatabase

__all__ = ["ServiceDatabase"]
