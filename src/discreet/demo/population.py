"""Households and persons of one block.

In: the settlements of a block and its random bits. Out: arrays with one entry per
household and per person; attributes are positions in the lists of `discreet.demo.codes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.demo.chances import Chances
from discreet.demo.codes import HOUSEHOLD_TYPE, MARITAL_STATUS, codes_of
from discreet.demo.draws import AnyArray, IntArray, Stream

__all__ = ["Households", "Persons", "fill_households", "make_households"]

SINGLE, COUPLE, FAMILY, LONE_PARENT, SHARED = range(len(HOUSEHOLD_TYPE))
_STATUS = {code: at for at, code in enumerate(codes_of(MARITAL_STATUS))}
_UNMARRIED = 255


@dataclass(frozen=True, kw_only=True, eq=False)
class Households:
    """One entry per household, in order of settlement."""

    settlement: IntArray
    kind: AnyArray
    size: IntArray
    first: IntArray

    @property
    def number(self) -> int:
        """Number of households."""
        return len(self.size)


@dataclass(frozen=True, kw_only=True, eq=False)
class Persons:
    """One entry per person, household by household."""

    household: IntArray
    sex: AnyArray
    age: AnyArray
    nationality: AnyArray
    marital_status: AnyArray
    education: AnyArray
    occupation: AnyArray


def make_households(
    stream: Stream, chances: Chances, population: IntArray, kind: IntArray
) -> Households:
    """Households that take in exactly the population of each settlement."""
    # As many candidates as persons; those that begin beyond the last person are dropped.
    persons = int(population.sum())
    before = np.cumsum(population) - population
    settlement = np.repeat(np.arange(len(population)), population)
    drawn = chances.household.pick(stream.draw(persons), kind[settlement])
    kinds, sizes = chances.household_kind[drawn], chances.household_size[drawn]
    begin = np.cumsum(sizes) - sizes
    begin -= begin[before][settlement]
    kept = np.flatnonzero(begin < population[settlement])
    settlement, kinds = settlement[kept], kinds[kept]
    first = begin[kept] + before[settlement]
    size = np.diff(first, append=persons)
    # The last household of a settlement may have lost members.
    kinds[size == 1] = SINGLE
    kinds[(size == 2) & (kinds == FAMILY)] = COUPLE
    return Households(settlement=settlement, kind=kinds, size=size, first=first)


def fill_households(stream: Stream, chances: Chances, homes: Households, kind: IntArray) -> Persons:
    """The persons of the households; `kind` is the kind of settlement of each household."""
    persons = int(homes.size.sum())
    household = np.repeat(np.arange(homes.number), homes.size)
    position = np.arange(persons) - homes.first[household]
    couple = (homes.kind == COUPLE) | (homes.kind == FAMILY)
    head_age = chances.head_age.pick(stream.draw(homes.number), homes.kind)

    role = chances.role[homes.kind[household], np.minimum(position, 2)]
    partner = homes.first[couple] + 1
    age = chances.age.pick(stream.draw(persons), role * chances.ages + head_age[household])
    age[homes.first] = head_age

    same_sex = stream.draw(homes.number) < chances.same_sex
    sex = (stream.draw(persons) >= chances.male[role * chances.ages + age]).astype(np.uint8)
    sex[partner] = sex[homes.first[couple]] ^ ~same_sex[couple]

    marital = chances.alone_status.pick(stream.draw(persons), age)
    wed = chances.couple_status.pick(stream.draw(homes.number), head_age)
    wed = np.where(same_sex & (wed == _STATUS["married"]), _STATUS["partnership"], wed)
    bound = couple & (wed != _UNMARRIED)
    marital[homes.first[bound]] = wed[bound]
    marital[homes.first[bound] + 1] = wed[bound]

    education = chances.education.pick(stream.draw(persons), chances.school_band[age])
    work = education.astype(np.int64) * chances.work_bands + chances.work_band[age]
    return Persons(
        household=household,
        sex=sex,
        age=age,
        nationality=_nationality(stream, chances, household, kind),
        marital_status=marital,
        education=education,
        occupation=chances.occupation.pick(stream.draw(persons), work),
    )


def _nationality(stream: Stream, chances: Chances, household: IntArray, kind: IntArray) -> AnyArray:
    """Most members of a household have its nationality, the others one of their own."""
    common = chances.nationality.pick(stream.draw(len(kind)), kind)
    own = chances.nationality.pick(stream.draw(len(household)), kind[household])
    alike = stream.draw(len(household)) < chances.alike
    return np.where(alike, common[household], own)
