"""Writing tables as files of cells (`.tab`) with metadata (`.rda`) and hierarchies (`.hrc`).

In: a confidential `Table` and its sensitive cells. Out: files. CONFIDENTIAL.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import SuppressionError
from discreet.files import write_text
from discreet.rules import Primary
from discreet.suppression.formats.cell_files import EMPTY, SECONDARY
from discreet.suppression.formats.metadata import ArgusVariable, Metadata, write_rda
from discreet.tables import Dimension, Table

__all__ = ["write_tab"]


def write_tab(
    table: Table,
    path: str | os.PathLike[str],
    *,
    value: str | None = None,
    primary: Primary | None = None,
    decimals: int = 0,
) -> Metadata:
    """Write the cells of a table, its metadata (`.rda`) and hierarchies (`.hrc`) beside it.

    Args:
        table: The table.
        path: The file of cells.
        value: The value column; None for counts.
        primary: Sensitive cells, with their levels.
        decimals: Digits after the decimal point of values.

    All files are readable by their owner only, but for the hierarchies.
    """
    place = Path(path)
    if any(len(dimension.classifications) > 1 for dimension in table.dimensions):
        raise SuppressionError(
            "classifications that do not nest have no place in this format",
            code="argus-file",
            where=table.name,
            hint="write a table for each",
        )
    variables = [_spanning(dimension, place) for dimension in table.dimensions]
    measure = value or "count"
    variables.append(ArgusVariable(name=measure, numeric=True, decimals=decimals if value else 0))
    variables.append(ArgusVariable(name="frequency", role="frequency"))
    if primary is not None:
        variables.append(ArgusVariable(name="status", role="status"))
        variables += [
            ArgusVariable(name=role, numeric=True, role=role, decimals=decimals)
            for role in ("lower", "upper")
        ]
    metadata = Metadata(
        form="table", separator=";", variables=tuple(variables), folder=place.parent
    )
    _write_cells(table, place, value, primary, decimals)
    for dimension, variable in zip(table.dimensions, variables, strict=False):
        if variable.hierarchy:
            dimension.classifications[0].write(place.parent / variable.hierarchy)
    write_rda(metadata, place.with_suffix(".rda"))
    return metadata


def _spanning(dimension: Dimension, place: Path) -> ArgusVariable:
    variable = ArgusVariable(name=dimension.name, coded=True, total=dimension.total)
    if not dimension.is_leaf[1:].all():
        return replace(variable, hierarchy=f"{place.stem}_{dimension.name}.hrc")
    return variable


def _write_cells(
    table: Table, place: Path, value: str | None, primary: Primary | None, decimals: int
) -> None:
    columns: list[Any] = []
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        wrong = [code for code in dimension.codes if '"' in code or "\n" in code]
        if wrong:
            raise SuppressionError(
                f"code {wrong[0]!r} has a quote or a line break",
                code="argus-file",
                where=dimension.name,
            )
        columns.append([f'"{dimension.codes[at]}"' for at in part.tolist()])
    amounts = table.count.tolist() if value is None else table.sums[value].tolist()
    columns.append([f"{amount:.{decimals if value else 0}f}" for amount in amounts])
    columns.append([str(count) for count in table.count.tolist()])
    if primary is not None:
        letters = np.array(["S", "U", "P", SECONDARY])[primary.verdict]
        columns.append(np.where(table.count == 0, EMPTY, letters).tolist())
        columns += [
            [f"{amount:.{decimals}f}" for amount in level.tolist()]
            for level in (primary.lower, primary.upper)
        ]
    lines = (";".join(row) for row in zip(*columns, strict=True))
    write_text(place, "".join(f"{line}\n" for line in lines), private=True)
