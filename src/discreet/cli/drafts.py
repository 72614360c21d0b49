"""The command that drafts a programme from structures of SDMX: ``discreet programme …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.program import Json, command, group, pairs, show
from discreet.cli.records import Read, programme_keys

app = group("Draft table programmes from SDMX structures.")


@command(
    app,
    "from-structure",
    example="discreet programme from-structure structure.xml --records persons.parquet "
    "--id person_id --column GEO=municipality --column SEX=sex --constant TIME_PERIOD=2021 "
    "--out hypercubes",
)
def from_structure(
    structure: Annotated[Path, typer.Argument(help="A structure message of SDMX: .xml or .json.")],
    records: Annotated[Path, typer.Option(help="The file of records. CONFIDENTIAL.")],
    out: Annotated[Path, typer.Option(help="A folder for the programme and its code trees.")],
    column: Annotated[list[str], typer.Option(help="DIMENSION=COLUMN of the records.")],
    constant: Annotated[
        list[str] | None, typer.Option(help="DIMENSION=CODE that all figures have.")
    ] = None,
    squares: Annotated[
        list[str] | None, typer.Option(help="A dimension whose codes are squares of 1 km.")
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Column that identifies a record.")
    ] = None,
    record_key: Annotated[
        str | None, typer.Option(help="Instead: the column of record keys made before.")
    ] = None,
    secret: Annotated[Path, typer.Option(help="File of the secret.")] = Path("secret.key"),
    ptable: Annotated[Path, typer.Option(help="The perturbation table.")] = Path("ptable.json"),
    title: Annotated[str, typer.Option(help="The heading of the release.")] = "Hypercubes",
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Draft a programme, and the names of a transmission, from structures of SDMX."""
    from discreet.files import make_folder
    from discreet.release import StructureDraft, write_structure_programme

    if bool(id_) == bool(record_key):
        raise typer.BadParameter("say how records get their keys: --id or --record-key")
    draft = StructureDraft.of(
        structure,
        columns=pairs(column, "DIMENSION=COLUMN"),
        constant=pairs(constant, "DIMENSION=CODE"),
        squares=squares or [],
    )
    keys = {"column": record_key} if record_key else {"id": id_, "secret_file": str(secret)}
    data = programme_keys(records, read)
    make_folder(out)
    about: dict[str, Any] = {"keys": keys, "ptable": str(ptable), "title": title}
    written = write_structure_programme(draft, out, data=data, **about)
    tables = draft.tables()
    lines = [f"{name}: {' × '.join(by)}" for name, by in tables.items()]
    lines += [f"A programme is in {written}, the names of a transmission in {out}/names.toml."]
    lines += ["Look at them, then:", f"discreet protect {written} --check"]
    show("\n".join(lines), {"out": str(written), "tables": tables}, as_json=as_json)
