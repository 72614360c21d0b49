"""Whether something is about a few persons or firms only, or tells them apart. CONFIDENTIAL.

In: a session and a mask over its records, or values. Out: how many it is about, whether
those are few. Records that the program made itself count for nobody.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.output_checking.running.dataset import DataSet, Variable
from discreet.output_checking.running.syntax import (
    Binary,
    Function,
    Name,
    Node,
    Number,
    Text,
    Unary,
    parsed,
)
from discreet.output_checking.running.values import MISSING

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = [
    "ENTITY",
    "RECORD",
    "all_but_few",
    "asks_by_function",
    "cases",
    "cases_by_value",
    "copies",
    "differing_few",
    "distinct",
    "few",
    "few_in",
    "mark_real",
    "owners",
    "plain",
    "trimmed",
]

#: Hidden variables: whom a record is about, which it was when it was read.
ENTITY, RECORD = "entity", "record"
#: How many records are looked at first, then, and at last.
_LOOKS = (200, 20_000, 2**62)
#: So many conditions of one run may take away what a few have.
_TRIMS = 3
_ASKING = frozenset(("inlist", "inrange", "regexm", "ustrregexm", "strmatch", "strpos", "strrpos"))
_COMPARED = frozenset(("==", "!=", "<", ">", "<=", ">="))


def mark_real(session: Session, data: DataSet) -> None:
    """Number the records of microdata, so that copies and made-up records are known."""
    first = session.records
    session.records += data.rows
    numbers = np.arange(first, first + data.rows, dtype=np.float64)
    data.hidden[RECORD] = Variable(numbers, "double")
    session.key = hashlib.sha256(session.key + _digest(data)).digest()
    if session.entity is not None and session.entity in data.variables:
        data.hidden[ENTITY] = data.variables[session.entity]


def _digest(data: DataSet) -> bytes:
    """A digest of all numbers, the same in any order of the records."""
    sums = []
    for one in data.variables.values():
        if not one.is_text:
            bits = np.ascontiguousarray(one.values, dtype=np.float64).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            sums.append(int((mixed ^ (mixed >> np.uint64(32))).sum(dtype=np.uint64)))
    return repr(sums).encode()


def owners(session: Session) -> Any:
    """Whom each record is about, as whole numbers; -1 where it is about nobody that is known."""
    data = session.data
    record = _hidden(data, RECORD)
    kept = _hidden(data, ENTITY) if session.entity is not None else None
    kept = record if kept is None else kept
    if kept is None:
        return np.arange(data.rows, dtype=np.int64)
    known = session.known_owners
    if known is not None and known[0] is kept and known[1] is record:
        return known[2]
    unknown = kept.values == "" if kept.is_text else kept.values >= MISSING
    values = kept.values.astype(str) if kept.is_text else kept.values
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    if record is not None:
        unknown = unknown | (record.values >= MISSING)
    codes[np.asarray(unknown, dtype=np.bool_)] = -1
    session.known_owners = kept, record, codes
    return codes


def copies(session: Session) -> bool:
    """Whether there are copies of records, or records that the program made itself."""
    record = _hidden(session.data, RECORD)
    if record is None:
        return False
    return len(np.unique(record.values)) < session.data.rows or bool(
        (record.values >= MISSING).any()
    )


def _hidden(data: DataSet, name: str) -> Variable | None:
    found = data.hidden.get(name)
    return found if found is not None and len(found.values) == data.rows else None


def cases(session: Session, mask: Any) -> int:
    """How many persons or firms records are about; where they are enough, at least so many."""
    return distinct(owners(session)[np.flatnonzero(mask)], session.limits.minimum)


def distinct(who: Any, enough: int) -> int:
    """How many different ones there are, without -1; the search ends where they are enough.

    >>> distinct(np.array([3, -1, 3, 4]), 3)
    2
    """
    number = 0
    for size in _LOOKS:
        found = np.unique(who[:size])
        number = int((found >= 0).sum())
        if number >= enough or len(who) <= size:
            break
    return number


def few(session: Session, mask: Any) -> bool:
    """Whether some records are chosen, of a few persons or firms only."""
    chosen = np.asarray(mask, dtype=np.bool_)
    return bool(chosen.any()) and cases(session, chosen) < session.limits.minimum


def few_in(session: Session, data: DataSet, rows: Any = None) -> bool:
    """Whether other data, or some of their records, are about a few persons or firms only."""
    kept = session.data
    try:
        session.data = data
        return few(session, np.ones(data.rows, dtype=np.bool_) if rows is None else rows)
    finally:
        session.data = kept


def all_but_few(session: Session, mask: Any) -> bool:
    """Whether records of a few are left out, and of others chosen."""
    return few(session, ~np.asarray(mask, dtype=np.bool_)) and bool(np.any(mask))


def differing_few(session: Session, values: Any, mask: Any) -> bool:
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
    digest = hashlib.sha256(session.key + size.to_bytes(4, "little", signed=True)).digest()
    return 0.5 + int.from_bytes(digest[:6], "little") / 2**48


def trimmed(session: Session, condition: str | None, mask: Any) -> None:
    """Note that a condition takes away what a few have, or nearly does.

    That may be done some times, as outliers are. Who tries one bound after the other does it
    too often: which records there are then rests on single values.
    """
    trace = session.trace
    if condition is None or trace.plain or not (trace.few or few(session, mask)):
        return
    session.trims.add(condition)
    trace.touch(len(session.trims) > _TRIMS)


def plain(session: Session, expression: str | None) -> bool:
    """Whether a condition asks for nothing but categories and missing values.

    That nobody meets it may then be told: it is no question about what one person has.
    """
    return expression is None or _plain(session, parsed(expression))


def asks_by_function(expression: str) -> bool:
    """Whether a condition asks by a function, such as `inlist()`: no bound says how close it is."""
    return _asks(parsed(expression))


def _asks(node: Node) -> bool:
    if isinstance(node, Function):
        return node.name in _ASKING
    if isinstance(node, Unary):
        return _asks(node.inner)
    if isinstance(node, Binary):
        texts = node.sign in ("==", "!=") and Text in (type(node.left), type(node.right))
        return texts or _asks(node.left) or _asks(node.right)
    return False


def _plain(session: Session, node: Node) -> bool:
    if isinstance(node, Number | Text):
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


def _is_gap(node: Node) -> bool:
    """Whether a missing value or an empty text is written out."""
    return (isinstance(node, Number) and node.value >= MISSING) or node == Text("")


def _is_category(session: Session, name: str) -> bool:
    """Whether each value of a variable is that of enough persons or firms."""
    found = session.data.find(name)
    if found is None or found in session.trace.variables:
        return False
    variable = session.data.variables[found]
    values = pl.Series(list(variable.values) if variable.is_text else variable.values)
    number = cases_by_value(values, owners(session))
    return bool((number["cases"] >= session.limits.minimum).all())


def cases_by_value(values: pl.Series, who: Any) -> pl.DataFrame:
    """How many persons or firms have each value: columns `value` and `cases`."""
    table = pl.DataFrame({"value": values, "who": pl.Series(who, dtype=pl.Int64)})
    whom = pl.col("who").filter(pl.col("who") >= 0)
    return table.group_by("value").agg(whom.n_unique().alias("cases"))
