"""Commands on table parts: ``discreet parts …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet.cli.program import Json, command, group, pairs, show
from discreet.cli.records import ShowValues

app = group("Table parts: thresholds that decide what is published.")


@command(
    app,
    "tune",
    example="discreet parts tune programme.toml --vary max_share_small=0.3,0.5,0.7 --target 0.98",
)
def tune(
    programme: Annotated[Path, typer.Argument(help="The programme. CONFIDENTIAL.")],
    vary: Annotated[
        list[str], typer.Option(help="THRESHOLD=VALUES: what to try, with commas between; several.")
    ],
    target: Annotated[
        float, typer.Option(min=0, max=1, help="The share of areas to be shown completely.")
    ] = 0.98,
    reading: Annotated[
        Literal["each-table", "all-tables"],
        typer.Option(help="Whether each table must meet the target, or all tables together."),
    ] = "each-table",
    level: Annotated[
        str | None, typer.Option(help="The level of the areas, by name or number; the finest.")
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="A table to look at, several times; all if none.")
    ] = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Try thresholds on the tables of a programme, and print what each does. CONFIDENTIAL."""
    from discreet.release import tune_programme

    tried = {name: _values(name, text) for name, text in pairs(vary, "THRESHOLD=VALUES").items()}
    found = tune_programme(
        programme,
        tried,
        target=target,
        reading=reading,
        level=level,
        tables=table or (),
        show_values=show_values,
    )
    show(found.text(), found.described(), as_json=as_json)


def _values(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"the values of {name} are numbers: 0.3,0.5,0.7") from None
