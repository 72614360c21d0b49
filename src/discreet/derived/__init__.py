"""Key figures: shares, ratios, means, changes and balances of protected figures; quantiles.

`derive` takes confidential `Ingredient`s and gives a `ProtectedTable`; `quantiles` makes one of
protected counts alone.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .class_quantiles import quantiles as quantiles
    from .derivation import derive as derive
    from .flows import thinned_flows as thinned_flows
    from .formulas import rounded as rounded
    from .key_figure import KeyFigure as KeyFigure
    from .sample_estimates import PrecisionClasses as PrecisionClasses
    from .sample_estimates import SampleDesign as SampleDesign
    from .sample_estimates import estimate_sample as estimate_sample
    from .settings import QuantileRules as QuantileRules
    from .settings import QuantileSettings as QuantileSettings
    from .single_figures import balance as balance
    from .single_figures import index_figure as index_figure
    from .single_figures import mean as mean
    from .single_figures import per_thousand as per_thousand
    from .single_figures import rate_of_change as rate_of_change
    from .single_figures import ratio as ratio
    from .single_figures import share as share
    from .small_areas import area_sizes as area_sizes
    from .small_areas import available_areas as available_areas
    from .small_areas import left_out as left_out
    from .small_areas import without_areas as without_areas

lazy_face(__name__)
