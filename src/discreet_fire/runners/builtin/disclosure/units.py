"""Whom records are about: whether something is about a few persons or firms. CONFIDENTIAL.

In: a session and a mask over its records, or values; records and variables of each output that
is shown. Out: how many it is about, whether those are few, and whether an output differs from
an earlier one by a few: what both have in common can be taken away, and what is left is theirs.
Records that the program made itself count for nobody.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet_fire.catalogue import function_table
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable
from discreet_fire.runners.builtin.language.expressions import (
    Binary,
    ExpressionNode,
    Function,
    Name,
    NumberLiteral,
    TextLiteral,
    Unary,
    expression_tree,
)
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.builtin.state.trace import RecordMarks

#: Hidden variables: whom a record is about, which it was when it was read.
OWNER, RECORD = "entity", "record"
#: How many records are looked at first, then, and at last.
_LOOKS = (200, 20_000, 2**62)
#: So many conditions of one run may take away what a few have.
_TRIMS = 3
_TABLE = function_table()
_NOT_ASKING = _TABLE.drawing | _TABLE.naming | _TABLE.plain
_COMPARED = frozenset(("==", "!=", "<", ">", "<=", ">="))


def number_microdata(session: Session, data: DataSet, source: Path | None = None) -> None:
    """Number the records of microdata, so that copies and made-up records are known.

    Those of a file that was read before have the numbers that they had then.
    """
    history = session.history
    first, rows = history.sources.get(source, (history.records, data.rows))
    if rows != data.rows:
        first = history.records
    if first == history.records:
        history.records += data.rows
    if source is not None:
        history.sources.setdefault(source, (first, data.rows))
    numbers = np.arange(first, first + data.rows, dtype=np.float64)
    data.hidden[RECORD] = DataVariable(numbers, "double")
    session.history.key = hashlib.sha256(session.history.key + _digest(data)).digest()
    if session.entity is not None and session.entity in data.variables:
        data.hidden[OWNER] = data.variables[session.entity]


def _digest(data: DataSet) -> bytes:
    """A digest of all numbers, the same in any order of the records."""
    sums = []
    for one in data.variables.values():
        if not one.is_text:
            bits = np.ascontiguousarray(one.values, dtype=np.float64).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            sums.append(int((mixed ^ (mixed >> np.uint64(32))).sum(dtype=np.uint64)))
    return repr(sums).encode()


def owners(session: Session, data: DataSet | None = None) -> Any:
    """Whom each record is about, as whole numbers; -1 where it is about nobody that is known."""
    data = session.data if data is None else data
    record = hidden_column(data, RECORD)
    kept = hidden_column(data, OWNER) if session.entity is not None else None
    kept = record if kept is None else kept
    if kept is None:
        return np.arange(data.rows, dtype=np.int64)
    known = session.history.known
    if known is not None and known[0] is kept and known[1] is record:
        return known[2]
    unknown = kept.values == "" if kept.is_text else kept.values >= MISSING
    values = kept.values.astype(str) if kept.is_text else kept.values
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    if record is not None:
        unknown = unknown | (record.values >= MISSING)
    codes[np.asarray(unknown, dtype=np.bool_)] = -1
    session.history.known = kept, record, codes
    return codes


def named_units(session: Session, rows: Any) -> list[Any] | None:
    """Whom some records are about, by the values of the variable that says so; None if none does.

    None stands for those of whom it is not known.
    """
    kept = hidden_column(session.data, OWNER)
    if kept is None:
        return None
    unknown = kept.values == "" if kept.is_text else kept.values >= MISSING
    whom = kept.values[rows].astype(object)
    whom[np.asarray(unknown, dtype=np.bool_)[rows]] = None
    return list(whom.tolist())


def record_numbers(session: Session, rows: Any) -> IntArray:
    """The numbers of some records in the microdata; -1 for those that the program made."""
    record = hidden_column(session.data, RECORD)
    if record is None:
        return np.full(len(np.arange(session.data.rows)[rows]), -1, dtype=np.int64)
    numbers = record.values[rows]
    return np.where(numbers < MISSING, numbers, -1).astype(np.int64)


def first_records(session: Session) -> int:
    """How many records the data file has that was read first."""
    return next(iter(session.history.sources.values()), (0, 0))[1]


def has_copies(session: Session) -> bool:
    """Whether there are copies of records, or records that the program made itself."""
    record = hidden_column(session.data, RECORD)
    if record is None:
        return False
    return len(np.unique(record.values)) < session.data.rows or bool(
        (record.values >= MISSING).any()
    )


def hidden_column(data: DataSet, name: str) -> DataVariable | None:
    """A hidden variable, if it is still there for all records."""
    column = data.hidden.get(name)
    return column if column is not None and len(column.values) == data.rows else None


def unit_numbers(session: Session, data: DataSet) -> IntArray:
    """A number for whom each record is about, the same in all data; -1 where that is not known."""
    record, owner = hidden_column(data, RECORD), hidden_column(data, OWNER)
    units = np.arange(data.rows, dtype=np.int64) + 2**50
    if record is not None:
        units = np.where(record.values < MISSING, record.values + 2.0**40, -1).astype(np.int64)
    if owner is not None and session.entity is not None:
        marks = _marks(owner.values, text=owner.is_text).astype(np.int64)
        units = np.where((marks > 0) & (units >= 0), marks, units)
    return units


def counted_sources(session: Session, data: DataSet, source: IntArray) -> IntArray:
    """Whose each value is; whom its record is about where it is nobody else's."""
    who = owners(session, data)
    return np.where(source >= 0, source, np.where(who >= 0, who + 2**60, -1))


