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
    structure: Annotated[Path, typer.Argument(help="SDMX structure message: .xml or .json.")],
    records: Annotated[Path, typer.Option(help="Microdata file. CONFIDENTIAL.")],
    out: Annotated[Path, typer.Option(help="Folder for the programme and its hierarchies.")],
    column: Annotated[list[str], typer.Option(help="DIMENSION=COLUMN of the microdata.")],
    constant: Annotated[
        list[str] | None, typer.Option(help="DIMENSION=CODE shared by all values.")
    ] = None,
    squares: Annotated[
        list[str] | None, typer.Option(help="Dimension of grid cells of 1 km.")
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Identifier column.")] = None,
    record_key: Annotated[
        str | None, typer.Option(help="Column of existing record keys, instead of --id.")
    ] = None,
    secret: Annotated[Path, typer.Option(help="File of the secret.")] = Path("secret.key"),
    ptable: Annotated[Path, typer.Option(help="Perturbation table.")] = Path("ptable.json"),
    title: Annotated[str, typer.Option(help="Heading of the release.")] = "Hypercubes",
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Draft a programme and the names of its transmission from an SDMX structure."""
    from discreet.files import make_folder
    from discreet.release import StructureDraft, write_structure_programme

    if bool(id_) == bool(record_key):
        raise typer.BadParameter("add --id COLUMN or --record-key COLUMN")
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
    lines += [f"The programme is in {written}, the names of the transmission in {out}/names.toml."]
    lines += ["Check both, then run:", f"discreet protect {written} --check"]
    show("\n".join(lines), {"out": str(written), "tables": tables}, as_json=as_json)
