"""Texts of forms: roles of columns, code trees and rules as people write them. CONFIDENTIAL, and
SECRET.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import polars as pl

from discreet.errors import Problem
from discreet_service.cells.layouts import typed_columns

#: Rules that a page offers, with what they take; the others need a call.
RULE_FIELDS: Mapping[str, type[int | float]] = {
    **{"minimum_frequency": int, "p_percent": float, "dominance_1": float, "dominance_2": float},
    "marginal": int,
}


def suggested_roles(frame: pl.DataFrame, roles: Mapping[str, str]) -> dict[str, str]:
    """Roles of columns as they are named, as far as there are such columns; if none span the table,
    texts do.

    >>> cells = pl.DataFrame({"sex": ["m"], "code": ["01"], "n": ["3"]})
    >>> suggested_roles(cells, {"by": "", "count": "n", "value": "v"})
    {'by': 'sex, code', 'count': 'n', 'value': ''}
    """
    named = {
        name: ", ".join(column for column in text.split(", ") if column in frame.columns)
        for name, text in roles.items()
    }
    if "by" in roles and not named["by"]:
        taken = {column for text in named.values() for column in text.split(", ")}
        kinds = typed_columns(frame).schema.items()
        own = [name for name, kind in kinds if name not in taken and kind == pl.String]
        named["by"] = ", ".join(own)
    return named


def stated_number(text: str, where: str, problems: list[Problem], kind: type[int | float]) -> Any:
    """A number as people write it; None, and a problem unless it is empty, if it is none."""
    stripped = text.strip().replace(",", ".")
    if not stripped:
        return None
    try:
        return kind(stripped)
    except ValueError:
        message = "must be a whole number" if kind is int else "must be a number"
        problems.append(Problem(message, where))
        return None


def stated_trees(text: str, problems: list[Problem]) -> dict[str, Any]:
    """Code trees: a line per code, with the variable before and the code above it behind."""
    trees: dict[str, dict[str, str | None]] = {}
    for number, line in enumerate(csv.reader(io.StringIO(text)), start=1):
        parts = [part.strip() for part in line]
        if not any(parts):
            continue
        if len(parts) not in (2, 3) or not parts[0] or not parts[1]:
            hint = "write variable, code, parent code; two parts for a code below the total"
            problems.append(Problem(f"line {number} has another form", "trees", hint))
            continue
        trees.setdefault(parts[0], {})[parts[1]] = (parts[2:] or [""])[0] or None
    return {name: {"codes": codes} for name, codes in trees.items()}


def stated_rules(texts: Mapping[str, str], problems: list[Problem]) -> dict[str, Any]:
    """Sensitivity rules of their fields. SECRET."""
    numbers = {
        name: stated_number(texts[name], name, problems, RULE_FIELDS[name]) for name in RULE_FIELDS
    }
    shares = [[n, numbers.pop(f"dominance_{n}")] for n in (1, 2)]
    rules: dict[str, Any] = {name: each for name, each in numbers.items() if each is not None}
    shares = [share for share in shares if share[1] is not None]
    if shares:
        rules["dominance"] = shares if len(shares) > 1 else shares[0]
    if not rules and not problems:
        hint = "fill in at least one of them"
        problems.append(Problem("no sensitivity rule", "rules", hint))
    return rules
