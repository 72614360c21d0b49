"""Bounds on what protection costs, `auto` on classic instances, and problems put right."""

from __future__ import annotations

import csv
import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from discreet.cli.commands import app
from discreet.disclosure import Relations
from discreet.errors import SuppressionError
from discreet.protection.suppression import find_pattern
from discreet.protection.suppression.methods.cut_program import lower_bound_of, quick_lower_bound
from discreet.protection.suppression.problem.system import CellState
from discreet_argus import read_jj
from discreet_argus.jj import repaired_problem, write_differences
from tests.helpers.small_systems import problem_of

#: Cheapest patterns known before, with the attacker's bounds as the files have them.
CLASSIC = {"table8": 103, "osorio": 13}


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


# -- bounds -----------------------------------------------------------------------


def test_the_quick_bound_of_one_cell_is_the_cheapest_partner_in_each_relation() -> None:
    value = np.array([5, 9, 14, 7, 8, 15, 12, 17, 29])
    first = (np.arange(9) == 0).astype(np.int64)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)]
    rows = [[(a, 1), (b, 1), (total, -1)] for a, b, total in lines]
    levels = {"state": first * CellState.primary, "lower": first, "upper": first}
    problem = problem_of(value, rows, cost=value, high=np.full(9, 90), **levels)
    # Beside 5 stand 9 and 14 in its row, 7 and 12 in its column; 8 closes the square.
    assert quick_lower_bound(problem) == 9 + 7
    assert find_pattern(problem, "optimal").cost == 9 + 7 + 8
    hypercube = find_pattern(problem, "hypercube")
    # Whoever hides 9 or 7 has to hide something beside it in its other relation.
    assert 9 + 7 <= lower_bound_of(problem) == hypercube.bound <= 9 + 7 + 8
    assert hypercube.gap is not None


def test_one_bound_holds_what_totals_and_what_relations_ask_for() -> None:
    """Sums of smallest cells must be hidden; another relation asks for the cheapest partner."""
    value = np.array([1, 1, 2, 3, 5, 20, 30, 50])
    rows = [[(0, 1), (1, 1), (2, -1)], [(2, 1), (3, 1), (4, -1)], [(5, 1), (6, 1), (7, -1)]]
    sensitive = np.isin(np.arange(8), [0, 5]).astype(np.int64)
    low = np.where(np.arange(8) < 5, value, 0)
    levels = {"state": sensitive * CellState.primary, "upper": sensitive}
    cost = np.array([0, 1, 2, 1, 50, 0, 7, 9])
    problem = problem_of(value, rows, cost=cost, low=low, high=10 * value, **levels)
    bound = find_pattern(problem, "fast").bound
    assert quick_lower_bound(problem) == lower_bound_of(problem) == bound == 2 + 50 + 7


# -- classic instances ---------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CLASSIC)
def test_auto_proves_the_cheapest_pattern_of_classic_instances(reference: Path, name: str) -> None:
    problem = read_jj(reference / "suppression" / f"{name}.jj.gz")
    pattern = find_pattern(problem, "auto")
    assert pattern.safe
    assert (pattern.cost, pattern.bound) == (CLASSIC[name], CLASSIC[name])


@pytest.mark.exhaustive
def test_a_published_pattern_with_open_cells_is_repaired(reference: Path, tmp_path: Path) -> None:
    source, out = reference / "suppression" / "dep_activite.jj.gz", tmp_path / "safe.jj"
    kept = json.loads(run("suppress", source, "--method", "fast", "--out", out, "--json").output)
    # The office published a pattern of cost 40,603 with 8 cells open.
    assert 40_603 < kept["cost"] < 41_000
    assert kept["unprotected"] == 0
    published = read_jj(source)
    assert not np.array_equal(published.hidden, read_jj(out).hidden)


# -- tables that do not add up ---------------------------------------------------------


def test_totals_are_added_up_anew_and_differences_listed(reference: Path, tmp_path: Path) -> None:
    source, out = reference / "suppression" / "targus.jj.gz", tmp_path / "safe.jj"
    listed = tmp_path / "differences.csv"
    refused = run("suppress", source, "--out", out, "--differences", listed)
    assert refused.exit_code != 0
    assert "do not add up" in refused.output
    assert not out.exists()
    rows = list(csv.DictReader(listed.read_text().splitlines()))
    problem = read_jj(source)
    assert len(rows) == int((problem.relations.residuals(problem.value) != 0).sum())
    assert not any(float(row["difference"]) == 0 for row in rows)
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600

    done = json.loads(run("suppress", source, "--repair", "--out", out, "--json").output)
    assert (done["cost"], done["bound"], done["repaired"]) == (2_033_155, 2_033_155, 20)
    safe = read_jj(out)
    assert not safe.relations.residuals(safe.value).any()
    totals = np.unique(problem.relations.cell[problem.relations.coef < 0])
    inner = np.setdiff1d(np.arange(len(problem)), totals)
    assert np.array_equal(safe.value[inner], problem.value[inner])


def test_differences_are_totals_less_their_parts(tmp_path: Path) -> None:
    value, sums = np.array([100, 30, 45]), [[(0, -1), (1, 1), (2, 1)]]
    ends = {"low": np.array([50, 0, 0]), "high": np.array([200, 90, 90])}
    problem = replace(problem_of(value, sums, **ends), relations=Relations.of(3, sums), decimals=1)
    whole, changed = repaired_problem(problem)
    assert whole.value.tolist() == [75, 30, 45]
    assert changed.tolist() == [-25, 0, 0]
    assert (whole.low.tolist(), whole.high.tolist()) == ([25, 0, 0], [175, 90, 90])
    assert write_differences(problem, tmp_path / "list.csv") == 1
    assert (tmp_path / "list.csv").read_text() == 'cell,difference\n"cell 0",2.5\n'


@pytest.mark.parametrize(
    ("sums", "what"),
    [
        ([[(0, -1), (1, 1), (2, 1)], [(0, -1), (3, 1)]], "different sums"),
        ([[(0, -1), (1, 1)], [(1, -1), (0, 1), (2, 1)]], "part of itself"),
    ],
)
def test_what_cannot_be_added_up_is_named(sums: list[list[tuple[int, int]]], what: str) -> None:
    known = problem_of(np.array([100, 30, 45, 80]), sums, high=np.full(4, 900))
    problem = replace(known, relations=Relations.of(4, sums))
    with pytest.raises(SuppressionError, match=what) as caught:
        repaired_problem(problem)
    assert "cell 0" in str(caught.value)
    assert "100" not in str(caught.value)
    assert "75" not in str(caught.value)


def test_options_of_problems_are_refused_for_files_of_cells(tmp_path: Path) -> None:
    source = tmp_path / "cells.tab"
    source.write_text("a;1\n")
    said = run("suppress", source, "--anew", "--out", tmp_path / "safe.csv")
    assert said.exit_code != 0
    assert "--anew" in said.output
    same = run("suppress", source, "--differences", source, "--out", tmp_path / "safe.csv")
    assert same.exit_code != 0
    assert source.read_text() == "a;1\n"
