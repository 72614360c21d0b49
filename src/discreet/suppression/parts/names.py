"""`PartLevel`: what a level of a spanning variable is called, in English and German.

In: the spanning variables and their levels. Out: names of levels and of table parts.
Public: nothing here knows what was counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.suppression.parts.levels import Level
from discreet.tables import Dimension

__all__ = ["LANGUAGES", "PartLevel", "is_within", "name_of_part", "named_level"]

LANGUAGES = ("en", "de")

_LEVEL = {"en": "level {}", "de": "Ebene {}"}
_GRAND_TOTAL = {"en": "grand total", "de": "Gesamtsumme"}


@dataclass(frozen=True, kw_only=True)
class PartLevel:
    """A level of a spanning variable, by its names.

    Args:
        variable: Name of the variable.
        number: Number of the level in `ProtectedTable.suppressed_parts`.
        tree: Which of the variable's classifications it belongs to.
        depth: How far below the total it lies; 0 is the total.
        names: language → name of the variable and, if it has several levels, of the level.
    """

    variable: str
    number: int
    tree: int
    depth: int
    names: Mapping[str, str]

    @property
    def total(self) -> bool:
        """Whether it is the total of the variable."""
        return self.depth == 0

    def above(self, other: PartLevel) -> bool:
        """Whether it is the same level, or a coarser one."""
        return self.total or (self.tree == other.tree and self.depth <= other.depth)

    def to_dict(self) -> dict[str, Any]:
        """The level as plain data."""
        return {
            "variable": self.variable,
            "number": self.number,
            "classification": self.tree,
            "depth": self.depth,
            "names": dict(self.names),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PartLevel:
        """The level from plain data."""
        return cls(
            variable=data["variable"],
            number=data["number"],
            tree=data["classification"],
            depth=data["depth"],
            names=dict(data["names"]),
        )


def named_level(dimension: Dimension, level: Level) -> PartLevel:
    """A level with its names; one without a name is called by its depth.

    >>> from discreet.classifications import Classification
    >>> from discreet.suppression.parts.levels import levels_of
    >>> region = Classification.from_prefixes("region", ["0101", "0201"], [2, 4])
    >>> place = Dimension(classifications=(region.replace(level_names=("state", "district")),))
    >>> [named_level(place, level).names["en"] for level in levels_of(place).values()]
    ['region (district)', 'region (state)', 'region']
    """
    tree = dimension.classifications[level.tree]
    names = {}
    for language in LANGUAGES:
        several = len(dimension.classifications) > 1 and level.depth > 0
        title = tree.title(language) if several else dimension.title(language)
        if level.depth and tree.depth > 1:
            known = level.depth <= len(tree.level_names)
            name = tree.level_names[level.depth - 1] if known else ""
            title = f"{title} ({name or _LEVEL[language].format(level.depth)})"
        names[language] = title
    return PartLevel(
        variable=dimension.name,
        number=level.number,
        tree=level.tree,
        depth=level.depth,
        names=names,
    )


def name_of_part(levels: Sequence[PartLevel], language: str) -> str:
    """What a part is called: its variables without those that are at their total."""
    shown = [level.names[language] for level in levels if not level.total]
    return " × ".join(shown) or _GRAND_TOTAL[language]


def is_within(finer: Sequence[PartLevel], coarser: Sequence[PartLevel]) -> bool:
    """Whether all cells of the coarser part are sums of cells of the finer one."""
    return all(above.above(level) for level, above in zip(finer, coarser, strict=True))
