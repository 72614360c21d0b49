"""Two perturbation tables side by side."""

import json
import logging
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import PerturbationTable
from discreet.assessment import TableComparison, compare
from discreet.errors import (
    DiscreetError,
    PerturbationError,
    PublicationError,
    RecordKeyError,
    TableError,
)
from discreet.protection.noise.design.discretisation import discretised
from discreet.protection.noise.design.permutation import permuted
from discreet.publication import write
from discreet.publication.notebook import notebook_html


def read(reference: Path, case: str, kind: str = "ptable.csv") -> PerturbationTable:
    return PerturbationTable.read(reference / "ptable" / f"{case}_{kind}")


@pytest.mark.parametrize("case", ["c01", "c08", "c31"])
def test_the_two_formats_of_the_reference_hold_the_same_noise(reference: Path, case: str) -> None:
    """Bounds on other sides: not one key of the 10^15 grid differs but those at the bounds."""
    comparison = compare(read(reference, case), read(reference, case, "tauargus.txt"))
    bounds = int(np.diff(read(reference, case).content.starts).max())
    assert comparison.largest <= 2e-15
    assert min(comparison.rows["same_keys"].to_list()) >= 1 - bounds * 1e-15
    assert compare(read(reference, case), read(reference, case)).same_noise


def test_differences_by_hand() -> None:
    first = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.25", 0: "0.5", 1: "0.25"}})
    second = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: "0.25", 0: "0.5", 1: "0.25"}, 2: {-1: "0.5", 1: "0.25", 2: "0.25"}}
    )
    comparison = compare(first, second)
    assert comparison.rows.to_dicts()[2] == {
        "i": 2, "largest": 0.5, "distance": 0.5, "mean": 0.25, "variance": 1.1875,
        "same_keys": 0.25,
    }  # fmt: skip
    assert comparison.rows["largest"].to_list() == [0, 0, 0.5]
    assert (comparison.largest, comparison.n_max) == (0.5, (1, 2))
    assert not comparison.same_distribution
    assert compare(second, first).rows["variance"].to_list() == [0, 0, -1.1875]


def test_counting_keys_one_by_one_gives_the_same(reference: Path) -> None:
    first, _ = discretised(read(reference, "c01"), 256, fill=False)
    second, _ = discretised(read(reference, "c08"), 256, fill=False)
    rows = compare(first, second).rows
    every = np.arange(256)
    for count in range(9):
        noise = [table.lookup(np.full(256, count), every, grid=256) for table in (first, second)]
        assert rows["same_keys"][count] == (noise[0] == noise[1]).mean()


def test_permuting_is_told_from_designing(reference: Path) -> None:
    table = read(reference, "c08")
    comparison = compare(table, permuted(table, 1, 0.1))
    assert (comparison.same_distribution, comparison.same_noise) == (True, False)
    assert comparison.text().startswith("The probabilities are equal; the intervals lie elsewhere")
    assert "liegen anders" in comparison.text("de")
    assert compare(table, table).text() == "The tables are the same: every key gets the same noise."


def test_a_decimal_table_is_compared_with_one_on_few_keys(reference: Path) -> None:
    table = read(reference, "c08")
    on_keys, error = discretised(table, 256, fill=False)
    comparison = compare(table, on_keys)
    assert comparison.largest == pytest.approx(error.largest, rel=1e-12)
    assert comparison.grids == (None, 256)
    assert comparison.text().endswith("Key grids: any and 256.")
    assert comparison.text("de").endswith("Schlüsselraster: beliebig und 256.")
    assert "up to " in comparison.text()


def test_tables_that_repeat_a_block_are_compared_row_by_row() -> None:
    noise, other = {-1: "0.5", 1: "0.5"}, {-1: "0.25", 0: "0.5", 1: "0.25"}
    block = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: other}, beyond=(1, 2))
    long = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: other, 3: noise, 4: other})
    assert compare(block, long).same_noise
    assert not compare(
        PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: other}), long
    ).same_noise


def test_comparisons_say_nothing_by_themselves(reference: Path) -> None:
    table = read(reference, "c01")
    comparison = compare(table, table)
    assert repr(comparison) == "<Comparison: secret>"
    assert json.loads(json.dumps(comparison.described()))["same_noise"] is True
    with pytest.raises(PerturbationError, match="en or de"):
        comparison.text("fr")


TRUE = [34571, 17003, 17568]
PTABLE = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})


def counts() -> dc.Table:
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": TRUE, "key": [0.1, 0.5, 0.9]})
    return dc.Table.from_cells(cells, by=["sex"], count="n", cell_key="key")


@pytest.fixture
def compared() -> TableComparison:
    table = counts()
    return dc.compare(table, dc.perturb(table, PTABLE))


