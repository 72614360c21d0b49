"""Whether a value depends on few persons or firms, or copies one's value to others. CONFIDENTIAL.

In: an expression and where it is evaluated; which observation each one takes a value from; a
statistic, its groups and what each observation adds. Out: yes or no. However it is written – a
condition, a product with 0 and 1, a table of one's own – a value that only one person's data
can change is about that person: so the data are changed, one variable after the other, and it
is seen whose values change. `x[_N]`, `egen … max()` or the total of what one person has put
the same value into many records: minimum cases and dominance would not see that any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from discreet_fire.catalogue import statistic_facts
from discreet_fire.runners.builtin.disclosure.units import few, owners, read_sources
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.expressions import evaluate, whole_column
from discreet_fire.runners.builtin.language.scope import Scope
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import concentrated

#: Ways to shake a number; each is seen by other expressions.
_ALTERATIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x + 1.0 + np.abs(x),
    lambda x: -x - 3.3,
    lambda x: 1.0013 * x + 0.37,
)


def depends_on_few_units(
    session: Session,
    expression: str,
    scope: Scope,
    value: Any,
    mask: Any = None,
    *,
    held: bool = False,
) -> bool:
    """Whether some variable matters for a few only in the value that an expression gave.

    The mask has the records for which it is used. If the expression is a condition, `held`, the
    value says where it holds.
    """
    used = scope.names.use.columns
    if not isinstance(value, np.ndarray) or not used:
        return False
    rows = session.data.rows
    with session.trace.apart():
        for name in sorted(used):
            changed = np.zeros(rows, dtype=np.bool_)
            for values in altered(session.data.variables[name].values):
                elsewhere = replace(scope, names=scope.names.altered(name, values))
                try:
                    other = whole_column(evaluate(expression, elsewhere), rows)
                except (DoError, UnsupportedError):
                    return False
                if held:
                    other = np.asarray(other != 0)
                changed |= np.asarray(other != value, dtype=np.bool_)
                if changed.all():
                    break
            if few(session, changed if mask is None else changed & mask):
                return True
    return False


def altered(values: Any) -> Iterator[Any]:
    """The values of a variable, all changed, in ways that different expressions see."""
    if values.dtype == object:
        column = np.empty(len(values), dtype=object)
        column[:] = [f"~{text[::-1]}{text}" if text else "" for text in values]
        yield from [column] * len(_ALTERATIONS)
        return
    known = values < MISSING
    for alter in _ALTERATIONS:
        yield np.where(known, alter(np.where(known, values, 0.0)), values)


def _owners(session: Session) -> list[Any]:
    """Whom each observation is about, and whose the copied values are that the statement reads.

    Each is another where that is not known.
    """
    rows = np.arange(session.data.rows, dtype=np.int64)
    unknown = rows + session.history.records + session.data.rows
    numberings = [owners(session), *read_sources(session)]
    return [np.where(codes >= 0, codes, unknown) for codes in numberings]


def copied_to_many(session: Session, rows: Any, inside: Any) -> bool:
    """Whether one observation's value is taken by the observations of several others.

    Each observation takes one from one of the rows, or all from the same, if it is inside.
    """
    size = session.data.rows
    taken = np.broadcast_to(np.asarray(rows, dtype=np.int64), (size,))
    used = np.broadcast_to(np.asarray(inside, dtype=np.bool_), (size,))
    who = _owners(session)[0]
    other = used & (who[np.minimum(taken, max(size - 1, 0))] != who)
    if not other.any():
        return False
    return int(np.bincount(taken[other]).max()) >= session.limits.minimum


def rests_on_one_unit(
    session: Session, statistic: str, group: Any, values: Callable[[], Any]
) -> bool:
    """Whether a statistic of some group is the value of one among several, or nearly so.

    The group is -1 for observations in none; `values` gives what each one adds.
    """
    copies = statistic_facts(statistic).copies
    inside = group >= 0
    if copies == "nothing" or not inside.any():
        return False
    many = groups_of_many(session, group, int(group.max()) + 1).all(axis=0)
    if not many.any():
        return False
    if copies == "one":
        return True
    chosen = inside & many[np.where(inside, group, 0)]
    return dominated(session, values(), np.where(chosen, group, -1))


def _units_of_groups(session: Session, group: Any, groups: int) -> list[Any]:
    """How many persons or firms each group has: by its records, then by its sources.

    The group is -1 for observations in none.
    """
    inside = group >= 0
    pairs = (np.unique(np.column_stack([group, who])[inside], axis=0) for who in _owners(session))
    return [np.bincount(one[:, 0], minlength=groups) for one in pairs]


def groups_of_many(session: Session, group: Any, groups: int) -> Any:
    """Whether each group is of enough persons or firms: by its records, then by its sources."""
    return np.array(_units_of_groups(session, group, groups)) >= session.limits.minimum


def fills_from_few(session: Session, given: Any, filled: Any, groups: int) -> bool:
    """Whether in some group others get values that are worked out of those of a few."""
    having, getting = (_units_of_groups(session, one, groups) for one in (given, filled))
    least = session.limits.minimum
    return any(
        bool(((own < least) & (own < many)).any())
        for own, many in zip(having, getting, strict=True)
    )


def dominated(session: Session, values: Any, group: Any) -> bool:
    """Whether one or two make up nearly all of what a group adds up.

    The group is -1 for observations in none; the values are what each one adds.
    """
    return any(_dominated(session, values, group, one) for one in _owners(session))


def _dominated(session: Session, values: Any, group: Any, units: Any) -> bool:
    who = np.unique(units, return_inverse=True)[1]
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


def groups_of_enough(session: Session, group: Any) -> tuple[Any, Any]:
    """Groups of enough persons or firms, and in each the first records that are of enough.

    Groups are consecutive and counted from 0; in both results they are -1 for other records.
    """
    who = _owners(session)[0]
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
