"""The cells of ingredients on common spanning variables. CONFIDENTIAL.

In: `Ingredient`s. Out: for any places, what each ingredient has there. A cell that is
printed as zero is the same as one that does not occur: value 0, original 0, no deviation.
No figure made from here on can therefore tell original zeros from changed ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.derived.codes import common_dimensions, positions
from discreet.derived.places import Places, find
from discreet.errors import TableError
from discreet.perturbation.ingredient import Ingredient
from discreet.tables import CellStatus, Dimension, ProtectedTable
from discreet.tables.parts import within

__all__ = ["Cells", "Component", "components"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
StatusArray = npt.NDArray[np.int8]

#: States in which a cell shows a number other than zero.
_NUMBERS = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """What an ingredient has at some places; 0 where it has nothing.

    Args:
        value: Protected values, 0 where there is no number.
        original: True values, 0 where there is no number.
        deviation: Standard deviations of the noise that was possible.
        suppressed: Which are not published.
        numbered: Which have a number or are zero.
        official: Which are published as they are.
    """

    value: FloatArray
    original: FloatArray
    deviation: FloatArray
    suppressed: BoolArray
    numbered: BoolArray
    official: BoolArray


@dataclass(frozen=True, repr=False, eq=False)
class Component:
    """An ingredient whose cells stand on the common spanning variables."""

    name: str
    ingredient: Ingredient
    dimensions: tuple[Dimension, ...]

    @property
    def protected(self) -> ProtectedTable:
        """What may be published of it."""
        return self.ingredient.protected

    @cached_property
    def sizes(self) -> list[int]:
        """Number of codes per variable."""
        return [len(dimension) for dimension in self.dimensions]

    @property
    def summed(self) -> bool:
        """Whether cells that are not there are 0, and not without a number."""
        return all(figure.summed for figure in self.protected.figures)

    @cached_property
    def places(self) -> Places:
        """Where its cells stand."""
        index = tuple(
            positions(own, common)[part]
            for own, common, part in zip(
                self.ingredient.dimensions, self.dimensions, self.ingredient.index, strict=True
            )
        )
        return Places(index, len(self.ingredient))

    @cached_property
    def status(self) -> StatusArray:
        """What its cells are when published."""
        own = [len(dimension) for dimension in self.ingredient.dimensions]
        here = Places(self.ingredient.index, len(self.ingredient))
        table = Places(self.protected.index, self.protected.stored)
        if bool((find(own, here, table) < 0).any()):
            raise TableError(
                "the protected table has cells that the ingredient has not",
                code="ingredient",
                where=self.name,
            )
        status = self.protected.absent(here.index, here.length)
        at = find(own, table, here)
        status[at >= 0] = self.protected.status[at[at >= 0]]
        status[self.ingredient.suppressed] = CellStatus.suppressed
        return status

    @property
    def counts(self) -> BoolArray:
        """Which cells may enter a figure: all that are not suppressed and have a number."""
        return ~np.isin(self.status, (CellStatus.suppressed, CellStatus.not_applicable))

    @cached_property
    def visible(self) -> Places:
        """Where it is anything but absent, as far as can be seen from outside."""
        nothing = CellStatus.zero_or_changed_to_zero if self.summed else CellStatus.not_applicable
        return self.places.chosen(self.status != nothing)

    def at(self, places: Places) -> Cells:
        """Its cells at these places."""
        stored = find(self.sizes, self.places, places)
        there = stored >= 0
        status = np.full(len(places), CellStatus.zero_or_changed_to_zero, dtype=np.int8)
        if not self.summed:
            status[:] = CellStatus.not_applicable
        status[there] = self.status[stored[there]]
        parts = self.protected.suppressed_parts
        if parts:
            hidden = within(self.dimensions, places.index, len(places), parts)
            status[hidden] = CellStatus.suppressed
        shown = np.isin(status, _NUMBERS)
        return Cells(
            value=_taken(self.ingredient.value, stored, shown),
            original=_taken(self.ingredient.original, stored, shown),
            deviation=_taken(self.ingredient.deviation, stored, shown),
            suppressed=status == CellStatus.suppressed,
            numbered=status != CellStatus.not_applicable,
            official=status == CellStatus.official,
        )


def _taken(column: FloatArray, stored: IntArray, which: BoolArray) -> FloatArray:
    """The entries of a column for some of the places; 0 for the others."""
    taken = np.zeros(len(stored), dtype=np.float64)
    taken[which] = column[stored[which]]
    return taken


def components(ingredients: Mapping[str, Ingredient]) -> dict[str, Component]:
    """The ingredients on common spanning variables."""
    dimensions = common_dimensions({name: made.dimensions for name, made in ingredients.items()})
    found = {name: Component(name, made, dimensions) for name, made in ingredients.items()}
    for name, component in found.items():
        _check_numbers(name, component)
    return found


def _check_numbers(name: str, component: Component) -> None:
    shown = np.isin(component.status, _NUMBERS)
    made = component.ingredient
    known = np.isfinite(made.value) & np.isfinite(made.deviation) & (made.deviation >= 0)
    if not bool(known[shown].all() and np.isfinite(made.original[component.counts]).all()):
        raise TableError(
            "values are finite numbers, deviations at least 0", code="ingredient", where=name
        )
