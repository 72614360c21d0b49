"""Slivers between geographies on the command line: ``discreet find-slivers``.

In: a file of records, or of counts, with columns of areas. Out: numbers of slivers on the
terminal; which they are, and records with merged areas, in CONFIDENTIAL files; which areas to
merge in a file without any number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli.program import FAILURE, SINGLE, command, names, show
from discreet.cli.records import opened

if TYPE_CHECKING:
    from discreet.assessment import SliverReport


@command(SINGLE, "find-slivers")
def find(
    file: Path,
    areas: list[str],
    least: int,
    count: str | None = None,
    effort: int = 1000,
    merge: str | None = None,
    groups: Path | None = None,
    merged: Path | None = None,
    out: Path | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Find small differences between unions of areas (geographic differencing).

    The exit code is 1 if there are slivers, or unions that were not searched.
    """
    from discreet.assessment import find_all_slivers, merge_all_slivers
    from discreet.microdata import read_microdata
    from discreet.release import check_target, write_confidential

    if merge is None and (groups is not None or merged is not None):
        raise typer.BadParameter("--groups and --merged need --merge COLUMN")
    if out is not None and out.suffix.lower() not in (".txt", ".json"):
        raise typer.BadParameter("--out: use the suffix .txt or .json")
    if groups is not None and groups.suffix.lower() != ".csv":
        raise typer.BadParameter("--groups: use the suffix .csv")
    if merged is not None:
        check_target(merged)
    columns = names(areas)
    records = read_microdata(opened(file, read, show_values, text=columns))
    if merge is None:
        reports = find_all_slivers(records, columns, least=least, count=count, effort=effort)
    else:
        made, reports = merge_all_slivers(
            records, columns, merge=merge, least=least, count=count, effort=effort
        )
        if merged is not None:
            write_confidential(made.apply(records, f"{merge}_merged"), merged)
        if groups is not None:
            _write_groups(made.codes, groups)
    if out is not None:
        _write_report(reports, out)
    text, described = _told(reports)
    show(text, described, as_json=as_json)
    if any(report.slivers or not report.complete for report in reports):
        raise typer.Exit(FAILURE)


def _write_groups(codes: dict[str, str], path: Path) -> None:
    import polars as pl

    from discreet.files import write_text

    table = pl.DataFrame({"area": list(codes), "merged": list(codes.values())})
    write_text(path, table.write_csv())


def _write_report(reports: tuple[SliverReport, ...], path: Path) -> None:
    from discreet.files import write_text

    if path.suffix.lower() == ".json":
        listed = [report.described() for report in reports]
        text = json.dumps(listed, ensure_ascii=False, indent=2)
    else:
        text = "\n\n".join(report.text() for report in reports)
    write_text(path, text + "\n", private=True)


def _told(reports: tuple[SliverReport, ...]) -> tuple[str, dict[str, object]]:
    """How many there are between each two geographies; never where, nor how many records."""
    lines, pairs = [], []
    for report in reports:
        searched = (
            "all unions were examined"
            if report.complete
            else f"not all unions of more than {report.searched} areas were examined"
        )
        found = f"{len(report.slivers):,} slivers" if report.slivers else "no small difference"
        lines.append(f"{report.first} and {report.second}: {found}; {searched}.")
        pair = {"geographies": [report.first, report.second], "slivers": len(report.slivers)}
        pairs.append({**pair, "searched": report.searched})
    return "\n".join(lines), {"pairs": pairs}
