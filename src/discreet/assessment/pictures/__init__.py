"""Pictures of perturbation tables, their quality and their risk.

In: a perturbation table or what was assessed about it. Out: a `Picture`, saved as
PNG, SVG or as an HTML page that works without a network. SECRET: every picture
shows parameters of the table, says so in its last line, and is saved readable by
its owner only.

- `tableau`: the table itself, as stacked bars over the cell key
- `transition_heatmap`: probabilities, original × published
- `row_distributions`: the noise of each original count
- `quality_curve`: expected relative error by original count
- `risk_curve`: what an attacker can find out
- `trade_off_curve`: the largest safe variance

Drawing needs the extra `discreet[pictures]`.
"""

from discreet.assessment.pictures.distributions import row_distributions
from discreet.assessment.pictures.heatmap import transition_heatmap
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.quality import quality_curve
from discreet.assessment.pictures.risk import risk_curve
from discreet.assessment.pictures.tableau import tableau
from discreet.assessment.pictures.trading import trade_off_curve

__all__ = [
    "Picture",
    "quality_curve",
    "risk_curve",
    "row_distributions",
    "tableau",
    "trade_off_curve",
    "transition_heatmap",
]
