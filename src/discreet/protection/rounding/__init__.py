"""Rounding: counts become multiples of a base, each on its own or so that totals stay sums.

`round_counts` and `round_linked` cross the confidentiality line: confidential `Table`s go in,
`ProtectedTable`s come out. `audit_rounding` finds out what rounded figures still tell; an
`Ingredient` of key figures carries both sides and is confidential. `make_additive` looks at
protected tables only, and makes their figures add up; `round_shown` rounds beside hidden cells.
Everything is loaded when first used: its settings are light.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .additivity import AdditivityCost as AdditivityCost
    from .additivity import fitted_exposure as fitted_exposure
    from .additivity import make_additive as make_additive
    from .additivity import make_additive_linked as make_additive_linked
    from .bases import Rounding as Rounding
    from .counts import RoundingAudit as RoundingAudit
    from .counts import audit_rounding as audit_rounding
    from .counts import ingredient_of as ingredient_of
    from .counts import round_counts as round_counts
    from .counts import round_linked as round_linked
    from .counts import round_shown as round_shown
    from .counts import rounded_ingredient as rounded_ingredient
    from .counts import rounding_table as rounding_table
    from .method import RoundingProtection as RoundingProtection
    from .settings import AdditivitySettings as AdditivitySettings
    from .settings import RoundingSettings as RoundingSettings

lazy_face(__name__)
