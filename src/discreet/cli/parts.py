"""Commands on table parts: ``discreet parts …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet.cli.program import Json, command, group, pairs, show
from discreet.cli.records import ShowValues

app = group("Tune the thresholds that decide which subtables are published.")


@command(
    app,
    "tune",
    example="discreet parts tune programme.toml --vary max_share_small=0.3,0.5,0.7 --target 0.98",
)
def tune(
    programme: Annotated[Path, typer.Argument(help="Table programme. CONFIDENTIAL.")],
    vary: Annotated[
        list[str], typer.Option(help="THRESHOLD=VALUES to try, separated by commas; repeatable.")
    ],
    target: Annotated[
        float,
        typer.Option(min=0, max=1, help="Target share of areas that are published completely."),
    ] = 0.98,
    reading: Annotated[
        Literal["each-table", "all-tables"],
        typer.Option(help="Scope of the target: each table, or all tables together."),
    ] = "each-table",
    level: Annotated[
        str | None,
        typer.Option(help="Level of the areas, by name or number (default: the finest)."),
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Table to examine; repeatable (default: all tables).")
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
        raise typer.BadParameter(
            f"--vary {name}: write numbers separated by commas, such as 0.3,0.5,0.7"
        ) from None
