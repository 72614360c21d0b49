"""What the caller of a design asks for, checked: all problems at once. SECRET.

In: parameters as written. Out: one `Demand` per row in exact decimals, and the context
they are computed in: decimals of 38 digits, the same bits everywhere. Decimal
arithmetic, its exponential included, is correctly rounded, so a designed table does not
depend on processor or mathematics library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np

from discreet.errors import PerturbationError, Problem, raise_all

#: Two machine words of the decimal library; far more than the 15 digits of the key grid.
DIGITS = 38

#: Relative size of what counts as rounding in parameters.
TINY = Decimal("1e-12")

_CONTEXT = Context(
    prec=DIGITS,
    rounding=ROUND_HALF_EVEN,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)


def exact_arithmetic() -> AbstractContextManager[Context]:
    """The context of all computations of a design."""
    return localcontext(_CONTEXT)


def stated(value: Any) -> Decimal | None:
    """A parameter as the decimal it is written as; None if it is no finite number.

    >>> stated(1.08)
    Decimal('1.08')
    """
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Fraction):
        with exact_arithmetic():
            return Decimal(value.numerator) / Decimal(value.denominator)
    if isinstance(value, float | np.floating):
        value = Decimal(repr(float(value)))
    elif isinstance(value, int | np.integer):
        value = Decimal(int(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None


def is_whole(value: Any) -> bool:
    """Whether a parameter is a whole number (and not a truth value)."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def at_least(value: Decimal) -> str:
    """A lower limit for a message: six digits, rounded up.

    >>> at_least(Decimal(2)), at_least(Decimal(2) / 3)
    ('2', '0.666667')
    """
    return _short(value, ROUND_CEILING)


def at_most(value: Decimal) -> str:
    """An upper limit for a message: six digits, rounded down."""
    return _short(value, ROUND_FLOOR)


def _short(value: Decimal, rounding: str) -> str:
    # What differs from a round number by computation only is that number.
    with exact_arithmetic() as context:
        near = Context(prec=20).plus(value)
        context.prec, context.rounding = 6, rounding
        text = format(+near, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


#: Which constraint gives way where they clash.
Relax = Literal["variance", "stay", "unimodality"]
_RELAX: tuple[str, ...] = get_args(Relax)
_USUAL: Relax = "variance"

_LARGEST = 1000
_SHOWN = 20

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, repr=False)
class Demand:
    """Requirements for one row."""

    i: int  # the original count, or size class
    below: tuple[int, ...]  # distances of the noise allowed below zero, ascending
    above: tuple[int, ...]  # distances of the noise allowed above zero, ascending
    zero: bool  # whether noise 0 is allowed
    monotone: bool  # whether probabilities must not rise away from zero
    stay: Decimal | None  # fixed probability of noise 0
    relax: Relax  # what gives way
    step: int = 1  # steps of noise per unit

    @property
    def shape(self) -> tuple[object, ...]:
        """Key that rows with the same distribution share."""
        return (self.below, self.above, self.zero, self.monotone, self.stay, self.relax)


def check_noise(max_noise: Any, variance: Any, problems: list[Problem], step: int = 1) -> Decimal:
    """Check the largest noise and the variance; give the variance in exact numbers."""
    if not is_whole(max_noise) or max_noise < 1:
        problems.append(
            Problem("the largest noise must be a whole number of at least 1", "max_noise")
        )
    elif max_noise * step > _LARGEST:
        problems.append(Problem(f"the largest noise is {_LARGEST} steps", "max_noise"))
    exact = stated(variance)
    if exact is None or exact <= 0:
        problems.append(
            Problem(
                "the variance must be positive",
                "variance",
                "for no noise, use no perturbation table",
            )
        )
        return Decimal(1)
    return exact


