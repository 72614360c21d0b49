"""`SuppressionProblem`: cells to protect as one system, and what is asked of each. CONFIDENTIAL.

Every method and audit works on it. Numbers are whole: values are in units of the last published
decimal. A relation alone is public; values are not.

What primary rules found, a mask of sensitive cells, or an earlier pattern says per cell whether it
must be hidden, must be published or is hidden already, with protection levels, cost and bounds, in
units. Values that have changed since they were published are cells of their own; so are empty cells
of counts where zeros can be hidden.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, PositionArray
from discreet.confidential import Confidential
from discreet.disclosure import UNBOUNDED, ChangedCells, Relations, Unknowns, code_positions
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.rules import SEVERAL
from discreet.tables import CellStatus, ProtectedTable, Table, within

#: So far the cells of a relation may move in all, in units: doubles hold no larger sums exactly.
WIDEST = 2**53

_SHOWN = 20
_TOO_WIDE = "values or bounds are so far apart that no verdict is guaranteed"
_NARROWER = "publish fewer decimals, in thousands, or state tighter bounds"
#: Protection levels; and all columns of a problem.
LEVELS = ("lower", "upper", "sliding")
COLUMNS = ("value", "cost", "state", "low", "high", *LEVELS)


class CellState(IntEnum):
    """State of a cell."""

    free = 0
    primary = 1
    fixed = 2
    secondary = 3


def columns_between(value: IntArray, low: IntArray, high: IntArray) -> dict[str, Any]:
    """The columns of cells that no table shows: hidden at no cost, with bounds and no levels."""
    columns: dict[str, Any] = dict.fromkeys(COLUMNS, np.zeros_like(value))
    state = np.full(len(value), CellState.secondary, dtype=np.int8)
    return {**columns, "value": value, "low": low, "high": high, "state": state}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SuppressionProblem:
    """Which cells must be hidden, which may be, and how well (confidential).

    A pattern protects a sensitive cell if an attacker who knows all published cells, the
    relations and the bounds finds values from `value - lower` to `value + upper`
    possible for it, in an interval at least `sliding` wide.

    Args:
        value: True value of each cell, in units.
        cost: What hiding it costs; at least 0.
        state: `CellState` of each cell: primary cells must be hidden, fixed ones must be
            published, secondary ones are hidden already.
        low: What the attacker knows beforehand: no smaller, in units.
        high: No larger.
        lower: Lower protection level, in units; 0 where none is asked for.
        upper: Upper protection level.
        sliding: Sliding protection level.
        relations: Which cells add up to which.
        decimals: Digits after the decimal point of a value.
        name: Gives the name of a cell, for messages.
        title: Name of the problem.
    """

    value: IntArray
    cost: IntArray
    state: npt.NDArray[np.int8]
    low: IntArray
    high: IntArray
    lower: IntArray
    upper: IntArray
    sliding: IntArray
    relations: Relations
    decimals: int = 0
    name: Callable[[int], str] = field(default=lambda at: f"cell {at}")
    title: str = "table"

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, name)) for name in COLUMNS}
        if lengths != {self.relations.cells}:
            raise SuppressionError("the columns of a problem differ in length", code="problem")

    def __len__(self) -> int:
        return len(self.value)

    def columns_at(self, cells: IntArray) -> dict[str, Any]:
        """Values, costs, states, bounds and levels of some cells, by name."""
        return {name: getattr(self, name)[cells] for name in COLUMNS}

    @property
    def primary(self) -> IntArray:
        """Numbers of the sensitive cells."""
        return np.flatnonzero(self.state == CellState.primary).astype(np.int64)

    @property
    def hidden(self) -> BoolArray:
        """Cells that are hidden from the start: sensitive ones and earlier secondaries."""
        return np.isin(self.state, (CellState.primary, CellState.secondary))

    @property
    def without_room(self) -> IntArray:
        """Sensitive cells whose bounds alone rule out that any pattern protects them."""
        width, bare = self.high - self.low, (self.lower == 0) & (self.upper == 0)
        wanted = np.where(bare, np.maximum(self.sliding, 1), self.sliding)
        lost = (self.value - self.lower < self.low) | (self.value + self.upper > self.high)
        lost |= width < wanted
        return np.flatnonzero(lost & (self.state == CellState.primary)).astype(np.int64)

    def with_hidden(self, hidden: BoolArray) -> SuppressionProblem:
        """A copy with a pattern: hidden free cells become secondary."""
        state = self.state.copy()
        state[hidden & (state == CellState.free)] = CellState.secondary
        state[~hidden & (state == CellState.secondary)] = CellState.free
        return replace(self, state=state)

    def cost_of(self, hidden: BoolArray) -> int:
        """Cost of the secondary suppressions of a pattern."""
        return int(self.cost[hidden & (self.state != CellState.primary)].sum())

    def check(self) -> None:
        """Raise one error with everything that is wrong with the problem."""
        problems: list[Problem] = []

        def note(cells: Iterable[int], message: str, hint: str = "") -> None:
            problems.extend(Problem(message, self.name(int(at)), hint) for at in cells)

        outside = np.flatnonzero((self.value < self.low) | (self.value > self.high))
        hint = "widen the a-priori bounds"
        note(outside, "the value lies outside the bounds known beforehand", hint)
        hint = "correct the cells, or recalculate the totals (--repair)"
        hint += "; --differences lists them"
        for row in np.flatnonzero(self.relations.residuals(self.value)):
            low, high = self.relations.start[row : row + 2]
            entries = self.relations.cell[low:high]
            totals = entries[self.relations.coef[low:high] < 0]
            at = totals[0] if totals.size else entries[0]
            note([at], "the parts do not add up to the total", hint)
        for name in ("cost", *LEVELS):
            label = "cost" if name == "cost" else f"{name} protection level"
            note(np.flatnonzero(getattr(self, name) < 0), f"the {label} is negative")
        if not problems:
            note(self.too_wide(self.state != CellState.fixed), _TOO_WIDE, _NARROWER)
        many, where = "{} problems with cells", self.title
        raise_all(SuppressionError, problems, code="problem", many=many, where=where, most=_SHOWN)

    def room(self, cells: IntArray) -> tuple[FloatArray, FloatArray]:
        """Room below and above the true values that attackers must allow, in units.

        A bound of `UNBOUNDED` is none; in its place stands one, far beyond all else, that sums
        stay exact with: attackers are taken to know that much, on the safe side.
        """
        value, endless = self.value[cells], WIDEST // (2 * self.relations.heaviest)
        levels = (self.lower[cells], self.upper[cells], self.sliding[cells])
        most = np.maximum.reduce([np.full(len(cells), endless), *levels])
        down, up = value - self.low[cells], self.high[cells] - value
        down = np.where(self.low[cells] <= -UNBOUNDED, np.minimum(down, most), down)
        up = np.where(self.high[cells] >= UNBOUNDED, np.minimum(up, most), up)
        return np.maximum(down, 0).astype(np.float64), np.maximum(up, 0).astype(np.float64)

    def too_wide(self, hidden: BoolArray) -> IntArray:
        """A cell of each relation in which hidden cells can move farther than sums are exact."""
        links = self.relations
        down, up = self.room(np.arange(len(self)))
        far = np.where(hidden, np.maximum(down, up), 0.0)
        width = np.bincount(links.row, np.abs(links.coef) * far[links.cell], len(links))
        rows = np.flatnonzero(width > WIDEST)
        return np.unique(links.cell[links.start[rows]]).astype(np.int64)

    def digest(self) -> str:
        """SHA-256 over everything but names. CONFIDENTIAL: few cells could be guessed."""
        digest = hashlib.sha256(b"discreet suppression problem 1")
        names, links = ("value", "cost", "low", "high", *LEVELS, "state"), self.relations
        columns = (getattr(self, name) for name in names)
        for column in (*columns, links.start, links.cell, links.coef, links.rhs):
            digest.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"<SuppressionProblem {self.title} (confidential): {len(self):,} cells, "
            f"{len(self.relations):,} relations, {len(self.primary):,} sensitive>"
        )


def unknowns_of(
    problem: SuppressionProblem, hidden: BoolArray, sensitive: BoolArray | None = None
) -> Unknowns:
    """The hidden cells of a pattern; the primary cells are the sensitive ones unless given.

    A sensitive cell without any protection level must not be known exactly: it gets a
    sliding level of one unit.
    """
    if problem.too_wide(hidden).size:
        raise SuppressionError(_TOO_WIDE, code="range", where=problem.title, hint=_NARROWER)
    relations, cells = problem.relations.among(hidden)
    down, up = problem.room(cells)
    watched = (problem.state == CellState.primary if sensitive is None else sensitive)[cells]
    levels = {name: getattr(problem, name)[cells].astype(np.float64) for name in LEVELS}
    bare = np.all([level == 0 for level in levels.values()], axis=0)
    levels["sliding"][watched & bare] = 1.0
    return Unknowns(
        cells=cells, relations=relations, low=0.0 - down, high=up, sensitive=watched, **levels
    )


#: Levels are rounded up to whole units; so little is rounding of doubles.
_SLACK = 1e-6
#: Unpublished values are thought to be at most so many times as large as the largest.
_FAR = 16.0


@runtime_checkable
class PrimaryFindings(Protocol):
    """Results of primary rules: any object with these columns, one entry per cell.

    It may also have `fixed` (cells that must be published), `secondary` (cells that are
    hidden already), `cost`, `low` and `high` (given by hand; NaN where not), `at_most`,
    `at_least` and `opens` (what readers infer who know the rules; see `discreet.rules.Primary`).
    """

    @property
    def sensitive(self) -> BoolArray:
        """Which cells must be hidden."""

    @property
    def lower(self) -> FloatArray:
        """Lower protection levels, in the unit of the value."""

    @property
    def upper(self) -> FloatArray:
        """Upper protection levels."""

    @property
    def sliding(self) -> FloatArray:
        """Sliding protection levels."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Earlier(Confidential):
    """A table that was published before, with its pattern (confidential).

    Args:
        table: Its true values.
        hidden: Which of its cells were hidden: one boolean per cell, or the table as
            it was published.
        primary: Which of them are sensitive, with their protection levels: these are
            protected once more, against both tables together.
        change: Values may have changed since: last period, or a revision. By which share of
            a value attackers think at most that it changed; None for any change.
        others: Cells with other records now: they are other cells, even if the value is the same.
    """

    table: Table
    hidden: BoolArray | ProtectedTable
    primary: PrimaryFindings | BoolArray | None = None
    change: float | None = 0.1
    others: BoolArray | None = None

    def __post_init__(self) -> None:
        if self.change is not None and not 0 <= self.change < float("inf"):
            message = "the share of a change is a number of at least 0, or None"
            hint = "0.1 for a tenth of the value"
            raise SuppressionError(message, code="earlier", where="change", hint=hint)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Demands(Confidential):
    """Required protection of each cell of one table, in the unit of its value (confidential).

    Costs and bounds are NaN where nobody gave any.
    """

    sensitive: BoolArray
    fixed: BoolArray
    secondary: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    cost: FloatArray
    low: FloatArray
    high: FloatArray
    at_most: FloatArray
    at_least: FloatArray
    value: str | None = None
    #: Whether a table of now publishes the value, or that is known of it without rules
    published: Literal["now", "before", "never"] = "now"

    @classmethod
    def of(cls, asked: PrimaryFindings | BoolArray | None, table: Table) -> Demands:
        """The demands of primary rules, or of a mask, on the cells of a table; None: no cell."""
        if isinstance(asked, Demands):
            return asked
        none, nothing = np.zeros(len(table), dtype=np.bool_), np.zeros(len(table))
        if asked is None or isinstance(asked, np.ndarray):
            mask = none if asked is None else _mask(asked, table)
            levels: dict[str, Any] = dict.fromkeys(LEVELS, nothing)
            asked = None
        else:
            if not isinstance(asked, PrimaryFindings):
                raise SuppressionError(
                    "sensitive cells are given as a mask or as what primary rules found",
                    code="primary",
                    where=table.name,
                    hint="one boolean per cell of the table",
                )
            mask = _mask(asked.sensitive, table)
            levels = {n: np.where(mask, _column(getattr(asked, n), table), 0.0) for n in LEVELS}
        columns: dict[str, Any] = {
            name: nothing + np.nan if column is None else _column(column, table)
            for name in ("cost", "low", "high", "at_most", "at_least")
            for column in [getattr(asked, name, None)]
        }
        columns["at_most"] = np.where(mask, columns["at_most"], np.nan)
        return cls(
            sensitive=mask,
            fixed=_mask(getattr(asked, "fixed", none), table),
            secondary=_mask(getattr(asked, "secondary", none), table),
            **levels,
            **columns,
        )

    @classmethod
    def before(cls, earlier: Earlier, value: str | None = None) -> Demands:
        """The demands of a table published before: what is known stays known."""
        hidden = earlier.hidden
        if isinstance(hidden, ProtectedTable):
            hidden = hidden_in(earlier.table, hidden)
        hidden = _mask(hidden, earlier.table)
        own = cls.of(earlier.primary, earlier.table)
        return replace(
            own, value=value, published="before", sensitive=own.sensitive & hidden, fixed=~hidden,
            secondary=hidden,
        )  # fmt: skip

    @classmethod
    def of_nobody(cls, value: str | None, table: Table) -> Demands:
        """A value that is published nowhere: attackers know its sign, if it has one, no more."""
        if value not in (None, "weight") and value not in table.sums:
            message = f"a relation names {value!r}, which the table does not have"
            hint = f"tabulate with values=[…, {value!r}]: who knows the relation knows of it"
            raise SuppressionError(message, code="relations", where=table.name, hint=hint)
        values = table.weight if value == "weight" else table.sums.get(value or "", table.count)
        column = np.asarray(values, dtype=np.float64)
        nothing = np.zeros(len(table))
        most = np.full(len(table), _FAR * max(1.0, float(np.abs(column).max(initial=0.0))))
        return replace(
            cls.of(None, table), value=value, published="never", secondary=nothing == 0,
            cost=nothing, low=-most if (column < 0).any() else nothing, high=most,
        )  # fmt: skip

    def in_units(self, units: int, table: Table) -> Demands:
        """A copy in units of the last published decimal, levels rounded up to whole ones."""
        levels = [getattr(self, name) * units for name in LEVELS]
        wrong = (~np.isfinite(part) | (part < 0) | (part >= 2.0**53) for part in levels)
        if np.any([*wrong]):
            message = "protection levels of sensitive cells are numbers of at least 0"
            raise SuppressionError(message, code="primary", where=table.name)
        whole = {n: np.ceil(part - _SLACK) for n, part in zip(LEVELS, levels, strict=True)}
        bounds = {n: getattr(self, n) * units for n in ("low", "high", "at_most", "at_least")}
        return replace(self, **whole, **bounds)

    def among(self, cells: BoolArray) -> Demands:
        """A copy with demands for some cells only."""
        own: dict[str, Any] = {
            name: np.where(cells, part, 0 if name in LEVELS or part.dtype == np.bool_ else np.nan)
            for name, part in vars(self).items()
            if isinstance(part, np.ndarray)
        }
        masks = {name: own[name] != 0 for name in ("sensitive", "fixed", "secondary")}
        return replace(self, **own | masks)


