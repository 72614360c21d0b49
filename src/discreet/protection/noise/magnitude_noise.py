"""`MagnitudeNoise`: everything that says how sums of a value column are perturbed. SECRET.

In: a perturbation table for magnitudes and the parameters of the method, among them how
strong the noise is: the share of each contribution that one unit of table noise stands
for, constant (`SimpleStrength`), or falling from a share for small contributions to one
for large ones (`FlexStrength`). Out: one checked object, which `perturb_magnitudes`
applies. It is never printed.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from discreet.arrays import FloatArray
from discreet.confidential import Unpicklable
from discreet.errors import PerturbationError, Problem, raise_all
from discreet.protection.noise.magnitude_parts import Kind, MagnitudePart
from discreet.protection.noise.magnitude_table import MagnitudePerturbationTable

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
        rule, value = wanted[one.name], getattr(strength, one.name)
        number = plain_number(value)
        good = number is not None and number > 0
        if rule is _SHARE:
            good = good and number is not None and number <= 1
        if rule is _POWER:
            good = good and isinstance(value, Integral) and value <= HIGHEST_EXPONENT
        if not good or number is None:
            problems.append(Problem(f"{one.name} {rule}", one.name))
            continue
        object.__setattr__(strength, one.name, int(number) if rule is _POWER else number)
    return problems


def raise_noise(where: str, problems: list[Problem]) -> None:
    """Raise one error for all problems of the noise for magnitudes."""
    many = "{} problems in the noise for magnitudes"
    raise_all(PerturbationError, problems, code="magnitude-noise", many=many, where=where)


#: What the strength of the noise is taken from.
Of = Literal["top", "mean", "range", "sum"]

#: Whose noise the keys draw: that of one column, or, as in the reference method, of all.
Keys = Literal["column", "shared"]

#: Which contributions of sensitive cells have more noise.
MuFor = Literal["first", "all"]

MOST_CONTRIBUTIONS = 16
RANGE_FLOOR = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
class MagnitudeNoise(Unpicklable):
    """The noise for sums of one value column. SECRET.

    Args:
        table: The perturbation table for magnitudes. If it has a part "small", cells
            whose largest contribution is below `separation` use that part.
        strength: `FlexStrength` or `SimpleStrength`.
        of: What a unit of noise is a share of: the "top" contributions, or the cell's
            "mean", "range" or "sum".
        top: How many of the largest contributions, from 1 to 16.
        epsilon: A weight for the noise of each of them, from 1 downward.
        keys: "column" gives each value column noise of its own, by keys derived from cell
            key and column name; "shared" draws that of all columns by the cell key.
            One choice for good: noise of both kinds for one column could be averaged.
        period: Enters the derived keys, such as "2026", so that the same records have other
            noise in other years.
        same_key: The first contribution uses the cell key itself, as counts do; shared keys
            only.
        zeros_in_key: Records of value 0 are part of the cell key. Without them, equal sums
            of the same values have equal noise.
        mu_c: Added to the size of the table noise in cells marked sensitive.
        mu_c_for: For the "first" contribution, or for "all": those may cancel out.
        range_floor: The range counts as at least this share of the largest value, from
            0 to 1; of="range" only.

    >>> from discreet import design_magnitude_perturbation
    >>> table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
    >>> strength = SimpleStrength(share=0.1)
    >>> MagnitudeNoise(table, strength=strength, top=2, epsilon=(1, 0.5))
    <MagnitudeNoise: secret>
    """

    table: MagnitudePerturbationTable = field(kw_only=False)
    strength: FlexStrength | SimpleStrength
    of: Of = "top"
    top: int = 1
    epsilon: Sequence[float] = (1.0,)
    keys: Keys = "column"
    period: str = ""
    same_key: bool = False
    zeros_in_key: bool = False
    mu_c: float = 0.0
    mu_c_for: MuFor = "first"
    range_floor: float = RANGE_FLOOR

    def __post_init__(self) -> None:
        problems = [*self._kind_problems(), *self._top_problems(), *self._key_problems()]
        numbers = _numbers(self.epsilon)
        if numbers is None or not _descends(numbers):
            problems.append(
                Problem("epsilon begins with 1, does not rise and stays above 0", "epsilon")
            )
        elif not problems and len(numbers) != self.top:
            message = f"there are {len(numbers)} epsilon for {self.top} contributions"
            problems.append(Problem(message, "epsilon", "give one for each of them"))
        mu_c = plain_number(self.mu_c)
        if mu_c is None or mu_c < 0:
            problems.append(Problem("mu_c is a number of at least 0", "mu_c"))
        floor = plain_number(self.range_floor)
        if floor is None or not 0 <= floor <= 1:
            message = "range_floor is a share of the largest value: a number from 0 to 1"
            problems.append(Problem(message, "range_floor"))
        elif floor != RANGE_FLOOR and self.of != "range":
            hint = 'leave it out, or take the noise of="range"'
            problems.append(Problem("only a range has a floor", "range_floor", hint))
        raise_noise("noise", problems)
        object.__setattr__(self, "top", int(self.top))
        object.__setattr__(self, "epsilon", numbers)
        object.__setattr__(self, "mu_c", mu_c)
        object.__setattr__(self, "range_floor", floor)

    def _kind_problems(self) -> list[Problem]:
        problems = []
        table: object = self.table
        strength: object = self.strength
        if not isinstance(table, MagnitudePerturbationTable):
            hint = "MagnitudePerturbationTable.read or design_magnitude_perturbation make one"
            message = "a perturbation table for magnitudes is needed"
            problems.append(Problem(message, "table", hint))
        elif "all" not in table.kinds and not {"even", "odd"} <= set(table.kinds):
            hint = 'a part "all", or parts "even" and "odd"'
            problems.append(Problem("the table has no rows for ordinary cells", "table", hint))
        if not isinstance(strength, FlexStrength | SimpleStrength):
            hint = "FlexStrength(…) or SimpleStrength(…)"
            problems.append(Problem("the strength of the noise is needed", "strength", hint))
        if self.of not in get_args(Of):
            known = ", ".join(get_args(Of))
            problems.append(Problem("noise is not taken from this", "of", f"known: {known}"))
        if self.mu_c_for not in get_args(MuFor):
            known = ", ".join(get_args(MuFor))
            problems.append(Problem("mu_c is not for these", "mu_c_for", f"known: {known}"))
        problems += [
            Problem(f"{name} is True or False", name)
            for name in ("same_key", "zeros_in_key")
            if not isinstance(getattr(self, name), bool)
        ]
        return problems

    def _top_problems(self) -> list[Problem]:
        number = plain_number(self.top)
        if number is None or not 1 <= number <= MOST_CONTRIBUTIONS or number != int(number):
            message = f"top is a whole number from 1 to {MOST_CONTRIBUTIONS}"
            return [Problem(message, "top")]
        if number > 1 and self.of in get_args(Of) and self.of != "top":
            hint = 'leave it out, or take the noise of="top"'
            return [Problem(f"a cell has a single {self.of}: top stays 1", "top", hint)]
        return []

    def _key_problems(self) -> Iterator[Problem]:
        if self.keys not in get_args(Keys):
            yield Problem("keys are of no such kind", "keys", f"known: {', '.join(get_args(Keys))}")
        period: object = self.period
        if not isinstance(period, str):
            yield Problem("a period is a text", "period", 'such as period="2026"')
        elif self.keys == "shared" and self.period:
            hint = 'keys="column" has it part of the derived keys'
            yield Problem("shared keys are the same in every period", "period", hint)
        if self.keys == "column" and self.same_key is True:
            hint = 'leave same_key out; keys="shared" keeps the figures of earlier releases'
            message = "noise of a column's own does not use the key of counts"
            yield Problem(message, "same_key", hint)

    def purpose(self, column: str, contribution: int = 1) -> str:
        """What the keys of a contribution to a column are derived for.

        Semicolons of names are doubled, so that different names make different texts.

        >>> from discreet import design_magnitude_perturbation
        >>> table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
        >>> noise = MagnitudeNoise(table, strength=SimpleStrength(0.1), period="2026")
        >>> noise.purpose("rent"), noise.purpose("rent", 2)
        ('column rent; period 2026', 'column rent; period 2026; contribution 2')
        """
        named, period = (
            unicodedata.normalize("NFC", text).replace(";", ";;") for text in (column, self.period)
        )
        parts = [f"column {named}"]
        parts += [f"period {period}"] if period else []
        parts += [f"contribution {contribution}"] if contribution > 1 else []
        return "; ".join(parts)

    def more(self, number: int) -> float:
        """What the noise of a contribution, counted from 0, grows by in sensitive cells. SECRET."""
        return self.mu_c if number == 0 or self.mu_c_for == "all" else 0.0

    def part(self, kind: Kind) -> MagnitudePart:
        """One part of the perturbation table."""
        return self.table.part(kind).parts[0]

    @property
    def parity(self) -> bool:
        """Whether cells with an even and an odd number of records use different parts."""
        return "even" in self.table.kinds

    @property
    def separation(self) -> float:
        """Cells whose largest contribution is below this are small; 0 if none are. SECRET.

        At this size the noise of ordinary cells has the fixed variance of small ones.
        """
        if "small" not in self.table.kinds:
            return 0.0
        content = self.part("small").content
        last = slice(int(content.starts[-2]), int(content.starts[-1]))
        pairs = zip(content.widths[last].tolist(), content.noise[last].tolist(), strict=True)
        square = sum(width * noise * noise for width, noise in pairs)
        fixed = Fraction(square, content.scale * self.part("small").step ** 2)
        weights = sum(Fraction(epsilon) ** 2 for epsilon in self.epsilon)
        return sqrt(fixed) / (self.strength.smallest * sqrt(weights))

    def digest(self, key: bytes) -> str:
        """A keyed digest (HMAC-SHA256) that names the noise without giving it away.

        Args:
            key: Something the reader of the digest cannot guess.
        """
        parts: list[Any] = [type(self.strength).__name__]
        parts += [getattr(self.strength, field.name) for field in fields(self.strength)]
        parts += [self.of, self.top, *self.epsilon]
        parts += [self.same_key, self.zeros_in_key, self.mu_c]
        parts += [self.keys, self.period] if self.keys != "shared" else []
        parts += [self.range_floor] if self.of == "range" else []
        parts += [self.mu_c_for] if self.mu_c and self.top > 1 else []
        text = "discreet magnitude noise 1|" + "|".join(map(repr, parts)) + "|"
        content = text.encode() + self.table.digest(key).encode()
        return hmac.new(key, content, hashlib.sha256).hexdigest()

    def __repr__(self) -> str:
        return "<MagnitudeNoise: secret>"


def _numbers(epsilon: Any) -> tuple[float, ...] | None:
    if isinstance(epsilon, str | bytes) or not isinstance(epsilon, Sequence | np.ndarray):
        return None
    numbers = [plain_number(value) for value in epsilon]
    present = tuple(number for number in numbers if number is not None)
    return present if len(present) == len(numbers) else None


def _descends(numbers: Sequence[float]) -> bool:
    if not numbers or numbers[0] != 1 or numbers[-1] <= 0:
        return False
    return all(above >= below for above, below in pairwise(numbers))
