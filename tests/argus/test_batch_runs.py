"""Batches of offices, carried out: records or cells in, protected tables out."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from discreet.argus import read_jj
from discreet.argus.runs import run_batch
from discreet.errors import SuppressionError
from discreet.publication import write

BATCH = """\
<OPENMICRODATA> "firms.asc"
<OPENMETADATA> "firms.rda"
<SPECIFYTABLE> "Size""Place"|"Turnover"|"Turnover"|"Turnover"
<SAFETYRULE> P(10,1)|FREQ(3,30)
<READMICRODATA>
<SUPPRESS> {step}
<WRITETABLE> (1,3,AS+,"safe.csv")
<WRITETABLE> (1,6,,"safe.jj")
"""
METADATA = """\
Size 1 1
 <RECODEABLE>
Place 3 2
 <RECODEABLE>
Turnover 6 4
 <NUMERIC>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        f"{1 + n % 3} P{1 + (n * n + n // 7) % 8} {(n * 37) % 900 + 5:>4}" for n in range(60)
    ] + ["1 P9    9", "2 P1 9000"]
    (tmp_path / "firms.asc").write_text("\n".join(lines))
    (tmp_path / "firms.rda").write_text(METADATA)
    return tmp_path


def batch(folder: Path, step: str = "MOD(1,5)") -> Path:
    (folder / "some.arb").write_text(BATCH.format(step=step))
    return folder / "some.arb"


@pytest.mark.parametrize(
    ("step", "method"),
    [("MOD(1,5)", "modular"), ("GH(1,75)", "hypercube"), ("OPT(1,5)", "optimal")],
)
def test_a_batch_writes_what_it_asks_for(folder: Path, step: str, method: str) -> None:
    (done,) = run_batch(batch(folder, step), write=write)
    assert done.pattern.method == method
    assert done.pattern.safe
    hidden = pl.read_csv(folder / "safe.csv")["value"].null_count()
    assert hidden == len(done.tables[0].to_polars().filter(pl.col("value").is_null()))
    assert hidden > 0
    problem = read_jj(folder / "safe.jj")
    assert int((problem.state == 3).sum()) == done.pattern.secondaries


def test_the_batch_of_a_published_example_runs(reference: Path, tmp_path: Path) -> None:
    shutil.copytree(reference / "argus" / "tableinput", tmp_path / "in")
    path = tmp_path / "in" / "TestTable.arb"
    text = path.read_text().replace("<GOINTERACTIVE>", "<SUPPRESS> MOD(1)")
    path.write_text(text)
    (done,) = run_batch(path)
    assert done.pattern.safe
    assert done.tables[0].figure_decimals() == 2


def test_what_is_not_done_is_refused_before_anything_is_written(folder: Path) -> None:
    path = batch(folder)
    text = path.read_text().replace("P(10,1)|FREQ(3,30)", "P(10,1)|WGT(1)|REQ(1,2,3,4)")
    path.write_text(text.replace("(1,3,AS+", "(1,4,AS+"))
    with pytest.raises(SuppressionError) as caught:
        run_batch(path, write=write)
    assert caught.value.code == "batch"
    assert len(caught.value.problems) == 3
    assert not list(folder.glob("safe.*"))


def test_a_table_that_is_not_protected_is_not_written(folder: Path) -> None:
    path = batch(folder)
    lines = [line for line in path.read_text().splitlines() if "SUPPRESS" not in line]
    path.write_text("\n".join(lines))
    with pytest.raises(SuppressionError) as caught:
        run_batch(path, write=write)
    assert "not protected" in str(caught.value)