def read_sources(session: Session) -> list[IntArray]:
    """Whose the copied values are that the statement reads, once for each way they came."""
    data, sources = session.data, list[IntArray]()
    for name in sorted(session.trace.copied & data.variables.keys()):
        for one in data.variables[name].sources:
            if not any(one is other or np.array_equal(one, other) for other in sources):
                sources.append(one)
    return [counted_sources(session, data, one) for one in sources]


def cases(session: Session, mask: Any, data: DataSet | None = None) -> int:
    """How many persons or firms records are about; where they are enough, at least so many.

    Copied values that the statement reads are about those whose they are.
    """
    rows, least = np.flatnonzero(mask), session.limits.minimum
    number = distinct(owners(session, data)[rows], least)
    if data is not None and data is not session.data:
        return number
    return min([number, *(distinct(one[rows], least) for one in read_sources(session))])


def distinct(who: Any, enough: int) -> int:
    """How many different ones there are, without -1; the search ends where they are enough.

    >>> distinct(np.array([3, -1, 3, 4]), 3)
    2
    """
    number = 0
    for size in _LOOKS:
        units = np.unique(who[:size])
        number = int((units >= 0).sum())
        if number >= enough or len(who) <= size:
            break
    return number


def few(session: Session, mask: Any, data: DataSet | None = None) -> bool:
    """Whether some records are chosen, of a few persons or firms only."""
    chosen = np.asarray(mask, dtype=np.bool_)
    return bool(chosen.any()) and cases(session, chosen, data) < session.limits.minimum


def few_in(session: Session, data: DataSet, rows: Any = None) -> bool:
    """Whether other data, or some of their records, are about a few persons or firms only."""
    return few(session, np.ones(data.rows, dtype=np.bool_) if rows is None else rows, data)


def all_but_few(session: Session, mask: Any) -> bool:
    """Whether records of a few are left out, and of others chosen."""
    return few(session, ~np.asarray(mask, dtype=np.bool_)) and bool(np.any(mask))


