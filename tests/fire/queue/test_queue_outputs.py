"""The review queue output by output: what is held back stays back, and nothing gives it away."""

import dataclasses
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire.queue import (
    OutputDecision,
    PartVerdict,
    Queue,
    State,
    approve,
    decide,
    release,
    verify,
    view,
)
from discreet_fire.queue.folder import events, standing
from discreet_fire.queue.parts import HELD, parts_of, without
from tests.helpers.command import run
from tests.helpers.queue_parts import LOG, hand_in, new_queue, people, run_in, version

ACCEPT = OutputDecision(verdict=PartVerdict.accept)
HOLD = OutputDecision(verdict=PartVerdict.hold, comment="one firm dominates")
EXCEPT = OutputDecision(verdict=PartVerdict.exception, comment="known from the yearbook")
#: Three outputs about different variables.
APART = "tabulate sex\nsummarize pay\ntabulate grp\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("data"))


def decided(queue: Queue, number: int, *verdicts: OutputDecision, person: str = "Anna"):
    chosen = dict(enumerate(verdicts, start=1))
    words = {"person": person, "reason": "looked at", "version": version(queue, number)}
    return decide(queue, number, chosen, **words)


def approved(queue: Queue, number: int, *persons: str):
    for person in persons:
        found = approve(queue, number, person=person, reason="ok", version=version(queue, number))
    return found


def released(queue: Queue, number: int) -> Path:
    return release(queue, number, person="Ben", reason="ok", version=version(queue, number))


