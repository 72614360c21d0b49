"""Slivers between geographies on the command line: ``discreet find-slivers``.

In: a file of records, or of counts, with columns of areas. Out: numbers of slivers on the
terminal; which they are, and records with merged areas, in CONFIDENTIAL files; which areas to
merge in a file without any number.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli.program import (
    FAILURE,
    SINGLE,
    check_suffix,
    command,
    names,
    show,
    write_report,
)
from discreet.cli.records import opened

if TYPE_CHECKING:
    pass


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
    import polars as pl

    from discreet.assessment import find_all_slivers, merge_all_slivers
    from discreet.files import write_text
    from discreet.microdata import read_microdata
    from discreet.release import check_target, write_confidential

    if merge is None and (groups is not None or merged is not None):
        raise typer.BadParameter("--groups and --merged need --merge COLUMN")
    check_suffix("--out", out, ".txt", ".json")
    check_suffix("--groups", groups, ".csv")
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
            table = pl.DataFrame({"area": list(made.codes), "merged": list(made.codes.values())})
            write_text(groups, table.write_csv())
    if out is not None:
        text = "\n\n".join(report.text() for report in reports)
        write_report(out, text, [report.described() for report in reports])
    # How many there are between each two geographies; never where, nor how many records.
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
    show("\n".join(lines), {"pairs": pairs}, as_json=as_json)
    if any(report.slivers or not report.complete for report in reports):
        raise typer.Exit(FAILURE)
