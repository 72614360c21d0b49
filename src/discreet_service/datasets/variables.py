"""Variables of a catalogue: codes on levels, each of which divides the records without rest.
Public: nothing here knows which codes occur.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, IntArray, PositionArray
from discreet.classifications import Classification
from discreet.disclosure import Axis
from discreet.tables import Dimension


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogueLevel:
    """A level of a variable: codes that divide the records without rest."""

    number: int  # 1 for the coarsest
    name: str
    codes: int  # How many codes it has


@dataclass(frozen=True, kw_only=True, repr=False)
class CatalogueVariable:
    """A variable that can be asked for.

    >>> place = Classification.from_parents("place", {"N": None, "N1": "N", "N2": "N", "S": None})
    >>> variable = CatalogueVariable(name="place", tree=place, geography=True)
    >>> [(level.name, level.codes) for level in variable.levels]
    [('1', 2), ('2', 3)]
    >>> variable.codes_of(2)
    ('N1', 'N2', 'S')
    """

    name: str
    tree: Classification  # Its classification, which has a code for every record
    geography: bool  # Whether it tells where
    # Names under which the programme crosses it with nothing: it and others are several
    # classifications of one variable, of which a table has one
    joined: tuple[str, ...] = ()

    merged: str = ""  # The variable whose neighbouring classes it merges; empty for none

    @cached_property
    def levels(self) -> tuple[CatalogueLevel, ...]:
        """Its levels, coarsest first."""
        names = self.tree.level_names
        return tuple(
            CatalogueLevel(
                number=k, name=names[k - 1] if k <= len(names) else str(k), codes=len(self.cuts[k])
            )
            for k in range(1, len(self.cuts))
        )

    @cached_property
    def axis(self) -> Axis:
        """Its classification as a row of levels, each of which divides the records."""
        return Axis(self.tree.name, self.tree)

    @property
    def cuts(self) -> tuple[PositionArray, ...]:
        """Per level from the total on, the positions of its codes in the tree."""
        return self.axis.cuts

    @cached_property
    def members(self) -> tuple[frozenset[int], ...]:
        """The same as sets."""
        return tuple(frozenset(cut.tolist()) for cut in self.cuts)

    @cached_property
    def level_numbers(self) -> Mapping[str, int]:
        """Each name of a level, and each number as a text, with its number."""
        found = {str(level.number): level.number for level in self.levels}
        return found | {level.name: level.number for level in self.levels}

    @property
    def finest(self) -> int:
        """The number of the finest level."""
        return len(self.cuts) - 1

    def level(self, number: int) -> CatalogueLevel:
        """A level by its number."""
        return self.levels[number - 1]

    def codes_of(self, number: int) -> tuple[str, ...]:
        """The codes of a level, in the order of the classification."""
        return tuple(self.tree.codes[at] for at in self.cuts[number].tolist())

    @cached_property
    def _on_levels(self) -> dict[tuple[int, ...], Dimension]:
        return {}

    def on_levels(self, levels: tuple[int, ...]) -> Dimension:
        """All codes of some levels; many answers have the same."""
        if levels not in self._on_levels:
            self._on_levels[levels] = self.of_codes({
                at for number in levels for at in self.cuts[number].tolist()
            })  # fmt: skip
        return self._on_levels[levels]

    def of_codes(self, positions: Collection[int]) -> Dimension:
        """Some codes and the total, each below the next one above it among them."""
        tree, kept, parents = self.tree, [0, *sorted(positions)], [-1]
        place = {at: k for k, at in enumerate(kept)}
        for at in kept[1:]:
            above = tree.parents[at]
            while above not in place:
                above = tree.parents[above]
            parents.append(place[above])
        codes = tuple(tree.codes[at] for at in kept)
        cut = Classification(
            name=tree.name,
            codes=codes,
            parents=tuple(parents),
            labels={code: tree.labels[code] for code in codes if code in tree.labels},
            titles=tree.titles,
            missing=tree.missing,
        )
        return Dimension(classifications=(cut,))

    def stands_on(self, at: int, number: int) -> bool:
        """Whether the code at a position stands on a level."""
        return at in self.members[number]

    def on_level(self, number: int, finest: PositionArray | IntArray) -> PositionArray:
        """Positions of finest codes among the codes of a level; -1 stays -1."""
        return np.append(self.axis.up(-1, number), np.int32(-1))[finest]

    def coarsest_with(self, positions: Iterable[int]) -> int:
        """The coarsest level on which all of some codes stand; 0 if there is none."""
        wanted = set(positions)
        return next((k for k in range(1, len(self.cuts)) if wanted <= self.members[k]), 0)

    @cached_property
    def _descent(self) -> list[tuple[PositionArray, PositionArray]]:
        """Per level from the first on, its codes and those above them."""
        tree = self.tree
        levels = (np.flatnonzero(tree.levels == k) for k in range(1, tree.depth + 1))
        return [(own.astype(np.int32), tree.parent_index[own]) for own in levels]

    def within(self, positions: Collection[int]) -> BoolArray:
        """Per code of the tree, whether it is one of some codes, or stands below one."""
        marks = np.zeros(len(self.tree), dtype=np.bool_)
        marks[[*positions]] = True
        for own, above in self._descent:
            marks[own] |= marks[above]
        return marks

    def above(self, positions: Iterable[int]) -> frozenset[int]:
        """The positions of all codes above some codes, the total included."""
        found: set[int] = set()
        for at in positions:
            up = self.tree.parents[at]
            while up >= 0 and up not in found:
                found.add(up)
                up = self.tree.parents[up]
        return frozenset(found)

    def leaves_within(self, positions: Collection[int]) -> BoolArray:
        """Per code of the tree, whether it is a finest one of some codes."""
        return self.within(positions) & self.tree.is_leaf

    def coarsest_cover(self, leaves: BoolArray) -> tuple[int, tuple[int, ...]]:
        """The coarsest level whose codes make up some finest ones, and these codes."""
        for number, cut in enumerate(self.cuts):
            code = self.axis.up(-1, number)
            whole = np.bincount(code, minlength=len(cut))
            inside = np.bincount(code, leaves[self.cuts[-1]], minlength=len(cut))
            if bool(((inside == 0) | (inside == whole)).all()):
                return number, tuple(cut[inside > 0].tolist())
        raise AssertionError(self.name)

    def __repr__(self) -> str:
        return f"<CatalogueVariable {self.name}: {len(self.tree):,} codes>"


def folded(text: str) -> str:
    """A text as it is compared in searches: no capitals, no accents.

    >>> folded("Française"), folded("GRÖSSE")
    ('francaise', 'grosse')
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


