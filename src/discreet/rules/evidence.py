"""`CellEvidence`: what a rule looks at, cell by cell, and where cells stand. CONFIDENTIAL.

In: a confidential `Table` with its largest contributions, of records or of holdings. Out:
counts, totals, and the sum of the m largest contributions of each cell, as if each
record stood there as many times as its weight says; numbers of cells by their codes, or by those
of another table. Which cells occur is confidential as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, find_sorted
from discreet.confidential import SecretValues
from discreet.errors import Problem, SuppressionError, shortened
from discreet.tables import Contributions, Dimension, Table

#: How protection levels are asked for.
Style = Literal["symmetric", "upper", "sliding"]

#: Sums are doubles: differences below this share of the larger side are ties.
_TIE = 1e-12
#: Rounding of weights must not make a list look too short.
_ENOUGH = 1e-9


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RuleJudgement:
    """Judgement of one rule on each cell; levels apply to sensitive cells (confidential)."""

    sensitive: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray


@dataclass(frozen=True, kw_only=True, repr=False)
class RuleInference(SecretValues):
    """Inference about a published number by someone who knows a rule and its marks. SECRET."""

    at_most: float  # a cell that the rule marks shows no more than this; infinite for nothing
    at_least: float  # a cell that it does not mark shows no less; minus infinite for nothing
    opens: bool  # whether a cell would be as good as known if the rule were told as its reason

    @classmethod
    def nothing(cls) -> RuleInference:
        """That of rules on something else than the published number."""
        return cls(at_most=float("inf"), at_least=float("-inf"), opens=False)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellEvidence:
    """Evidence for a rule, cell by cell (confidential)."""

    places: CellLookup  # the cells of the table
    #: Numbers of contributors: "records" (or holdings), and as far as known "values", "nonzero" and
    #: "weights"
    counts: Mapping[str, FloatArray]
    published: FloatArray  # what would be published: the value, or the count
    #: Sum of the absolute contributions that rules of concentration look at
    absolute: FloatArray | None = None
    contributions: Contributions | None = None  # the largest contributions, aligned with the cells
    weighted: bool = True  # whether a record counts as often as its weight says
    #: What a level in terms of contributions is worth in the published value
    scale: FloatArray | None = None
    value: str | None = None  # the value column; None for counts
    per: str = "record"  # whether contributors are records or holdings
    unit: float = 1.0  # the smallest step of the published value
    style: Style = "symmetric"  # how protection levels are asked for
    #: The evidence of those only who have not consented to be shown; None if nobody has consented
    unwaived: CellEvidence | None = None
    _sums: dict[int, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.published)

    @property
    def contributors(self) -> str:
        """Contributors of published figures: all records, or those with a value."""
        return "records" if self.value is None else "values"

    @property
    def guarded(self) -> CellEvidence:
        """The evidence of those whom rules protect: all who have not consented to be shown."""
        return self if self.unwaived is None else self.unwaived

    def count(self, of: str, rule: str) -> FloatArray:
        """The number of contributors of a kind."""
        if of not in self.counts:
            listed = "give the value, and tabulate with contributions=…"
            hints = {"weights": "tabulate with weight=…, or count records"}
            hints |= {"values": listed, "nonzero": listed}
            message = f"rule {rule} needs counts that the table lacks"
            where = self.places.table.name
            raise SuppressionError(
                message, code="contributors", where=where, hint=hints.get(of, "")
            )
        return self.counts[of]

    def total(self, rule: str) -> FloatArray:
        """Sum of the absolute contributions of each cell."""
        self._contributions(rule)
        assert self.absolute is not None
        return self.absolute

    def largest(self, m: int, rule: str) -> FloatArray:
        """Sum of the m largest absolute contributions of each cell.

        A record of weight w stands for w contributors of the same value, so that a list of
        few records can hold many contributors. Weights need not be whole numbers.
        """
        if m not in self._sums:
            self._sums[m] = self._largest(m, self._contributions(rule), rule)
        return self._sums[m]

    def _largest(self, m: int, contributions: Contributions, rule: str) -> FloatArray:
        sizes = np.abs(contributions.top)
        present = ~np.isnan(sizes)
        weights = present.astype(np.float64)
        if self.weighted and contributions.top_weight is not None:
            weights = np.where(present, contributions.top_weight, 0.0)
        left = np.full(len(self), float(m))
        total = np.zeros(len(self))
        for place in range(contributions.k):
            taken = np.minimum(left, weights[:, place])
            total += np.where(present[:, place], sizes[:, place], 0.0) * taken
            left -= taken
        cut = (left > _ENOUGH) & (contributions.count > present.sum(axis=1))
        if bool(cut.any()):
            message = f"rule {rule} needs more of the largest contributions than the table has"
            where = contributions.column
            hint = f"tabulate with contributions={min(max(m, contributions.k + 1), 16)} or more"
            raise SuppressionError(message, code="contributions", where=where, hint=hint)
        return total

    def _contributions(self, rule: str) -> Contributions:
        if self.value is None:
            message = f"rule {rule} applies to values, but the table has counts only"
            hint = 'add the value column, such as value="turnover"'
            raise SuppressionError(
                message, code="rule-value", where=self.places.table.name, hint=hint
            )
        if self.contributions is None:
            message = f"rule {rule} needs the largest contributions, which the table lacks"
            hint = f"tabulate with values=[{self.value!r}] and contributions=3"
            raise SuppressionError(message, code="contributions", where=self.value, hint=hint)
        return self.contributions

    def exceeds(self, excess: FloatArray, size: FloatArray, ties: str) -> BoolArray:
        """Whether the excess is above 0; what no more than rounding tells from 0 is a tie."""
        if ties == "sensitive":
            return excess >= -_TIE * size
        return excess > _TIE * size

    def share(self, percent: float) -> FloatArray:
        """So many percent of the published value."""
        return np.abs(self.published) * percent / 100

    def in_contributions(self, sensitive: BoolArray, level: FloatArray) -> RuleJudgement:
        """A judgement with levels in terms of contributions."""
        return self.both(sensitive, level if self.scale is None else level * self.scale)

    def both(self, sensitive: BoolArray, level: FloatArray) -> RuleJudgement:
        """A judgement with the same level up and down, in the style asked for."""
        level, nothing = np.maximum(level, self.unit), np.zeros(len(self))
        if self.style == "sliding":
            judged = self.directed(sensitive, nothing, nothing)
            return replace(judged, sliding=np.where(sensitive, 2 * level, 0.0))
        return self.directed(sensitive, level if self.style == "symmetric" else nothing, level)

    def directed(self, sensitive: BoolArray, lower: FloatArray, upper: FloatArray) -> RuleJudgement:
        """A judgement with levels of its own for both directions."""
        nothing = np.zeros(len(self))
        return RuleJudgement(
            sensitive=sensitive,
            lower=np.where(sensitive, lower, nothing),
            upper=np.where(sensitive, upper, nothing),
            sliding=nothing,
        )


def record_evidence(
    places: CellLookup, *, value: str | None, shadow: str | None, weighted: bool
) -> CellEvidence:
    """The evidence of the records of a table, for a value column (None for counts).

    Rules look at the column `shadow` instead, if there is one; `weighted` says whether a record
    counts as often as its weight says.
    """
    table = places.table
    if value is None:
        if shadow is not None:
            message = "a shadow variable needs a value"
            hint = 'add the value column, such as value="turnover"'
            raise SuppressionError(message, code="rule-value", where="shadow", hint=hint)
        published = table.count.astype(np.float64) if table.weight is None else table.weight
        return CellEvidence(places=places, counts=_counts(table, None), published=published)
    for column in (value, shadow):
        if column is not None and column not in table.sums:
            frame = ", ".join(table.sums) or "none"
            message = f"the table has no values of {column!r}"
            hint = f"columns: {frame}"
            raise SuppressionError(message, code="missing-column", where=table.name, hint=hint)
    published = table.sums[value]
    contributions = table.contributions.get(shadow or value)
    absolute = None if contributions is None else _absolute(contributions, weighted)
    apart = shadow is not None or (not weighted and table.weight is not None)
    return CellEvidence(
        places=places,
        counts=_counts(table, contributions, table.contributions.get(value)),
        published=published,
        absolute=absolute,
        contributions=contributions,
        weighted=weighted,
        scale=_scale(published, absolute) if apart and absolute is not None else None,
        value=value,
    )


def holding_evidence(records: CellEvidence, holdings: Table, column: str | None) -> CellEvidence:
    """The evidence of the holdings of the same cells, in a table made by `count_holdings`."""
    table = records.places.table
    if table.weight is not None:
        message = "rules per holding are not available for weighted tables"
        hint = "a weighted record represents units whose holdings are unknown"
        raise SuppressionError(message, code="holdings", where=table.name, hint=hint)
    place = places_in(table, holdings, "holdings")
    if bool((place < 0).any()):
        message = "the table of holdings lacks cells that the table has"
        hint = "tabulate both with the same records, classifications and filter"
        raise SuppressionError(message, code="other-table", where=table.name, hint=hint)
    contribution = None if column is None else holdings.contributions.get(column)
    contributions = None if contribution is None else chosen_contributions(contribution, place)
    own = holdings.contributions.get(records.value or "")
    counts = {name: count[place] for name, count in _counts(holdings, contribution, own).items()}
    absolute = None if contributions is None else contributions.absolute
    scale = None
    if records.scale is not None and absolute is not None:
        scale = _scale(records.published, absolute)
    return replace(
        records,
        counts=counts,
        contributions=contributions,
        absolute=absolute,
        scale=scale,
        per="holding",
        _sums={},
    )


def with_unwaived(cells: CellEvidence, table: Table) -> CellEvidence:
    """The evidence of all, with that of those who have not consented in a table of their own."""
    place = places_in(cells.places.table, table, "units without waiver")
    counts = {name: _chosen(part, place, 0.0) for name, part in _counts(table, None).items()}
    message = ""
    if bool((counts["records"] > cells.counts["records"]).any()):
        message = "the table of units without waiver has more of them than the table"
    contributions = None
    if cells.contributions is not None:
        contribution = table.contributions.get(cells.contributions.column)
        if contribution is None:
            message = "the table of units without waiver lacks the largest contributions"
        else:
            contributions = chosen_contributions(contribution, place)
    if message:
        hint = "create it with rules.count_waivers from the same records, values and contributions"
        raise SuppressionError(message, code="waivers", where=cells.places.table.name, hint=hint)
    absolute = None if contributions is None else _absolute(contributions, cells.weighted)
    own = replace(cells, counts=counts, contributions=contributions, absolute=absolute, _sums={})
    return replace(cells, unwaived=own, _sums={})


def chosen_contributions(contributions: Contributions, which: IntArray) -> Contributions:
    """The contributions of some cells, in the order of their numbers; of -1, those of nobody."""
    parts = {item.name: getattr(contributions, item.name) for item in fields(contributions)}
    moved: dict[str, Any] = {
        name: _chosen(part, which, np.nan if name in ("top", "low", "high") else 0)
        for name, part in parts.items()
        if isinstance(part, np.ndarray)
    }
    return replace(contributions, **moved)


def _chosen(part: npt.NDArray[Any], which: IntArray, nobody: float) -> npt.NDArray[Any]:
    empty = np.full((1, *part.shape[1:]), nobody, dtype=part.dtype)
    return np.concatenate([part, empty])[which]


def _counts(
    table: Table, contributions: Contributions | None, own: Contributions | None = None
) -> dict[str, FloatArray]:
    """Numbers of contributors; to the value published, `own`, too where rules look at another."""
    counts = {"records": table.count.astype(np.float64)}
    if table.weight is not None:
        counts["weights"] = table.weight
    if contributions is not None:
        counts["values"] = contributions.count.astype(np.float64)
        if own is not None:
            counts["values"] = np.minimum(counts["values"], own.count)
        counts["nonzero"] = contributions.nonzero.astype(np.float64)
    return counts


def _absolute(contributions: Contributions, weighted: bool) -> npt.NDArray[np.float64]:
    """Sum of the absolute contributions, with or without weights."""
    if weighted or contributions.top_weight is None:
        return contributions.absolute
    if bool((contributions.low < 0).any()):
        message = "negative values need weights for their absolute sum"
        hint = "keep weighted=True, or tabulate without weights"
        raise SuppressionError(message, code="rule-weights", where=contributions.column, hint=hint)
    return contributions.plain


def _scale(published: FloatArray, absolute: FloatArray) -> FloatArray:
    """What one unit of a contribution is worth in the published value."""
    scale = np.zeros(len(published))
    np.divide(np.abs(published), absolute, out=scale, where=absolute > 0)
    return scale


_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class CellLookup:
    """The cells of a table, to be found by the positions of their codes."""

    table: Table

    def __post_init__(self) -> None:
        self.grid.require(self.table.name, SuppressionError)

    @cached_property
    def grid(self) -> CellIndex:
        """The numbering of the cells."""
        return CellIndex.of(self.table.dimensions)

    @cached_property
    def flat(self) -> IntArray:
        """A number for each cell, the same for the same codes."""
        return self.numbers(self.table.index, len(self.table))

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.flat, kind="stable").astype(np.int64)

    @cached_property
    def _sorted(self) -> IntArray:
        return self.flat[self._order]

    def numbers(self, index: Sequence[npt.NDArray[np.integer]], length: int) -> IntArray:
        """The numbers of cells given by the positions of their codes."""
        return self.grid.numbers(index, length)

    def find(self, numbers: IntArray) -> IntArray:
        """The cells with these numbers; -1 where there is none."""
        at = find_sorted(self._sorted, numbers)
        return np.where(at >= 0, self._order[at], -1) if len(self.flat) else at

    def parents(self, variable: int) -> IntArray:
        """Per cell the one above it in a variable; -1 for totals, only children, and if absent.

        The only child of a code is the same cell as its parent and says nothing about it.
        """
        dimension, code = self.table.dimensions[variable], self.table.index[variable]
        parent = dimension.parents[code].astype(np.int64)
        above = self.find(self.flat + (parent - code) * self.grid.strides[variable])
        return np.where((parent >= 0) & ~_only_child(dimension)[code], above, -1)

    def name(self, cell: int) -> str:
        """The codes of a cell, for messages."""
        return ", ".join(
            f"{dimension.name}={dimension.codes[part[cell]]}"
            for dimension, part in zip(self.table.dimensions, self.table.index, strict=True)
        )


def _only_child(dimension: Dimension) -> BoolArray:
    """Which codes are the only child of their parent in their classification."""
    trees = len(dimension.classifications)
    family = dimension.parents.astype(np.int64) * trees + dimension.breakdown
    below = np.flatnonzero(dimension.parents >= 0)
    alone = np.zeros(len(dimension), dtype=np.bool_)
    _, family_of, size = np.unique(family[below], return_inverse=True, return_counts=True)
    alone[below] = size[family_of] == 1
    return alone


def places_in(table: Table, other: Table, what: str) -> IntArray:
    """For each cell of `table`, its number in `other`, or -1.

    The codes of the other table, `what` it is in messages, stand in `table` too.
    """
    names = [dimension.name for dimension in table.dimensions]
    if [dimension.name for dimension in other.dimensions] != names:
        what = f"the table of {what} has other spanning variables"
        hint = f"tabulate it by {', '.join(names) or 'nothing'}"
        raise SuppressionError(what, code="other-table", where=table.name, hint=hint)
    problems, translated = [], []
    for own, theirs, part in zip(table.dimensions, other.dimensions, other.index, strict=True):
        codes = np.array([own.index.get(code, -1) for code in theirs.codes], dtype=np.int64)
        unknown = np.unique(part[codes[part] < 0])
        problems += [
            Problem(f"the table of {what} has code {theirs.codes[at]!r}", own.name)
            for at in unknown
        ]
        translated.append(codes[part])
    if problems:
        raise SuppressionError(
            f"the table of {what} has codes that the table lacks",
            code="other-table",
            where=table.name,
            hint="tabulate both from the same records and classifications",
            problems=shortened(problems, _SHOWN),
        )
    places = CellLookup(table)
    mine = places.find(places.numbers(translated, len(other)))
    positions = np.full(len(table), -1, dtype=np.int64)
    positions[mine[mine >= 0]] = np.flatnonzero(mine >= 0)
    return positions
