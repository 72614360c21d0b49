"""A protected table has no place for true values, and cannot tell zeros apart."""

import dataclasses

import polars as pl
import pytest

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import TableError
from discreet.tables import (
    CellStatus,
    Dimension,
    ProtectedTable,
    Provenance,
    Table,
    Withheld,
)
from tests.helpers.rows import for_all_rows

SEX = Classification(name="sex", codes=("Total", "m", "w"), parents=(-1, 0, 0))
AREA = Classification(name="area", codes=("Total", "N", "S"), parents=(-1, 0, 0))
ORIGIN = Provenance(version="0", method="test")


def test_there_is_no_field_for_originals_keys_or_noise():
    names = {field.name for field in dataclasses.fields(ProtectedTable)}
    assert names == {
        "dimensions", "index", "value", "status", "provenance", "notes", "name", "titles",
        "universe", "decimals", "parts", "suppressed_parts", "figures", "cell_notes", "withheld",
        "imprint", "margin",
    }  # fmt: skip
    # Places and reasons of blanks, and the bounds that everyone can work out.
    withheld = {field.name for field in dataclasses.fields(Withheld)}
    assert withheld == {"index", "reason", "reasons", "low", "high", "instead"}


def test_every_status_has_an_sdmx_code():
    assert all(len(status.sdmx) == 2 for status in CellStatus)


def test_cells_made_elsewhere():
    cells = pl.DataFrame(
        {
            "sex": ["Total", "m", "w"],
            "n": [7, 3, 4],
            "key": ["0.5", "0.25", "0.25"],
            "w": [9.0, 4, 5],
        }
    )
    table = Table.from_cells(cells, by=[SEX], count="n", cell_key="key", weight="w")
    assert table.to_polars()["cell_key"].to_list() == [5 * 10**14, 25 * 10**13, 25 * 10**13]
    assert Table.from_cells(cells.to_pandas(), by=["sex"], count="n").cell_key is None


@for_all_rows(
    ("change", "options", "code"),
    [
        ({}, {"count": "missing"}, "missing-column"),
        ({"n": [1.5, 2, 3]}, {}, "counts"),
        ({"n": [-1, 2, 3]}, {}, "counts"),
        ({"n": ["a", "b", "c"]}, {}, "counts"),
        ({"sex": ["m", "m", "w"]}, {}, "cells"),
        ({"sex": ["m", "x", "w"]}, {}, "unknown-code"),
        ({"key": ["0.5", None, "0"]}, {"cell_key": "key"}, "key-missing"),
        ({"w": [1.0, None, 2.0]}, {"weight": "w"}, "weights"),
    ],
)
def test_cells_that_make_no_table_are_refused(change, options, code):
    good = {"sex": ["Total", "m", "w"], "n": [7, 3, 4], "key": ["0", "0", "0"], "w": [1.0, 1, 1]}
    frame = pl.DataFrame({**good, **change})
    with pytest.raises(Exception) as caught:
        Table.from_cells(frame, by=[SEX], **{"count": "n", **options})
    assert caught.value.code == code


def test_breakdowns_that_do_not_nest_share_the_total_only():
    other = Classification(name="sex2", codes=("Total", "f"), parents=(-1, 0))
    both = Dimension(classifications=(SEX, other))
    assert both.codes == ("Total", "m", "w", "f")
    assert both.breakdown.tolist() == [0, 0, 0, 1]
    clash = Classification(name="sex3", codes=("Total", "m"), parents=(-1, 0))
    with pytest.raises(TableError, match="code 'm' occurs in sex and in sex3"):
        Dimension(classifications=(SEX, clash))


def test_a_fingerprint_that_could_be_guessed_is_not_given():
    few = pl.DataFrame({"sex": ["m"], "n": [1], "key": [3]})
    table = Table.from_cells(few, by=["sex"], count="n", cell_key="key", key_grid=256)
    assert table.fingerprint() is None
    many = pl.DataFrame({"a": [str(k) for k in range(40)], "n": [1] * 40, "key": [3] * 40})
    table = Table.from_cells(many, by=["a"], count="n", cell_key="key", key_grid=256)
    assert len(table.fingerprint()) == 32


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_margins_that_were_not_handed_in_are_unknown_not_zero(tmp_path):
    """Inner cells and the margin of sex, but neither of area nor the grand total."""
    cells = pl.DataFrame(
        {
            "sex": ["m", "m", "w", "Total", "Total"],
            "area": ["N", "S", "N", "N", "S"],
            "n": [4, 3, 5, 9, 3],
            "key": [0.1, 0.2, 0.3, 0.4, 0.2],
        }
    )
    table = Table.from_cells(cells, by=["sex", "area"], count="n", cell_key="key")
    unchanged = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}})
    safe = dc.perturb(table, unchanged)
    assert safe.to_polars().select("sex", "area", "value").rows() == [
        ("Total", "N", 9), ("Total", "S", 3), ("m", "N", 4), ("m", "S", 3), ("w", "N", 5),
        ("w", "S", 0),
    ]  # fmt: skip
    assert safe.get("w", "S") == 0
    assert safe.get("m", "Total") is None
    assert pl.read_csv(safe.write(tmp_path / "t.csv")).height == 6
    page = safe.write(tmp_path / "t.html").read_text("utf-8")
    assert page.count(">.</abbr>") == 3
    hidden = dc.perturb(table, unchanged, suppress_below=4).to_polars()
    assert hidden.height == 6
    assert hidden["value"].null_count() == 3
