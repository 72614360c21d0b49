"""Commands on what releases give away and change: ``attack``, ``check-revision``, …"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.cli.program import FAILURE, SINGLE, check_suffix, command, pairs, show, write_report
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
