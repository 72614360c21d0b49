"""Commands on record keys: ``discreet keys …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from discreet.cli.program import command, group, names, secret_from, show
from discreet.cli.records import opened, stated

if TYPE_CHECKING:
    from discreet.microdata import Secret

app = group("Create and pass on record keys. All files are confidential.")


@command(app, "secret")
def make_secret(
    file: Path,
    as_json: bool = False,
) -> None:
    """Write a new random secret, readable by its owner only."""
    from discreet.microdata import Secret

    Secret.generate().write(file)
    show(f"A new secret is in {file}. Keep it safe.", {"secret": str(file)}, as_json=as_json)


@command(app, "add")
def add(
    file: Path,
    identifier: list[str],
    out: Path,
    secret_file: Path | None = None,
    secret_env: str | None = None,
    column: str = "record_key",
    grid: str = "10^15",
    read: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
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


@command(app, "period")
def period_keys(
    file: Path,
    identifier: list[str],
    period: str,
    option: Literal["same", "period", "changed"],
    out: Path,
    watch: list[str] | None = None,
    previous: Path | None = None,
    first: bool = False,
    secret_file: Path | None = None,
    secret_env: str | None = None,
    column: str = "record_key",
    grid: str = "10^15",
    read: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
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


@command(app, "inherit")
def inherit(
    file: Path,
    by: list[str],
    out: Path,
    record_key: str = "record_key",
    grid: str = "10^15",
    keep: list[str] | None = None,
    onto: Path | None = None,
    unit: str | None = None,
    inheritance: str | None = None,
    secret_file: Path | None = None,
    secret_env: str | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
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
