"""Evidence: what records tell of tables, as far as rules ask for it. CONFIDENTIAL but for figures
that are published.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from discreet_service.policies.asked import Box, Shape

if TYPE_CHECKING:
    from discreet.arrays import BoolArray, FloatArray, IntArray
    from discreet.disclosure import Axis
    from discreet_service.policies.sketches import UniverseSketch

#: Per variable of a layer, by name, its level: 1 for the coarsest.
Levels = tuple[tuple[str, int], ...]


class LayerFigures(NamedTuple):
    """Published cells on one level of each of some variables."""

    box: Box  # The variables and levels, by name of variable; their codes do not matter
    levels: tuple[int, ...]  # The numbers of these levels
    cells: IntArray  # Numbers of cells in the grid of all codes of these levels, ascending
    figures: FloatArray  # What they show
    noisy: BoolArray  # Which of them have noise: not zeros, nor what is official

    @property
    def key(self) -> Levels:
        """Variables and levels."""
        return tuple((axis.variable, at) for axis, at in zip(self.box, self.levels, strict=True))


class Evidence(Protocol):
    """Evidence of records on a requested table, computed when a rule needs it."""

    def universe_count(self) -> int:
        """The perturbed count of the records that the filters let through."""
        ...

    def universe_sketch(self, size: int) -> UniverseSketch:
        """The sketch of the units that the filters let through. CONFIDENTIAL."""
        ...

    def published_counts(self) -> IntArray:
        """The perturbed inner cells of the table, an array with one axis for each variable."""
        ...

    def axis(self, variable: str) -> Axis:
        """The classification of a variable."""
        ...

    def whole(self, shape: Shape) -> Shape:
        """A shape with all codes of its levels; of areas, those with one area above in common."""
        ...

    def layer_figures(self, shape: Shape, *, every: bool) -> Iterable[LayerFigures]:
        """The perturbed figures of a table of such a whole shape, layer by layer.

        Args:
            shape: What it shows of each variable.
            every: Whether with the parts that answers hide.
        """
        ...
