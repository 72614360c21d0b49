"""`Partitions`: which columns, levels and filters of records determine which. CONFIDENTIAL.

In: records, and tables that were counted from them. Out: every level of every classification and
every filter as a partition of the records; which partition determines which, which are the same
under two names, what two of them say in common, what all filters say together. Found among some
records, which refutes nearly all, then held against all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.classifications import Classification
from discreet.disclosure.code_pairs import (
    CHANCE,
    Cut,
    among_pairs,
    code_map,
    codes_at,
    codes_passing,
    codes_together,
    common_parts,
    complete,
    made_by_chance,
    missing_pairs,
    overlapping,
    tell_together,
)
from discreet.disclosure.verdicts import Gap
from discreet.errors import DiscreetError
from discreet.files import texts_of
from discreet.microdata import parse_filter, read_microdata
from discreet.record_batches import collected
from discreet.tables import Dimension, Table
from discreet.tabulation import CubeAxis, Query, refusals, tabulate_many

#: Dependencies are refuted among so many records, and then held against all.
_SOME = 20_000
#: And columns that together determine another one among so few before, and so many after.
_FEW, _MANY = 2_000, 200_000
#: Number of columns that may determine another one together.
_JOINT = (2, 3)
#: So many records chance would have put into pairs of codes that are missing, for limits in common.
_MISSING_PAIRS = 25.0
#: Filters with more combinations among the records are not compared.
_MOST_PATTERNS = 2**16
#: So many conditions are put into one whole number.
_BITS = 60
#: So many combinations of cells and of filters are looked at together.
_AT_ONCE = 2**24
FILTERS = "filters of tables"
_RECORD = "number of the record"


class Choice(NamedTuple):
    """A classification down to a level, as one variable of a table."""

    tree: int  # number of the classification in its dimension
    level: int  # 1 for the codes below the total


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RecordPartition:
    """The records by the codes of one column, level or filter (confidential).

    Args:
        name: What messages call it.
        variable: Number of the column of records behind it.
        codes: For each value of this column, the code; the number of a code of a classification.
        size: A bound above all codes.
        label: Text of each code, for names of cells.
    """

    name: str
    variable: int
    codes: IntArray
    size: int
    label: tuple[str, ...] = ()


#: Which values of two columns occur together, and in how many records (confidential).
Together: TypeAlias = tuple[IntArray, IntArray, IntArray]


@dataclass(repr=False, eq=False)
class _SourceColumn:
    """A column of the records, as tables use it: its values that occur (confidential)."""

    axis: CubeAxis
    spanning: Any  # what spans a table by it
    values: tuple[str, ...] = ()
    count: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A dependency that chance could have made in so few records.

    >>> Doubt(name="town", determines="land").text
    'town determines land'
    """

    name: str
    determines: str
    assumed: bool = True  # whether readers are taken to know it

    @property
    def text(self) -> str:
        """Its name: users who strike it out name it so."""
        return f"{self.name} determines {self.determines}"


