"""Edges of hidden cells: empty tables, wrong files, what is said of them and counted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression, audit_published, report_on
from discreet.publication import legend, write_report
from discreet_argus import read_jj
from tests.helpers.rows import for_all_rows


@for_all_rows("method", ["auto", "fast", "optimal", "modular", "hypercube"])
def test_an_empty_table_stays_empty(method: Any) -> None:
    frame = pl.DataFrame(schema={"a": pl.String, "v": pl.Int64})
    table = dc.tabulate(frame, ["a"], values=["v"], contributions=2)
    for value in ("v", None):
        found = dc.primary(table, [dc.rules.MinimumFrequency(3)], value=value)
        safe = dc.suppress(table, found, method=method)
        assert safe.stored == 0
        audited = dc.audit(safe, table, found)
        assert audited.safe
        assert audited.described()["hidden"] == len(audit_published(safe)) == 0


def problem(path: Path, cost: str) -> Path:
    cells = [f"0 9 1 s 0 20 0 0 0", f"1 4 {cost} u 0 20 1 1 0", "2 5 1 s 0 20 0 0 0"]  # noqa: F541
    path.write_text("\n".join(["0", "3", *cells, "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]))
    return path


def test_a_negative_cost_in_a_problem_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SuppressionError, match="cost of cell 1 is negative") as caught:
        read_jj(problem(tmp_path / "wrong.jj", "-2"))
    assert "line 4" in str(caught.value)
    assert read_jj(problem(tmp_path / "right.jj", "0")).cost.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "words",
    [
        ["suppress", "wrong.jj", "--out", "o.jj"],
        pytest.param(["suppress"], marks=pytest.mark.exhaustive),
    ],
)
def test_errors_for_programs_are_printed_once(words: list[str], tmp_path: Path) -> None:
    problem(tmp_path / "wrong.jj", "-2")
    command = [sys.executable, "-m", "discreet", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] in ("jj-file", "usage")
    assert done.stderr == ""


def hidden(*, value: str | None) -> tuple[dc.ProtectedTable, dc.Table, Any]:
    frame = pl.DataFrame({"a": [*"xxxxyyyyzz"], "b": [*"uuuvuuuuvv"], "v": range(10)})
    table = dc.tabulate(frame, ["a", "b"], values=["v"], contributions=2)
    found = dc.primary(table, [dc.rules.MinimumFrequency(3)], value=value)
    known = {} if value else {"zero_cells": "partners"}
    return dc.suppress(table, found, method="fast", **known), table, found


@pytest.mark.parametrize("value", [None, "v"])
def test_blanks_are_counted_alike_with_and_without_the_truth(value: str | None) -> None:
    safe, table, found = hidden(value=value)
    told = dc.audit(safe, table, found).described()
    blank = safe.to_polars(complete=True)["value"].null_count()
    assert told["hidden"] == len(audit_published(safe)) == blank > 0
    assert told["hidden"] == told["secondaries"] + told["sensitive"]


def test_a_legend_says_of_true_zeros_that_they_are_true(tmp_path: Path) -> None:
    counts, values = hidden(value=None)[0], hidden(value="v")[0]
    meanings = [{sign.symbol: sign.meaning for sign in legend(each)} for each in (counts, values)]
    assert [each["–"] for each in meanings] == ["exactly zero", "zero, or rounded to zero"]
    assert legend(counts, "de")[0].meaning == "genau null"
    page = write_report([counts], tmp_path / "index.html", title="Firms").read_text("utf-8")
    assert "Protection of these figures" in page
    assert "Values shown as a dot are suppressed" in page
    assert "changed to zero" not in page
    assert "cell-key method" not in page


@pytest.mark.parametrize("weighted", [True, False])
def test_reports_say_which_weights_the_rules_used(weighted: bool) -> None:
    frame = pl.DataFrame({"a": [*"xxxyyyzzzz"], "v": [9, 1, 1, 5, 5, 5, 7, 8, 9, 9]})
    frame = frame.with_columns(w=pl.lit(1.5))
    table = dc.tabulate(frame, ["a"], values=["v"], weight="w", contributions=2)
    found = dc.primary(table, [dc.rules.PPercent(20)], value="v", weighted=weighted)
    text = report_on(Suppression.of((table, found), method="fast")).text()
    assert ("as many times as its weight" in text) == weighted
    assert ("rules count each record and its contribution once, without" in text) != weighted
    plain = dc.tabulate(frame, ["a"], values=["v"], contributions=2)
    found = dc.primary(plain, [dc.rules.PPercent(20)], value="v")
    assert "its weight" not in report_on(Suppression.of((plain, found), method="fast")).text()
