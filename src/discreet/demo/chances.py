"""The chances that the synthetic population is drawn with. All numbers are invented.

In: `chances.toml`. Out: tables of outcomes for every attribute of households,
persons, dwellings and buildings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
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


@cache
def chances() -> SimpleNamespace:
    """Tables of outcomes and of thresholds, made once; their rows are named in the comments.

    >>> chances().household.bits
    16
    """
    kinds, sizes, *shares = zip(*_NUMBERS["households"], strict=True)
    return SimpleNamespace(
        household=Outcomes.of(shares),  # kind of settlement
        household_kind=np.array(kinds, dtype=np.uint8),  # outcome of household → type
        household_size=np.array(sizes, dtype=np.int64),  # outcome of household → size
        head_age=Outcomes.of([curve(points) for points in _NUMBERS["head_age"]]),  # type
        role=np.array(_ROLE, dtype=np.int64),  # type of household × min(position, 2)
        age=Outcomes.of(_age_rows(), bits=12),  # role × age of the head
        ages=AGES,  # rows of ages per role
        same_sex=threshold(0.02),
        alike=threshold(0.9),
        **_person_chances(),
        school_band=_band_of(_NUMBERS["school_bands"]),  # age → band
        education=Outcomes.of(_NUMBERS["school"]),  # band
        work_band=_band_of(_NUMBERS["work_bands"]),  # age → band
        work_bands=len(_NUMBERS["work_bands"]),
        occupation=_occupations(),  # education × band
        income_group=_income_groups(),  # outcome of occupation → its first digit
        income=skewed(_NUMBERS["income"], _NUMBERS["income_spread"], least=200, most=60_000),
        vacant=_thresholds(_NUMBERS["vacant"]),  # kind of settlement
        dwellings=Outcomes.of(_NUMBERS["dwellings"], _NUMBERS["dwellings_of_building"]),  # the same
        building_type=Outcomes.of(_NUMBERS["building_type"]),  # size class of building
        construction=Outcomes.of(_NUMBERS["construction"]),  # kind of settlement
        owned=_thresholds(_NUMBERS["owned"]),  # size class of building
        area=skewed([122, 96, 68], [0.32, 0.34, 0.36], least=14, most=600),  # the same
        # Kind of settlement; cents per square metre.
        price=skewed([610, 740, 1_020], [0.26, 0.28, 0.36], least=180, most=4_500),
    )


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
    shares = np.array([code.share for code in finest_codes("nationality")])
    foreign, home = shares / shares.sum(), np.arange(len(shares)) == 0
    nations = [share * foreign + (1.0 - share) * home for share in _NUMBERS["foreign"]]
    return {
        "male": _thresholds(by_role),  # role × age
        "alone_status": Outcomes.of(list(alone), bits=14),  # age
        # Age of the head; 255: not married.
        "couple_status": Outcomes.of(list(np.stack([wed, 1.0 - wed], axis=1)), [1, 255], bits=12),
        "nationality": Outcomes.of(nations),  # kind of settlement
    }


def _thresholds(shares: Sequence[float]) -> AnyArray:
    return np.asarray(np.rint(np.array(shares) * 65536), dtype=np.int64)


def _band_of(bands: Sequence[int]) -> AnyArray:
    return np.searchsorted(bands, np.arange(AGES), side="right") - 1


def _income_groups() -> AnyArray:
    groups = np.zeros(NO_OCCUPATION + 1, dtype=np.int64)
    digits = [int(code.code[0]) for code in finest_codes("occupation")]
    groups[: len(digits)] = digits
    return groups


def _occupations() -> Outcomes:
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
    return Outcomes.of(rows, [*range(len(occupations)), NO_OCCUPATION], bits=13)