class Partitions:
    """All partitions of the records of one source, and how they hang together (confidential).

    Args:
        records: The records, in any form that `discreet.tabulate` takes.
        tables: Tables that were counted from them.
        weight: The column of weights, if the tables are weighted.
        coincidences: Names of doubts that are chance, such as "town determines land": readers
            do not know of them. What chance cannot have made stays.

    >>> import polars as pl
    >>> from discreet import tabulate
    >>> people = pl.DataFrame({"town": [*"aabbcc"] * 30, "land": [*"NNNNSS"] * 30,
    ...                        "sex": ["m", "w"] * 90})
    >>> tables = [tabulate(people, by=[place, "sex"]) for place in ("town", "land")]
    >>> partitions = Partitions(people, tables)
    >>> partitions.determines("town", "land"), partitions.determines("land", "town")
    (True, False)
    """

    def __init__(
        self,
        records: Any,
        tables: Sequence[Table],
        weight: str | None = None,
        coincidences: Sequence[str] = (),
    ) -> None:
        self.coincidences = tuple(coincidences)
        self.records, self.weight = read_microdata(records), weight
        self.unexamined: list[Gap] = []
        self.doubts: list[Doubt] = []
        self._struck: set[tuple[int, int]] = set()
        self._by_chance: set[tuple[int, int]] = set()  # the same as pairs of partitions
        self._variables: list[_SourceColumn] = []
        self._pairs: dict[tuple[int, int], Together] = {}
        self._samples: list[Any] = []  # some records, and all if they are more
        self.partitions: list[RecordPartition] = []
        #: (a, b) → for each code of a, the code of b that all its records have; -1 for no records
        self.up: dict[tuple[int, int], IntArray] = {}
        self._left: dict[int, BoolArray] = {}
        self._left_by_both: dict[tuple[int, int], BoolArray] = {}
        self._of_level: dict[tuple[Any, int], int] = {}
        self._cut: dict[int, Cut] = {}
        self._of_filter: dict[str, int] = {}
        #: Pairs of partitions that have limits in common, or whose codes exclude each other
        self.tied: list[tuple[int, int]] = []
        #: Tables whose cells are sets of these records
        self.tables = tuple(table for table in tables if self._usable(table))
        #: The partition by all filters together; -1 for none
        self.join = self._filters()
        self._columns()
        self._read()
        self._compare()
        #: For each partition those that it determines, itself included, as bits
        self.above = [1 << a | self.constant for a in range(len(self.partitions))]
        for a, b in self.up:
            self.above[a] |= 1 << b

    # -- asking ------------------------------------------------------------------------

    def doubt_lines(self, language: str = "en") -> list[str]:
        """Relations that may be due to chance, and unmatched names, in words."""
        words = texts_of("discreet.disclosure", "doubts", language)
        doubts = {doubt.text: doubt for doubt in self.doubts}
        lines = [
            words["assumed" if doubt.assumed else "left-out"].format(text=text)
            for text, doubt in doubts.items()
        ]
        unmatched = [text for text in self.coincidences if text not in doubts]
        return lines + [words["unmatched"].format(text=text) for text in unmatched]

    def closure(self, partitions: Iterable[int]) -> int:
        """The partitions that some of them determine, themselves included, as bits."""
        closed = self.constant
        for a in partitions:
            closed |= self.above[a]
        return closed

    def basis(self, closed: int) -> tuple[int, ...]:
        """The fewest partitions of a closed set that determine all others."""
        members = [a for a in range(len(self.partitions)) if closed >> a & 1]
        return tuple(
            a
            for a in members
            if not self.constant >> a & 1
            and not any(
                (b, a) in self.up and ((a, b) not in self.up or b < a) for b in members if b != a
            )
        )

    def determines(self, name: str, other: str) -> bool:
        """Whether a partition of one name determines one of another name."""
        named = [
            (a, b)
            for a, one in enumerate(self.partitions)
            for b, two in enumerate(self.partitions)
            if (one.name, two.name) == (name, other)
        ]
        return any(pair in self.up for pair in named)

    def code(self, a: int, codes: IntArray, b: int) -> IntArray:
        """The codes of one partition that those of another determine; -1 where none occurs."""
        if a == b:
            return codes
        table = self.up[a, b]
        return np.where(codes >= 0, table[np.maximum(codes, 0)], -1)

    def possible(self, codes: Mapping[int, IntArray], cells: int) -> BoolArray:
        """Which cells with a code of each of some partitions can have records, as readers know.

        No district lies in two states, no band of age in two others, and nobody below 18 passes
        ``age >= 18``. Codes that occur in no record rule out nothing.
        """
        possible = np.ones(cells, dtype=np.bool_)
        every = [c for c in range(len(self.partitions)) if not self.constant >> c & 1]
        for a, b in combinations(codes, 2):
            for c in every:
                if all(x == c or (x, c) in self.up for x in (a, b)):
                    one, other = (self.code(x, codes[x], c) for x in (a, b))
                    possible &= (one == other) | (one < 0) | (other < 0)
                elif all((c, x) in self.up and (c, x) not in self._by_chance for x in (a, b)):
                    possible &= among_pairs(self.up[c, a], self.up[c, b], codes[a], codes[b])
            if self.derived(a, b):
                cuts = self._cut.get(a), self._cut.get(b)
                pairs = codes_together(*cuts) or self.together(a, b)
                assert pairs is not None
                possible &= among_pairs(*pairs[:2], codes[a], codes[b])
        settled = {b: x for x in codes for b in every if self.above[x] >> b & 1}
        places = {b: self.code(x, codes[x], b) for b, x in settled.items()}
        size = self.partitions[self.join].size
        for part in range(0, cells if self.join >= 0 else 0, -(-_AT_ONCE // size)):
            some = slice(part, part + -(-_AT_ONCE // size))
            left = np.ones((len(possible[some]), size), dtype=np.bool_)
            for b, place in places.items():
                left &= self.left_by(b)[place[some]] | (place[some] < 0)[:, None]
            possible[some] &= left.any(axis=1)
        return possible

    def of_level(self, tree: Classification, level: int) -> int | None:
        """The partition of a level of a classification; None if no table had it."""
        return self._of_level.get((_kind(tree), level))

    def of_filter(self, where: str) -> int | None:
        """The partition of a filter, -1 for none; None if no table had it."""
        text = " ".join(where.split())
        return self._of_filter.get(text) if text else -1

    def patterns(self, where: str) -> BoolArray:
        """The codes of all filters together whose records pass a filter."""
        if self.join < 0:
            return np.ones(1, dtype=np.bool_)
        own, whole = self.of_filter(where), self.partitions[self.join]
        if own is None or own < 0:
            return np.ones(whole.size, dtype=np.bool_)
        passed: BoolArray = self.code(self.join, np.arange(whole.size), own) == 1
        return passed

    def left_by(self, a: int) -> BoolArray:
        """For each code of a partition, the combinations of filters that it leaves.

        Those are left out that it rules out, or that occur with none of so many records that
        chance would not do that: who is 30 to 44 years old passes ``age >= 18``. Filters on the
        column itself leave what occurs, however few the records are.
        """
        if a not in self._left:
            one, whole = self.partitions[a], self.partitions[self.join]
            left = np.ones((one.size, whole.size), dtype=np.bool_)
            both = self.together(a, self.join)
            if both is not None:
                first, second, count = both
                number = np.zeros(left.shape)
                np.add.at(number, (first, second), count)
                share = number.sum(axis=0) / max(number.sum(), 1.0)
                surprise = number.sum(axis=1)[:, None] * np.log1p(-np.minimum(share, 1 - 1e-16))
                derived = one.variable == whole.variable or (a, self.join) in self.up
                left = (number > 0) | ((surprise > math.log(CHANCE)) & (not derived))
                left[~left.any(axis=1)] = True
                for bit, condition in enumerate(self._conditions):
                    if set(condition.columns) == set(self._variables[one.variable].axis.columns):
                        passed, cut = self._passed(bit), self._cut.get(a)
                        pairs = cut and codes_passing(cut, condition, self._schema)
                        if pairs is None:
                            pairs = np.zeros((one.size, 2), dtype=np.bool_)
                        pairs[first, passed[second]] = True
                        left &= pairs[:, passed]
                left[~left.any(axis=1)] = True
            self._left[a] = left
        return self._left[a]

    def left_by_both(self, a: int, b: int) -> BoolArray:
        """Remaining records for each pair of codes of two partitions of one column."""
        if (a, b) not in self._left_by_both:
            parts = [self.partitions[at] for at in (a, b, self.join)]
            variables = list(dict.fromkeys(part.variable for part in parts))
            table = self.counted(variables, weight=None, values=[])
            places = dict(zip(variables, self.places(table, variables)[1], strict=True))
            left = np.zeros([part.size for part in parts], dtype=np.bool_)
            left[tuple(part.codes[places[part.variable]] for part in parts)] = True
            left[~left.any(axis=2)] = True
            self._left_by_both[a, b] = left
        return self._left_by_both[a, b]

    def records_of(self, where: str) -> int | None:
        """Number of records that pass a filter; None if no column was counted."""
        if not self._variables:
            return None
        if self.join < 0:
            return int(self._variables[0].count.sum())
        return int(
            self._variables[self.partitions[self.join].variable].count[self.patterns(where)].sum()
        )

    @property
    def several(self) -> bool:
        """Whether anything ties tables together that names do not."""
        names: dict[str, set[Any]] = {}
        axes: dict[Any, set[str]] = {}
        for dimension in (own for table in self.tables for own in table.dimensions):
            trees = tuple(_kind(tree) for tree in dimension.classifications)
            names.setdefault(dimension.name, set()).add(trees)
            for tree in trees:
                axes.setdefault(tree, set()).add(dimension.name)
        clear = all(len(trees) == 1 for trees in names.values())
        clear &= all(len(known) == 1 for known in axes.values())
        clear &= len({kind[0] for kind in axes}) == len(axes)
        crossing = any(
            self.partitions[a].variable != self.partitions[b].variable
            for a, b in self.up
            if not (self.constant >> a | self.constant >> b) & 1
        )
        filters = {self.of_filter(table.where) for table in self.tables}
        return not clear or crossing or bool(self.tied) or len(filters) > 1

    # -- finding -----------------------------------------------------------------------

    def _usable(self, table: Table) -> bool:
        usable = not any(dimension.chosen for dimension in table.dimensions)
        try:
            if table.where:
                parse_filter(table.where).check(self.records.collect_schema())
        except DiscreetError:
            usable = False
        if not usable:
            self.unexamined.append(Gap("records", table.name, 1))
        return usable

    def _filters(self) -> int:
        """Give the records a column of all filters together; the number of its variable."""
        texts = dict.fromkeys(
            " ".join(table.where.split()) for table in self.tables if table.where.strip()
        )
        self._filter_texts = tuple(texts)
        if not texts:
            return -1
        schema = self.records.collect_schema()
        conditions = [parse_filter(text) for text in texts]
        parts = [part for one in conditions if len(one.parts()) > 1 for part in one.parts()]
        every, numbers = [*conditions, *parts], []
        self._conditions, self._schema = every, schema
        for first in range(0, len(every), _BITS):
            joint = nw.lit(0)
            for bit, one in enumerate(every[first : first + _BITS]):
                passed = one.to_narwhals(schema)
                joint = joint + nw.when(passed).then(nw.lit(2**bit)).otherwise(nw.lit(0))
            numbers.append(joint)
        if len(numbers) > 1:
            joint = nw.concat_str([one.cast(nw.String) for one in numbers], separator="-")
        joined = self.records.with_columns(joint.alias(FILTERS))
        if 2 ** len(every) > _MOST_PATTERNS:
            whole = tabulate_many(joined, [Query(by=[FILTERS], name="partitions")])[0]
            if len(whole) > _MOST_PATTERNS:
                self.unexamined.append(Gap("filters", number=len(texts)))
                self.tables = tuple(table for table in self.tables if not table.where.strip())
                self._filter_texts = ()
                return -1
        several = len(texts) > 1 or any(not table.where.strip() for table in self.tables)
        for one in conditions if several else ():
            if any(len(part.columns) > 1 for part in one.parts()):
                self.unexamined.append(Gap("filter-codes", one.text, len(one.columns)))
        self.records = joined
        self._variables.append(_SourceColumn(CubeAxis(FILTERS), FILTERS))
        return 0

    @property
    def _trees(self) -> Iterable[Classification]:
        for table in self.tables:
            for dimension in table.dimensions:
                yield from dimension.classifications

    def _columns(self) -> None:
        """The columns of records behind all tables."""
        for tree in self._trees:
            axis, name = CubeAxis.of(tree), f"variable {len(self._variables)}"
            if any(axis == one.axis for one in self._variables):
                continue
            spanning: Any = axis.column
            if axis.levels:
                spanning = tree.replace(name=name)
            elif axis.bounds is not None:
                spanning = tree.replace(name=name, column=tree.source)
            self._variables.append(_SourceColumn(axis, spanning))

    def _read(self) -> None:
        """Count values and pairs of values: among some records, then what is left among all."""
        names = dict.fromkeys(column for one in self._variables for column in one.axis.columns)
        if not names:
            return
        with refusals(filtered=bool(self._filter_texts)):
            some = collected(self.records.select(*names).head(_SOME))
        every = some.height < _SOME
        source: Any = some if every else self.records
        self._samples = [some, *([] if every else [self.records])]
        for at, counted in enumerate(self._counted(source, [(n,) for n in self._numbers])):
            one = self._variables[at]
            leaf = counted.dimensions[0].is_leaf[counted.index[0]] & (counted.index[0] > 0)
            one.count = counted.count[leaf]
            one.values = tuple(counted.dimensions[0].codes[k] for k in counted.index[0][leaf])
        pairs = list(combinations(self._numbers, 2))
        seen = self._tied(some, pairs)
        if not every:
            promising = [
                pair
                for pair, values in seen.items()
                if (self.join >= 0 and 0 in pair)
                or self._cut_alike(*pair)
                or self._promising(*pair, values)
            ]
            seen = self._tied(self.records, promising)
        self._pairs = seen

    @property
    def _numbers(self) -> range:
        return range(len(self._variables))

    def counted(
        self, variables: Sequence[int], *, weight: str | None, values: Sequence[str]
    ) -> Table:
        """All records by some of the columns."""
        by = [self._variables[at].spanning for at in variables]
        query = Query(by=by, weight=weight, values=values, name="partitions")
        return tabulate_many(self.records, [query])[0]

    def places(self, table: Table, variables: Sequence[int]) -> tuple[BoolArray, list[IntArray]]:
        """Which cells of a counted table are no totals, and the values of columns in these."""
        leaf = np.ones(len(table), dtype=np.bool_)
        for dimension, part in zip(table.dimensions, table.index, strict=True):
            leaf &= dimension.is_leaf[part] & (part > 0)
        places = [
            self._positions(at, dimension)[part[leaf]]
            for at, dimension, part in zip(variables, table.dimensions, table.index, strict=True)
        ]
        return leaf, places

    def derived(self, a: int, b: int) -> bool:
        """Whether all know which codes of two partitions go together."""
        return self._of_one_column(a, b) or (a, b) in self.tied or (b, a) in self.tied

    def _of_one_column(self, a: int, b: int) -> bool:
        """Whether codes alone say which of two partitions go together."""
        one, other = self.partitions[a].variable, self.partitions[b].variable
        return one == other or self._cut_alike(one, other)

    def _cut_alike(self, a: int, b: int) -> bool:
        """Whether two variables are one column, cut into other intervals."""
        one, other = self._variables[a].axis, self._variables[b].axis
        return one.columns == other.columns and None not in (one.bounds, other.bounds)

    def _counted(self, source: Any, sets: Sequence[tuple[int, ...]]) -> list[Table]:
        queries = [
            Query(by=[self._variables[at].spanning for at in own], name="partitions")
            for own in sets
        ]
        return tabulate_many(source, queries) if queries else []

    def _tied(
        self, source: Any, pairs: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], Together]:
        """Which values of each pair of columns occur together."""
        together = {}
        for (a, b), table in zip(pairs, self._counted(source, pairs), strict=True):
            leaf, (first, second) = self.places(table, (a, b))
            count = table.count[leaf]
            if self._cut_alike(a, b):  # intervals that overlap go together, records or not
                one, other = self._variables[a], self._variables[b]
                meet = overlapping(one.spanning, one.values, other.spanning, other.values)
                meet[first, second] = False
                more = meet.nonzero()
                first, second = np.append(first, more[0]), np.append(second, more[1])
                count = np.append(count, np.zeros(len(more[0]), dtype=np.int64))
            together[a, b] = first, second, count
        return together

    def _positions(self, at: int, dimension: Dimension) -> IntArray:
        """For each code of a counted variable, its place among all values that occur."""
        known = {value: n for n, value in enumerate(self._variables[at].values)}
        return np.array([known.get(code, -1) for code in dimension.codes], dtype=np.int64)

    def _promising(self, a: int, b: int, pairs: Together) -> bool:
        """Whether one of two columns may determine a level of the other, or have limits with it."""
        for one, other in product(self._levels_of(a), self._levels_of(b)):
            first, second = one[pairs[0]], other[pairs[1]]
            if code_map(first, second) is not None or code_map(second, first) is not None:
                return True
        return common_parts(*pairs[:2]) is not None or missing_pairs(*pairs)[1]

    def _levels_of(self, at: int) -> list[IntArray]:
        """For each level of each classification of a column, the code of each value."""
        own = [codes for _, codes, _ in self._cuts(at)]
        return own or [np.arange(len(self._variables[at].values), dtype=np.int64)]

    def _cuts(self, at: int) -> list[tuple[str, IntArray, tuple[str, ...]]]:
        """The levels of all classifications of a column: name, code of each value, texts."""
        cuts = []
        for tree in self._trees_of(at).values():
            places = _places(tree, self._variables[at])
            for level in range(1, tree.depth + 1):
                name = tree.name if level == tree.depth else f"{tree.name}, level {level}"
                codes = codes_at(tree, places, level)
                cuts.append((name, codes, (*tree.codes, "other")))
        if self._variables[at].axis.column == FILTERS:
            values = self._variables[at].values
            for number, text in enumerate(self._filter_texts):
                cuts.append((text, self._passed(number), ("others", text)))
            cuts.append((FILTERS, np.arange(len(values)), values))
        return cuts

    def _passed(self, condition: int) -> IntArray:
        """Whether each combination of filters passes a condition: filters, then parts of them."""
        at, bit = divmod(condition, _BITS)
        patterns = [int(value.split("-")[at]) for value in self._variables[0].values]
        return np.array(patterns, dtype=np.int64) >> bit & 1

    def _trees_of(self, at: int) -> dict[Any, Classification]:
        axis = self._variables[at].axis
        return {_kind(tree): tree for tree in self._trees if CubeAxis.of(tree) == axis}

    def _compare(self) -> None:
        """All partitions, and which of them determine which."""
        for at in self._numbers:
            trees = self._trees_of(at).values()
            cuts = [(tree, level) for tree in trees for level in range(1, tree.depth + 1)]
            for number, (name, codes, label) in enumerate(self._cuts(at)):
                if number < len(cuts):
                    tree, level = self._cut[len(self.partitions)] = cuts[number]
                    self._of_level[_kind(tree), level] = len(self.partitions)
                elif name == FILTERS:
                    self.join = len(self.partitions)
                else:
                    self._of_filter[name] = len(self.partitions)
                self.partitions.append(
                    RecordPartition(
                        name=name, variable=at, codes=codes, size=len(label), label=label
                    )
                )
        alone = (len(np.unique(own.codes)) < 2 for own in self.partitions)
        self.constant = sum(1 << a for a, is_alone in enumerate(alone) if is_alone)
        for a, b in combinations(range(len(self.partitions)), 2):
            self._look(a, b)
        self._find_ties()
        self._close()
        self._find_joint()

    def together(self, a: int, b: int) -> Together | None:
        """The codes of two partitions that occur together; None if they were refuted already."""
        one, other = self.partitions[a], self.partitions[b]
        if one.variable == other.variable:
            return one.codes, other.codes, self._variables[one.variable].count
        low, high = sorted((one.variable, other.variable))
        pairs = self._pairs.get((low, high))
        if pairs is None:
            return None
        first, second, count = pairs
        if one.variable == high:
            first, second = second, first
        return one.codes[first], other.codes[second], count

    def _look(self, a: int, b: int) -> None:
        """Whether one of two partitions determines the other."""
        both = self.together(a, b)
        if both is None:
            return
        first, second, count = both
        derived = self._of_one_column(a, b)
        for x, y, one, other in ((a, b, first, second), (b, a, second, first)):
            table = code_map(one, other, self.partitions[x].size)
            if table is None:
                continue
            trivial = (self.constant >> y | self.constant >> x) & 1
            if not derived and not trivial and made_by_chance(one, other, count):
                doubt = Doubt(name=self.partitions[x].name, determines=self.partitions[y].name)
                if doubt.text in self.coincidences:
                    self.doubts.append(replace(doubt, assumed=False))
                    self._struck |= {(x, y), (y, x)}
                    continue
                self._by_chance.add((x, y))
                self.doubts.append(doubt)
            self.up[x, y] = table

    def _find_ties(self) -> None:
        """Partitions of which neither determines the other, and that still say of each other.

        They have limits in common, or codes of one exclude most codes of the other: of bands of
        15 and of 18 years, whoever is below 15 is below 18.
        """
        finest = {self._of_level[_kind(tree), tree.depth] for tree in self._trees if tree.depth}
        for a, b in combinations(sorted(finest), 2):
            both = self.together(a, b)
            if both is None or {(a, b), (b, a)} & (self.up.keys() | self._struck):
                continue
            first, second, count = both
            parts = common_parts(first, second)
            one, other = self.partitions[a], self.partitions[b]
            missing, exclude = missing_pairs(first, second, count)
            if parts is None:
                if exclude or (self._of_one_column(a, b) and missing):
                    self.tied.append((a, b))
                continue
            if missing < _MISSING_PAIRS and not self._of_one_column(a, b):
                limits = f"limits of {other.name}"
                self.doubts.append(Doubt(name=one.name, determines=limits, assumed=False))
                continue
            table = np.full(one.size, -1, dtype=np.int64)
            table[first] = parts
            number = len(np.unique(parts))
            known = any(
                {(a, x), (b, x)} <= self.up.keys() and len(np.unique(part.codes)) == number
                for x, part in enumerate(self.partitions)
            )
            if not known or (self._of_one_column(a, b) and not complete(first, second, parts)):
                self.tied.append((a, b))
            if known:
                continue
            fresh = len(self.partitions)
            name = f"limits of {one.name} and {other.name}"
            self.partitions.append(
                RecordPartition(
                    name=name,
                    variable=one.variable,
                    codes=table[one.codes],
                    size=number,
                    label=tuple(map(str, range(number))),
                )
            )
            for x in range(fresh):
                self._look(x, fresh)

        for f in self._of_filter.values():
            for a in sorted(finest):
                if self._leave_to(a, f):
                    self.tied.append((a, f))

    def _leave_to(self, a: int, f: int) -> bool:
        """Whether some codes of a column settle a filter on it, and others do not."""
        both = self.together(a, f)
        columns = self._variables[self.partitions[a].variable].axis.columns
        if both is None or (a, f) in self.up or (self.constant >> a | self.constant >> f) & 1:
            return False
        passed = np.zeros((self.partitions[a].size, 2), dtype=np.bool_)
        passed[both[0], both[1]] = True
        filtered = parse_filter(self.partitions[f].name).columns
        return set(columns) <= filtered and bool((passed.sum(axis=1) == 1).any())

    def _find_joint(self) -> None:
        """Note columns of one table that together determine a column of another, as a gap.

        Year and month have a quarter; no row says so. Two columns are tried, and three.
        """
        sets = {
            frozenset(at for at in self._numbers if self._variables[at].axis in axes): None
            for table in self.tables
            for axes in [{CubeAxis.of(t) for own in table.dimensions for t in own.classifications}]
        }
        # What a column determines alone, others beside it determine, too.
        alone = {(self.partitions[x].variable, y) for x, y in self.up.keys() | self._struck}
        wanted: dict[tuple[int, ...], list[IntArray]] = {}
        for crossed, number in product(sets, _JOINT):
            for columns, at in product(combinations(sorted(crossed), number), self._numbers):
                levels = [
                    partition.codes
                    for level, partition in enumerate(self.partitions)
                    if partition.variable == at and not self.constant >> level & 1
                    if not any((column, level) in alone for column in columns)
                ]
                if levels and not any({*columns, at} <= other for other in sets):
                    wanted[*columns, at] = levels
        if not wanted:
            return
        some, *every = self._samples
        codes = self._record_codes(some, dict.fromkeys(at for own in wanted for at in own))
        one = np.ones(some.height, dtype=np.int64)
        seen: dict[tuple[int, ...], tuple[list[IntArray], IntArray]] = {}
        for size in (_FEW, some.height):
            seen = {own: ([codes[at][:size] for at in own], one[:size]) for own in wanted}
            wanted = {own: at for own, at in wanted.items() if tell_together(seen[own][0], at)}
        for sample in [source for all_of in every for source in (all_of.head(_MANY), all_of)]:
            for own, table in zip(wanted, self._counted(sample, list(wanted)), strict=True):
                leaf, places = self.places(table, own)
                seen[own] = places, table.count[leaf]
            wanted = {own: at for own, at in wanted.items() if tell_together(seen[own][0], at)}
        for own, levels in wanted.items():
            places, count = seen[own]
            if tell_together(places, levels, count):
                *names, other = [self._variables[at].axis.column for at in own]
                self.unexamined.append(Gap("joint", f"{', '.join(names)}: {other}", len(names)))

    def _record_codes(self, sample: Any, variables: Iterable[int]) -> dict[int, IntArray]:
        """For some columns, the value of each record of a sample."""
        numbered = sample.with_row_index(_RECORD)
        codes = {}
        for at in variables:
            query = Query(by=[_RECORD, self._variables[at].spanning], name="partitions")
            table = tabulate_many(numbered, [query])[0]
            records, values = table.dimensions
            leaf = (table.index[0] > 0) & (table.index[1] > 0) & values.is_leaf[table.index[1]]
            record = np.array([0, *map(int, records.codes[1:])])[table.index[0][leaf]]
            codes[at] = np.full(sample.height, -1, dtype=np.int64)
            codes[at][record] = self._positions(at, values)[table.index[1][leaf]]
        return codes

    def _close(self) -> None:
        """What determines what by others between them."""
        for middle in range(len(self.partitions)):
            coarser = [(c, table) for (b, c), table in self.up.items() if b == middle]
            finer = [(a, table) for (a, b), table in self.up.items() if b == middle]
            for (a, first), (c, second) in product(finer, coarser):
                if a != c and (a, c) not in self.up:
                    self.up[a, c] = np.where(first >= 0, second[np.maximum(first, 0)], -1)


def _kind(tree: Classification) -> Any:
    """What tells classifications apart: the column, the codes and their parents."""
    return CubeAxis.of(tree), tree.codes, tree.parents


def _places(tree: Classification, variable: _SourceColumn) -> IntArray:
    """For each value of a column its code in a classification; a code beyond all for others."""
    beyond = len(tree)
    texts: Sequence[str] = variable.values
    if tree.bounds is not None:
        own = variable.spanning.leaves
        leaves = dict(zip(own, tree.leaves, strict=False))
        texts = [leaves.get(text, text) for text in texts]
    missing = getattr(variable.spanning, "missing", _MISSING)
    named = [tree.missing if text == missing else text for text in texts]
    return np.array([tree.index.get(text, beyond) for text in named], dtype=np.int64)


_MISSING = Classification(name="any", codes=("Total",), parents=(-1,)).missing