def test_true_stands_beside_published(compared: TableComparison) -> None:
    frame = compared.to_polars(labels=True, language="de")
    assert frame.columns == ["sex", "sex_label", "true", "protected", "difference", "status"]
    assert frame["true"].to_list() == TRUE
    assert frame["difference"].to_list() == [-1, 0, 1]
    assert frame["sex_label"][0] == "Insgesamt"
    assert compared.measures()["mean_absolute_deviation"] == pytest.approx(2 / 3)
    assert compared.measures()["unchanged"] == pytest.approx(1 / 3)


def test_nothing_shows_values_unless_it_is_asked_to(
    compared: TableComparison, caplog: pytest.LogCaptureFixture
) -> None:
    shown = compared.show()
    with caplog.at_level(logging.INFO):
        logging.getLogger("x").info("%s %r %s %r", compared, compared, shown, shown)
    texts = [repr(compared), f"{compared}", repr(shown), f"{shown}", caplog.text]
    for text in texts:
        assert "(confidential): 3 cells" in text
        assert not any(f"{n:,}" in text or str(n) in text for n in TRUE)
    assert not hasattr(compared, "_repr_html_")


def test_a_notebook_shows_it_on_purpose(compared: TableComparison) -> None:
    page = compared.show(language="de")._repr_html_()
    assert "VERTRAULICH" in page
    assert "34 571" in page
    assert "−1" in page
    assert "<script" not in page
    cut = compared.show(cells=2)._repr_html_()
    assert "2 of 3 cells" in cut
    assert "17,003" not in cut  # the cell that did not change


def test_it_is_never_published_nor_pickled(compared: TableComparison, tmp_path: Path) -> None:
    for thing in (compared, compared.show()):
        with pytest.raises(PublicationError, match="cannot be published"):
            write(thing, tmp_path / "table.csv")  # type: ignore[arg-type]
        with pytest.raises(PublicationError, match="cannot be published"):
            notebook_html(thing)  # type: ignore[arg-type]
        with pytest.raises(RecordKeyError, match="secret"):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            json.dumps(thing)
    assert list(tmp_path.iterdir()) == []


def test_hidden_cells_have_no_published_number() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n")
    compared = dc.compare(table, dc.suppress(table, table.count < 3, method="fast"))
    hidden = compared.to_polars().filter(pl.col("status") == "suppressed")
    assert hidden["protected"].null_count() == hidden.height == compared.measures()["hidden"] == 2
    assert compared.measures()["unchanged"] == 1.0
    assert "suppressed cells with records: 2" in compared.text()


def test_sums_are_compared_by_relative_deviation() -> None:
    frame = pl.DataFrame(
        {"sex": ["m", "w"] * 50, "rent": np.linspace(300, 900, 100), "id": range(100)}
    )
    frame = dc.with_record_keys(frame, id="id", secret="an example, no secret")
    table = dc.tabulate(frame, ["sex"], record_key="record_key", values=["rent"], contributions=1)
    design = dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4)
    noise = dc.MagnitudeNoise(design, strength=dc.SimpleStrength(0.2))
    safe = dc.perturb_magnitudes(table, noise, "rent", p_percent=0)
    compared = dc.compare(table, safe)
    assert compared.figures == ("rent",)
    assert compared.to_polars()["true"].to_list() == table.sums["rent"].tolist()
    assert compared.measures()["cells"] == 3
    assert 0 <= compared.measures()["within_5_percent"] <= 1
    means = dc.perturb_magnitudes(table, noise, "rent", ptable=PTABLE, figure="mean", p_percent=0)
    true = table.sums["rent"] / table.count
    assert dc.compare(table, means).to_polars()["true"].to_list() == pytest.approx(true.tolist())


def test_zeros_published_as_numbers_are_listed() -> None:
    region = dc.Classification.flat("region", ["a", "b", "c"])
    cells = pl.DataFrame({"region": ["Total", "a", "b"], "n": [9, 4, 5]})
    table = dc.Table.from_cells(cells, by=[region], count="n")
    safe = dc.ProtectedTable(
        dimensions=table.dimensions,
        index=(np.array([0, 1, 2, 3], dtype=np.int32),),
        value=np.array([9, 4, 5, 2]),
        status=np.zeros(4, dtype=np.int8),
        provenance=dc.perturb(counts(), PTABLE).provenance,
    )
    frame = dc.compare(table, safe).to_polars()
    assert frame.row(3) == ("c", 0, 2, 2, "published")
    assert dc.compare(table, safe).measures()["zeros_changed"] == 1


def test_what_cannot_be_compared_is_an_error_without_values() -> None:
    table = counts()
    safe = dc.perturb(table, PTABLE)
    for pair in [(safe, table), (table, table), (PTABLE, table)]:
        with pytest.raises(TableError, match="cannot be compared") as caught:
            dc.compare(*pair)  # type: ignore[call-overload]
        assert "34571" not in str(caught.value)
    other = dc.Table.from_cells(pl.DataFrame({"age": ["Total"], "n": [3]}), by=["age"], count="n")
    with pytest.raises(DiscreetError, match="differ in their spanning variables"):
        dc.compare(other, safe)
