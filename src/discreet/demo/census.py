"""The synthetic census, in memory or as Parquet files of any size, and its table programme.

In: a number of persons and a seed. Out: buildings, dwellings, households and persons
that link up; beside them a programme, classifications, perturbation table and secret. The
same persons and seed give the same records, whatever the chunk size and the number of
threads. All of it is invented; the secret and the perturbation table are examples that
everyone can read here: they protect nothing.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import polars as pl

from discreet.classifications import Classification
from discreet.demo.classifications import classifications_of
from discreet.demo.geography import Geography, SettlementBlock
from discreet.demo.outlines import outlines_of
from discreet.demo.records import UNITS, CodeLists, block_records
from discreet.errors import MicrodataError, RecordKeyError
from discreet.files import atomic_path, check_writable, write_text
from discreet.protection.noise import (
    MagnitudePerturbationTable,
    PerturbationTable,
    design_magnitude_perturbation,
    preset,
)

#: Called with the number of persons done and of all persons.
Progress = Callable[[int, int], None]

Records = Mapping[str, pl.DataFrame]

_METADATA = "discreet.demo"
_WORKERS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class Census:
    """A synthetic census in memory.

    >>> generate(persons=1_000)
    <Census (synthetic): 1,000 persons, 498 households, 516 dwellings, 199 buildings>
    """

    persons: pl.DataFrame  # one row per person; `household_id` and the units above it link up
    households: pl.DataFrame  # one row per household
    dwellings: pl.DataFrame  # one row per dwelling, vacant ones too; `rent` only if rented out
    buildings: pl.DataFrame  # one row per building
    #: name → classification of a variable, with labels
    classifications: Mapping[str, Classification]

    def __repr__(self) -> str:
        counts = ", ".join(f"{getattr(self, unit).height:,} {unit}" for unit in UNITS)
        return f"<Census (synthetic): {counts}>"


@dataclass(frozen=True, kw_only=True)
class CensusFiles:
    """The files of a synthetic census.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_census(folder, persons=1_000).dwellings.name
    'dwellings.parquet'
    """

    folder: Path  # where they are
    persons: Path  # parquet file of persons
    households: Path  # parquet file of households
    dwellings: Path  # parquet file of dwellings
    buildings: Path  # parquet file of buildings
    records: Mapping[str, int]  # kind of unit → number of records


def generate(persons: int = 10_000, seed: int = 2026) -> Census:
    """A synthetic census in memory.

    >>> census = generate(persons=1_000)
    >>> census.persons.height, census.persons["household_id"].n_unique()
    (1000, 498)
    >>> census.classifications["region"].level_names
    ('state', 'district', 'municipality')
    """
    lists = CodeLists(Geography.of(persons, seed))
    records = _joined(list(_blocks(lists)))
    return Census(**records, classifications=MappingProxyType(classifications_of(lists.place)))


def write_census(
    folder: str | os.PathLike[str],
    persons: int = 10_000,
    seed: int = 2026,
    *,
    chunk: int = 1_000_000,
    progress: Progress | None = None,
) -> CensusFiles:
    """Write a synthetic census as Parquet files, with flat memory at any size.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_census(folder, persons=1_000).records["persons"]
    1000
    """
    if chunk < 1:
        message = "a chunk needs at least one person"
        raise MicrodataError(message, code="demo-chunk", where="chunk", hint="1,000,000")
    lists = CodeLists(Geography.of(persons, seed))
    place = Path(folder)
    check_writable(place)
    counts, largest = dict.fromkeys(UNITS, 0), dict.fromkeys(UNITS, 1)
    paths = {unit: place / f"{unit}.parquet" for unit in UNITS}
    with ExitStack() as stack:
        temporary = {unit: stack.enter_context(atomic_path(path)) for unit, path in paths.items()}
        parts = Path(stack.enter_context(TemporaryDirectory(dir=place)))  # a file for each chunk
        written: dict[str, list[Path]] = {unit: [] for unit in UNITS}
        for records in _chunks(lists, chunk):
            for unit, frame in records.items():
                written[unit].append(parts / f"{unit}-{len(written[unit]):06d}.parquet")
                frame.write_parquet(written[unit][-1], compression="lz4", statistics=False)
                counts[unit] += frame.height
                largest[unit] = max(largest[unit], frame.height)
            if progress is not None:
                progress(counts["persons"], persons)
        for unit, path in temporary.items():  # each chunk is about a row group
            pl.scan_parquet(written[unit]).sink_parquet(
                path,
                compression_level=1,
                row_group_size=largest[unit],
                metadata={_METADATA: f"{persons} {seed}"},
            )
    return CensusFiles(folder=place, **paths, records=MappingProxyType(counts))


def map_of(persons_file: str | os.PathLike[str]) -> Geography:
    """The map that a Parquet file of persons was made with."""
    path = Path(persons_file)
    hint = "write it with discreet.demo.write_census"
    try:
        noted = pl.read_parquet_metadata(path)
    except (OSError, pl.exceptions.PolarsError):
        message = "Parquet file of persons not found"
        raise MicrodataError(message, code="demo-census", where=str(path), hint=hint) from None
    if _METADATA not in noted:
        message = "not a synthetic census"
        raise MicrodataError(message, code="demo-census", where=str(path), hint=hint)
    persons, seed = noted[_METADATA].split()
    return Geography.of(int(persons), int(seed))


def _blocks(lists: CodeLists) -> Iterator[Records]:
    """The records of all blocks in order; the next few are made in the background."""
    if len(lists.place.blocks) == 1:
        yield block_records(lists, lists.place.blocks[0])
        return
    waiting: deque[Future[dict[str, pl.DataFrame]]] = deque()
    blocks: Iterator[SettlementBlock] = iter(lists.place.blocks)
    with ThreadPoolExecutor(_WORKERS) as pool:
        for block in blocks:
            waiting.append(pool.submit(block_records, lists, block))
            if len(waiting) > 2 * _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _chunks(lists: CodeLists, chunk: int) -> Iterator[Records]:
    """The records in chunks of whole blocks."""
    held: list[Records] = []
    persons = 0
    for records in _blocks(lists):
        held.append(records)
        persons += records["persons"].height
        if persons >= chunk:
            yield _joined(held)
            held, persons = [], 0
    if held:
        yield _joined(held)


def _joined(blocks: list[Records]) -> Records:
    return {unit: pl.concat([records[unit] for records in blocks], rechunk=True) for unit in UNITS}


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
    country = map_of(place / "persons.parquet")
    trees = classifications_of(country)
    check_writable(place)
    secret = place / _SECRET_FILE
    if secret.exists() and secret.read_text("utf-8", errors="replace") != _SECRET:
        message = "the folder has another secret already"
        hint = "choose another folder for the demonstration; a lost secret cannot be recovered"
        raise RecordKeyError(message, code="secret", where=str(secret), hint=hint)
    write_text(secret, _SECRET, private=True)
    for name, file in _FILES.items():
        trees[name].write(place / file)
    outlines_of(country).write(place / "regions.geojson")
    example_perturbation_table().write(place / "ptable.json")
    example_magnitude_table().write(place / "magnitude-ptable.csv")
    programme = place / PROGRAMME
    write_text(programme, files("discreet.demo").joinpath(PROGRAMME).read_text("utf-8"))
    return programme
