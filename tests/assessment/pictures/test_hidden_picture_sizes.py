"""Pictures of hidden cells of tables of every size: which codes fit, what is counted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.assessment.pictures import hidden_by_code, hidden_by_part, hidden_cells
from discreet.assessment.pictures.cell_kinds import choose
from discreet.errors import PublicationError
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table
from tests.helpers.drawn import columns, kinds, records
from tests.helpers.protected_tables import protected_table


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(2, 50))
def test_chosen_codes_fit_and_are_whole_levels(shape: list[int], most: int) -> None:
    codes, width = [""], 0
    for number in shape:
        codes = [code + str(digit) for code in codes for digit in range(number)][:400]
        width += 1
    lengths = list(range(1, width + 1))
    tree = dc.Classification.from_prefixes("place", codes, lengths)
    place = Dimension(classifications=(tree,))
    chosen = choose(place, most)
    assert 1 <= len(chosen.codes) <= most
    assert chosen.codes[0] == 0
    assert (chosen.note("Place", "en") == "") == (len(chosen.codes) == len(place))
    levels = place.levels[chosen.codes]
    deepest = int(levels.max())
    whole = int((place.levels <= deepest).sum())
    if whole != len(chosen.codes):  # not even the first level fits
        assert int((place.levels <= int(levels[levels > 0].min())).sum()) > most


def flat(codes: int) -> ProtectedTable:
    tree = dc.Classification.flat("code", [f"c{at:04}" for at in range(codes)])
    number = codes + 1
    return protected_table(
        [tree],
        np.arange(number) + 1,
        status=np.where(np.arange(number) % 3, 0, CellStatus.suppressed).astype(np.int8),
        method="cell-suppression",
    )


def test_thousands_of_codes_are_cut_and_it_is_said() -> None:
    picture = hidden_cells(flat(3_000), language="de")
    assert len(records(picture, "row")) == 40
    assert "40 von 3" in picture.description["title"]["subtitle"][0]
    lines = hidden_by_code(flat(3_000))
    assert len(columns(lines)["share"]) == 60
    assert "60 of 3,001 categories" in " ".join(lines.description["title"]["subtitle"])


def test_one_cell_and_nothing_but_hidden_ones() -> None:
    alone = protected_table(
        [],
        [0],
        status=[CellStatus.suppressed],
        method="cell-suppression",
        titles={"en": "All firms"},
    )
    assert [each["kind"] for each in records(hidden_cells(alone), "row")] == ["hidden"]
    assert columns(hidden_by_part(alone))["share"] == ["100 %"]
    with pytest.raises(PublicationError, match="no spanning variable"):
        hidden_by_code(alone)


def test_parts_that_are_hidden_as_a_whole_are_hidden() -> None:
    tree = dc.Classification.flat("sex", ["m", "w"])
    table = protected_table([tree], [7], suppressed_parts=frozenset({(0,)}))
    assert list(kinds(hidden_cells(table)).values()) == ["shown", "hidden", "hidden"]
    assert columns(hidden_by_part(table))["suppressed"] == ["0", "2"]


def test_margins_that_are_unknown_are_not_zero() -> None:
    cells = pl.DataFrame({"sex": ["m", "w"], "n": [4, 5]})
    table = Table.from_cells(cells, by=["sex"], count="n")
    safe = dc.suppress(table, table.count < 0, method="fast")
    assert list(kinds(hidden_cells(safe)).values()) == ["absent", "shown", "shown"]
