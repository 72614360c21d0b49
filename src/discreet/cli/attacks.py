"""Commands on what releases give away and change: ``attack``, ``find-slivers``, …

In: releases, records, counts of areas. Out: rates and numbers on the terminal; which slivers there
are, and records with merged areas, in CONFIDENTIAL files; areas to merge without any number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.cli.program import (
    FAILURE,
    SINGLE,
    check_suffix,
    command,
    names,
    pairs,
    show,
    write_report,
)
from discreet.cli.records import opened
from discreet.cli.setting_options import with_settings
from discreet.operations import ATTACK

if TYPE_CHECKING:
    from discreet.assessment import AttackReport, PeriodReport


@command(SINGLE, ATTACK.command, example=ATTACK.example)
@with_settings(ATTACK)
def attack(
    release: Path,
    settings: Any,
    truth: Path | None = None,
    beside: list[Path] | None = None,
    fail_over: list[str] | None = None,
    out: Path | None = None,
    public: Path | None = None,
    language: Literal["en", "de"] = "en",
    as_json: bool = False,
) -> None:
    """Attack a release and measure what it discloses."""
    from discreet.files import write_text
    from discreet.release import attack as attacked
    from discreet.release import attack_page

    limits = {name: _limit(name, text) for name, text in pairs(fail_over, "fail-over").items()}
    check_suffix("--out", out, ".json", ".txt", ".html")
    check_suffix("--public", public, ".html")
    found = attacked(release, truth=truth, beside=beside or [], limits=limits, **settings.options())
    if out is not None:
        page = attack_page(found, release.name, language=language, internal=True)
        write_report(out, found.text(), found.described(), page)
    if public is not None:
        write_text(public, attack_page(found, release.name, language=language))
    _end_attack(found, found.exceeded(), as_json=as_json)


@command(SINGLE, "attack-periods")
def attack_together(
    periods: list[str],
    ptable: Path,
    keys: Literal["same", "period", "changed"] | None = None,
    fail_over: list[str] | None = None,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Attack the releases of several periods together."""
    from discreet.protection.noise import PerturbationTable
    from discreet.release import attack_periods

    limits = {name: _limit(name, text) for name, text in pairs(fail_over, "fail-over").items()}
    check_suffix("--out", out, ".json", ".txt")
    releases = {name: Path(place) for name, place in pairs(periods, "PERIOD=DIR").items()}
    found = attack_periods(releases, ptable=PerturbationTable.read(ptable), option=keys)
    if out is not None:
        write_report(out, found.text(), found.described())
    _end_attack(found, found.exceeded(limits), as_json=as_json)


@command(SINGLE, "check-revision")
def revision(
    programme: Path,
    first: Path,
    identifier: str,
    source: str | None = None,
    least: int = 3,
    show_values: bool = False,
    as_json: bool = False,
) -> None:
    """Find cells of a revision that differ by few units from the first publication."""
    from discreet.release import check_revision

    found = check_revision(
        programme, first, id=identifier, source=source, least=least, show_values=show_values
    )
    show(found.text(), found.described(), as_json=as_json)
    if found.few:
        raise typer.Exit(FAILURE)


@command(SINGLE, "list-changes")
def changes(
    first: Path,
    revised: Path,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """List the published cells that a revision changes, and count those that stay."""
    from discreet.files import write_text
    from discreet.release import release_changes

    check_suffix("--out", out, ".csv")
    found = release_changes(first, revised)
    if out is not None:
        write_text(out, found.listed().write_csv())
    show(found.text(), found.described(), as_json=as_json)


@command(SINGLE, "find-slivers")
def slivers(
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
    lines, found = [], []
    for report in reports:
        searched = (
            "all unions were examined"
            if report.complete
            else f"not all unions of more than {report.searched} areas were examined"
        )
        number = f"{len(report.slivers):,} slivers" if report.slivers else "no small difference"
        lines.append(f"{report.first} and {report.second}: {number}; {searched}.")
        pair = {"geographies": [report.first, report.second], "slivers": len(report.slivers)}
        found.append({**pair, "searched": report.searched})
    show("\n".join(lines), {"pairs": found}, as_json=as_json)
    if any(report.slivers or not report.complete for report in reports):
        raise typer.Exit(FAILURE)


def _end_attack(found: AttackReport | PeriodReport, over: Sequence[str], *, as_json: bool) -> None:
    """Say what was found; rates above their limits are a failure."""
    lines = [found.text(), *(f"FAILED: {line}" for line in over)]
    show("\n".join(lines), {**found.described(), "failed": over}, as_json=as_json)
    if over:
        raise typer.Exit(FAILURE)


def _limit(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--fail-over {name}: write a number") from None
