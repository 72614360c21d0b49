"""Parameter sets: the signed packages by which cells are protected. SECRET.

In: packages of parameters from their owners. Out: opened parameters for the parts that protect,
and for everybody else names, versions and states. What is in a package never leaves the service.
"""

from discreet_service.parameter_sets.decisions import register_decisions
from discreet_service.parameter_sets.registry import (
    AgreedChange,
    ParameterSet,
    ParameterSets,
    SetState,
)
from discreet_service.parameter_sets.signers import parameter_signers

__all__ = [
    "AgreedChange",
    "ParameterSet",
    "ParameterSets",
    "SetState",
    "parameter_signers",
    "register_decisions",
]
