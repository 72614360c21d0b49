"""Grids of 2^65 cells: numbers that wrap round at 2^64 would take one cell for another.

With 2^13 codes on each of five variables, code 4096 of the first one would begin again at 0.
"""

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.arrays import CellIndex
from discreet.classifications import Classification
from discreet.disclosure import places_in, relations_of
from discreet.errors import TableError
from discreet.protection.suppression.problem.system import hidden_in
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance, Table, Withheld
from discreet.tables.dimension import parts_of, within

CODES = [f"{number:04}" for number in range(2**13 - 1)]
VARIABLES = [
    Dimension(classifications=(Classification.flat(name, CODES),)) for name in ("a", "b", "c")
]
VARIABLES += [Dimension(classifications=variable.classifications, name=name)
              for name, variable in zip("de", VARIABLES, strict=False)]  # fmt: skip
HIDDEN, OTHER = (4096, 1, 1, 1, 1), (0, 1, 1, 1, 1)


def places(*cells):
    return tuple(part.astype(np.int32) for part in np.array(cells).T)


def published(*cells, status, value):
    return ProtectedTable(
        dimensions=tuple(VARIABLES),
        index=places(*cells),
        value=np.full(len(cells), value),
        status=np.full(len(cells), status, dtype=np.int8),
        provenance=Provenance(version="0", method="test"),
    )


def test_the_reason_of_one_hidden_cell_is_not_told_of_another():
    withheld = Withheld(
        index=places(HIDDEN),
        reason=np.ones(1, dtype=np.int8),
        reasons=(dc.tables.Note("few", {"en": "few records"}),),
    )
    beside = withheld.beside(VARIABLES, places(HIDDEN, OTHER), np.zeros(2, dtype=np.bool_))
    assert beside["reason"].to_list() == ["few", None]


def true_table(*cells):
    frame = {"count": [5] * len(cells)}
    for variable, part in zip(VARIABLES, places(*cells), strict=True):
        frame[variable.name] = [variable.codes[at] for at in part.tolist()]
    trees = [variable.classifications[0].replace(name=variable.name) for variable in VARIABLES]
    return Table.from_cells(pl.DataFrame(frame), by=trees, count="count")


def test_a_published_cell_does_not_make_another_one_known():
    hidden = published(HIDDEN, status=CellStatus.suppressed, value=0)
    assert hidden_in(true_table(OTHER, HIDDEN), hidden).tolist() == [False, True]


def test_an_earlier_table_is_matched_cell_by_cell():
    table = true_table(OTHER, HIDDEN)
    before = published(HIDDEN, status=CellStatus.published, value=5)
    known = before.dimensions, before.index, before.stored
    wanted = table.dimensions, table.index, len(table)
    assert places_in(known, wanted).tolist() == [-1, 0]


def test_amounts_go_to_their_own_cells():
    table = true_table(OTHER, HIDDEN)
    assert [part[1] for part in table.index] == list(HIDDEN)
    grid = places(OTHER, (1, 1, 1, 1, 1), HIDDEN)
    found = CellIndex.of(table.dimensions).find(grid, table.index, (3, len(table)))
    assert found.tolist() == [0, 2]


def test_parts_of_many_variables_are_kept_apart():
    """With 41 variables of three levels there are more parts than 64 bits number."""
    tree = Classification.from_parents("v", {"N": None, "N1": "N", "N2": "N"})
    variables = [Dimension(classifications=(tree,), name=f"v{at}") for at in range(41)]
    cells = [np.full(2, 2, dtype=np.int32) for _ in variables]
    cells[0] = np.array([0, 2], dtype=np.int32)
    cells[1] = np.array([2, 0], dtype=np.int32)
    parts = parts_of(variables, cells, 2)
    assert parts == {(1, *[0] * 40), (0, 1, *[0] * 39)}
    assert within(variables, cells, 2, parts).all()
    assert within(variables, cells, 2, {(1, *[0] * 40)}).tolist() == [True, False]


def test_relations_refuse_a_grid_that_cannot_be_numbered():
    with pytest.raises(dc.errors.SuppressionError, match="more than 2"):
        relations_of(VARIABLES, places(OTHER, HIDDEN))
    with pytest.raises(TableError, match="more than 2"):
        CellIndex.of(VARIABLES).numbers(places(OTHER))
