"""The levels of the spanning variables, and how the parts of a table lie above each other.

In: the spanning variables. Out: per variable its levels, and the `Lattice` of parts:
which is directly coarser than which. Public: nothing here knows what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.tables import Dimension
from discreet.tables.parts import Parts, level_numbers

__all__ = ["Lattice", "Level", "Part", "levels_of"]

BoolArray = npt.NDArray[np.bool_]

#: Per spanning variable, the number of a level; see `discreet.tables.parts`.
Part = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """One level of a spanning variable.

    Args:
        number: Its number in `Parts`.
        tree: Which of the variable's classifications it belongs to.
        depth: How far below the total it lies; 0 is the total.
        coarser: Number of the level directly above; None for the total.
        steps: How many levels lie below it in its classification.
        members: Which codes stand on it. Codes that have none below them stand on their
            own level and on all finer ones, so that every level covers every record.
    """

    number: int
    tree: int
    depth: int
    coarser: int | None
    steps: int
    members: BoolArray

    @property
    def size(self) -> int:
        """Number of codes on the level."""
        return int(self.members.sum())


def levels_of(dimension: Dimension) -> Mapping[int, Level]:
    """The levels of a variable by number, finest first; the total is the last.

    >>> from discreet.classifications import Classification
    >>> place = Classification.from_parents("place", {"N": None, "N1": "N", "N2": "N", "S": None})
    >>> levels = levels_of(Dimension(classifications=(place,)))
    >>> {number: (level.coarser, level.size) for number, level in levels.items()}
    {0: (2, 3), 2: (1, 2), 1: (None, 1)}
    """
    numbers = level_numbers(dimension)
    found: dict[int, Level] = {}
    for tree in range(len(dimension.classifications)):
        own = dimension.breakdown == tree
        own[0] = True
        depths = np.where(own, dimension.levels, 0)
        chain = [_number(numbers, own, depths, depth) for depth in range(int(depths.max()), -1, -1)]
        for steps, number in enumerate(chain):
            depth = len(chain) - 1 - steps
            on_it = own & (depths == depth)
            ended = own & dimension.is_leaf & (depths <= depth)
            coarser = chain[steps + 1] if depth else None
            found[number] = Level(
                number=number,
                tree=tree if depth else 0,
                depth=depth,
                coarser=coarser,
                steps=max(steps, found[number].steps) if number in found else steps,
                members=on_it | ended,
            )
    return dict(sorted(found.items(), key=lambda entry: entry[1].depth == 0))


def _number(
    numbers: npt.NDArray[np.int64], own: BoolArray, depths: npt.NDArray[np.int32], depth: int
) -> int:
    """The number of the level at this depth: that of the codes with codes below them."""
    here = numbers[own & (depths == depth)]
    return int(here.max() if depth < int(depths.max()) else here[0])


@dataclass(frozen=True, eq=False)
class Lattice:
    """The parts of a table, from the innermost outward.

    Args:
        levels: Per spanning variable, its levels by number.
        existing: The parts that the table has; None for all.
    """

    levels: tuple[Mapping[int, Level], ...]
    existing: Parts | None = None

    @classmethod
    def of(cls, dimensions: Sequence[Dimension], existing: Parts | None = None) -> Lattice:
        """The parts of a table over these variables."""
        return cls(tuple(levels_of(dimension) for dimension in dimensions), existing)

    @cached_property
    def outward(self) -> tuple[Part, ...]:
        """Every combination of levels; none comes before one that is finer."""
        every = product(*self.levels)
        return tuple(sorted(every, key=self.steps))

    def steps(self, part: Part) -> int:
        """How many levels a part lies above the innermost ones."""
        return sum(level[number].steps for level, number in zip(self.levels, part, strict=True))

    def exists(self, part: Part) -> bool:
        """Whether the table has this part."""
        return self.existing is None or part in self.existing

    def coarser(self, part: Part) -> Iterator[Part]:
        """The parts directly above: one variable one level up."""
        for at, number in enumerate(part):
            above = self.levels[at][number].coarser
            if above is not None:
                yield (*part[:at], above, *part[at + 1 :])
