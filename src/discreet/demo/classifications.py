"""The classifications of the synthetic census, with labels and the shares that occur.

In: the map, and `codes.csv`. Out: name → `Classification`, with English and German labels. All
shares are invented; nothing here is confidential.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from discreet.classifications import MISSING, TOTAL, Classification
from discreet.demo.geography import Geography


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its labels."""

    code: str  # the code that records carry
    en: str  # english label
    de: str  # german label
    share: float = 0.0  # how common it is among its like (only where shares do not depend on age)
    above: str = TOTAL  # the code above it


@cache
def codes_of(variable: str) -> tuple[Code, ...]:
    """All codes of a variable in tree order, as `codes.csv` lists them.

    >>> [code.en for code in codes_of("sex")]
    ['male', 'female']
    """
    lines = files("discreet.demo").joinpath("codes.csv").read_text("utf-8").splitlines()
    codes = tuple(
        Code(row["code"], row["en"], row["de"], float(row["share"] or 0), row["above"] or TOTAL)
        for row in csv.DictReader(lines, strict=True)
        if row["variable"] == variable
    )
    if not codes:
        raise ValueError(f"codes.csv has no codes of {variable}")
    return codes


def finest_codes(variable: str) -> tuple[Code, ...]:
    """The codes that records carry: those with none below them.

    >>> [code.code for code in finest_codes("education")][:3]
    ['pre_school', 'pupil', 'no_certificate']
    """
    above = {code.above for code in codes_of(variable)}
    return tuple(code for code in codes_of(variable) if code.code not in above)


AGE5_BOUNDS = tuple(range(0, 90, 5))
LEGAL_AGE_BOUNDS = (0, 6, 14, 16, 18, 21, 67)
AREA_BOUNDS = (0, 40, 60, 80, 100, 120, 160)

#: The variables of records whose codes are listed.
CODED = (
    *("sex", "nationality", "marital_status", "education", "occupation"),
    *("household_type", "tenure", "building_type", "construction"),
)


def classifications_of(place: Geography) -> dict[str, Classification]:
    """All classifications, by name.

    >>> trees = classifications_of(Geography.of(1_000, seed=2026))
    >>> trees["education"].children("high")
    ('bachelor', 'master', 'doctorate')
    """
    numbers = (
        ("age5", AGE5_BOUNDS, "age"),
        ("legal_age", LEGAL_AGE_BOUNDS, "age"),
        ("area_class", AREA_BOUNDS, "area"),
    )
    intervals = [
        Classification.from_intervals(name, bounds=bounds, column=column)
        for name, bounds, column in numbers
    ]
    trees = [_region(place), state_of(place), *map(coded, CODED), *map(titled, intervals)]
    return {tree.name: tree for tree in trees}


def coded(variable: str) -> Classification:
    """The classification of a variable whose codes are listed."""
    missing = [Code(MISSING, "not working", "nicht erwerbstätig")] * (variable == "occupation")
    return _tree(variable, codes_of(variable), missing)


def titled(tree: Classification) -> Classification:
    """A classification with the titles of its variable."""
    (title,) = (title for title in codes_of("variables") if title.code == tree.name)
    return tree.replace(titles={"en": title.en, "de": title.de})


def _tree(name: str, codes: Iterable[Code], beside: Iterable[Code] = ()) -> Classification:
    """A tree of codes in tree order, with labels for them and those beside the tree."""
    listed = list(codes)
    labels = {code.code: {"en": code.en, "de": code.de} for code in (*listed, *beside)}
    pairs = [(code.code, code.above) for code in listed]
    return titled(Classification.from_parents(name, pairs, labels=labels))


def state_of(place: Geography) -> Classification:
    """The states of the invented country."""
    entries = zip(place.states, place.state_names, strict=True)
    return _tree("state", (Code(code, name, name) for code, name in entries))


def _region(place: Geography) -> Classification:
    """States, districts, municipalities; a district bears the name of its largest place."""
    by_state: dict[int, list[int]] = {}
    for district, state in enumerate(place.district_state.tolist()):
        by_state.setdefault(state, []).append(district)
    by_district: dict[int, list[int]] = {}
    for municipality, district in enumerate(place.municipality_district.tolist()):
        by_district.setdefault(district, []).append(municipality)
    codes: list[Code] = []
    for state, districts in by_state.items():
        above, name = place.states[state], place.state_names[state]
        codes.append(Code(above, name, name))
        for district in districts:
            members = by_district[district]
            name = place.municipality_names[max(members, key=lambda at: int(place.population[at]))]
            labels = (f"{name}, city", f"{name}, Stadt")
            if len(members) > 1:
                labels = (f"{name} district", f"Kreis {name}")
            codes.append(Code(place.districts[district], *labels, above=above))
            for member in members:
                name = place.municipality_names[member]
                code = place.municipalities[member]
                codes.append(Code(code, name, name, above=place.districts[district]))
    tree = _tree("region", codes)
    return tree.replace(column="municipality", level_names=("state", "district", "municipality"))
