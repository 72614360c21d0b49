"""Slivers: few records between unions of areas of two geographies. CONFIDENTIAL.

In: records, or counts, with an area of each of two geographies that do not nest, such as
municipalities and grid squares. Out: `SliverReport`: all smallest differences of 1 to `least` - 1
records between a union of areas of the one and a union of areas of the other within or around it,
and what to change so that none is left. Whoever subtracts the published figures of the two unions
has the figures of these few (Costemalle 2019, after a problem of Insee).

Areas are knots of a graph, tied by areas of the other geography that lie in several of them. Only
connected unions matter: a difference is the sum of those of its parts. Leaving an area out that a
union shares a tie with costs the records of the tie, so nearly every choice is forced where many
records lie at borders, and the search ends soon; where few do, it is cut off, and says so. It goes
through unions of the geography with fewer areas, and through those without the largest area of a
component: the others are their complements.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import narwhals as nw
import polars as pl

from discreet.confidential import Confidential, without_values
from discreet.errors import DiscreetError, Problem, raise_all
from discreet.microdata import like, open_frame, require_columns, require_new
from discreet.record_batches import collected

_NOWHERE = -1
_RECORDS = "_records"
Atom = tuple[int, int]


class SliverError(DiscreetError):
    """Records or counts that cannot be searched for slivers."""


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class Sliver(Confidential):
    """A few records that two unions of areas differ by. CONFIDENTIAL.

    Args:
        outer: The geography of the larger union.
        outer_areas: Its areas.
        inner: The geography of the union within it.
        inner_areas: Its areas; where there are many, those that lie in the outer one.
        records: How many records are in the difference.
        parts: The difference: area of the first, area of the second, and records.
    """

    outer: str
    outer_areas: tuple[str, ...]
    inner: str
    inner_areas: tuple[str, ...]
    records: int
    parts: tuple[tuple[str | None, str | None, int], ...]

    def text(self, most: int = 8) -> str:
        """The difference in words. CONFIDENTIAL.

        Args:
            most: So many areas are named.
        """
        of, less = (
            ", ".join(areas[:most])
            + (f" and {len(areas) - most:,} more" if len(areas) > most else "")
            for areas in (self.outer_areas, self.inner_areas)
        )
        return f"{self.outer} {of} less {self.inner} {less}: {self.records}"


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class SliverReport(Confidential):
    """The slivers of two geographies. CONFIDENTIAL: for the custodian.

    Args:
        first: The one geography.
        second: The other.
        least: Unions differ by so many records at least.
        slivers: The smallest differences, fewest records first.
        searched: Unions of so many areas are searched completely, and those of all but so
            many; larger ones in part. None if all were searched.
    """

    first: str
    second: str
    least: int
    slivers: tuple[Sliver, ...]
    searched: int | None

    @property
    def complete(self) -> bool:
        """Whether all unions were searched."""
        return self.searched is None

    def text(self, most: int = 200) -> str:
        """The report in words. CONFIDENTIAL.

        Args:
            most: So many slivers are listed.
        """
        few = f"1 to {self.least - 1} records"
        lines = [f"{len(self.slivers):,} unions of {self.first} and {self.second} differ by {few}."]
        if not self.complete:
            lines.append(f"Not all unions of more than {self.searched} areas were examined.")
        lines += [f"  {one.text()}" for one in self.slivers[:most]]
        if len(self.slivers) > most:
            lines.append(f"  and {len(self.slivers) - most:,} more")
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """The report as plain values, for JSON. CONFIDENTIAL."""
        slivers = [
            {
                "outer": {"geography": one.outer, "areas": list(one.outer_areas)},
                "inner": {"geography": one.inner, "areas": list(one.inner_areas)},
                "records": one.records,
                "parts": [list(part) for part in one.parts],
            }
            for one in self.slivers
        ]
        fields = {"first": self.first, "second": self.second, "least": self.least}
        return {**fields, "searched": self.searched, "slivers": slivers}


@without_values
def find_slivers(
    records: Any,
    first: str,
    second: str,
    *,
    least: int,
    count: str | None = None,
    effort: int = 1000,
) -> SliverReport:
    """All smallest differences of 1 to `least` - 1 records between unions of areas.

    An area that has fewer records by itself is no sliver: rules for small areas find these.

    Args:
        records: Any frame narwhals reads.
        first: Column of the one geography; records without a code lie in no area of it.
        second: Column of the other.
        least: Unions differ by so many records at least.
        count: Column of numbers of records, where rows are no records.
        effort: So many areas are looked at in the unions that grow from each, smaller ones first.

    >>> people = pl.DataFrame({"town": ["X"] * 21 + ["Y"] * 18,
    ...                        "square": ["a"] * 20 + ["b"] * 19})
    >>> report = find_slivers(people, "town", "square", least=5)
    >>> [one.text() for one in report.slivers]
    ['square b less town Y: 1']
    """
    codes, counts = _atoms(records, first, second, count, least, effort)
    return _report(codes, counts, (first, second), least, effort)


def _atoms(
    records: Any, first: str, second: str, count: str | None, least: int, effort: int
) -> tuple[list[list[str]], dict[Atom, int]]:
    """The codes of both geographies, and how many records lie in each pair of areas."""
    problems = [Problem("name two different columns", first)] if first == second else []
    for name, number, lowest in (("least", least, 2), ("effort", effort, 1)):
        if not isinstance(number, int) or isinstance(number, bool) or number < lowest:
            problems.append(Problem(f"must be a whole number of at least {lowest}", name))
    raise_all(SliverError, problems, code="slivers")
    try:
        frame = nw.from_native(records)
    except TypeError:
        raise SliverError("not a data frame of records", code="slivers", where="records") from None
    collect_schema = frame.collect_schema()
    missing = [name for name in (first, second, count) if name and name not in collect_schema]
    problems = [Problem("column not found", name) for name in missing]
    raise_all(SliverError, problems, code="missing-column")
    if count and not collect_schema[count].is_integer():
        raise SliverError("counts must be whole numbers", code="slivers", where=count)
    size = nw.col(count).cast(nw.Int64).sum() if count else nw.len()
    grouped = frame.group_by([nw.col(first), nw.col(second)], drop_null_keys=False).agg(
        size.alias(_RECORDS)
    )
    area = {"a": first, "b": second}
    table = collected(grouped).select(
        **{name: pl.col(column).cast(pl.String) for name, column in area.items()},
        n=pl.col(_RECORDS).cast(pl.Int64),
    )
    if (table["n"] < 0).any():
        raise SliverError("counts must not be negative", code="slivers", where=count or "")
    table = table.filter(pl.col("n") > 0)
    codes = [table[name].drop_nulls().unique().sort().to_list() for name in ("a", "b")]
    at = [{code: k for k, code in enumerate(item)} for item in codes]
    atoms: dict[Atom, int] = defaultdict(int)
    for a, b, n in table.iter_rows():
        pair = _NOWHERE if a is None else at[0][a], _NOWHERE if b is None else at[1][b]
        atoms[pair] += n
    return codes, dict(atoms)


@dataclass(frozen=True, slots=True)
class _KnotUnion:
    """Knots of a component, or all of it but these, and whether ties lie within or around it."""

    component: int
    named: frozenset[int]
    rest: bool
    within: bool


@dataclass(frozen=True, slots=True)
class _FoundSliver:
    """A union of knots and its difference from ties."""

    union: _KnotUnion
    parts: frozenset[Atom]


class _Geography:
    """Areas as knots, areas of the other geography as ties between them."""

    def __init__(self, counts: Mapping[Atom, int], least: int, effort: int) -> None:
        self.counts, self.least, self.effort = counts, least, effort
        self.searched: int | None = None
        #: Differences found, by one of their parts.
        self.known: dict[Atom, set[frozenset[Atom]]] = defaultdict(set)
        self.knots: dict[int, dict[int, int]] = defaultdict(dict)
        self.ties: dict[int, dict[int, int]] = defaultdict(dict)
        for (a, b), n in counts.items():
            if b != _NOWHERE:
                self.ties[b][a] = n
            if a != _NOWHERE:
                self.knots[a][b] = n
        self.sizes = {a: sum(row.values()) for a, row in self.knots.items()}
        #: Of each knot, the ties that do not lie in it alone.
        self.shared = {
            a: [b for b in row if b == _NOWHERE or len(self.ties[b]) > 1]
            for a, row in self.knots.items()
        }
        self.components = list(self._components())
        #: Of each component, the parts that lie in one geography only, or in a tie with such.
        self.open = [
            {
                (a, b): counts[a, b]
                for b in {b for a in component for b in self.knots[a]}
                for a in (component if b == _NOWHERE else self.ties[b])
                if (b == _NOWHERE and b in self.knots[a]) or _NOWHERE in self.ties.get(b, ())
            }
            for component in self.components
        ]

    def _components(self) -> Iterator[list[int]]:
        left = set(self.knots)
        while left:
            component, fresh = set[int](), {min(left)}
            while fresh:
                component |= fresh
                ties = {b for a in fresh for b in self.knots[a]} - {_NOWHERE}
                fresh = {a for b in ties for a in self.ties[b]} - {_NOWHERE} - component
            left -= component
            yield sorted(component)

    def slivers(self) -> Iterator[_FoundSliver]:
        """Unions with few records in their difference."""
        for at, component in enumerate(self.components):
            for within in (True, False):
                yield from self._judged(_KnotUnion(at, frozenset(), rest=True, within=within))
            if len(component) == 1:
                continue
            root = max(component, key=lambda a: (self.sizes[a], -a))
            for within in (True, False):
                # Without open parts, unions around the one side are those within the other.
                for rest in (False, True) if self.open[at] else (False,):
                    yield from self._search(at, root, rest=rest, within=within)

    def _forced(self, root: int, *, own: bool) -> set[int]:
        """Knots of which no union with few records in its difference is without the root.

        `own` says whether leaving out a neighbour costs the union's own records of a tie.
        """
        forced, waiting = {root}, [root]
        while waiting:
            needed = waiting.pop()
            for b, records in self.knots[needed].items():
                if b == _NOWHERE or (not own and records < self.least):
                    continue
                for a, n in self.ties[b].items():
                    if a != _NOWHERE and a not in forced and (not own or n >= self.least):
                        forced.add(a)
                        waiting.append(a)
        return forced

    def _search(self, at: int, root: int, *, rest: bool, within: bool) -> Iterator[_FoundSliver]:
        """Connected unions without the root, or what they leave; each grown from its first knot."""
        out = self._forced(root, own=within != rest) | (set() if rest else {_NOWHERE})
        if not within and not rest:  # what lies nowhere has no ties around it
            out |= {a for a in self.components[at] if _NOWHERE in self.knots[a]}
        for start in self.components[at]:
            if start not in out:
                yield from self._grown(
                    _KnotUnion(at, frozenset([start]), rest=rest, within=within), frozenset(out)
                )
                out.add(start)

    def _grown(self, first: _KnotUnion, out: frozenset[int]) -> Iterator[_FoundSliver]:
        """The unions that grow from one, smaller ones first, as far as the effort goes."""
        waiting, left = deque([(first, out)]), self.effort
        while waiting:
            union, excluded = waiting.popleft()
            if left <= 0:
                done = len(union.named) - 1
                self.searched = done if self.searched is None else min(done, self.searched)
                return
            for one in self._judged(union):
                self.known[min(one.parts)].add(one.parts)
                yield one
            certain, costs = self._costs(union, excluded)
            gone = set(excluded)
            for cost, knot in sorted(((cost, knot) for knot, cost in costs.items()), reverse=True):
                found_in = (parts for first in certain for parts in self.known.get(first, ()))
                if sum(certain.values()) >= self.least or any(
                    parts <= certain.keys() for parts in found_in
                ):
                    break
                waiting.append((replace(union, named=union.named | {knot}), frozenset(gone)))
                gone.add(knot)
                left -= len(union.named)
                certain = self._costs(union, gone)[0] if cost else certain

    def _costs(
        self, union: _KnotUnion, excluded: set[int] | frozenset[int]
    ) -> tuple[dict[Atom, int], dict[int, int]]:
        """What is in the difference for certain, and what leaving each neighbour out adds."""
        certain: dict[Atom, int] = {}
        costs: dict[int, int] = defaultdict(int)
        named, own = union.named, union.within != union.rest
        for b in {b for a in named for b in self.shared[a]}:
            if b == _NOWHERE:
                if own and union.within:
                    certain |= {(a, b): self.knots[a][b] for a in named if b in self.knots[a]}
                continue
            row = self.ties[b]
            held = [a for a in row if a in named or (own and union.rest and a == _NOWHERE)]
            cut = any(a in excluded for a in row if not (union.rest and a == _NOWHERE))
            if not own:
                lost = [a for a in row if a in excluded and not (union.rest and a == _NOWHERE)]
                certain |= {(a, b): row[a] for a in lost}
            elif cut:
                certain |= {(a, b): row[a] for a in held}
            inside = sum(row[a] for a in held)
            for a, n in row.items():
                if a not in named and a not in excluded and a != _NOWHERE:
                    costs[a] += (0 if cut else inside) if own else n
        return certain, costs

    def _judged(self, union: _KnotUnion) -> Iterator[_FoundSliver]:
        """The union, if it differs by few from the ties within it, or from those around it."""
        named, rest = union.named, union.rest
        ties = {b for a in named for b in self.shared[a]} - {_NOWHERE}
        parts: dict[Atom, int] = {}
        for b in ties:
            row = self.ties[b]
            ours = [a for a in row if a != _NOWHERE and (a in named) != rest]
            if len(ours) == len(row) or not ours:
                continue
            for a in ours if union.within else row.keys() - set(ours):
                parts[a, b] = row[a]
            if sum(parts.values()) >= self.least:
                return
        for (a, b), n in self.open[union.component].items():
            # Of ties at the knots named, all was said above.
            if b in ties or (a != _NOWHERE and (a in named) == rest):
                continue
            at_rest = rest and (a == _NOWHERE) != union.within
            if at_rest if b != _NOWHERE else union.within:
                parts[a, b] = n
        if not 0 < sum(parts.values()) < self.least:
            return
        # Whether one union holds the other, and there is something to subtract.
        knots = self.knots_of(union)
        held = not any(_NOWHERE in self.knots[a] for a in knots)
        if union.within:
            below = {b for a in knots for b in self.knots[a]} - {_NOWHERE}
            held = any(all(a in knots for a in self.ties[b]) for b in below)
        if held:
            yield _FoundSliver(union, frozenset(parts))

    def knots_of(self, union: _KnotUnion) -> frozenset[int]:
        """The knots of a union."""
        if not union.rest:
            return union.named
        return frozenset(self.components[union.component]) - union.named

    def without_areas(self, parts: frozenset[Atom]) -> frozenset[Atom]:
        """A difference without whole areas, whose figures are published anyhow."""
        left = set(parts)
        for a in sorted({a for a, _ in parts if a != _NOWHERE}):
            own = {(a, b) for b in self.knots[a]}
            left -= own if own <= left else set()
        for b in sorted({b for _, b in parts if b != _NOWHERE}):
            own = {(a, b) for a in self.ties[b]}
            left -= own if own <= left else set()
        return frozenset(left)


def _smallest(map_: _Geography) -> list[_FoundSliver]:
    """Differences that hold no other one, each once, by the union of fewest areas."""
    best: dict[frozenset[Atom], _FoundSliver] = {}

    def rank(one: _FoundSliver) -> tuple[bool, int, bool, list[int]]:
        named = one.union.named
        return one.union.rest, len(named), not one.union.within, sorted(named)

    for one in map_.slivers():
        parts = map_.without_areas(one.parts)
        other = best.get(parts)
        if parts and (other is None or rank(one) < rank(other)):
            best[parts] = one
    of_atom: dict[Atom, list[frozenset[Atom]]] = defaultdict(list)
    kept = []
    for parts in sorted(best, key=lambda parts: (len(parts), sorted(parts))):
        if any(small <= parts for atom in parts for small in of_atom[atom]):
            continue
        for atom in parts:
            of_atom[atom].append(parts)
        kept.append(_FoundSliver(best[parts].union, parts))
    return kept


def _report(
    codes: Sequence[Sequence[str]],
    counts: Mapping[Atom, int],
    names: tuple[str, str],
    least: int,
    effort: int,
) -> SliverReport:
    towns, squares = ({pair[side] for pair in counts} - {_NOWHERE} for side in (0, 1))
    swapped, (first, second) = len(towns) > len(squares), names
    atoms = {(b, a) if swapped else (a, b): n for (a, b), n in counts.items()}
    map_ = _Geography(atoms, least, effort)
    knot_name, tie_name = names[::-1] if swapped else names
    knots, ties = codes[::-1] if swapped else codes
    slivers = []
    for one in _smallest(map_):
        union = map_.knots_of(one.union)
        touched = {b for a in union for b in map_.knots[a] if b != _NOWHERE}
        if one.union.within:
            touched = {b for b in touched if all(a in union for a in map_.ties[b])}
        own = knot_name, tuple(knots[a] for a in sorted(union))
        other = tie_name, tuple(ties[b] for b in sorted(touched))
        parts = []
        for a, b in sorted(one.parts):
            knot = None if a == _NOWHERE else knots[a]
            tie = None if b == _NOWHERE else ties[b]
            pair = (tie, knot) if swapped else (knot, tie)
            parts.append((*pair, map_.counts[a, b]))
        outer, inner = (own, other)[:: 1 if one.union.within else -1]
        slivers.append(
            Sliver(
                outer=outer[0],
                outer_areas=outer[1],
                inner=inner[0],
                inner_areas=inner[1],
                records=sum(n for *_, n in parts),
                parts=tuple(parts),
            )
        )
    slivers.sort(key=lambda one: (one.records, len(one.outer_areas), one.outer_areas))
    return SliverReport(
        first=first, second=second, least=least, slivers=tuple(slivers), searched=map_.searched
    )


@without_values
def find_all_slivers(
    records: Any, areas: Sequence[str], *, least: int, count: str | None = None, effort: int = 1000
) -> tuple[SliverReport, ...]:
    """The slivers of each two of several geographies.

    Args:
        records: Any frame narwhals reads.
        areas: Columns of the geographies.
        least: As `find_slivers` takes it, as all that follow.
        count: Column of numbers of records, where rows are no records.
        effort: How much is searched.

    >>> people = pl.DataFrame({"town": ["X"] * 21 + ["Y"] * 18, "district": ["n"] * 39,
    ...                        "square": ["a"] * 20 + ["b"] * 19})
    >>> reports = find_all_slivers(people, ["town", "district", "square"], least=5)
    >>> [len(report.slivers) for report in reports]
    [0, 1, 0]
    """
    if len(areas) < 2:
        message = "at least two geographies are required"
        hint = "name a column of areas for each geography"
        raise SliverError(message, code="slivers", where="areas", hint=hint)
    how: dict[str, Any] = {"least": least, "count": count, "effort": effort}
    return tuple(find_slivers(records, *pair, **how) for pair in combinations(areas, 2))


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class MergedAreas:
    """Areas to merge so that no sliver is left. CONFIDENTIAL: it tells where there were some.

    Args:
        geography: The geography whose areas are merged.
        groups: The areas of each merged one.
        report: What is found once they are merged: nothing, or what stays.
    """

    geography: str
    groups: tuple[tuple[str, ...], ...]
    report: SliverReport

    @property
    def codes(self) -> dict[str, str]:
        """Of each area that is merged, the code of the larger one: that of its first, and a sign.

        >>> people = pl.DataFrame({"town": ["X"] * 21 + ["Y"] * 18,
        ...                        "square": ["a"] * 20 + ["b"] * 19})
        >>> merge_slivers(people, "town", "square", least=5, merge="square").codes
        {'a': 'a+1', 'b': 'a+1'}
        """
        return {code: f"{group[0]}+{len(group) - 1}" for group in self.groups for code in group}

    def apply(self, records: Any, column: str) -> Any:
        """Records with a column of the areas of this geography after they are merged.

        Args:
            records: Any frame narwhals reads.
            column: Name of the new column.
        """
        frame = open_frame(records)
        require_columns(frame, [self.geography])
        require_new(frame, column)
        own = nw.col(self.geography).cast(nw.String)
        codes = self.codes
        if codes:
            own = own.replace_strict(codes, default=own, return_dtype=nw.String)
        return like(frame.with_columns(own.alias(column)), records)

    def __repr__(self) -> str:
        return f"<MergedAreas of {self.geography} (confidential)>"


@without_values
def merge_slivers(
    records: Any,
    first: str,
    second: str,
    *,
    least: int,
    merge: str,
    count: str | None = None,
    effort: int = 1000,
) -> MergedAreas:
    """Merge areas of one geography until no sliver is found any more.

    Each area with records in a sliver is merged with that one of its geography which shares most
    with it: an area of the other geography in which both lie. Merged areas are searched again.

    Args:
        records: Any frame narwhals reads.
        first: Column of the one geography.
        second: Column of the other.
        least: Unions differ by so many records at least.
        merge: Which of the two is made coarser.
        count: Column of numbers of records, where rows are no records.
        effort: As `find_slivers` takes it.

    >>> people = pl.DataFrame({"town": ["X"] * 21 + ["Y"] * 18 + ["Z"] * 9,
    ...                        "square": ["a"] * 20 + ["b"] * 19 + ["c"] * 9})
    >>> merge_slivers(people, "town", "square", least=5, merge="square").groups
    (('a', 'b'),)
    """
    codes, counts = _atoms(records, first, second, count, least, effort)
    if merge not in (first, second):
        raise SliverError(
            "the geography to merge must be one of the two", code="slivers", where="merge"
        )
    side = int(merge == second)
    into = list(range(len(codes[side])))
    at = {code: k for k, code in enumerate(codes[side])}
    while True:
        merged: dict[Atom, int] = defaultdict(int)  # merged areas are the first of them
        for (a, b), n in counts.items():
            area = into[(a, b)[side]] if (a, b)[side] != _NOWHERE else _NOWHERE
            merged[(a, area) if side else (area, b)] += n
        report = _report(codes, merged, (first, second), least, effort)
        parts = [part[:2][side] for one in report.slivers for part in one.parts]
        wanted = {at[code] for code in parts if code is not None}
        if not _join(wanted, counts, side, into):
            break
    groups: dict[int, list[str]] = defaultdict(list)
    for code, k in at.items():
        groups[into[k]].append(code)
    joined = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    return MergedAreas(geography=merge, groups=joined, report=report)


@without_values
def merge_all_slivers(
    records: Any,
    areas: Sequence[str],
    *,
    merge: str,
    least: int,
    count: str | None = None,
    effort: int = 1000,
) -> tuple[MergedAreas, tuple[SliverReport, ...]]:
    """Merge areas of one geography until no sliver is left between it and any other.

    Args:
        records: Any frame narwhals reads.
        areas: Columns of the geographies.
        merge: Which of them is made coarser.
        least: As `find_slivers` takes it, as all that follow.
        count: Column of numbers of records, where rows are no records.
        effort: How much is searched.

    Returns:
        The areas to merge, and what is found between each two geographies then.

    >>> people = pl.DataFrame({"town": ["X"] * 21 + ["Y"] * 18, "post": ["n"] * 39,
    ...                        "square": ["a"] * 20 + ["b"] * 19})
    >>> how = {"merge": "square", "least": 5}
    >>> merged, reports = merge_all_slivers(people, ["town", "post", "square"], **how)
    >>> merged.groups, [len(report.slivers) for report in reports]
    ((('a', 'b'),), [0, 0, 0])
    """
    others = [name for name in areas if name != merge]
    if len(others) == len(areas) or not others:
        raise SliverError(
            "the geography to merge must be one of the named ones", code="slivers", where="merge"
        )
    how: dict[str, Any] = {"least": least, "effort": effort}
    # How many records lie in each combination of areas.
    opened = open_frame(records)
    require_columns(opened, [*areas, *([count] if count else [])])
    size = nw.col(count).sum() if count else nw.len()
    texts = [nw.col(name).cast(nw.String).alias(name) for name in areas]
    chosen = opened.select(*texts, *([count] if count else []))
    grouped = chosen.group_by(list(areas), drop_null_keys=False).agg(size.alias(_RECORDS))
    frame = collected(grouped)
    own = "merged areas"
    groups: dict[str, list[str]] = {}
    waiting = deque(others)
    calm = 0
    while calm < len(others):
        of_code = {code: first for first, group in groups.items() for code in group}
        now = frame.with_columns(pl.col(merge).replace(of_code).alias(own))
        result = merge_slivers(now, waiting[0], own, merge=own, count=_RECORDS, **how)
        for first, *more in result.groups:
            joined = [groups.pop(code, [code]) for code in (first, *more)]
            groups[first] = [code for part in joined for code in part]
        calm = 1 if result.groups else calm + 1
        waiting.rotate(-1)
    merged = MergedAreas(
        geography=merge,
        groups=tuple(tuple(group) for group in groups.values()),
        report=replace(result.report, second=merge),
    )
    # Under names of their own, merged areas stand in the place of those they are made of.
    coarser = frame.with_columns(pl.col(merge).replace(merged.codes))
    return merged, find_all_slivers(coarser, areas, count=_RECORDS, **how)


def _join(wanted: set[int], counts: Mapping[Atom, int], side: int, into: list[int]) -> bool:
    """Merge each area wanted with the one that shares most with it; whether any was."""
    of_other: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for pair, n in counts.items():
        if _NOWHERE not in pair:
            of_other[pair[1 - side]][into[pair[side]]] += n
    shared: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in of_other.values():
        for area in wanted & row.keys():
            for other, n in row.items():
                shared[area][other] += n if other != area else 0
    merged = False
    for area in sorted(wanted):
        near = {into[other]: n for other, n in shared[area].items() if into[other] != into[area]}
        if near:
            best = max(near, key=lambda other: (near[other], -other))
            old, new = max(into[area], best), min(into[area], best)
            into[:] = [new if k == old else k for k in into]
            merged = True
    return merged
