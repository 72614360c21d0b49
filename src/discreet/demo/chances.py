"""The chances that the synthetic population is drawn with. All numbers are invented.

In: nothing. Out: `DrawChances`, tables of outcomes for every attribute of households,
persons, dwellings and buildings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.demo.classifications import NATIONALITY, OCCUPATION
from discreet.demo.draws import AGES, Outcomes, curve, skewed, threshold

#: What is drawn for persons who do not work; becomes a missing value.
NO_OCCUPATION = 127


# Household type (position in HOUSEHOLD_TYPE), size, shares in villages, towns and cities.
_HOUSEHOLDS = (
    (0, 1, 33.0, 39.0, 50.0),
    (1, 2, 31.0, 29.0, 24.0),
    (2, 3, 12.0, 10.5, 7.5),
    (2, 4, 11.5, 9.5, 6.0),
    (2, 5, 3.2, 2.5, 1.6),
    (2, 6, 0.8, 0.6, 0.5),
    (2, 7, 0.2, 0.15, 0.15),
    (2, 9, 0.03, 0.02, 0.03),
    (3, 2, 4.0, 4.6, 5.0),
    (3, 3, 1.5, 1.8, 1.8),
    (3, 4, 0.3, 0.4, 0.4),
    (3, 5, 0.07, 0.07, 0.08),
    (4, 2, 1.6, 1.5, 2.2),
    (4, 3, 0.4, 0.4, 0.9),
    (4, 5, 0.07, 0.1, 0.3),
)

# Per household type, points of a line of weights over the age of its head.
_HEAD_AGE = (
    [
        *[(17, 0), (20, 2), (26, 7), (35, 6), (45, 4.5), (56, 6), (68, 6), (76, 6.5), (83, 6)],
        *[(91, 2), (97, 0.3), (104, 0.01)],
    ],
    [
        *[(18, 0), (22, 1.5), (28, 4), (35, 2.5), (45, 3), (56, 7.5), (66, 8.5), (76, 7)],
        *[(83, 4), (91, 0.8), (100, 0.01)],
    ],
    [(18, 0), (22, 0.4), (28, 3), (34, 7), (42, 8), (50, 6), (58, 2), (66, 0.2), (70, 0)],
    [(16, 0), (20, 0.4), (28, 2.5), (36, 6), (44, 7), (52, 5), (60, 1.5), (70, 0.3), (80, 0)],
    [(17, 0), (19, 3), (23, 8), (28, 5), (35, 2), (50, 1), (80, 1.2), (90, 1), (100, 0)],
)

# Roles: head, partner, child, other; per household type for the first, second, later persons.
_HEAD, _PARTNER, _CHILD, _OTHER = range(4)
_ROLE = (
    (_HEAD, _HEAD, _HEAD),
    (_HEAD, _PARTNER, _PARTNER),
    (_HEAD, _PARTNER, _CHILD),
    (_HEAD, _CHILD, _CHILD),
    (_HEAD, _OTHER, _OTHER),
)
_BIRTHS = [(15, 0), (18, 0.6), (24, 4), (30, 8), (34, 6), (40, 2), (46, 0.1), (52, 0)]
_AT_HOME = [(0, 1), (17, 1), (20, 0.75), (25, 0.3), (30, 0.12), (40, 0.03), (60, 0.01), (105, 0)]
_MALE_BY_AGE = [(0, 0.513), (18, 0.52), (40, 0.56), (60, 0.5), (75, 0.36), (90, 0.24), (105, 0.15)]

# Ages at which bands begin, then one row of shares per band.
_SCHOOL_BANDS = (0, 6, 15, 18, 21, 26, 40, 60, 75)
_SCHOOL = (
    (1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 85, 1.5, 6, 7, 0, 0.5, 0, 0, 0),
    (0, 22, 3, 14, 22, 30, 9, 0, 0, 0),
    (0, 1, 4, 11, 12, 27, 35, 9, 1, 0),
    (0, 0.02, 5, 9, 6, 9, 39, 15, 15.5, 1.3),
    (0, 0.01, 4.5, 14, 7, 5, 47, 11, 10, 1.5),
    (0, 0, 4.5, 24, 5, 3, 46, 8, 8, 1.4),
    (0, 0, 6, 38, 4, 2, 39, 5, 5, 1),
)
_WORK_BANDS = (0, 15, 18, 21, 25, 55, 63, 67, 75, 90)
_WORKING = (0, 0.12, 0.45, 0.66, 0.86, 0.76, 0.34, 0.09, 0.012, 0)
_WORKING_BY_SCHOOL = (0, 0.45, 0.7, 0.85, 0.97, 0.85, 1.03, 1.05, 1.06, 1.08)

# Skill asked for by the first digit of an occupation, and offered by an education.
_SKILL_ASKED = (2.0, 3.0, 4.0, 3.0, 2.2, 1.7, 1.6, 1.7, 1.3, 0.6)
_SKILL_OFFERED = (0.5, 0.8, 0.5, 1.2, 1.7, 2.3, 2.1, 3.2, 3.9, 4.3)

_FOREIGN = (0.05, 0.11, 0.23)  # villages, towns, cities


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawChances:
    """Tables of outcomes; rows are named in the comments."""

    household: Outcomes  # kind of settlement
    household_kind: AnyArray  # outcome of household → type
    household_size: AnyArray  # outcome of household → size
    head_age: Outcomes  # type of household
    role: AnyArray  # type of household × min(position, 2)
    age: Outcomes  # role × age of the head
    ages: int  # rows of ages per role
    male: AnyArray  # role × age → threshold
    same_sex: int
    alone_status: Outcomes  # age
    couple_status: Outcomes  # age of the head; 255: not married
    nationality: Outcomes  # kind of settlement
    alike: int
    school_band: AnyArray  # age → band
    education: Outcomes  # band
    work_band: AnyArray  # age → band
    work_bands: int
    occupation: Outcomes  # education × band
    vacant: AnyArray  # kind of settlement → threshold
    dwellings: Outcomes  # kind of settlement
    building_type: Outcomes  # size class of building
    construction: Outcomes  # kind of settlement
    owned: AnyArray  # size class of building → threshold
    area: Outcomes  # size class of building
    price: Outcomes  # kind of settlement; cents per square metre


@cache
def chances() -> DrawChances:
    """The tables, made once.

    >>> chances().household.bits
    16
    """
    return DrawChances(
        **_household_chances(), **_person_chances(), **_work_chances(), **_housing_chances()
    )


def _household_chances() -> dict[str, Any]:
    columns = list(zip(*_HOUSEHOLDS, strict=True))
    return {
        "household": Outcomes.of([np.array(shares) for shares in columns[2:]]),
        "household_kind": np.array(columns[0], dtype=np.uint8),
        "household_size": np.array(columns[1], dtype=np.int64),
        "head_age": Outcomes.of([curve(points) for points in _HEAD_AGE]),
        "role": np.array(_ROLE, dtype=np.int64),
        "age": Outcomes.of(_age_rows(), bits=12),
        "ages": AGES,
        "same_sex": threshold(0.02),
    }


def _age_rows() -> list[FloatArray]:
    """Shares of ages per role and age of the head."""
    ages = np.arange(AGES)
    births, at_home = curve(_BIRTHS), curve(_AT_HOME)
    adult = (ages >= 18).astype(float)
    partners, children = [], []
    for head in range(AGES):
        away = (ages - max(head - 1, 19)) / 4.0
        partners.append(adult / (1.0 + away**2) ** 3)
        gap = np.where(ages <= head, head - ages, 0)
        shares = births[gap] * at_home
        children.append(shares if shares.any() else (ages == 0).astype(float))
    heads = [(ages == head).astype(float) for head in range(AGES)]
    others = [curve(_HEAD_AGE[4])] * AGES
    return [*heads, *partners, *children, *others]


def _person_chances() -> dict[str, Any]:
    male = curve(_MALE_BY_AGE)
    by_role = np.concatenate([male, np.full(AGES, 0.5), np.full(AGES, 0.513), male])
    single = 1.0 - curve(
        [(0, 0), (18, 0), (25, 0.04), (40, 0.4), (60, 0.7), (80, 0.93), (105, 0.95)]
    )
    widowed = curve(
        [(0, 0), (18, 0), (20, 0.0002), (40, 0.015), (60, 0.12), (80, 0.68), (105, 0.85)]
    )
    ended = curve([(0, 0), (19, 0), (30, 0.001), (60, 0.004), (105, 0.004)])
    apart = curve([(0, 0), (18, 0), (24, 0.02), (40, 0.05), (70, 0.04), (105, 0.02)])
    divorced = np.maximum(1.0 - single - widowed - ended - apart, 0.0)
    divorced[:20] = 0.0
    alone = np.stack([single, apart, widowed, divorced, 0.1 * ended, ended], axis=1)
    wed = curve([(0, 0), (18, 0.02), (24, 0.25), (32, 0.6), (45, 0.78), (65, 0.9), (105, 0.97)])
    return {
        "male": np.rint(by_role * 65536).astype(np.int64),
        "alone_status": Outcomes.of(list(alone), bits=14),
        "couple_status": Outcomes.of(list(np.stack([wed, 1.0 - wed], axis=1)), [1, 255], bits=12),
        "nationality": _nationalities(),
        "alike": threshold(0.9),
    }


def _nationalities() -> Outcomes:
    shares = np.array([code.share for code in chain.from_iterable(NATIONALITY.values())])
    foreign = shares / shares.sum()
    home = np.zeros(len(shares))
    home[0] = 1.0
    return Outcomes.of([share * foreign + (1.0 - share) * home for share in _FOREIGN])


def _band_of(bands: tuple[int, ...]) -> AnyArray:
    return np.searchsorted(bands, np.arange(AGES), side="right") - 1


def _work_chances() -> dict[str, Any]:
    usual = np.array([code.share for code in OCCUPATION])
    asked = np.array([_SKILL_ASKED[int(code.code[0])] for code in OCCUPATION])
    rows = []
    for offered, by_school in zip(_SKILL_OFFERED, _WORKING_BY_SCHOOL, strict=True):
        fit = usual * np.exp(-1.1 * np.abs(asked - offered))
        for working in _WORKING:
            share = min(working * by_school, 0.97)
            rows.append(np.concatenate([share * fit / fit.sum(), [1.0 - share]]))
    return {
        "school_band": _band_of(_SCHOOL_BANDS),
        "education": Outcomes.of([np.array(row, dtype=float) for row in _SCHOOL]),
        "work_band": _band_of(_WORK_BANDS),
        "work_bands": len(_WORK_BANDS),
        "occupation": Outcomes.of(rows, [*range(len(OCCUPATION)), NO_OCCUPATION], bits=13),
    }


def _housing_chances() -> dict[str, Any]:
    sizes = [1, 2, 3, 4, 6, 8, 10, 14, 24, 60]
    by_kind = [
        [70, 20, 3.5, 2.5, 2.2, 1, 0.5, 0.2, 0.08, 0.02],
        [58, 18, 6, 5, 6, 3.4, 2, 1, 0.5, 0.1],
        [34, 11, 7, 8, 14, 11, 8, 4.5, 2, 0.5],
    ]
    return {
        "vacant": np.rint(np.array([0.065, 0.042, 0.028]) * 65536).astype(np.int64),
        "dwellings": Outcomes.of([np.array(row) for row in by_kind], sizes),
        "building_type": Outcomes.of(
            [
                np.array(row, dtype=float)
                for row in ([62, 15, 21, 0, 2], [60, 14, 10, 13, 3], [2, 1, 2, 92, 3])
            ]
        ),
        "construction": Outcomes.of(
            [
                np.array(row, dtype=float)
                for row in (
                    [16, 10, 33, 13, 12, 9, 6, 1],
                    [11, 10, 39, 14, 11, 8, 6, 1],
                    [15, 14, 41, 11, 8, 5, 5, 1],
                )
            ]
        ),
        "owned": np.rint(np.array([0.85, 0.62, 0.19]) * 65536).astype(np.int64),
        "area": skewed([122, 96, 68], [0.32, 0.34, 0.36], least=14, most=600),
        "price": skewed([610, 740, 1_020], [0.26, 0.28, 0.36], least=180, most=4_500),
    }