def _mask(mask: Any, table: Table) -> BoolArray:
    array = np.asarray(mask)
    if array.shape != (len(table),) or array.dtype != np.bool_:
        message = "a mask has one boolean for each cell of its table"
        hint = "in the order of the cells of the table"
        raise SuppressionError(message, code="primary", where=table.name, hint=hint)
    return array


def _column(column: Any, table: Table) -> FloatArray:
    array = np.asarray(column, dtype=np.float64)
    if array.shape != (len(table),):
        message = "protection levels and costs have one entry for each cell"
        raise SuppressionError(message, code="primary", where=table.name)
    return array


def hidden_in(table: Table, published: ProtectedTable) -> BoolArray:
    """Which cells of a table are hidden in what was published of it, over the same variables."""
    own = [dimension.name for dimension in table.dimensions]
    names = [dimension.name for dimension in published.spanning]
    if sorted(names) != sorted(own) or published.several_figures:
        message = "what was published is not this table: its variables or figures differ"
        hint = f"variables needed: {', '.join(own)}"
        raise SuppressionError(message, code="earlier", where=published.name, hint=hint)
    index = code_positions(published.spanning, table.dimensions, table.index)
    listed = _all_known(index, len(table))
    # What is not listed is not known, but for empty cells: their codes are left out.
    hidden = occupied(table)
    places, size = [part[listed] for part in index], int(listed.sum())
    at = CellIndex.of(published.spanning).find(published.index, places, (published.stored, size))
    status = published.absent(places, size)
    status[at >= 0] = published.status[at[at >= 0]]
    hidden[listed] = status == CellStatus.suppressed
    return hidden


