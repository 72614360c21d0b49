"""Where values go: which names of a program hold figures that must not be shown.

In: parsed do-files and a policy. Out: names that hold stored results or
data, and the places that show them; nothing is run.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .stata_figures import MADE_OF_VALUES as MADE_OF_VALUES
    from .stata_figures import FigureFlow as FigureFlow
    from .stata_figures import copies_of_chosen as copies_of_chosen
    from .stata_figures import described_originals as described_originals
    from .stata_values import UNTOUCHED as UNTOUCHED
    from .stata_values import HeldNames as HeldNames
    from .stata_values import StatementParts as StatementParts
    from .stata_values import Taints as Taints
    from .stata_values import pieces as pieces
    from .stata_values import statements_of as statements_of
    from .stata_values import without_macros as without_macros

lazy_face(__name__)
