"""Packages of parameters: what an office hands to others, in one file.

In: everything that determines protected results (SECRET): perturbation tables, rules,
brackets, thresholds, exemptions, key grid. Out: an encrypted, signed and versioned file;
and from the file the same parameters, so that results made elsewhere are the same.
"""

from discreet.release.packages.keys import KeyPair, PackageKey, key_id, write_key_pair
from discreet.release.packages.package import (
    PackageDescription,
    describe_package,
    open_parameters,
    pack_parameters,
    verify_package,
)
from discreet.release.packages.parameters import Magnitude, Parameters, parameters_of

__all__ = [
    "KeyPair",
    "Magnitude",
    "PackageDescription",
    "PackageKey",
    "Parameters",
    "describe_package",
    "key_id",
    "open_parameters",
    "pack_parameters",
    "parameters_of",
    "verify_package",
    "write_key_pair",
]
