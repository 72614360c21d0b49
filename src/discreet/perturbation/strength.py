"""How strong the noise of sums is: a multiplier for each contribution. SECRET.

In: contributions to the cells of a table. Out: the share of each contribution that one
unit of table noise stands for: constant (`SimpleStrength`), or falling from a share
for small contributions to one for large ones (`FlexStrength`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import PerturbationError, Problem

__all__ = ["FlexStrength", "SimpleStrength", "plain_number", "raise_noise"]

FloatArray = npt.NDArray[np.float64]

#: Powers beyond this would only stand for a step.
HIGHEST_EXPONENT = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class SimpleStrength:
    """The same share of every contribution. SECRET.

    Args:
        share: Noise per unit of table noise, as a share of the contribution; above 0,
            at most 1.

    >>> SimpleStrength(share=0.1)
    <SimpleStrength: secret>
    """

    share: float = field(kw_only=False)

    def __post_init__(self) -> None:
        raise_noise("strength", _checked(self, {"share": _SHARE}))

    @property
    def smallest(self) -> float:
        """The share for small contributions."""
        return self.share

    def multipliers(self, contributions: FloatArray) -> FloatArray:
        """The share of each contribution."""
        return np.full(contributions.shape, self.share, dtype=np.float64)

    def __repr__(self) -> str:
        return "<SimpleStrength: secret>"


@dataclass(frozen=True, kw_only=True, repr=False)
class FlexStrength:
    """A share that falls with the size of the contribution x (Flex-Funktion). SECRET.

    Below the point it is `small`; from there on
    ``large · (1 + (small·x − large·point) / (large·point) · (2·point / (point + x))^exponent)``,
    which approaches `large` if the exponent is at least 2.

    Args:
        point: Where the share begins to fall (Flex-Punkt).
        small: Share for small contributions; above 0, at most 1.
        large: Share for very large ones; at most `small`.
        exponent: How fast it falls: a whole number, so that the power is computed
            alike everywhere.

    >>> strength = FlexStrength(point=1000, small=0.2, large=0.03, exponent=2)
    >>> strength.multipliers(np.array([10.0, 1000.0, 3000.0])).round(4).tolist()
    [0.2, 0.2, 0.1725]
    """

    point: float
    small: float
    large: float
    exponent: int

    def __post_init__(self) -> None:
        problems = _checked(
            self, {"point": _POSITIVE, "small": _SHARE, "large": _SHARE, "exponent": _POWER}
        )
        if not problems and self.large > self.small:
            problems = [
                Problem("the share for large contributions is above that for small", "large")
            ]
        raise_noise("strength", problems)

    @property
    def smallest(self) -> float:
        """The share for small contributions."""
        return self.small

    def multipliers(self, contributions: FloatArray) -> FloatArray:
        """The share of each contribution."""
        size = np.abs(contributions)
        far = 2 * self.point / (self.point + size)
        power = far
        for _ in range(self.exponent - 1):
            power = power * far
        base = self.large * self.point
        falling = self.large * (1 + (self.small * size - base) / base * power)
        return np.where(size < self.point, self.small, falling)

    def __repr__(self) -> str:
        return "<FlexStrength: secret>"


_POSITIVE = "is a number above 0"
_SHARE = "is a share: a number above 0, at most 1"
_POWER = f"is a whole number from 1 to {HIGHEST_EXPONENT}"


def plain_number(value: Any) -> float | None:
    """The number as a float, whatever kind of number it was; None if it is none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _checked(strength: Any, wanted: dict[str, str]) -> list[Problem]:
    """Take the parameters to plain numbers; say which are none."""
    problems = []
    for one in fields(strength):
        rule, given = wanted[one.name], getattr(strength, one.name)
        number = plain_number(given)
        good = number is not None and number > 0
        if rule is _SHARE:
            good = good and number is not None and number <= 1
        if rule is _POWER:
            good = good and isinstance(given, Integral) and given <= HIGHEST_EXPONENT
        if not good or number is None:
            problems.append(Problem(f"{one.name} {rule}", one.name))
            continue
        object.__setattr__(strength, one.name, int(number) if rule is _POWER else number)
    return problems


def raise_noise(where: str, problems: list[Problem]) -> None:
    """Raise one error for all problems of the noise for magnitudes."""
    if not problems:
        return
    several = len(problems) > 1
    raise PerturbationError(
        f"{len(problems)} problems in the noise for magnitudes" if several else problems[0].what,
        code="magnitude-noise",
        where=where if several else problems[0].where,
        hint="" if several else problems[0].hint,
        problems=problems if several else (),
    )
