"""Steps on records: the fields of each method's options, and what people fill in.

In: the form of a method, as programmes for records have it. Out: the fields of a page; and from
texts the step that a programme would have. An option that no field fits is not offered.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from discreet.errors import Problem
from discreet.pretabular import METHODS, Invariant
from discreet.release import step_form
from discreet_service.studio.pasted_tables import listed_names, stated_number

#: What is not asked of people: identifiers are named once, the kind of step is its method, levels
#: are those of a tree in a file, and keys of records and limits of the solver are as usual.
_NOT_ASKED = frozenset(("id", "method", "level", "record_key", "grid", "exact_up_to"))

FieldKind = Literal[
    "yes", "whole", "number", "text", "names", "numbers", "lines", "profiles", "conditions",
    "pairs", "pram",
]  # fmt: skip
#: Texts in which commas do not stand between names.
_CONDITIONS = frozenset(("structural_zeros",))


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionField:
    """A field for an option."""

    name: str  # the option
    kind: FieldKind  # what it takes
    needed: bool  # whether it must be filled in
    usual: str  # what it is if it is empty


@cache
def option_fields(method: str) -> tuple[OptionField, ...]:
    """The fields of a method.

    >>> [(each.name, each.kind) for each in option_fields("round_values")]
    [('variables', 'names'), ('base', 'number')]
    """
    found = []
    for name, field in step_form(method)[0].model_fields.items():
        kind = "conditions" if name in _CONDITIONS else _kind(field.annotation)
        if name not in _NOT_ASKED and kind is not None:
            usual = field.default if isinstance(field.default, int | float) else ""
            found.append(
                OptionField(name=name, kind=kind, needed=field.is_required(), usual=str(usual))
            )
    return tuple(found)


def _kind(hint: Any) -> FieldKind | None:
    """What the field of an option takes; None where it has no field, such as names of files."""
    parts = [alternative for alternative in _alternatives(hint) if alternative is not type(None)]
    if len(parts) == 2 and str in parts:  # one name, or several
        parts.remove(str)
    if len(parts) != 1:
        return None
    (only,) = parts
    plain: Mapping[Any, FieldKind] = {bool: "yes", int: "whole", float: "number", str: "text"}
    if only in plain:
        return plain[only]
    origin, inner = get_origin(only), get_args(only)
    if not isinstance(origin, type):
        return None
    if issubclass(origin, Mapping):
        if inner == (str, str):
            return "pairs"
        return "pram" if Invariant in _alternatives(inner[-1]) else None
    if issubclass(origin, Sequence):
        if inner == (str,):
            return "names"
        if inner == (float,):
            return "numbers"
        if _kind(inner[0]) != "names":
            return None
        return "profiles" if str in _alternatives(inner[0]) else "lines"
    return None


def _alternatives(hint: Any) -> list[Any]:
    return list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]


def stated_step(
    method: str, texts: Mapping[str, str], where: str, problems: list[Problem]
) -> dict[str, Any]:
    """The step that a page asks for, as a programme would have it.

    >>> stated_step("top_code", {"variable": "age", "above": "90"}, "steps[0]", [])
    {'method': 'top_code', 'variable': 'age', 'above': 90.0}
    """
    step: dict[str, Any] = {"method": method}
    for option_field in option_fields(method) if method in METHODS else ():
        text = texts.get(option_field.name, "").strip()
        if not text:
            continue
        place = f"{where}.{option_field.name}"
        value = _value(option_field.kind, text, place, problems)
        if value is not None:
            step[option_field.name] = value
    return step


def _value(kind: FieldKind, text: str, place: str, problems: list[Problem]) -> Any:
    if kind == "yes":
        return text == "on"
    if kind in ("whole", "number"):
        return stated_number(text, place, problems, int if kind == "whole" else float)
    if kind == "text":
        return text
    if kind == "names":
        return listed_names(text)
    if kind == "numbers":
        found = [
            stated_number(listed_name, place, problems, float) for listed_name in listed_names(text)
        ]
        return [item for item in found if item is not None]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if kind == "conditions":
        return lines
    if kind == "profiles" and len(lines) == 1:
        return listed_names(lines[0])
    if kind in ("lines", "profiles"):
        return [listed_names(line) for line in lines]
    return _pairs(lines, place, problems) if kind == "pairs" else _pram(lines, place, problems)


def _pairs(lines: Sequence[str], place: str, problems: list[Problem]) -> dict[str, str]:
    """Lines such as "married = partnered"."""
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        old, sign, new = (part.strip() for part in line.partition("="))
        if not sign or not old or old in pairs:
            hint = "old code = new code, each old code once"
            problems.append(Problem(f"line {number} says something else", place, hint))
            continue
        pairs[old] = new
    return pairs


def _pram(lines: Sequence[str], place: str, problems: list[Problem]) -> dict[str, Any]:
    """Lines such as "sex+education, 0.8": variables that change together, and what stays."""
    found: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        parts = listed_names(line)
        shares = [stated_number(part, place, problems, float) for part in parts[1:]]
        if not parts or len(parts) > 3 or parts[0] in found or None in shares:
            hint = "variable, share that stays, weight of the change; the last two can be left out"
            problems.append(Problem(f"line {number} says something else", place, hint))
            continue
        names = "+".join(part.strip() for part in parts[0].split("+"))
        found[names] = dict(zip(("stay", "alpha"), shares, strict=False))
    return found
