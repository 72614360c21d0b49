"""A spanning variable of a table: its classification, or several that do not nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from discreet.classifications import Classification
from discreet.errors import Problem, TableError

__all__ = ["Dimension"]

IndexArray = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, repr=False)
class Dimension:
    """One spanning variable (Gliederungsmerkmal).

    Several classifications of one variable that do not nest (grid cells and
    regions; overlapping age groups) share the total and stand one after another.

    Args:
        classifications: One, or several with the same total and else different codes.
        name: Name of the variable; that of the first classification if empty.

    >>> sex = Classification(name="sex", codes=("Total", "m", "w"), parents=(-1, 0, 0))
    >>> Dimension(classifications=(sex,)).codes
    ('Total', 'm', 'w')
    """

    classifications: tuple[Classification, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.classifications:
            raise TableError("a spanning variable needs a classification", code="dimension")
        if not self.name:
            object.__setattr__(self, "name", self.classifications[0].name)
        problems = []
        seen: dict[str, str] = {}
        for tree in self.classifications:
            if tree.total != self.total:
                problems.append(Problem(f"{tree.name} has another total code", self.name))
            for code in tree.codes[1:]:
                if code in seen:
                    what = f"code {code!r} stands in {seen[code]} and in {tree.name}"
                    hint = "give the codes different names"
                    if code == tree.missing:
                        hint = "give one of them another code for missing values (missing=…)"
                    problems.append(Problem(what, self.name, hint))
                seen[code] = tree.name
        if problems:
            raise TableError(
                problems[0].what,
                code="dimension",
                where=self.name,
                hint=problems[0].hint,
                problems=problems[:10],
            )

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.classifications[0].total

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """All codes: the total, then each classification in tree order."""
        rest = (code for tree in self.classifications for code in tree.codes[1:])
        return (self.total, *rest)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """What to add to a code's position in classification k to get its position here."""
        sizes = [len(tree) - 1 for tree in self.classifications]
        return tuple(int(sum(sizes[:k])) for k in range(len(sizes)))

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each code."""
        return MappingProxyType({code: at for at, code in enumerate(self.codes)})

    def _joined(self, parts: list[IndexArray], first: int) -> IndexArray:
        return np.concatenate([np.array([first], dtype=np.int32), *parts]).astype(np.int32)

    @cached_property
    def parents(self) -> IndexArray:
        """Position of each code's parent, -1 for the total."""
        parts = []
        for tree, shift in zip(self.classifications, self.offsets, strict=True):
            above = tree.parent_index[1:]
            parts.append(np.where(above > 0, above + shift, 0).astype(np.int32))
        return self._joined(parts, -1)

    @cached_property
    def levels(self) -> IndexArray:
        """Level of each code: 0 for the total, 1 below it, …"""
        return self._joined([tree.levels[1:] for tree in self.classifications], 0)

    @cached_property
    def breakdown(self) -> IndexArray:
        """Which classification each code belongs to; the total to the first."""
        parts = [
            np.full(len(tree) - 1, k, dtype=np.int32) for k, tree in enumerate(self.classifications)
        ]
        return self._joined(parts, 0)

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Which codes have no children."""
        leaf = np.ones(len(self.codes), dtype=np.bool_)
        leaf[self.parents[1:]] = False
        return leaf

    @cached_property
    def found(self) -> npt.NDArray[np.bool_]:
        """Which codes are listed only because they occur in the data."""
        found = np.zeros(len(self.codes), dtype=np.bool_)
        for tree, shift in zip(self.classifications, self.offsets, strict=True):
            if tree.found == "all":
                found[shift + 1 : shift + len(tree)] = True
            elif tree.found == "missing" and tree.missing in tree.index:
                found[shift + tree.index[tree.missing]] = True
        return found

    @property
    def open(self) -> bool:
        """Whether there may be codes besides those listed, all of them zero."""
        return any(tree.found == "all" for tree in self.classifications)

    def restricted(self, keep: npt.NDArray[np.bool_]) -> Dimension:
        """The same with some of the codes; with a code, those above it are kept.

        Args:
            keep: One boolean per code, true for the total.
        """
        trees = [
            tree.restricted(np.concatenate([keep[:1], keep[shift + 1 : shift + len(tree)]]))
            for tree, shift in zip(self.classifications, self.offsets, strict=True)
        ]
        return Dimension(classifications=tuple(trees), name=self.name)

    def labels(self, language: str = "en") -> tuple[str, ...]:
        """The label of each code."""
        first = self.classifications[0]
        rest = (tree.label(c, language) for tree in self.classifications for c in tree.codes[1:])
        return (first.label(first.total, language), *rest)

    def title(self, language: str = "en") -> str:
        """The name of the variable as printed."""
        return self.classifications[0].title(language) if self._own_title() else self.name

    def _own_title(self) -> bool:
        first = self.classifications[0]
        return bool(first.titles) or first.name == self.name

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<Dimension {self.name}: {len(self.codes)} codes>"
