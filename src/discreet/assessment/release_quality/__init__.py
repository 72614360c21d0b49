"""The quality of a whole release: tallies, sums over tables, public statements.

In: true and protected tables, or ingredients of key figures, one table after another.
Out: `QualityLog` and `Overall`, CONFIDENTIAL; `Statement`s, which are public.
"""

from discreet.assessment.release_quality.counts import MILLION, SIZE_CLASSES, Noise
from discreet.assessment.release_quality.log import QualityLog
from discreet.assessment.release_quality.overall import Overall
from discreet.assessment.release_quality.statements import SUPPORT, Statement, statements
from discreet.assessment.release_quality.table_quality import Part, TableQuality
from discreet.assessment.release_quality.values import DEVIATION_CLASSES

__all__ = [
    "DEVIATION_CLASSES",
    "MILLION",
    "SIZE_CLASSES",
    "SUPPORT",
    "Noise",
    "Overall",
    "Part",
    "QualityLog",
    "Statement",
    "TableQuality",
    "statements",
]
