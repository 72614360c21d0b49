"""The commands of `discreet` that are not in a group, and the program itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet._version import __version__
from discreet.cli.program import (
    By,
    CommandGroup,
    Grid,
    Json,
    KeyDigits,
    Trees,
    command,
    group,
    names,
    progress_bar,
    show,
    trees_from,
)
from discreet.cli.records import Read, ShowValues, opened

app = group("Statistical disclosure control for official statistics.", kind=CommandGroup)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: [bold]discreet demo[/bold]")
def program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Statistical disclosure control for official statistics."""


@command(app, "demo", example="discreet demo --out demo-output --persons 20000")
def demo(
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo-output"),
    persons: Annotated[
        int, typer.Option(min=1, help="Number of persons in the synthetic census.")
    ] = 20_000,
    products: Annotated[
        bool,
        typer.Option(
            "--products",
            help="Also write a database, regional tables, a grid, an atlas and a hypercube.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Create a synthetic census and a business survey, and protect tables of both."""
    from discreet.demo import run

    with progress_bar("Demo") as report:
        summary = run(out, persons=persons, products=products, progress=report)
    show(summary.text(), summary.described(), as_json=as_json)


@command(
    app,
    "tabulate",
    example="discreet tabulate keyed.parquet --by region,sex --record-key record_key "
    "--out cells.parquet --confidential",
)
def tabulate(
    file: Annotated[Path, typer.Argument(help="Microdata file.")],
    by: By,
    out: Annotated[Path, typer.Option(help="File of cells to write: .parquet or .csv.")],
    confidential: Annotated[
        bool,
        typer.Option(
            "--confidential", help="Confirms that the written cells are true and confidential."
        ),
    ] = False,
    record_key: Annotated[str | None, typer.Option(help="Column of record keys.")] = None,
    key_grid: Grid = "10^15",
    key_digits: KeyDigits = "exact",
    where: Annotated[str | None, typer.Option(help="Filter, such as: age >= 18")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    classification: Trees = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Tabulate microdata and write the TRUE cells, for internal use only."""
    if not confidential:
        raise typer.BadParameter(
            "the output holds true counts and cell keys; confirm with --confidential"
        )
    from discreet.release import tabulate_file

    written = tabulate_file(
        opened(file, read, show_values),
        out,
        by=names(by),
        record_key=record_key,
        key_grid=key_grid,
        key_digits=key_digits,
        where=where,
        weight=weight,
        classifications=trees_from(classification),
    )
    show(f"CONFIDENTIAL cells are in {written}.", {"out": str(written)}, as_json=as_json)
