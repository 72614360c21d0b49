"""Areas: the code of each record on each level of each geography, and of variables that group one
column, for their comparison. CONFIDENTIAL.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.classifications import Classification
from discreet.confidential import without_values
from discreet.record_batches import collected
from discreet.tables import code_texts
from discreet_service.datasets.variables import CatalogueVariable
from discreet_service.datasets.versions import DataVersion
from discreet_service.policies import AreaLevel, AreaReport, area_differences


@without_values
def compared_areas(version: DataVersion, unit: str, least: int) -> AreaReport:
    """Pairs of areas or alternative classes that hold nearly the same records. CONFIDENTIAL.

    Classes of two groupings of one column also within each area.
    """
    compared = {one.name: _levels(version, unit, one) for one in _compared(version, unit)}
    report = area_differences([level for some in compared.values() for level in some], least=least)
    of_unit, differences = version.units[unit], set(report.differences)
    levels = {
        (name, level.name): own
        for name, each in compared.items()
        for level, own in zip(of_unit.variables[name].levels, each, strict=True)
    }
    groupings = [
        (levels[one], levels[other])
        for one, others in of_unit.apart.items()
        for other in others
        if one[0] < other[0]
    ]
    places = [one.name for one in of_unit.variables.values() if one.geography]
    for place in (level for name in places for level in compared[name]):
        for pair in groupings:
            if place.system not in (pair[0].system, pair[1].system):
                within = [grouping.within(place) for grouping in pair]
                differences |= {*area_differences(within, least=least).differences}
    return replace(report, differences=tuple(sorted(differences)))


def _compared(version: DataVersion, unit: str) -> list[CatalogueVariable]:
    """Geographies, and groupings of one column or variable: each is a system of its own."""
    variables = version.units[unit].variables.values()
    names = Counter(name for one in variables for name in {one.tree.source, *one.joined})
    return [
        one
        for one in variables
        if one.geography or any(names[name] > 1 for name in {one.tree.source, *one.joined})
    ]


def _levels(version: DataVersion, unit: str, variable: CatalogueVariable) -> list[AreaLevel]:
    leaf = _leaves(version, unit, variable.tree)
    return [
        AreaLevel(
            system=variable.name,
            name=level.name,
            labels=variable.codes_of(level.number),
            codes=variable.on_level(level.number, leaf).astype(np.int64),
        )
        for level in variable.levels
    ]


def _leaves(version: DataVersion, unit: str, tree: Classification) -> IntArray:
    """The finest code of each record, by its number among them; -1 for none."""
    records, _ = version.records(unit)
    values = collected(records.lazy().select(tree.source))[tree.source]
    numbers = {code: number for number, code in enumerate(tree.leaves)}
    missing = numbers.get(tree.missing, -1)
    if tree.bounds is not None:
        amounts = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        between = np.searchsorted(np.array(tree.bounds), amounts, side="right") - 1
        # Intervals are the first of the finest codes; the last may stand for missing values.
        inside = ~np.isnan(amounts) & (between >= 0) & (between < len(tree.bounds) - 1)
        return np.where(inside, between, missing)
    texts = code_texts(values, tree.source).fill_null(tree.missing)
    known = pl.DataFrame({"code": list(numbers), "at": list(numbers.values())})
    place = texts.to_frame("code").join(known, on="code", how="left", maintain_order="left")
    return place["at"].fill_null(-1).to_numpy()
