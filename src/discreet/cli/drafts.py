"""Commands that write programmes: from structures of SDMX, and key by key, table by table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from discreet.cli.program import command, group, names, pairs, show
from discreet.cli.records import programme_keys

app = group("Change table programmes, or draft them from SDMX structures.")


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


@command(app, "set")
def set_(file: Path, keys: list[str], as_json: bool = False) -> None:
    """Set keys of a programme; remarks and all other lines stay."""
    from discreet.release import set_keys

    changed = pairs(keys, "SECTION.NAME.KEY=VALUE")
    set_keys(file, changed)
    text = f"{file}: {len(changed)} keys set."
    show(text, {"programme": str(file), "keys": list(changed)}, as_json=as_json)


@command(app, "add-tables")
def add_tables(
    file: Path,
    list_: Path | None = None,
    cross: list[str] | None = None,
    up_to: int = 1,
    by: list[str] | None = None,
    prefix: str = "",
    title: list[str] | None = None,
    key: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Add tables to a programme: those of a list, or all combinations of variables."""
    from discreet import release

    if (list_ is None) == (cross is None):
        raise typer.BadParameter("add --list tables.csv, or --cross age,sex,occupation")
    if list_ is not None:
        if by or prefix or title or key or up_to != 1:
            raise typer.BadParameter("--list says all of its tables; remove the other options")
        tables = release.listed_tables(list_)
    else:
        more: dict[str, Any] = {"by": names(by), "up_to": up_to, "prefix": prefix}
        more |= {"title": pairs(title, "en=TEXT"), "keys": pairs(key, "KEY=VALUE")}
        tables = release.crossed_tables(file, names(cross), **more)
    added = release.add_tables(file, tables)
    lines = [f"{file}: {len(added)} tables added.", *(f"  {name}" for name in added)]
    lines.append(f"Check the programme: discreet protect {file} --check")
    show("\n".join(lines), {"programme": str(file), "tables": list(added)}, as_json=as_json)
