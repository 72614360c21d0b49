"""Data sets: what can be asked about, in which version, and by which codes.

In: folders with a DATASET.toml beside a table programme. Out: a catalogue that everybody may read,
and opened versions, which are CONFIDENTIAL. Modules from the bottom: `variables`, `records`,
`versions`, `catalogue`.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .areas import compared_areas as compared_areas
    from .catalogue import DatasetCatalogue as DatasetCatalogue
    from .catalogue import VersionRecord as VersionRecord
    from .variables import CatalogueVariable as CatalogueVariable
    from .variables import common_parts as common_parts
    from .variables import folded as folded
    from .variables import found_variables as found_variables
    from .versions import ANSWER as ANSWER
    from .versions import COUNTS as COUNTS
    from .versions import CatalogueUnit as CatalogueUnit
    from .versions import DataVersion as DataVersion

lazy_face(__name__)