def _all_known(index: Sequence[PositionArray], size: int) -> BoolArray:
    known: BoolArray = np.all([np.ones(size, np.bool_), *(part >= 0 for part in index)], axis=0)
    return known


def occupied(table: Table) -> BoolArray:
    """Which cells have records, or a value."""
    filled: BoolArray = table.count != 0
    for column in table.sums.values():
        filled |= column != 0
    return filled


# -- values that have changed since they were published --------------------------------


def with_changes_known(problem: SuppressionProblem, changed: ChangedCells) -> SuppressionProblem:
    """The problem with what attackers think of changes: one more cell for each.

    It adds to the old value and gives the new one. A change is at most its share of the larger of
    both values; more if it was, and as much as protection levels need, unless nothing is thought to
    have changed: who knows better than the rules allow can be kept from nothing.
    """
    fixed = problem.state == CellState.fixed
    bounded = np.isfinite(changed.share) & ~(fixed[changed.now] & fixed[changed.before])
    now, before, share = (part[bounded] for part in (changed.now, changed.before, changed.share))
    number, size = len(now), len(problem)
    if not number:
        return problem
    new, old = problem.value[now], problem.value[before]
    most = np.ceil(share * np.maximum(np.abs(new), np.abs(old))).astype(np.int64)
    needed = np.maximum.reduce(
        [getattr(problem, name)[at] for name in LEVELS for at in (now, before)]
    )
    most = np.maximum(most, np.where(share > 0, needed, 0))
    delta = new - old
    fresh = columns_between(delta, np.minimum(-most, delta), np.maximum(most, delta))
    grown: dict[str, Any] = {
        name: np.concatenate([getattr(problem, name), fresh[name]]) for name in COLUMNS
    }
    cells = np.concatenate([now, before, np.arange(size, size + number)])
    coef = np.repeat([-1, 1, 1], number)
    rows = Relations.of_entries(size + number, number, np.tile(np.arange(number), 3), cells, coef)
    relations = replace(problem.relations, cells=size + number).joined(rows)
    name = problem.name

    def named(at: int) -> str:
        return name(at) if at < size else f"the change of {name(int(now[at - size]))}"

    return replace(problem, relations=relations, name=named, **grown)


