"""Several figures in one table: decimals, headings, and cells that have no number."""

import csv
import dataclasses
import json

import numpy as np
import openpyxl
import polars as pl
import pyarrow.parquet as pq
import pytest

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import legend, non_additivity, printed_notes, write, write_report
from discreet.publication.layout import headings, lay_out
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable, Provenance
from discreet.tables.dimension import Figure, figure_dimension
from tests.helpers.protected_tables import protected_table

NONE, ZERO = CellStatus.not_applicable.name, CellStatus.zero_or_changed_to_zero.name


def listed(path) -> dict[tuple[str, ...], dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["region"], row["built"], row.get("figure", "")): row for row in rows}


def texts(layout, language: str = "en") -> list[list[str]]:
    return [[heading.text for heading in row] for row in headings(layout, language)]


def test_each_figure_has_its_decimals(rents, tmp_path):
    rows = listed(write(rents, tmp_path / "r.csv"))
    shown = {figure: rows["Total", "Total", figure] for figure in rents.dimensions[-1].codes}
    assert [row["symbol"] for row in shown.values()] == ["12345*", "1311.46", "4.3", "-1234"]
    assert [row["value"] for row in shown.values()] == ["12345", "1311.456", "4.25", "-1234"]
    assert shown["rent"]["figure_label"] == "Average rent (EUR)"
    assert rows["N", "Total", "rent"]["symbol"] == "(987.50)"


def test_cells_that_are_not_stored_are_what_their_figure_says(rents, tmp_path):
    rows = listed(write(rents, tmp_path / "r.csv"))
    assert len(rows) == 5 * 3 * 4
    states = {figure: rows["S", "old", figure] for figure in rents.dimensions[-1].codes}
    assert [row["status"] for row in states.values()] == [ZERO, NONE, NONE, ZERO]
    assert [row["symbol"] for row in states.values()] == ["–", "x", "x", "–"]
    assert [row["value"] for row in states.values()] == ["0", "", "", "0"]
    assert rows["N", "old", "vacant"]["symbol"] == "–"  # a share of exactly zero


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_programs_read_the_same_as_in_memory(rents, tmp_path, suffix):
    path = write(rents, tmp_path / f"r.{suffix}")
    if suffix == "parquet":
        frame = pl.read_parquet(path)
    else:
        frame = pl.DataFrame(json.loads(path.read_text())["cells"])
    memory = rents.to_polars()
    for name in memory.columns:
        assert frame[name].cast(memory[name].dtype).to_list() == memory[name].to_list()


def test_sparse_files_say_what_is_not_listed(rents, tmp_path):
    said = json.loads(write(rents, tmp_path / "r.json", complete=False).read_text())
    assert len(said["cells"]["value"]) == rents.stored
    assert said["unlisted"] == (
        "Cells not listed: zero (Rented dwellings, Surplus); "
        "without a value (Average rent, Vacancy rate)."
    )
    assert said["cells"]["value"][0] == 12_345
    assert "figure" not in [variable["name"] for variable in said["variables"]]
    assert said["figures"][1]["unit"] == "EUR"
    metadata = pq.read_metadata(write(rents, tmp_path / "r.parquet", complete=False)).metadata
    assert metadata[b"unlisted"].decode() == said["unlisted"]
    assert "unlisted" not in json.loads(write(rents, tmp_path / "r.json").read_text())


def test_figures_stand_over_the_last_variable(rents):
    layout = lay_out(rents)
    assert layout.shape == (5, 12)
    found = texts(layout, "de")
    figures = ["Mietwohnungen", "Durchschnittsmiete (EUR)", "Leerstandsquote (%)", "Saldo"]
    assert found == [
        figures,
        ["Baujahr"] * 4,
        ["Insgesamt", "vor 1950", "1950 und später"] * 4,
    ]
    assert [heading.width for heading in headings(layout)[0]] == [3, 3, 3, 3]


