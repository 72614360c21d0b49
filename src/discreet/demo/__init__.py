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

__all__ = [
    "Census",
    "CensusFiles",
    "Demonstration",
    "example_magnitude_table",
    "example_perturbation_table",
    "generate",
    "run",
    "write_census",
    "write_firms",
    "write_programme",
]
