"""Table parts of one source: what one table hides, none prints, whatever columns are called.

In: the decisions on each table, what spans it, its filter; the `Partitions` of the records where
they are at hand (CONFIDENTIAL), else levels are compared by variables and codes. Out: the same,
with every part hidden whose cells print hidden cells, or add up to them: area by area where both
tables have the areas, and else as a whole. Areas that another grouping would leave alone get one
more beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import code_lines
from discreet.protection.parts.decisions import PartDecision, PartDecisions, PartReason
from discreet.protection.parts.levels import (
    AreaParts,
    PartKey,
    PartLattice,
    PartLevel,
    levels_of,
)
from discreet.tables import Dimension, Parts, level_numbers

if TYPE_CHECKING:
    from discreet.disclosure import Coverage, Partitions

#: Why a part is hidden that passed.
ELSEWHERE = PartReason("hidden-elsewhere")

#: Of more hidden areas it is not examined what larger areas of two groupings say together.
_MOST_AREAS = 1_000


@dataclass(frozen=True, eq=False)
class _PartCut:
    """A level of a variable, or a filter (no variable); of what is equal there is one only."""

    variable: str
    codes: frozenset[str]
    partition: int  # of the records; -1 where these do not say


#: A part: its levels, but for totals.
_PartCuts = tuple[_PartCut, ...]
#: Hidden areas by filter and part, and by variable, level and all levels: code → place.
_AreasOf = dict[tuple[str, _PartCuts], dict[tuple[str, _PartCut, _PartCuts], dict[str, int]]]
#: Some codes on each level of a variable.
_CodesOn = dict[_PartCut, frozenset[str]]


class _HiddenAreas(NamedTuple):
    """Areas on one level of a variable that hide one part."""

    variable: str
    cut: _PartCut
    levels: _PartCuts  # all levels of the variable
    codes: tuple[str, ...]
    places: IntArray  # the same as codes of the partition


def released_parts(
    table: str, dimensions: Sequence[Dimension], existing: Parts | None
) -> PartDecisions:
    """Decisions on a table without rules: every part is released."""
    lattice = PartLattice(dimensions, existing)
    parts = [lattice.named(part) for part in filter(lattice.exists, lattice.outward)]
    return PartDecisions(
        table=table,
        variables=tuple(dimension.name for dimension in dimensions),
        parts=tuple(PartDecision(levels=levels, action="released") for levels in parts),
    )


class PartTies:
    """Which parts of tables print cells of other parts (confidential).

    Args:
        spanning: What spans each table.
        where: The filter of each table; none where it is left out.
        partitions: The partitions of the records, if they are at hand.
        named: The tables that are compared by the names of variables and codes; all if None.
    """

    def __init__(
        self,
        spanning: Mapping[str, Sequence[Dimension]],
        where: Mapping[str, str] | None = None,
        partitions: Partitions | None = None,
        named: Collection[str] | None = None,
    ) -> None:
        self.spanning = {
            name: {dimension.name: dimension for dimension in own} for name, own in spanning.items()
        }
        filters = where or {}
        self.where = {name: " ".join(filters.get(name, "").split()) for name in spanning}
        self._partitions = partitions
        self.named = frozenset(spanning if named is None else named)
        self._cuts: dict[tuple[str, frozenset[str], int], _PartCut] = {}
        self._levels: dict[int, dict[tuple[int, int], _PartCut]] = {}
        self._finer: dict[_PartCuts, bool] = {}
        self._filters: dict[str, _PartCuts] = {}
        self._inside: dict[tuple[int, int], tuple[_HiddenAreas, _CodesOn]] = {}
        self._lines = code_lines(own for each in self.spanning.values() for own in each.values())
        kinds: dict[tuple[str, str], set[Any]] = {}
        for name, dimensions in self.spanning.items():
            for variable, dimension in dimensions.items():
                parents = dimension.parents.tobytes(), dimension.breakdown.tobytes()
                kinds.setdefault((self.where[name], variable), set()).add(
                    (dimension.codes, parents)
                )
        #: Filters and variables that tables group in several ways
        self.crossed = frozenset(key for key, own in kinds.items() if len(own) > 1)

    @cached_property
    def _records(self) -> Coverage:
        assert self._partitions is not None  # nothing else is tied by records
        from discreet.disclosure import Coverage

        return Coverage(self._partitions)

    def agreed(self, decisions: Mapping[str, PartDecisions]) -> dict[str, PartDecisions]:
        """The decisions with all hidden that would print what others hide."""
        agreed = dict(decisions)
        while True:
            self._inside.clear()
            whole: dict[tuple[str, _PartCuts], None] = {}
            single: _AreasOf = {}
            for name, decided in agreed.items():
                for part in decided.parts:
                    if part.action == "suppressed":
                        whole[self.where[name], self._cuts_of(name, part.levels)] = None
                self._put_areas(decided, whole, single)
            joined = {
                part: [
                    _HiddenAreas(*level, tuple(codes), np.array(list(codes.values())))
                    for level, codes in own.items()
                ]
                for part, own in single.items()
            }
            before, parts, areas_of = agreed, _HiddenParts(self, whole), _HiddenParts(self, joined)
            agreed = {
                name: self._with_hidden(name, own, parts, areas_of, joined)
                for name, own in agreed.items()
            }
            if agreed != before:
                continue
            more = self._beside_crossed(agreed)
            if not more:
                return agreed
            agreed |= more

    # -- parts as cuts -----------------------------------------------------------------

    def _cut(self, variable: str, codes: frozenset[str], partition: int | None) -> _PartCut:
        key = variable, codes, -1 if partition is None else partition
        return self._cuts.setdefault(key, _PartCut(*key))

    def _levels_of(self, dimension: Dimension) -> Mapping[tuple[int, int], _PartCut]:
        """The cuts of a variable, by classification and depth."""
        if id(dimension) not in self._levels:
            self._levels[id(dimension)] = own = {}
            for level in levels_of(dimension).values():
                if not level.depth:
                    continue
                codes = frozenset(dimension.codes[at] for at in np.flatnonzero(level.members))
                partition = None
                if self._partitions is not None and not dimension.chosen:
                    tree = dimension.classifications[level.tree]
                    partition = self._partitions.of_level(tree, level.depth)
                cut = self._cut(dimension.name, codes - {dimension.total}, partition)
                own[level.tree, level.depth] = cut
        return self._levels[id(dimension)]

    def _cut_of(self, name: str, part: PartDecision, variable: str) -> _PartCut:
        """The level of one variable of a part."""
        level = next(level for level in part.levels if level.variable == variable)
        return self._levels_of(self.spanning[name][variable])[level.tree, level.depth]

    def _cuts_of(self, name: str, levels: Sequence[PartLevel]) -> _PartCuts:
        """The levels of a part, but for totals."""
        return tuple(
            self._levels_of(self.spanning[name][level.variable])[level.tree, level.depth]
            for level in levels
            if not level.total
        )

    def parts_beside(self, decided: PartDecisions, variable: str) -> Mapping[PartKey, _PartCuts]:
        """The parts of a table over all variables but one."""
        return {
            _rest(part, variable): self._cuts_of(
                decided.table, [level for level in part.levels if level.variable != variable]
            )
            for part in decided.parts
        }

    def _put_areas(
        self, decided: PartDecisions, whole: dict[tuple[str, _PartCuts], None], single: _AreasOf
    ) -> None:
        """Add hidden areas by the part that they hide and their level; all together as a whole."""
        if decided.areas is None:
            return
        variable, where = decided.areas.variable, self.where[decided.table]
        dimension = self.spanning[decided.table][variable]
        others, levels = self.parts_beside(decided, variable), self._levels_of(dimension)
        for code, parts in decided.areas.hidden.items():
            at = dimension.index.get(code, -1)
            tree, depth = int(dimension.breakdown[at]), int(dimension.levels[at])
            for cuts in (others[key] for key in parts if at >= 0):
                if at == 0:
                    whole[where, cuts] = None
                    continue
                level = variable, levels[tree, depth], tuple(levels.values())
                own = single.setdefault((where, cuts), {}).setdefault(level, {})
                own[code] = dimension.classifications[tree].index[code]

    # -- what one hides, others hide ---------------------------------------------------

    def _with_hidden(
        self,
        name: str,
        decided: PartDecisions,
        parts: _HiddenParts,
        parts_of_areas: _HiddenParts,
        single: Mapping[tuple[str, _PartCuts], Sequence[_HiddenAreas]],
    ) -> PartDecisions:
        """The decisions on a table with all hidden that would print what others hide."""
        alike = {
            areas.variable
            for (where, _), every in single.items()
            for areas in every
            if where == self.where[name] and name in self.named
        }
        own = decided.areas
        variable = next((v for v in decided.variables if v in alike), "")
        variable = variable if own is None else own.variable
        hidden = {code: set(parts) for code, parts in (own.hidden if own else {}).items()}
        gone = set(decided.suppressed)
        others: set[str] = set()  # hidden codes of another column than that of the areas
        for part in decided.parts:
            cuts, key = self._cuts_of(name, part.levels), part.part
            if key not in gone and parts.printed_by(name, cuts):
                gone.add(key)
            for where, other in parts_of_areas.told_by(name, cuts):
                for areas in single[where, other]:
                    if not self.prints(where, other, name, cuts, areas):
                        continue
                    listed = self._listed(areas, name, part)
                    for level, codes in listed.items():
                        variable = variable or level
                        if variable != level:
                            gone.add(key)
                            continue
                        for code in codes:
                            hidden.setdefault(code, set()).add(_rest(part, level))
                        if not self._one_column(areas.cut, self._cut_of(name, part, level)):
                            others |= codes
                    if self._adds_up(areas, where, name, part, listed, hidden):
                        gone.add(key)
        decided = _without(decided, gone)
        if not variable:
            return decided
        joint = {code: frozenset(parts) for code, parts in hidden.items() if parts}
        decided = replace(decided, areas=AreaParts(variable=variable, hidden=joint))
        if others:  # the areas beside may be shown elsewhere
            decided = _without(decided, _AreaTable(self, decided).with_one_alone(others))
        if (self.where[name], variable) in self.crossed and name in self.named:
            return replace(decided, areas=_AreaTable(self, decided).beside())
        return decided

    def _listed(
        self, areas: _HiddenAreas, name: str, part: PartDecision
    ) -> dict[str, frozenset[str]]:
        """Variable → its codes on a part that are hidden areas, or lie in them."""
        listed = {}
        for variable in (level.variable for level in part.levels if not level.total):
            dimension = self.spanning[name][variable]
            key = id(areas), id(dimension)
            if key not in self._inside:
                self._inside[key] = areas, self._codes_inside(areas, dimension)
            if codes := self._inside[key][1][self._cut_of(name, part, variable)]:
                listed[variable] = codes
        return listed

    def _codes_inside(self, areas: _HiddenAreas, dimension: Dimension) -> _CodesOn:
        """For each level of a variable, its codes that are hidden areas or lie in them.

        By name these are the areas themselves, or the largest in them. By the records, no level
        is looked at where another has the areas, or is one whose own areas are hidden.
        """
        levels, named = self._levels_of(dimension), set[str]()
        if dimension.name == areas.variable:
            lines, codes = self._lines[dimension.name], dimension.codes
            named = {code for code in areas.codes if code in dimension.index}
            missing = set(areas.codes) - named
            for code, parent in zip(codes, dimension.parents.tolist(), strict=True):
                if parent >= 0 and not missing.isdisjoint(lines[code] - lines[codes[parent]]):
                    named.add(code)
        inside = {cut: cut.codes & named for cut in levels.values()}
        own = areas.cut.partition
        alike = self._stands_in(own, levels.values())
        for (tree, _), cut in levels.items():
            q = cut.partition
            if self._one_column(areas.cut, cut) or not self._tied or min(own, q) < 0:
                continue
            if (alike or self._stands_in(q, areas.levels)) and not self._records.same(own, q):
                continue
            places = areas.places[self._records.covered(own, q)[areas.places]]
            pairs = self._records.pairs(own, q)
            within = places if own == q or pairs is None else pairs[1][np.isin(pairs[0], places)]
            texts = dimension.classifications[tree].codes
            inside[cut] |= {texts[at] for at in np.unique(within).tolist() if at < len(texts)}
        return inside

    def _adds_up(
        self,
        areas: _HiddenAreas,
        where: str,
        name: str,
        part: PartDecision,
        listed: Collection[str],
        hidden: Mapping[str, Collection[PartKey]],
    ) -> bool:
        """Whether larger areas, or a filter, let readers work out hidden areas from a part."""
        own, theirs = areas.cut.partition, self.where[name]
        if own < 0 or not self._tied:
            return False
        records = self._records
        up, constant = records.partitions.up, records.partitions.constant
        for level in (at for at in part.levels if not at.total and at.variable not in listed):
            dimension = self.spanning[name][level.variable]
            levels = self._levels_of(dimension)
            cut = self._cut_of(name, part, level.variable)
            q = cut.partition
            if self._one_column(areas.cut, cut) or self._stands_in(q, areas.levels):
                continue
            if (own, q) not in up or constant >> q & 1:
                continue
            its = tuple(levels.values())
            if not all(self._stands_in(at.partition, its) for at in areas.levels):
                return True
            # both have all these areas: what matters is what larger ones of both say together
            texts, rest = dimension.classifications[level.tree].codes, _rest(part, level.variable)
            larger = up[own, q][areas.places]
            for at in np.unique(larger).tolist():
                if at < len(texts) and rest in hidden.get(texts[at], ()):
                    larger[larger == at] = -1  # it is hidden itself
            if len(larger) > _MOST_AREAS or (np.bincount(larger[larger >= 0]) == 1).any():
                return True
            above = {other.partition for other in areas.levels} - {own}
            known = [up[own, p][areas.places] for p in sorted(above) if (own, p) in up]
            known.append(np.zeros_like(larger))
            before, after = (_worked_out(_sums(rows)) for rows in (known, [*known, larger]))
            if (after & ~before).any():
                return True
        filters = self.filter_cut(theirs)
        if not filters or where == theirs or self._joined(where, theirs):
            return False
        return bool(records.covered(own, filters[0].partition)[areas.places].any())

    # -- what prints what --------------------------------------------------------------

    def filter_cut(self, where: str) -> _PartCuts:
        """The cut of a filter, none where there is no filter."""
        if where not in self._filters:
            known = None if self._partitions is None else self._partitions.of_filter(where)
            self._filters[where] = (self._cut("", frozenset({where}), known),) if where else ()
        return self._filters[where]

    @cached_property
    def _universes(self) -> Mapping[str, int]:
        return self._records.universes(self.where.values())

    def _joined(self, where: str, other: str) -> bool:
        """Whether the records of one filter are worked out from those of others."""
        return self._universes[where] == self._universes[other]

    def _stands_in(self, p: int, cuts: Iterable[_PartCut]) -> bool:
        """Whether a partition is that of one of some levels."""
        return self._tied and any(self._records.same(p, cut.partition) for cut in cuts)

    def prints(
        self,
        where: str,
        hidden: _PartCuts,
        name: str,
        shown: _PartCuts,
        areas: _HiddenAreas | None = None,
    ) -> bool:
        """Whether a part whose levels tell of a hidden one prints its cells, or adds up to them."""
        theirs = self.where[name]
        if where == theirs:
            variables = {at.variable: at for at in shown}
            return name in self.named or not all(
                at.variable in variables and self.covers(at, variables[at.variable])
                for at in hidden
            )
        filters = self.filter_cut(where), self.filter_cut(theirs)
        if not self._tied or any(at.partition < 0 for own in filters for at in own):
            return False
        if self._joined(where, theirs) or not theirs:
            return True
        told: list[tuple[int, IntArray | slice]] = [
            (at.partition, slice(None)) for at in (*hidden, *filters[0])
        ]
        told += [] if areas is None else [(areas.cut.partition, areas.places)]
        return any(self._records.taken(p, theirs)[codes].any() for p, codes in told if p >= 0)

    def needed(self, where: str, hidden: _PartCuts, theirs: str) -> _PartCuts | None:
        """The cuts of a hidden part, and its filter, that a part with another filter must tell of.

        None if no part with that filter does.
        """
        if where == theirs:
            return hidden
        if not self._tied:
            return None
        return hidden if self._joined(where, theirs) else (*hidden, *self.filter_cut(where))

    def covers(self, hidden: _PartCut, shown: _PartCut) -> bool:
        """Whether a level tells something of another; of one variable, whether it is finer."""
        p, q = hidden.partition, shown.partition
        if self.finer(hidden, shown):
            return True
        if min(p, q) < 0 or not self._tied:
            return False
        if self._one_column(hidden, shown):
            return (q, p) in self._records.partitions.up
        return bool(self._records.covered(p, q).any())

    def finer(self, one: _PartCut, other: _PartCut) -> bool:
        """Whether a level is another one or finer, by variable and codes."""
        if (one, other) not in self._finer:
            lines, none = self._lines.get(one.variable, {}), frozenset[str]()
            self._finer[one, other] = one.variable == other.variable and (
                one.codes == other.codes
                or all(not lines.get(code, none).isdisjoint(one.codes) for code in other.codes)
            )
        return self._finer[one, other]

    def _one_column(self, one: _PartCut, other: _PartCut) -> bool:
        """Whether two levels are of one variable and, if that is known, of one column."""
        if one.variable != other.variable or not one.variable:
            return False
        p, q = one.partition, other.partition
        if min(p, q) < 0:
            return True
        every = self._records.partitions.partitions
        return every[p].variable == every[q].variable

    @cached_property
    def _tied(self) -> bool:
        """Whether the records tie parts together that names do not."""
        if self._partitions is None:
            return False
        filters = set(self.where.values())
        if len(filters) > 1:
            return True
        cuts = {
            cut
            for dimensions in self.spanning.values()
            for dimension in dimensions.values()
            for cut in self._levels_of(dimension).values()
        }.union(*map(self.filter_cut, filters))
        known = [cut for cut in cuts if cut.partition >= 0]
        return any(
            self._records.covered(one.partition, other.partition).any()
            for one, other in product(known, known)
            if one != other and not self._one_column(one, other)
        )

    # -- groupings of several tables ---------------------------------------------------

    def _beside_crossed(self, agreed: Mapping[str, PartDecisions]) -> dict[str, PartDecisions]:
        """Areas with one more beside each that groupings of several tables let work out together.

        A hidden area is worked out if it is a combination of sums that are shown.
        """
        sums: dict[Any, dict[frozenset[str], tuple[_AreaTable, PartKey, list[str]]]] = {}
        for name, decided in agreed.items():
            variable = "" if decided.areas is None else decided.areas.variable
            if (self.where[name], variable) not in self.crossed or name not in self.named:
                continue
            table = _AreaTable(self, decided)
            for part, cuts in table.parts.items():
                key = frozenset((cut.variable, cut.codes) for cut in cuts)
                known = sums.setdefault((self.where[name], variable, key), {})
                for chosen, spare in table.shown_sums(part):
                    known.setdefault(chosen, (table, part, spare))
        for known in sums.values():
            uses = Counter(code for chosen in known for code in chosen)
            if max(uses.values(), default=0) < 2:
                continue  # one grouping: two hidden areas of a group are enough
            codes = sorted(uses)
            matrix = np.array([[code in chosen for code in codes] for chosen in known], dtype=float)
            for code in (codes[at] for at in np.flatnonzero(_worked_out(matrix)).tolist()):
                for chosen, (table, part, spare) in known.items():
                    if code in chosen and spare:
                        own = table.areas.with_hidden({spare[0]: table.finer_parts(part)})
                        return {table.decided.table: replace(table.decided, areas=own)}
        return {}


class _HiddenParts:
    """The hidden parts of all tables, to be held against those that tables show."""

    def __init__(self, ties: PartTies, parts: Iterable[tuple[str, _PartCuts]]) -> None:
        self.ties, self.parts = ties, tuple(parts)
        self._cuts = {cut for where, own in self.parts for cut in (*own, *ties.filter_cut(where))}
        self._needed: dict[str, list[tuple[frozenset[_PartCut], tuple[str, _PartCuts]]]] = {}
        self._told: dict[_PartCut, set[_PartCut]] = {}
        self._printed: dict[tuple[str, bool, frozenset[_PartCut]], bool] = {}

    def told_by(self, name: str, shown: _PartCuts) -> Iterator[tuple[str, _PartCuts]]:
        """Those of which a part has levels that tell of each level and the filter."""
        theirs, told = self.ties.where[name], set[_PartCut]()
        for cut in (*shown, *self.ties.filter_cut(theirs)):
            if cut not in self._told:
                self._told[cut] = {own for own in self._cuts if self.ties.covers(own, cut)}
            told |= self._told[cut]
        if theirs not in self._needed:
            needed = [(self.ties.needed(*part, theirs), part) for part in self.parts]
            self._needed[theirs] = [(frozenset(c), part) for c, part in needed if c is not None]
        return (part for own, part in self._needed[theirs] if own <= told)

    def printed_by(self, name: str, shown: _PartCuts) -> bool:
        """Whether a part prints the cells of one, or adds up to them."""
        key = self.ties.where[name], name in self.ties.named, frozenset(shown)
        if key not in self._printed:
            hidden = self.told_by(name, shown)
            self._printed[key] = any(self.ties.prints(*part, name, shown) for part in hidden)
        return self._printed[key]


class _AreaTable:
    """The areas of a table that hide parts, and the groups which these stand in."""

    def __init__(self, ties: PartTies, decided: PartDecisions) -> None:
        assert decided.areas is not None
        self.ties, self.decided, self.areas = ties, decided, decided.areas
        self.dimension = ties.spanning[decided.table][decided.areas.variable]
        #: The parts over all variables but that of the areas
        self.parts = ties.parts_beside(decided, decided.areas.variable)
        index = self.dimension.index
        self.hidden: dict[PartKey, set[int]] = {}  # for each part, the areas that hide it
        for code, parts in self.areas.hidden.items():
            for part in parts if code in index else ():
                self.hidden.setdefault(part, set()).add(index[code])
        self._level = level_numbers(self.dimension).tolist()
        groups: dict[tuple[int, int], list[int]] = {}
        parents = self.dimension.parents.tolist()
        for at, key in enumerate(zip(parents, self.dimension.breakdown.tolist(), strict=True)):
            if key[0] >= 0:
                groups.setdefault(key, []).append(at)
        #: For each area, the groups it stands in or above: an area, and those directly below it
        self._groups: dict[int, list[tuple[int, list[int]]]] = {}
        for (above, _), group in groups.items():
            for at in (above, *group):
                self._groups.setdefault(at, []).append((above, group))

    def finer_parts(self, part: PartKey) -> Parts:
        """A part, and all that are finer."""
        return frozenset(
            other
            for other, own in self.parts.items()
            if all(any(self.ties.finer(one, at) for at in own) for one in self.parts[part])
        )

    def _groups_near(self, part: PartKey) -> list[tuple[int, list[int], list[int]]]:
        """Groups in which an area hides a part by itself: what is above, hidden and shown."""
        suppressed, own = self.decided.suppressed, self.hidden.get(part, set())
        place = self.decided.variables.index(self.dimension.name)

        def is_hidden(at: int) -> bool:
            return at in own or (*part[:place], self._level[at], *part[place:]) in suppressed

        near = {(above, group[0]): group for at in sorted(own) for above, group in self._groups[at]}
        return [
            (
                -1 if is_hidden(above) else above,
                [at for at in group if is_hidden(at)],
                [at for at in group if not is_hidden(at)],
            )
            for (above, _), group in near.items()
        ]

    def with_one_alone(self, codes: Collection[str]) -> set[PartKey]:
        """Parts of groups in which one of some codes is hidden alone, or all below it are shown."""
        place, parts = self.decided.variables.index(self.dimension.name), set()
        for part in self.hidden:
            for above, hidden, shown in self._groups_near(part):
                alone = shown or [above] if len(hidden) == 1 and above >= 0 else []
                alone = alone if hidden and self.dimension.codes[hidden[0]] in codes else []
                for at in alone if hidden or above >= 0 else shown:
                    parts.add((*part[:place], self._level[at], *part[place:]))
        return parts

    def shown_sums(self, part: PartKey) -> Iterator[tuple[frozenset[str], list[str]]]:
        """Hidden areas whose sum is shown, with the areas beside them that are shown."""
        codes = self.dimension.codes
        for above, hidden, shown in self._groups_near(part):
            if above >= 0 and hidden:
                yield frozenset(codes[at] for at in hidden), [codes[at] for at in shown]

    def beside(self) -> AreaParts:
        """One more area where this grouping leaves a hidden one alone, or shows all below it."""
        codes = self.dimension.codes
        more: dict[str, Parts] = {}
        for part in sorted(self.hidden):
            for above, hidden, shown in self._groups_near(part):
                wanted = -1
                if above < 0:  # the sum of what is shown would be what is hidden
                    wanted = -1 if hidden else shown[0]
                elif len(hidden) == 1:
                    wanted = shown[0] if shown else above
                if wanted >= 0:
                    own = more.get(codes[wanted], frozenset())
                    more[codes[wanted]] = own | self.finer_parts(part)
        return self.areas.with_hidden(more)


def _rest(part: PartDecision, variable: str) -> PartKey:
    """A part without its level of one variable."""
    return tuple(level.number for level in part.levels if level.variable != variable)


def _sums(known: Iterable[IntArray]) -> FloatArray:
    """A row for each larger area: which of some areas lie in it; -1 is none."""
    rows = [codes == one for codes in known for one in np.unique(codes[codes >= 0])]
    return np.array(rows, dtype=float)


def _worked_out(sums: FloatArray) -> BoolArray:
    """Which areas are combinations of sums that are shown."""
    size, basis = np.linalg.eigh(sums.T @ sums)
    worked_out: BoolArray = np.abs(basis[:, size < 1e-9]).max(axis=1, initial=0.0) < 1e-7
    return worked_out


def _without(decided: PartDecisions, gone: Collection[PartKey]) -> PartDecisions:
    parts = tuple(
        replace(part, action="suppressed", reasons=(ELSEWHERE,))
        if part.part in gone and part.action != "suppressed"
        else part
        for part in decided.parts
    )
    kept = [one for one in decided.suggestions if tuple(at.number for at in one.levels) not in gone]
    return replace(decided, parts=parts, suggestions=tuple(kept))
