"""[rules.NAME]: which cells are sensitive. SECRET.

In: the sections as they are written; the rules that there are. Out: rules that are known to be in
order, or what is wrong. Commands that need nothing else of programmes load these alone.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from discreet.release.programme.values import ProgrammeEntry, refuse_keys, refuse_unknown
from discreet.rules import known_rules
from discreet.settings import NameList, Positive


class RulesEntry(ProgrammeEntry):
    """Rules: a key for each rule of the package. SECRET."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _of_rules(cls, value: Any) -> Any:
        """Every rule that there is, None where it is not stated; unknown keys are mistakes."""
        if not isinstance(value, dict):
            return value
        refuse_unknown(cls, value)
        hint = {"hint": "write a number, a list of numbers, or a table of keys"}
        wrong = [
            key
            for key, stated in value.items()
            if key in known_rules()
            and (isinstance(stated, bool) or not isinstance(stated, int | float | list | dict))
        ]
        refuse_keys(cls, dict.fromkeys(wrong, PydanticCustomError("rule", "not a rule", hint)))
        return {**dict.fromkeys(known_rules()), **value}

    @classmethod
    def names(cls) -> list[str]:
        """The keys that it may have."""
        return [*known_rules(), *super().names()]


class CodesEntry(RulesEntry):
    """[[rules.NAME.codes]]: rules in place of those of their kind, in cells with some codes."""

    cells: dict[str, NameList] = Field(default_factory=dict)


class WaiverEntry(ProgrammeEntry):
    """Contributors who have consented to publication."""

    where: str = ""


class RuleSetEntry(RulesEntry):
    """[rules.NAME]: which cells are sensitive. SECRET."""

    missing_safe: bool = False
    weighted: bool = True
    levels: Literal["symmetric", "upper", "sliding"] = "symmetric"
    manual_range: Positive = 20.0
    codes: list[CodesEntry] = Field(default_factory=list)
    waivers: WaiverEntry | None = None
