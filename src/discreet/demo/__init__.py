"""A synthetic census, invented firms, and programmes over both, to try the package with.

In: a number of persons and a seed. Out: invented microdata, in memory (`generate`) or as
Parquet files (`write_census`), a table programme (`write_programme`), firms with a programme
that hides cells (`write_firms`), and the release of both, with what there is to look at (`run`).
"""

from discreet.demo.census import (
    Census,
    CensusFiles,
    example_magnitude_table,
    example_perturbation_table,
    generate,
    write_census,
    write_programme,
)
from discreet.demo.demonstration import Demonstration, run
from discreet.demo.firms import write_firms
from discreet.demo.hypercubes import write_hypercubes
from discreet.demo.products import agreed_figures, release_products, write_products

__all__ = [
    "Census",
    "CensusFiles",
    "Demonstration",
    "agreed_figures",
    "example_magnitude_table",
    "example_perturbation_table",
    "generate",
    "release_products",
    "run",
    "write_census",
    "write_firms",
    "write_products",
    "write_hypercubes",
    "write_programme",
]
