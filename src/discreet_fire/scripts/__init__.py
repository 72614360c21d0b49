"""Programs in R and Python: reading them, and what rewritten ones call.

In: scripts and notebooks in source form. Out: chunks, trees and bindings; `runtime` has the safe
functions that stand in rewritten Python scripts. It is no sandbox.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from . import runtime as runtime

lazy_face(__name__)
