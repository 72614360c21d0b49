"""Cells and files as offices send them: through the commands, from file to file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import Result

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression, build_problem, find_pattern
from discreet.protection.suppression.methods import worktime
from discreet_argus import read_jj, write_jj
from tests.helpers.attacker_apart import Listed
from tests.helpers.command import run

METADATA = """\
<SEPARATOR> ";"
<SAFE> S
<UNSAFE> U
<PROTECT> P
Straße
 <RECODEABLE>
 <HIERARCHICAL>
 <HIERCODELIST> "Straße.hrc"
 <HIERLEADSTRING> "@"
branch
 <RECODEABLE>
turnover
 <NUMERIC>
n
 <FREQUENCY>
state
 <STATUS>
"""
#: Codes with blanks, accents and dots; "Île 2" is one code below another of the same extent.
TREE = "Nord.Ost\n@N. 1\n@N. 2\nÎle de France\n@Île 2"
BRANCHES = ("A.1", "B & Ç", "C 3")
METHODS = ["fast", "auto", "optimal", "modular", "hypercube"]


def lines(sign: int = 1, marked: tuple[str, str] | None = ("N. 1", "A.1")) -> list[str]:
    """A table of streets and branches as lines of cells."""
    inner = {
        (street, branch): sign * (10 * at + 3 * way + 7)
        for at, street in enumerate(["N. 1", "N. 2", "Île 2"])
        for way, branch in enumerate(BRANCHES)
    }
    above = {"N. 1": "Nord.Ost", "N. 2": "Nord.Ost", "Île 2": "Île de France"}
    cells: dict[tuple[str, str], int] = {}
    for (street, branch), value in inner.items():
        for place in (street, above[street], "Total"):
            for way in (branch, "Total"):
                cells[place, way] = cells.get((place, way), 0) + value
    return [
        f"{place};{way};{value};5;{'U' if (place, way) == marked else 'S'}"
        for (place, way), value in cells.items()
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Straße.hrc").write_text(TREE, encoding="utf-8")
    (tmp_path / "cells.rda").write_text(METADATA, encoding="utf-8")
    return tmp_path


def suppressed(folder: Path, text: str, *more: str) -> Result:
    (folder / "cells.tab").write_text(text, encoding="utf-8")
    words = ["--metadata", str(folder / "cells.rda"), "--out", str(folder / "safe.csv"), "--json"]
    return run("suppress", folder / "cells.tab", *words, *more)


@pytest.mark.parametrize(("method", "end"), [("fast", ""), ("hypercube", "\n")])
def test_blanks_accents_dots_equal_levels_and_a_last_line_without_end(
    folder: Path, method: str, end: str
) -> None:
    done = suppressed(folder, "\n".join(lines()) + end, "--method", method)
    assert done.exit_code == 0, done.output
    frame = pl.read_csv(folder / "safe.csv")
    assert len(frame) == len(lines())
    blank = frame.filter(pl.col("value").is_null()).select("Straße", "branch").rows()
    assert ("N. 1", "A.1") in blank
    assert len(blank) >= 4
    words = ["--by", "Straße,branch", "--classification", f"Straße={folder / 'Straße.hrc'}"]
    told = json.loads(run("audit", folder / "safe.csv", *words, "--json").stdout)
    assert (told["hidden"], told["exact"]) == (len(blank), 0)


def test_a_total_of_one_part_is_hidden_with_it(folder: Path) -> None:
    done = suppressed(folder, "\n".join(lines(marked=("Île 2", "A.1"))), "--method", "optimal")
    assert done.exit_code == 0, done.output
    frame = pl.read_csv(folder / "safe.csv").filter(branch="A.1")
    hidden = frame.filter(pl.col("value").is_null())["Straße"].to_list()
    assert {"Île 2", "Île de France"} <= set(hidden)


def test_no_sensitive_cell_at_all(folder: Path) -> None:
    done = suppressed(folder, "\n".join(lines(marked=None)))
    assert done.exit_code == 0, done.output
    assert pl.read_csv(folder / "safe.csv")["value"].null_count() == 0


@pytest.mark.parametrize("method", ["fast", "optimal"])
def test_a_negative_grand_total(folder: Path, method: str) -> None:
    done = suppressed(folder, "\n".join(lines(sign=-1)), "--method", method)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["unprotected"] == 0
    frame = pl.read_csv(folder / "safe.csv")
    assert frame.filter(branch="Total", Straße="Total")["value"].item() < 0


def test_cells_that_do_not_add_up_are_named_and_no_difference_is_told(folder: Path) -> None:
    wrong = [
        line.replace(";7;", ";70007;") if line.startswith("N. 1;A.1") else line for line in lines()
    ]
    done = suppressed(folder, "\n".join(wrong))
    assert done.exit_code == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "additivity"
    named = json.dumps(error, ensure_ascii=False)
    assert "Straße=Nord.Ost, branch=A.1" in named
    for secret in ("70007", "70000", "70,000", "70,007"):
        assert secret not in done.output
    assert not (folder / "safe.csv").exists()


def test_a_problem_that_does_not_add_up_is_refused_without_numbers(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jj"
    cells = ["0 60 6 s 0 99 0 0 0", "1 4711 1 u 0 9999 3 3 0", "2 30 3 s 0 99 0 0 0"]
    path.write_text("\n".join(["0", "3", *cells, "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]))
    done = run("suppress", path, "--out", tmp_path / "safe.jj", "--json")
    assert done.exit_code == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "problem"
    assert "do not add up" in error["what"]
    assert not {"4711", "4681", "4741"} & set(done.output.replace(",", " ").split())
    assert not (tmp_path / "safe.jj").exists()


@pytest.mark.parametrize("end", ["", "\n", "\r\n\r\n"])
def test_problems_end_with_or_without_a_line_end(tmp_path: Path, end: str) -> None:
    table = dc.Table.from_cells(
        pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]}), by=["sex"], count="n"
    )
    problem, _ = build_problem((table, table.count < 3))
    path = write_jj(problem, tmp_path / "table.jj")
    path.write_bytes(path.read_text().rstrip("\n").encode() + end.encode())
    again = read_jj(path)
    assert again.digest() == problem.digest()
    hidden = np.flatnonzero(find_pattern(again, "fast").hidden).tolist()
    assert Listed.read(path).open_cells(hidden) == []


def test_a_problem_without_sensitive_cells_or_without_relations(tmp_path: Path) -> None:
    cells = ["0 60 6 s 0 99 0 0 0", "1 30 3 s 0 99 0 0 0", "2 30 3 s 0 99 0 0 0"]
    path = tmp_path / "calm.jj"
    for sums in (["1", "0 3 : 0 (-1) 1 (1) 2 (1)"], ["0"]):
        path.write_text("\n".join(["0", "3", *cells, *sums]))
        done = run("suppress", path, "--out", tmp_path / "s.jj", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["secondaries"] == 0


@pytest.mark.parametrize(
    "method", ["fast", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in METHODS[1:])]
)
def test_a_time_limit_is_told_and_the_pattern_is_safe(
    reference: Path, method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktime, "_GRACE", 60.0)  # on a busy machine, too
    path = reference / "suppression" / "tau_YearSizeReg_P10.jj.gz"
    pattern = find_pattern(read_jj(path), method, time_limit=0.01)
    assert pattern.safe
    assert not pattern.complete
    assert Listed.read(path).open_cells(np.flatnonzero(pattern.hidden).tolist()) == []


@pytest.mark.exhaustive
def test_a_time_limit_is_told_on_the_command_line(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktime, "_GRACE", 60.0)
    path = reference / "suppression" / "tau_YearSizeReg_P10.jj.gz"
    words = ["--method", "auto", "--time-limit", "0.01", "--out", tmp_path / "safe.jj"]
    told = json.loads(run("suppress", path, *words, "--json").stdout)
    assert told["complete"] is False
    assert told["unprotected"] == 0


def test_a_cell_among_cells_that_must_be_shown_is_named() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n")
    marks = [
        dc.rules.Mark(cells={"sex": "d"}, status="unsafe"),
        *(dc.rules.Mark(cells={"sex": s}, status="protected") for s in ("m", "w", "Total")),
    ]
    with pytest.raises(SuppressionError) as caught:
        Suppression.of((table, dc.primary(table, [], marks=marks)), method="optimal")
    assert caught.value.code == "infeasible"
    assert caught.value.where == "sex=d"
