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
import unicodedata
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import sqrt
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationError

from discreet.arrays import FloatArray
from discreet.confidential import SecretValues, Unpicklable
from discreet.errors import PerturbationError, Problem, raise_all
from discreet.protection.noise.limits import plain_number
from discreet.protection.noise.magnitude_table import (
    Kind,
    MagnitudePart,
    MagnitudePerturbationTable,
)
from discreet.protection.noise.settings import (
    FLEX,
    MagnitudeNoiseSettings,
    MagnitudeSettings,
    MarkedNoiseSettings,
)
from discreet.settings import SecretSettings, refused, setting_problems

#: Powers beyond this would only stand for a step.
HIGHEST_EXPONENT = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class SimpleStrength(SecretValues):
    """One share of every contribution. SECRET.

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


@dataclass(frozen=True, kw_only=True, repr=False)
class FlexStrength(SecretValues):
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
                Problem("the share for large contributions exceeds that for small ones", "large")
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


_POSITIVE = "must be above 0"
_SHARE = "must be a share above 0 and at most 1"
_POWER = f"must be a whole number from 1 to {HIGHEST_EXPONENT}"


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


def _table_for_ordinary_cells(value: Any) -> MagnitudePerturbationTable:
    if not isinstance(value, MagnitudePerturbationTable):
        hint = "create one with MagnitudePerturbationTable.read or design_magnitude_perturbation"
        raise refused("a perturbation table for magnitudes is required", hint)
    if "all" not in value.kinds and not {"even", "odd"} <= set(value.kinds):
        hint = 'add a part "all", or parts "even" and "odd"'
        raise refused("the table has no rows for ordinary cells", hint)
    return value


def _known_strength(value: Any) -> FlexStrength | SimpleStrength:
    if not isinstance(value, FlexStrength | SimpleStrength):
        hint = "FlexStrength(…) or SimpleStrength(…)"
        raise refused("the strength of the noise is required", hint)
    return value


class MagnitudeNoise(Unpicklable, MarkedNoiseSettings, SecretSettings):  # type: ignore[misc]
    """The noise for sums of one value column. SECRET.

    Args:
        table: The perturbation table for magnitudes. If it has a part "small", cells
            whose largest contribution is below `separation` use that part.
        options: `strength`, which is `FlexStrength` or `SimpleStrength`; and what
            `MarkedNoiseSettings` has: `of`, `top`, `epsilon`, `keys`, `period`, `same_key`,
            `zeros_in_key`, `range_floor`, `mu_c`, `mu_c_for`.

    >>> from discreet import design_magnitude_perturbation
    >>> table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
    >>> strength = SimpleStrength(share=0.1)
    >>> MagnitudeNoise(table, strength=strength, top=2, epsilon=(1, 0.5))
    <MagnitudeNoise: secret>
    """

    table: Annotated[MagnitudePerturbationTable, PlainValidator(_table_for_ordinary_cells)]
    strength: Annotated[FlexStrength | SimpleStrength, PlainValidator(_known_strength)]

    def __init__(self, table: Any, **options: Any) -> None:
        stated: dict[str, Any] = {"table": table}
        for name, value in options.items():
            plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
            stated[name] = list(plain) if isinstance(plain, tuple) else plain
        if stated.get("period") == "":  # the same as none
            del stated["period"]
        try:
            super().__init__(**stated)
        except ValidationError as error:
            problems = setting_problems(error, known=list(type(self).model_fields))
        else:
            return
        raise_noise("noise", problems)

    @classmethod
    def of_settings(
        cls,
        settings: MagnitudeNoiseSettings,
        table: MagnitudePerturbationTable,
        strength: FlexStrength | SimpleStrength,
    ) -> MagnitudeNoise:
        """The noise that settings ask for, with a table and a strength."""
        options = settings.model_dump(include=set(MarkedNoiseSettings.model_fields))
        return cls(table, strength=strength, **options)

    @classmethod
    def of_texts(cls, settings: MagnitudeSettings) -> MagnitudeNoise:
        """The noise that settings ask for which hold tables and strength, too."""
        table = MagnitudePerturbationTable.from_text(
            settings.magnitude_table, name="magnitude_table"
        )
        if settings.small_table is not None:
            small = MagnitudePerturbationTable.from_text(
                settings.small_table, name="small_table", kind="small"
            )
            table = MagnitudePerturbationTable.joined(table, small)
        if settings.share is not None:
            return cls.of_settings(settings, table, SimpleStrength(settings.share))
        strength = FlexStrength(**settings.model_dump(include=set(FLEX)))
        return cls.of_settings(settings, table, strength)

    def with_options(self, **options: Any) -> MagnitudeNoise:
        """A copy with other options.

        Args:
            options: Those that change.
        """
        return MagnitudeNoise(**{**vars(self), **options})

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of the noise of each contribution. SECRET."""
        return tuple(map(float, self.epsilon or (1,)))

    def purpose(self, column: str, contribution: int = 1) -> str:
        """Purpose of the derived keys of a column.

        Semicolons of names are doubled, so that different names make different texts.

        >>> from discreet import design_magnitude_perturbation
        >>> table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
        >>> noise = MagnitudeNoise(table, strength=SimpleStrength(0.1), period="2026")
        >>> noise.purpose("rent"), noise.purpose("rent", 2)
        ('column rent; period 2026', 'column rent; period 2026; contribution 2')
        """
        named, period = (
            unicodedata.normalize("NFC", text).replace(";", ";;")
            for text in (column, self.period or "")
        )
        parts = [f"column {named}"]
        parts += [f"period {period}"] if period else []
        parts += [f"contribution {contribution}"] if contribution > 1 else []
        return "; ".join(parts)

    def more(self, number: int) -> float:
        """Additional noise of a contribution, counted from 0, in sensitive cells. SECRET."""
        return float(self.mu_c) if number == 0 or self.mu_c_for == "all" else 0.0

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
        weights = sum(Fraction(weight) ** 2 for weight in self.weights)
        return sqrt(fixed) / (self.strength.smallest * sqrt(weights))

    def digest(self, key: bytes) -> str:
        """A keyed digest (HMAC-SHA256) that names the noise without giving it away.

        Args:
            key: Something the reader of the digest cannot guess.
        """
        parts: list[Any] = [type(self.strength).__name__]
        parts += [getattr(self.strength, field.name) for field in fields(self.strength)]
        parts += [self.of, self.top, *self.weights]
        parts += [self.same_key, self.zeros_in_key, float(self.mu_c)]
        parts += [self.keys, self.period or ""] if self.keys != "shared" else []
        parts += [float(self.range_floor)] if self.of == "range" else []
        parts += [self.mu_c_for] if self.mu_c and self.top > 1 else []
        text = "discreet magnitude noise 1|" + "|".join(map(repr, parts)) + "|"
        content = text.encode() + self.table.digest(key).encode()
        return hmac.new(key, content, hashlib.sha256).hexdigest()
