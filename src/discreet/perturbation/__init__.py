"""From tables to protected tables (layer 6): perturbation tables and the cell-key method.

`PerturbationTable` is secret, `perturb` crosses the confidentiality line: a
confidential `Table` goes in, a `ProtectedTable` comes out.
"""

from discreet.perturbation.counts import perturb
from discreet.perturbation.design import design_magnitude_perturbation, design_perturbation
from discreet.perturbation.magnitudes import MagnitudePerturbationTable
from discreet.perturbation.table import PerturbationTable

__all__ = [
    "MagnitudePerturbationTable",
    "PerturbationTable",
    "design_magnitude_perturbation",
    "design_perturbation",
    "perturb",
]
