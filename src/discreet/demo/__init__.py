"""A synthetic census, invented firms, and programmes over both, to try the package with.

In: a number of persons and a seed. Out: invented microdata, in memory (`generate`) or as
Parquet files (`write_census`), a table programme (`write_programme`), firms with a programme
that hides cells (`write_firms`), and the release of both, with what there is to look at (`run`).
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .census import Census as Census
    from .census import example_perturbation_table as example_perturbation_table
    from .census import generate as generate
    from .census import write_census as write_census
    from .census import write_programme as write_programme
    from .classifications import coded as coded
    from .demonstration import run as run
    from .demonstration import write_records as write_records
    from .firms import firms_of as firms_of
    from .firms import write_firms as write_firms
    from .geography import Geography as Geography
    from .hypercubes import write_hypercubes as write_hypercubes
    from .products import agreed_figures as agreed_figures
    from .products import release_products as release_products

lazy_face(__name__)
