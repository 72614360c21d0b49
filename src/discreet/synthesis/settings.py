"""What synthetic records are drawn from, and how their utility and risk are measured.

In: values of a command, a form, a call. Out: settings in order. Which columns identify a record,
and the secret of draws, are no settings: they come with the records.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from discreet.settings import LINES, Names, Settings, Text, refused


class SynthesisSettings(Settings):
    """Settings of synthetic records and their examination."""

    #: "trees" learns from records, column by column; "tables" from protected tables alone
    method: Literal["trees", "tables"] = "trees"
    #: Columns, each drawn given those before it; all but identifiers, in their order, if empty
    variables: Names = Field(default_factory=list)
    codes: Names = Field(default_factory=list)  # columns of numbers that are codes
    #: The column that names the household of a person: households are made with their members
    household: Text | None = None
    #: The column by which members are in order, the reference person first; identifiers if None
    order: Text | None = None
    #: Fewest records of a leaf: more lower the risk
    leaf: Annotated[int, Field(ge=3)] = 100
    #: Fewest records of a code that occurs, of a number that is repeated, and of its ends
    threshold: Annotated[int, Field(ge=3)] = 10
    keep_first: bool = False  # whether the first column keeps its frequencies
    #: Conditions of what cannot occur; it is never drawn, and an error where it occurs
    structural_zeros: Annotated[Names, LINES] = Field(default_factory=list)
    #: As many as the original has if None; of households, where one is named
    records: Annotated[int, Field(ge=1)] | None = None
    #: Share of records that nothing is learned from; attacks on the others are held against them
    holdout: Annotated[float, Field(ge=0, le=0.5)] = 0.2
    keys: Names = Field(default_factory=list)  # what an attacker knows of somebody
    sensitive: Names = Field(default_factory=list)  # what he wants to learn
    #: Regressions that are compared: the outcome, then what explains it
    models: list[Names] = Field(default_factory=list)
    #: How much more often an attack may be right for people in the file than for others
    limit: Annotated[float, Field(gt=0, le=1)] = 0.1
    tables: Names = Field(default_factory=list)  # tables of a release that are used; all if empty
    count: Text = "value"  # the column of counts, where cells of tables are rows
    #: How far tables, and what is fitted to them, may be apart: a share of the total
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.05

    @model_validator(mode="after")
    def _of_the_method(self) -> Self:
        for name in ("variables", "keys", "sensitive"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise refused("name each column once", where=name)
        if set(self.keys) & set(self.sensitive):
            raise refused("key variables cannot be sensitive", where="sensitive")
        if bool(self.keys) != bool(self.sensitive):
            raise refused("name both key variables and sensitive ones, or neither", where="keys")
        if self.order and not self.household:
            raise refused("order needs household", where="order")
        if any(len(set(model)) < max(len(model), 2) for model in self.models):
            raise refused("a model needs an outcome and other variables", where="models")
        if self.method == "tables":
            for name in ("codes", "household", "keep_first", "keys", "models"):
                if getattr(self, name):
                    raise refused('needs records: remove it, or method = "trees"', where=name)
        return self
