"""Programs that try to show or carry away single values: none passes as it is."""

import re
from collections import Counter
from pathlib import Path

import pytest

from discreet_fire.rewriting.changes import Rewriting
from discreet_fire.rewriting.do_files import rewrite

TRAPS = Path(__file__).parent.parent / "data" / "traps.do"
_HEAD = re.compile(r"^\* ---- (\w+) (\d+): (.*)\n", re.M)

#: What must become of a line, from the mildest on.
RANKS = {"safe": 1, "review": 2, "refused": 3, "error": 4}


def traps() -> list[tuple[str, int, str, str]]:
    """Verdict, line, name and program of each."""
    parts = _HEAD.split(TRAPS.read_text("utf-8"))[1:]
    return [
        (verdict, int(line), name, program)
        for verdict, line, name, program in zip(*(parts[at::4] for at in range(4)), strict=True)
    ]


def caught(done: Rewriting, line: int) -> int:
    """What became of a line of a program; 0 if it stays and nobody is told."""
    found = [RANKS.get(one.severity.value, 0) for one in done.findings if one.line == line]
    return max([*found, *(RANKS["safe"] for edit in done.edits if edit.line == line)], default=0)


def test_no_trap_passes() -> None:
    """What is refused stays so, or goes to review, be it where a condition stands before it."""
    found = traps()
    passed = [
        name for verdict, line, name, program in found
        if max(caught(done := rewrite(program), line), gravest(done) if verdict != "safe" else 0)
        < min(RANKS[verdict], RANKS["review"])
    ]  # fmt: skip
    assert passed == []
    assert len(found) >= 918


def test_names_and_programs_of_traps_come_once() -> None:
    found = traps()
    for each in (2, 3):
        assert [
            one for one, times in Counter(trap[each] for trap in found).items() if times > 1
        ] == []


LONG = pytest.mark.exhaustive


@pytest.mark.parametrize(
    "around",
    [
        "quietly {{\n{}\n}}",
        "capture noisily by id, sort: {}",
        "#delimit ;\nlocal a 1; {} ;",
        *(
            pytest.param(around, marks=LONG)
            for around in (
                "program p9\n{}\nend", "foreach v in a {{\n{}\n}}", "if 1 {}", "frame f: {}",
                "nosuch: {}", "bootstrap: {}", "/* a */ {} // b", "{} ///\n",
            )
        ),
    ],
)  # fmt: skip
def test_traps_of_one_line_are_caught_in_other_surroundings(around: str) -> None:
    """What is refused or reviewed is so in a block, behind prefixes, and up to a semicolon."""
    alone = [one for one in traps() if one[0] != "safe" and one[3].count("\n") == 1]
    assert len(alone) > 200
    passed = [
        name for _, _, name, program in alone
        if gravest(rewrite(around.format(program.strip()) + "\n")) < RANKS["review"]
    ]  # fmt: skip
    assert passed == []


def gravest(done: Rewriting) -> int:
    """The gravest that was found in a program."""
    return max((RANKS.get(one.severity.value, 0) for one in done.findings), default=0)
