"""Programmes from structures of SDMX, drafted or sent; and changed key by key, table by table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import typer

from discreet.cli.program import command, group, names, pairs, progress_bar, show, warn
from discreet.cli.records import programme_keys

app = group("Change table programmes, or draft them from SDMX structures.")


@command(app, "from-structure")
def from_structure(
    structures: list[Path],
    records: Path,
    out: Path,
    column: list[str],
    constant: list[str] | None = None,
    squares: list[str] | None = None,
    figure: list[str] | None = None,
    root: list[str] | None = None,
    national: list[str] | None = None,
    adjustment: list[str] | None = None,
    weight: list[str] | None = None,
    period: str | None = None,
    period_keys: Literal["same", "period", "changed"] = "same",
    earlier: list[Path] | None = None,
    id_: str | None = None,
    record_key: str | None = None,
    secret: Path = Path("secret.key"),
    ptable: Path = Path("ptable.json"),
    title: str = "Hypercubes",
    read: list[str] | None = None,
    send: Path | None = None,
    confidential: bool = False,
    as_json: bool = False,
) -> None:
    """Draft a programme and the names of its transmission from SDMX structures."""
    from discreet.files import make_folder
    from discreet.publication import SdmxNames
    from discreet.release import StructureDraft, protect, transmit, write_structure_programme

    if bool(id_) == bool(record_key):
        raise typer.BadParameter("add --id COLUMN or --record-key COLUMN")
    if send is not None and not confidential:
        raise typer.BadParameter("files to send can hold true values; confirm with --confidential")
    if earlier and period is None:
        raise typer.BadParameter("add --period NAME for the releases of earlier periods")
    draft = StructureDraft.of(
        *structures,
        columns=pairs(column, "DIMENSION=COLUMN"),
        constant=pairs(constant, "DIMENSION=CODE"),
        squares=squares or [],
        roots=pairs(root, "DIMENSION=CODE"),
        national=national or [],
        adjustment=pairs(adjustment, "DIMENSION=CODE"),
        weights=pairs(weight, "STRUCTURE=COLUMN"),
        figures=_figures(figure or []),
    )
    keys = {"column": record_key} if record_key else {"id": id_, "secret_file": str(secret)}
    data = programme_keys(records, read)
    make_folder(out)
    about: dict[str, Any] = {"keys": keys, "ptable": str(ptable), "title": title}
    if period is not None:
        folders = {"earlier": [str(folder) for folder in earlier]} if earlier else {}
        about["period"] = {"name": period, "keys": period_keys, **folders}
    written = write_structure_programme(draft, out, data=data, **about)
    tables = draft.tables()
    lines = [f"{name}: {' × '.join(by)}" for name, by in tables.items()]
    lines += [f"The programme is in {written}, the names of the transmission in {out}/names.toml."]
    if send is None:
        lines += ["Check both, then run:", f"discreet protect {written} --check"]
    else:
        with progress_bar("Protecting") as report:
            summary = protect(written, out / "release", progress=report)
        warn(summary.warnings)
        names = SdmxNames.read(out / "names.toml")
        lines += [summary.text(), transmit(written, summary.out, send, names=names).text()]
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


def _figures(stated: list[str]) -> dict[str, dict[str, str]]:
    """Dimension → code → filter; none for a figure of all records."""
    figures: dict[str, dict[str, str]] = {}
    for text in stated:
        name, _, where = text.partition("=")
        dimension, dot, code = name.strip().partition(".")
        if not (dimension and dot and code):
            raise typer.BadParameter(f"write DIMENSION.CODE=FILTER instead of {text!r}")
        figures.setdefault(dimension, {})[code] = where.strip()
    return figures
