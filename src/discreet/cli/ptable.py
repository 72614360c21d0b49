"""Commands on perturbation tables: ``discreet ptable …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Json, command, group, show, warn

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
    from discreet.release import warnings_about

    table = PerturbationTable.read(file, format=file_format)
    warn(warnings_about(file))
    grid = "any" if table.key_grid is None else str(table.key_grid)
    show(
        f"{file} is valid: rows for the counts 0 to {table.n_max}, key grid: {grid}.",
        {"file": str(file), "valid": True, "n_max": table.n_max, "key_grid": grid},
        as_json=as_json,
    )


@command(app, "show", example="discreet ptable show ptable.csv")
def show_parameters(
    file: File,
    file_format: Format = None,
    language: Annotated[str, typer.Option(help="Language of the words: en or de.")] = "en",
    as_json: Json = False,
) -> None:
    """Say in words what a table does, draw it, and print its parameters. SECRET."""
    from discreet.assessment import describe, draw
    from discreet.perturbation import PerturbationTable
    from discreet.release import warnings_about

    table = PerturbationTable.read(file, format=file_format)
    rows, words = table.parameters(), describe(table, language)
    warn(warnings_about(file))
    if not as_json:
        from rich.console import Console

        Console().print(draw(table, language))
    head = f"{'count':>6} {'mean':>9} {'variance':>9} {'stay':>8} {'lowest':>7} {'highest':>8}"
    lines = [
        f"{row['count']:>6} {row['mean']:>9.4f} {row['variance']:>9.4f} {row['stay']:>8.4f} "
        f"{row['lowest']:>7} {row['highest']:>8}"
        for row in rows
    ]
    text = "\n".join([head, *lines, "", words])
    show(text, {"file": str(file), "rows": rows, "words": words}, as_json=as_json)


@command(app, "convert", example="discreet ptable convert ptable.csv ptable.json")
def convert(
    source: File,
    target: Annotated[Path, typer.Argument(help="The file to write, mode 0600.")],
    file_format: Format = None,
    to: Annotated[str | None, typer.Option(help="Format to write; by suffix if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Write a perturbation table in another format; every key keeps its noise."""
    from discreet.release import warnings_about
    from discreet.release.conversion import convert_perturbation_table

    warn(warnings_about(source))
    written, moved = convert_perturbation_table(
        source, target, source_format=file_format, target_format=to
    )
    text = f"The table is in {written}."
    if moved is not None:
        text += (
            f"\nIntervals of this format are closed on the {moved}: bounds have moved by 10^-15, "
            "and every key keeps its noise."
        )
    show(text, {"out": str(written), "closed_changed_to": moved}, as_json=as_json)
