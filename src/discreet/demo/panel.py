"""A synthetic panel: the same persons year after year, as a population register holds them.

In: a number of persons and years, and a seed. Out: the records of each year. Persons are born and
die, households move, come and go, persons grow older and change their work. Areas are as uneven
as small areas are, from a house to a village. All of it is invented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, IntArray
from discreet.errors import MicrodataError

#: Lower ends of the age groups, and how many of a group die in a year.
AGE_GROUPS = (0, 15, 30, 45, 65)
_DEATHS = (0.001, 0.001, 0.002, 0.006, 0.04)
#: Children per woman from 15 to 44 in a year; shares of households that move or leave, and of
#: persons who come, in a year; of adults whose work changes.
_BIRTHS, _MOVES, _LEAVE, _COME, _WORK = 0.05, 0.07, 0.015, 0.02, 0.06
_SIZES = (0.42, 0.33, 0.13, 0.12)  # households of one to four persons
_PER_AREA = 50
_KINDS_OF_WORK = 5
_ORIGINS = (0.75, 0.12, 0.08, 0.05)
_FEWEST = 1_000


@dataclass
class _State:
    """The persons of a year; households stand in areas."""

    person: IntArray
    household: IntArray
    sex: IntArray
    born: IntArray
    origin: IntArray
    work: IntArray

    def kept(self, rows: BoolArray) -> _State:
        return _State(**{name: values[rows] for name, values in vars(self).items()})

    def joined(self, other: _State) -> _State:
        pairs = {name: (values, vars(other)[name]) for name, values in vars(self).items()}
        return _State(**{name: np.concatenate(pair) for name, pair in pairs.items()})


def panel(
    persons: int = 20_000, years: int = 5, seed: int = 2026, first: int = 2021
) -> Mapping[str, pl.DataFrame]:
    """The records of each year: `person`, `household`, `area`, `sex`, `age`, `work`, `origin`.

    >>> years = panel(persons=1_000, years=2)
    >>> list(years), years["2021"].height
    (['2021', '2022'], 1000)
    """
    if persons < _FEWEST or years < 1:
        message = f"a panel needs at least {_FEWEST:,} persons and one year"
        raise MicrodataError(message, code="panel", where="persons")
    draw = np.random.default_rng(seed)
    areas = max(8, persons // _PER_AREA)
    weights = draw.lognormal(0.0, 1.2, areas)
    weights /= weights.sum()
    state = _households(persons, 0, 0, first, draw)
    place = draw.choice(areas, int(state.household.max()) + 1, p=weights)
    frames, following = {str(first): _records(state, place, first)}, persons
    for year in range(first + 1, first + years):
        state = _aged(state, year, draw)
        households = len(place)
        place = np.where(
            draw.random(households) < _MOVES, draw.choice(areas, households, p=weights), place
        )
        come = _households(int(persons * _COME), following, households, year, draw)
        new = int(come.household.max()) + 1 - households
        place = np.concatenate([place, draw.choice(areas, new, p=weights)])
        following += len(come.person)
        children = _children(state, following, year, draw)
        following += len(children.person)
        state = state.joined(come).joined(children)
        frames[str(year)] = _records(state, place, year)
    return frames


def _households(
    persons: int, number: int, household: int, year: int, draw: np.random.Generator
) -> _State:
    """So many persons in new households, numbered from there on."""
    sizes = draw.choice(len(_SIZES), persons, p=_SIZES) + 1
    of = np.repeat(np.arange(persons), sizes)[:persons]
    age = np.clip(draw.normal(42, 23, persons), 0, 99).astype(np.int64)
    return _State(
        person=number + np.arange(persons),
        household=household + of,
        sex=draw.integers(0, 2, persons),
        born=year - age,
        origin=draw.choice(len(_ORIGINS), persons, p=_ORIGINS),
        work=draw.integers(1, _KINDS_OF_WORK, persons) * (age >= AGE_GROUPS[1]),
    )


def _aged(state: _State, year: int, draw: np.random.Generator) -> _State:
    """Those who are still there a year later, and their work."""
    group = _group(year - state.born)
    dead = draw.random(len(group)) < np.array(_DEATHS)[group]
    gone = draw.random(int(state.household.max()) + 1) < _LEAVE
    begins = (year - state.born) == AGE_GROUPS[1]
    changes = begins | ((draw.random(len(group)) < _WORK) & (group > 0))
    state.work = np.where(changes, draw.integers(1, _KINDS_OF_WORK, len(group)), state.work)
    return state.kept(~dead & ~gone[state.household])


def _children(state: _State, number: int, year: int, draw: np.random.Generator) -> _State:
    age = year - state.born
    mother = (state.sex == 1) & (age >= AGE_GROUPS[1]) & (age < AGE_GROUPS[3])
    mothers = state.kept(mother & (draw.random(len(age)) < _BIRTHS))
    many = len(mothers.person)
    zeros = np.zeros(many, dtype=np.int64)
    return _State(
        person=number + np.arange(many),
        household=mothers.household,
        sex=draw.integers(0, 2, many),
        born=zeros + year,
        origin=mothers.origin,
        work=zeros,
    )


def _group(age: IntArray) -> IntArray:
    return np.searchsorted(np.array(AGE_GROUPS), age, side="right") - 1


def _records(state: _State, place: IntArray, year: int) -> pl.DataFrame:
    codes = {
        "area": np.char.zfill(place[state.household].astype(str), 4),
        "sex": np.array(["m", "f"])[state.sex],
        "age": np.array([f"{low}+" for low in AGE_GROUPS])[_group(year - state.born)],
        "work": np.array([f"w{at}" for at in range(_KINDS_OF_WORK)])[state.work],
        "origin": np.array([f"o{at}" for at in range(len(_ORIGINS))])[state.origin],
    }
    return pl.DataFrame({"person": state.person, "household": state.household, **codes})
