"""The cells of ingredients on common spanning variables. CONFIDENTIAL.

In: `Ingredient`s, whose code lists may differ only where they were found in the data: a
filter leaves out codes that then do not occur. Out: one list of spanning variables, and for
any places what each ingredient has there, found, joined and moved without the complete grid.
A cell that is printed as zero is the same as one that does not occur: value 0, original 0, no
deviation. No figure made from here on can therefore tell original zeros from changed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, PositionArray, SmallIntArray
from discreet.classifications import Classification, natural_order
from discreet.errors import Problem, TableError, raise_all
from discreet.tables import (
    CellStatus,
    Dimension,
    Ingredient,
    ProtectedTable,
    lacks_number,
    within,
)

Spanning = tuple[Dimension, ...]

_MOST_PROBLEMS = 10


def common_dimensions(tables: Mapping[str, Spanning]) -> Spanning:
    """The spanning variables of all tables, with the codes of all of them."""
    problems = list(_problems(tables))
    raise_all(
        TableError,
        problems,
        code="dimensions",
        many="the ingredients do not match",
        most=_MOST_PROBLEMS,
    )
    joint = []
    for same in zip(*tables.values(), strict=True):
        trees = zip(*(dimension.classifications for dimension in same), strict=True)
        joint.append(Dimension(classifications=tuple(map(_joint_tree, trees)), name=same[0].name))
    return tuple(joint)


def positions(own: Dimension, common: Dimension) -> PositionArray:
    """Position of each code of a variable in the common list."""
    return np.array([common.index[code] for code in own.codes], dtype=np.int32)


def _problems(tables: Mapping[str, Spanning]) -> Iterator[Problem]:
    (first, reference), *others = tables.items()
    names = [dimension.name for dimension in reference]
    for name, dimensions in others:
        if [dimension.name for dimension in dimensions] != names:
            message = f"the spanning variables differ from those of {first}"
            hint = "tabulate both by the same variables, in the same order"
            yield Problem(message, name, hint)
            continue
        for known, own in zip(reference, dimensions, strict=True):
            if len(known.classifications) != len(own.classifications):
                message = f"{own.name} has another classification in {first}"
                yield Problem(message, name)
                continue
            for tree, other in zip(known.classifications, own.classifications, strict=True):
                yield from _tree_problems(tree, other, first, name)


def _tree_problems(
    tree: Classification, other: Classification, first: str, name: str
) -> Iterator[Problem]:
    above = _parents(tree)
    shared = {code: parent for code, parent in _parents(other).items() if code in above}
    if tree.total != other.total:
        yield Problem(f"{other.name} has another total in {first}", name)
        return
    if any(above[code] != parent for code, parent in shared.items()):
        yield Problem(f"codes of {other.name} have other parents in {first}", name)
    for more, fewer in ((tree, other), (other, tree)):
        left = set(more.codes) - set(fewer.codes)
        if more.found == "missing":
            left -= {more.missing}
        if left and more.found != "all":
            message = f"{other.name} has other codes in {first}"
            yield Problem(message, name, "use one classification for both tables")
            return


def _parents(tree: Classification) -> dict[str, str | None]:
    above: list[str | None] = [tree.codes[at] for at in tree.parents[1:]]
    return dict(zip(tree.codes, [None, *above], strict=True))


def _joint_tree(trees: Sequence[Classification]) -> Classification:
    every = {code for tree in trees for code in tree.codes}
    widest = max((tree.found for tree in trees), key=("none", "missing", "all").index)
    for tree in trees:
        if len(tree.codes) == len(every):  # the longest list keeps its order
            return tree if tree.found == widest else tree.replace(found=widest)
    parents: dict[str, str | None] = {}
    labels: dict[str, Mapping[str, str]] = {}
    for tree in trees:
        parents.update(_parents(tree))
        labels = {**tree.labels, **labels}
    codes = list(_ordered(parents, trees[0]))
    at = {code: position for position, code in enumerate(codes)}
    above = [parents[code] for code in codes]
    return trees[0].replace(
        codes=tuple(codes),
        parents=tuple(-1 if parent is None else at[parent] for parent in above),
        labels=labels,
        found=widest,
    )


def _ordered(parents: Mapping[str, str | None], tree: Classification) -> Iterator[str]:
    """Codes in tree order, siblings in natural order, missing values last."""
    children: dict[str, list[str]] = {}
    for code, parent in parents.items():
        if parent is not None:
            children.setdefault(parent, []).append(code)
    waiting = [tree.total]
    while waiting:
        code = waiting.pop()
        yield code
        below = children.get(code, [])
        listed = natural_order(part for part in below if part != tree.missing)
        listed += [part for part in below if part == tree.missing]
        waiting.extend(reversed(listed))


#: Most cells that a share of a total, or an index, may have.
SPREAD_LIMIT = 50_000_000


@dataclass(frozen=True, eq=False)
class CellPlaces:
    """Positions of cells; tables without spanning variables need the length."""

    index: tuple[PositionArray, ...]
    length: int

    def chosen(self, which: BoolArray | IntArray) -> CellPlaces:
        """Some of the places."""
        length = int(np.count_nonzero(which)) if which.dtype == np.bool_ else len(which)
        return CellPlaces(tuple(part[which] for part in self.index), length)

    def moved(self, to: Mapping[int, int]) -> CellPlaces:
        """The places with the codes of some variables exchanged."""
        index = list(self.index)
        for axis, position in to.items():
            index[axis] = np.full(self.length, position, dtype=np.int32)
        return CellPlaces(tuple(index), self.length)

    def __len__(self) -> int:
        return self.length


def find(grid: CellIndex, within: CellPlaces, wanted: CellPlaces) -> IntArray:
    """Positions of wanted places among others, -1 for missing ones."""
    return grid.find(within.index, wanted.index, (len(within), len(wanted)))


def joined(grid: CellIndex, several: Sequence[CellPlaces]) -> CellPlaces:
    """All places of several, each once, in order."""
    index = [np.concatenate(parts) for parts in zip(*(item.index for item in several), strict=True)]
    numbers, _ = grid.joined(index, sum(len(item) for item in several))
    first = np.unique(numbers, return_index=True)[1]
    return CellPlaces(tuple(part[first] for part in index), len(first))


def spread(grid: CellIndex, places: CellPlaces, axes: Sequence[int], name: str) -> CellPlaces:
    """The places with every code of some variables."""
    every = CellIndex(tuple(grid.sizes[axis] for axis in axes))
    length = len(places) * every.size
    if length > SPREAD_LIMIT:
        raise TableError(
            f"the key figure would have {length:,} cells",
            code="grid-size",
            where=name,
            hint=f"at most {SPREAD_LIMIT:,} are possible: leave out a variable or a level",
        )
    index = [np.repeat(part, every.size) for part in places.index]
    for axis, codes in zip(axes, every.every(), strict=True):
        index[axis] = np.tile(codes, len(places))
    return CellPlaces(tuple(index), length)


#: States in which a cell shows a number other than zero.
_NUMBERS = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


@dataclass(frozen=True, repr=False, eq=False)
class IngredientCells:
    """Figures of an ingredient at some places; 0 for missing cells."""

    value: FloatArray  # protected values, 0 where there is no number
    original: FloatArray  # True values, 0 where there is no number
    deviation: FloatArray  # standard deviations of the noise that was possible
    suppressed: BoolArray  # which are not published
    numbered: BoolArray  # which have a number or are zero
    official: BoolArray  # which are published as they are


@dataclass(frozen=True, repr=False, eq=False)
class Component:
    """An ingredient whose cells stand on the common spanning variables."""

    name: str
    ingredient: Ingredient
    dimensions: tuple[Dimension, ...]

    @property
    def protected(self) -> ProtectedTable:
        """The protected figures."""
        return self.ingredient.protected

    @cached_property
    def grid(self) -> CellIndex:
        """The numbering of the cells."""
        return CellIndex.of(self.dimensions)

    @property
    def summed(self) -> bool:
        """Whether cells that are not there are 0, and not without a number."""
        return all(figure.summed for figure in self.protected.figures)

    @cached_property
    def places(self) -> CellPlaces:
        """Places of its cells."""
        index = tuple(
            positions(own, common)[part]
            for own, common, part in zip(
                self.ingredient.dimensions, self.dimensions, self.ingredient.index, strict=True
            )
        )
        return CellPlaces(index, len(self.ingredient))

    @cached_property
    def status(self) -> SmallIntArray:
        """Status of its published cells."""
        own = CellIndex.of(self.ingredient.dimensions)
        here = CellPlaces(self.ingredient.index, len(self.ingredient))
        table = CellPlaces(self.protected.index, self.protected.stored)
        if bool((find(own, here, table) < 0).any()):
            raise TableError(
                "the protected table has cells that are missing in the ingredient",
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
        return ~lacks_number(self.status)

    @cached_property
    def visible(self) -> CellPlaces:
        """Cells that readers see as not absent."""
        nothing = CellStatus.zero_or_changed_to_zero if self.summed else CellStatus.not_applicable
        return self.places.chosen(self.status != nothing)

    def stored(self, places: CellPlaces) -> IntArray:
        """Positions of these cells among the stored ones; -1 for missing cells."""
        return find(self.grid, self.places, places)

    def at(self, places: CellPlaces) -> IngredientCells:
        """Its cells at these places."""
        stored = self.stored(places)
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
        return IngredientCells(
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
    dimensions = common_dimensions(
        {name: ingredient.dimensions for name, ingredient in ingredients.items()}
    )
    by_name = {
        name: Component(name, ingredient, dimensions) for name, ingredient in ingredients.items()
    }
    for name, component in by_name.items():
        shown, known = np.isin(component.status, _NUMBERS), component.ingredient
        sound = np.isfinite(known.value) & np.isfinite(known.deviation) & (known.deviation >= 0)
        if not (sound[shown].all() and np.isfinite(known.original[component.counts]).all()):
            message = "values must be finite numbers, deviations at least 0"
            raise TableError(message, code="ingredient", where=name)
    return by_name
