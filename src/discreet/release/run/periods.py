"""The period that a release is of, held against the releases of earlier periods.

In: what a programme says of its period and its keys, and what releases remember of theirs. Out:
problems: another option of keys, a period that was published before, a release of which nothing
is known. Nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from discreet.errors import Problem, PublicationError
from discreet.microdata import since_column
from discreet.protection.problems import Opener
from discreet.release.programme.file import Programme
from discreet.release.programme.sources import PeriodEntry
from discreet.release.state.memory import ReleaseState, read_release

_KEYS_HINT = "create the keys with: discreet keys period"


def check_period_keys(programme: Programme, columns: Iterable[str]) -> Iterator[Problem]:
    """Whether the records have keys of the option that the programme states."""
    period, column = programme.document.period, programme.main.keys.column
    if period is None or column is None:
        return
    there = since_column(column) in set(columns)
    if there != (period.keys != "same"):
        which = "says" if there else "does not say"
        message = (
            f"the keys do not have the option {period.keys!r}: the column {which} of the "
            "first period is missing"
        )
        if there:
            message = f"the keys are not permanent: {since_column(column)} holds their first period"
        yield programme.problem(("period", "keys"), message, _KEYS_HINT)


def check_earlier_periods(opener: Opener[Programme]) -> None:
    """Hold the period against those of the earlier releases that the programme names."""
    programme, period = opener.programme, opener.programme.document.period
    if period is None:
        return
    names = set()
    for number, name in enumerate(period.earlier):
        path, folder = ("period", "earlier", number), programme.file(name)
        if not folder.is_dir():
            continue  # reported by the checks of the programme
        statements: list[Mapping[str, Any]] = []
        with opener.placed(*path):
            statements = [table.about for table in read_release(folder)]
        for about in {(item.get("period"), item.get("keys")): item for item in statements}.values():
            names.add(about.get("period"))
            for problem in _wrong(period, about):
                opener.problems.append(programme.problem(path, *problem))
    if period.revision and period.earlier and period.name not in names:
        message = f"no earlier release of {period.name!r} to revise"
        opener.problems.append(programme.problem(("period", "revision"), message))


def _wrong(period: PeriodEntry, about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    before, keys = about.get("period"), about.get("keys")
    if before is None:
        hint = "run its programme again with a section [period]"
        yield "the release lacks its period", hint
    elif keys != period.keys:
        message = f"the release of {before!r} has keys of the option {keys!r}, not {period.keys!r}"
        yield message, "use one option for all periods; see docs/methods/record-keys.md"
    elif before == period.name and not period.revision:
        hint = "name another period; for corrected values of the same period add revision = true"
        yield f"the period {before!r} is published already", hint


def check_same_period(programme: Programme, state: ReleaseState) -> None:
    """Refuse a folder that holds the release of another period, or with keys of another option."""
    period = programme.document.period
    for name in state.names():
        about = state.extras(name).get("about", {})
        before, keys = about.get("period"), about.get("keys")
        if before is None or (period and (before, keys) == (period.name, period.keys)):
            continue
        message = f"the folder contains the release of {before!r}, with keys of the option {keys!r}"
        hint = "use a separate folder for each period, and add this one to [period] earlier"
        raise PublicationError(message, code="period", where=str(state.out), hint=hint)
