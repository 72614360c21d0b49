"""Fields of settings: what each is called, what it takes, and its value from a text.

In: the model of settings, and the words of its package. Out: a field for each, from which options
of commands, fields of forms and rows of the reference page are made.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from discreet.errors import Problem
from discreet.files import texts_of

Kind = Literal["yes", "choice", "whole", "number", "text", "names", "other"]
_PLAIN: Mapping[Any, Kind] = {bool: "yes", int: "whole", float: "number", str: "text"}


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

    def text_of(self, value: Any) -> str:
        """A value as a field of a form shows it."""
        if isinstance(value, bool):
            yes, no = ("yes", "no") if self.kind == "choice" else ("on", "")
            return yes if value else no
        if isinstance(value, list | tuple):
            return ", ".join(value)
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@cache
def fields_of(model: type[BaseModel], package: str) -> tuple[SettingField, ...]:
    """The fields of a model that its package has words for, in their order.

    >>> from discreet.protection.rounding.settings import RoundingSettings
    >>> [(each.name, each.kind) for each in fields_of(
    ...     RoundingSettings, "discreet.protection.rounding")][:2]
    [('method', 'choice'), ('base', 'whole')]
    """
    said = {
        (section, language): texts_of(package, section, language)
        for section in ("labels", "helps", "choices")
        for language in ("en", "de")
    }
    found = []
    for name, info in model.model_fields.items():
        if name not in said["labels", "en"]:
            continue
        kind, choices, optional = _kind(info.annotation)
        bounds = [*info.metadata, *_bounds(info.annotation)]
        usual = None if info.default is PydanticUndefined else info.default
        found.append(
            SettingField(
                name=name,
                kind=kind,
                choices=choices,
                needed=info.is_required(),
                optional=optional,
                usual=usual,
                least=_least(info, bounds),
                most=next(
                    (float(str(bound.le)) for bound in bounds if isinstance(bound, Le)), None
                ),
                label={item: said["labels", item][name] for item in ("en", "de")},
                help={item: said["helps", item].get(name, "") for item in ("en", "de")},
                choice_labels={
                    choice: {
                        item: said["choices", item].get(f"{name}-{choice}", choice)
                        for item in ("en", "de")
                    }
                    for choice in choices
                },
            )
        )
    return tuple(found)


def _least(info: FieldInfo, bounds: list[Any]) -> float | None:
    found = [float(str(bound.ge)) for bound in bounds if isinstance(bound, Ge)]
    found += [float(str(bound.gt)) for bound in bounds if isinstance(bound, Gt)]
    return found[0] if found else None


def _bounds(hint: Any) -> list[Any]:
    """What is said of the numbers of a type, within alternatives, too."""
    if get_origin(hint) is Annotated:
        bounds: list[Any] = []
        for arg in get_args(hint)[1:]:
            bounds += arg.metadata if isinstance(arg, FieldInfo) else [arg]
        return bounds
    if get_origin(hint) in (Union, types.UnionType):
        return [each for part in get_args(hint) for each in _bounds(part)]
    return []


def _kind(hint: Any) -> tuple[Kind, tuple[str, ...], bool]:
    """What a type takes, what there is to choose from, and whether it may be left open."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    plain = [part for part in parts if part is not type(None)]
    optional = len(plain) < len(parts)
    if len(plain) > 1:  # yes, or one word more
        words = [word for each in plain if get_origin(each) is Literal for word in get_args(each)]
        return ("choice", ("no", "yes", *words), optional) if words else ("other", (), optional)
    only = plain[0]
    if get_origin(only) is Annotated:
        only = get_args(only)[0]
    if get_origin(only) is Literal:
        return "choice", get_args(only), optional
    if only is bool and optional:
        return "choice", ("no", "yes"), optional
    if get_origin(only) is list and _kind(get_args(only)[0])[0] == "text":
        return "names", (), optional
    return _PLAIN.get(only, "other"), (), optional


def value_of(field: SettingField, text: str, problems: list[Problem]) -> Any:
    """What a text says; None if it says nothing.

    >>> from discreet.protection.rounding.settings import RoundingSettings
    >>> base = fields_of(RoundingSettings, "discreet.protection.rounding")[1]
    >>> value_of(base, " 10 ", [])
    10
    """
    stripped = text.strip()
    if field.kind == "yes":
        return stripped in ("on", "true", "yes")
    if field.kind == "names":
        return [name.strip() for name in stripped.split(",") if name.strip()]
    if not stripped:
        return None
    if field.kind == "choice":
        return {"no": False, "yes": True}.get(stripped, stripped)
    if field.kind in ("whole", "number"):
        try:
            number = stripped.replace(",", ".")
            return int(number) if field.kind == "whole" else float(number)
        except ValueError:
            message = "a whole number is needed" if field.kind == "whole" else "a number is needed"
            problems.append(Problem(message, field.name))
            return None
    return stripped
