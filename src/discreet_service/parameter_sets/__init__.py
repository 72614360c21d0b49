"""Parameter sets: the signed packages by which cells are protected. SECRET.

In: packages of parameters from their owners. Out: opened parameters for the parts that protect,
and for everybody else names, versions and states. What is in a package never leaves the service.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .registry import ParameterSet as ParameterSet
    from .registry import ParameterSets as ParameterSets
    from .registry import SetState as SetState
    from .registry import parameter_signers as parameter_signers

lazy_face(__name__)
