"""SAFE: every combination of codes occurs not at all, or at least three times.

In: records, CONFIDENTIAL, and the control tables that are to change least. Out: `ChangedRecords`:
some records have another combination, a few are left out or stand there twice. The largest error
of a cell of the control tables is the smallest there is, or close to it, and among such counts
those nearest to the old ones are taken. Method and measurements: docs/methods/record-methods.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, CellIndex, IntArray, starts
from discreet.compiled import compiled
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.keygrid import KeyGrid
from discreet.microdata import Secret, check_identifiers
from discreet.pretabular.changed_records import (
    ChangedRecords,
    InputRecords,
    check_codes,
    done,
    draws,
    impossible,
    paired,
    places,
    places_within,
    record_method,
)
from discreet.pretabular.settings import KEY, SafeSettings
from discreet.solver import column_values, loaded_solver

#: Weight of inner change: in sweeps per control table, in repairs beside squared excesses.
_SWEEPING, _REPAIRING = 4.0, 15.0
_SWEEPS = 40
#: Combinations of a violated cell that are looked at, and how many in all for one error.
_LOOKS, _LEAST_LOOKS, _LOOKS_EACH = 100, 2_000_000, 100
#: Branches of the solver, over the square of combinations: the same on every machine.
_BRANCHES = 20_000_000

SmallArray = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, repr=False)
class SafeCounts:
    """New counts, and how good they are. CONFIDENTIAL."""

    count: IntArray  # the new count of each combination
    error: int  # the largest error of a control cell
    least_error: int  # no counts have a smaller one than this
    least_change: int  # with this largest error, none have less inner change than this


@dataclass(frozen=True, kw_only=True, repr=False)
class ControlCells:
    """Which cell of each control table a combination belongs to. CONFIDENTIAL."""

    cell: SmallArray  # numbers of cells, a row for each combination, a column for each table
    begin: IntArray  # where the combinations of each cell begin in `member`
    member: SmallArray  # the combinations of each cell
    total: IntArray  # the old count of each cell

    @classmethod
    def of(cls, count: IntArray, tables: Sequence[IntArray]) -> ControlCells:
        """From the cell that each combination has in each table, however they are numbered."""
        cell = np.empty((len(count), len(tables)), dtype=np.int32)
        size = 0
        for at, numbers in enumerate(tables):
            distinct, cell[:, at] = np.unique(numbers, return_inverse=True)
            cell[:, at] += size
            size += len(distinct)
        begin = starts(np.bincount(cell.ravel(), minlength=size))
        total = np.zeros(size, dtype=np.int64)
        for at in range(len(tables)):
            np.add.at(total, cell[:, at], count)
        member = (np.argsort(cell, axis=None, kind="stable") // len(tables)).astype(np.int32)
        return cls(cell=cell, begin=begin, member=member, total=total)

    def errors(self, change: IntArray) -> IntArray:
        """By how much the cells change."""
        errors = np.zeros(len(self.total), dtype=np.int64)
        for at in range(self.cell.shape[1]):
            np.add.at(errors, self.cell[:, at], change)
        return errors

    def error(self, change: IntArray) -> int:
        """The largest of these, whether up or down."""
        return int(np.abs(self.errors(change)).max(initial=0))


def safe_counts(
    count: IntArray, tables: Sequence[IntArray], at_least: int, *, seed: int, exact: bool
) -> SafeCounts:
    """New counts: the local search's, or where they are `exact` the solver's, as far as it comes.

    >>> made = safe_counts(np.array([1, 2, 5, 4]), [np.array([0, 0, 1, 1])], 3, seed=1, exact=True)
    >>> made.count.tolist(), made.error
    ([0, 3, 5, 4], 0)
    """
    control = ControlCells.of(count, tables)
    # A cell of one or two can be no other than 0 or 3.
    few = (control.total > 0) & (control.total < at_least)
    off = np.minimum(control.total, at_least - control.total)[few]
    least = int(off.max(initial=0))
    value, error = _searched(count, control, at_least, least, seed)
    below = count[count < at_least]
    change = int(np.minimum(below, at_least - below).sum())
    if exact and len(count):
        value, least, change = _solved(count, control, at_least, least, value, error)
    if ((value != 0) & (value < at_least)).any():
        raise MicrodataError("some counts are still below the minimum", code="safe")
    error = control.error(value - count)
    return SafeCounts(count=value, error=error, least_error=least, least_change=change)


# -- the solver ----------------------------------------------------------------------------


def _solved(
    count: IntArray, control: ControlCells, at_least: int, least: int, value: IntArray, error: int
) -> tuple[IntArray, int, int]:
    """For one error after the other, the least change; the first that is possible is the answer.

    Given are the counts, and bounds of error and change.
    """
    proven = True
    for tried in range(least, error + 1):
        known = value if tried == error else None
        counts, bound, ended = _program(count, control, at_least, tried, error, known)
        if counts is not None:
            return counts, least, bound
        proven &= ended
        least = tried + 1 if proven else least
    return value, least, 0


def _program(
    count: IntArray, control: ControlCells, at_least: int, error: int, most: int,
    known: IntArray | None,
) -> tuple[IntArray | None, int, bool]:  # fmt: skip
    """Counts with the least change within `error`, a bound of it, and if the search was ended.

    A combination that occurs has the larger of its old count and the least allowed, more or
    less some; three columns for each: whether it occurs, more, less.
    """
    import highspy

    size, width = control.cell.shape
    cells, numbers = len(control.total), np.arange(size)
    level = np.maximum(count, at_least).astype(np.float64)
    highest = np.maximum((control.total[control.cell].min(axis=1) + most) - level, 0)
    wide, flat = np.repeat(numbers, width), control.cell.ravel()
    ones = np.ones(size)
    row = np.concatenate([flat, flat, flat, *[cells + numbers] * 2, *[cells + size + numbers] * 2])
    column = np.concatenate([wide, wide + size, wide + 2 * size,
                             numbers, numbers + size, numbers, numbers + 2 * size])  # fmt: skip
    coef = np.concatenate([level[wide], np.ones(len(wide)), -np.ones(len(wide)),
                           -highest, ones, at_least - level, ones])  # fmt: skip
    order = np.lexsort((column, row))
    total = control.total.astype(np.float64)
    solver = loaded_solver(
        (starts(np.bincount(row, minlength=cells + 2 * size)), column[order], coef[order]),
        np.zeros(3 * size), np.concatenate([ones, highest, level - at_least]),
        cost=np.concatenate([level - 2 * count, ones, ones]),
        rows=(np.r_[total - error, np.full(2 * size, -np.inf)],
              np.r_[total + error, np.zeros(2 * size)]),
        mip_rel_gap=0.0, mip_abs_gap=0.999,
        mip_max_nodes=max(_BRANCHES // size**2, 1),
    )  # fmt: skip
    solver.setOptionValue("presolve", "on")
    whole = np.full(3 * size, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    solver.changeColsIntegrality(3 * size, np.arange(3 * size, dtype=np.int32), whole)
    if known is not None:
        start = highspy.HighsSolution()
        on = (known > 0).astype(np.float64)
        apart = on * (known - level)
        start.col_value = np.concatenate([on, np.maximum(apart, 0), np.maximum(-apart, 0)]).tolist()
        solver.setSolution(start)
    solver.run()
    status = highspy.HighsModelStatus
    if solver.getInfo().primal_solution_status != int(
        highspy.SolutionStatus.kSolutionStatusFeasible
    ):
        ended = solver.getModelStatus() in (status.kInfeasible, status.kUnboundedOrInfeasible)
        return known, 0, bool(ended)
    solution = np.rint(column_values(solver)).reshape(3, size)
    value: IntArray = (level * solution[0] + solution[1] - solution[2]).astype(np.int64)
    wrong = (value != 0) & (value < at_least)
    if wrong.any() or control.error(value - count) > error:
        return known, 0, False  # numbers of the solver are not believed
    bound = int(np.ceil(solver.getInfo().mip_dual_bound + count.sum() - 1e-6))
    return value, max(bound, 0), True


# -- local search --------------------------------------------------------------------------


def _searched(
    count: IntArray, control: ControlCells, at_least: int, least: int, seed: int
) -> tuple[IntArray, int]:
    """Sweeps towards small squared errors, then repairs for one smaller error after the other."""
    old = count.astype(np.int32)
    value = np.where(old >= at_least, old, np.where(2 * old >= at_least, at_least, 0))
    value = value.astype(np.int32)
    error = control.errors(value - count).astype(np.int32)
    for _ in range(_SWEEPS):
        weight = _SWEEPING * control.cell.shape[1]
        if _sweep(value, old, control.cell, error, at_least, weight) <= len(old) // 2_000:
            break
    state = np.array([seed % 2**64 | 1], dtype=np.uint64)
    looks = _LEAST_LOOKS + _LOOKS_EACH * len(old)
    largest = int(np.abs(error).max(initial=0))
    kept = value.copy()
    while largest > least and not _repair(
        value, old, control.cell, error, control.begin, control.member,
        at_least, largest - 1, looks, state,
    ):  # fmt: skip
        kept, largest = value.copy(), int(np.abs(error).max(initial=0))
    error = control.errors(kept - count).astype(np.int32)
    while _polish(kept, old, control.cell, error, at_least, largest):
        pass
    return kept.astype(np.int64), largest


_compiled = compiled(nogil=True)


@_compiled
def _up(value: int, at_least: int) -> int:
    return at_least if value < at_least else value + 1


@_compiled
def _down(value: int, at_least: int) -> int:
    return value - 1 if value > at_least else 0


@_compiled
def _sweep(value: Any, old: Any, cell: Any, error: Any, at_least: int, weight: float) -> int:
    """One step up or down for each combination where squared errors and change gain by it."""
    moved, width = 0, cell.shape[1]
    for row in range(value.size):
        here, total = value[row], 0
        for at in range(width):
            total += error[cell[row, at]]
        best, choice = 0.0, here
        for new in (_up(here, at_least), _down(here, at_least)):
            step = new - here
            cost = 2.0 * step * total + width * step * step
            cost += weight * (abs(new - old[row]) - abs(here - old[row]))
            if cost < best:
                best, choice = cost, new
        if choice != here:
            moved += 1
            value[row] = choice
            for at in range(width):
                error[cell[row, at]] += choice - here
    return moved


@_compiled
def _drawn(state: Any, size: int) -> int:
    """The next number below `size` (xorshift)."""
    s = state[0]
    s ^= s << np.uint64(13)
    s ^= s >> np.uint64(7)
    s ^= s << np.uint64(17)
    state[0] = s
    return int((s >> np.uint64(1)) % np.uint64(size))


@_compiled
def _repair(
    value: Any, old: Any, cell: Any, error: Any, begin: Any, member: Any, at_least: int,
    most: int, looks: int, state: Any,
) -> int:  # fmt: skip
    """Bring all errors to `most`; how many cells are still beyond when looks have run out.

    Of a cell beyond, drawn at random, some combinations are tried, and the one that costs least
    is taken. Where none gains, the cell's own excess weighs more from then on.
    """
    width = cell.shape[1]
    heavy = np.ones(error.size)
    beyond = np.empty(error.size, np.int64)
    place = np.full(error.size, -1, np.int64)
    open_ = 0
    for one in range(error.size):
        if abs(error[one]) > most:
            beyond[open_], place[one] = one, open_
            open_ += 1
    while open_ > 0 and looks > 0:
        one = beyond[_drawn(state, open_)]
        size = begin[one + 1] - begin[one]
        first = _drawn(state, size)
        best, chosen, choice = np.inf, -1, 0
        for k in range(min(size, _LOOKS)):
            row = member[begin[one] + (first + k) % size]
            here = value[row]
            new = _down(here, at_least) if error[one] > 0 else _up(here, at_least)
            step = new - here
            cost = _REPAIRING * (abs(new - old[row]) - abs(here - old[row]))
            for at in range(width):
                e = error[cell[row, at]]
                before, after = max(abs(e) - most, 0), max(abs(e + step) - most, 0)
                cost += heavy[cell[row, at]] * (after * after - before * before)
            if step != 0 and cost < best:
                best, chosen, choice = cost, row, new
        looks -= min(size, _LOOKS)
        if best >= 0:
            heavy[one] += 1
            if chosen < 0 or _drawn(state, 10) > 0:
                continue
        step = choice - value[chosen]
        value[chosen] = choice
        for at in range(width):
            one = cell[chosen, at]
            error[one] += step
            if abs(error[one]) > most and place[one] < 0:
                beyond[open_], place[one] = one, open_
                open_ += 1
            elif abs(error[one]) <= most and place[one] >= 0:
                open_ -= 1
                last = beyond[open_]
                beyond[place[one]], place[last] = last, place[one]
                place[one] = -1
    return open_


@_compiled
def _polish(value: Any, old: Any, cell: Any, error: Any, at_least: int, most: int) -> int:
    """Steps back towards the old counts that keep all errors within `most`; how many were made."""
    moves = 0
    for row in range(value.size):
        here = value[row]
        new = _down(here, at_least) if here > old[row] else _up(here, at_least)
        if abs(new - old[row]) >= abs(here - old[row]):
            continue
        fits = True
        for at in range(cell.shape[1]):
            fits = fits and abs(error[cell[row, at]] + new - here) <= most
        if fits:
            moves += 1
            value[row] = new
            for at in range(cell.shape[1]):
                error[cell[row, at]] += new - here
    return moves


_MOST_FILLED = 1_000_000


@dataclass(frozen=True, kw_only=True, repr=False)
class _Combinations:
    """The combinations of codes, in their order, and how often each occurs. CONFIDENTIAL."""

    names: Sequence[str]  # the variables
    code: Sequence[IntArray]  # per variable, the code of each combination
    stratum: IntArray  # the stratum of each combination
    count: IntArray  # how many records have it
    of: IntArray  # the combination of each record
    first: Sequence[IntArray]  # per variable, the first record that has each code
    values: pl.DataFrame  # the variables as the records have them

    @classmethod
    def found(
        cls, records: InputRecords, names: Sequence[str], strata: Sequence[str],
        zeros: Sequence[str], *, fill: bool,
    ) -> _Combinations:  # fmt: skip
        """Those that occur; to be filled, all that codes and structural zeros allow."""
        length = len(records.frame)
        layers = [places(records.columns([name])) for name in strata]
        parts = [_numbered(layers, length), *(places(records.columns([name])) for name in names)]
        index = CellIndex(tuple(int(part.max(initial=-1)) + 1 for part in parts))
        if fill and index.size > _MOST_FILLED:
            message = f"too many combinations to fill: {index.size:,}"
            hint = "recode variables, or remove fill"
            raise MicrodataError(message, code="safe", where="fill", hint=hint)
        if fill:
            of, code = index.numbers(parts), [part.astype(np.int64) for part in index.every()]
        else:
            _, where, of = np.unique(index.joined(parts)[0], return_index=True, return_inverse=True)
            code = [part[where] for part in parts]
        combinations = cls(
            names=names, code=code[1:], stratum=code[0], of=of,
            count=np.bincount(of, minlength=len(code[0])),
            first=[np.unique(part, return_index=True)[1] for part in parts[1:]],
            values=records.columns(names),
        )  # fmt: skip
        return combinations.without(_forbidden(combinations, zeros)) if zeros else combinations

    def without(self, chosen: BoolArray) -> _Combinations:
        """Those that are not chosen, of which none occurs."""
        kept = np.flatnonzero(~chosen)
        number = np.cumsum(~chosen) - 1
        return replace(
            self, code=[part[kept] for part in self.code], of=number[self.of],
            stratum=self.stratum[kept], count=self.count[kept],
        )  # fmt: skip

    def rows(self) -> pl.DataFrame:
        """The values of each combination."""
        taken = zip(self.names, self.first, self.code, strict=True)
        return pl.DataFrame([self.values[name].gather(at[code]) for name, at, code in taken])

    def cells(self, names: Sequence[str], chosen: IntArray | None = None) -> IntArray:
        """Numbers of the cells of a table of these variables, for some combinations."""
        size = len(self.count) if chosen is None else len(chosen)
        parts = [self.code[self.names.index(name)] for name in names]
        return _numbered([part if chosen is None else part[chosen] for part in parts], size)


def _numbered(parts: Sequence[IntArray], length: int) -> IntArray:
    """The number of each combination of codes among those that occur."""
    if not parts:
        return np.zeros(length, dtype=np.int64)
    index = CellIndex(tuple(int(part.max(initial=-1)) + 1 for part in parts))
    return np.unique(index.joined(parts)[0], return_inverse=True)[1]


@record_method(SafeSettings)
def safe(records: InputRecords, settings: SafeSettings) -> ChangedRecords:
    """Let every combination of codes occur not at all, or `at_least` times (SAFE).

    Control tables change as little as possible: the largest error of a cell first, then the
    change of the combinations. As few records as possible change; they keep their identifiers,
    record keys and all other columns. What is missing is a code of its own.

    Options are those of `SafeSettings`; `secret` makes the choice unpredictable. `id` names the
    columns that identify a record; without, all columns together do. In the last one, copies have
    whole numbers beyond a power of ten, or "+1", "+2", …

    >>> people = pl.DataFrame({"sex": list("mmmmfffff"), "job": list("aaabbbbba")})
    >>> controls, secret = [["sex"], ["job"]], "a long and secret sentence"
    >>> made = safe(people, variables=["sex", "job"], controls=controls, secret=secret)
    >>> made.records.group_by("sex", "job").len().sort("sex", "job").rows()
    [('f', 'b', 5), ('m', 'a', 4)]
    """
    held, ids = records.secret, records.ids
    variables, tables = settings.variables, settings.controls
    strata, zeros, record_key = settings.by, settings.structural_zeros, settings.record_key
    key = record_key if record_key in records.frame.columns or record_key != KEY else None
    if {*variables, *strata} & {*ids, key}:
        message = "variables cannot be identifier, record key or stratum"
        raise_all(MicrodataError, [Problem(message, "variables")], code="safe")
    check_codes(records, [*variables, *strata])
    problems = []
    if ids:
        check_identifiers(records.frame, ids)
        last = records.columns(ids[-1:]).dtypes[0]
        if not last.is_integer() and last != pl.String:
            problems.append(
                Problem(
                    "identifiers of copies need whole numbers or texts",
                    ids[-1],
                )
            )
    if key is not None and not records.columns([key]).dtypes[0].is_integer():
        problems.append(Problem("record keys must be whole numbers", key, "import_record_keys"))
    raise_all(MicrodataError, problems, code="safe")
    combinations = _Combinations.found(records, variables, strata, zeros, fill=settings.fill)
    new, measures = _counts(combinations, tables, settings.at_least, held, settings.exact_up_to)
    numbers = records.columns(ids) if ids else _content(records)
    built = _Rebuilt(combinations, new, draws(numbers, held, "safe"), tables)
    changed = built.records(records, ids, key, KeyGrid.of(settings.grid), numbers, held)
    return done(
        "safe", changed, built.changes(records, ids), held, measures=measures | built.measures(),
        parameters={"variables": list(variables), "controls": tables, "by": strata,
                    "at_least": settings.at_least, "structural_zeros": zeros,
                    "fill": settings.fill},
        told={"names": ", ".join(variables), "at_least": settings.at_least},
    )  # fmt: skip


def _content(records: InputRecords) -> pl.DataFrame:
    """All that a record holds, as texts, where nothing identifies it."""
    whole = records.columns(records.frame.columns)
    flat = [name for name, kind in whole.schema.items() if not kind.is_nested()]
    texts = whole.select(flat).with_columns(pl.all().cast(pl.String))
    return texts.with_columns((pl.lit("=") + pl.all()).name.keep().fill_null("missing"))


def _forbidden(combinations: _Combinations, texts: Sequence[str]) -> BoolArray:
    """Which combinations are structural zeros; an error if one occurs."""
    rows = combinations.rows()
    mask = np.zeros(rows.height, dtype=np.bool_)
    for text in texts:
        mask |= impossible(rows, [text])
        if combinations.count[mask].any():
            message = "some records have an impossible combination"
            hint = "correct them, or remove the condition"
            raise MicrodataError(message, code="safe", where=text, hint=hint)
    return mask


def _counts(
    combinations: _Combinations, tables: Sequence[Sequence[str]], at_least: int, held: Secret,
    exact_up_to: int,
) -> tuple[IntArray, dict[str, Any]]:  # fmt: skip
    """New counts, stratum by stratum, and how far control tables are off."""
    count, stratum = combinations.count, combinations.stratum
    numbers = pl.DataFrame({"combination": np.arange(len(count))})
    order = np.lexsort((draws(numbers, held, "safe; combinations"), stratum))
    seed = int.from_bytes(held.derive("safe; search")[:8], "big")
    new, results = count.copy(), []
    for part in np.split(order, starts(np.bincount(stratum))[1:-1]):
        cells = [combinations.cells(names, part) for names in [*tables, []]]
        exact = len(count) <= exact_up_to
        results.append(safe_counts(count[part], cells, at_least, seed=seed, exact=exact))
        new[part] = results[-1].count
    below = (count > 0) & (count < at_least)
    return new, {
        "combinations": int((count > 0).sum()), "below": int(below.sum()),
        "combinations_after": int((new > 0).sum()),
        "controls": [_off(combinations, names, new - count) for names in tables],
        "largest_error": max(one.error for one in results),
        "least_possible_error": max(one.least_error for one in results),
        "change": int(np.abs(new - count).sum()),
        "least_possible_change": sum(one.least_change for one in results),
    }  # fmt: skip


def _off(combinations: _Combinations, names: Sequence[str], change: IntArray) -> dict[str, Any]:
    """How far a control table is off."""
    cells = combinations.cells(names) + combinations.stratum * len(change)
    numbers = np.unique(cells, return_inverse=True)[1]
    off = np.abs(np.bincount(numbers, weights=change))
    return {
        "variables": list(names), "cells": len(off), "as_before": int((off == 0).sum()),
        "mean_error": float(off.mean()) if len(off) else 0.0,
        "largest_error": int(off.max(initial=0)),
    }  # fmt: skip


class _Rebuilt:
    """Which record goes where: from combinations with too many to those with too few.

    Records move to where they keep most: all variables but one, then a control table, then the
    stratum. Who finds no place is left out; what then is missing are copies.
    """

    def __init__(
        self, combinations: _Combinations, new: IntArray, drawn: IntArray,
        tables: Sequence[Sequence[str]],
    ) -> None:  # fmt: skip
        self.combinations, of = combinations, combinations.of
        count = combinations.count
        self._order = np.lexsort((drawn, of))
        self._begin = starts(count)
        rank = np.empty(len(of), dtype=np.int64)
        rank[self._order] = np.arange(len(of)) - self._begin[of[self._order]]
        leaving = np.flatnonzero(rank >= new[of])
        leaving = leaving[np.argsort(drawn[leaving], kind="stable")]
        wanted = np.repeat(np.arange(len(count)), np.maximum(new - count, 0))
        self.target = of.copy()
        kept = [[one for one in combinations.names if one != left] for left in
                reversed(combinations.names)]  # fmt: skip
        for names in [*kept, *sorted(tables, key=len, reverse=True), []]:
            both = np.concatenate([of[leaving], wanted])
            same = combinations.cells(names, both) + combinations.stratum[both] * (len(both) + 1)
            one, other = paired(same[: len(leaving)], same[len(leaving) :])
            self.target[leaving[one]] = wanted[other]
            leaving, wanted = np.delete(leaving, one), np.delete(wanted, other)
        self.removed = np.sort(leaving)
        self.moved = np.flatnonzero(self.target != of)
        copied, number = self._copied(wanted)
        order = np.lexsort((number, drawn[copied]))
        self.copied, self.copy_target, self.copy = copied[order], wanted[order], number[order]
        self.new_ids: pl.Series | None = None

    def _copied(self, wanted: IntArray) -> tuple[IntArray, IntArray]:
        """A record for each copy: one of its combination, or of its stratum if that has none."""
        count, stratum = self.combinations.count, self.combinations.stratum
        whole = np.bincount(stratum, weights=count).astype(np.int64)
        own = count[wanted] > 0
        number = places_within(wanted)
        number[~own] = places_within(stratum[wanted[~own]])
        # Combinations are in the order of strata, and records in that of combinations.
        begin = np.where(own, self._begin[wanted], starts(whole)[stratum[wanted]])
        size = np.where(own, count[wanted], whole[stratum[wanted]])
        return self._order[begin + number % size], number

    def records(
        self, records: InputRecords, ids: Sequence[str], key: str | None, grid: KeyGrid,
        numbers: pl.DataFrame, held: Secret,
    ) -> Any:  # fmt: skip
        """The records as they are now; copies come last."""
        stay = np.delete(np.arange(len(self.target)), self.removed)
        source = np.concatenate([stay, self.copied])
        target = np.concatenate([self.target[stay], self.copy_target])
        same = target == self.combinations.of[source]
        parts = zip(
            self.combinations.names, self.combinations.first, self.combinations.code, strict=True
        )
        rows = {name: np.where(same, source, first[code[target]]) for name, first, code in parts}
        if not self.removed.size and not self.copied.size:
            return records.with_taken(rows)
        last = {}
        if ids:
            self.new_ids = _new_ids(records.columns(ids[-1:]).to_series(), len(self.copied))
            last[ids[-1]] = self.new_ids
        if key is not None:
            named = numbers[self.copied].with_columns(pl.Series("\0copy", self.copy))
            keys = draws(named, held, "safe; record keys", grid.size)
            last[key] = pl.Series(keys)
        return records.with_taken(rows, source, last)

    def changes(self, records: InputRecords, ids: Sequence[str]) -> pl.DataFrame:
        """Which records were moved, removed and copied, from and to which combination."""
        rows = self.combinations.rows().select(pl.all().cast(pl.String).fill_null(""))
        texts = rows.select(pl.concat_str(pl.all(), separator="/")).to_series()
        at = np.concatenate([self.moved, self.removed, self.copied])
        after = np.concatenate([self.target[self.moved], self.combinations.of[self.removed],
                                self.copy_target])  # fmt: skip
        sizes = {"moved": self.moved, "removed": self.removed, "copied": self.copied}
        words = [word for word, part in sizes.items() for _ in range(len(part))]
        gone = pl.Series(words, dtype=pl.String) == "removed"
        logged = [
            *(records.columns(ids)[at].get_columns() if ids else []),
            pl.Series("change", words, dtype=pl.String),
            texts.gather(self.combinations.of[at]).alias("before"),
            texts.gather(after).zip_with(~gone, texts.clear(len(at))).alias("after"),
        ]
        if ids:
            fresh = [] if self.new_ids is None else self.new_ids.cast(pl.String).to_list()
            blank = [None] * (len(at) - len(fresh))
            logged.append(pl.Series("copy", [*blank, *fresh], dtype=pl.String))
        return pl.DataFrame(logged)

    def measures(self) -> dict[str, int]:
        before = len(self.target)
        after = before - len(self.removed) + len(self.copied)
        return {"records": before, "records_after": after, "moved": len(self.moved),
                "removed": len(self.removed), "copied": len(self.copied)}  # fmt: skip


def _new_ids(old: pl.Series, size: int) -> pl.Series:
    """Identifiers of copies: no record has them, and they are seen to be new."""
    if old.dtype == pl.String:
        if old.str.starts_with("+").any():
            message = "identifiers must not start with a plus sign, which marks copies"
            raise MicrodataError(message, code="safe", where=old.name)
        return pl.Series([f"+{at}" for at in range(1, size + 1)], dtype=pl.String)
    highest: Any = max(old.max() or 0, 0)
    new = pl.Series(np.arange(1, size + 1) + 10 ** len(str(highest)))
    try:
        return new.cast(old.dtype)
    except pl.exceptions.InvalidOperationError:
        message, hint = (
            "the column is too small for the identifiers of copies",
            "convert it to 64 bits",
        )
        raise MicrodataError(message, code="safe", where=old.name, hint=hint) from None
