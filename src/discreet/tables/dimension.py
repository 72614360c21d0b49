"""`Dimension`: a spanning variable of a table, and the table parts that levels make. Public.

In: one classification, or several that do not nest; the codes of cells. Out: the codes
of the variable with their parents and levels, and which table parts (Tabellenteile: all
cells on one combination of levels) the table has. A margin that was not handed in is
unknown, not zero. `Figure`: what the numbers of a table are, besides counts; texts by language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.arrays import CellIndex, IntArray, PositionArray
from discreet.classifications import Classification
from discreet.errors import Problem, TableError, raise_all


@dataclass(frozen=True, kw_only=True, repr=False)
class Dimension:
    """One spanning variable (Gliederungsmerkmal).

    Several classifications of one variable that do not nest (grid cells and
    regions; overlapping age groups) share the total and stand one after another.

    >>> sex = Classification(name="sex", codes=("Total", "m", "w"), parents=(-1, 0, 0))
    >>> Dimension(classifications=(sex,)).codes
    ('Total', 'm', 'w')
    """

    #: One, or several with the same total and else different codes
    classifications: tuple[Classification, ...]
    name: str = ""  # name of the variable; that of the first classification if empty
    #: Whether these are some codes of a variable, side by side: none of them is the total of the
    #: others, whatever the classification says
    chosen: bool = False

    def __post_init__(self) -> None:
        if not self.classifications:
            raise TableError("a spanning variable needs a classification", code="dimension")
        if not self.name:
            object.__setattr__(self, "name", self.classifications[0].name)
        problems = []
        seen: dict[str, str] = {}
        several = len(self.classifications) > 1  # within one, all codes differ
        for tree in self.classifications:
            if tree.total != self.total:
                problems.append(Problem(f"{tree.name} has another total code", self.name))
            for code in tree.codes[1:] if several else ():
                if code in seen:
                    message = f"code {code!r} occurs in {seen[code]} and in {tree.name}"
                    hint = "give the codes different names"
                    if code == tree.missing:
                        hint = "give one of them another code for missing values (missing=…)"
                    problems.append(Problem(message, self.name, hint))
                seen[code] = tree.name
        raise_all(TableError, problems[:10], code="dimension", where=self.name)

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.classifications[0].total

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """All codes: the total, then each classification in tree order."""
        if len(self.classifications) == 1:
            return self.classifications[0].codes
        rest = (code for tree in self.classifications for code in tree.codes[1:])
        return (self.total, *rest)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Offset from a position in classification k to the position here."""
        sizes = [len(tree) - 1 for tree in self.classifications]
        return tuple(int(sum(sizes[:k])) for k in range(len(sizes)))

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each code."""
        return MappingProxyType({code: at for at, code in enumerate(self.codes)})

    def _joined(self, parts: list[PositionArray], first: int) -> PositionArray:
        return np.concatenate([np.array([first], dtype=np.int32), *parts]).astype(np.int32)

    @cached_property
    def parents(self) -> PositionArray:
        """Position of each code's parent, -1 for the total."""
        if self.chosen:
            return np.full(len(self.codes), -1, dtype=np.int32)
        parts = []
        for tree, shift in zip(self.classifications, self.offsets, strict=True):
            above = tree.parent_index[1:]
            parts.append(np.where(above > 0, above + shift, 0).astype(np.int32))
        return self._joined(parts, -1)

    @cached_property
    def levels(self) -> PositionArray:
        """Level of each code: 0 for the total, 1 below it, …"""
        if self.chosen:
            return np.zeros(len(self.codes), dtype=np.int32)
        return self._joined([tree.levels[1:] for tree in self.classifications], 0)

    @cached_property
    def generations(self) -> list[tuple[slice | IntArray, PositionArray, IntArray]]:
        """From the finest level up: the codes, those above them, and where their parts start.

        Codes stand in the order of those above them: a slice where they already do.
        """
        steps = list[tuple[slice | IntArray, PositionArray, IntArray]]()
        for level in range(int(self.levels.max()), 0, -1):
            nodes = np.flatnonzero(self.levels == level)
            nodes = nodes[np.argsort(self.parents[nodes], kind="stable")]
            parents, starts = np.unique(self.parents[nodes], return_index=True)
            first, last = int(nodes[0]), int(nodes[-1])
            together = last - first + 1 == len(nodes) and bool((np.diff(nodes) > 0).all())
            steps.append((slice(first, last + 1) if together else nodes, parents, starts))
        return steps

    @cached_property
    def breakdown(self) -> PositionArray:
        """Which classification each code belongs to; the total to the first."""
        parts = [
            np.full(len(tree) - 1, k, dtype=np.int32) for k, tree in enumerate(self.classifications)
        ]
        return self._joined(parts, 0)

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Which codes have no children."""
        leaf = np.ones(len(self.codes), dtype=np.bool_)
        leaf[self.parents[self.parents >= 0]] = False
        return leaf

    @cached_property
    def level_numbers(self) -> npt.NDArray[np.int64]:
        """The level of each code, with all finest codes on one level whatever their depth.

        Finest codes have 0, the total 1, the codes below it that have codes below them 2, and
        so on. Classifications that do not nest have levels of their own: the finest codes of
        the second one 2, of the third 3, the levels above them follow in turn. Leaving codes
        out changes no other code's number, unless it has no codes below it any more.

        >>> from discreet.classifications import Classification
        >>> parents = {"N": None, "N1": "N", "N2": "N", "S": None}
        >>> place = Classification.from_parents("place", parents)
        >>> Dimension(classifications=(place,)).level_numbers.tolist()
        [1, 2, 0, 0, 0]
        """
        trees, tree, level = len(self.classifications), self.breakdown, self.levels
        inner = np.where(level == 0, 1, trees + 1 + (level - 1) * trees + tree)
        finest = np.where(tree == 0, 0, tree + 1)
        numbers = np.where(self.is_leaf, finest, inner).astype(np.int64)
        numbers.flags.writeable = False
        return numbers

    @cached_property
    def found(self) -> npt.NDArray[np.bool_]:
        """Which codes are listed only because they occur in the data."""
        present = np.zeros(len(self.codes), dtype=np.bool_)
        for tree, shift in zip(self.classifications, self.offsets, strict=True):
            if tree.found == "all":
                present[shift + 1 : shift + len(tree)] = True
            elif tree.found == "missing" and tree.missing in tree.index:
                present[shift + tree.index[tree.missing]] = True
        return present

    def restricted(self, keep: npt.NDArray[np.bool_]) -> Dimension:
        """A copy with some codes and all codes above them."""
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
        first = self.classifications[0]
        own = bool(first.titles) or first.name == self.name
        return first.title(language) if own else self.name

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<Dimension {self.name}: {len(self.codes)} codes>"


#: With at most so many more parts than cells, the wanted ones are noted among all.
_DENSE = 2**16

#: Per part, a number for its level in each variable, as `level_numbers` gives them.
Parts = frozenset[tuple[int, ...]]


def level_numbers(dimension: Dimension) -> npt.NDArray[np.int64]:
    """The level of each code, as `Dimension.level_numbers` has it."""
    return dimension.level_numbers


def _levels(
    dimensions: Sequence[Dimension], index: Sequence[PositionArray]
) -> tuple[list[npt.NDArray[np.int64]], CellIndex]:
    """Per variable the level of each cell, and the numbering of the parts."""
    levels = [level_numbers(dimension) for dimension in dimensions]
    parts = CellIndex(tuple(int(level.max()) + 1 for level in levels))
    return [numbers[part] for numbers, part in zip(levels, index, strict=True)], parts


def parts_of(
    dimensions: Sequence[Dimension], index: Sequence[PositionArray], length: int
) -> Parts | None:
    """The parts that cells lie on; None if these are all there can be.

    >>> from discreet.classifications import Classification
    >>> sex = Dimension(classifications=(Classification.flat("sex", ["m", "w"]),))
    >>> parts_of([sex], [np.array([1, 2], dtype=np.int32)], 2)
    frozenset({(0,)})
    """
    levels, every = _levels(dimensions, index)
    first = np.unique(every.joined(levels, length)[0], return_index=True)[1]
    possible = 1
    for dimension in dimensions:
        possible *= len(np.unique(level_numbers(dimension)))
    if len(first) == possible:
        return None
    if not dimensions:
        return frozenset({()} if len(first) else ())
    return frozenset(zip(*(level[first].tolist() for level in levels), strict=True))


def within(
    dimensions: Sequence[Dimension],
    index: Sequence[PositionArray],
    length: int,
    parts: Parts | None,
) -> npt.NDArray[np.bool_]:
    """Which cells lie on these parts."""
    if parts is None:
        return np.ones(length, dtype=np.bool_)
    every = CellIndex(tuple(int(dimension.level_numbers.max()) + 1 for dimension in dimensions))
    # Levels without codes here have no part.
    known = [part for part in parts if all(a < b for a, b in zip(part, every.sizes, strict=True))]
    wanted = list(np.array(known, dtype=np.int64).reshape(len(known), len(every.sizes)).T)
    if every.size > length + _DENSE:
        return every.find(wanted, _levels(dimensions, index)[0], (len(known), length)) >= 0
    among = np.zeros(every.size, dtype=np.bool_)
    among[every.numbers(wanted, len(known))] = True
    numbers = np.zeros(length, dtype=np.int64)
    for dimension, stride, part in zip(dimensions, every.strides, index, strict=True):
        numbers += (dimension.level_numbers * stride).take(part)
    return among[numbers]


def codes_found(dimensions: Sequence[Dimension]) -> dict[str, Literal["all", "missing"]]:
    """Variables of which codes are listed because they occur, and which codes these are."""
    by_variable: dict[str, Literal["all", "missing"]] = {}
    for dimension in dimensions:
        if bool(dimension.found.any()):
            whole = any(tree.found == "all" for tree in dimension.classifications)
            by_variable[dimension.name] = "all" if whole else "missing"
    return by_variable


def parts_with_figures(parts: Parts, dimensions: Sequence[Dimension]) -> Parts:
    """Parts of the spanning variables as parts of a table with several figures.

    The first figure stands in the place of a total and has a level of its own, so
    each part becomes one part of the first figure and one of all others.

    >>> figures = figure_dimension([Figure(name="n"), Figure(name="rent", kind="mean")])
    >>> sorted(parts_with_figures(frozenset({(0,)}), [figures, figures]))
    [(0, 0), (0, 1)]
    """
    levels = np.unique(level_numbers(dimensions[-1])).tolist()
    return frozenset((*part, level) for part in parts for level in levels)


def by_language(texts: Any, where: str) -> dict[str, str]:
    """Language → text; nothing for None.

    >>> by_language({"en": "Rent", "de": "Miete"}, "titles")
    {'en': 'Rent', 'de': 'Miete'}
    >>> by_language(None, "titles")
    {}
    """
    return texts_by(texts, where, "expected texts by language", 'such as {"en": …, "de": …}')


def texts_by(texts: Any, where: str, what: str, hint: str) -> dict[str, str]:
    """Name → text, as a dictionary; nothing for None."""
    stated = {} if texts is None else texts
    named = isinstance(stated, Mapping)
    if not named or not all(isinstance(text, str) for text in (*stated, *stated.values())):
        raise TableError(what, code="argument", where=where, hint=hint)
    return dict(stated)


#: Name of the dimension of a table with several figures.
FIGURE = "figure"

FigureKind = Literal[
    "count", "sum", "mean", "share", "ratio", "per_thousand", "change", "balance", "index"
]
#: The kinds of figures that tables show: those, and quantiles, which are made of whole tables.
ShownKind = Literal[FigureKind, "quantile"]
_SUMMED: frozenset[str] = frozenset({"count", "sum", "balance"})


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure (Kennzahl) of a table: what it is called and how it is printed.

    >>> Figure(name="rent", kind="mean", titles={"en": "Average rent"}).title("en")
    'Average rent'
    """

    name: str  # short stable name; the code in the figure dimension
    kind: ShownKind = "count"  # what kind of figure it is
    titles: Mapping[str, str] = field(default_factory=dict)  # language → heading
    unit: Mapping[str, str] = field(default_factory=dict)  # language → unit, such as "EUR" or "%"
    decimals: int = 0  # digits after the decimal point when printed

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.name, str) or not self.name:
            problems.append(Problem("a figure needs a name", "name"))
        if self.kind not in get_args(ShownKind):
            known = ", ".join(get_args(ShownKind))
            problems.append(Problem("unknown kind of figure", "kind", f"known: {known}"))
        whole = isinstance(self.decimals, int) and not isinstance(self.decimals, bool)
        if not whole or not 0 <= self.decimals <= 15:
            problems.append(Problem("decimals must be a whole number from 0 to 15", "decimals"))
        raise_all(TableError, problems, code="figure", where=str(self.name))

    @property
    def summed(self) -> bool:
        """Whether a cell without records has the figure 0; else it has none."""
        return self.kind in _SUMMED

    def title(self, language: str = "en") -> str:
        """The heading in `language`, else in another, else the name."""
        if not self.titles:
            return self.name
        return self.titles.get(language) or next(iter(self.titles.values()))

    def unit_text(self, language: str = "en") -> str:
        """The unit in `language`, else in another, else nothing."""
        if not self.unit:
            return ""
        return self.unit.get(language) or next(iter(self.unit.values()))


def figure_dimension(figures: Sequence[Figure]) -> Dimension:
    """The dimension of a table with several figures, one code each.

    The first stands in the place of the total, for a figure has none.

    >>> figure_dimension([Figure(name="n"), Figure(name="rent", kind="mean")]).codes
    ('n', 'rent')
    """
    names = tuple(figure.name for figure in figures)
    tree = Classification(
        name=FIGURE,
        codes=names,
        parents=(-1,) + (0,) * (len(names) - 1),
        titles={"en": "Figure", "de": "Kennzahl"},
        labels={figure.name: dict(figure.titles) for figure in figures if figure.titles},
    )
    return Dimension(classifications=(tree,))