def few_differ(session: Session, values: Any, mask: Any) -> bool:
    """Whether a few, but some, have other values than the commonest one."""
    chosen = np.asarray(values)[mask]
    if not chosen.size:
        return False
    seen, count = np.unique(chosen, return_counts=True)
    if len(seen) < 2:
        return False
    other = np.asarray(mask, dtype=np.bool_).copy()
    other[other] = chosen != seen[int(np.argmax(count))]
    return few(session, other)


def near(session: Session, gaps: Any) -> bool:
    """Whether a bound that all are below, or none reaches, lies near what one of few has.

    How near is near hangs on the data, so that trying bounds one after the other does not
    find the largest or smallest value.
    """
    known = gaps[np.isfinite(gaps)]
    if not known.size:
        return False
    spread, nearest = float(known.std()), float(known.min())
    if not nearest <= spread * _blur(session, spread):
        return False
    return few(session, gaps == nearest)


def _blur(session: Session, spread: float) -> float:
    """A factor from 0.5 to 1.5 that nobody knows without the data."""
    size = math.frexp(spread)[1]
    digest = hashlib.sha256(session.history.key + size.to_bytes(4, "little", signed=True)).digest()
    return 0.5 + int.from_bytes(digest[:6], "little") / 2**48


def trimmed(session: Session, condition: str | None, mask: Any, *, few_told: bool) -> None:
    """Note that a condition takes away what a few have, or nearly does.

    That may be done some times, as outliers are. Who tries one bound after the other does it
    too often: which records there are then rests on single values. The mask has the records that
    it takes away; `few_told` says whether a comparison holds for a few only.
    """
    trace = session.trace
    if condition is None or trace.plain or not (few_told or few(session, mask)):
        return
    session.history.trims.add(condition)
    trace.touch(len(session.history.trims) > _TRIMS)


def plain(session: Session, expression: str | None) -> bool:
    """Whether a condition asks for nothing but categories and missing values.

    That nobody meets it may then be told: it is no question about what one person has.
    """
    return expression is None or _plain(session, expression_tree(expression))


def asks_by_function(expression: str) -> bool:
    """Whether a condition asks by a function, such as `inlist()`: no bound says how close it is."""
    return _asks(expression_tree(expression))


def _asks(node: ExpressionNode) -> bool:
    if isinstance(node, Function):
        return node.name not in _NOT_ASKING
    if isinstance(node, Unary):
        return _asks(node.inner)
    if isinstance(node, Binary):
        texts = node.sign in ("==", "!=") and TextLiteral in (type(node.left), type(node.right))
        return texts or _asks(node.left) or _asks(node.right)
    return False


def _plain(session: Session, node: ExpressionNode) -> bool:
    if isinstance(node, NumberLiteral | TextLiteral):
        return True
    if isinstance(node, Function):
        if node.name in ("missing", "mi"):
            return True
        inner = node.arguments
        return node.name in ("inlist", "inrange") and all(_plain(session, one) for one in inner)
    if isinstance(node, Unary):
        return _plain(session, node.inner)
    if isinstance(node, Binary) and node.sign in _COMPARED:
        gap = any(_is_gap(side) for side in (node.left, node.right))
        return gap or all(_plain(session, side) for side in (node.left, node.right))
    if isinstance(node, Binary):
        return node.sign in "&|" and _plain(session, node.left) and _plain(session, node.right)
    return isinstance(node, Name) and _is_category(session, node.name)


def _is_gap(node: ExpressionNode) -> bool:
    """Whether a missing value or an empty text is written out."""
    return (isinstance(node, NumberLiteral) and node.value >= MISSING) or node == TextLiteral("")


def _is_category(session: Session, name: str) -> bool:
    """Whether each value of a variable is that of enough persons or firms."""
    column = session.data.find(name)
    if column is None or column in session.trace.variables:
        return False
    variable = session.data.variables[column]
    values = pl.Series(list(variable.values) if variable.is_text else variable.values)
    number = cases_by_value(values, owners(session))
    return bool((number["cases"] >= session.limits.minimum).all())