def found_variables(
    variables: Mapping[str, CatalogueVariable],
    synonyms: Mapping[str, Sequence[str]],
    search: str,
    language: str,
) -> list[tuple[str, str, str, str]]:
    """Variables, then codes, that have all words of a search in a language: name of the variable,
    code (empty for the variable itself), and what both are called.

    >>> place = Classification.from_parents("place", {"N": None, "S": None})
    >>> variable = CatalogueVariable(name="place", tree=place, geography=True)
    >>> found_variables({"place": variable}, {"place": ["area"]}, "AREA", "en")
    [('place', '', 'place', '')]
    >>> found_variables({"place": variable}, {}, "n", "en")
    [('place', 'N', 'place', 'N')]
    """
    wanted, whole, parts = folded(search).split(), [], []
    for name, variable in variables.items() if wanted else ():
        tree, title = variable.tree, variable.tree.title(language)
        about = folded(" ".join((name, title, *synonyms.get(name, ()))))
        if all(word in about for word in wanted):
            whole.append((name, "", title, ""))
        for code, at in tree.index.items():
            label = tree.label(code, language) if variable.coarsest_with([at]) else ""
            own = folded(f"{label} {code}") if label else ""
            said = [word in own for word in wanted]
            if any(said) and all(a or word in about for a, word in zip(said, wanted, strict=True)):
                parts.append((name, code, title, label))
    return [*whole, *parts]


def grouped_apart(one: CatalogueVariable, level: int, other: CatalogueVariable, more: int) -> bool:
    """Whether two levels group one column, or one variable of the programme, so that neither is
    finer; of two columns nobody knows that without the records.

    >>> fives, law = (
    ...     CatalogueVariable(
    ...         name="age", tree=Classification.from_intervals("age", bounds), geography=False
    ...     )
    ...     for bounds in ([0, 5, 10, 15, 90], [0, 6, 15, 90])
    ... )
    >>> grouped_apart(fives, 1, law, 1), grouped_apart(fives, 1, fives, 1)
    (True, False)
    """
    if one.tree.source != other.tree.source:
        return not set(one.joined).isdisjoint(other.joined)
    parts = common_parts(one, other)
    if parts is None:
        return min(len(one.cuts[level]), len(other.cuts[more])) > 1
    mine, theirs = (
        variable.on_level(number, places[:-1])
        for variable, number, places in zip((one, other), (level, more), parts, strict=True)
    )
    pairs = np.unique(np.stack([mine, theirs]), axis=1).shape[1]
    return bool(len(np.unique(mine)) < pairs > len(np.unique(theirs)))


def common_parts(
    one: CatalogueVariable, other: CatalogueVariable
) -> tuple[PositionArray, PositionArray] | None:
    """For each part of a column that two classifications tell apart, the finest code of both.

    Codes by their number among the finest; -1 where a classification has none. The last part are
    records without a value. None where codes and intervals cannot be compared.
    """
    both = (one.tree, other.tree)
    bounds = [tree.bounds for tree in both if tree.bounds is not None]
    if len(bounds) == 1:
        return None
    # Below the first limit, and from each limit on; or the finest codes themselves.
    values: list[float | str] = [-np.inf, *sorted({bound for some in bounds for bound in some})]
    if not bounds:
        values = sorted({code for tree in both for code in tree.leaves if code != tree.missing})
    found = []
    for tree in both:
        numbers = {code: number for number, code in enumerate(tree.leaves)}
        if tree.bounds is None:
            places = [numbers.get(str(value), -1) for value in values]
        else:
            at = np.searchsorted(np.array(tree.bounds), values, side="right") - 1
            places = np.where(at < len(tree.bounds) - 1, at, -1).tolist()
        found.append(np.array([*places, numbers.get(tree.missing, -1)], dtype=np.int32))
    return found[0], found[1]
