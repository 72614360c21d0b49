"""Commands on stores: ``discreet store …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli.program import By, Json, Trees, command, group, names, pairs, show, trees_from
from discreet.cli.records import ShowValues

if TYPE_CHECKING:
    from discreet.protection.noise import MagnitudeNoise

app = group("Build and query stores: sorted microdata for fast tables.")

Folder = Annotated[Path, typer.Argument(help="Store folder. CONFIDENTIAL.")]


@command(app, "build", example="discreet store build programme.toml --out census.store")
def build(
    programme: Annotated[Path, typer.Argument(help="Programme of the tables.")],
    out: Annotated[Path, typer.Option(help="Folder of the store, mode 0700. CONFIDENTIAL.")],
    sort: Annotated[
        str | None, typer.Option(help="Variable of areas (default: the longest hierarchy).")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Source of the microdata (default: the main source).")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE: microdata of a source.")
    ] = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Build a store, or a new version of it, with all that the tables of a programme need."""
    from discreet.release import build_store

    given = pairs(data, "NAME=FILE")
    build_store(programme, out, source=source, sort=sort, data=given, show_values=show_values)
    show(f"The store is in {out}.", {"out": str(out)}, as_json=as_json)


@command(app, "info", example="discreet store info census.store")
def info(
    folder: Folder,
    check: Annotated[
        bool, typer.Option("--check", help="Compare every file with its fingerprint.")
    ] = False,
    as_json: Json = False,
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


@command(
    app,
    "query",
    example="discreet store query census.store --by state,sex --ptable ptable.csv --out t.csv",
)
def query(
    folder: Folder,
    by: By,
    ptable: Annotated[Path, typer.Option(help="Perturbation table.")],
    out: Annotated[Path, typer.Option(help="File to write: csv, xlsx, html, parquet, json.")],
    where: Annotated[str | None, typer.Option(help="Filter of records.")] = None,
    value: Annotated[
        str | None, typer.Option(help="Value column for sums or means, instead of counts.")
    ] = None,
    figure: Annotated[
        Literal["sum", "mean"], typer.Option(help="With --value: sums or means.")
    ] = "sum",
    value_ptable: Annotated[
        Path | None, typer.Option(help="With --value: perturbation table of the values. SECRET.")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="With --value: noise as a share of the largest contribution."),
    ] = None,
    classification: Trees = None,
    language: Annotated[str, typer.Option(help="en or de")] = "en",
    as_json: Json = False,
) -> None:
    """Make one table and protect its counts, or its sums; only the protected table is written."""
    from discreet.protection.noise import PerturbationTable, perturb
    from discreet.store import Store

    noise, trees = PerturbationTable.read(ptable), trees_from(classification)
    spanning = [trees.get(name, name) for name in names(by)]
    how = {"where": where, "name": out.name.partition(".")[0]}
    values = _value_noise(value, value_ptable, share)
    store = Store.open(folder)
    if values is None or value is None:
        safe = perturb(store.tabulate(spanning, **how), noise)
    else:
        from discreet.protection.noise import perturb_magnitudes

        table = store.tabulate(spanning, values=[value], contributions=1, **how)
        safe = perturb_magnitudes(table, values, value, ptable=noise, figure=figure)
    written = safe.write(out, language=language)
    show(f"The protected table is in {written}.", {"out": str(written)}, as_json=as_json)


def _value_noise(
    value: str | None, ptable: Path | None, share: float | None
) -> MagnitudeNoise | None:
    """The noise of a value column; None without one."""
    if value is None:
        if ptable is not None or share is not None:
            raise typer.BadParameter("--value-ptable and --share need --value COLUMN")
        return None
    if ptable is None or share is None:
        raise typer.BadParameter("--value needs --value-ptable FILE and --share, such as 0.1")
    from discreet.protection.noise import (
        MagnitudeNoise,
        MagnitudePerturbationTable,
        SimpleStrength,
    )

    table = MagnitudePerturbationTable.read(ptable)
    return MagnitudeNoise(table, strength=SimpleStrength(share=share))
