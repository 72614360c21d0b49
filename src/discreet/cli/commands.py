"""The commands of `discreet` that are not in a group, and the program itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet._version import __version__
from discreet.cli import keys, params, programmes, ptable, records, suppression
from discreet.cli.program import (
    By,
    CommandGroup,
    Decimals,
    FoundCodes,
    Grid,
    Json,
    KeyDigits,
    Multiples,
    Totals,
    Trees,
    command,
    group,
    names,
    pairs,
    progress_bar,
    show,
    trees_from,
    warn,
)
from discreet.cli.records import Read, ShowValues, opened

app = group("Statistical disclosure control for official statistics.", kind=CommandGroup)
app.add_typer(keys.app, name="keys")
app.add_typer(params.app, name="params")
app.add_typer(ptable.app, name="ptable")
records.register(app)
suppression.register(app)


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
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("demo-output"),
    persons: Annotated[int, typer.Option(min=1, help="Size of the synthetic census.")] = 20_000,
    as_json: Json = False,
) -> None:
    """Make a synthetic census and a survey of firms, and protect tables of both."""
    from discreet.demo import run

    with progress_bar("Demo") as report:
        summary = run(out, persons=persons, progress=report)
    show(summary.text(), summary.described(), as_json=as_json)


programmes.register(app)


@command(
    app,
    "tabulate",
    example="discreet tabulate keyed.parquet --by region,sex --record-key record_key "
    "--out cells.parquet --confidential",
)
def tabulate(
    file: Annotated[Path, typer.Argument(help="The file of records.")],
    by: By,
    out: Annotated[Path, typer.Option(help="The file of cells to write: .parquet or .csv.")],
    confidential: Annotated[
        bool,
        typer.Option("--confidential", help="I know that the cells are true and confidential."),
    ] = False,
    record_key: Annotated[str | None, typer.Option(help="Column of the record keys.")] = None,
    key_grid: Grid = "10^15",
    key_digits: KeyDigits = "exact",
    where: Annotated[str | None, typer.Option(help="Filter, such as: age >= 18")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    classification: Trees = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Count records and write the TRUE cells, for use inside the house only."""
    if not confidential:
        raise typer.BadParameter("true counts and cell keys are confidential; add --confidential")
    from discreet.release.confidential_files import tabulate_file

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


Complete = Annotated[
    bool | None,
    typer.Option(
        "--complete/--sparse",
        help="List zeros too, on the levels given; up to 100,000 cells they are.",
    ),
]


PtableFormat = Annotated[str | None, typer.Option(help="Format of that table.")]
Zeros = Annotated[str, typer.Option(help='"keep", or "table" for noise on zeros.')]
SuppressBelow = Annotated[int | None, typer.Option(help="Suppress perturbed values below this.")]
Official = Annotated[str | None, typer.Option(help="Filter on codes: cells published as they are.")]
SomeNames = Annotated[
    list[str] | None, typer.Option(help="Spanning variables, with commas between or given again.")
]
PtableFile = Annotated[
    Path | None, typer.Option("--ptable", help="The perturbation table; with --count.")
]
CellsProgramme = Annotated[
    Path | None,
    typer.Option(help="Instead: sums, key figures and parts of the cells, as a TOML file says."),
]


def _check_choice(programme: Path | None, options: Sequence[object]) -> None:
    """A programme says everything; without one, the options do."""
    if programme is not None and any(options):
        raise typer.BadParameter("the programme says it: leave out all but --out")
    if programme is None and not all(options):
        raise typer.BadParameter("name --by, --count, --cell-key and --ptable, or a --programme")


def _by_programme(
    cells: Path,
    programme: Path,
    out: Path,
    language: str,
    complete: bool | None,
    read: list[str] | None,
    show_values: bool,
) -> Path:
    from discreet.publication import write
    from discreet.release.cell_programme import CellProgramme, protect_by_programme

    plan = CellProgramme.read(programme)
    frame = opened(cells, read, show_values, plan.cells.by or [])
    safe = protect_by_programme(frame, plan)
    return write(safe, out, language=language, complete=complete)


@command(
    app,
    "perturb",
    example="discreet perturb cells.csv --by region,sex --count n --cell-key key "
    "--ptable ptable.csv --out table.csv",
)
def perturb(
    cells: Annotated[Path, typer.Argument(help="A file with one row per cell (confidential).")],
    out: Annotated[Path, typer.Option(help="The file to write: csv, xlsx, html, parquet, json.")],
    by: SomeNames = None,
    count: Annotated[str, typer.Option(help="Column with the number of records.")] = "",
    cell_key: Annotated[str, typer.Option(help="Column with the cell keys.")] = "",
    ptable_file: PtableFile = None,
    programme: CellsProgramme = None,
    ptable_format: PtableFormat = None,
    key_grid: Grid = "10^15",
    key_digits: KeyDigits = "exact",
    weight: Annotated[str | None, typer.Option(help="Column with the sum of weights.")] = None,
    zeros: Zeros = "keep",
    suppress_below: SuppressBelow = None,
    official: Official = None,
    total: Totals = None,
    decimals: Decimals = 0,
    round_to: Multiples = 1,
    found_codes: FoundCodes = "list",
    classification: Trees = None,
    language: Annotated[str, typer.Option(help="en or de")] = "en",
    complete: Complete = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Protect cells that a database or another tool has counted."""
    from discreet.release import warnings_about
    from discreet.release.lookup import protect_cells_to_file

    _check_choice(programme, (by, count, cell_key, ptable_file))
    if programme is not None:
        written = _by_programme(cells, programme, out, language, complete, read, show_values)
        show(f"The protected table is in {written}.", {"out": str(written)}, as_json=as_json)
        return
    assert ptable_file is not None
    written = protect_cells_to_file(
        opened(cells, read, show_values, names(by)),
        out,
        ptable_file,
        ptable_format=ptable_format,
        language=language,
        complete=complete,
        by=names(by),
        count=count,
        cell_key=cell_key,
        key_grid=key_grid,
        key_digits=key_digits,
        weight=weight,
        classifications=trees_from(classification),
        zeros=zeros,
        suppress_below=suppress_below,
        official=official,
        totals=pairs(total, "NAME=CODE"),
        decimals=decimals,
        round_to=round_to,
        found_codes=found_codes,
    )
    warn(warnings_about(ptable_file))
    show(f"The protected table is in {written}.", {"out": str(written)}, as_json=as_json)
