"""`KeyFigure`: what a key figure is made of, how it is called and printed. Public.

In: names. Out: a checked description; no number of any table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, get_args

from discreet.errors import Problem, TableError
from discreet.tables import FigureKind

MOST_DECIMALS = 15

#: What each kind is made of: one ingredient as it is, or two.
_SHOWN = frozenset({"count", "sum"})
_EITHER = frozenset({"mean"})

_TAKES_OVER = frozenset({"share"})
_TAKES_BASE = frozenset({"change", "index"})
_TAKES_FACTOR = frozenset({"ratio", "per_thousand"})

_TYPED = (
    "over",
    "base",
    "factor",
    "decimals",
    "bracket_above",
    "titles",
    "unit",
    "hidden",
    "shared_key",
)

_DECIMALS = {"mean": 2, "ratio": 2, "share": 1, "per_thousand": 1, "change": 1, "index": 1}
_FACTORS = {"share": 100.0, "per_thousand": 1000.0, "change": 100.0, "index": 100.0}
_UNITS = {"share": "%", "change": "%", "per_thousand": "‰"}


@dataclass(frozen=True, kw_only=True)
class KeyFigure:
    """One figure (Kennzahl) of a table and the ingredients it is made of.

    | kind | made of | value |
    |---|---|---|
    | count, sum | `of` | as it is |
    | mean | `of`, or `part` and `whole` | as it is, or part / whole |
    | share | `part`, `whole` or `over` | 100 part / whole, from 0 to 100 |
    | ratio | `part`, `whole`, `factor` | factor · part / whole |
    | per_thousand | `part`, `whole` | 1000 part / whole |
    | change | `part`, `whole` or `base` | 100 (part − whole) / whole |
    | index | `part`, `whole` or `base` | 100 part / whole |
    | balance | `part`, `whole` | part − whole, with the sign of the originals |

    Args:
        name: Short stable name.
        kind: What kind of figure it is.
        of: The ingredient that is shown as it is; the figure's name if empty.
        part: The ingredient above the line; now; what comes in.
        whole: The ingredient below the line; before; what goes out. With `over` or
            `base`, the same as `part` if empty.
        over: Share of the total over these variables.
        base: variable → code that is the base of an index or a change.
        factor: For ratios and rates.
        decimals: Digits after the decimal point; else those of the ingredient shown, else
            0 for counts, sums and balances, 2 for means and ratios, 1 for all others.
        titles: language → heading.
        unit: Unit in all languages, or language → unit; "%" and "‰" are known.
        hidden: An ingredient only: not a column of the table.
        shared_key: Part and whole have the same cell keys, such as a region's persons and
            its households that inherit them plainly, so that their noise goes together.
        bracket_above: Expected relative error above which it is bracketed; else that of
            `derive`. Counts have no brackets unless they say so here.

    >>> KeyFigure(name="vacancy", kind="share", part="vacant", whole="dwellings").units
    {'en': '%', 'de': '%'}
    """

    name: str = field(kw_only=False)
    kind: FigureKind
    of: str = ""
    part: str = ""
    whole: str = ""
    over: Sequence[str] = ()
    base: Mapping[str, str] = field(default_factory=dict)
    factor: float | None = None
    decimals: int | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    unit: str | Mapping[str, str] = ""
    hidden: bool = False
    bracket_above: float | None = None
    shared_key: bool = False

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            name = self.name if isinstance(self.name, str) else ""
            raise TableError(
                problems[0].what,
                code="key-figure",
                where=name or "name",
                hint=problems[0].hint,
                problems=problems,
            )
        over = (self.over,) if isinstance(self.over, str) else tuple(self.over)
        object.__setattr__(self, "over", over)
        object.__setattr__(self, "base", MappingProxyType(dict(self.base)))
        object.__setattr__(self, "titles", MappingProxyType(dict(self.titles)))

    # -- what it is made of ------------------------------------------------

    @property
    def shown(self) -> str:
        """The ingredient that is shown as it is; empty if two are combined."""
        combined = self.kind not in _SHOWN | _EITHER or (self.part and self.kind in _EITHER)
        return "" if combined else self.of or self.name

    @property
    def compared(self) -> tuple[str, str]:
        """The ingredients above and below the line."""
        return self.part, self.whole or self.part

    @property
    def ingredients(self) -> tuple[str, ...]:
        """The names of the ingredients, each once."""
        return tuple(dict.fromkeys((self.shown,) if self.shown else self.compared))

    @property
    def scale(self) -> float:
        """Factor of the quotient."""
        return _FACTORS.get(self.kind, 1.0) if self.factor is None else float(self.factor)

    @property
    def summed(self) -> bool:
        """Whether it is 0, and not nothing, where there are no records."""
        return self.kind in _SHOWN or self.kind == "balance"

    # -- how it is printed -------------------------------------------------

    @property
    def digits(self) -> int:
        """Digits after the decimal point, of a figure that is not shown as it is."""
        return _DECIMALS.get(self.kind, 0) if self.decimals is None else int(self.decimals)

    @property
    def units(self) -> dict[str, str]:
        """The unit by language."""
        if not isinstance(self.unit, str):
            return dict(self.unit)
        known = "" if self.factor not in (None, _FACTORS.get(self.kind)) else self.kind
        text = self.unit or _UNITS.get(known, "")
        return {"en": text, "de": text} if text else {}

    # -- what can be wrong -------------------------------------------------

    def _problems(self) -> Iterator[Problem]:
        if not _text(self.name) or not self.name:
            yield Problem("a key figure needs a name", "name")
        if self.kind not in get_args(FigureKind):
            known = ", ".join(get_args(FigureKind))
            yield Problem("unknown kind of figure", f"{self.name}: kind", f"known: {known}")
            return
        for where, problem, hint in (*self._misused(), *self._unfit()):
            yield Problem(problem, f"{self.name}: {where}", hint)

    def _misused(self) -> Iterator[tuple[str, str, str]]:
        """Arguments that the kind does not take, or that are missing."""
        names = [name for name in ("of", "part", "whole") if not _text(getattr(self, name))]
        for name in names:
            yield name, "the name of an ingredient is required", ""
        if names:
            return
        pair = bool(self.part or self.whole)
        if self.of and self.kind not in _SHOWN | _EITHER:
            yield "of", f"a {self.kind} needs part and whole", "name part= and whole="
        if pair and self.kind in _SHOWN:
            yield "part", f"a {self.kind} has no part and whole", "name its ingredient with of="
        if pair and self.of and self.kind in _EITHER:
            yield "of", "a mean takes of, or part and whole", "leave one out"
        needs = self.kind not in _SHOWN | _EITHER or (self.kind in _EITHER and pair)
        if needs and not self.part:
            yield "part", "the numerator is missing", "name it with part="
        if needs and not (self.whole or self.over or self.base):
            others = "over" if self.kind in _TAKES_OVER else ""
            others = "base" if self.kind in _TAKES_BASE else others
            hint = f"name it with whole=, or use {others}=" if others else "name it with whole="
            yield "whole", "the denominator is missing", hint
        for name, takes in (
            ("over", _TAKES_OVER),
            ("base", _TAKES_BASE),
            ("factor", _TAKES_FACTOR),
        ):
            value = getattr(self, name)
            if value not in (None, "", (), []) and value != {} and self.kind not in takes:
                yield (
                    name,
                    f"{name} does not apply to a {self.kind}",
                    f"applies to: {', '.join(sorted(takes))}",
                )

    def _unfit(self) -> Iterator[tuple[str, str, str]]:
        """Arguments of the wrong type or size."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in _TYPED}
        if not _text(fields["over"]) and not _texts(fields["over"]):
            yield "over", "expected a list of variables", 'such as ["sex"]'
        if not _by_name(fields["base"]):
            yield "base", "expected variables and their codes", 'such as {"year": "2015"}'
        factor = fields["factor"]
        if factor is not None and not (_number(factor) and 0 < factor < math.inf):
            yield "factor", "factor must be above 0", ""
        decimals = fields["decimals"]
        whole = isinstance(decimals, Integral) and not isinstance(decimals, bool)
        if decimals is not None and not (whole and 0 <= decimals <= MOST_DECIMALS):
            yield "decimals", f"decimals must be a whole number from 0 to {MOST_DECIMALS}", ""
        if fields["bracket_above"] is not None and not is_limit(fields["bracket_above"]):
            yield "bracket_above", "bracket_above must be a number of at least 0", ""
        for name in ("titles", "unit"):
            if not _by_name(fields[name]) and not (name == "unit" and _text(fields[name])):
                yield name, "expected texts by language", 'such as {"en": …, "de": …}'
        for name in ("hidden", "shared_key"):
            if not isinstance(fields[name], bool):
                yield name, f"{name} must be true or false", ""
        if fields["shared_key"] is True and not (self.part and self.whole):
            yield (
                "shared_key",
                "two ingredients have the same key",
                "name them with part= and whole=",
            )


def is_limit(value: Any) -> bool:
    """Whether this can be a limit for brackets: at least 0, infinite for none."""
    return _number(value) and value >= 0


def _number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(values: Any) -> bool:
    return isinstance(values, Sequence) and all(isinstance(text, str) for text in values)


def _by_name(values: Any) -> bool:
    """Whether these are texts by name."""
    return isinstance(values, Mapping) and _texts([*values, *values.values()])
