"""Key figures: shares, ratios, means, changes and balances of protected figures.

`derive` takes confidential `Ingredient`s and gives a `ProtectedTable`.
"""

from discreet.derived.derivation import derive
from discreet.derived.key_figure import KeyFigure
from discreet.derived.sample_estimates import PrecisionClasses, SampleDesign, estimate_sample
from discreet.derived.single_figures import (
    balance,
    index_figure,
    mean,
    per_thousand,
    rate_of_change,
    ratio,
    share,
)

__all__ = [
    "KeyFigure",
    "PrecisionClasses",
    "SampleDesign",
    "balance",
    "derive",
    "estimate_sample",
    "index_figure",
    "mean",
    "per_thousand",
    "rate_of_change",
    "ratio",
    "share",
]
