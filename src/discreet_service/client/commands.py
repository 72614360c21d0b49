"""The commands ``discreet ask …``: files of cells (CONFIDENTIAL) and queries in, protected figures
out. The key comes from a private file or the environment, never from a command.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from discreet.cli import Json, command, group, show
from discreet.errors import DiscreetError, PublicationError
from discreet.files import atomic_path, read_private
from discreet.operations import OPERATIONS
from discreet.publication import format_of
from discreet_service.client.clients import AsyncClient, Client, ServiceJob

app = group("Query a protection service: cells, queries, jobs.")

AnyClient = TypeVar("AnyClient", Client, AsyncClient)
URL, KEY = "DISCREET_SERVICE_URL", "DISCREET_SERVICE_KEY"
Url = Annotated[str | None, typer.Option("--url", help=f"Address of the service (default: {URL}).")]
KeyFile = Annotated[Path | None, typer.Option("--key-file", help=f"API key file (default: {KEY}).")]
Cells = Annotated[Path, typer.Argument(help="File of cells, CSV or Parquet. CONFIDENTIAL.")]
Parameters = Annotated[str, typer.Option("--parameter-set", help="Statistic.")]
Version = Annotated[
    str | None, typer.Option(help="Version of the parameter set (default: the version in use).")
]
Out = Annotated[Path, typer.Option(help="File to write; the suffix selects the format.")]
Language = Annotated[Literal["en", "de"], typer.Option(help="Language of labels and notes.")]


def _client(
    kind: type[AnyClient], url: str | None, key_file: Path | None, language: str = "en"
) -> AnyClient:
    address = url or os.environ.get(URL, "")
    key = os.environ.get(KEY) or None
    if key_file is not None:
        key = read_private(key_file, "key of the service").decode().strip()
    return kind(address, key, language=language)


def _read(path: Path) -> Any:
    """Cells or records; of CSV as texts."""
    import polars as pl

    if not path.exists():
        message = "file not found"
        raise DiscreetError(message, code="cells-file", where=str(path))
    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path)
        return pl.read_csv(path, infer_schema=False)
    except pl.exceptions.PolarsError:
        message = "the file cannot be read as CSV or Parquet"
        raise DiscreetError(message, code="cells-file", where=str(path)) from None


def _whole(cells: Any, codes: Sequence[str] = ()) -> Any:
    """Cells with whole numbers as such: R and spreadsheets have but floats."""
    import polars as pl
    import polars.selectors as cs

    floats = cells.select(cs.float() - cs.by_name(*codes, require_all=False))
    whole = (column.cast(pl.Int64, strict=False) for column in floats)
    return cells.with_columns(
        own for own in whole if own.cast(pl.Float64).equals(floats[own.name].cast(pl.Float64))
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError):
        message = "the file cannot be read as JSON or TOML"
        raise DiscreetError(message, code="document", where=str(path)) from None
    if not isinstance(document, dict):
        raise DiscreetError("expected names and values", code="document", where=str(path))
    return document


def _write(content: bytes, out: Path) -> None:
    with atomic_path(out) as temporary:
        temporary.write_bytes(content)


@command(app, "counts", example="discreet ask counts cells.csv --parameter-set census --out x.csv")
def ask_counts(
    cells: Cells,
    parameter_set: Parameters,
    out: Out,
    version: Version = None,
    n: Annotated[str, typer.Option(help="Column of counts.")] = "n",
    key: Annotated[str, typer.Option(help="Column of cell keys.")] = "key",
    weight: Annotated[str | None, typer.Option(help="Column of sums of weights.")] = None,
    official: Annotated[
        str | None, typer.Option(help="Column of true and false that marks exempt cells.")
    ] = None,
    url: Url = None,
    key_file: KeyFile = None,
    as_json: Json = False,
) -> None:
    """Protect counts: value and status of each, in the order of the file."""
    frame = _whole(_read(cells))
    with _client(Client, url, key_file) as client:
        protect_counts = client.protect_counts(
            frame, parameter_set, version, n=n, key=key, weight=weight, official=official
        )
    with atomic_path(out) as temporary:
        if format_of(out) == "parquet":
            protect_counts.write_parquet(temporary)
        elif format_of(out) == "csv":
            protect_counts.write_csv(temporary, line_terminator="\r\n")
        else:
            message, hint = "lists of cells must be CSV or Parquet", "use the suffix .csv"
            raise PublicationError(message, code="format", where=str(out), hint=hint)
    facts = {"cells": protect_counts.height, "file": str(out)}
    show(f"{protect_counts.height:,} protected cells are in {out}", facts, as_json=as_json)


@command(app, "table", example="discreet ask table c.csv l.json --parameter-set census --out t.csv")
def ask_table(
    cells: Cells,
    layout: Annotated[
        Path, typer.Argument(help="Layout of the columns, JSON or TOML, as [cells].")
    ],
    parameter_set: Parameters,
    out: Out,
    version: Version = None,
    kind: Annotated[
        Literal["counts", "figures", "parts"], typer.Option(help="Kind of result.")
    ] = "counts",
    language: Language = "en",
    url: Url = None,
    key_file: KeyFile = None,
    as_json: Json = False,
) -> None:
    """Protect a table of cells with variables: counts, key figures, parts."""
    stated = _document(layout)
    by = [name for name in stated.get("by", []) if isinstance(name, str)]
    frame = _whole(_read(cells), by)
    trees = stated.pop("classifications", None)
    with _client(Client, url, key_file, language) as client:
        protect_table = client.protect_table(frame, stated, parameter_set, version, kind=kind,
                                             name=out.name.partition(".")[0], classifications=trees,
                                             format=format_of(out), language=language)  # fmt: skip
    assert isinstance(protect_table, bytes)
    _write(protect_table, out)
    show(f"the protected table is in {out}", {"file": str(out)}, as_json=as_json)


@command(app, "run", example="discreet ask run rounding cells.csv request.json --out table.csv")
def ask_run(
    method: Annotated[str, typer.Argument(help=f"One of: {', '.join(OPERATIONS)}.")],
    cells: Cells,
    request: Annotated[Path, typer.Argument(help="Request, JSON or TOML, with by and settings.")],
    out: Out,
    url: Url = None,
    key_file: KeyFile = None,
    as_json: Json = False,
) -> None:
    """Apply a method to the cells of a table or to records; waits for the job if there is one."""
    asked = {"name": out.name.partition(".")[0], **_document(request)}
    by = [name for name in asked.get("by", []) if isinstance(name, str)]
    row, rows = OPERATIONS.get(method), _read(cells)
    rows = rows if row and row.on_records else _whole(rows, by)
    form = None if row and row.answer in ("package", "report") else format_of(out)
    with _client(Client, url, key_file) as client:
        process = client.run(method, rows, asked, format=form)
    assert isinstance(process, bytes)
    _write(process, out)
    show(f"the result is in {out}", {"file": str(out)}, as_json=as_json)


@command(app, "query", example="discreet ask query census query.json --out table.csv")
def ask_query(
    dataset: Annotated[str, typer.Argument(help="Data set.")],
    query: Annotated[Path, typer.Argument(help="Query, JSON or TOML.")],
    out: Out,
    language: Language = "en",
    url: Url = None,
    key_file: KeyFile = None,
    as_json: Json = False,
) -> None:
    """Query a table of a data set; waits for the job if the table is large."""
    asked = {"language": language, **_document(query)}
    with _client(Client, url, key_file, language) as client:
        found = client.query(dataset, asked, format=format_of(out))
    assert isinstance(found, bytes)
    _write(found, out)
    show(f"the table is in {out}", {"file": str(out)}, as_json=as_json)


@command(app, "check", example="discreet ask check census query.json")
def ask_check(
    dataset: Annotated[str, typer.Argument(help="Data set.")],
    query: Annotated[Path, typer.Argument(help="Query, JSON or TOML.")],
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """Show the size of a query and whether policies allow it, as JSON."""
    with _client(Client, url, key_file) as client:
        show("", client.check(dataset, _document(query)), as_json=True)


@command(app, "datasets", example="discreet ask datasets")
def ask_datasets(
    dataset: Annotated[str | None, typer.Argument(help="Data set (default: list all).")] = None,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """List the data sets, or describe one, as JSON."""
    with _client(Client, url, key_file) as client:
        document = client.dataset(dataset) if dataset else {"datasets": client.datasets()}
    show("", document, as_json=True)


@command(app, "job", example="discreet ask job 0f3e… --wait --out table.csv")
def ask_job(
    number: Annotated[str, typer.Argument(help="Number of the job.")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end of the job.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel the job.")] = False,
    out: Annotated[Path | None, typer.Option(help="File for the result.")] = None,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """Show the state of a job, as JSON; fetch its result or cancel it."""
    with _client(Client, url, key_file) as client:
        job: ServiceJob = client.cancel(number) if cancel else client.job(number)
        if wait and not cancel:
            job = client.wait(number)
        if out is not None:
            _write(client.result(number), out)
    show("", {**job.facts, "id": job.id, "state": job.state}, as_json=True)


@command(app, "assistant", example="discreet ask assistant --key-file reader.key")
def ask_assistant(url: Url = None, key_file: KeyFile = None, language: Language = "en") -> None:
    """Let a language assistant read tables, as a server of the Model Context Protocol (MCP).

    It talks over standard input and output; the assistant's program starts it.
    """
    try:
        from discreet_service.client.assistants import AssistantTools
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        hint = "pip install 'discreet[assistants]'"
        raise DiscreetError("package mcp not found", code="missing-package", hint=hint) from None
    AssistantTools(_client(AsyncClient, url, key_file, language), language).server().run()
