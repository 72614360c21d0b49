"""The whole chain: a do-file is rewritten, run, its log cleaned, queued, approved, released."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet.microdata.secret import Secret
from discreet_fire.queue import Queue, Submission, approve, submit, view
from discreet_fire.queue import release as release_now
from discreet_fire.queue import submissions as intake_module
from discreet_fire.runners.builtin.data import DataSet, dta_bytes
from discreet_fire.runners.registry import VARIABLE
from tests.helpers.command import fire, run
from tests.helpers.queue_parts import hand_in, new_queue, output_stage, version
from tests.helpers.run_panel import FORTY_STATEMENTS, panel


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "panel.dta"
    path.write_bytes(dta_bytes(DataSet.of(panel())))
    return path


def test_forty_statements_in_one_command_and_in_three(tmp_path: Path, data: Path) -> None:
    program = tmp_path / "panel.do"
    program.write_text(FORTY_STATEMENTS)
    queue = ("--queue", tmp_path / "q")
    assert run("fire", "queue", "init", tmp_path / "q", "--person", "Anna").exit_code == 0
    words = ("--data", data, "--entity", "pid", "--researcher", "Weber", "--json", *queue)
    done = run("fire", "submit", program, *words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    rules = {one["rule"] for one in found["findings"]}
    assert not rules & {"unsupported", "stopped", "no-output", "no-universe"}, found["findings"]
    assert found["risk"]["refused"] >= 3
    (output,) = map(Path, found["outputs"])
    log = output.read_text()
    assert f"{panel()['wage'].max():.0f}" not in log
    assert "tabulate year" in log
    assert program.read_text() == FORTY_STATEMENTS
    assert [path.name for path in tmp_path.glob("*_FiRe*")] == []  # nothing beside the original
    # the same in three commands gives the same log
    assert run("fire", "pre", program).exit_code == 0
    rewritten, key = tmp_path / "panel_FiRe.do", tmp_path / "office.key"
    Secret.generate().write(key)
    words = ("--data", data, "--entity", "pid", "--out", tmp_path / "o", "--key", key)
    done = run("fire", "run", rewritten, *words)
    assert done.exit_code == 0, done.output
    logs = tmp_path / "o" / "panel_FiRe.log"
    words = ("--out", tmp_path / "o" / "panel.log", "--key", key)
    assert run("fire", "post", logs, *words).exit_code == 0
    assert (tmp_path / "o" / "panel.log").read_bytes() == output.read_bytes()


def test_from_submission_to_release_on_the_command_line(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(". count\n  1,234\n")
    (tmp_path / "a.do").write_text("count\n")
    pl.DataFrame({"id": range(1000)}).write_csv(tmp_path / "people.csv")
    out = tmp_path / "out"
    out.mkdir()
    queue = ("--queue", tmp_path / "q")
    persons = ("--person", "Anna", "--person", "Ben", "--four-eyes", "--rate", "1")
    assert run("fire", "queue", "init", tmp_path / "q", *persons).exit_code == 0
    words = ("--log", log, "--universe", tmp_path / "people.csv", "--researcher", "Weber", *queue)
    assert run("fire", "queue", "submit", tmp_path / "a.do", *words).exit_code == 0
    again = run("fire", "submit", tmp_path / "a.do", *words, "--json")
    assert again.exit_code == 2
    assert json.loads(again.stdout)["error"]["code"] == "duplicate"
    shown = json.loads(run("fire", "queue", "list", *queue, "--json").stdout)["submissions"]
    assert [one["submission"] for one in shown] == [1]
    now = shown[0]["version"]
    reason = ("--reason", "seen", *queue, "--json")
    early = ("--person", "Anna", "--version", now, *reason)
    assert run("fire", "queue", "release", 1, *early).exit_code == 2
    assert run("fire", "queue", "approve", 1, *reason).exit_code == 2  # nobody is guessed
    for person in ("Anna", "Ben"):
        words = ("--person", person, "--version", now, *reason)
        done = run("fire", "queue", "approve", 1, *words)
        now = json.loads(done.stdout)["version"]
    words = ("--person", "Ben", "--version", now, "--out", out, *reason)
    folder = Path(json.loads(run("fire", "queue", "release", 1, *words).stdout)["released"])
    whole = b"".join(path.read_bytes() for path in folder.iterdir())
    for private in (b"Anna", b"Ben", b"Weber", b"seen", b"drawn", str(tmp_path).encode()):
        assert private not in whole
    done = run("fire", "queue", "verify", *queue)
    assert done.exit_code == 0
    assert "The log is complete and unchanged. Last entry" in done.output
    assert run("fire", "queue", "sample", "--all", *queue).exit_code == 0
    assert "approved by Ben: seen" in run("fire", "queue", "show", 1, *queue).output
    (folder / "a.log").write_text("changed")
    done = run("fire", "queue", "verify", *queue)
    assert done.exit_code == 1
    assert "released folder: files and checksums differ" in done.output


def test_rejecting_and_changing_on_the_command_line(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        first, second = hand_in(queue, tmp_path, "1"), hand_in(queue, tmp_path, "2")
        versions = [version(queue, number) for number in (first, second)]
    words = ("--person", "Ben", "--reason", "no", "--queue", tmp_path / "q")
    assert run("fire", "queue", "reject", first, "--version", versions[0], *words).exit_code == 0
    assert run("fire", "queue", "change", second, "--version", versions[1], *words).exit_code == 0
    assert "Nothing is waiting" in run("fire", "queue", "list", "--queue", tmp_path / "q").output
    words = ("--by", "Ben", "--reason", "new", "--queue", tmp_path / "q")
    assert "Cem" in run("fire", "queue", "person", "Cem", *words).output
    for name in ("init", "list", "show", "approve", "reject", "change", "release", "sample"):
        assert "Example" in run("fire", "queue", name, "--help").output


def submission(path: Path, folder: Path, **more: object) -> Submission:
    log = folder / "the.log"
    log.write_text(". count\n  12\n")
    return Submission(program=path, researcher="Weber", log=log, **more)


def test_files_that_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = tmp_path / "hand"
    hand.mkdir()
    (hand / "a.do").write_text("count\n")
    (tmp_path / "secret.do").write_text("count\n")
    with new_queue(tmp_path) as queue:

        def refused(path: Path, told: str, **more: object) -> None:
            with pytest.raises(OutputCheckError) as caught:
                submit(queue, submission(path, tmp_path, **more), stages=[output_stage])
            assert told in str(caught.value)
            assert not list((queue.folder / "store").iterdir())

        refused(tmp_path / "none.do", "does not exist")
        refused(tmp_path / "the.log", "not a do-file")
        (tmp_path / "link.do").symlink_to(tmp_path / "secret.do")
        refused(tmp_path / "link.do", "links are not allowed")
        (hand / "data").symlink_to(tmp_path)
        (hand / "x.do").symlink_to("/etc/passwd")
        refused(hand, "x.do: links are not allowed")
        (hand / "data").unlink()
        (hand / "x.do").unlink()
        os.mkfifo(hand / "pipe.do")
        refused(hand, "not an ordinary file")
        (hand / "pipe.do").unlink()
        (hand / "b\x1b[2J.do").write_text("count\n")
        refused(hand, "the name contains invisible or misleading characters")
        (hand / "b\x1b[2J.do").unlink()
        (hand / "b.do").write_text("count\n")
        refused(hand, "several do-files")
        refused(hand, "do-file not found in the folder", main="../secret.do")
        with monkeypatch.context() as patch:
            patch.setattr(intake_module, "LARGEST_FILE", 3)
            refused(hand / "a.do", "too large")
        with monkeypatch.context() as patch:
            patch.setattr(intake_module, "MOST_FILES", 1)
            refused(hand, "more than 1 files")
        (hand / "a.do").write_bytes(b"\x00\x01binary")
        with pytest.raises(OutputCheckError, match="zero bytes"):
            submit(queue, submission(hand / "a.do", tmp_path))
        assert not list((queue.folder / "store").iterdir())
    for words in ({}, {"data": (tmp_path / "the.log",), "log": tmp_path / "the.log"}):
        with pytest.raises(OutputCheckError):
            Submission(program=hand / "a.do", researcher="Weber", **words)
    with pytest.raises(OutputCheckError, match="file not found"):
        Submission(program=hand / "a.do", researcher="Weber", data=(tmp_path / "x.dta",))


def test_a_folder_with_a_program_that_runs_another(tmp_path: Path) -> None:
    hand = tmp_path / "hand"
    (hand / "sub").mkdir(parents=True)
    (hand / "main.do").write_text("do sub/part\n")
    (hand / "sub" / "part.do").write_text("list x\n")
    with new_queue(tmp_path) as queue:
        number = submit(queue, submission(hand, tmp_path, main="main.do"))
        found = view(queue, number)
    assert ("sub/part.do", "refused") in {(one.file, one.severity) for one in found.findings}


def test_a_program_that_cannot_be_rewritten_waits_without_output(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text("count\nmata\n")
    with new_queue(tmp_path) as queue:
        number = submit(queue, submission(tmp_path / "a.do", tmp_path))
        found = view(queue, number)
        assert found.outputs == ()
        assert "no-output" in {one.rule for one in found.findings}
        words = {"person": "Anna", "reason": "ok"}
        now = approve(queue, number, version=found.row.standing.version, **words)
        with pytest.raises(OutputCheckError, match="no outputs to release"):
            release_now(queue, number, version=now.version, **words)


def test_two_commands_release_what_shows_nothing_to_look_at(tmp_path: Path) -> None:
    rows = range(60)
    frame = pl.DataFrame({"pid": rows, "wage": [1000 + 7.5 * row for row in rows]})
    frame.write_csv(tmp_path / "a.csv")
    (tmp_path / "a.do").write_text("summarize wage\n")
    new_queue(tmp_path, clean_approvals=0).close()
    place = ("--queue", tmp_path / "q")
    handed = ("--researcher", "Weber", "--data", tmp_path / "a.csv", "--entity", "pid")
    entered = fire("queue", "submit", tmp_path / "a.do", *handed, *place)
    command = entered.splitlines()[-1].partition("discreet fire queue ")[2].split()
    who = ("--person", "Anna", "--reason", "nothing was found")
    assert command[0] == "release"
    assert "released in" in fire("queue", *command[: command.index("--person")], *who)


def test_the_minimum_of_a_queue_holds_for_logs_and_runs(tmp_path: Path) -> None:
    log, program = tmp_path / "handed.log", tmp_path / "a.do"
    program.write_text("replace x = 1\n")
    log.write_text(". replace x = 1\n(7 real changes made)\n")
    pl.DataFrame({"x": [1.5 * row for row in range(7)]}).write_csv(tmp_path / "a.csv")
    with new_queue(tmp_path, minimum=10) as queue:
        number = submit(queue, Submission(program=program, researcher="Weber", log=log))
        assert "(# real changes made)" in view(queue, number).outputs[0].read_text()
    (tmp_path / "b.do").write_text("summarize x\n")
    words = ("--researcher", "Weber", "--data", str(tmp_path / "a.csv"))
    place = ("--queue", str(tmp_path / "q"))
    fire("queue", "submit", tmp_path / "b.do", *words, *place)
    [shown] = (tmp_path / "q" / "store").glob("*/outputs/b.log")
    assert "withheld" in shown.read_text()


@pytest.mark.parametrize("single", [True, False])
def test_a_program_that_no_runner_takes_says_what_is_missing(tmp_path: Path, single: bool) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.py").write_text("print(1)\n")
    (tmp_path / "a.csv").write_text("x\n1\n")
    given = {"researcher": "Weber", "data": (tmp_path / "a.csv",)}
    given |= {} if single else {"main": "a.py"}
    program = tmp_path / "folder" / ("a.py" if single else "")
    missing = r"(?s)no runner for \.py programs.*\[python\].*" + VARIABLE
    with new_queue(tmp_path) as queue, pytest.raises(OutputCheckError, match=missing):
        submit(queue, Submission(program=program, **given))


def test_an_officers_day_with_called_files(tmp_path: Path, data: Path) -> None:
    for name, text in {
        "good/master.do": "do sub/tables\nsummarize wage\n",
        "good/sub/tables.do": "tabulate sex\ntabulate sex if wage > 0\n",
        "bad/main.do": "tabulate sex\ndo helper\n",
        "bad/helper.do": "generate lw = ln(wage)\nsummarize lwage\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def handed(queue: Queue, program: str, main: str | None = None):
        chosen = Submission(
            program=tmp_path / program, main=main, researcher="Weber", data=(data,), unit="pid"
        )
        return view(queue, submit(queue, chosen))

    with new_queue(tmp_path, clean_approvals=0) as queue:
        good = handed(queue, "good", "master.do")
        assert good.row.standing.state.value == "approved", good.findings
        parts = good.row.standing.parts
        titles = [
            "sub/tables_FiRe.do: fdztabulate sex",
            "sub/tables_FiRe.do: fdztabulate sex if wage > 0",
        ]
        assert [one.title for one in parts] == [*titles, "fdzsummarize wage"]
        # Where each table stands is known in called files, too, and nowhere else.
        first = parts[0].called[1]
        assert [one.covers(f"sub/tables_FiRe.do, line {first}, tabulate sex") for one in parts] == [
            True, False, False,
        ]  # fmt: skip
        assert not any(one.covers(f"line {first - 7}, tabulate sex") for one in parts[:2])
        bad = handed(queue, "bad", "main.do")
        stop = next(one for one in bad.findings if one.rule == "stopped")
        assert (stop.file, stop.line) == ("helper_FiRe.do", 9)
        assert bad.called(stop) == "helper_FiRe.do"
        assert bad.row.standing.parts[-1].is_at("helper_FiRe.do", stop.line)
        # Alone, a file that calls another lacks it, and the advice says what to hand in.
        alone = handed(queue, "good/master.do")
        missing = next(one for one in alone.findings if one.rule == "path")
        assert "--main" in missing.hint
