"""The chances that the synthetic population is drawn with. All numbers are invented.

In: `chances.toml`. Out: `DrawChances`, tables of outcomes for every attribute of households,
persons, dwellings and buildings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.demo.classifications import finest_codes
from discreet.demo.draws import AGES, Outcomes, curve, skewed, threshold

#: What is drawn for persons who do not work; becomes a missing value.
NO_OCCUPATION = 127

_NUMBERS: dict[str, Any] = tomllib.loads(
    files("discreet.demo").joinpath("chances.toml").read_text("utf-8")
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
    kinds, sizes, *shares = zip(*_NUMBERS["households"], strict=True)
    return {
        "household": Outcomes.of(shares),
        "household_kind": np.array(kinds, dtype=np.uint8),
        "household_size": np.array(sizes, dtype=np.int64),
        "head_age": Outcomes.of([curve(points) for points in _NUMBERS["head_age"]]),
        "role": np.array(_ROLE, dtype=np.int64),
        "age": Outcomes.of(_age_rows(), bits=12),
        "ages": AGES,
        "same_sex": threshold(0.02),
    }


def _age_rows() -> list[FloatArray]:
    """Shares of ages per role and age of the head."""
    ages = np.arange(AGES)
    births, at_home = _curve("births"), _curve("at_home")
    adult = (ages >= 18).astype(float)
    partners, children = [], []
    for head in range(AGES):
        away = (ages - max(head - 1, 19)) / 4.0
        partners.append(adult / (1.0 + away**2) ** 3)
        gap = np.where(ages <= head, head - ages, 0)
        shares = births[gap] * at_home
        children.append(shares if shares.any() else (ages == 0).astype(float))
    heads = [(ages == head).astype(float) for head in range(AGES)]
    others = [curve(_NUMBERS["head_age"][4])] * AGES
    return [*heads, *partners, *children, *others]


def _curve(name: str) -> FloatArray:
    return curve(_NUMBERS[name])


def _person_chances() -> dict[str, Any]:
    male = _curve("male")
    by_role = [*male, *np.full(AGES, 0.5), *np.full(AGES, 0.513), *male]
    single = 1.0 - _curve("been_married")
    widowed, ended, apart, wed = (_curve(name) for name in ("widowed", "ended", "apart", "wed"))
    divorced = np.maximum(1.0 - single - widowed - ended - apart, 0.0)
    divorced[:20] = 0.0
    alone = np.stack([single, apart, widowed, divorced, 0.1 * ended, ended], axis=1)
    return {
        "male": _thresholds(by_role),
        "alone_status": Outcomes.of(list(alone), bits=14),
        "couple_status": Outcomes.of(list(np.stack([wed, 1.0 - wed], axis=1)), [1, 255], bits=12),
        "nationality": _nationalities(),
        "alike": threshold(0.9),
    }


def _thresholds(shares: Sequence[float]) -> AnyArray:
    return np.asarray(np.rint(np.array(shares) * 65536), dtype=np.int64)


def _nationalities() -> Outcomes:
    shares = np.array([code.share for code in finest_codes("nationality")])
    foreign = shares / shares.sum()
    home = np.zeros(len(shares))
    home[0] = 1.0
    return Outcomes.of([share * foreign + (1.0 - share) * home for share in _NUMBERS["foreign"]])


def _band_of(bands: Sequence[int]) -> AnyArray:
    return np.searchsorted(bands, np.arange(AGES), side="right") - 1


def _work_chances() -> dict[str, Any]:
    occupations = finest_codes("occupation")
    usual = np.array([code.share for code in occupations])
    demanded = np.array([_NUMBERS["skill_asked"][int(code.code[0])] for code in occupations])
    rows = []
    pairs = zip(_NUMBERS["skill_offered"], _NUMBERS["working_by_school"], strict=True)
    for offered, by_school in pairs:
        fit = usual * np.exp(-1.1 * np.abs(demanded - offered))
        for working in _NUMBERS["working"]:
            share = min(working * by_school, 0.97)
            rows.append(np.concatenate([share * fit / fit.sum(), [1.0 - share]]))
    return {
        "school_band": _band_of(_NUMBERS["school_bands"]),
        "education": Outcomes.of(_NUMBERS["school"]),
        "work_band": _band_of(_NUMBERS["work_bands"]),
        "work_bands": len(_NUMBERS["work_bands"]),
        "occupation": Outcomes.of(rows, [*range(len(occupations)), NO_OCCUPATION], bits=13),
    }


def _housing_chances() -> dict[str, Any]:
    return {
        "vacant": _thresholds(_NUMBERS["vacant"]),
        "dwellings": Outcomes.of(_NUMBERS["dwellings"], _NUMBERS["dwellings_of_building"]),
        "building_type": Outcomes.of(_NUMBERS["building_type"]),
        "construction": Outcomes.of(_NUMBERS["construction"]),
        "owned": _thresholds(_NUMBERS["owned"]),
        "area": skewed([122, 96, 68], [0.32, 0.34, 0.36], least=14, most=600),
        "price": skewed([610, 740, 1_020], [0.26, 0.28, 0.36], least=180, most=4_500),
    }
