"""The commands of `discreet` that are not in a group, and the program itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet._version import __version__
from discreet.cli.program import (
    By,
    CommandGroup,
    Complete,
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
    secret_from,
    show,
    trees_from,
    warn,
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
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("demo-output"),
    persons: Annotated[int, typer.Option(min=1, help="Size of the synthetic census.")] = 20_000,
    products: Annotated[
        bool,
        typer.Option(
            "--products", help="Also a database, regional tables, grid, atlas, hypercube."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic census and a survey of firms, and protect tables of both."""
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
    from discreet.release import CellProgramme, protect_by_programme

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
    from discreet.protection.problems import warnings_about
    from discreet.release import protect_cells_to_file

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


@command(
    app,
    "perturb-invariant",
    example="discreet perturb-invariant cells.csv --by region,sex --count n --cell-key key "
    "--transition matrix.csv --out table.csv",
)
def perturb_invariant(
    cells: Annotated[Path, typer.Argument(help="A file with one row per cell (confidential).")],
    by: By,
    count: Annotated[str, typer.Option(help="Column with the number of records.")],
    cell_key: Annotated[str, typer.Option(help="Column with the cell keys.")],
    transition: Annotated[Path, typer.Option(help="The matrix for counts 1, 2, …: a CSV file.")],
    out: Annotated[Path, typer.Option(help="The file to write: csv, xlsx, html, parquet, json.")],
    alpha: Annotated[float, typer.Option(help="The matrix's share; the rest stays.")] = 1.0,
    forbid: Annotated[list[int] | None, typer.Option(help="A count never to be printed.")] = None,
    normalise: Annotated[bool, typer.Option("--normalise", help="Scale rounded rows.")] = False,
    key_grid: Grid = "10^15",
    key_digits: KeyDigits = "exact",
    found_codes: FoundCodes = "list",
    classification: Trees = None,
    language: Annotated[str, typer.Option(help="en or de")] = "en",
    complete: Complete = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Protect cells so that each count stands as often as before, in expectation."""
    from discreet.release import perturb_invariant_to_file

    written = perturb_invariant_to_file(
        opened(cells, read, show_values, names(by)),
        out,
        transition,
        by=names(by),
        count=count,
        cell_key=cell_key,
        key_grid=key_grid,
        key_digits=key_digits,
        classifications=trees_from(classification),
        language=language,
        complete=complete,
        alpha=alpha,
        forbidden=forbid or (),
        normalise=normalise,
        found_codes=found_codes,
    )
    show(f"The protected table is in {written}.", {"out": str(written)}, as_json=as_json)


@command(
    app,
    "unit-noise",
    example="discreet unit-noise firms.parquet --by branch,region --value sales --unit firm "
    "--secret secret.key --out table.csv",
)
def unit_noise(
    file: Annotated[Path, typer.Argument(help="The file of records. CONFIDENTIAL.")],
    by: By,
    value: Annotated[str, typer.Option(help="Column to sum.")],
    unit: Annotated[str, typer.Option(help="Column that says whose a record is.")],
    out: Annotated[Path, typer.Option(help="The file to write: csv, xlsx, html, parquet, json.")],
    secret: Annotated[Path | None, typer.Option(help="File of the secret to draw from.")] = None,
    secret_env: Annotated[str | None, typer.Option(help="The same as a variable.")] = None,
    least: Annotated[float, typer.Option(help="Factors are at least so far from 1.")] = 0.05,
    most: Annotated[float, typer.Option(help="And at most so far.")] = 0.15,
    shape: Annotated[
        Literal["falling", "even"], typer.Option(help="Mostly near the least, or not.")
    ] = "falling",
    balance: Annotated[
        list[str] | None, typer.Option(help="Columns of areas that keep their totals.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="Filter, such as: size >= 10")] = None,
    decimals: Decimals = 0,
    classification: Trees = None,
    internal: Annotated[
        Path | None,
        typer.Option(help="What contributors can work out, as JSON. CONFIDENTIAL."),
    ] = None,
    language: Annotated[str, typer.Option(help="en or de")] = "en",
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Protect sums by noise of the units that contribute: tables add up and agree."""
    from discreet.protection.noise import UnitNoise
    from discreet.release import unit_noise_to_file

    held = secret_from(secret, secret_env)
    if held is None:
        raise typer.BadParameter("name the --secret to draw from (see: discreet keys secret)")
    written = unit_noise_to_file(
        opened(file, read, show_values),
        out,
        by=names(by),
        value=value,
        noise=UnitNoise(
            unit=unit, least=least, most=most, shape=shape, balance=names(balance or [])
        ),
        secret=held,
        decimals=decimals,
        where=where,
        classifications=trees_from(classification),
        language=language,
        internal=internal,
    )
    show(f"The protected table is in {written}.", {"out": str(written)}, as_json=as_json)


@command(
    app,
    "make-additive",
    example="discreet make-additive table.csv --by region,sex --value value --out additive.csv",
)
def make_additive(
    cells: Annotated[Path, typer.Argument(help="A file with one row per protected cell.")],
    by: By,
    out: Annotated[Path, typer.Option(help="The file to write: csv, xlsx, html, parquet, json.")],
    value: Annotated[str, typer.Option(help="Column with the figures.")] = "value",
    official: Annotated[
        list[str] | None, typer.Option(help="Variables whose totals stay as they are.")
    ] = None,
    classification: Trees = None,
    language: Annotated[str, typer.Option(help="en or de")] = "en",
    complete: Complete = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Change protected counts until totals are sums of their parts; says what that costs."""
    from discreet.release import make_additive_to_file

    written, told = make_additive_to_file(
        opened(cells, read, show_values, names(by)),
        out,
        by=names(by),
        value=value,
        official=names(official or []),
        classifications=trees_from(classification),
        language=language,
        complete=complete,
    )
    text = (
        f"The additive table is in {written}: {told['changed']:,} of {told['cells']:,} figures "
        f"changed, by {told['mean']:.2f} on average and {told['largest']:.0f} at most. Each is "
        f"estimated from {told['exposure']:.1f} independent figures on average."
    )
    show(text, {"out": str(written), **told}, as_json=as_json)
