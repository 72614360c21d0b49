"""`CodeRules`: other thresholds for cells with some codes, a country or a branch. SECRET.

In: codes, and rules that take the place of the general ones of their kind there. Out: for
each rule the cells it judges. A cell that holds other codes as well (a total, a region
above) is judged by both: what was promised to a unit in one country holds in every sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.rules.evidence import CellLookup
from discreet.rules.protocol import Rule, raise_parameters
from discreet.tables import Dimension


@dataclass(frozen=True, repr=False)
class CodeRules:
    """Rules in place of the general ones of their kind, in cells with some codes. SECRET.

    Args:
        cells: Variable → its code or codes; codes below them are meant too. Of several
            variables all must fit. In a table that lacks one of them, and in cells that
            hold other codes as well, these rules and the general ones judge together.
        rules: The rules. Kinds that are not among them stay as they are elsewhere.

    >>> CodeRules({"country": ["DE", "AT"]}, [])
    Traceback (most recent call last):
        ...
    discreet.errors.SuppressionError: [rule] CodeRules: rules must be a list of rules
    """

    cells: Mapping[str, str | Sequence[str]]
    rules: Sequence[Rule]

    def __post_init__(self) -> None:
        listed: object = self.rules
        sound = isinstance(listed, Sequence) and not isinstance(listed, str) and len(listed) > 0
        fits = sound and all(isinstance(rule, Rule) for rule in self.rules)
        value: object = self.cells
        named = isinstance(value, Mapping) and len(value) > 0 and all(map(self.codes, value))
        raise_parameters(
            "CodeRules",
            [] if fits else ["rules must be a list of rules"],
            [] if named else ["cells must map variables to codes"],
        )

    def codes(self, variable: str) -> tuple[str, ...]:
        """The codes of a variable."""
        cell = self.cells[variable]
        return (cell,) if isinstance(cell, str) else tuple(cell)

    def takes_over(self, rule: Rule) -> bool:
        """Whether one of its rules takes the place of a general one."""
        kinds = {(type(own), own.per) for own in self.rules}
        return (type(rule), rule.per) in kinds

    def scope(self, places: CellLookup) -> tuple[BoolArray, BoolArray]:
        """The cells that hold nothing but these codes, and those that hold any of them."""
        size = len(places.table)
        inside, touched = np.ones(size, dtype=np.bool_), np.ones(size, dtype=np.bool_)
        spanning = {dimension.name for dimension in places.table.dimensions}
        if not set(self.cells) <= spanning:
            inside[:] = False
        for dimension, part in zip(places.table.dimensions, places.table.index, strict=True):
            if dimension.name not in self.cells:
                continue
            within, holding = _family(dimension, self.codes(dimension.name))
            inside &= within[part]
            touched &= holding[part]
        return inside, touched

    def __repr__(self) -> str:
        return "<CodeRules: secret>"


def _family(dimension: Dimension, codes: Sequence[str]) -> tuple[BoolArray, BoolArray]:
    """Codes at or below those named; and these with all that may hold a part of them."""
    unknown = [code for code in codes if code not in dimension.index]
    hint = "correct or remove rules for codes that do not occur"
    problems = [Problem(f"code {code!r} not found", dimension.name, hint) for code in unknown]
    raise_all(SuppressionError, problems, code="rule", many="{} codes of rules are unknown")
    parents = dimension.parents.astype(np.int64)
    within = np.zeros(len(dimension), dtype=np.bool_)
    within[[dimension.index[code] for code in codes]] = True
    above = within.copy()
    for at in range(1, len(dimension)):  # parents stand before their children
        within[at] |= within[parents[at]]
    for at in range(len(dimension) - 1, 0, -1):
        above[parents[at]] |= above[at]
    # Codes of breakdowns that do not nest with it may share units with any code.
    own = {int(dimension.breakdown[dimension.index[code]]) for code in codes}
    beside = ~np.isin(dimension.breakdown, list(own))
    return within, within | above | beside


def scoped_rules(
    rules: Sequence[Rule | CodeRules], places: CellLookup
) -> list[tuple[Rule, BoolArray | None]]:
    """Every rule with the cells that it judges; None for all."""
    special = [(item, *item.scope(places)) for item in rules if isinstance(item, CodeRules)]
    scoped: list[tuple[Rule, BoolArray | None]] = []
    for rule in rules:
        if isinstance(rule, CodeRules):
            touched = next(holds for other, _, holds in special if other is rule)
            scoped += [(own, touched) for own in rule.rules]
            continue
        taken = [inside for other, inside, _ in special if other.takes_over(rule)]
        scoped.append((rule, ~np.any(taken, axis=0) if taken else None))
    return scoped
