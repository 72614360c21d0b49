"""What a primary rule is: what it declares, looks at and says; and checks of parameters.

In: parameters of a rule, SECRET. Out: nothing, or one error with all that is wrong, which
names a parameter, never its value. The kind of a rule, a `Reason`, has no parameters
and may be published. A rule is a subclass of `Rule` in a module of this package; programmes,
`primary` and reports know it from there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from discreet.arrays import BoolArray
from discreet.confidential import SecretValues
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.rules.evidence import CellEvidence, CellLookup, RuleInference, RuleJudgement
from discreet.tables import Dimension
from discreet.tabulation import LARGEST_K

#: Whether a contributor is a record or a holding.
Per = Literal["record", "holding"]

#: What becomes of a cell exactly on the limit of a rule.
Ties = Literal["safe", "sensitive"]

#: At most so many contributions are looked at.
MOST = LARGEST_K


def is_number(value: Any) -> bool:
    """Whether it is a number, infinite perhaps, but not a truth value."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and not math.isnan(value)


def number(name: str, value: Any, low: float, high: float, *, open_low: bool = True) -> list[str]:
    """Check a number between two bounds, both excluded."""
    words = (
        f"{name} must be a number above {low:g}" if open_low else f"{name} must be at least {low:g}"
    )
    words += f" and below {high:g}" if math.isfinite(high) else ""
    if not is_number(value) or math.isinf(value):
        return [words]
    inside = (value > low if open_low else value >= low) and value < high
    return [] if inside else [words]


def whole(name: str, value: Any, low: int, high: int | None = None) -> list[str]:
    """Check a whole number between bounds."""
    words = f"{name} must be a whole number of at least {low}"
    words += f" and at most {high}" if high is not None else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return [words]
    size = int(value)
    return [] if low <= size and (high is None or size <= high) else [words]


def choice(name: str, value: Any, options: Sequence[str]) -> list[str]:
    """Check a word from a short list."""
    return [] if value in options else [f"{name} must be one of {', '.join(options)}"]


def raise_parameters(rule: str, *found: list[str]) -> None:
    """Raise one error with everything that is wrong."""
    problems = [Problem(what, rule) for part in found for what in part]
    raise_all(SuppressionError, problems, code="rule", many="{} parameters are wrong", where=rule)


class Reason(int):
    """Why a cell is sensitive; in the order in which rules are usually named.

    >>> Reason.p_percent.code, Reason(4).text("de")
    ('p-percent', 'p%-Regel')
    """

    #: Not sensitive.
    none: ClassVar[Reason]
    #: Marked by hand.
    manual: ClassVar[Reason]
    _known: ClassVar[dict[int, Reason]] = {}
    name: str
    texts: Mapping[str, str]

    def __new__(cls, number: int) -> Reason:
        """The reason of a number."""
        if number not in cls._known:
            raise ValueError(f"unknown reason {int(number)}")
        return cls._known[number]

    @classmethod
    def all(cls) -> list[Reason]:
        """The reasons that there are, in the order of their numbers."""
        return [cls._known[number] for number in sorted(cls._known)]

    @classmethod
    def declare(cls, number: int, name: str, *, en: str, de: str) -> Reason:
        """Declare a reason; each rule does so once.

        Args:
            number: Its number in arrays, up to 127; reports list reasons in this order.
            name: Its name in Python; in files with hyphens.
            en: Its name in English words.
            de: Its name in German words.
        """
        taken = number in cls._known or name in [reason.name for reason in cls.all()]
        if taken or not 0 <= number <= 127 or not (name.isidentifier() and en and de):
            raise TypeError(f"reason {name!r} needs a unique name, texts and a unique number")
        reason = int.__new__(cls, number)
        reason.name, reason.texts = name, {"en": en, "de": de}
        cls._known[number] = reason
        setattr(cls, name, reason)
        return reason

    @property
    def code(self) -> str:
        """Its name in files."""
        return self.name.replace("_", "-")

    def text(self, language: str = "en") -> str:
        """Its name in words: English ("en") or German ("de")."""
        if language not in self.texts:
            message = f"unknown language {language!r}"
            raise SuppressionError(message, code="language", where="language", hint="use en or de")
        return self.texts[language]

    def __reduce__(self) -> tuple[type[Reason], tuple[int]]:
        return Reason, (int(self),)

    def __repr__(self) -> str:
        return f"<Reason.{self.name}: {int(self)}>"


Reason.declare(0, "none", en="not sensitive", de="nicht sensibel")
Reason.declare(8, "manual", en="marked by hand", de="von Hand gekennzeichnet")


_RULES: dict[str, type[Rule]] = {}


def known_rules() -> dict[str, type[Rule]]:
    """The rules that there are, by their key in programmes, in the order of their reasons.

    >>> list(known_rules())[:2]
    ['minimum_frequency', 'marginal']
    """
    return dict(sorted(_RULES.items(), key=lambda item: item[1].reason))


class Rule(ABC):
    """A rule that says which cells are sensitive. SECRET.

    A subclass is a frozen dataclass of its parameters, which are its keys in programmes.
    It has to say all that is below for itself: what is forgotten is an error at import.
    """

    #: Its key in [rules.NAME] of a programme.
    key: ClassVar[str]
    #: The parameters that a bare number, or a list of numbers, stands for.
    bare: ClassVar[tuple[str, ...]]
    #: Parameters that are tables: in programmes a filter of the records, under this key.
    filters: ClassVar[Mapping[str, str]]
    #: Its kind, the only thing about it that may be published.
    reason: ClassVar[Reason]

    def __init_subclass__(cls) -> None:
        said = ("key", "bare", "filters", "reason", "per", "contributions", "of_counts")
        missing = [name for name in (*said, "judge", "inference") if name not in cls.__dict__]
        if missing:
            raise TypeError(f"rule {cls.__name__} lacks {', '.join(missing)}")
        if not isinstance(cls.reason, Reason) or cls.reason in (Reason.none, Reason.manual):
            raise TypeError(f"rule {cls.__name__} has an unknown reason")
        for rule in _RULES.values():
            same = (rule.__module__, rule.__qualname__) == (cls.__module__, cls.__qualname__)
            if not same and (rule.key == cls.key or rule.reason == cls.reason):
                raise TypeError(f"{rule.__name__} and {cls.__name__} have the same key or reason")
        _RULES[cls.key] = cls

    @property
    @abstractmethod
    def per(self) -> Per:
        """Whether it looks at records or at holdings."""

    @property
    @abstractmethod
    def contributions(self) -> int:
        """Number of largest contributions to each cell that the rule uses; at least 1."""

    @property
    @abstractmethod
    def of_counts(self) -> bool:
        """Whether it can judge tables of counts."""

    @abstractmethod
    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive, and how far they are to be protected."""

    @abstractmethod
    def inference(self, cells: CellEvidence) -> RuleInference:
        """Inference about the published number by readers who know the rule."""

    @property
    def conf_status(self) -> str:
        """SDMX status of its cells, of CL_CONF_STATUS: "C" unless the rule states another."""
        return "C"

    @property
    def name(self) -> str:
        """Name in messages."""
        return type(self).__name__

    def check(self, *found: list[str]) -> None:
        """Raise one error with everything that is wrong with its parameters."""
        given = {"per": Per, "ties": Ties}
        words = [
            choice(name, getattr(self, name), get_args(options))
            for name, options in given.items()
            if hasattr(self, name)
        ]
        raise_parameters(self.name, *found, *words)

    def __repr__(self) -> str:
        return f"<{self.name}: secret>"


@dataclass(frozen=True, repr=False)
class CodeRules(SecretValues):
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
