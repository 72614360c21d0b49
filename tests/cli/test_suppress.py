"""`discreet suppress` and `discreet audit`, as offices use them."""

import json
import stat
from pathlib import Path

import polars as pl
import pytest

from discreet_argus import read_jj
from tests.helpers.cell_files import CELLS, METADATA
from tests.helpers.command import run


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    (tmp_path / "cells.rda").write_text(METADATA)
    path = tmp_path / "cells.tab"
    path.write_text(CELLS)
    return path


@pytest.mark.parametrize("method", ["fast", "optimal"])
def test_a_problem_gets_its_pattern(reference: Path, tmp_path: Path, method: str) -> None:
    source, out = reference / "suppression" / "tau_SizeReg_P10.jj.gz", tmp_path / "safe.jj"
    done = run("suppress", source, "--method", method, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {"cost", "bound", "gap", "secondaries", "unprotected", "seconds"} <= set(told)
    assert told["unprotected"] == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert int((read_jj(out).state == 3).sum()) == told["secondaries"]
    again = json.loads(run("audit", out, "--json").stdout)
    assert again["unprotected"] == 0
    assert again["cost"] == told["cost"]


def test_an_audit_names_open_cells(reference: Path) -> None:
    done = run("audit", reference / "suppression" / "tau_SizeReg_P10.jj.gz", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["unprotected"] == len(told["unprotected_cells"]) == 9
    assert not told["safe"]


def test_cells_become_a_table_to_publish(cells: Path, tmp_path: Path) -> None:
    out, metadata = tmp_path / "safe.csv", tmp_path / "cells.rda"
    done = run("suppress", cells, "--metadata", metadata, "--method", "fast", "--out", out)
    assert done.exit_code == 0, done.output
    frame = pl.read_csv(out)
    row = frame.filter(sex="m", branch="a").row(0, named=True)
    assert row["value"] is None
    assert row["reason"] == "manual"
    assert frame["value"].null_count() == 4
    # The file itself hides the marked cell alone.
    assert run("audit", cells, "--metadata", metadata).exit_code == 1


def test_a_file_in_which_nothing_is_sensitive_is_worth_a_warning(
    cells: Path, tmp_path: Path
) -> None:
    out, metadata = tmp_path / "safe.csv", tmp_path / "cells.rda"
    cells.write_text(CELLS.replace(";U", ";S"))
    done = run("suppress", cells, "--metadata", metadata, "--method", "fast", "--out", out)
    assert done.exit_code == 0, done.output
    assert "discreet: warning: no cell of cells.tab is sensitive" in done.stderr


def test_published_cells_are_audited_without_the_true_ones(cells: Path, tmp_path: Path) -> None:
    out = tmp_path / "safe.csv"
    run("suppress", cells, "--metadata", tmp_path / "cells.rda", "--method", "fast", "--out", out)
    done = run("audit", out, "--by", "sex,branch", "--intervals", "--json")
    told = json.loads(done.stdout)
    assert (told["hidden"], told["exact"]) == (4, 0)
    assert len(told["intervals"]) == 4
    open_cells = pl.read_csv(out).with_columns(
        value=pl.when(sex="m", branch="b").then(35).otherwise("value"), symbol=pl.lit(".")
    )
    open_cells.write_csv(out)
    told = json.loads(run("audit", out, "--by", "sex,branch", "--json").stdout)
    assert told["exact_cells"] == ["sex=m, branch=a", "sex=w, branch=a", "sex=w, branch=b"]


def test_signs_of_other_tools_are_blanks(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("sex,value\nTotal,18\nm,x\nw,x\nd,2\n")
    told = json.loads(run("audit", path, "--by", "sex", "--json", "--intervals").stdout)
    assert [(row["low"], row["high"]) for row in told["intervals"]] == [(1.0, 15.0)] * 2
    english = tmp_path / "with-decimals.csv"
    english.write_text("sex,value\nTotal,18.5\nm,x\nw,x\nd,2.25\n")
    german = tmp_path / "with-decimals.de.csv"
    german.write_text("sex;value\nTotal;18,5\nm;x\nw;x\nd;2,25\n")
    one, other = (
        json.loads(run("audit", file, "--by", "sex", "--json", "--intervals").stdout)["intervals"]
        for file in (english, german)
    )
    assert one == other
    path.write_text("branch,value\nTotal,18\n1,12\n10,x\n12,x\n2,6\n21,6\n")
    told = json.loads(run("audit", path, "--by", "branch", "--prefixes", "branch=1,2", "--json",
                          "--intervals").stdout)  # fmt: skip
    assert [(row["branch"], row["high"]) for row in told["intervals"]] == [("10", 11), ("12", 11)]
    path.write_text("sex,value\nTotal,18\nm,many\n")
    done = run("audit", path, "--by", "sex", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["code"] == "values"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["missing.jj", "--out", "x.jj"], "jj-file"),
        (["cells.tab", "--out", "x.csv"], "metadata"),
        (["cells.tab", "--metadata", "cells.rda", "--out", "none/x.csv"], "output-folder"),
    ],
)
def test_wrong_words_write_nothing(
    cells: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: str
) -> None:
    monkeypatch.chdir(cells.parent)
    before = set(cells.parent.iterdir())
    done = run("suppress", *words, "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["code"] == code
    assert set(cells.parent.iterdir()) == before


def test_a_problem_is_not_published(reference: Path, tmp_path: Path) -> None:
    source = reference / "suppression" / "tau_SizeReg_P10.jj.gz"
    done = run("suppress", source, "--out", tmp_path / "x.csv", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "output-file"
    assert not list(tmp_path.iterdir())
