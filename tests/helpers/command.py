"""The command `discreet`, run within the process of the tests."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from discreet.cli.commands import app


def run(*words: object, **options: Any) -> Result:
    """Run `discreet WORDS`; options are those of `CliRunner.invoke`."""
    return CliRunner().invoke(app, [str(word) for word in words], **options)
