"""Commands on table parts: ``discreet parts …``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from discreet.cli.program import command, group, pairs, show

app = group("Tune the thresholds that decide which subtables are published.")


@command(app, "tune")
def tune(
    programme: Path,
    vary: list[str],
    target: float = 0.98,
    reading: Literal["each-table", "all-tables"] = "each-table",
    level: str | None = None,
    table: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
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
