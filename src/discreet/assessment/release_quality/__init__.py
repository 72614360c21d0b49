"""The quality of a whole release: tallies, sums over tables, public statements.

In: true and protected tables, or ingredients of key figures, one table after another.
Out: `QualityLog` and `Overall`, CONFIDENTIAL; `QualityStatement`s, which are public.
"""

from discreet.assessment.release_quality.log import PartQuality, QualityLog, TableQuality
from discreet.assessment.release_quality.overall import Overall
from discreet.assessment.release_quality.statements import SUPPORT, QualityStatement, statements
from discreet.assessment.release_quality.tallies import (
    DEVIATION_CLASSES,
    MILLION,
    SIZE_CLASSES,
    Noise,
)

__all__ = [
    "DEVIATION_CLASSES",
    "MILLION",
    "SIZE_CLASSES",
    "SUPPORT",
    "Noise",
    "Overall",
    "PartQuality",
    "QualityLog",
    "QualityStatement",
    "TableQuality",
    "statements",
]
