"""Remote analysis with a quality measure: results of protected records, and their quality.

A researcher sees what protected records give, and a coarse, noisy class of how far that
lies from the original. Answers are keyed, always the same, and budgeted.

- Records: `protect`
- Questions: `RemoteAnalysis`, `QualityAnswer`, `QualityClass`, `Query`, `compare`
- Budget: `Budget`, `BudgetLedger`, `bits_per_answer`, `most_correct`, `truth_chance`
"""

from discreet.output_checking.quality.analysis import QualityAnswer, RemoteAnalysis
from discreet.output_checking.quality.answering import (
    QualityClass,
    bits_per_answer,
    most_correct,
    truth_chance,
)
from discreet.output_checking.quality.budget import Budget, BudgetLedger, Usage
from discreet.output_checking.quality.distances import compare
from discreet.output_checking.quality.protecting import protect
from discreet.output_checking.quality.queries import Query

__all__ = [
    "Budget",
    "BudgetLedger",
    "QualityAnswer",
    "QualityClass",
    "Query",
    "RemoteAnalysis",
    "Usage",
    "bits_per_answer",
    "compare",
    "most_correct",
    "protect",
    "truth_chance",
]
