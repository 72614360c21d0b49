"""Code trees of variables and their file formats."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .classification import Classification as Classification
    from .tree import MISSING as MISSING
    from .tree import TOTAL as TOTAL
    from .tree import natural_order as natural_order

lazy_face(__name__)
