"""The lookup on its own: protecting cells that a database or another tool has counted.

In: a frame or file with one row per cell, its count and its cell key
(confidential), and a perturbation table. Out: a `ProtectedTable` (public).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from discreet._version import __version__
from discreet.classifications import Classification
from discreet.errors import Problem, TableError, nearest, raise_all
from discreet.keygrid import KeyGrid
from discreet.record_batches import collected
from discreet.tables import CellStatus, ProtectedTable, Provenance, Table

if TYPE_CHECKING:
    from discreet.protection.noise import PerturbationTable


class LookupOptions(TypedDict, total=False):
    """What `discreet.perturb` can be told about the noise and what is published."""

    zeros: Literal["keep", "table"]
    suppress_below: float | None
    official: str | None
    totals: Mapping[str, str] | None
    decimals: int | None
    round_to: int
    found_codes: Literal["list", "hide"]


def protect_cells(
    cells: Any,
    ptable: PerturbationTable,
    *,
    by: Sequence[str],
    count: str,
    cell_key: str,
    key_grid: KeyGrid | int | str = 10**15,
    key_digits: str = "exact",
    weight: str | None = None,
    classifications: Mapping[str, Classification] | None = None,
    name: str = "table",
    **rules: Unpack[LookupOptions],
) -> ProtectedTable:
    """Protect cells made elsewhere with the cell-key method.

    >>> import polars as pl
    >>> from discreet import PerturbationTable
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> cells = pl.DataFrame({"sex": ["m", "w"], "n": [1, 1], "key": [200, 210]})
    >>> protect_cells(cells, ptable, by=["sex"], count="n", cell_key="key", key_grid=256)
    <ProtectedTable table: sex, 3 cells>
    """
    from discreet.protection.noise import perturb

    keyed = {"cell_key": cell_key, "key_grid": key_grid, "key_digits": key_digits}
    table = cell_table(cells, by, classifications, count=count, weight=weight, name=name, **keyed)
    return perturb(table, ptable, **rules)


def cell_table(
    cells: Any, by: Sequence[str], classifications: Mapping[str, Classification] | None, **how: Any
) -> Table:
    """The table of cells made elsewhere. CONFIDENTIAL."""
    trees = classifications or {}
    _check_names(by, trees)
    spanning = [trees.get(variable, variable) for variable in by]
    return Table.from_cells(read_cells(cells, by), by=spanning, **how)


def read_cells(cells: Any, by: Sequence[str]) -> Any:
    """Cells made elsewhere as a polars frame; codes in text files stay as they are written."""
    from discreet.microdata import read_microdata

    text = tuple(by) if isinstance(cells, str | os.PathLike) and _is_text(cells) else ()
    return collected(read_microdata(cells, text=text))


def protect_cells_to_file(
    cells: Any,
    target: str | os.PathLike[str],
    ptable: str | os.PathLike[str],
    *,
    ptable_format: str | None = None,
    language: str = "en",
    complete: bool | None = None,
    **options: Any,
) -> Path:
    """Protect cells made elsewhere and write the protected table."""
    from discreet.protection.noise import PerturbationTable
    from discreet.publication import write

    changes_zeros = options.get("zeros") == "table"
    table = PerturbationTable.read(ptable, format=ptable_format, zeros=changes_zeros)
    name = Path(target).name.partition(".")[0]
    protected = protect_cells(cells, table, name=name, **options)
    return write(protected, target, language=language, complete=complete)


def make_additive_to_file(
    cells: Any,
    target: str | os.PathLike[str],
    *,
    by: Sequence[str],
    value: str,
    official: Sequence[str] = (),
    classifications: Mapping[str, Classification] | None = None,
    language: str = "en",
    complete: bool | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Change protected counts until they add up, and write them; what it cost, in plain values."""
    from dataclasses import asdict

    from discreet.protection.rounding import AdditivityCost, make_additive
    from discreet.publication import check_place, write

    check_place(Path(target))
    table = cell_table(
        cells, by, classifications, count=value, name=Path(target).name.partition(".")[0]
    )
    _check_names(by, dict.fromkeys(official), "official")
    status = np.full(len(table), CellStatus.published, dtype=np.int8)
    for name in official:
        others = [at for each, at in zip(by, table.index, strict=True) if each != name]
        status[np.all([at == 0 for at in others], axis=0)] = CellStatus.official
    safe = ProtectedTable(
        dimensions=table.dimensions,
        index=table.index,
        value=table.count,
        status=status,
        provenance=Provenance(version=__version__, method="additivity"),
        parts=table.parts,
        name=table.name,
    )
    whole = make_additive(safe)
    told = asdict(AdditivityCost.of([safe], [whole]))
    return write(whole, target, language=language, complete=complete), told


def perturb_invariant_to_file(
    cells: Any,
    target: str | os.PathLike[str],
    transition: str | os.PathLike[str],
    *,
    by: Sequence[str],
    count: str,
    cell_key: str,
    key_grid: KeyGrid | int | str = 10**15,
    key_digits: str = "exact",
    classifications: Mapping[str, Classification] | None = None,
    language: str = "en",
    complete: bool | None = None,
    **options: Any,
) -> Path:
    """Protect cells made elsewhere so that frequencies of counts stay, and write the table."""
    from discreet.protection.noise import perturb_invariant, read_transition
    from discreet.publication import write

    name = Path(target).name.partition(".")[0]
    keyed = {"cell_key": cell_key, "key_grid": key_grid, "key_digits": key_digits}
    table = cell_table(cells, by, classifications, count=count, name=name, **keyed)
    protected = perturb_invariant(table, read_transition(transition), **options)
    return write(protected, target, language=language, complete=complete)


def _is_text(path: str | os.PathLike[str]) -> bool:
    """Codes in text files stay as they are written, also if all are numbers."""
    name = os.fspath(path).lower().removesuffix(".gz")
    return name.endswith((".csv", ".tsv", ".txt"))


def _check_names(
    by: Sequence[str], trees: Mapping[str, Any], where: str = "classifications"
) -> None:
    problems = [
        Problem(f"{name!r} does not span the table", where, nearest(name, list(by)))
        for name in trees
        if name not in by
    ]
    raise_all(TableError, problems, code="by", where=where)
