"""Areas: the records of a data version by all levels of its geographies, for their comparison.

In: an opened version. Out: the code of each record on each level of each variable that tells where,
and of each that describes the same column as another. CONFIDENTIAL.
"""

from __future__ import annotations

from collections import Counter

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
    """Pairs of areas or alternative classes that hold nearly the same records. CONFIDENTIAL."""
    levels = [level for one in _compared(version, unit) for level in _levels(version, unit, one)]
    return area_differences(levels, least=least)


def _compared(version: DataVersion, unit: str) -> list[CatalogueVariable]:
    """Geographies, and variables of one column: each is a system of its own."""
    variables = version.units[unit].variables.values()
    columns = Counter(one.tree.source for one in variables)
    return [one for one in variables if one.geography or columns[one.tree.source] > 1]


def _levels(version: DataVersion, unit: str, variable: CatalogueVariable) -> list[AreaLevel]:
    """Each level of a variable, with the code of each record."""
    leaf = _leaves(version, unit, variable.tree)
    return [
        AreaLevel(
            system=variable.name,
            name=level.name,
            labels=variable.codes_of(level.number),
            codes=_above(variable, level.number)[leaf],
        )
        for level in variable.levels
    ]


def _leaves(version: DataVersion, unit: str, tree: Classification) -> IntArray:
    """For each record the place of its finest code in a tree."""
    records, _ = version.records(unit)
    values = collected(records.lazy().select(tree.source))[tree.source]
    index = np.array([tree.index[code] for code in tree.leaves], dtype=np.int64)
    if tree.bounds is not None:
        numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        between = np.searchsorted(np.array(tree.bounds), numbers, side="right") - 1
        missing = tree.index.get(tree.missing, 0)
        # Intervals are the first of the finest codes; the last may stand for missing values.
        inside = ~np.isnan(numbers) & (between >= 0) & (between < len(tree.bounds) - 1)
        return np.where(inside, index[np.clip(between, 0, len(index) - 1)], missing)
    texts = code_texts(values, tree.source).fill_null(tree.missing)
    known = pl.DataFrame({"code": list(tree.codes), "at": np.arange(len(tree.codes))})
    place = texts.to_frame("code").join(known, on="code", how="left", maintain_order="left")
    return place["at"].fill_null(0).to_numpy()


def _above(variable: CatalogueVariable, number: int) -> IntArray:
    """For each code of a tree, the place of the code of a level that it lies in; -1 for none."""
    cut = {int(at): place for place, at in enumerate(variable.cuts[number].tolist())}
    found = np.full(len(variable.tree), -1, dtype=np.int64)
    for at in range(1, len(variable.tree)):
        # Codes stand behind the one above them.
        found[at] = cut.get(at, found[variable.tree.parents[at]])
    return found
