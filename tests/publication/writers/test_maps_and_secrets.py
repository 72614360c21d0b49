"""No map tells what the table hides: from records to files, every format, every level."""

import re
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.publication import MAPS, suffix_of
from discreet.publication.boundaries import Boundaries
from discreet.tables import CellStatus

CODES = {"N1": 8, "N2": 9, "N3": 10, "S1": 11, "S2": 12, "S3": 13}


@pytest.fixture(scope="module")
def areas() -> Boundaries:
    polygons = []
    for code, west in {"N": 8, "S": 11, **CODES}.items():
        side = 3 if len(code) == 1 else 1
        ring = [[west, 50], [west + side, 50], [west + side, 51], [west, 51], [west, 50]]
        polygons.append((code, [[pl.DataFrame(ring, orient="row").to_numpy().astype(float)]]))
    return Boundaries.of_polygons(polygons, "EPSG:4326")


@pytest.fixture(scope="module")
def survey() -> tuple[dc.Table, dc.ProtectedTable]:
    """Turnover of firms, few of them in two counties; such figures occur nowhere else."""
    firms = [
        {"county": code, "turnover": 7919 * (3 * k + j) + 611_953}
        for k, code in enumerate(CODES)
        for j in range(2 if code in ("N1", "S2") else 9)
    ]
    frame = pl.DataFrame(firms).with_columns(state=pl.col("county").str.slice(0, 1))
    region = dc.Classification.from_parents(
        "county", {"N": None, "S": None, **{code: code[0] for code in CODES}}
    )
    table = dc.tabulate(frame, by=[region], values=["turnover"], contributions=3, name="T1")
    primary = dc.primary(table, [dc.rules.MinimumFrequency(3)], value="turnover")
    return table, dc.suppress(table, primary, method="fast")


def contents(path: Path) -> str:
    """All that a file says, columns of Parquet files included."""
    said = path.read_bytes().decode("latin-1")
    if path.suffix == ".parquet":
        said += str(pl.read_parquet(path).rows()) + str(pl.read_parquet_metadata(path))
    return re.sub(r"(?<=\d)[,.\u202f\u2009 ](?=\d{3})", "", said)


@pytest.mark.parametrize("form", MAPS)
@pytest.mark.parametrize("breaks", ["quantiles", "equal", "geometric", "natural"])
def test_hidden_figures_are_nowhere_and_shown_ones_are(survey, areas, tmp_path, form, breaks):
    table, safe = survey
    true = {c: int(v) for c, v in table.to_polars().select("county", "turnover").iter_rows()}
    cells = safe.to_polars()
    hidden = cells.filter(pl.col("status") == CellStatus.suppressed.name)["county"].to_list()
    assert {"N1", "S2"} < set(hidden)
    path = safe.write(tmp_path / f"T1{suffix_of(form)}", boundaries=areas, breaks=breaks)
    said = contents(path)
    for code in hidden:
        assert str(true[code]) not in said
    drawn = [code for code in CODES if code not in hidden]
    assert drawn
    for code in drawn:
        assert str(true[code]) in said


def test_a_reader_of_all_maps_learns_no_more_than_one_of_the_table(survey, areas, tmp_path):
    """Classes and counts of the picture follow from the printed figures alone."""
    _, safe = survey
    picture = safe.write(tmp_path / "T1.svg", boundaries=areas, classes=3).read_text()
    shown = (
        safe.to_polars().filter(pl.col("county").is_in(list(CODES)))["value"].drop_nulls().sort()
    )
    numbers = [int(text.replace(",", "")) for text in re.findall(r">(?:under )?([\d,]+) ", picture)]
    bounds = {number for number in numbers if number > 100_000}
    assert bounds <= set(shown.to_list())
    hidden = len(CODES) - len(shown)
    assert f"({hidden} areas)" in picture
