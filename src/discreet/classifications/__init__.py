"""Code trees of variables and their file formats."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .classification import Classification as Classification
    from .classification import flat as flat
    from .coarser_trees import Coarser as Coarser
    from .coarser_trees import folded as folded
    from .coarser_trees import levels_folded as levels_folded
    from .coarser_trees import merged as merged
    from .grids import EXTENT as EXTENT
    from .grids import coarser_squares as coarser_squares
    from .grids import geographic as geographic
    from .grids import grid_coordinates as grid_coordinates
    from .grids import read_squares as read_squares
    from .grids import square_codes as square_codes
    from .parents import fractions as fractions
    from .parents import texts_of_codes as texts_of_codes
    from .text_files import read_text as read_text
    from .tree import MISSING as MISSING
    from .tree import TOTAL as TOTAL
    from .tree import Details as Details
    from .tree import natural_order as natural_order

lazy_face(__name__)
