"""Options and words that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperGroup

from discreet.cli.failures import USAGE_ERROR, guarded, show_usage_error

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.microdata import Secret

__all__ = [
    "By",
    "Decimals",
    "FoundCodes",
    "Grid",
    "Json",
    "Program",
    "Totals",
    "Trees",
    "command",
    "group",
    "names",
    "pairs",
    "secret_from",
    "show",
    "trees_from",
    "warn",
]

By = Annotated[
    list[str], typer.Option(help="Spanning variables, with commas between or given again.")
]
Decimals = Annotated[
    int,
    typer.Option(min=0, max=15, help="Digits of weighted figures; 0 makes them whole numbers."),
]
FoundCodes = Annotated[
    Literal["list", "hide"],
    typer.Option(help='"hide" leaves out codes that only the cells tell and have no figure.'),
]
Grid = Annotated[str, typer.Option(help="Key grid: 256, 4096, 2^32, 10^15 …")]
Json = Annotated[bool, typer.Option("--json", help="Print a summary for programs.")]
Totals = Annotated[
    list[str] | None,
    typer.Option(help="NAME=CODE: total of a variable --official names and the cells lack."),
]
Trees = Annotated[
    list[str] | None,
    typer.Option("--classification", help="NAME=FILE: the code tree of a variable."),
]

_Function = TypeVar("_Function", bound=Callable[..., None])


class Program(TyperGroup):
    """The whole program; with --json, wrong words too are answered with an error object."""

    _as_json = False

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Read the words of the program."""
        self._as_json = "--json" in args
        return self._reported(super().make_context, info_name, args, *more, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the words of the command and run it."""
        return self._reported(super().invoke, ctx)

    def _reported(self, step: Callable[..., Any], *args: Any, **extra: Any) -> Any:
        try:
            return step(*args, **extra)
        except USAGE_ERROR as error:
            if self._as_json:
                show_usage_error(error, self.name or "discreet")
            raise


def group(text: str, *, kind: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        help=text,
        cls=kind,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        add_completion=False,
    )


def command(
    parent: typer.Typer, name: str, *, example: str
) -> Callable[[_Function], Callable[..., None]]:
    """Add a function as a command, with an example in its help."""

    def add(function: _Function) -> Callable[..., None]:
        epilog = f"Example: [bold]{example}[/bold]"
        safe = guarded(function)
        parent.command(name, epilog=epilog, no_args_is_help=name != "demo")(safe)
        return safe

    return add


def names(given: Sequence[str] | None) -> list[str]:
    """Names that were given with commas between, or one by one.

    >>> names(["region, sex", "age"])
    ['region', 'sex', 'age']
    """
    return [part.strip() for text in given or () for part in text.split(",") if part.strip()]


def pairs(given: Sequence[str] | None, form: str) -> dict[str, str]:
    """Names with something each, given as NAME=…, each name once.

    >>> pairs(["age=ALL"], "NAME=CODE")
    {'age': 'ALL'}
    """
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"write {form} instead of {text!r}")
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice")
        found[name] = value
    return found


def trees_from(given: Sequence[str] | None) -> dict[str, Classification]:
    """Classifications given as NAME=FILE."""
    from discreet.classifications import Classification

    listed = pairs(given, "NAME=FILE")
    return {name: Classification.read(path, name=name) for name, path in listed.items()}


def secret_from(file: Path | None, variable: str | None) -> Secret | None:
    """The secret from a file or an environment variable, if one is named."""
    from discreet.microdata import Secret

    if file is not None and variable is not None:
        raise typer.BadParameter("name a secret file or an environment variable, not both")
    if file is not None:
        return Secret.from_file(file)
    return None if variable is None else Secret.from_env(variable)


def warn(texts: Iterable[str]) -> None:
    """Print warnings, one line each, where they do not mix with results."""
    for text in texts:
        typer.echo(f"discreet: warning: {text}", err=True)


def show(text: str, described: dict[str, Any], *, as_json: bool) -> None:
    """Print a text for people, or an object for programs."""
    typer.echo(json.dumps(described, ensure_ascii=False, indent=2) if as_json else text)
