"""Where values go: which names of a program hold figures that must not be shown.

In: parsed do-files, Python and R scripts, and a policy. Out: names that hold stored results or
data, and the places that show them. `engine` is shared by all languages; nothing is run.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .engine import Names as Names
    from .engine import SingleValues as SingleValues
    from .engine import grown as grown
    from .python_names import PythonNames as PythonNames
    from .python_names import PythonPicks as PythonPicks
    from .python_names import failing as failing
    from .r_names import RNames as RNames
    from .r_names import RPicks as RPicks
    from .r_names import arguments as arguments
    from .r_names import is_assignment as is_assignment
    from .r_names import root_of as root_of
    from .r_names import sides as sides
    from .stata_conditions import CONDITION as CONDITION
    from .stata_conditions import OF_MISSING as OF_MISSING
    from .stata_conditions import atoms as atoms
    from .stata_names import MADE_OF_VALUES as MADE_OF_VALUES
    from .stata_names import FigureFlow as FigureFlow
    from .stata_outputs import StatementJudge as StatementJudge
    from .stata_outputs import copies_of_chosen as copies_of_chosen
    from .stata_outputs import described_originals as described_originals
    from .stata_outputs import estimates_drawn as estimates_drawn
    from .stata_values import UNTOUCHED as UNTOUCHED
    from .stata_values import HeldNames as HeldNames
    from .stata_values import StatementParts as StatementParts
    from .stata_values import Taints as Taints
    from .stata_values import pieces as pieces
    from .stata_values import statements_of as statements_of
    from .stata_values import without_macros as without_macros

lazy_face(__name__)
