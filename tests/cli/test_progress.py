"""Progress bars: on a terminal only, and never in the way of output."""

import io

import pytest

from discreet.cli import program


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with program.progress_bar("Protecting") as report:
        report(1, 2, "T1")
    assert capsys.readouterr() == ("", "")


def test_a_bar_appears_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(program, "_DELAY", 0.0)
    with program.progress_bar("Protecting") as report:
        for step in range(1, 20):
            report(step, 20, "T1")
            threading_pause()
    assert "Protecting T1" in terminal.getvalue()


def test_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with program.progress_bar("Protecting") as report:
        report(1, 2, "T1")
    assert "Protecting" not in terminal.getvalue()


def threading_pause() -> None:
    """Let the thread of the bar draw."""
    import time

    time.sleep(0.02)
