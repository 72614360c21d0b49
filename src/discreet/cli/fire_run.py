"""``discreet fire run``: a do-file on microdata, without Stata."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.failures import FAILURE, WRONG_INPUT
from discreet.cli.options import Json, command, show

__all__ = ["add_run"]


def add_run(app: typer.Typer) -> None:
    """Add the command to its group."""
    command(app, "run", example="discreet fire run analysis.do --data panel.dta --entity pid")(run)


def run(
    file: Annotated[Path, typer.Argument(help="The do-file.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Microdata: .dta, .csv or .parquet; can be given again. CONFIDENTIAL."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the log; else beside it.")] = None,
    limits: Annotated[
        Path | None, typer.Option(help="The rules: a TOML file that only the server reads.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="Variable that says which person or firm it is about.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Where random numbers start.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds that it may take.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a log that this program did not make.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Leave with exit code 1 if anything needs review.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a do-file with safe commands: its log holds safe output only."""
    from discreet.output_checking.findings import Severity
    from discreet.output_checking.running.running import run_do, write_run
    from discreet.output_checking.safe.limits import SafeLimits

    rules = SafeLimits() if limits is None else SafeLimits.read(limits)
    result = run_do(file, data=data, limits=rules, entity=entity, seed=seed, seconds=time_limit)
    files = write_run(result, file.parent if out is None else out, overwrite=overwrite)
    shown = [one for one in result.findings if one.severity is not Severity.INFO]
    withheld = len(result.findings) - len(shown)
    text = [f"{file} -> {files['log'].name}, {files['checks'].name}"]
    text.append(f"  {len(result.outputs)} outputs, {withheld} rules broken and held back")
    text += [f"  line {one.line} {one.severity.value} [{one.rule}] {one.what}" for one in shown]
    plain = {name: str(path) for name, path in files.items()} | result.to_dict()
    show("\n".join(text), plain, as_json=as_json)
    if result.error is not None:
        raise typer.Exit(
            FAILURE if result.error.code in ("internal", "time-limit") else WRONG_INPUT
        )
    if strict and any(one.severity is Severity.REVIEW for one in result.findings):
        raise typer.Exit(FAILURE)
