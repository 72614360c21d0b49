"""What a corrected release changes: cells with other published values than in the first one.

In: the folders of two finished releases. Out: per table how many cells stay and which change. A
revision keeps its record keys, so cells without corrections have the same values in both. Readers
see the same differences; `check_revision` says whether they disclose few units.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.release.state.memory import remembered_tables
from discreet.tables import ProtectedTable


@dataclass(frozen=True, kw_only=True)
class ReleaseChanges:
    """The cells that a revision changes."""

    stayed: Mapping[str, int]  # table → number of cells with the same value and status
    changed: Mapping[str, pl.DataFrame]  # table → its changed cells, with both values
    single: Sequence[str]  # tables of one release only, or with other spanning variables

    def text(self) -> str:
        """Numbers of cells by table."""
        lines = [
            f"{name}: {len(cells):,} cells changed, {self.stayed[name]:,} stayed."
            for name, cells in self.changed.items()
        ]
        if self.single:
            lines.append(f"Not compared, in one release only: {', '.join(self.single)}.")
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        tables = {
            name: {"stayed": self.stayed[name], "changed": cells.to_dicts()}
            for name, cells in self.changed.items()
        }
        return {"tables": tables, "single": list(self.single)}

    def listed(self) -> pl.DataFrame:
        """All changed cells: table, codes of the cell, values and status in both releases."""
        rows = []
        for name, cells in self.changed.items():
            spanning = cells.columns[: cells.width - 4]
            codes = [f"{variable}=" + pl.col(variable).cast(pl.String) for variable in spanning]
            cell = pl.concat_str(codes, separator=", ") if codes else pl.lit("Total")
            values = pl.col("first", "revised").cast(pl.Float64)
            kinds = pl.col("first_status", "revised_status")
            rows.append(
                cells.select(pl.lit(name).alias("table"), cell.alias("cell"), values, kinds)
            )
        return pl.concat(rows) if rows else pl.DataFrame()


def release_changes(
    first: str | os.PathLike[str], revised: str | os.PathLike[str]
) -> ReleaseChanges:
    """Compare the published cells of a revision with those of the first release.

    Args:
        first: The folder of the first release.
        revised: The folder of the corrected one.

    Raises:
        PublicationError: If a folder is no release, or changed since it was signed.
    """
    before, after = (
        {name: kept.table for name, kept in remembered_tables(Path(folder)).items()}
        for folder in (first, revised)
    )
    return table_changes(before, after)


def table_changes(
    before: Mapping[str, ProtectedTable], after: Mapping[str, ProtectedTable]
) -> ReleaseChanges:
    """Compare the cells of tables with those of the same names."""
    stayed: dict[str, int] = {}
    changed: dict[str, pl.DataFrame] = {}
    single = [*(set(before) ^ set(after))]
    for name in sorted(set(before) & set(after)):
        cells, others = _cells(before[name], "first"), _cells(after[name], "revised")
        by = cells.columns[:-2]
        if by != others.columns[:-2]:
            single.append(name)
            continue
        if not by:
            both = pl.concat([cells, others], how="horizontal")
        else:
            both = cells.join(others, on=by, how="full", coalesce=True, maintain_order="left_right")
        both = both.select(*by, "first", "revised", "first_status", "revised_status")
        same = pl.col("first").eq_missing(pl.col("revised"))
        same &= pl.col("first_status").eq_missing(pl.col("revised_status"))
        changed[name] = both.filter(~same)
        stayed[name] = both.height - changed[name].height
    return ReleaseChanges(stayed=stayed, changed=changed, single=sorted(single))


def _cells(table: ProtectedTable, which: str) -> pl.DataFrame:
    """The listed cells of a table: codes, value, status."""
    frame = table.to_polars(complete=False)
    by = [name for name in frame.columns if name not in ("value", "status", "symbol")]
    value, status = pl.col("value").alias(which), pl.col("status").alias(f"{which}_status")
    return frame.select(pl.col(by).cast(pl.String), value, status)
