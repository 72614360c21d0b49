"""The commands of the service, ``discreet serve`` and ``discreet service …``: no logic here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import Json, command, group, progress_bar, show
from discreet.errors import DiscreetError

serve_app = group("Serve protected tables over HTTP.")
app = group("Run the protection service: setup, keys, backup, checks. CONFIDENTIAL.")

_EXTRA = "pip install 'discreet[service]'"
File = Annotated[Path, typer.Argument(help="SERVICE.toml, the settings of the service.")]


@contextmanager
def _installed() -> Iterator[None]:
    """Say what is missing where the packages of the service are not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("discreet", "discreet_service"):
            raise
        message = f"package {error.name} not found"
        raise DiscreetError(message, code="missing-package", hint=_EXTRA) from None


@_installed()
def serve(
    settings: Annotated[
        Path | None,
        typer.Argument(help="SERVICE.toml, the settings of the service (not with --demo)."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Demonstration with synthetic data and printed keys.")
    ] = False,
    folder: Annotated[Path, typer.Option(help="Folder of the demonstration.")] = Path(
        "demo-service"
    ),
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="Port, instead of the port in the settings."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that answer, instead of the number in the settings."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the settings without serving.")
    ] = False,
) -> None:
    """Serve protected figures over HTTP; ends with Ctrl-C, after the requests at hand."""
    if (settings is None) != demo:
        raise typer.BadParameter("add a SERVICE.toml, or --demo")
    from discreet_service.processes import check_port, run_service
    from discreet_service.settings import ServiceSettings

    if demo:
        if not check:
            check_port(ServiceSettings.host, port or ServiceSettings.port)
        from discreet_service.demo import make_demonstration

        with progress_bar("Demonstration") as report:
            shown = make_demonstration(folder, port=port, progress=report)
        typer.echo(shown.text())
        settings = shown.settings
    assert settings is not None
    run_service(
        ServiceSettings.read(settings), settings, port=port, processes=processes, check=check
    )


command(serve_app, "serve", example="discreet serve --demo")(serve)


@command(app, "init", example="discreet service init office --person anna")
@_installed()
def init(
    folder: Annotated[Path, typer.Argument(help="New folder of the service.")],
    person: Annotated[str, typer.Option(help="First administrator.")],
    as_json: Json = False,
) -> None:
    """Make a new service: settings, secret, signing key, first administrator."""
    from discreet_service.installation import new_service

    installation = new_service(folder, person)
    show(installation.text(), installation.described(), as_json=as_json)


@command(app, "key", example="discreet service key SERVICE.toml --person tool --role service")
@_installed()
def key(
    settings: File,
    person: Annotated[str, typer.Option(help="Person or system that owns the key.")],
    role: Annotated[list[str], typer.Option(help="ROLE or ROLE@DATASET; repeatable.")],
    days: Annotated[int, typer.Option(min=1, help="Days until the key expires.")] = 365,
    as_json: Json = False,
) -> None:
    """Make a key for a caller; it is shown once."""
    from discreet_service.installation import new_key

    token, described = new_key(settings, person, role, days)
    text = f"{token}\nStore it: the key is shown only once; the service keeps its fingerprint."
    show(text, {"key": token, **described}, as_json=as_json)


@command(app, "verify", example="discreet service verify SERVICE.toml")
@_installed()
def verify(
    settings: File,
    head: Annotated[
        list[Path] | None,
        typer.Option(help="Signed checkpoint of the audit trail, exported earlier."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that the audit trail is whole: nothing changed, missing, added or cut off."""
    from discreet_service.installation import verified_trail

    text, described = verified_trail(settings, head or [])
    show(text, described, as_json=as_json)
    if not described["whole"]:
        raise typer.Exit(1)


@command(app, "backup", example="discreet service backup SERVICE.toml --out backup.tar")
@_installed()
def backup(
    settings: File,
    out: Annotated[Path, typer.Option(help="File to write.")],
    as_json: Json = False,
) -> None:
    """Save database, parameter packages and policies, while the service runs. CONFIDENTIAL."""
    from discreet_service.backup import save_backup

    described = save_backup(settings, out)
    text = f"{described['files']} files are in {out}, without secrets; store the secrets elsewhere."
    show(text, described, as_json=as_json)


@command(app, "restore", example="discreet service restore backup.tar --into office")
@_installed()
def restore(
    file: Annotated[Path, typer.Argument(help="Backup file.")],
    into: Annotated[Path, typer.Option(help="New or empty folder.")],
    as_json: Json = False,
) -> None:
    """Put a backup into a new folder, and check it; nothing is overwritten."""
    from discreet_service.backup import restore_backup

    described: dict[str, Any] = restore_backup(file, into)
    text = (
        f"{described['files']} files are in {into}. Add the secrets, then run: discreet "
        "service verify"
    )
    show(text, described, as_json=as_json)


@command(app, "worker", example="discreet service worker SERVICE.toml")
@_installed()
def worker(settings: File) -> None:
    """Work on jobs; `discreet serve` starts as many as its settings say."""
    from discreet_service.processes import run_worker
    from discreet_service.settings import ServiceSettings

    run_worker(ServiceSettings.read(settings))
