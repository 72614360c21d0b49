"""Commands on record keys: ``discreet keys …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli.program import Grid, Json, command, group, names, secret_from, show
from discreet.cli.records import Read, ShowValues, opened, stated

if TYPE_CHECKING:
    from discreet.microdata import Secret

app = group("Create and pass on record keys. All files are confidential.")

SecretFile = Annotated[Path | None, typer.Option(help="Secret file, mode 0600.")]
SecretVariable = Annotated[str | None, typer.Option(help="Environment variable with the secret.")]


@command(app, "secret", example="discreet keys secret secret.key")
def make_secret(
    file: Annotated[Path, typer.Argument(help="File to write; it must not exist.")],
    as_json: Json = False,
) -> None:
    """Write a new random secret, readable by its owner only."""
    from discreet.microdata import Secret

    Secret.generate().write(file)
    show(f"A new secret is in {file}. Keep it safe.", {"secret": str(file)}, as_json=as_json)


@command(
    app,
    "add",
    example="discreet keys add persons.parquet --id person_id --secret-file secret.key "
    "--out keyed.parquet",
)
def add(
    file: Annotated[Path, typer.Argument(help="Microdata file.")],
    identifier: Annotated[list[str], typer.Option("--id", help="Identifier column or columns.")],
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
    secret_file: SecretFile = None,
    secret_env: SecretVariable = None,
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "record_key",
    grid: Grid = "10^15",
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Add record keys to a file of records."""
    from discreet.microdata import add_keys_to_file

    written = add_keys_to_file(
        file,
        out,
        id=names(identifier),
        secret=_secret(secret_file, secret_env),
        column=column,
        grid=grid,
        show_values=show_values,
        **stated(read),
    )
    show(f"Records with keys are in {written}.", {"out": str(written)}, as_json=as_json)


def _secret(file: Path | None, variable: str | None) -> Secret:
    secret = secret_from(file, variable)
    if secret is None:
        raise typer.BadParameter("add --secret-file FILE or --secret-env NAME")
    return secret


@command(
    app,
    "period",
    example="discreet keys period persons-2026.parquet --id person_id --period 2026 "
    "--option changed --watch region,sex,age_group --previous keyed-2025.parquet "
    "--secret-file secret.key --out keyed-2026.parquet",
)
def period_keys(
    file: Annotated[Path, typer.Argument(help="Microdata file of the period.")],
    identifier: Annotated[
        list[str], typer.Option("--id", help="Identifier column or columns of the unit.")
    ],
    period: Annotated[str, typer.Option(help="Name of the period, such as 2026.")],
    option: Annotated[
        Literal["same", "period", "changed"],
        typer.Option(
            help=(
                "Validity of a unit's key: same (permanent), period (new in each period) or "
                "changed (new after a change)."
            )
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write: .parquet or .csv.")],
    watch: Annotated[
        list[str] | None, typer.Option(help="With --option changed: columns used in tables.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Keyed microdata of the previous period.")
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="With --option changed: this is the first period.")
    ] = False,
    secret_file: SecretFile = None,
    secret_env: SecretVariable = None,
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "record_key",
    grid: Grid = "10^15",
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Add the keys of a period of a yearly statistic to a file of records."""
    from discreet.microdata import read_microdata, with_period_keys
    from discreet.release import write_confidential

    keyed = with_period_keys(
        read_microdata(file, show_values=show_values, **stated(read)),
        id=names(identifier),
        secret=_secret(secret_file, secret_env),
        period=period,
        option=option,
        watched=names(watch),
        previous=None if previous is None else read_microdata(previous),
        first=first,
        column=column,
        grid=grid,
    )
    written = write_confidential(keyed, out)
    show(f"Records with keys of {period} are in {written}.", {"out": str(written)}, as_json=as_json)


@command(
    app,
    "inherit",
    example="discreet keys inherit persons.parquet --by household_id --unit household "
    "--out households.parquet",
)
def inherit(
    file: Annotated[Path, typer.Argument(help="File of the parts, with their keys.")],
    by: Annotated[list[str], typer.Option(help="Column or columns that identify the unit.")],
    out: Annotated[Path, typer.Option(help="File of units to write: .parquet or .csv.")],
    record_key: Annotated[str, typer.Option(help="Column of keys.")] = "record_key",
    grid: Grid = "10^15",
    keep: Annotated[list[str] | None, typer.Option(help="Further columns of the unit.")] = None,
    onto: Annotated[
        Path | None, typer.Option(help="Existing file of units that receives the keys.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Kind of unit for derived keys, such as household.")
    ] = None,
    inheritance: Annotated[
        str | None,
        typer.Option(
            help='"plain": units have the sum of the keys of their parts, and the same noise.'
        ),
    ] = None,
    secret_file: SecretFile = None,
    secret_env: SecretVariable = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Give units the keys that they inherit from their parts.

    With --unit, tables of units have noise of their own. Without it they have that of
    tables of their parts, and differences between both are the true ones.
    """
    from discreet.release import inherit_keys_in_file

    written = inherit_keys_in_file(
        opened(file, read, show_values),
        out,
        by=names(by),
        record_key=record_key,
        grid=grid,
        keep=names(keep),
        onto=onto,
        secret=secret_from(secret_file, secret_env),
        unit=unit,
        inheritance=inheritance,
    )
    text = f"Units with keys are in {written}."
    if unit is None and inheritance is None:
        text += (
            " Tables of units have the same noise as tables of their parts, so their "
            "differences are true values. --unit gives independent noise."
        )
    show(text, {"out": str(written)}, as_json=as_json)