def test_figures_can_be_placed_like_a_variable(rents):
    down = lay_out(rents, rows=["region", "figure"])
    assert (down.shape, texts(down)[0]) == ((20, 3), ["Year built"])
    alone = lay_out(rents, rows=["region", "built"])
    assert (alone.shape, len(texts(alone))) == ((15, 4), 1)
    inner = lay_out(rents, columns=["built", "figure"])
    assert texts(inner)[0] == ["Year built"]
    named = lay_out(rents, rows=["built"], columns=["region"])
    assert named.shape == (3, 20)
    with pytest.raises(PublicationError, match="variable 'built' is missing in the layout"):
        lay_out(rents, rows=["region"], columns=[])


@pytest.mark.parametrize("rows", [None, ["region", "figure"], ["figure", "built"]])
def test_every_layout_holds_the_same_cells(rents, rows):
    layout = lay_out(rents, rows=rows, complete=True)
    blocks = list(layout.blocks(rows=2))
    value = np.concatenate([block.value for block in blocks])
    status = np.concatenate([block.status for block in blocks])
    decimals = np.concatenate([np.broadcast_to(b.decimals, b.value.shape) for b in blocks])
    assert value.sum() == rents.value.sum()
    index, _, states = rents.cells(True)
    places = np.array([figure.decimals for figure in rents.figures])[index[-1]]
    expected = sorted(zip(states.tolist(), places.tolist(), strict=True))
    assert sorted(zip(status.ravel().tolist(), decimals.ravel().tolist(), strict=True)) == expected


def test_pages_print_figures_in_their_language(rents, tmp_path):
    raw = write(rents, tmp_path / "r.html", language="de").read_text()
    assert "<td>1\u202f311,46</td>" in raw
    assert "<td>\u22121\u202f234</td>" in raw
    assert ">(987,50)</abbr>" in raw
    assert '<abbr title="Aussage nicht sinnvoll">x</abbr>' in raw
    assert "Kennzahl" not in raw  # figures need no name over them
    report = write_report([rents], tmp_path / "i.html", title="x", language="de").read_text()
    assert "<td>1\u202f311,46</td>" in report


def test_sheets_keep_numbers_and_print_their_decimals(rents, tmp_path):
    sheet = openpyxl.load_workbook(write(rents, tmp_path / "r.xlsx"))["Table"]
    row = {cell.column: cell for cell in sheet[6]}
    assert (row[3].value, row[3].number_format) == (12_345, '#,##0"*";-#,##0"*";"–"')
    assert (row[6].value, row[6].number_format) == (1_311.456, '#,##0.00;-#,##0.00;"–"')
    assert row[9].number_format == '#,##0.0;-#,##0.0;"–"'
    assert [cell.value for cell in sheet[10]][6:9] == ["x", "x", "x"]


def test_one_figure_stands_above_the_table(mean_rents, tmp_path):
    raw = write(mean_rents, tmp_path / "r.html").read_text()
    assert '<span class="universe">Average rent (EUR)</span>' in raw
    sheet = openpyxl.load_workbook(write(mean_rents, tmp_path / "r.xlsx"))["Table"]
    assert [sheet[f"A{k}"].value for k in (1, 2, 3)] == [
        "Rents",
        "Average rent (EUR)",
        "Rented homes",
    ]


def test_one_figure_alone_heads_its_column(built):
    rent = Figure(name="rent", kind="mean", titles={"en": "Rent"}, unit={"en": "EUR"}, decimals=1)
    table = protected_table([built], [7.5], figures=(rent,))
    assert texts(lay_out(table)) == [["Rent (EUR)"]]
    assert [sign.symbol for sign in legend(table)] == ["x"]


