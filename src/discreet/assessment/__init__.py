"""Assessment: what perturbation does to quality, and what attackers can learn.

Perturbation tables, true and protected tables go in; figures, words and pictures
for the methodologist come out. All of it is SECRET or CONFIDENTIAL, except
`Quality.statement`, which is coarse enough to be published.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .evaluation import describe as describe
    from .evaluation import draw as draw
    from .evaluation import evaluate as evaluate
    from .evaluation import never_published as never_published
    from .pictures.figures import plot as plot
    from .quality import Quality as Quality
    from .quality import actual_quality as actual_quality
    from .quality import expected_quality as expected_quality
    from .risk import DisclosureRisk as DisclosureRisk
    from .risk import disclosure_risk as disclosure_risk
    from .risk import small_values as small_values
    from .safe_variance import trade_off as trade_off
    from .table_comparison import ShownComparison as ShownComparison
    from .table_comparison import TableComparison as TableComparison

lazy_face(__name__)
