"""Traps: single cases in every kind of output, disguised. None may pass without a word.

Each trap is what a command prints, with figures that tell about fewer than three cases. A trap has
passed if such a figure is left and no finding asks a person to look there.
"""

import re
from dataclasses import dataclass

from discreet_fire.logs import clean_log
from tests.helpers.places import FIRE_DATA
from tests.helpers.rows import for_all_rows


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


_LOOP = ". forvalues k = 1/3 {{\n  2. {}\n  3. {}\n  4. }}\n{}\n"
FIGURES = ("412", "31", "87")


@for_all_rows(
    ("log", "figures"),
    [
        (". foreach k of local kinds {\n  2. count if kind == `k'\n  3. }\n  412\n  31\n  87\n",
         FIGURES),
        (_LOOP.format("quietly count if kind == `k'", 'display "kind `k\': " r(N)',
                      "kind 1: 412\nkind 2: 31\nkind 3: 87"), FIGURES),
        (_LOOP.format("quietly count if kind == `k'", "display scalar(m)", "412\n31\n87"), FIGURES),
        (". count if female == 1\n  412\n\n. count if female == 1 & id != 17\n  411\n", ("411",)),
        (". count if (id != 17) & region == \"west\"\n  411\n\n"
         ". noisily count if region==\"west\"\n  412\n", ("412",)),
        (". display r(N)\n412\n\n. capture count if female == 1 & id != 17\n\n"
         ". display r(N)\n411\n", ("412", "411")),
        (". show 1\n  412\n\n. show 2\n  31\n", ("412", "31")),
    ],
)  # fmt: skip
def test_figures_are_withheld_or_looked_at(log: str, figures: tuple[str, ...]) -> None:
    done = clean_log(log)
    # A finding names where a block of output begins.
    looked_at = [line for one in done.findings for line in one.lines]
    left = done.text.splitlines()
    for figure in figures:
        shown = [at for at, line in enumerate(left, 1) if figure in line.split()]
        assert all(any(line <= at for line in looked_at) for at in shown), (figure, done.text)


LOGS = sorted((FIRE_DATA / "logs").iterdir())
#: Findings in these logs before causes were told once and single commands were known.
BEFORE = {"models.smcl": 2, "panel.log": 2, "statistics.log": 3, "usual.log": 21}


def test_few_places_of_a_log_need_a_person() -> None:
    lines, causes, places = 0, 0, 0
    for path in LOGS:
        text = path.read_text(encoding="utf-8")
        found = clean_log(text).findings
        lines += text.count("\n")
        causes += len(found)
        places += sum(len(one.lines) for one in found)
    before = sum(BEFORE[path.name] for path in LOGS)
    print(
        f"\n{lines} lines of logs; findings per 100 lines: {100 * before / lines:.2f} before, "
        f"{100 * causes / lines:.2f} now, with {100 * places / lines:.2f} places"
    )
    assert 100 * causes <= 0.3 * lines
    assert 100 * places <= 0.3 * lines
