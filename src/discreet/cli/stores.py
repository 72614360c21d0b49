"""Commands on stores: ``discreet store …``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from discreet.cli.program import command, group, names, pairs, show, trees_from

app = group("Build and query stores: sorted microdata for fast tables.")


@command(app, "build")
def build(
    programme: Path,
    out: Path,
    sort: str | None = None,
    source: str | None = None,
    data: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
) -> None:
    """Build a store, or a new version of it, with all that the tables of a programme need."""
    from discreet.release import build_store

    given = pairs(data, "NAME=FILE")
    build_store(programme, out, source=source, sort=sort, data=given, show_values=show_values)
    show(f"The store is in {out}.", {"out": str(out)}, as_json=as_json)


@command(app, "info")
def info(
    folder: Path,
    check: bool = False,
    as_json: bool = False,
) -> None:
    """Say what is in a store. CONFIDENTIAL: the number of its records is."""
    from discreet.store import Store

    found = Store.open(folder, check=check).info()
    lines = [
        f"{folder}: {found['records']:,} records, {found['bytes'] / 1e6:,.1f} MB, "
        f"sorted by {found['sorted_by']}, keys in {found['record_key'] or 'no column'}",
        *(f"  {name}: {kind}" for name, kind in found["columns"].items()),
    ]
    show("\n".join(lines), found, as_json=as_json)


@command(app, "query")
def query(
    folder: Path,
    by: list[str],
    ptable: Path,
    out: Path,
    where: str | None = None,
    value: str | None = None,
    figure: Literal["sum", "mean"] = "sum",
    value_ptable: Path | None = None,
    share: float | None = None,
    classification: list[str] | None = None,
    language: str = "en",
    as_json: bool = False,
) -> None:
    """Make one table and protect its counts, or its sums; only the protected table is written."""
    from discreet.protection.noise import (
        MagnitudeNoise,
        MagnitudePerturbationTable,
        PerturbationTable,
        SimpleStrength,
        perturb,
        perturb_magnitudes,
    )
    from discreet.store import Store

    noise, trees = PerturbationTable.read(ptable), trees_from(classification)
    spanning = [trees.get(name, name) for name in names(by)]
    how = {"where": where, "name": out.name.partition(".")[0]}
    if value is None:
        if value_ptable is not None or share is not None:
            raise typer.BadParameter("--value-ptable and --share need --value COLUMN")
        safe = perturb(Store.open(folder).tabulate(spanning, **how), noise)
    else:
        if value_ptable is None or share is None:
            raise typer.BadParameter("--value needs --value-ptable FILE and --share, such as 0.1")
        strength = SimpleStrength(share=share)
        values = MagnitudeNoise(MagnitudePerturbationTable.read(value_ptable), strength=strength)
        table = Store.open(folder).tabulate(spanning, values=[value], contributions=1, **how)
        safe = perturb_magnitudes(table, values, value, ptable=noise, figure=figure)
    written = safe.write(out, language=language)
    show(f"The protected table is in {written}.", {"out": str(written)}, as_json=as_json)
