"""From records to tables: filters, base cubes, roll-up. All results are confidential.

Every module here but the compiled loops is loaded with the package, so that an engine is
known once its module is here.
"""

import importlib
import pkgutil

from discreet.tabulation.query import Query
from discreet.tabulation.tables import iterate_tables, tabulate, tabulate_many

__all__ = ["Query", "iterate_tables", "tabulate", "tabulate_many"]

for _found in pkgutil.iter_modules(__path__):
    if not _found.name.startswith("compiled"):  # their compiler is slow to load
        importlib.import_module(f"{__name__}.{_found.name}")
