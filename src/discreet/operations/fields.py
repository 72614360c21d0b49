"""Fields of settings: what each is called, what it takes, and its value from a text.

In: the model of settings, and the words of its package. Out: a field for each, from which options
of commands, fields of forms and rows of the reference page are made.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from discreet.errors import Problem
from discreet.files import texts_of
from discreet.settings import FILE, LINES, FileContent, Settings

#: What a field takes. Those of several lines: lists of names; lists or single names; texts in which
#: commas stand; old = new; a name and numbers. "file" is for commands; "content" is that of a file;
#: "steps" are methods, each with fields of its own; "other" has no text.
Kind = Literal[
    "yes", "choice", "whole", "number", "text", "names", "numbers", "wholes", "lists", "profiles",
    "lines", "pairs", "entries", "file", "content", "steps", "other",
]  # fmt: skip
#: Kinds of which each line is an entry: a word of an option that is given again.
BY_LINE = ("lists", "profiles", "lines", "pairs", "entries")
_PLAIN: Mapping[Any, Kind] = {
    **{bool: "yes", int: "whole", float: "number", str: "text"},
    Any: "number",  # a number as it is written, whole or not
}
_LISTS: Mapping[Kind, Kind] = {
    "text": "names", "number": "numbers", "whole": "wholes", "names": "lists",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingField:
    """One field of settings."""

    name: str
    kind: Kind  # what it takes; "other" has no text and no option
    choices: tuple[str, ...]  # what there is to choose from
    needed: bool  # whether it must be stated
    optional: bool  # whether it may be left open
    usual: Any  # what it is if it is not stated
    least: float | None  # the lowest number
    most: float | None  # the highest number
    label: Mapping[str, str]  # language → what it is called
    help: Mapping[str, str]  # language → what it does
    choice_labels: Mapping[str, Mapping[str, str]]  # choice → language → what it is called
    members: tuple[str, ...]  # of entries: what their numbers are, in order
    example: str  # what it is in an example; empty if that is its usual value
    secret: bool  # whether it is the content of a file that others must not read

    def text_of(self, value: Any) -> str:
        """A value as a field of a form shows it."""
        if isinstance(value, bool):
            yes, no = ("yes", "no") if self.kind == "choice" else ("on", "")
            return yes if value else no
        if self.kind == "pairs":
            return "\n".join(f"{old} = {new}" for old, new in (value or {}).items())
        if self.kind == "entries":
            rows = ((name, [getattr(each, part) for part in self.members])
                    for name, each in (value or {}).items())  # fmt: skip
            return "\n".join(", ".join([name, *(f"{x:g}" for x in parts if x is not None)])
                             for name, parts in rows)  # fmt: skip
        if isinstance(value, list | tuple):
            lists = any(isinstance(each, list) for each in value)
            texts = [", ".join(each) if isinstance(each, list) else f"{each}" for each in value]
            return ("\n" if lists or self.kind in BY_LINE else ", ").join(texts)
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@cache
def fields_of(model: type[BaseModel], package: str) -> tuple[SettingField, ...]:
    """The fields of a model that its package has words for, in their order.

    >>> from discreet.protection.rounding.settings import RoundingSettings
    >>> [(field.name, field.kind) for field in fields_of(
    ...     RoundingSettings, "discreet.protection.rounding")][:2]
    [('method', 'choice'), ('base', 'whole')]
    """
    packages = [  # with the words of the settings that it extends
        base.__module__.rpartition(".")[0]
        for base in reversed(model.__mro__[1:])
        if issubclass(base, Settings) and base.__module__ != Settings.__module__
    ]
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for section in ("labels", "helps", "choices", "examples"):
        for language in ("en", "de"):
            texts[section, language] = {}
            for name in (*packages, package):
                texts[section, language] |= texts_of(name, section, language)
    fields = []
    for name, info in model.model_fields.items():
        if name not in texts["labels", "en"]:
            continue
        kind, choices, optional = _kind(info.annotation)
        kind = next((mark for mark in (LINES, FILE) if mark in info.metadata), kind)
        bounds = [*info.metadata, *_bounds(info.annotation)]
        content = next((mark for mark in bounds if isinstance(mark, FileContent)), None)
        usual = None if info.default is PydanticUndefined else info.default
        lowest = [bound.ge if isinstance(bound, Ge) else bound.gt for bound in bounds
                  if isinstance(bound, Ge | Gt)]  # fmt: skip
        highest = [bound.le for bound in bounds if isinstance(bound, Le)]
        fields.append(
            SettingField(
                name=name,
                kind=kind if content is None else "content",
                choices=choices,
                needed=info.is_required(),
                optional=optional,
                usual=usual,
                least=float(str(lowest[0])) if lowest else None,
                most=float(str(highest[0])) if highest else None,
                label={item: texts["labels", item][name] for item in ("en", "de")},
                help={item: texts["helps", item].get(name, "") for item in ("en", "de")},
                choice_labels={
                    choice: {
                        item: texts["choices", item].get(f"{name}-{choice}", choice)
                        for item in ("en", "de")
                    }
                    for choice in choices
                },
                members=_members(info.annotation) if kind == "entries" else (),
                example=texts["examples", "en"].get(name, ""),
                secret=content is not None and content.secret,
            )
        )
    return tuple(fields)


def _bounds(hint: Any) -> list[Any]:
    """What is said of the numbers of a type, within alternatives, too."""
    if get_origin(hint) is Annotated:
        bounds: list[Any] = []
        for arg in get_args(hint)[1:]:
            bounds += arg.metadata if isinstance(arg, FieldInfo) else [arg]
        return bounds
    if get_origin(hint) in (Union, types.UnionType):
        return [bound for part in get_args(hint) for bound in _bounds(part)]
    return []


def _kind(hint: Any) -> tuple[Kind, tuple[str, ...], bool]:
    """What a type takes, what there is to choose from, and whether it may be left open."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    plain = [part for part in parts if part is not type(None)]
    optional = len(plain) < len(parts)
    if len(plain) > 1 and float in plain:  # a share, or a word
        return "text", (), optional
    if len(plain) > 1:  # yes, or one word more
        words = [word for part in plain if get_origin(part) is Literal for word in get_args(part)]
        return ("choice", ("no", "yes", *words), optional) if words else ("other", (), optional)
    only = plain[0]
    if get_origin(only) is Annotated:
        only = get_args(only)[0]
    if get_origin(only) is Literal:
        return "choice", get_args(only), optional
    if only is bool and optional:
        return "choice", ("no", "yes"), optional
    if get_origin(only) is list:
        (inner,) = get_args(only)
        if _is_step(inner):
            return "steps", (), optional
        if get_origin(inner) in (Union, types.UnionType) and str in get_args(inner):
            return "profiles", (), optional
        return _LISTS.get(_kind(inner)[0], "other"), (), optional
    if get_origin(only) is dict:
        kind: Kind = "pairs" if _kind(get_args(only)[1])[0] == "text" else "entries"
        return kind, (), optional
    return _PLAIN.get(only, "other"), (), optional


