"""Writes docs/reference/command-line.md: every command with its options, from its own help."""

# ruff: noqa: E501 - lines of a table are not broken

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from discreet.cli.commands import app

_HEAD = """\
# Command line

`discreet` and `python -m discreet` are the same program. `discreet COMMAND --help` prints what this
page says of a command. `scripts/command_reference.py` writes the page from the commands.

`discreet --install-completion` makes the shell complete commands and options (bash, zsh, fish,
PowerShell).

## Output

Results go to stdout. Messages and progress bars go to stderr; bars appear on a terminal only, for
work of more than a second. `--json` prints one object for programs instead of text.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failure: the disk is full, the system refused, or an internal error; `verify`: the release is not in order; `attack`: a rate is above its limit; `audit`: the pattern is not safe |
| 2 | wrong input: words of the command, programme, data, perturbation table, output folder |
| 130 | interrupted |

With `--json`, an error is an object on stdout (code `usage` for wrong words):

```json
{"error": {"code": "programme", "what": "…", "where": "…", "hint": "…",
           "problems": [{"what": "…", "where": "line 12, tables.T1.wher", "hint": "did you mean 'where'?"}]}}
```

discreet warns of a perturbation table that others on the computer can read. A secret file that
others can read is an error. An internal error names its kind and the places in the code, never the
values of variables.

`keys`, `params keys`, `params pack`, `ptable convert`, `tabulate` and, to `.jj` files, `suppress`
write files that only their owner can read. Publish only what `protect`, `perturb`, the other
methods over cells and `demo` write as releases.

Rules on the command line stand in the memory of the shell and in the list of processes. A file of
rules keeps them secret (`chmod 600`).

"""
_ROOT: Any = typer.main.get_command(app)
_CONTEXT = _ROOT.make_context("discreet", [], resilient_parsing=True)
_MARKUP = re.compile(r"\\\[|\[/?(?:bold|dim|italic|cyan|yellow|green|red)\]")
_EXAMPLE = re.compile(r"^Examples?: ?", re.MULTILINE)


def markdown() -> str:
    """The page."""
    commands = list(_commands(_ROOT, ()))
    lines = ["| command | does |", "|---|---|"]
    for path, command in commands:
        name = " ".join(("discreet", *path))
        lines.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {_first(command)} |")
    for path, command in commands:
        lines += ["", *_section(path, command)]
    return _HEAD + "## Commands\n\n" + "\n".join(lines) + "\n"


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Every command that can be called, with the words that call it."""
    for word in group.list_commands(_CONTEXT):
        if hasattr(group, "make_ready"):
            group.make_ready(word)
        command = group.get_command(_CONTEXT, word)
        if command is None or command.hidden:
            continue
        if hasattr(command, "list_commands"):
            yield from _commands(command, (*path, word))
        else:
            yield (*path, word), command


def _plain(text: str) -> str:
    """A help text without the marks of the terminal."""
    return _MARKUP.sub(lambda mark: "[" if mark[0] == "\\[" else "", text or "").strip()


def _first(command: Any) -> str:
    lead = _plain(command.help).split("\n\n")[0]
    return _cell(" ".join(lead.split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _section(path: tuple[str, ...], command: Any) -> Iterator[str]:
    yield f"### {' '.join(('discreet', *path))}"
    parts = f"{_plain(command.help)}\n\n{_plain(command.epilog)}"
    for part in parts.split("\n\n"):
        text = " ".join(part.replace("\b", "").split())
        if _EXAMPLE.match(text):
            yield from ("", "```sh", _EXAMPLE.sub("", text), "```")
        elif text:
            yield from ("", text)
    rows = [row for parameter in command.params if (row := _row(parameter))]
    if rows:
        yield from ("", "| option | meaning | default |", "|---|---|---|", *rows)


def _row(parameter: Any) -> str:
    """The line of an option or argument; empty for those that every command has."""
    if parameter.name in ("help", "as_json") or getattr(parameter, "hidden", False):
        return ""
    takes = "" if getattr(parameter, "is_flag", False) else _takes(parameter)
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        words = [*parameter.opts, *parameter.secondary_opts]
        name = ", ".join(words) + (f" {takes}" if takes else "")
    usual = parameter.default
    usual = "" if usual in (None, False, [], ()) or callable(usual) else f"`{usual}`"
    if parameter.required:
        usual = "required"
    return f"| `{_cell(name)}` | {_cell(' '.join(_plain(parameter.help).split()))} | {usual} |"


def _takes(parameter: Any) -> str:
    """What an option takes: its own word, the words to choose from, or its kind."""
    shown = str(parameter.metavar or parameter.display_type(_CONTEXT))
    return shown.removeprefix("[").removesuffix("]") if "|" in shown else shown


if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "reference" / "command-line.md"
    page.write_text(markdown(), encoding="utf-8")
