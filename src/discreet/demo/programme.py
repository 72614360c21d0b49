"""A table programme over the synthetic census, with everything it names.

In: a folder with the synthetic persons. Out: programme, classifications, perturbation
table and secret beside them. The secret and the perturbation table are examples that
everyone can read here: they protect nothing but invented data.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from discreet.demo.census import map_of
from discreet.demo.classifications import classifications_of
from discreet.errors import RecordKeyError
from discreet.files import check_writable, write_text
from discreet.perturbation import (
    MagnitudePerturbationTable,
    PerturbationTable,
    design_magnitude_perturbation,
)
from discreet.perturbation.design import preset

__all__ = ["PROGRAMME", "example_magnitude_table", "example_perturbation_table"]
__all__ += ["write_programme"]

#: File name of the programme.
PROGRAMME = "programme.toml"

# Fixed, so that everyone gets the same tables; `discreet keys secret` makes a real one.
_SECRET = "64697363726565742064656d6f207365637265742c206e6f7420666f72207573650a\n"  # noqa: S105
_SECRET_FILE = "secret.key"  # noqa: S105

# Classification → the file it goes to; all formats are the same to a programme.
_FILES = {
    "region": "region.json",
    "state": "state.json",
    "nationality": "nationality.toml",
    "marital_status": "marital_status.csv",
    "education": "education.hrc",
    "occupation": "occupation.toml",
    "household_type": "household_type.json",
    "building_type": "building_type.json",
    "construction": "construction.json",
}


def example_perturbation_table() -> PerturbationTable:
    """The published university example as a perturbation table.

    >>> example_perturbation_table().n_max
    7
    """
    return preset("published-never-1-or-2-within-4-half-unchanged")


def example_magnitude_table() -> MagnitudePerturbationTable:
    """An example of a perturbation table for sums and means.

    >>> example_magnitude_table().kinds
    ('all',)
    """
    return design_magnitude_perturbation(2, 1, classes=(1, 2), step=4, name="example")


def write_programme(folder: str | os.PathLike[str]) -> Path:
    """Write a programme of tables beside the records of a synthetic census.

    Args:
        folder: A folder that `discreet.demo.write_census` has filled.

    Returns:
        The programme file.

    >>> import tempfile
    >>> from discreet.demo import write_census
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_census(folder, persons=1_000)
    ...     write_programme(folder).name
    'programme.toml'
    """
    place = Path(folder)
    trees = classifications_of(map_of(place / "persons.parquet"))
    check_writable(place)
    _write_secret(place / _SECRET_FILE)
    for name, file in _FILES.items():
        trees[name].write(place / file)
    example_perturbation_table().write(place / "ptable.json")
    example_magnitude_table().write(place / "magnitude-ptable.csv")
    programme = place / PROGRAMME
    write_text(programme, files("discreet.demo").joinpath(PROGRAMME).read_text("utf-8"))
    return programme


def _write_secret(path: Path) -> None:
    if path.exists() and path.read_text("utf-8", errors="replace") != _SECRET:
        raise RecordKeyError(
            "there is another secret here already",
            code="secret",
            where=str(path),
            hint="a lost secret cannot be made again; choose another folder for the demonstration",
        )
    write_text(path, _SECRET, private=True)
