"""The reference of the small Stata: its commands and functions."""

from __future__ import annotations

from collections.abc import Iterator

from discreet_fire.runners.builtin.expressions import FUNCTIONS
from discreet_fire.runners.builtin.runner import BUILTIN


def commands() -> Iterator[str]:
    """Lines of Markdown: each command with its options."""
    yield "| command | what it does | options | `by` |\n|---|---|---|---|"
    for name, command in sorted(BUILTIN.commands.items()):
        options = []
        for option, (least, brackets) in command.options.items():
            written = option if least == len(option) else option[:least].upper() + option[least:]
            options.append(f"`{written}{'()' if brackets else ''}`")
        summary = (command.run.__doc__ or "").partition("\n")[0].replace("|", "\\|")
        by = "yes" if command.by else ""
        yield f"| `{name}` | {summary} | {', '.join(options)} | {by} |"


def functions() -> Iterator[str]:
    """The functions of expressions."""
    yield f"Functions: {', '.join(f'`{name}()`' for name in sorted(FUNCTIONS))}."
