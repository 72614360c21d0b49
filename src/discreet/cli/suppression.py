"""Commands on cell suppression: ``discreet suppress`` and ``discreet audit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet.cli.options import Json, Trees, command, names, show, trees_from
from discreet.cli.progress import progress_bar

__all__ = ["register"]

Metadata = Annotated[
    Path | None, typer.Option(help="The .rda file that describes a file of cells.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    command(app, "suppress", example="discreet suppress table.jj --out safe.jj")(suppress)
    command(app, "audit", example="discreet audit safe.jj")(audit)


def suppress(
    table: Annotated[
        Path, typer.Argument(help="A problem (.jj), or cells with status (.tab). CONFIDENTIAL.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="The pattern (.jj, CONFIDENTIAL), or a table to publish: csv, xlsx, …"),
    ],
    method: Annotated[
        Literal["auto", "fast", "optimal", "modular", "hypercube"],
        typer.Option(help="How cells are found that must be hidden besides sensitive ones."),
    ] = "auto",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; then the best audited pattern is taken.")
    ] = None,
    metadata: Metadata = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Add up totals anew that are no sum of their parts.")
    ] = False,
    language: Annotated[str, typer.Option(help="Language of a published table: en or de.")] = "en",
    as_json: Json = False,
) -> None:
    """Hide cells until every sensitive one is proven to be protected."""
    from discreet.publication import write
    from discreet.suppression.filing import suppress_file

    with progress_bar("Suppressing") as report:
        done = suppress_file(
            table,
            out,
            metadata=metadata,
            method=method,
            time_limit=time_limit,
            repair=repair,
            progress=lambda line: report(0, 1, line),
            write=lambda safe, path: write(safe, path, language=language),
        )
    show(done.text, done.described, as_json=as_json)


def audit(
    table: Annotated[
        Path, typer.Argument(help="A pattern (.jj), cells with status (.tab), or published cells.")
    ],
    metadata: Metadata = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Spanning variables of published cells with blanks.")
    ] = None,
    value: Annotated[str, typer.Option(help="Column of the published values.")] = "value",
    decimals: Annotated[int, typer.Option(min=0, max=9, help="Digits that are published.")] = 0,
    rounding: Annotated[
        float,
        typer.Option(min=0, help="By how many units of the last digit values may be off."),
    ] = 0.0,
    classification: Trees = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Work out the interval of each hidden cell.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find out what an attacker can still learn from a table with hidden cells."""
    from discreet.suppression.filing import audit_file

    done = audit_file(
        table,
        metadata=metadata,
        by=names(by),
        value=value,
        classifications=trees_from(classification),
        decimals=decimals,
        rounding=rounding,
        intervals=intervals,
    )
    show(done.text, done.described, as_json=as_json)
