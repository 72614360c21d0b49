"""Whose values the observations hold that were copied from others. CONFIDENTIAL.

In: data sets that become one, groups that become observations, values carried from observation
to observation. Out: variables with their sources: of each value, whose it is. Copies of one
person's value count once: a statistic of them is withheld like one of few persons.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet_fire.runners.builtin.data.dataset import (
    MANY,
    OWN,
    DataSet,
    DataVariable,
    missing_values,
)
from discreet_fire.runners.builtin.disclosure.units import (
    counted_sources,
    distinct,
    unit_numbers,
)
from discreet_fire.runners.builtin.state.session import Session

#: The data set that a part of another comes from, and its row for each row there; -1 for none.
DataSide = tuple[DataSet, IntArray]


def note_copies(
    session: Session,
    result: DataSet,
    sides: Sequence[DataSide],
    replaced: Mapping[str, Any] | None = None,
) -> None:
    """Give the variables of a data set that others were put together to their sources.

    Values are of the first side that has the variable and the row; where they were `replaced`,
    of the last.
    """
    units = [unit_numbers(session, data) for data, _ in sides]
    shared = [(one,) if _repeats(rows) else () for one, (_, rows) in zip(units, sides, strict=True)]
    own = unit_numbers(session, result)
    known: dict[tuple[int, int], IntArray] = {}

    def placed(side: int, one: IntArray) -> IntArray:
        data, rows = sides[side]
        if (side, id(one)) not in known:
            settled = np.where(one == OWN, units[side], one)
            found = settled[np.maximum(rows, 0)] if data.rows else rows
            known[side, id(one)] = np.where(rows >= 0, found, OWN)
        return known[side, id(one)]

    for name, variable in result.variables.items():
        found, filled = list[IntArray](), np.zeros(result.rows, dtype=np.bool_)
        for side, (data, rows) in enumerate(sides):
            if name not in data.variables:
                continue
            maps = [placed(side, one) for one in data.variables[name].sources or shared[side]]
            taken = ~filled & (rows >= 0)
            if side and name in (replaced or {}):
                taken |= (replaced or {})[name]
            if filled.any():
                pairs = zip_longest(found, maps, fillvalue=np.int64(OWN))
                maps = [np.where(taken, new, old) for old, new in pairs]
            found, filled = maps, filled | taken
        spread = {id(one): one for one in found if _is_told(one, own)}
        result.variables[name] = replace(variable, sources=tuple(spread.values()))


def placed_sources(
    session: Session, result: DataSet, variable: DataVariable, to: IntArray, rows: IntArray
) -> tuple[IntArray, ...]:
    """Whose the values of a new variable are whose observations come from some rows."""
    units, own = unit_numbers(session, session.data), unit_numbers(session, result)
    found = []
    for one in variable.sources or (np.full(len(units), OWN),):
        source = np.full(result.rows, OWN)
        source[to] = np.where(one == OWN, units, one)[rows]
        found.append(source)
    return tuple(one for one in found if _is_told(one, own))


def _repeats(rows: IntArray) -> bool:
    """Whether a row comes several times."""
    taken = rows[rows >= 0]
    return len(np.unique(taken)) < len(taken)


def _is_told(source: IntArray, own: IntArray) -> bool:
    """Whether a source is noted: a figure of many, or values that observations of others hold."""
    return bool((source == MANY).any()) or _spreads(source, own)


def _spreads(source: IntArray, own: IntArray) -> bool:
    """Whether values of one are held by the observations of others."""
    copied = source >= 0
    pairs = np.unique(np.column_stack([source, own])[copied], axis=0)
    return bool(len(np.unique(pairs[:, 0])) < len(pairs))


def copied_names(data: DataSet) -> set[str]:
    """The variables with values that were copied from other observations."""
    return {
        name
        for name, variable in data.variables.items()
        if any((one >= 0).any() for one in variable.sources)
    }


def note_few_sources(session: Session) -> None:
    """Mark variables whose values come from too few: they are single values of the data."""
    data, least = session.data, session.limits.minimum
    for name in copied_names(data) - session.trace.variables:
        variable = data.variables[name]
        known = np.flatnonzero(~missing_values(variable))
        if len(known) and any(
            distinct(counted_sources(session, data, one)[known], least) < least
            for one in variable.sources
        ):
            session.trace.variables.add(name)


def note_derived(session: Session, names: Iterable[str], before: Container[str]) -> None:
    """What was made of copied values is as much a copy as they are.

    A figure of many is one no more where a variable that was there `before` got other values.
    """
    variables, own = session.data.variables, session.trace.own
    read = [variables[one] for one in sorted(session.trace.copied & variables.keys())]
    found = {id(source): source for one in read for source in one.sources}
    for name in names:
        if name in own:
            continue
        kept = {id(source): source for source in variables[name].sources} | found
        many = OWN if name in before else MANY
        sources = tuple(np.where(one == MANY, many, one) for one in kept.values())
        variables[name] = replace(variables[name], sources=sources)


def note_carried(session: Session, name: str, rows: Any, mask: Any) -> None:
    """Follow values that a replacement took from changed observations back to where they were.

    Each observation of the mask takes the value of one of the rows.
    """
    here = np.arange(session.data.rows)
    parents = np.where(mask, rows, here)
    roots = np.where(parents < here, parents, here)
    while True:
        further = roots[roots]
        if np.array_equal(further, roots):
            break
        roots = further
    later = np.where(parents > here, parents, here)
    origin = later[roots]
    own = unit_numbers(session, session.data)
    source = own[origin]
    if _spreads(source, own):
        variable = session.data.variables[name]
        earlier = [np.where(one == OWN, own, one)[origin] for one in variable.sources]
        session.data.variables[name] = replace(variable, sources=(*earlier, source))


def note_groups(session: Session, enough: Mapping[str, Any]) -> None:
    """Note which figures of groups, now observations, are those of many: they may be copied."""
    variables = session.data.variables
    for name, many in enough.items():
        source = np.where(many, MANY, OWN)
        variables[name] = replace(variables[name], sources=(source,))