def row_demands(
    max_noise: Any,
    forbidden: Any,
    monotone: Any,
    stay: Any,
    relax: Any,
    problems: list[Problem],
) -> list[Demand]:
    """The demands on rows 1 … n_max of a table for counts; none if there are problems."""
    banned = _forbidden(forbidden, problems)
    if problems:
        return []
    largest = int(max_noise)
    rows = range(1, (largest + max(banned) + 1 if banned else largest) + 1)
    if isinstance(stay, int | float | Decimal) and not isinstance(stay, bool):
        stay = {i: stay for i in rows if i not in banned}
    options = row_options(rows, monotone, stay, relax, problems)
    demands = []
    for i in rows:
        allowed = [v for v in range(-min(i, largest), largest + 1) if i + v not in banned]
        demand = Demand(
            i,
            tuple(-v for v in reversed(allowed) if v < 0),
            tuple(v for v in allowed if v > 0),
            0 in allowed,
            *options[i],
        )
        if demand.stay is not None and not demand.zero:
            hint = "state stay for the other rows only: stay={row: probability}"
            problems.append(Problem(f"row {i} cannot stay: its count is forbidden", "stay", hint))
        demands.append(demand)
    return [] if problems else demands


def row_options(
    rows: Sequence[int], monotone: Any, stay: Any, relax: Any, problems: list[Problem]
) -> dict[int, tuple[bool, Decimal | None, Relax]]:
    """Order, stay probability and what gives way, for each row."""
    ordered = _per_row(monotone, rows, "monotone", _as_truth, True, problems)
    kept = _per_row(stay, rows, "stay", _as_stay, None, problems)
    gives = _per_row(relax, rows, "relax", _as_relax, _USUAL, problems)
    return {i: (ordered[i], kept[i], gives[i]) for i in rows}


def _per_row(
    value: Any,
    rows: Sequence[int],
    name: str,
    convert: Callable[[Any], _T],
    default: _T,
    problems: list[Problem],
) -> dict[int, _T]:
    """One value for each row, from a single one, a mapping, or a sequence."""
    values = dict.fromkeys(rows, default)
    if isinstance(value, Mapping):
        stated_rows = dict(value)
    elif isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
        if len(value) != len(rows):
            message = f"{len(value)} values for {len(rows)} rows"
            hint = f"rows: {rows[0]} to {rows[-1]}; a mapping names single rows"
            problems.append(Problem(message, name, hint))
            return values
        stated_rows = dict(zip(rows, value, strict=True))
    else:
        stated_rows = dict.fromkeys(rows, value)
    reported: set[str] = set()
    for row, single in stated_rows.items():
        if row not in values:
            listed = ", ".join(map(str, rows)) if len(rows) < 10 else f"{rows[0]} to {rows[-1]}"
            problems.append(Problem(f"row {row} not found", name, f"rows: {listed}"))
            continue
        try:
            values[int(row)] = convert(single)
        except ValueError as error:
            if str(error) not in reported:
                problems.append(Problem(str(error), name))
            reported.add(str(error))
    return values


def _as_truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError("each value must be True or False")
    return bool(value)


def _as_stay(value: Any) -> Decimal | None:
    if value is None:
        return None
    exact = stated(value)
    if exact is None or not 0 < exact <= 1:
        raise ValueError("a stay probability must be above 0 and at most 1, or None")
    return exact


def _as_relax(value: Any) -> Relax:
    if not isinstance(value, str) or value not in _RELAX:
        raise ValueError(f"use one of {', '.join(_RELAX)}")
    return cast("Relax", value)


def _forbidden(values: Any, problems: list[Problem]) -> frozenset[int]:
    hint = "for example forbidden=(1, 2): no published value is 1 or 2"
    listed = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    numbers: list[Any] = list(values) if listed else []
    if not listed or not all(is_whole(number) for number in numbers):
        problems.append(Problem("forbidden must be a list of whole numbers", "forbidden", hint))
        return frozenset()
    banned = frozenset(int(number) for number in numbers)
    if any(number < 1 for number in banned):
        message = "forbidden values must be above 0"
        problems.append(Problem(message, "forbidden", hint))
    if any(number > _LARGEST for number in banned):
        problems.append(Problem(f"forbidden values must not exceed {_LARGEST}", "forbidden"))
    return banned


def raise_design(problems: Sequence[Problem], name: str = "") -> None:
    """Raise one error for all problems; do nothing when there is none."""
    many = "the table cannot be designed: {} problems"
    raise_all(PerturbationError, problems, code="design", many=many, where=name, most=_SHOWN)
