"""Protected tables that the writers are tried on."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable, Provenance


def protected(
    trees: list[Classification],
    cells: dict[tuple[str, ...], tuple[float, CellStatus]],
    **fields: object,
) -> ProtectedTable:
    """A protected table from codes → (value, status)."""
    dimensions = tuple(Dimension(classifications=(tree,)) for tree in trees)
    index = tuple(
        np.array([d.index[codes[k]] for codes in cells], dtype=np.int32)
        for k, d in enumerate(dimensions)
    )
    values = [value for value, _ in cells.values()]
    whole = all(isinstance(value, int) for value in values)
    return ProtectedTable(
        dimensions=dimensions,
        index=index,
        value=np.array(values, dtype=np.int64 if whole else np.float64),
        status=np.array([status for _, status in cells.values()], dtype=np.int8),
        provenance=Provenance(version="1.2", method="cell-key", key_grid="10^15"),
        **fields,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="session")
def make_table():
    return protected


@pytest.fixture
def region() -> Classification:
    return Classification(
        name="region",
        codes=("Total", "N", "N1", "N2", "S"),
        parents=(-1, 0, 1, 1, 0),
        labels={"N": {"en": "North", "de": "Nord"}, "N1": {"en": "=1+1 <b>&", "de": "Erstes"}},
        titles={"en": "Region", "de": "Region"},
    )


@pytest.fixture
def sex() -> Classification:
    return Classification.flat("sex", ["m", "w"], titles={"en": "Sex", "de": "Geschlecht"})


@pytest.fixture
def mixed(region: Classification, sex: Classification) -> ProtectedTable:
    """Every status once or more, three levels, zeros that are not stored."""
    official, shown = CellStatus.official, CellStatus.published
    cells = {
        ("Total", "Total"): (12_345, official),
        ("Total", "m"): (6_200, shown),
        ("Total", "w"): (6_150, shown),
        ("N", "Total"): (900, shown),
        ("N", "m"): (0, CellStatus.suppressed),
        ("N1", "Total"): (880, CellStatus.bracketed),
        ("N1", "w"): (0, CellStatus.zero_or_changed_to_zero),
        ("S", "Total"): (11_450, shown),
    }
    return protected(
        [region, sex],
        cells,
        name="T7",
        titles={"en": "Persons <b> & more", "de": "Personen <b> & mehr"},
        universe={"en": "Adults", "de": "Erwachsene"},
        notes=(Note("remark", {"en": "A remark.", "de": "Eine Bemerkung."}),),
    )
