"""Releases: what was published, to be found, selected from and read in many formats. Public.

In: folders made by `discreet protect` and signed by the office. Out: `ReleaseCatalogue`. Nothing
here reads anything but files of releases that were found whole.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .catalogue import ReleaseCatalogue as ReleaseCatalogue
    from .comparison import compared as compared
    from .drafts import ReleaseDraft as ReleaseDraft
    from .drafts import read_draft as read_draft
    from .drafts import run_programme as run_programme
    from .drafts import shelf_of as shelf_of
    from .programmes import ALLOWED_KEYS as ALLOWED_KEYS
    from .programmes import LARGEST as LARGEST
    from .programmes import ProgrammeShelf as ProgrammeShelf
    from .programmes import StoredProgramme as StoredProgramme
    from .programmes import checked as checked
    from .programmes import key_sections as key_sections
    from .programmes import method_choices as method_choices
    from .programmes import opened_inputs as opened_inputs
    from .programmes import parsed as parsed
    from .programmes import programme_completion as programme_completion
    from .programmes import told_problems as told_problems
    from .publications import Publications as Publications
    from .release import MEDIA_TYPES as MEDIA_TYPES
    from .release import ListedTable as ListedTable
    from .release import ServedRelease as ServedRelease
    from .release import written as written
    from .selection import Selection as Selection
    from .selection import select as select

lazy_face(__name__)
