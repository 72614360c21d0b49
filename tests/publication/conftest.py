"""Protected tables that the writers are tried on."""

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable, Provenance
from discreet.tables.dimension import Figure, figure_dimension
from discreet.tables.protected import CellNote


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


RENTED = Figure(name="rented", titles={"en": "Rented dwellings", "de": "Mietwohnungen"})
RENT = Figure(
    name="rent",
    kind="mean",
    titles={"en": "Average rent", "de": "Durchschnittsmiete"},
    unit={"en": "EUR", "de": "EUR"},
    decimals=2,
)
VACANT = Figure(
    name="vacant",
    kind="share",
    titles={"en": "Vacancy rate", "de": "Leerstandsquote"},
    unit={"en": "%", "de": "%"},
    decimals=1,
)
SURPLUS = Figure(name="surplus", kind="balance", titles={"en": "Surplus", "de": "Saldo"})


@pytest.fixture
def built() -> Classification:
    labels = {
        "old": {"en": "before 1950", "de": "vor 1950"},
        "new": {"en": "1950 and later", "de": "1950 und später"},
    }
    return Classification.flat(
        "built", list(labels), labels=labels, titles={"en": "Year built", "de": "Baujahr"}
    )


@pytest.fixture
def rents(region: Classification, built: Classification) -> ProtectedTable:
    """Four figures of every kind of status; region "S" is not stored at all."""
    shown, official = CellStatus.published, CellStatus.official
    limited, hidden = CellStatus.bracketed, CellStatus.suppressed
    none, zero = CellStatus.not_applicable, CellStatus.zero_or_changed_to_zero
    figures = (RENTED, RENT, VACANT, SURPLUS)
    stored = {
        ("Total", "Total", "rented"): (12_345, official),
        ("Total", "Total", "rent"): (1_311.456, shown),
        ("Total", "Total", "vacant"): (4.25, shown),
        ("Total", "Total", "surplus"): (-1_234, shown),
        ("Total", "old", "rented"): (7_000, shown),
        ("N", "Total", "rent"): (987.5, limited),
        ("N", "old", "vacant"): (0, zero),
        ("N", "old", "rented"): (0, hidden),
        ("N1", "new", "rent"): (0, none),
        ("N1", "new", "rented"): (3, shown),
    }
    spanning = tuple(Dimension(classifications=(tree,)) for tree in (region, built))
    dimensions = (*spanning, figure_dimension(figures))
    return ProtectedTable(
        dimensions=dimensions,
        index=tuple(
            np.array([d.index[codes[k]] for codes in stored], dtype=np.int32)
            for k, d in enumerate(dimensions)
        ),
        value=np.array([float(value) for value, _ in stored.values()]),
        status=np.array([status for _, status in stored.values()], dtype=np.int8),
        provenance=Provenance(version="1.2", method="cell-key", time="2026-11-21"),
        name="rents",
        titles={"en": "Rents", "de": "Mieten"},
        figures=figures,
        cell_notes=(
            CellNote(("N", None), Note("area", {"en": "New boundary.", "de": "Neue Grenze."})),
            CellNote(("N1", "new"), Note("few", {"en": "Few homes.", "de": "Wenige."})),
            CellNote((None, None, "rent"), Note("cold", {"en": "No heating.", "de": "Kalt."})),
            CellNote((None, None), Note("all", {"en": "On all.", "de": "Zu allem."})),
        ),
    )


@pytest.fixture
def mean_rents(rents: ProtectedTable) -> ProtectedTable:
    """One figure, with the inner cells of region by year suppressed as a part."""
    mask = rents.index[2] == 1
    return ProtectedTable(
        dimensions=rents.spanning,
        index=tuple(part[mask] for part in rents.index[:2]),
        value=rents.value[mask],
        status=rents.status[mask],
        provenance=rents.provenance,
        name="mean rents",
        titles=rents.titles,
        universe={"en": "Rented homes", "de": "Mietwohnungen"},
        figures=(RENT,),
        suppressed_parts=frozenset({(0, 0)}),
    )
