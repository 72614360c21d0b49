"""The budget of noise equals that of its definition; mechanisms have the budget they are given."""

import itertools
import math

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.assessment import privacy_view
from discreet.cli.commands import app
from discreet.errors import DiscreetError


def table(rows):
    return dc.PerturbationTable.from_rows({0: {0: 1.0}, **rows})


def excess(rows, epsilon):
    """By the definition: the worst set of outputs, over neighbouring counts, both directions."""
    worst = 0.0
    counts = [*sorted(rows), max(rows) + 1, max(rows) + 2]
    for count, other in itertools.permutations(counts, 2):
        if abs(count - other) != 1:
            continue
        here, there = (
            {n + c: p for n, p in rows[min(c, max(rows))].items()} for c in (count, other)
        )
        outputs = [here[v] - math.exp(epsilon) * there.get(v, 0) for v in here]
        worst = max(worst, sum(part for part in outputs if part > 0))
    return worst


ROWS = {
    1: {-1: 0.6, 2: 0.4},
    2: {-2: 0.3, 1: 0.5, 3: 0.2},
    3: {-1: 0.2, 0: 0.6, 1: 0.2},
    4: {-2: 0.05, -1: 0.2, 0: 0.5, 1: 0.2, 2: 0.05},
}


@pytest.mark.parametrize(
    "rows", [ROWS, {1: {-1: 0.25, 0: 0.5, 1: 0.25}}, {1: {-1: 0.5, 1: 0.5}, 2: {0: 1.0}}]
)
def test_budgets_are_those_of_the_definition(rows):
    view = privacy_view(table(rows))
    last = max(rows)
    for known, own in ((view.small, rows), (view.large, {last: rows[last]})):
        for delta, epsilon in known.items():
            if epsilon is None:
                assert excess(own, 40) > delta
            else:
                assert excess(own, epsilon) <= delta + 1e-9
                assert epsilon == 0 or excess(own, epsilon - 1e-6) > delta


def test_mechanisms_spend_the_budget_of_large_counts():
    row = {-3: 0.02, -2: 0.08, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.08, 3: 0.02}
    view = privacy_view(table({1: {-1: 0.5, 1: 0.5}, 2: {-1: 0.5, 1: 0.5}, 3: row}), cells=10)
    assert [one.name for one in view.utilities] == ["table", "gaussian", "geometric"]
    own, gaussian, geometric = view.utilities
    assert own.deviation == pytest.approx(math.sqrt(2 * (9 * 0.02 + 4 * 0.08 + 0.2)))
    assert (own.within, own.unchanged) == (2, pytest.approx(0.4))
    delta, epsilon = [pair for pair in view.large.items() if pair[1]][-1]
    decay = math.exp(-epsilon)
    assert geometric.deviation**2 == pytest.approx(2 * decay / (1 - decay) ** 2)
    # A Gaussian of that width keeps the budget, and none of 2 % less width does.
    width = gaussian.deviation
    sums = []
    for sigma in (width * 1.001, width * 0.98):
        weights = {n: math.exp(-((n / sigma) ** 2) / 2) for n in range(-200, 201)}
        whole = sum(weights.values())
        part = {n: weight / whole for n, weight in weights.items()}
        sums.append(
            sum(max(0, p - math.exp(epsilon) * part.get(n - 1, 0)) for n, p in part.items())
        )
    assert sums[0] <= delta < sums[1]
    assert view.empty_shown == pytest.approx(0.5)


def test_a_release_spends_more_with_more_cells():
    row = {-2: 0.05, -1: 0.2, 0: 0.5, 1: 0.2, 2: 0.05}
    ptable = table({1: {-1: 0.5, 1: 0.5}, 2: row})
    spent = [privacy_view(ptable, cells=cells).release for cells in (1, 2, 50)]
    assert spent == sorted(spent)
    assert "secret" in repr(privacy_view(ptable))
    for wrong in (0, True, 2.5):
        with pytest.raises(DiscreetError, match="whole number"):
            privacy_view(ptable, cells=wrong)


def test_the_command_counts_the_cells_of_a_record(tmp_path):
    table({1: {-1: 0.5, 1: 0.5}}).write(tmp_path / "p.json")
    (tmp_path / "r.csv").write_text("id,a,b\n1,x,u\n2,y,v\n")
    (tmp_path / "s.key").write_text("a secret of thirty-two characters!!\n")
    (tmp_path / "s.key").chmod(0o600)
    (tmp_path / "p.toml").write_text(
        '[data]\nsource = "r.csv"\n[keys]\nid = "id"\nsecret_file = "s.key"\n'
        '[perturbation]\ntable = "p.json"\n[defaults]\nformats = ["csv"]\n'
        '[variables.a]\ncodes = ["x", "y"]\n'
        '[variables.b]\ncodes = ["u", "v"]\n[tables.ab]\nby = ["a", "b"]\n[tables.a]\nby = ["a"]\n'
        '[tables.b]\nby = ["b"]\nfigures.all = { kind = "count" }\n'
        'figures.some = { kind = "count", where = "a == \'x\'" }\n'
    )
    ran = CliRunner().invoke(
        app,
        [
            "ptable",
            "privacy",
            str(tmp_path / "p.json"),
            "--for",
            str(tmp_path / "p.toml"),
            "--json",
        ],
    )
    assert ran.exit_code == 0, ran.output
    # Total, by a, by b, by both; once more with the filter of a figure: total and by b. The
    # tables by a and by b show the other cells once more.
    assert '"cells": 6' in ran.output


def test_the_seminar_example_has_the_published_budget(reference):
    """A university's table: epsilon 1.56 at delta 0.02, variance 2.25, half of the counts stay."""
    path = reference / "seminar" / "cumulative_matrix.csv"
    view = privacy_view(dc.PerturbationTable.read(path))
    assert view.large[0.02] == pytest.approx(1.56, abs=0.01)
    assert view.utilities[0].deviation == pytest.approx(1.5, abs=0.01)
    assert view.utilities[0].unchanged == pytest.approx(0.5, abs=0.001)
