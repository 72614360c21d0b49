"""Whether a value of one person or firm is handed to many others. CONFIDENTIAL.

In: which observation each one takes a value from, or groups and what they add up. Out: yes
or no. `x[_N]`, `egen … max()` or the total of what one person has put the same value into
many records: minimum cases and dominance would not see that any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.isolating import owners
from discreet.output_checking.running.values import MISSING
from discreet.output_checking.safe.judging import concentrated

if TYPE_CHECKING:
    from discreet.output_checking.running.egen_work import Work
    from discreet.output_checking.running.session import Session

__all__ = ["dominated", "hands_over", "leading", "rests_on_one", "spreads"]

#: Functions of `egen` that give a value of one observation, or of two.
_SINGLE = frozenset(
    ["min", "max", "median", "iqr", "mad", "mode", "pctile", "first", "last", "firstnm", "lastnm"]
)
_PERCENTILE = re.compile(r"p\d+\Z")
#: Functions whose value one large contribution can make up.
_ADDED = frozenset(["mean", "total", "sum", "rawsum", "sd", "std", "pc", "mdev", "skew", "kurt"])


def _owners(session: Session) -> Any:
    """Whom each observation is about; each another where that is not known."""
    codes = owners(session)
    rows = np.arange(session.data.rows, dtype=np.int64)
    return np.where(codes >= 0, codes, rows + session.records + session.data.rows)


def spreads(session: Session, rows: Any, inside: Any) -> bool:
    """Whether one observation's value is taken by the observations of several others.

    Args:
        session: The session.
        rows: For each observation, which one it takes a value from; or one for all.
        inside: Which of them take one at all.
    """
    size = session.data.rows
    taken = np.broadcast_to(np.asarray(rows, dtype=np.int64), (size,))
    used = np.broadcast_to(np.asarray(inside, dtype=np.bool_), (size,))
    who = _owners(session)
    other = used & (who[np.minimum(taken, max(size - 1, 0))] != who)
    if not other.any():
        return False
    return int(np.bincount(taken[other]).max()) >= session.limits.minimum


def hands_over(function: str, work: Work) -> bool:
    """Whether a function of `egen` gives one's value to the records of several others."""
    if function not in _SINGLE and function not in _ADDED:
        return False
    group = np.where(work.mask, work.group, -1)
    return rests_on_one(work.session, function, group, work.values)


def rests_on_one(session: Session, statistic: str, group: Any, values: Callable[[], Any]) -> bool:
    """Whether a statistic of some group is the value of one among several, or nearly so.

    Args:
        session: The session.
        statistic: Its name in `egen` or `collapse`.
        group: The group of each observation; -1 for none.
        values: Gives what each observation adds.
    """
    who = _owners(session)
    inside = group >= 0
    if not inside.any():
        return False
    pairs = np.unique(np.column_stack([group, who])[inside], axis=0)
    many = np.bincount(pairs[:, 0]) >= session.limits.minimum
    if not many.any():
        return False
    if statistic in _SINGLE or _PERCENTILE.match(statistic):
        return True
    if statistic not in _ADDED:
        return False
    chosen = inside & many[np.where(inside, group, 0)]
    return dominated(session, values(), np.where(chosen, group, -1))


def dominated(session: Session, values: Any, group: Any) -> bool:
    """Whether one or two make up nearly all of what a group adds up.

    Args:
        session: The session.
        values: What each observation adds.
        group: Its group; -1 for none.
    """
    who = np.unique(_owners(session), return_inverse=True)[1]
    known = (values < MISSING) & (group >= 0) & (values != 0)
    if not known.any():
        return False
    width = int(who.max()) + 1
    keys, place = np.unique(group[known] * width + who[known], return_inverse=True)
    amounts = np.bincount(place, np.abs(values[known]), minlength=keys.size)
    groups = keys // width
    order = np.lexsort((-amounts, groups))
    starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) > 0])
    for start, end in zip(starts, [*starts[1:], order.size], strict=True):
        largest = amounts[order[start:end]]
        second = float(largest[1]) if largest.size > 1 else 0.0
        if concentrated(float(largest[0]), second, float(largest.sum()), session.limits):
            return True
    return False


def leading(session: Session, group: Any) -> tuple[Any, Any]:
    """Groups of enough persons or firms, and in each the first records that are of enough.

    Args:
        session: The session.
        group: The group of each observation, consecutive and counted from 0.

    Returns:
        The group of each observation, -1 where it is of few; the same for the first records.
    """
    who = _owners(session)
    least = session.limits.minimum
    none = np.full(len(group), -1, dtype=np.int64)
    if not len(group):
        return none, none
    pairs = np.column_stack([group, who])
    _, firsts = np.unique(pairs, axis=0, return_index=True)
    firsts = firsts[np.lexsort((firsts, group[firsts]))]
    number = np.bincount(group[firsts])
    starts = np.cumsum(number) - number
    enough = number >= least
    last = np.full(len(number), -1, dtype=np.int64)
    last[enough] = firsts[starts[enough] + least - 1]
    whole = np.where(enough[group], group, -1)
    return whole, np.where(np.arange(len(group)) <= last[group], group, -1)
