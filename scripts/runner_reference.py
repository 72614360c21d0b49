"""Writes docs/reference/runner.md: the few commands that the small Stata knows."""

from __future__ import annotations

from pathlib import Path

from discreet_fire.runners.builtin.expressions import FUNCTIONS
from discreet_fire.runners.builtin.runner import BUILTIN

_HEAD = """\
# What the small Stata knows

The small Stata of this project shows what output checking does, and the ado files are held against
it. It is no replacement for Stata: a centre runs [Stata, R or Python](../how-to/run-programs.md).
It runs the commands below, with these options and no others; anything else stops the run at its
line. [How to run do-files](../how-to/run-programs.md#the-small-stata) says how it works.

Capital letters are the shortest form of an option, `()` means that something stands in brackets.
`CRItical()` is the [p of the centre's rules](../methods/output-checking-rules.md) for one command.
`scripts/runner_reference.py` writes this page from the program.

## Commands

| command | what it does | options | `by` |
|---|---|---|---|"""
_LANGUAGE = """
## Language

| | |
|---|---|
| prefixes | `by`, `bysort`, `quietly`, `version` |
| not known | macros, loops, blocks, `if` before a command, `capture`, weights, `in`, `x[1]` |
| records | `if`; missing values are larger than all numbers |
| factors | `i.x`, `ib3.x`, `c.x`, `x#z`, `x##z` in models |
| comments | `*`, `//`, `///`, `/* */`; `#delimit ;` |
"""


def markdown() -> str:
    """The page."""
    rows = []
    for name, command in sorted(BUILTIN.commands.items()):
        options = []
        for option, (least, brackets) in command.options.items():
            written = option if least == len(option) else option[:least].upper() + option[least:]
            options.append(f"`{written}{'()' if brackets else ''}`")
        summary = command.summary.replace("|", "\\|")
        by = "yes" if command.by else ""
        rows.append(f"| `{name}` | {summary} | {', '.join(options)} | {by} |")
    functions = ", ".join(f"`{name}()`" for name in sorted(FUNCTIONS))
    return "\n".join([_HEAD, *rows, _LANGUAGE, f"Functions: {functions}."]) + "\n"


if __name__ == "__main__":
    place = Path(__file__).parent.parent / "docs" / "reference" / "runner.md"
    place.write_text(markdown(), encoding="utf-8")
