"""The command `discreet`, run within the process of the tests."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from discreet.cli.commands import app


def run(*words: object, **options: Any) -> Result:
    """Run `discreet WORDS`; options are those of `CliRunner.invoke`."""
    return CliRunner().invoke(app, [str(word) for word in words], **options)


def everything(folder: Path) -> dict[str, bytes | None]:
    """All files and folders below one, to see that nothing has changed there."""
    paths = folder.rglob("*")
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in paths}


def fire(*words: object) -> str:
    """What `discreet fire WORDS` says where nothing goes wrong."""
    done = run("fire", *words)
    assert done.exit_code == 0, done.output
    return done.output
