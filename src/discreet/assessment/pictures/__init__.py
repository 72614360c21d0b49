"""Pictures of perturbation tables, their quality and their risk, and of hidden cells.

In: a perturbation table or what was assessed about it; a table with hidden cells. Out: a
`Picture`, saved as PNG, SVG or as an HTML page that works without a network. SECRET, but
for pictures made of a table to publish: the others show parameters or which cells are
sensitive, say so in their last line, and are saved readable by their owner only.

- `tableau`: the table itself, as stacked bars over the cell key
- `transition_heatmap`: probabilities, original × published
- `row_distributions`: the noise of each original count
- `quality_curve`: expected relative error by original count
- `risk_curve`: what an attacker can find out
- `trade_off_curve`: the largest safe variance
- `hidden_cells`: a table, its hidden cells by kind
- `hidden_by_code`: how many cells are hidden at each code of a variable
- `hidden_by_part`: the same for each table part
- `plot`: the figures of a table to publish as bars, heat map or pyramid; `ProtectedTable.plot`

Drawing needs the extra `discreet[pictures]`.
"""

from discreet.assessment.pictures.cell_matrix import hidden_cells
from discreet.assessment.pictures.curves import quality_curve, risk_curve, trade_off_curve
from discreet.assessment.pictures.figures import plot
from discreet.assessment.pictures.hidden_shares import hidden_by_code, hidden_by_part
from discreet.assessment.pictures.picture import Picture, check_picture_place
from discreet.assessment.pictures.tableau import row_distributions, tableau, transition_heatmap

__all__ = [
    "Picture",
    "check_picture_place",
    "hidden_by_code",
    "hidden_by_part",
    "hidden_cells",
    "plot",
    "quality_curve",
    "risk_curve",
    "row_distributions",
    "tableau",
    "trade_off_curve",
    "transition_heatmap",
]
