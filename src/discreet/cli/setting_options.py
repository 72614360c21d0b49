"""Options made of settings: each field of a method's settings model is an option of its command.

In: an operation, and what was said on the line. Out: parameters for the command line; settings,
or one error for all options that are wrong.
"""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from discreet.cli.program import options_of, warn, with_parameters
from discreet.errors import DiscreetError, Problem, raise_all
from discreet.operations import BY_LINE, Operation, SettingField, fields_of, value_of
from discreet.settings import setting_problems

_KINDS: Mapping[str, Any] = {
    **{"yes": bool, "whole": int, "number": float, "text": str, "file": Path, "content": Path},
    **dict.fromkeys(("names", "numbers", "wholes", *BY_LINE), list[str]),
}
#: How values of these kinds are written, and that the option is given again for several.
_WRITTEN: Mapping[str, str] = {
    **dict.fromkeys(("names", "numbers", "wholes"), "separated by commas or repeated"),
    "lists": "names separated by commas; repeatable",
    "profiles": "names separated by commas; repeatable",
    "lines": "repeatable",
    "pairs": "OLD=NEW; repeatable",
}
_GZIPPED = b"\x1f\x8b"


def with_settings(
    operation: Operation, *, but: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an operation's settings in place of its parameter
    `settings`.
    """
    fields = [
        field for field in fields_of(operation.settings, operation.package) if field.name not in but
    ]

    def added(function: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            options = {field.name: given.pop(field.name) for field in fields}
            function(**given, settings=stated_settings(operation, fields, options))

        run.__module__, run.__name__ = function.__module__, function.__name__
        parameters = options_of(function)
        at = [item.name for item in parameters].index("settings")
        parameters[at : at + 1] = [option_of(field) for field in fields]
        return with_parameters(run, parameters, inspect.getdoc(function) or "")

    return added


def stated_settings(
    operation: Operation, fields: Sequence[SettingField], options: Mapping[str, Any]
) -> Any:
    """Settings from options; what is wrong is said with the option."""
    problems: list[Problem] = []
    stated = {
        field.name: _value(field, options[field.name], problems)
        for field in fields
        if options[field.name] is not None
    }
    try:
        settings = operation.settings.model_validate(stated)
        if not problems:
            return settings
    except ValidationError as error:
        problems += setting_problems(error, known=list(operation.settings.model_fields))
    problems = [
        replace(problem, where=word_of(problem.where) if problem.where else operation.command)
        for problem in problems
    ]
    raise_all(DiscreetError, problems, code=operation.name, many="{} options are wrong")
    raise AssertionError


def _value(field: SettingField, value: Any, problems: list[Problem]) -> Any:
    """What an option says, as its settings take it: of several words each is a line, or a name."""
    if field.kind == "choice":
        return {"yes": True, "no": False}.get(value, value)
    if field.kind == "content":
        return _content(field, value)
    if isinstance(value, list):
        return value_of(field, ("\n" if field.kind in BY_LINE else ",").join(value), problems)
    return value


def _content(field: SettingField, path: Path) -> str:
    """The text of a file that an option names."""
    from discreet.protection.problems import warnings_about

    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(_GZIPPED) else content
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a text file"
        message = f"the file cannot be read ({why})"
        raise DiscreetError(message, code="file", where=f"{word_of(field.name)} {path}") from None
    if field.secret:
        warn(warnings_about(path))
    return text


def word_of(name: str) -> str:
    """The word of an option.

    >>> word_of("round_to")
    '--round-to'
    """
    return f"--{name.replace('_', '-')}"


def option_of(field: SettingField, *, needed: bool = True) -> inspect.Parameter:
    """A setting as an option."""
    text = (field.help["en"] or field.label["en"]).rstrip(".")
    written = _WRITTEN.get(field.kind, "")
    if field.kind == "entries":
        members = ", ".join(("NAME", *(member.upper() for member in field.members)))
        written = f"{members}, the last ones may be left out; repeatable"
    shown = text[:1].upper() + text[1:] + (f" ({written})." if written else ".")
    kind: Any = _KINDS.get(field.kind)
    if field.kind == "choice":
        kind = Literal.__getitem__(field.choices)
    usual = field.usual
    if field.kind == "choice" and isinstance(usual, bool):
        usual = "yes" if usual else "no"
    if usual is None and not (field.needed and needed):
        kind = kind | None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.needed and needed else usual,
        annotation=Annotated[kind, typer.Option(word_of(field.name), help=shown)],
    )
