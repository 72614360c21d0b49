"""`discreet fire run`, as staff of a research data centre use it, also with wrong input."""

import json
from pathlib import Path

import pytest

from tests.helpers.command import run
from tests.helpers.run_panel import panel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    panel(40, 2).write_parquet(tmp_path / "panel.parquet")
    (tmp_path / "a.do").write_text("summarize wage\ncount if sex == 1\n")
    return tmp_path


def test_a_log_and_the_checks_are_written(folder) -> None:
    (folder / "a.do").write_bytes("summarize wage // Größe\ncount if sex == 1\n".encode("latin-1"))
    words = ("--data", folder / "panel.parquet", "--entity", "pid", "--json")
    done = run("fire", "run", folder / "a.do", *words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["verdict"], told["log"]) == ("pass", str(folder / "a.log"))
    log = (folder / "a.log").read_text()
    assert ". summarize wage // Größe" in log
    assert "run by discreet fire run" in log
    checks = json.loads((folder / "a.run.json").read_text())
    assert [one["line"] for one in checks["outputs"]] == [1, 2]
    assert checks["error"] is None


def test_a_program_that_stops_says_where(folder) -> None:
    (folder / "a.do").write_text("count\n\nxtabond wage\n")
    done = run("fire", "run", folder / "a.do", "--data", folder / "panel.parquet", "--json")
    assert done.exit_code == 2
    told = json.loads(done.output)
    assert told["error"]["line"] == 3
    assert told["error"]["code"] == "unsupported"
    assert "the small Stata does not know the command xtabond" in (folder / "a.log").read_text()


def test_the_time_limit_ends_a_program(folder) -> None:
    (folder / "a.do").write_text("count\n" * 20_000)
    done = run("fire", "run", folder / "a.do", "--time-limit", "0.2")
    assert done.exit_code == 1
    assert "time allowed" in (folder / "a.log").read_text()


def test_a_log_of_somebody_else_is_not_replaced(folder) -> None:
    (folder / "a.log").write_text("my own log\n")
    done = run("fire", "run", folder / "a.do", "--data", folder / "panel.parquet")
    assert done.exit_code == 2
    assert (folder / "a.log").read_text() == "my own log\n"
    done = run("fire", "run", folder / "a.do", "--data", folder / "panel.parquet", "--overwrite")
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("binary.do", b"\x00\x01\x02summarize"),
        ("braces.do", b"foreach x in a b {\ncount\n"),
        ("quotes.do", b'drop if "open\n'),
        ("path.do", b"use ../../etc/passwd\n"),
        ("include.do", b'do "/etc/hosts"\n'),
        ("outside.do", b"save /tmp/never.dta\n"),
        ("continue.do", b"continue\n"),
        ("mata.do", b"mata\nx = 1\nend\n"),
        ("shell.do", b"error 9\n"),
    ],
)
def test_bad_programs_end_with_a_clear_error(folder, name, data) -> None:
    (folder / name).write_bytes(data)
    done = run("fire", "run", folder / name, "--data", folder / "panel.parquet")
    assert done.exit_code == 2, done.output
    assert "internal" not in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("--data", "nothere.dta"),
        ("--data", "panel.parquet", "--entity", "nobody"),
        ("--limits", "nothere.toml"),
        ("--data", "a.do"),
    ],
)
def test_bad_options(folder, words) -> None:
    given = [word if word.startswith("--") or word == "nobody" else folder / word for word in words]
    done = run("fire", "run", folder / "a.do", *given)
    assert done.exit_code == 2, done.output
    assert not (folder / "a.log").exists()


def test_limits_from_a_file(folder) -> None:
    (folder / "limits.toml").write_text("[limits]\nminimum = 60\n")
    words = ("--data", folder / "panel.parquet", "--limits", folder / "limits.toml")
    assert run("fire", "run", folder / "a.do", *words).exit_code == 0
    assert "  ." in (folder / "a.log").read_text()
