"""The commands of `discreet` that are not in a group, and the program itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet._version import __version__
from discreet.cli.program import (
    SINGLE,
    CommandGroup,
    command,
    group,
    names,
    progress_bar,
    show,
    trees_from,
)
from discreet.cli.records import opened

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


@command(SINGLE, "demo")
def demo(
    out: Path = Path("demo-output"),
    persons: int = 20_000,
    products: bool = False,
    records: bool = False,
    as_json: bool = False,
) -> None:
    """Create a synthetic census and a business survey, and protect tables of both."""
    from discreet.demo import run, write_records

    if records and products:
        raise typer.BadParameter("--records writes no tables; remove --products")
    with progress_bar("Demo") as report:
        if records:
            written = write_records(out, persons, progress=report)
            lines = ["Invented records and code lists:", *(f"  {file}" for file in written)]
            show("\n".join(lines), {"files": [str(file) for file in written]}, as_json=as_json)
            return
        summary = run(out, persons=persons, products=products, progress=report)
    show(summary.text(), summary.described(), as_json=as_json)


@command(SINGLE, "tabulate")
def tabulate(
    file: Path,
    by: list[str],
    out: Path,
    confidential: bool = False,
    record_key: str | None = None,
    key_grid: str = "10^15",
    key_digits: Literal["exact", "round"] = "exact",
    where: str | None = None,
    weight: str | None = None,
    classification: list[str] | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
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
