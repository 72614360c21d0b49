"""`discreet suppress` and `audit`: pictures, places, and options that fit no file."""

import json
import sys
from pathlib import Path

import pytest

from tests.helpers.cell_files import CELLS, METADATA
from tests.helpers.command import everything, run
from tests.helpers.rows import for_all_rows

TAB = ("cells.tab", "--metadata", "cells.rda", "--method", "fast")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of cells, and the problem of another table."""
    (tmp_path / "cells.tab").write_text(CELLS)
    (tmp_path / "cells.csv").write_text(CELLS)
    (tmp_path / "cells.rda").write_text(METADATA)
    source = reference / "suppression" / "tau_SizeReg_P10.jj.gz"
    (tmp_path / "p.jj.gz").write_bytes(source.read_bytes())
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("view", ["cells", "codes", "parts"])
def test_a_published_table_is_drawn(folder: Path, view: str) -> None:
    words = ("--out", "safe.csv", "--picture", "safe.svg", "--view", view, "--language", "de")
    done = run("suppress", *TAB, *words)
    assert done.exit_code == 0, done.output
    assert done.output.endswith("Written: safe.csv\nDrawn: safe.svg\n")
    drawn = (folder / "safe.svg").read_text()
    assert "sekundär" in drawn
    assert "VERTRAULICH" not in drawn
    told = json.loads(run("suppress", *TAB, *words, "--json").stdout)
    assert told["picture"] == "safe.svg"


@pytest.mark.parametrize(
    "words",
    [
        (*TAB, "--out", "cells.rda"),
        ("cells.csv", "--metadata", "cells.rda", "--out", "cells.csv"),
        ("p.jj.gz", "--out", "p.jj.gz"),
        ("p.jj.gz", "--out", "sub"),
        (*TAB, "--out", "sub"),
        (*TAB, "--out", "safe.foo"),
        (*TAB, "--out", "safe"),
        (*TAB, "--out", "none/safe.csv"),
        (*TAB, "--out", "safe.csv", "--language", "fr"),
        (*TAB, "--out", "safe.csv", "--view", "codes"),
        (*TAB, "--out", "safe.csv", "--picture", "safe.gif"),
        (*TAB, "--out", "safe.csv", "--picture", "safe.csv"),
        (*TAB, "--out", "safe.svg", "--picture", "safe.svg"),
        (*TAB, "--out", "safe.csv", "--picture", "none/safe.svg"),
        (*TAB, "--out", "safe.csv", "--picture", "sub"),
        (*TAB, "--out", "safe.jj", "--picture", "safe.svg"),
        (*TAB, "--out", "safe.csv", "--time-limit", "0"),
        (*TAB, "--out", "safe.csv", "--time-limit", "nan"),
    ],
)
def test_wrong_places_and_words_change_nothing(folder: Path, words: tuple[str, ...]) -> None:
    before = everything(folder)
    done = run("suppress", *words, "--json")
    assert done.exit_code == 2, done.output
    assert json.loads(done.stdout)["error"]["what"]
    assert everything(folder) == before


def test_an_input_is_never_overwritten_by_another_name(folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder / "cells.csv")
    done = run("suppress", "cells.csv", "--metadata", "cells.rda", "--out", "link.csv")
    assert done.exit_code == 2
    assert (folder / "cells.csv").read_text() == CELLS


def test_without_the_drawing_package_nothing_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    before = everything(folder)
    done = run("suppress", *TAB, "--out", "safe.csv", "--picture", "safe.svg", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "missing-package"
    assert everything(folder) == before
    assert run("suppress", *TAB, "--out", "safe.csv").exit_code == 0


@for_all_rows(
    "words",
    [
        ("p.jj.gz", "--value", "turnover"),
        ("p.jj.gz", "--decimals", "1"),
        ("p.jj.gz", "--rounding", "0.5"),
        ("p.jj.gz", "--classification", "sex=sex.hrc"),
        ("p.jj.gz", "--coalition", "1"),
        ("safe.csv", "--by", "sex,branch", "--metadata", "cells.rda"),
        ("safe.csv", "--by", "sex,sex"),
        ("programme.toml", "--release", "sub", "--by", "sex"),
        ("programme.toml", "--release", "sub", "--intervals"),
        ("programme.toml",),
    ],
)
def test_options_that_say_nothing_are_refused(words: tuple[str, ...]) -> None:
    assert run("suppress", *TAB, "--out", "safe.csv").exit_code == 0
    done = run("audit", *words, "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["what"]


def test_a_release_is_audited_by_its_programme() -> None:
    done = run("audit", "sub", "--json")
    assert done.exit_code == 2
    assert "discreet audit PROGRAMME --release sub" in json.loads(done.stdout)["error"]["what"]


def test_a_wrong_choice_is_refused_in_words() -> None:
    done = run("suppress", *TAB, "--zero-cells", "some", "--out", "safe.csv")
    assert done.exit_code == 2
    assert "Value error" not in done.output
    told = run("suppress", *TAB, "--zero-cells", "some", "--out", "safe.csv", "--json")
    what = json.loads(told.stdout)["error"]["what"]
    assert what.endswith(": 'some' is not one of 'auto', 'fixed', 'partners'.")


def test_a_file_without_names_of_columns_is_not_quoted() -> None:
    """Its first line holds a cell: no message may show it."""
    for words in (("--by", "sex"), ("--by", "sex,branch", "--json")):
        done = run("audit", "cells.tab", *words)
        assert done.exit_code == 2
        assert "100" not in done.output
        assert "column 'sex' not found" in done.output


def test_intervals_are_listed_for_people_too() -> None:
    assert run("suppress", *TAB, "--out", "safe.csv").exit_code == 0
    told = run("audit", "safe.csv", "--by", "sex,branch", "--intervals").stdout.splitlines()
    assert "  m, a: 1 to 39" in told
    assert [line for line in told if line.startswith("  ")] == told[2:]
    assert told[1].startswith("Not examined")
    assert len(told) == 6
    assert run("suppress", "p.jj.gz", "--method", "fast", "--out", "safe.jj").exit_code == 0
    inside = run("audit", "safe.jj", "--intervals").stdout.splitlines()
    assert len([line for line in inside if " to " in line]) == 15
    (Path("open.csv")).write_text("sex,value\nTotal,\nm,\nw,3\n")
    unbounded = run("audit", "open.csv", "--by", "sex", "--intervals").stdout
    assert "  Total: 4 to no bound" in unbounded
