"""Every help text of every command stands on the screen as it stands in the source."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.text import Text

from discreet.cli.commands import app
from tests.helpers.command import run


def commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, *words, name)


def every() -> Iterator[tuple[tuple[str, ...], Any]]:
    program: Any = typer.main.get_command(app)
    for name in program.list_commands(None):
        program.make_ready(name)
    yield from commands(program)


def texts(command: Any) -> Iterator[tuple[str, str]]:
    """The text that is rendered, and the one that its author wrote."""
    callback = inspect.unwrap(command.callback) if command.callback else None
    if callback is not None and not hasattr(command, "commands"):
        yield command.help, inspect.getdoc(callback) or ""
    context = typer.Context(command)
    for each in command.get_params(context):
        if getattr(each, "help", None):
            yield each.help, each.help.replace("\\[", "[")


def test_no_bracket_of_any_help_text_is_taken_for_markup() -> None:
    found = list(every())
    assert len(found) > 80
    for words, command in found:
        assert all(words)
        for rendered, written in texts(command):
            assert Text.from_markup(rendered).plain == written, words


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("tabulate",), "such as decimal=, or types.income=number; a TOML file with"),
        (("detect",), "a [data] section"),
        (("ask", "table"), "as [cells]"),
    ],
)
def test_brackets_are_on_the_screen(words: tuple[str, ...], text: str) -> None:
    shown = run(*words, "--help", env={"COLUMNS": "200"}).output
    assert text in " ".join(shown.replace("│", " ").split())
