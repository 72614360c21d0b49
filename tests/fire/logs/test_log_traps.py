"""Traps: single cases in every kind of output, disguised. None may pass without a word.

Each trap is what a command prints, with figures that tell about fewer than three cases. A trap has
passed if such a figure is left and no finding asks a person to look there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet_fire.logs import clean_log
from tests.helpers.places import FIRE_DATA


@dataclass(frozen=True)
class LogTrap:
    """A log, and what in it tells about fewer than three cases."""

    log: str
    secrets: tuple[str, ...]


def _traps() -> dict[str, LogTrap]:
    text = (FIRE_DATA / "log_traps.txt").read_text(encoding="utf-8")
    found = re.findall(r"^### (.+)\n### (.+)\n((?:(?!### ).*\n)+)", text, re.MULTILINE)
    traps = {name: LogTrap(log, tuple(secrets.split(" | "))) for name, secrets, log in found}
    assert len(traps) == len(found) == text.count("\n###") // 2
    return traps


TRAPS = _traps()


def passed(trap: LogTrap) -> list[str]:
    """Secrets that are still there, if nobody is asked to look."""
    done = clean_log(trap.log)
    if done.needs_review:
        return []
    output = done.text.partition("\n")[2].replace("\n> ", "")
    return [one for one in trap.secrets if re.search(rf"(?<![\w.,]){re.escape(one)}(?!\w)", output)]


def test_no_trap_passes_and_a_cleaned_trap_stays_as_it_is() -> None:
    for name, trap in TRAPS.items():
        output = trap.log.partition("\n")[2].replace("\n> ", "")
        assert all(secret in output for secret in trap.secrets), name
        assert passed(trap) == [], name
        once = clean_log(trap.log).text
        assert clean_log(once).text == once, name


def test_there_are_many_traps_of_many_commands() -> None:
    assert len(TRAPS) >= 60
    assert len({trap.log.split()[1] for trap in TRAPS.values()}) >= 25
