"""From records to tables: filters, base cubes, roll-up. All results are confidential."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .query import Query as Query
    from .tables import iterate_tables as iterate_tables
    from .tables import tabulate as tabulate
    from .tables import tabulate_many as tabulate_many

lazy_face(__name__)
