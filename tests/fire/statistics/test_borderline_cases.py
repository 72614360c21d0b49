"""What officers see of broken rules, in figures, and nobody else."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet_fire.statistics import SafeLimits, codebook, regress, tabstat, tabulate
from discreet_fire.statistics.disclosure_rules import borderline_facts

FIRMS = pl.DataFrame(
    {
        "turnover": [900.0, 60.0, 25.0, 15.0] + [10.0 + at for at in range(20)],
        "branch": [1] * 4 + [2] * 2 + [3] * 18,
        "kind": ["a", "b"] * 12,
    }
)
LIMITS = SafeLimits(k=80)


def by_place(result, limits=LIMITS):
    return {(one.place, one.rule): one for one in borderline_facts(result, limits)}


def test_k_and_p_are_those_of_the_contributions() -> None:
    found = by_place(tabstat(FIRMS, ["turnover"], by="branch", limits=LIMITS))
    first = found["turnover, branch = 1", "dominance"]
    assert (first.cases, first.few) == (4, False)
    assert first.k == pytest.approx(100 * 960 / 1000)
    assert first.p == pytest.approx(100 * 40 / 900)
    two = found["turnover, branch = 2", "minimum"]
    assert (two.cases, two.few, two.variable) == (2, True, "turnover")
    assert not any("branch = 3" in place and rule == "dominance" for place, rule in found)


def test_cells_of_few_cases_have_their_frequencies() -> None:
    small = FIRMS.with_columns(kind=pl.Series(["c"] + ["a", "b"] * 11 + ["a"]))
    found = by_place(tabulate(small, "branch", "kind"))
    assert found["branch = 2, kind = a", "minimum"].cases == 1
    assert found["branch = 2, kind = total", "minimum"].cases == 2
    one_way = by_place(tabulate(small, "kind"))
    assert (one_way["kind = c", "minimum"].cases, one_way["kind = c", "minimum"].few) == (1, True)
    assert by_place(tabulate(FIRMS, "kind")) == {}


def test_other_commands_name_the_place_without_figures_that_are_not_known() -> None:
    found = borderline_facts(codebook(FIRMS.head(2), ["turnover"]), LIMITS)
    assert {one.variable for one in found} == {"turnover"}
    assert all("confidential" in repr(one) for one in found)


SIZED = FIRMS.with_columns(size=pl.Series([float(at * at % 7) for at in range(24)]))


def test_a_withheld_model_has_variable_rule_and_frequency_table() -> None:
    """Kinds of rule as for tables: FiRe asks for the same of a regression."""
    result = regress(SIZED, "turnover", ["size", "i.branch"], limits=LIMITS)
    few, follows = borderline_facts(result, LIMITS)
    assert (follows.rule, follows.cases) == ("leverage", 24)
    assert (few.variable, few.place, few.rule) == ("i.branch", "i.branch = 2", "minimum-cases")
    assert (few.cases, few.few, few.frequencies) == (2, True, {"1": 4, "2": 2, "3": 18})


@pytest.mark.parametrize("times", [1, 3])
def test_a_withheld_model_has_k_and_p(times: int) -> None:
    """A firm with several records counts once and contributes their sum."""
    two = FIRMS.filter(pl.col("branch") != 2).with_row_index("firm")
    rows = pl.concat([two] * times).with_columns(pl.col("turnover") / times)
    result = regress(rows, "turnover", "i.branch", entity="firm", limits=LIMITS)
    (fact,) = borderline_facts(result, LIMITS)
    assert (fact.place, fact.rule, fact.cases) == ("i.branch = 1", "dominance", 4)
    assert fact.k == pytest.approx(100 * 960 / 1000)
    assert fact.p == pytest.approx(100 * 40 / 900)
    assert fact.frequencies == {"1": 4, "3": 18}
    assert "960" not in result.shown


@pytest.mark.exhaustive
def test_officers_see_the_figures_of_a_submission_and_releases_have_none(tmp_path: Path) -> None:
    FIRMS.write_csv(tmp_path / "d.csv")
    (tmp_path / "a.do").write_text("tabstat turnover, by(branch) statistics(mean n)\n")
    queue = ["--queue", str(tmp_path / "q")]

    def call(*words: str) -> str:
        done = CliRunner().invoke(app, ["fire", *words])
        assert done.exit_code == 0, done.output
        return done.output

    call("queue", "init", str(tmp_path / "q"), "--person", "Anna", "--rate", "0")
    given = [str(tmp_path / "a.do"), "--data", str(tmp_path / "d.csv")]
    call("submit", *given, "--researcher", "Weber", *queue)
    told = call("queue", "figures", "1", *queue)
    assert "turnover, branch = 1 [dominance], cases 4, k 96, p 4.444" in told
    shown = call("queue", "show", "1", "--json", *queue)
    version = str(json.loads(shown)["version"])
    decided = ["--person", "Anna", "--reason", "safe", *queue]
    call("queue", "approve", "1", "--version", version, *decided)
    version = str(json.loads(call("queue", "show", "1", "--json", *queue))["version"])
    out = call("queue", "release", "1", "--version", version, *decided)
    released = [path for path in (tmp_path / "q" / "released").rglob("*") if path.is_file()]
    assert released
    assert "confidential.json" not in {path.name for path in released}
    for text in (shown, out, *(path.read_text(errors="replace") for path in released)):
        assert "4.444" not in text


def test_only_the_confidential_file_of_a_run_has_the_figures(tmp_path: Path) -> None:
    SIZED.write_csv(tmp_path / "d.csv")
    program = "tabstat turnover, by(branch) statistics(mean n)\nregress turnover size i.branch\n"
    (tmp_path / "a.do").write_text(program)
    told = tmp_path / "inside.json"
    words = ["fire", "run", str(tmp_path / "a.do"), "--data", str(tmp_path / "d.csv")]
    done = CliRunner().invoke(app, [*words, "--confidential", str(told), "--json"])
    assert done.exit_code == 0, done.output
    groups, model = json.loads(told.read_text())["outputs"]
    facts = {(one["place"], one["rule"]): one for one in groups["facts"]}
    assert facts["turnover, branch = 1", "dominance"]["k"] == pytest.approx(96.0)
    assert [one["rule"] for one in model["facts"]] == ["minimum-cases", "leverage"]
    assert model["facts"][0]["frequencies"] == {"1": 4, "2": 2, "3": 18}
    assert told.stat().st_mode & 0o077 == 0
    for text in (
        done.output,
        *((tmp_path / f"a.{one}").read_text() for one in ("log", "run.json")),
    ):
        assert not any(figure in text for figure in ("96.0", "4.44", '"2": 2'))
