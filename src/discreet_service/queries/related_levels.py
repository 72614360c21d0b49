"""Levels of other variables that the figures of one add up to.

In: the variables of a unit, all from one column or not. Out: for a level of one, the level of each
other one of its column that has a code which is made up of codes of it. Public: classifications
alone are looked at. Five-year groups are sums of single years; where the groups are hidden, the
years have to be hidden, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from discreet.arrays import PositionArray
from discreet_service.datasets import CatalogueVariable


def reached_levels(
    variables: Mapping[str, CatalogueVariable], name: str, level: int
) -> dict[str, int]:
    """Per variable of the same column, its deepest level of which some code can be added up.

    What is reached by way of a third variable counts. A level with nothing but the total is left
    out; the variable itself has its own level.

    >>> from discreet.classifications import Classification
    >>> made = {
    ...     name: CatalogueVariable(name=name, geography=False, tree=Classification.from_intervals(
    ...         name, bounds, column="age"))
    ...     for name, bounds in {"tens": [0, 10, 20], "fives": [0, 5, 10, 15, 20]}.items()
    ... }
    >>> reached_levels(made, "fives", 1), reached_levels(made, "tens", 1)
    ({'fives': 1, 'tens': 1}, {'tens': 1})
    """
    column = variables[name].tree.source
    others = {other: one for other, one in variables.items() if one.tree.source == column}
    found, waiting = {name: level}, [name]
    while waiting and level and len(others) > 1:
        first = waiting.pop()
        for other, one in others.items():
            reached = _added_up(others[first], found[first], one) if other != first else 0
            if reached > found.get(other, 0):
                found[other] = reached
                waiting.append(other)
    return found


def _added_up(one: CatalogueVariable, level: int, other: CatalogueVariable) -> int:
    """The deepest level of another variable of which some code is made up of codes of a level."""
    atoms = _atoms(one, other)
    if atoms is None:  # nobody knows: all of it
        return other.finest
    mine, theirs = atoms
    size = 1 + max(atom for each in (mine, theirs) for covered in each.values() for atom in covered)
    own = _labels(one, level, mine, size)
    for number in range(other.finest, 0, -1):
        if _some_is_made_up(own, _labels(other, number, theirs, size)):
            return number
    return 0


def _some_is_made_up(own: PositionArray, codes: PositionArray) -> bool:
    """Whether one of some codes, unless it is all there is, is made up of several others.

    A code that both have is one cell, which a table of either shows as what it is.
    """
    size = int(own.max(initial=-1)) + 1
    low, high = np.full(size, len(codes) + 1), np.full(size, -1)
    known = own >= 0
    np.minimum.at(low, own[known], codes[known])
    np.maximum.at(high, own[known], codes[known])
    whole = np.zeros(len(own), dtype=np.bool_)
    whole[known] = (low == high)[own[known]]
    wanted = np.unique(codes[codes >= 0])
    pairs = np.unique(np.stack([codes, own])[:, codes >= 0], axis=1)
    several = [code for code in wanted.tolist() if int((pairs[0] == code).sum()) > 1]
    broken = codes[(codes >= 0) & ~whole]
    return len(wanted) > 1 and bool(len(np.setdiff1d(several, broken)))


_Atoms = dict[int, list[int]]


def _atoms(one: CatalogueVariable, other: CatalogueVariable) -> tuple[_Atoms, _Atoms] | None:
    """Per finest code of both, by position, the smallest parts of the column that it covers."""
    if (one.tree.bounds is None) != (other.tree.bounds is None):
        return None
    if one.tree.bounds is None:
        numbers: dict[str | None, int] = {}
        mine, theirs = (
            {at: [numbers.setdefault(code, len(numbers))] for at, code in _leaves(each)}
            for each in (one, other)
        )
        return mine, theirs
    edges = np.unique([*(one.tree.bounds or ()), *(other.tree.bounds or ())])
    return _intervals(one, edges), _intervals(other, edges)


def _leaves(variable: CatalogueVariable) -> Iterator[tuple[int, str | None]]:
    """The finest codes by position; None for what records without a value get."""
    tree = variable.tree
    for at in np.flatnonzero(tree.is_leaf).tolist():
        code = tree.codes[at]
        yield at, None if code == tree.missing else code


def _intervals(variable: CatalogueVariable, edges: np.ndarray) -> _Atoms:
    bounds = np.searchsorted(edges, np.asarray(variable.tree.bounds))
    found: _Atoms = {}
    number = 0
    for at, code in _leaves(variable):
        if code is None:
            found[at] = [len(edges)]
        else:
            found[at] = [*range(int(bounds[number]), int(bounds[number + 1]))]
            number += 1
    return found


def _labels(variable: CatalogueVariable, level: int, atoms: _Atoms, size: int) -> PositionArray:
    """Per atom, the code of a level by its position; -1 where the classification has none."""
    labels = np.full(size, -1, dtype=np.int32)
    cut = set(variable.cuts[level].tolist())
    for at, covered in atoms.items():
        above = at
        while above not in cut:
            above = variable.tree.parents[above]
        labels[covered] = above
    return labels