def test_suppressed_parts_are_suppressed_without_being_stored(mean_rents, tmp_path):
    rows = listed(write(mean_rents, tmp_path / "r.csv"))
    assert rows["N1", "new", ""]["status"] == "suppressed"
    assert rows["N1", "Total", ""]["status"] == NONE
    assert rows["Total", "new", ""]["status"] == NONE
    assert mean_rents.stored == 2
    assert len(listed(write(mean_rents, tmp_path / "s.csv", complete=False))) == 2
    layout = lay_out(mean_rents)
    status = np.concatenate([block.status for block in layout.blocks(rows=2)])
    assert (status == CellStatus.suppressed).sum() == 6  # the inner cells of three regions


def test_suppressed_parts_are_named_in_a_note(mean_rents, rents):
    (note,) = [n for n in printed_notes(mean_rents) if n.kind == "suppressed-parts"]
    assert note.text("de") == "Gesperrte Tabellenteile: Region, Ebene 2 × Baujahr."
    wider = dataclasses.replace(
        rents, suppressed_parts=frozenset({(1, 1, 0), (2, 0, 0), (2, 0, 1)})
    )
    (note,) = [n for n in printed_notes(wider) if n.kind == "suppressed-parts"]
    assert note.text("en") == (
        "Suppressed subtables: grand total (Average rent, Vacancy rate, Surplus); "
        "Region, level 1 × Year built."
    )
    said = Note("suppressed-parts", {"en": "Said already."})
    once = dataclasses.replace(mean_rents, notes=(said,))
    assert [n.kind for n in printed_notes(once)] == ["suppressed-parts"]


def counts(figures, cells, **fields) -> ProtectedTable:
    """Men and women, with several figures."""
    sex = Dimension(classifications=(Classification.flat("sex", ["m", "w"]),))
    dimensions = (sex, figure_dimension(figures))
    grid = np.indices((3, len(figures))).reshape(2, -1).astype(np.int32)
    return ProtectedTable(
        dimensions=dimensions,
        index=tuple(grid),
        value=np.array(cells, dtype=np.float64),
        status=np.zeros(len(cells), dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key"),
        figures=tuple(figures),
        **fields,
    )


def test_each_count_is_added_up_on_its_own():
    figures = [Figure(name="a", titles={"en": "All"}), Figure(name="p", kind="share")]
    figures.append(Figure(name="s", kind="sum", titles={"en": "Sum"}))
    table = counts(figures, [10, 60, 100, 4, 50, 40, 5, 70, 50])
    note = non_additivity(table)
    assert note is not None
    assert note.text("en") == "All: Total 10; its parts add up to 9 (sex)."
    general = Note("non-additivity", {"en": "Parts may differ."})
    note = non_additivity(dataclasses.replace(table, notes=(general,)))
    assert note is not None
    assert note.text("en").endswith("Sum: Total 100; its parts add up to 90 (sex).")


def test_suppressed_parts_have_no_sum(make_table, sex):
    table = make_table([sex], {("Total",): (9, CellStatus.published)})
    assert non_additivity(table) is not None
    hidden = dataclasses.replace(table, suppressed_parts=frozenset({(0,)}))
    assert non_additivity(hidden) is None


def test_variables_cannot_be_called_like_the_figure(mean_rents, tmp_path):
    other = Dimension(classifications=(Classification.flat("figure", ["old", "new"]),))
    table = dataclasses.replace(mean_rents, dimensions=(mean_rents.dimensions[0], other))
    with pytest.raises(PublicationError, match="two columns would have the name 'figure'"):
        write(table, tmp_path / "x.jsonstat")


def test_a_report_on_a_large_table_shows_all_figures(rents, tmp_path):
    many = Classification.flat("job", [f"job {k}" for k in range(900)])
    table = dataclasses.replace(
        rents,
        dimensions=(rents.dimensions[0], Dimension(classifications=(many,)), rents.dimensions[2]),
        cell_notes=(),
    )
    raw = write_report([table], tmp_path / "i.html", title="x").read_text()
    assert "This page shows totals and the first levels. The files contain" in raw
    for title in ("Rented dwellings", "Average rent (EUR)", "Vacancy rate (%)", "Surplus"):
        assert title in raw
    assert "job 899" not in raw
