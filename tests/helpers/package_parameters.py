"""What an office keeps in a package of parameters."""

from typing import Any

import discreet as dc
from discreet.microdata import Secret
from discreet.protection.noise import MagnitudePerturbationTable, PerturbationTable
from discreet.protection.noise.intervals import pack

DIGEST_KEY = b"what the reader of a digest cannot guess"

NOISE = {-1: 0.25, 0: 0.5, 1: 0.25}
PTABLE = PerturbationTable.from_rows({0: {0: 1}, 1: NOISE, 2: NOISE}, name="counts 2026")
#: For keys of the grid 4096 alone; counts beyond 2 repeat the rows of 1 and 2.
FINE = PerturbationTable(
    pack(
        [[(4096, 0)], [(2048, -1), (4096, 1)], [(1024, -1), (4096, 1)]],
        scale=4096,
        beyond=(1, 2),
    )
)
MAGNITUDES = MagnitudePerturbationTable.joined(
    dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=2),
    dc.design_magnitude_perturbation(1, 0.5, classes=(1,), step=3, kind="small"),
)
SECTIONS: dict[str, Any] = {
    "perturbation": {"suppress_below": 10, "decimals": 1, "found_codes": "hide"},
    "magnitudes": {
        "rent": {
            "of": "top",
            "top": 2,
            "epsilon": [1, 0.5],
            "strength": {
                "kind": "flex", "point": 1000, "small": 0.2, "large": 0.03, "exponent": 2,
            },
            "publish": "means",
        }
    },
    "parts": {"max_share_small": 0.4, "min_cells": 10},
    "figures": {"bracket_above": 0.17},
    "keys": {"id": "person_id", "grid": "10^15"},
    "official": "sex == 'Total'",
}  # fmt: skip
SECRET = Secret(b"the secret of the record keys, in bytes")