# -- empty cells of counts -------------------------------------------------------------

#: With more cells than these, grids are not made in full.
_MOST = 250_000
#: What is found in a cell without records.
_EMPTY: dict[str, float] = {
    **dict.fromkeys(("sensitive", "fixed", "secondary", "opens"), False),
    **dict.fromkeys(("reason", *LEVELS), 0),
    **dict.fromkeys(("cost", "low", "high"), np.nan),
    **{"at_most": np.inf, "at_least": -np.inf, "contributor": SEVERAL},
}


class Findings(Confidential, SimpleNamespace):
    """Facts about the cells of a table that rules did not see, by column (confidential)."""


def with_empty_cells(table: Table, found: Any) -> tuple[Table, Any]:
    """A table of counts and what was found in it, with all empty cells at the end.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"a": ["T", "x", "T"], "b": ["T", "u", "u"], "n": [9, 3, 3]})
    >>> from discreet import Classification
    >>> by = [Classification(name=n, codes=("T", *c), parents=(-1, 0, 0)) for n, c in
    ...       (("a", "xy"), ("b", "uv"))]
    >>> table = Table.from_cells(cells, by=by, count="n")
    >>> whole, mask = with_empty_cells(table, table.count < 4)
    >>> len(table), len(whole), mask.tolist()[:4]
    (3, 7, [False, True, True, False])
    """
    index = _empty_places(table)
    added = len(index[0]) if index else 0
    nothing = np.zeros(added, dtype=np.int64)
    grown = replace(
        table,
        index=tuple(np.concatenate(pair) for pair in zip(table.index, index, strict=True)),
        count=np.concatenate([table.count, nothing]),
        cell_key=None,
        grid=None,
        weight=None if table.weight is None else np.concatenate([table.weight, 0.0 * nothing]),
        sums={name: np.concatenate([own, 0.0 * nothing]) for name, own in table.sums.items()},
        contributions={},
        only={},
    )
    if found is None or not added:
        return grown, found
    if isinstance(found, np.ndarray):
        return grown, np.concatenate([found, np.zeros(added, dtype=found.dtype)])
    columns = {name: getattr(found, name, None) for name in _EMPTY}
    whole = Findings(
        **{
            name: np.concatenate([own, np.full(added, _EMPTY[name], np.asarray(own).dtype)])
            for name, own in columns.items()
            if own is not None
        },
        **{name: getattr(found, name) for name in ("value", "weighted") if hasattr(found, name)},
    )
    return grown, whole


