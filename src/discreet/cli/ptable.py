"""Commands on perturbation tables: ``discreet ptable …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Json, command, group, show

__all__ = ["app"]

app = group("Perturbation tables: check, convert, show. They are secret.")

File = Annotated[Path, typer.Argument(help="The perturbation table.")]
Format = Annotated[
    str | None,
    typer.Option(help="intervals, argus, ons, cumulative or json; found out if not given."),
]


@command(app, "check", example="discreet ptable check ptable.csv")
def check(file: File, file_format: Format = None, as_json: Json = False) -> None:
    """Check that a perturbation table is valid; shows nothing of its content."""
    from discreet.perturbation import PerturbationTable

    table = PerturbationTable.read(file, format=file_format)
    grid = "any" if table.key_grid is None else str(table.key_grid)
    show(
        f"{file} is valid: rows for the counts 0 to {table.n_max}, key grid: {grid}.",
        {"file": str(file), "valid": True, "n_max": table.n_max, "key_grid": grid},
        as_json=as_json,
    )


@command(app, "show", example="discreet ptable show ptable.csv")
def show_parameters(file: File, file_format: Format = None, as_json: Json = False) -> None:
    """Print mean, variance and stay probability of each row. SECRET."""
    from discreet.perturbation import PerturbationTable

    rows = PerturbationTable.read(file, format=file_format).parameters()
    head = f"{'count':>6} {'mean':>9} {'variance':>9} {'stay':>8} {'lowest':>7} {'highest':>8}"
    lines = [
        f"{row['count']:>6} {row['mean']:>9.4f} {row['variance']:>9.4f} {row['stay']:>8.4f} "
        f"{row['lowest']:>7} {row['highest']:>8}"
        for row in rows
    ]
    show("\n".join([head, *lines]), {"file": str(file), "rows": rows}, as_json=as_json)


@command(app, "convert", example="discreet ptable convert ptable.csv ptable.json")
def convert(
    source: File,
    target: Annotated[Path, typer.Argument(help="The file to write, mode 0600.")],
    file_format: Format = None,
    to: Annotated[str | None, typer.Option(help="Format to write; by suffix if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Write a perturbation table in another format."""
    from discreet.perturbation import PerturbationTable

    written = PerturbationTable.read(source, format=file_format).write(target, format=to)
    show(f"The table is in {written}.", {"out": str(written)}, as_json=as_json)
