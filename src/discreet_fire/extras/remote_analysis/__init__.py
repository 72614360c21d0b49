"""Remote analysis with a quality measure: results of protected records, and their quality.

A researcher sees what protected records give, and a coarse, noisy class of how far that
lies from the original. Answers are keyed, always the same, and budgeted.

- Records: `protect`
- Questions: `RemoteAnalysis`, `QualityAnswer`, `QualityClass`, `RemoteQuery`, `compare`
- Budget: `Budget`, `BudgetLedger`, `bits_per_answer`, `most_correct`, `truth_chance`
"""

from discreet_fire.extras.remote_analysis.analysis import QualityAnswer, RemoteAnalysis
from discreet_fire.extras.remote_analysis.answers import (
    QualityClass,
    bits_per_answer,
    most_correct,
    truth_chance,
)
from discreet_fire.extras.remote_analysis.budget import Budget, BudgetLedger, Usage
from discreet_fire.extras.remote_analysis.distances import compare
from discreet_fire.extras.remote_analysis.protected_copy import protect
from discreet_fire.extras.remote_analysis.queries import RemoteQuery

__all__ = [
    "Budget",
    "BudgetLedger",
    "QualityAnswer",
    "QualityClass",
    "RemoteAnalysis",
    "RemoteQuery",
    "Usage",
    "bits_per_answer",
    "compare",
    "most_correct",
    "protect",
    "truth_chance",
]
