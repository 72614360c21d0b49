"""The classifications of the synthetic census, with English and German labels.

In: the map. Out: name → `Classification`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.classifications import MISSING, Classification
from discreet.classifications.model import TOTAL
from discreet.demo.codes import (
    BUILDING_TYPE,
    CONSTRUCTION,
    CONTINENTS,
    EDUCATION,
    EDUCATION_GROUPS,
    HOUSEHOLD_TYPE,
    MARITAL_STATUS,
    NATIONALITY,
    OCCUPATION,
    OCCUPATION_GROUPS,
    SEX,
    TENURE,
    Code,
)
from discreet.demo.geography import Geography

__all__ = ["AGE5_BOUNDS", "AREA_BOUNDS", "LEGAL_AGE_BOUNDS", "classifications_of"]

AGE5_BOUNDS = tuple(range(0, 90, 5))
LEGAL_AGE_BOUNDS = (0, 6, 14, 16, 18, 21, 67)
AREA_BOUNDS = (0, 40, 60, 80, 100, 120, 160)

_TITLES = {
    "region": ("Region", "Region"),
    "state": ("State", "Land"),
    "sex": ("Sex", "Geschlecht"),
    "age5": ("Age", "Alter"),
    "legal_age": ("Age", "Alter"),
    "nationality": ("Nationality", "Staatsangehörigkeit"),
    "marital_status": ("Marital status", "Familienstand"),
    "education": ("Education", "Bildungsabschluss"),
    "occupation": ("Occupation", "Beruf"),
    "household_type": ("Type of household", "Haushaltstyp"),
    "tenure": ("Use", "Nutzung"),
    "area_class": ("Floor area", "Wohnfläche"),
    "building_type": ("Type of building", "Gebäudetyp"),
    "construction": ("Year of construction", "Baujahr"),
}

Labels = dict[str, dict[str, str]]


def classifications_of(place: Geography) -> dict[str, Classification]:
    """All classifications, by name.

    >>> trees = classifications_of(Geography.of(1_000, seed=2026))
    >>> trees["education"].children("high")
    ('bachelor', 'master', 'doctorate')
    """
    trees = {
        "region": _region(place),
        "state": state_of(place),
        "sex": _flat("sex", SEX),
        "age5": _numbers("age5", AGE5_BOUNDS, column="age"),
        "legal_age": _numbers("legal_age", LEGAL_AGE_BOUNDS, column="age"),
        "nationality": grouped("nationality", CONTINENTS, NATIONALITY),
        "marital_status": _flat("marital_status", MARITAL_STATUS),
        "education": grouped("education", EDUCATION_GROUPS, EDUCATION),
        "occupation": _occupation(),
        "household_type": _flat("household_type", HOUSEHOLD_TYPE),
        "tenure": _flat("tenure", TENURE),
        "area_class": _numbers("area_class", AREA_BOUNDS, column="area"),
        "building_type": _flat("building_type", BUILDING_TYPE),
        "construction": _flat("construction", CONSTRUCTION),
    }
    return {name: tree.replace(titles=_titles(name)) for name, tree in trees.items()}


def _titles(name: str) -> dict[str, str]:
    english, german = _TITLES[name]
    return {"en": english, "de": german}


def _labels(entries: Iterable[Code]) -> Labels:
    return {entry.code: entry.labels for entry in entries}


def _flat(name: str, entries: tuple[Code, ...]) -> Classification:
    codes = [entry.code for entry in entries]
    return Classification.flat(name, codes, labels=_labels(entries))


def _numbers(name: str, bounds: tuple[int, ...], column: str) -> Classification:
    return Classification.from_intervals(name, bounds=bounds, column=column)


def _tree(
    name: str, pairs: Iterable[tuple[Code, str]], missing: Code | None = None
) -> Classification:
    """A tree from codes with the code above each, in tree order."""
    at = {TOTAL: 0}
    parents = [-1]
    labels: Labels = {}
    for entry, above in pairs:
        at[entry.code] = len(at)
        parents.append(at[above])
        labels[entry.code] = entry.labels
    if missing is not None:
        labels[missing.code] = missing.labels
    return Classification(name=name, codes=tuple(at), parents=tuple(parents), labels=labels)


def grouped(
    name: str, groups: tuple[Code, ...], members: Mapping[str, tuple[Code, ...]]
) -> Classification:
    """Two levels; members of a group that is not listed stand directly below the total."""
    named = {group.code: group for group in groups}
    pairs: list[tuple[Code, str]] = []
    for group, entries in members.items():
        if group in named:
            pairs.append((named[group], TOTAL))
        pairs += [(entry, group if group in named else TOTAL) for entry in entries]
    return _tree(name, pairs)


def _occupation() -> Classification:
    pairs: list[tuple[Code, str]] = []
    for group in OCCUPATION_GROUPS:
        pairs.append((group, TOTAL))
        pairs += [(entry, group.code) for entry in OCCUPATION if entry.code[0] == group.code]
    return _tree("occupation", pairs, Code(MISSING, "not working", "nicht erwerbstätig"))


def state_of(place: Geography) -> Classification:
    entries = zip(place.states, place.state_names, strict=True)
    return _flat("state", tuple(Code(code, name, name) for code, name in entries))


def _region(place: Geography) -> Classification:
    """States, districts, municipalities; a district bears the name of its largest place."""
    by_state: dict[int, list[int]] = {}
    for district, state in enumerate(place.district_state.tolist()):
        by_state.setdefault(state, []).append(district)
    by_district: dict[int, list[int]] = {}
    for municipality, district in enumerate(place.municipality_district.tolist()):
        by_district.setdefault(district, []).append(municipality)
    pairs: list[tuple[Code, str]] = []
    for state, districts in by_state.items():
        above, name = place.states[state], place.state_names[state]
        pairs.append((Code(above, name, name), TOTAL))
        for district in districts:
            members = by_district[district]
            pairs.append((_district(place, district, members), above))
            for member in members:
                name = place.municipality_names[member]
                code = Code(place.municipalities[member], name, name)
                pairs.append((code, place.districts[district]))
    tree = _tree("region", pairs)
    return tree.replace(column="municipality", level_names=("state", "district", "municipality"))


def _district(place: Geography, district: int, members: list[int]) -> Code:
    largest = max(members, key=lambda member: int(place.population[member]))
    name = place.municipality_names[largest]
    if len(members) == 1:
        return Code(place.districts[district], f"{name}, city", f"{name}, Stadt")
    return Code(place.districts[district], f"{name} district", f"Kreis {name}")
