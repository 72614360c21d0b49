"""The report on the quality of a release.

In: a `QualityLog` (confidential). Out: pages and documents: a public version, and an
internal one that is CONFIDENTIAL.
"""

from discreet.release.report.quality import QualityReport, quality_files, write_quality

__all__ = ["QualityReport", "quality_files", "write_quality"]
