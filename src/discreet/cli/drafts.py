"""The command that drafts a programme from structures of SDMX: ``discreet programme …``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from discreet.cli.program import command, group, pairs, show
from discreet.cli.records import programme_keys

app = group("Draft table programmes from SDMX structures.")


@command(app, "from-structure")
def from_structure(
    structure: Path,
    records: Path,
    out: Path,
    column: list[str],
    constant: list[str] | None = None,
    squares: list[str] | None = None,
    id_: str | None = None,
    record_key: str | None = None,
    secret: Path = Path("secret.key"),
    ptable: Path = Path("ptable.json"),
    title: str = "Hypercubes",
    read: list[str] | None = None,
    as_json: bool = False,
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
