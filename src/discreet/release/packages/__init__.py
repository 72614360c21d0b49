"""Packages of parameters: what an office hands to others, in one file.

In: everything that determines protected results (SECRET): perturbation tables, rules,
brackets, thresholds, exemptions, key grid. Out: an encrypted, signed and versioned file;
and from the file the same parameters, so that results made elsewhere are the same.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .keys import KeyPair as KeyPair
    from .keys import PackageKey as PackageKey
    from .keys import write_key_pair as write_key_pair
    from .package import describe_package as describe_package
    from .package import open_parameters as open_parameters
    from .package import pack_parameters as pack_parameters
    from .package import verify_package as verify_package
    from .parameters import Parameters as Parameters
    from .parameters import parameters_of as parameters_of

lazy_face(__name__)
