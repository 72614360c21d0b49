"""How often a person has to look at logs: ``pytest -s`` prints it, with what it was before."""

from __future__ import annotations

from discreet_fire.logs import clean_log
from tests.helpers.places import FIRE_DATA

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
