"""The lookup on its own: protecting cells that a database or another tool has counted.

In: a frame or file with one row per cell, its count and its cell key
(confidential), and a perturbation table. Out: a `ProtectedTable` (public).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from discreet.classifications import Classification
from discreet.errors import Problem, TableError, nearest, raise_all
from discreet.keygrid import KeyGrid
from discreet.record_batches import collected
from discreet.tables import ProtectedTable, Table

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