def _is_step(hint: Any) -> bool:
    kinds = get_args(get_args(hint)[0]) if get_origin(hint) is Annotated else ()
    return bool(kinds) and all(isinstance(each, type) and issubclass(each, Settings)
                               for each in kinds)  # fmt: skip


def _members(hint: Any) -> tuple[str, ...]:
    """The numbers of what a name stands for, in order."""
    (kind, *_) = get_args(get_args(hint)[1]) or (get_args(hint)[1],)
    hints = get_type_hints(kind)
    return tuple(each.name for each in dataclasses.fields(kind)
                 if {int, float} & {hints[each.name], *get_args(hints[each.name])})  # fmt: skip


def value_of(field: SettingField, text: str, problems: list[Problem]) -> Any:
    """Value of a text; None if it is empty.

    >>> from discreet.protection.rounding.settings import RoundingSettings
    >>> base = fields_of(RoundingSettings, "discreet.protection.rounding")[1]
    >>> value_of(base, " 10 ", [])
    10
    """
    stripped = text.strip()
    if field.kind == "yes":
        return stripped in ("on", "true", "yes")
    if field.kind == "names":
        return _parts(stripped)
    if field.kind == "wholes":
        return [_number(part, int, field, problems) for part in _parts(stripped)]
    if not stripped:
        return None
    if field.kind == "numbers":
        return [_number(part, float, field, problems) for part in _parts(stripped)]
    if field.kind in BY_LINE:
        lines = [line.strip() for line in stripped.splitlines() if line.strip()]
        if field.kind == "lines":
            return lines
        if field.kind == "profiles" and len(lines) == 1:
            return _parts(lines[0])
        if field.kind in ("lists", "profiles"):
            return [_parts(line) for line in lines]
        return _by_name(field, lines, problems)
    if field.kind == "choice":
        return {"no": False, "yes": True}.get(stripped, stripped)
    if field.kind in ("whole", "number"):
        kind = int if field.kind == "whole" else float
        return _number(stripped.replace(",", "."), kind, field, problems)
    return stripped


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(
    text: str, kind: type[int | float], field: SettingField, problems: list[Problem]
) -> int | float | None:
    try:
        return kind(text)
    except ValueError:
        message = "must be a whole number" if kind is int else "must be a number"
        problems.append(Problem(message, field.name))
        return None


def _by_name(field: SettingField, lines: Sequence[str], problems: list[Problem]) -> dict[str, Any]:
    """Lines such as "married = partnered", or "sex+education, 0.8": a name and its numbers."""
    named: dict[str, Any] = {}
    for at, line in enumerate(lines, start=1):
        if field.kind == "pairs":
            name, sign, new = (part.strip() for part in line.partition("="))
            value: Any = new
            right, hint = (
                bool(sign and name),
                "write old code = new code, each old code once",
            )
        else:
            name, *parts = _parts(line) or [""]
            name = "+".join(part.strip() for part in name.split("+"))
            numbers = [_number(part, float, field, problems) for part in parts]
            value = dict(zip(field.members, numbers, strict=False))
            right = bool(name) and len(parts) <= len(field.members) and None not in numbers
            hint = f"write name, {', '.join(field.members)}; the last ones are optional"
        if not right or name in named:
            problems.append(Problem(f"line {at} has another form", field.name, hint))
            continue
        named[name] = value
    return named
