"""Files for use inside the house: records with keys, true counts, perturbation tables.

In: records, cells made elsewhere, or a perturbation table in any format. Out: Parquet or CSV
files, or the perturbation table in another format with every key keeping its noise, that only
their owner can read. CONFIDENTIAL on both sides, perturbation tables SECRET: nothing of this may be
published.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.classifications import Classification
from discreet.errors import MicrodataError, Problem, TableError, nearest, raise_all
from discreet.files import atomic_path
from discreet.keygrid import KeyGrid
from discreet.record_batches import collected
from discreet.tables import Table

if TYPE_CHECKING:
    from discreet.microdata import Secret


def write_confidential(frame: Any, path: str | os.PathLike[str]) -> Path:
    """Write a frame as Parquet or CSV, readable by its owner only."""
    import narwhals as nw
    import polars as pl

    target = check_target(path)
    native = nw.to_native(nw.from_native(frame))
    if not isinstance(native, pl.LazyFrame):
        native = collected(nw.from_native(frame)).lazy()
    with atomic_path(target, private=True) as temporary:
        if target.suffix.lower() == ".csv":
            native.sink_csv(temporary)
        else:
            native.sink_parquet(temporary)
    return target


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path of a confidential file, if there is a format for it."""
    target = Path(path)
    if target.suffix.lower() not in (".parquet", ".csv"):
        message = "confidential files must be Parquet or CSV"
        hint = "give the file the suffix .parquet or .csv"
        raise MicrodataError(message, code="format", where=str(target), hint=hint)
    return target


def inherit_keys_in_file(
    source: Any,
    target: str | os.PathLike[str],
    *,
    by: Sequence[str],
    record_key: str = "record_key",
    grid: KeyGrid | int | str = 10**15,
    keep: Sequence[str] = (),
    onto: str | os.PathLike[str] | None = None,
    secret: Secret | None = None,
    unit: str | None = None,
    inheritance: str | None = None,
) -> Path:
    """Write the units of a file or frame of parts, each with the key it inherits from its parts.

    The rest is as for `discreet.inherit_record_keys`.
    """
    from discreet.microdata import inherit_record_keys, read_microdata

    check_target(target)
    units = inherit_record_keys(
        read_microdata(source),
        by=list(by),
        record_key=record_key,
        grid=grid,
        keep=list(keep),
        onto=None if onto is None else read_microdata(onto),
        secret=secret,
        unit=unit,
        inheritance="plain" if unit is None and inheritance is None else inheritance,
    )
    return write_confidential(units, target)


def tabulate_file(
    source: Any,
    target: str | os.PathLike[str],
    *,
    by: Sequence[str],
    record_key: str | None = None,
    key_grid: KeyGrid | int | str = 10**15,
    key_digits: str = "exact",
    where: str | None = None,
    weight: str | None = None,
    classifications: Mapping[str, Classification] | None = None,
) -> Path:
    """Count records as `discreet.tabulate` does, and write true counts and cell keys."""
    from discreet.tabulation import tabulate

    check_target(target)
    if not by:
        raise TableError("no spanning variables given", code="by", hint="--by region,sex")
    trees = classifications or {}
    table = tabulate(
        source,
        [trees.get(name, name) for name in by],
        record_key=record_key,
        weight=weight,
        where=where,
        key_grid=key_grid,
        key_digits=key_digits,
    )
    return write_confidential(table.to_polars(), target)


#: Formats that cannot say on which side their intervals are closed, and the side.
_SIDES = {"argus": "right", "intervals": "left", "cumulative": "left"}
_SUFFIXES = {".txt": "argus", ".csv": "intervals"}


class Converted(NamedTuple):
    """A file written by `convert_perturbation_table`."""

    path: Path  # the file
    #: The side on which intervals are closed now, if that had to change: "left" or "right". Bounds
    #: have then moved by 10^-15
    moved: str | None


def convert_perturbation_table(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
) -> Converted:
    """Write a perturbation table in another format; every key keeps its noise.

    τ-ARGUS counts a bound to the interval below it, the others to the one above. Where
    the two formats differ, bounds move by 10^-15, the step of the finest key grid.

    >>> import tempfile
    >>> from discreet.protection.noise import PerturbationTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    ...     written = ptable.write(Path(folder) / "ptable.json")
    ...     convert_perturbation_table(written, Path(folder) / "ptable.txt").moved
    'right'
    """
    from discreet.protection.noise import PerturbationTable

    table = PerturbationTable.read(source, format=source_format)
    suffix = Path(target).suffix.lower()
    kind = _SUFFIXES.get(suffix, "") if target_format is None else target_format
    side = _SIDES.get(kind)
    if side is None or table.key_grid is not None:
        return Converted(table.write(target, format=target_format), None)
    turned = table.with_closed("right" if side == "right" else "left")
    moved = side if turned is not table else None
    return Converted(turned.write(target, format=target_format), moved)


def cell_table(
    cells: Any, by: Sequence[str], classifications: Mapping[str, Classification] | None, **how: Any
) -> Table:
    """The table of cells made elsewhere. CONFIDENTIAL."""
    trees, where = classifications or {}, "classifications"
    problems = [
        Problem(f"{name!r} is not a spanning variable of the table", where, nearest(name, list(by)))
        for name in trees
        if name not in by
    ]
    raise_all(TableError, problems, code="by", where=where)
    spanning = [trees.get(variable, variable) for variable in by]
    return Table.from_cells(read_cells(cells, by), by=spanning, **how)


def read_cells(cells: Any, by: Sequence[str]) -> Any:
    """Cells made elsewhere as a polars frame; codes in text files stay as they are written."""
    from discreet.microdata import read_microdata

    name = os.fspath(cells).lower() if isinstance(cells, str | os.PathLike) else ""
    texts = name.removesuffix(".gz").endswith((".csv", ".tsv", ".txt"))
    text = tuple(by) if texts else ()
    return collected(read_microdata(cells, text=text))