def _empty_places(table: Table) -> list[PositionArray]:
    """Where the cells stand that the table has and does not store."""
    grid = CellIndex.of(table.dimensions)
    if grid.size > _MOST:
        message = (
            f"the table has {grid.size:,} cells with empty ones, too many for suppressed zeros"
        )
        hint = f'take zero_cells="fixed", or tables of up to {_MOST:,} cells'
        raise SuppressionError(message, code="empty-cells", where=table.name, hint=hint)
    index = grid.every()
    missing = np.ones(grid.size, dtype=np.bool_)
    missing[grid.numbers(table.index, len(table))] = False
    missing &= within(table.dimensions, index, grid.size, table.parts)
    return [part[missing].astype(np.int32) for part in index]


def earlier_with_empty_cells(earlier: Earlier) -> Earlier:
    """A table published before, with its empty cells; those not listed were hidden or are not."""
    table, primary = with_empty_cells(earlier.table, earlier.primary)
    none = np.zeros(len(table) - len(earlier.table), dtype=np.bool_)
    masks: dict[str, Any] = {
        name: np.concatenate([mask, none])
        for name, mask in (("hidden", earlier.hidden), ("others", earlier.others))
        if mask is not None and not isinstance(mask, ProtectedTable)
    }
    return replace(earlier, table=table, primary=primary, **masks)


