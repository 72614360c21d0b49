"""Assessment: what perturbation does to quality, and what attackers can learn.

Perturbation tables, true and protected tables go in; figures, words and pictures
for the methodologist come out. All of it is SECRET or CONFIDENTIAL, except
`Quality.statement`, which is coarse enough to be published.
"""

from discreet.assessment.comparison import Comparison, compare
from discreet.assessment.evaluation import describe, draw, evaluate, never_published
from discreet.assessment.quality import Quality, actual_quality, expected_quality
from discreet.assessment.risk import DisclosureRisk, disclosure_risk, small_values
from discreet.assessment.safe_variance import trade_off
from discreet.assessment.table_comparison import ShownComparison, TableComparison

__all__ = [
    "Comparison",
    "DisclosureRisk",
    "Quality",
    "ShownComparison",
    "TableComparison",
    "actual_quality",
    "compare",
    "describe",
    "disclosure_risk",
    "draw",
    "evaluate",
    "expected_quality",
    "never_published",
    "small_values",
    "trade_off",
]
