"""The reference of the command line: every command and option, in the words of their help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import typer
from typer.main import get_command

from discreet.cli.commands import app


def commands(command: Any, path: str = "discreet") -> Iterator[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = typer.Context(command, info_name=path)
    for name in command.list_commands(context):
        _, inner, _ = command.resolve_command(context, [name])
        if not inner.hidden:
            yield from commands(inner, f"{path} {name}")


def reference() -> Iterator[str]:
    """Lines of Markdown: all commands in a table, then the options of each."""
    listed = list(commands(get_command(app)))
    yield "| command | what it does |\n|---|---|"
    for path, command in listed:
        yield f"| [`{path}`](#{path.replace(' ', '-')}) | {_text(command.help)} |"
    for path, command in listed:
        context = typer.Context(command, info_name=path)
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        yield f"\n## {path} {{ #{path.replace(' ', '-')} }}\n\n```text\n{usage}\n```\n"
        yield "| argument or option | meaning | default |\n|---|---|---|"
        for parameter in command.get_params(context):
            if not getattr(parameter, "hidden", False) and parameter.name != "help":
                yield f"| {_called(parameter)} | {_text(parameter.help)} | {_default(parameter)} |"


def _called(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name}`"
    names = [f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts)]
    annotation = parameter.type_descriptor.annotation
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    return ", ".join(names) + "".join(f" `{choice}`" for choice in choices)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if callable(value) or value in (None, False, "", (), []) or type(value).__name__ == "Sentinel":
        return ""
    return f"`{value}`"


def _text(help_text: str | None) -> str:
    """Words of a help text in one line, with the signs of tables and of its markup escaped."""
    line = " ".join((help_text or "").replace("\\[", "[").split())
    return re.sub(r"([|<>\[\]*_])", r"\\\1", line)