def hides_empty_cells(table: Table, published: ProtectedTable | BoolArray) -> bool:
    """Whether some cell without records is hidden in what was published of a table."""
    if not isinstance(published, ProtectedTable):
        mask = np.asarray(published)
        return mask.shape == table.count.shape and bool((mask & (table.count == 0)).any())
    blank = published.status == CellStatus.suppressed
    names = [{each.name for each in own} for own in (published.spanning, table.dimensions)]
    if names[0] != names[1]:
        return False  # where tables do not fit, `hidden_in` says so
    places = [part[blank] for part in published.index]
    index = code_positions(table.dimensions, published.spanning, places)
    known = _all_known(index, int(blank.sum()))
    lengths = (len(table), int(known.sum()))
    at = CellIndex.of(table.dimensions).find(table.index, [part[known] for part in index], lengths)
    return bool((at < 0).any() or (table.count[at] == 0).any())


def with_partners(
    sources: Sequence[tuple[Table, Any]], chosen: dict[str, Any]
) -> list[tuple[Table, Any]]:
    """Tables of counts with their empty cells, where these may be hidden or were before.

    Of the options `chosen`, those published earlier get theirs too.
    """
    earlier: Sequence[Earlier] = chosen.get("earlier", ())
    hidden_before = any(hides_empty_cells(item.table, item.hidden) for item in earlier)
    if chosen.get("zero_cells") != "partners" and not hidden_before:
        return list(sources)
    chosen["earlier"] = [earlier_with_empty_cells(item) for item in earlier]
    return [with_empty_cells(table, primary) for table, primary in sources]


# -- levels against insiders ------------------------------------------------------------


def levels_against(problem: SuppressionProblem, share: float) -> SuppressionProblem:
    """The problem with the share of its levels that holds against insiders: one unit at least.

    A sensitive cell without any level must not be computed exactly.
    """
    if share == 1:
        return problem
    columns = {
        name: np.ceil(share * getattr(problem, name) - 1e-9).astype(np.int64) for name in LEVELS
    }
    return replace(problem, **columns)


def levels_of_rest(
    problem: SuppressionProblem, cell: int, known: int
) -> tuple[int, int, int] | None:
    """The levels of a cell against one who knows more than half of it; None for no others.

    They shrink as the rest does in comparison with the known part. One unit at least stays
    uncertain; downwards the rest keeps a unit.
    """
    rest = int(problem.value[cell]) - known
    if rest <= 0:
        return None
    lower, upper, sliding = (-(-int(getattr(problem, n)[cell]) * rest // known) for n in LEVELS)
    lower = min(lower, rest - 1)
    return lower, upper, sliding if lower + upper else max(sliding, 1)