def test_what_is_held_back_is_in_no_byte_of_the_release(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        number = run_in(queue, tmp_path, data, APART)
        parts = view(queue, number).row.standing.parts
        assert [one.title for one in parts] == [
            "fdztabulate sex",
            "fdzsummarize pay",
            "fdztabulate grp",
        ]
        home = view(queue, number).outputs[0].parent
        secret, kept = parts[1].text(home), parts[0].text(home)
        mean = f"{pl.read_csv(data)['pay'].mean():.7g}"[:6]
        assert mean in secret
        assert decided(queue, number, ACCEPT, HOLD, ACCEPT).state is State.waiting
        assert approved(queue, number, "Anna", "Ben").state is State.approved
        folder = released(queue, number)
        whole = b"".join(path.read_bytes() for path in folder.iterdir())
        assert mean.encode() not in whole
        assert b"one firm" not in whole
        log = (folder / "a.log").read_text()
        assert kept in log
        assert f". fdzsummarize pay\n{HELD}\n" in log
        assert verify(queue) == []
        told = view(queue, number).to_dict()["parts"]
        assert [one["verdict"] for one in told] == ["accept", "hold", "accept"]
        assert told[1]["comment"] == "one firm dominates"


def test_decisions_take_approvals_back(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        number = run_in(queue, tmp_path, data, APART)
        decided(queue, number, ACCEPT, ACCEPT, ACCEPT)
        approved(queue, number, "Anna")
        assert set(decided(queue, number, ACCEPT, HOLD).approvals) == set()
        with pytest.raises(OutputCheckError, match="0 of 2") as caught:
            released(queue, number)
        assert caught.value.code == "not-approved"
        approved(queue, number, "Ben")
        # an approval of other decisions, put into the record, does not count
        own = list(events(queue.connection, number))
        assert set(standing(own).approvals) == {"Ben"}
        facts = {**own[-1].facts, "decided": "0" * 64}
        own[-1] = dataclasses.replace(own[-1], payload=json.dumps(facts))
        assert set(standing(own).approvals) == set()


@pytest.mark.parametrize(
    ("chosen", "code"),
    [
        ({}, "decision"),
        ({4: ACCEPT}, "decision"),
        ({0: ACCEPT}, "decision"),
        ({1: OutputDecision(verdict=PartVerdict.hold, comment="  ")}, "reason"),
        ({1: OutputDecision(verdict=PartVerdict.exception)}, "reason"),
        ({1: OutputDecision(verdict=PartVerdict.hold, comment="\x1b[2J")}, "queue-settings"),
        ({1: HOLD, 2: HOLD, 3: HOLD}, "no-output"),
    ],
)
def test_wrong_decisions_leave_no_entry(
    tmp_path: Path, data: Path, chosen: dict, code: str
) -> None:
    with new_queue(tmp_path) as queue:
        number = run_in(queue, tmp_path, data, APART)
        now = version(queue, number)
        with pytest.raises(OutputCheckError) as caught:
            decide(queue, number, chosen, person="Anna", reason="ok", version=now)
        assert caught.value.code == code
        assert version(queue, number) == now


def test_nothing_is_released_before_all_outputs_are_decided_on(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path, approvals=1, clean_approvals=0) as queue:
        number = run_in(queue, tmp_path, data, APART)
        decided(queue, number, ACCEPT, ACCEPT)
        for act in (lambda: approved(queue, number, "Anna"), lambda: released(queue, number)):
            with pytest.raises(OutputCheckError, match="undecided outputs: 3") as caught:
                act()
            assert caught.value.code in ("undecided", "not-approved")
        decided(queue, number, ACCEPT, ACCEPT, ACCEPT)
        assert released(queue, number).is_dir()


def test_exceptions_need_all_approvals_even_where_nothing_was_found(
    tmp_path: Path, data: Path
) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=0) as queue:
        number = run_in(queue, tmp_path, data, "tabulate sex\n")
        assert view(queue, number).row.standing.state is State.approved
        assert decided(queue, number, EXCEPT).needed == 2
        # and it stays so when somebody decides otherwise
        assert decided(queue, number, ACCEPT).needed == 2


@pytest.mark.parametrize(
    ("program", "chosen", "told"),
    [
        # the same variable; also by way of another one, and in short
        ("tabulate sex\ntabulate grp sex\n", (HOLD, ACCEPT), "output 2 may use the same variables"),
        (
            "summarize pay\ngenerate l = ln(pay)\nsummarize l\n",
            (HOLD, ACCEPT),
            "output 2 may use the same variables",
        ),
        ("summarize pay\nsummarize ag pa\n", (HOLD, ACCEPT), "output 2 may use the same variables"),
        # nobody knows what it is about
        (
            "summarize pay\ntabulate sex\ncodebook\n",
            (HOLD, ACCEPT, ACCEPT),
            "output 3 may use the same variables",
        ),
        # its numbers of cases stand there
        (
            "tabulate sex\ntabstat pay, by(sex) statistics(mean n)\n",
            (HOLD, EXCEPT),
            "the withheld output 1 can be computed from output 2",
        ),
        # what is left of all without the others
        (
            "summarize pay if sex == 1\nsummarize pay\nsummarize pay if sex != 1\n",
            (HOLD, EXCEPT, EXCEPT),
            "computed from outputs 2 and 3",
        ),
        # all categories of a table make up a total
        ("count if pay > 0\ntabulate grp if pay > 0\n", (HOLD, EXCEPT), "from output 2"),
        # any number of groups does
        (
            "summarize pay\n" + "".join(f"summarize pay if grp == {at}\n" for at in (1, 2, 3, 4)),
            (HOLD, EXCEPT, EXCEPT, EXCEPT, EXCEPT),
            "computed from outputs 2 and 3 and 4 and 5",
        ),
        # the same figures, whoever they are about
        (
            "tabulate sex\ngenerate b = sex\ntabulate b\n",
            (HOLD, EXCEPT),
            "output 2 shows the values of the withheld output 1",
        ),
    ],
)
def test_what_gives_a_held_output_away_is_refused(
    tmp_path: Path, data: Path, program: str, chosen: tuple[OutputDecision, ...], told: str
) -> None:
    with new_queue(tmp_path) as queue:
        number = run_in(queue, tmp_path, data, program)
        now = version(queue, number)
        with pytest.raises(OutputCheckError, match=told) as caught:
            decided(queue, number, *chosen)
        assert caught.value.code == "linked"
        assert version(queue, number) == now
        decided(queue, number, *[ACCEPT] * len(chosen))  # all of them together are no secret


def test_linked_outputs_can_be_exceptions_if_they_do_not_tell(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = run_in(queue, tmp_path, data, "summarize pay\nregress age pay\n")
        with pytest.raises(OutputCheckError, match="same variables"):
            decided(queue, number, HOLD, ACCEPT)
        with pytest.raises(OutputCheckError, match="can be computed from"):
            decided(queue, number, HOLD, EXCEPT)  # of the same people and variables
        number = run_in(queue, tmp_path, data, "summarize pay if age < 40\nregress age pay\n")
        decided(queue, number, HOLD, EXCEPT)
        approved(queue, number, "Anna")
        log = (released(queue, number) / "a.log").read_text()
        assert HELD in log
        assert "R-squared" in log


def test_links_are_looked_for_again_at_release(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_queue(tmp_path) as queue:
        number = run_in(queue, tmp_path, data, "tabulate sex\ntabulate grp sex\n")
        with monkeypatch.context() as patch:
            patch.setattr("discreet_fire.queue.decisions.links_of", lambda *_: [])
            decided(queue, number, HOLD, ACCEPT)
            approved(queue, number, "Anna")
        with pytest.raises(OutputCheckError, match="same variables"):
            released(queue, number)
        assert not list((queue.folder / "released").iterdir())


def test_what_was_held_back_is_no_released_figure(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path, minimum=10) as queue:
        number = run_in(queue, tmp_path, data, "count if pid > 49\ntabulate grp\n")
        decided(queue, number, HOLD, ACCEPT)
        approved(queue, number, "Anna")
        released(queue, number)
        second = run_in(queue, tmp_path, data, "count if pid > 53\n")
        assert view(queue, second).conflicts == ()


def test_holding_one_back_ends_its_conflict(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path, minimum=10) as queue:
        first = run_in(queue, tmp_path, data, "count if pid > 49\n")
        approved(queue, first, "Anna")
        released(queue, first)
        second = run_in(queue, tmp_path, data, "count if pid > 53\ntabulate grp\n")
        assert view(queue, second).conflicts
        decided(queue, second, HOLD, ACCEPT)
        assert view(queue, second).conflicts == ()
        approved(queue, second, "Ben")
        assert released(queue, second).is_dir()


def test_submissions_of_before_are_decided_on_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet_fire.queue.submissions.parts_of", lambda *_: ())
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        with pytest.raises(OutputCheckError, match="output 1 not found"):
            decided(queue, number, HOLD)
        approved(queue, number, "Anna")
        assert (released(queue, number) / "a.log").read_text() == LOG


@pytest.mark.parametrize(
    ("log", "program", "titles"),
    [
        (". count\n  12\n\n. tab x\nx | 3\n", "count\ntab x\n", ["count", "tab x"]),
        # what looks like a command and is none of the program is output
        (". di a\n. tab x\n  99\n. count\n  12\n", "di a\ncount\n", ["di a", "count"]),
        # a loop is one output: nobody can tell which turn shows what
        (
            ". forvalues i = 1/2 {\n  2. count\n  3. }\n  1\n  2\n. tab x\n 3\n",
            "forvalues i = 1/2 {\ncount\n}\ntab x\n",
            ["forvalues i = 1/2 {", "tab x"],
        ),
        (
            "{smcl}\n{com}. count\n{res}  12{txt}\n{com}. tab x\n{res}3\n",
            "count\ntab x\n",
            ["count", "tab x"],
        ),
        (" 17 persons\n. count\n  12\n", "count\n", ["a.log", "count"]),
        ("\x00\x01\x02", "count\n", ["a.log"]),
    ],
)
def test_outputs_of_a_log(tmp_path: Path, log: str, program: str, titles: list[str]) -> None:
    path, code = tmp_path / "a.log", tmp_path / "a.do"
    path.write_text(log)
    code.write_text(program)
    parts = parts_of([path], [code])
    assert [one.title for one in parts] == titles
    # all that is shown is in one of them: what is left are commands
    if parts[0].end is not None:
        left = without(path, parts).decode()
        for figure in ("12", "99", "17", "  1\n", " 3"):
            assert figure not in left.replace("{", "").replace("1/2", "").replace(" 3. }", "")


CALLED_LOG = """\
. count
  12
. do "sub.do"
. summarize age
  40.5
. tabulate h
  31
end of do-file
. tab x
  44
"""


@pytest.mark.parametrize(
    ("program", "titles"),
    [
        ('count\ndo "sub.do"\ntab x\n', ["count", "sub.do: summarize age", "sub.do: tabulate h"]),
        ("count\ndo sub\ntab x\n", ["count", "sub.do: summarize age", "sub.do: tabulate h"]),
        # a macro may name any file, and a loop may call it again: one output for all of it
        ('count\ndo "`file\'.do"\ntab x\n', ["count"]),
        ("count\nwhile 1 {\ndo sub\n}\ntab x\n", ["count"]),
    ],
)
def test_outputs_of_called_files_are_outputs_of_their_own(
    tmp_path: Path, program: str, titles: list[str]
) -> None:
    log, main = tmp_path / "a.log", tmp_path / "a.do"
    call = program.splitlines()[1 if "while" not in program else 2]
    log.write_text(CALLED_LOG.replace('do "sub.do"', call))
    main.write_text(program)
    (tmp_path / "sub.do").write_text("summarize age\ntabulate h\n")
    parts = parts_of([log], [main])
    assert [one.title for one in parts if one.title in titles] == titles
    assert parts[-1].title == "tab x"
    texts = [one.text(tmp_path) for one in parts]
    assert sum("40.5" in text for text in texts) == sum("31" in text for text in texts) == 1
    # What a called file made of its variables is not known: its outputs count as linked to all.
    assert all(one.names is None and one.lines is None for one in parts if ": " in one.title)
    assert parts[-1].lines == (len(program.splitlines()), len(program.splitlines()) + 1)


def test_a_file_that_calls_itself_ends(tmp_path: Path) -> None:
    log, main = tmp_path / "a.log", tmp_path / "a.do"
    main.write_text("count\ndo a\n")
    log.write_text(". count\n  12\n. do a\n. count\n  14\n. do a\n")
    assert [one.title for one in parts_of([log], [main])] == ["count", "a.do: count"]


def test_output_by_output_on_the_command_line(tmp_path: Path, data: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = run_in(queue, tmp_path, data, APART)
        now = version(queue, number)
    place = ("--version", now, "--queue", tmp_path / "q", "--person", "Anna")
    decide_now = partial(run, "fire", "queue", "decide", number, *place)
    assert decide_now("--hold", "two=no").exit_code == 2
    assert decide_now("--hold", "2=no", "--accept", 2).exit_code == 2
    done = decide_now("--hold", "2=one firm", "--accept-rest")
    assert done.exit_code == 0, done.output
    shown = run("fire", "queue", "show", number, "--queue", tmp_path / "q").output
    assert "output 2: hold, fdzsummarize pay (Anna: one firm)" in shown
    assert "output 3: accept, fdztabulate grp" in shown
