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

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .hidden import hidden_by_code as hidden_by_code
    from .hidden import hidden_by_part as hidden_by_part
    from .hidden import hidden_cells as hidden_cells
    from .hidden import plot as plot
    from .picture import Picture as Picture
    from .tableau import quality_curve as quality_curve
    from .tableau import risk_curve as risk_curve
    from .tableau import row_distributions as row_distributions
    from .tableau import tableau as tableau
    from .tableau import trade_off_curve as trade_off_curve
    from .tableau import transition_heatmap as transition_heatmap

lazy_face(__name__)
