"""Data sets: what can be asked about, in which version, and by which codes.

In: folders with a DATASET.toml beside a table programme. Out: a catalogue that everybody may read,
and opened versions, which are CONFIDENTIAL. Modules from the bottom: `description`, `variables`,
`records`, `folded_records`, `versions`, `catalogue`.
"""

from discreet_service.datasets.catalogue import DatasetCatalogue, VersionRecord
from discreet_service.datasets.variables import CatalogueLevel, CatalogueVariable
from discreet_service.datasets.versions import CatalogueUnit, CatalogueValue, DataVersion

__all__ = [
    "CatalogueLevel",
    "CatalogueUnit",
    "CatalogueValue",
    "CatalogueVariable",
    "DataVersion",
    "DatasetCatalogue",
    "VersionRecord",
]