def cases_by_value(values: pl.Series, who: Any) -> pl.DataFrame:
    """How many persons or firms have each value: columns `value` and `cases`."""
    table = pl.DataFrame({"value": values, "who": pl.Series(who, dtype=pl.Int64)})
    whom = pl.col("who").filter(pl.col("who") >= 0)
    return table.group_by("value").agg(whom.n_unique().alias("cases"))


#: Bytes that may be kept of earlier outputs.
_ROOM = 400_000_000
#: So many sets of records that differ from earlier ones by a few may be used in one run.
_SETS = 5


def conflicts_with_earlier(session: Session, mask: Any, names: Sequence[str]) -> bool:
    """Whether an output differs from an earlier one by a few; if not, it is remembered."""
    record = hidden_column(session.data, RECORD)
    if record is None:
        return False
    used = np.asarray(mask, dtype=np.bool_) & (record.values < MISSING)
    at = record.values[used].astype(np.int64)
    who = _owners_by_number(session, used, at)
    held = session.history
    unit_marks: list[RecordMarks] = []
    for name in dict.fromkeys(names):
        variable = session.data.variables.get(name)
        if variable is not None:
            marks = np.zeros(session.history.records, dtype=np.uint32)
            marks[at] = _marks(variable.values[used], text=variable.is_text)
            unit_marks.append(marks)
    everyone = np.zeros(session.history.records, dtype=np.uint32)
    everyone[at] = 1
    if any(_close(session, one, earlier, who) for one in unit_marks for earlier in held.values):
        return True
    new = all(not _same(everyone, earlier) for earlier in held.sets)
    if new and any(_close(session, everyone, earlier, who) for earlier in held.sets):
        held.close += 1
        if held.close > _SETS:
            return True
    for kept, fresh in ((held.values, unit_marks), (held.sets, [everyone])):
        kept += [one for one in fresh if all(not _same(one, earlier) for earlier in kept)]
        most = max(_ROOM // max(4 * session.history.records, 1), 20)
        del kept[:-most]
    return False


def _marks(values: Any, *, text: bool) -> RecordMarks:
    """A number from 1 for each value that is not missing, the same for equal ones."""
    if text:
        hashed = pl.Series(values.tolist(), dtype=pl.String).hash(seed=0).to_numpy()
        known = values != ""
    else:
        bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
        hashed = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        known = values < MISSING
    short = (hashed >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return np.where(np.asarray(known, dtype=np.bool_), short, np.uint32(0))


def _owners_by_number(session: Session, used: Any, at: Any) -> Any:
    """For each record that was ever read, whom it is about as far as that is known now."""
    known = session.history.owners
    if len(known) < session.history.records:
        more = np.arange(len(known), session.history.records, dtype=np.int64) + 2**40
        known = session.history.owners = np.concatenate([known, more])
    fresh = known[at] >= 2**40
    if session.entity is not None and fresh.any():
        known[at[fresh]] = _unit_marks(session, used)[fresh]
    return known


def _unit_marks(session: Session, used: Any) -> Any:
    """A number for each person or firm, the same in all data of a run."""
    kept = hidden_column(session.data, OWNER)
    if kept is None:
        return session.data.hidden[RECORD].values[used].astype(np.int64) + 2**40
    return _marks(kept.values[used], text=kept.is_text).astype(np.int64)


def _same(one: RecordMarks, other: RecordMarks) -> bool:
    return not _apart(one, other).size


def _close(session: Session, one: RecordMarks, other: RecordMarks, who: Any) -> bool:
    """Whether two differ in the records of a few, but of some."""
    apart, least = _apart(one, other), session.limits.minimum
    return bool(apart.size) and distinct(who[apart], least) < least


def _apart(one: RecordMarks, other: RecordMarks) -> Any:
    """In which records two differ; where one is shorter, the marks of the other count."""
    size = min(len(one), len(other))
    longer = one if len(one) > size else other
    first = np.flatnonzero(one[:size] != other[:size])
    return np.concatenate([first, size + np.flatnonzero(longer[size:])])
