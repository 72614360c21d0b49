"""The report on the quality of a release.

In: a `QualityLog` (confidential). Out: pages and documents: a public version, and an
internal one that is CONFIDENTIAL.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .quality import QualityReport as QualityReport
    from .quality import quality_files as quality_files
    from .quality import write_quality as write_quality

lazy_face(__name__)
