"""Assessment: what perturbation does to quality, and what attackers can learn.

Perturbation tables, true and protected tables go in; figures, words and pictures
for the methodologist come out. All of it is SECRET or CONFIDENTIAL, except
`Quality.statement`, which is coarse enough to be published.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .attacks.figures import PublishedFigures as PublishedFigures
    from .attacks.figures import TrueTable as TrueTable
    from .attacks.panels import PeriodReport as PeriodReport
    from .attacks.panels import attacked_periods as attacked_periods
    from .attacks.parameters import AttackedValues as AttackedValues
    from .attacks.parameters import NoiseOdds as NoiseOdds
    from .attacks.parameters import exposure_of as exposure_of
    from .attacks.periods import KeyOption as KeyOption
    from .attacks.report import SHARES as SHARES
    from .attacks.report import AttackedUniverse as AttackedUniverse
    from .attacks.report import AttackOutcome as AttackOutcome
    from .attacks.report import AttackReport as AttackReport
    from .attacks.report import attack_listings as attack_listings
    from .attacks.report import attacked as attacked
    from .attacks.report import exceeded_limits as exceeded_limits
    from .attacks.report import remedies_of as remedies_of
    from .attacks.report import verdict_sentence as verdict_sentence
    from .attacks.report import words_of_listings as words_of_listings
    from .comparison import TableComparison as TableComparison
    from .comparison import compare as compare
    from .figure_pairs import DEVIATION_CLASSES as DEVIATION_CLASSES
    from .figure_pairs import SIZE_CLASSES as SIZE_CLASSES
    from .figure_pairs import CountStatistics as CountStatistics
    from .figure_pairs import Noise as Noise
    from .figure_pairs import finest_level as finest_level
    from .figure_pairs import published_at as published_at
    from .figure_pairs import without_parts as without_parts
    from .pictures.hidden import hidden_by_code as hidden_by_code
    from .pictures.hidden import hidden_by_part as hidden_by_part
    from .pictures.hidden import hidden_cells as hidden_cells
    from .pictures.hidden import plot as plot
    from .pictures.picture import SHARE_CLASSES as SHARE_CLASSES
    from .pictures.picture import Picture as Picture
    from .pictures.picture import check_picture_place as check_picture_place
    from .pictures.picture import ink_on as ink_on
    from .pictures.picture import noise_colours as noise_colours
    from .pictures.picture import share_class as share_class
    from .pictures.tableau import rows_of as rows_of
    from .privacy_budget import PrivacyView as PrivacyView
    from .privacy_budget import privacy_view as privacy_view
    from .probabilities import describe as describe
    from .probabilities import draw as draw
    from .probabilities import evaluate as evaluate
    from .probabilities import never_published as never_published
    from .quality import Quality as Quality
    from .quality import actual_quality as actual_quality
    from .quality import expected_quality as expected_quality
    from .quality import published_values as published_values
    from .record_risk import RecordRisk as RecordRisk
    from .record_risk import RevisedCells as RevisedCells
    from .record_risk import assess_records as assess_records
    from .record_risk import compare_records as compare_records
    from .record_risk import revised_cells as revised_cells
    from .release_quality import SUPPORT as SUPPORT
    from .release_quality import Overall as Overall
    from .release_quality import QualityLog as QualityLog
    from .release_quality import statements as statements
    from .risk import DisclosureRisk as DisclosureRisk
    from .risk import disclosure_risk as disclosure_risk
    from .risk import small_values as small_values
    from .risk import trade_off as trade_off
    from .settings import AttackerSettings as AttackerSettings
    from .settings import AttackSettings as AttackSettings
    from .settings import Knows as Knows
    from .settings import RecordRiskSettings as RecordRiskSettings
    from .slivers import SliverReport as SliverReport
    from .slivers import find_all_slivers as find_all_slivers
    from .slivers import find_slivers as find_slivers
    from .slivers import merge_all_slivers as merge_all_slivers
    from .words import number as number
    from .words import percent as percent

lazy_face(__name__)
