"""A table beside what was made of it: all of it on purpose, nothing by accident."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment import TableComparison
from discreet.errors import DiscreetError, PublicationError, RecordKeyError, TableError
from discreet.publication import write
from discreet.publication.notebook import notebook_html

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
