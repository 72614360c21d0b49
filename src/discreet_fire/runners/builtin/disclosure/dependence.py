"""Whether a value depends on few persons or firms, or copies one's value to others. CONFIDENTIAL.

In: an expression and where it is evaluated, or what a function of `egen` works on
(`EgenInput`: chosen observations and their groups); which observation each one takes a value
from. Out: yes or no. However it is written – a condition, a product with 0 and 1, a table of
one's own – a value that only one person's data can change is about that person: so the data are
changed, one variable after the other, and it is seen whose values change. `x[_N]`,
`egen … max()` or the total of what one person has put the same value into many records: minimum
cases and dominance would not see that any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet_fire.runners.builtin.disclosure.units import few, owners
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.expressions import evaluate, is_text, whole_column
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.statistics.disclosure_rules import concentrated

if TYPE_CHECKING:
    from discreet_fire.runners.builtin.language.calls import CommandCall
    from discreet_fire.runners.builtin.language.scope import Scope
    from discreet_fire.runners.builtin.state.session import Session

__all__ = [
    "EgenInput",
    "EgenResult",
    "codes_of",
    "copied_to_many",
    "copies_one_value",
    "depends_on_few_units",
    "dominated",
    "groups_of_enough",
    "percent_of",
    "rests_on_one_unit",
    "row_function_depends_on_few",
]

#: What a function gives: numbers, or a whole variable, and the default storage type.
EgenResult = tuple[Any, str]


@dataclass
class EgenInput:
    """What a function of `egen` works on.

    Args:
        session: The session.
        inside: What stands in the brackets.
        mask: The chosen observations.
        group: Number of each observation's group.
        groups: How many groups there are.
        call: The call, for options.
        target: Name of the new variable.
    """

    session: Session
    inside: str
    mask: BoolArray
    group: Any
    groups: int
    call: CommandCall
    target: str = ""

    def values(self, expression: str = "") -> FloatArray:
        """The expression in brackets, missing where an observation is not chosen."""
        scope = self.session.scope(self.call.groups)
        value = evaluate(expression or self.inside, scope)
        text = expression or self.inside
        self.session.trace.touch(depends_on_few_units(self.session, text, scope, value, self.mask))
        if is_text(value):
            raise DoError("type mismatch", code=109)
        column = np.asarray(whole_column(value, self.session.data.rows), dtype=np.float64)
        return np.where(self.mask, column, MISSING)

    def number(self, option: str, default: float) -> float:
        """The number in an option's brackets."""
        return self.call.number(option, default)

    def names(self) -> list[str]:
        """The variables in brackets; the trace learns of those that may not be shown."""
        names = self.session.data.listed(self.inside)
        if self.session.trace.variables.intersection(names):
            self.session.trace.touched = True
        return names

    def columns(self) -> list[FloatArray]:
        """The numeric variables in brackets."""
        data, found = self.session.data, []
        for name in self.names():
            if data.variables[name].is_text:
                raise DoError("type mismatch", code=109)
            found.append(np.asarray(data.variables[name].values, dtype=np.float64))
        if not found:
            raise DoError("varlist required", code=100)
        return found


def percent_of(given: EgenInput) -> float:
    """The option p(), as a share."""
    percent = given.number("p", 50.0)
    if not 0 < percent < 100:
        raise DoError("p() is between 0 and 100", code=198)
    return percent / 100


def codes_of(session: Session, names: list[str]) -> tuple[Any, int]:
    """Groups of equal values, numbered in their order from 0."""
    rows = session.data.rows
    if not names or not rows:
        return np.zeros(rows, dtype=np.int64), int(rows > 0)
    order = session.data.order_of(names)
    ordered = [session.data.variables[name].values[order] for name in names]
    changed = np.zeros(rows, dtype=np.bool_)
    for values in ordered:
        changed[1:] |= values[1:] != values[:-1]
    codes = np.empty(rows, dtype=np.int64)
    codes[order] = np.cumsum(changed)
    return codes, int(changed.sum()) + 1


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
    """Whether some variable matters for a few only.

    Args:
        session: The session.
        expression: The expression.
        scope: Where it was evaluated.
        value: What it gave.
        mask: The records for which it is used.
        held: Whether it is a condition, and the value says where it holds.
    """
    names = scope.names
    if not isinstance(value, np.ndarray) or not names.columns:
        return False
    trace = session.trace
    before = trace.touched, trace.few, trace.rest
    used, matched = set(names.columns), scope.matched
    try:
        for name in sorted(used):
            changed = np.zeros(session.data.rows, dtype=np.bool_)
            for shake in _ALTERATIONS:
                names.shaken = name, _altered(session.data.variables[name].values, shake)
                other = whole_column(evaluate(expression, scope), session.data.rows)
                if held:
                    other = np.asarray(other != 0)
                changed |= np.asarray(other != value, dtype=np.bool_)
                if changed.all():
                    break
            if few(session, changed if mask is None else changed & mask):
                return True
    except (DoError, UnsupportedError):
        return False
    finally:
        names.shaken = None
        scope.matched = matched
        trace.touched, trace.few, trace.rest = before
    return False


def row_function_depends_on_few(
    session: Session, work: EgenInput, function: Any, result: Any
) -> bool:
    """The same for a function of `egen` across variables."""
    variables, trace = session.data.variables, session.trace
    before = trace.touched
    for name in dict.fromkeys(work.names()):
        if name in trace.own or variables[name].is_text:
            continue
        kept, changed = variables[name], np.zeros(session.data.rows, dtype=np.bool_)
        try:
            for shake in _ALTERATIONS:
                variables[name] = replace(kept, values=_altered(kept.values, shake))
                changed |= np.asarray(function(work)[0] != result, dtype=np.bool_)
        finally:
            variables[name] = kept
            trace.touched = before
        if few(session, changed & work.mask):
            return True
    return False


def _altered(values: Any, shake: Callable[[Any], Any]) -> Any:
    if values.dtype == object:
        column = np.empty(len(values), dtype=object)
        column[:] = [f"~{text[::-1]}{text}" if text else "" for text in values]
        return column
    known = values < MISSING
    return np.where(known, shake(np.where(known, values, 0.0)), values)


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


def copied_to_many(session: Session, rows: Any, inside: Any) -> bool:
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


def copies_one_value(function: str, work: EgenInput) -> bool:
    """Whether a function of `egen` gives one's value to the records of several others."""
    if function not in _SINGLE and function not in _ADDED:
        return False
    group = np.where(work.mask, work.group, -1)
    return rests_on_one_unit(work.session, function, group, work.values)


def rests_on_one_unit(
    session: Session, statistic: str, group: Any, values: Callable[[], Any]
) -> bool:
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


def groups_of_enough(session: Session, group: Any) -> tuple[Any, Any]:
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
