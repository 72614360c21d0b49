"""Releases: what was published, to be found, selected from and read in many formats. Public.

In: folders made by `discreet protect` and signed by the office. Out: `ReleaseCatalogue`. Nothing
here reads anything but files of releases that were found whole.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .catalogue import ReleaseCatalogue as ReleaseCatalogue
    from .release import ListedTable as ListedTable
    from .release import ServedRelease as ServedRelease

lazy_face(__name__)
