"""Questions and answers, approval subject to a change, and what comes in its place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.queue import (
    Queue,
    State,
    Submission,
    answer,
    approve,
    approve_subject,
    ask,
    release,
    say,
    submit,
    verify,
    view,
)
from tests.helpers.command import fire
from tests.helpers.queue_parts import LOG, hand_in, new_queue, output_stage, version


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    opened = new_queue(tmp_path, approvals=2, clean_approvals=2)
    hand_in(opened, tmp_path)
    yield opened
    opened.close()


def _approve(queue: Queue, person: str, number: int = 1) -> None:
    approve(queue, number, person=person, reason="fine", version=version(queue, number))


def test_nobody_approves_what_waits_for_the_researcher(queue: Queue) -> None:
    _approve(queue, "Anna")
    found = ask(queue, 1, person="Ben", text="who are the 500?")
    assert found.question == "who are the 500?"
    assert list(found.approvals) == ["Anna"]  # a question takes no approval back
    with pytest.raises(OutputCheckError, match="has not answered yet: who are the 500"):
        _approve(queue, "Ben")
    seen = version(queue, 1)
    found = answer(queue, 1, researcher="weber", text="all employees")
    assert found.question == ""
    with pytest.raises(OutputCheckError, match="changed since"):
        approve(queue, 1, person="Ben", reason="fine", version=seen)
    _approve(queue, "Ben")
    release(queue, 1, person="Ben", reason="fine", version=version(queue, 1))
    told = [(one.kind, one.person, one.reason) for one in view(queue, 1).history]
    assert ("asked", "Ben", "who are the 500?") in told
    assert ("answered", "weber", "all employees") in told
    assert verify(queue) == []


def test_notes_decide_nothing(queue: Queue) -> None:
    before = view(queue, 1).row.standing
    after = say(queue, 1, person="Anna", text="looks like table 3 of last year")
    assert (after.state, after.question, after.approvals) == (before.state, "", {})


@pytest.mark.parametrize(
    ("talk", "what"),
    [
        (lambda q: ask(q, 1, person="Weber", text="?"), "unknown reviewer"),
        (lambda q: answer(q, 1, researcher="Weber", text="!"), "no open question"),
        (
            lambda q: answer(q, 1, researcher="Anna", text="!"),
            "only the researcher of the submission can answer",
        ),
        (lambda q: ask(q, 9, person="Anna", text="?"), "submission not found"),
        (lambda q: ask(q, 1, person="Anna", text="  "), "a reason is required"),
        (lambda q: say(q, 1, person="Anna", text="a\u202eb"), "hide or mislead"),
    ],
)
def test_who_may_say_what(queue: Queue, talk: Callable[[Queue], object], what: str) -> None:
    with pytest.raises(OutputCheckError, match=what):
        talk(queue)
    assert len(view(queue, 1).history) == 1


def test_nobody_asks_themselves(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        hand_in(queue, tmp_path, researcher="Anna")
        for talk in (ask, say):
            with pytest.raises(OutputCheckError, match="you cannot decide on your own submission"):
                talk(queue, 1, person="Anna", text="?")


def test_approved_subject_to_a_change(queue: Queue, tmp_path: Path) -> None:
    found = approve_subject(
        queue, 1, person="Anna", reason="join the two smallest classes", version=version(queue, 1)
    )
    assert found.state is State.subject
    assert not found.state.open
    for act in (
        lambda: _approve(queue, "Ben"),
        lambda: ask(queue, 1, person="Anna", text="?"),
        lambda: release(queue, 1, person="Ben", reason="x", version=version(queue, 1)),
    ):
        with pytest.raises(OutputCheckError, match=r"closed|not-approved"):
            act()
    log = tmp_path / "handed.log"
    given = {"program": tmp_path / "a.do", "log": log, "researcher": "Weber", "replaces": 1}
    number = submit(queue, Submission(**given), stages=[output_stage])
    told = [one.what for one in view(queue, number).findings if one.rule == "replaces"]
    assert told == [
        "it replaces submission 1, subject: join the two smallest classes",
        "output 1 is output 1 of submission 1, letter by letter",
    ]
    # it needs all approvals again
    assert view(queue, number).row.standing.needed == 2
    assert view(queue, number).row.standing.state is State.waiting
    log.write_text(LOG.replace("500", "499"))
    approve_subject(queue, number, person="Anna", reason="again", version=version(queue, number))
    third = submit(queue, Submission(**{**given, "replaces": number}), stages=[output_stage])
    told = [one.what for one in view(queue, third).findings if one.rule == "replaces"]
    assert len(told) == 1  # nothing is as it was


def test_what_can_be_replaced(queue: Queue, tmp_path: Path) -> None:
    log = tmp_path / "handed.log"
    log.write_text(LOG.replace("500", "499"))
    given = {"program": tmp_path / "a.do", "log": log, "researcher": "Weber"}
    for number, researcher, what in (
        (1, "Weber", "what is waiting is not replaced"),
        (1, "Meier", "another researcher"),
        (7, "Weber", "submission not found"),
    ):
        handed = Submission(**{**given, "researcher": researcher, "replaces": number})
        with pytest.raises(OutputCheckError, match=what):
            submit(queue, handed, stages=[output_stage])
    assert list(tmp_path.glob("q/store/*")) == [queue.store(queue.told(1, "token"))]


def test_on_the_command_line(queue: Queue, tmp_path: Path) -> None:
    at = ["--queue", str(tmp_path / "q")]

    def run(*words: str) -> str:
        return fire("queue", *words, *at)

    asked = run("ask", "1", "--person", "Anna", "--text", "who?")
    assert "Waiting for the researcher: who?" in asked
    assert "waiting for the researcher: who?" in run("show", "1")
    assert "Waiting" not in run("answer", "1", "--researcher", "Weber", "--text", "all")
    run("say", "1", "--person", "Anna", "--text", "ok")
    seen = str(version(queue, 1))
    told = run("subject", "1", "--person", "Anna", "--reason", "join classes", "--version", seen)
    assert "is subject" in told
