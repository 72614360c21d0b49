"""Releases: what was published, to be found, selected from and read in many formats. Public.

In: folders made by `discreet protect` and signed by the office. Out: `ReleaseCatalogue`. Nothing
here reads anything but files of releases that were found whole.
"""

from discreet_service.releases.catalogue import ListedTable, ReleaseCatalogue, ServedRelease

__all__ = ["ListedTable", "ReleaseCatalogue", "ServedRelease"]
