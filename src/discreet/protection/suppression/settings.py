"""What suppression and its audit can be told: options, their defaults and what goes together.

Which cells are sensitive is no setting: rules are SECRET.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from discreet.errors import SuppressionError
from discreet.settings import Positive, Settings, refused, setting_problems

#: Names of the methods that search for a pattern.
Method = Literal["auto", "fast", "optimal", "modular", "hypercube"]
ZeroCells = Literal["auto", "fixed", "partners"]


def _where_intervals_stand(value: Any) -> Any:
    if value is not True and value is not False and value != "instead":
        raise PydanticCustomError("intervals", "must be true, false or 'instead'")
    return value


def _how_near(value: Any) -> Any:
    """A share may be a text, as forms and command lines have it."""
    if value is None:
        return None
    if isinstance(value, str) and value not in ("exact", "levels", "off"):
        try:
            value = float(value.replace(",", "."))
        except ValueError:
            value = None
    if isinstance(value, str) or (type(value) in (int, float) and 0 < value < 1):
        return value
    raise PydanticCustomError("insiders", "must be 'exact', a share from 0 to 1, 'levels' or 'off'")


#: How near contributors may come to figures of others.
InsiderAim = Literal["exact", "levels", "off"] | float


def share_of(aim: InsiderAim) -> float:
    """The share of the levels that an aim asks for: 0 for "exact", 1 for "levels"."""
    return {"exact": 0.0, "levels": 1.0}[aim] if isinstance(aim, str) else aim


class SearchSettings(Settings):
    """Settings of the search for a pattern and of its publication."""

    method: Method = "auto"  # how a pattern is searched for
    #: Whether zeros may be hidden to protect others; "auto": only where no pattern protects every
    #: cell otherwise
    zero_cells: ZeroCells = "auto"
    #: Seconds that it may take; what is found until then is proven, too
    time_limit: (
        Annotated[Positive, WithJsonSchema({"type": "number", "exclusiveMinimum": 0})] | None
    ) = None
    seed: Annotated[int, Field(ge=0)] = 0  # the same seed gives the same pattern
    #: How near a contributor may come to figures of others: not to the exact figure ("exact"),
    #: no nearer than a share of the protection levels, than the "levels", or "off"; if it is not
    #: stated, "levels" for values and "off" for counts
    insiders: Annotated[InsiderAim | None, BeforeValidator(_how_near)] = None
    #: Whether the bounds of hidden cells are published, or stand "instead" of their sign
    intervals: Annotated[bool | Literal["instead"], BeforeValidator(_where_intervals_stand)] = False
    reasons: Literal["rule", "kind", "none"] | None = None  # what is told of why a cell is hidden

    @property
    def judged_aim(self) -> InsiderAim | None:
        """Aim against contributors in audits; None as for tables of unknown origin."""
        return None if self.insiders == "off" else self.insiders

    @model_validator(mode="before")
    @classmethod
    def _old_name(cls, stated: Any) -> Any:
        """`singletons = true` is the old name of `insiders = "levels"`, `false` of "off"."""
        if not isinstance(stated, dict) or "singletons" not in stated:
            return stated
        rest = {name: value for name, value in stated.items() if name != "singletons"}
        old = stated["singletons"]
        if old is not None and not isinstance(old, bool):
            raise refused("must be true or false", where="singletons")
        if old is not None and rest.get("insiders") is not None:
            raise refused("is the old name of insiders: state only that", where="singletons")
        return rest if old is None else {**rest, "insiders": "levels" if old else "off"}


def checked_settings(options: Mapping[str, Any], where: str) -> SearchSettings:
    """Options in Python on insiders, reasons and intervals, once they are sound."""
    names = ("insiders", "singletons", "reasons", "intervals")
    try:
        return SearchSettings(**{name: options[name] for name in names if name in options})
    except ValidationError as error:
        wrong = setting_problems(error)[0]
        place = f"{where}: {wrong.where}"
        raise SuppressionError(wrong.what, code="option", where=place, hint=wrong.hint) from None


class SuppressionSettings(SearchSettings):
    """Settings of cell suppression."""

    cost: Literal["value", "count", "unity", "distance"] = "value"  # what hiding a cell costs


class AuditSettings(Settings):
    """Settings of the audit of hidden cells."""

    bounds: bool = False  # whether the bounds of each hidden cell are worked out
    #: How many contributors act together
    coalition: Annotated[int, Field(ge=0)] | None = None
    #: How they were hidden; an audit looks at `zero_cells` and `insiders` alone
    suppression: SuppressionSettings = SuppressionSettings()
