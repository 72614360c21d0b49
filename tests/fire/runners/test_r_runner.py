"""R scripts in closed processes: from submission to release, and what they try to tell."""

import math
from pathlib import Path

import polars as pl
import pytest

from discreet_fire.rewriting.submission import rewrite_r
from discreet_fire.runners.protocol import RunResult, StatisticShown
from discreet_fire.runners.registry import VARIABLE
from tests.helpers import closed_runs
from tests.helpers.closed_runs import FRAME, engine_of, released, rules

pytestmark = pytest.mark.r

HEAD = 'df <- read.csv("d.csv")\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "d.csv")
    (tmp_path / "program").mkdir()
    return tmp_path


def run(place: Path, text: str, *, rewritten: bool = True, **options: object) -> RunResult:
    """Rewrite a script, and run it."""
    program = place / "program" / "a.R"
    program.write_text(rewrite_r(HEAD + text).text if rewritten else HEAD + text)
    return closed_runs.run(engine_of("r"), program, place / "d.csv", **options)


def test_a_script_goes_from_submission_to_release(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "runners.toml").write_text('[r]\nexecutable = "/usr/bin/Rscript"\nseconds = 300\n')
    monkeypatch.setenv(VARIABLE, str(place / "runners.toml"))
    program = place / "program" / "wages.R"
    program.write_text(
        f'{HEAD}cat("Wages\\n")\nsummary(df["wage"])\nmax(df$wage)\ntable(df$region, df$sex)\n'
    )
    found, log = released(place, program)
    assert rules(found) == []
    assert f"{FRAME['wage'].mean():.7g}" in log
    assert "| Wages\n" in log
    assert f"{FRAME['wage'].max()}" not in log


def test_figures_are_those_of_the_data_with_whom_they_are_about(place: Path) -> None:
    told: list[StatisticShown] = []
    text = (
        "women <- df[df$sex == 2, ]\nsummary(women['wage'])\nmean(women$wage)\nsd(df$wage)\n"
        "quantile(df$wage, c(0.1, 0.5))\ncor(df[c('wage', 'sex')])\n"
        "m <- lm(wage ~ factor(region), data = women)\nsummary(m)\n"
        "summary(glm(I(sex - 1) ~ wage, data = df, family = binomial()))\n"
    )
    result = run(place, text, told=told)
    assert (result.error, result.checked) == (None, True)
    women = FRAME.filter(pl.col("sex") == 2)
    assert [one.command for one in told] == [
        "summarize", "tabstat", "tabstat", "centile", "correlate", "regress", "logit",
    ]  # fmt: skip
    whom = women["pid"].to_list(), FRAME["pid"].to_list()
    assert [one.units == whom[0] for one in told] == [True, True, False, False, False, True, False]
    assert all(one.units in whom for one in told)
    assert f"{women['wage'].mean():.7g}" in result.log
    means = women.group_by("region").agg(pl.col("wage").mean()).sort("region")["wage"]
    assert f"{means[1] - means[0]:.6g}" in result.log
    assert "own-columns" not in rules(result)


UNPROVEN = """\
mean(df$wage[df$wage < max(df$wage)])
summary(df[df$pid > 0, 'wage', drop = FALSE])
mean(log(df$wage))
df$one <- log(df$wage)
summary(df[c('wage', 'one')])
"""


def test_what_the_data_do_not_prove_goes_to_a_person(place: Path) -> None:
    outputs = [{check.rule for check in one.result.checks} for one in run(place, UNPROVEN).outputs]
    expected = [{"records"}, {"left-out"}, {"records"}, {"own-columns"}]
    assert [rules & one for rules, one in zip(outputs, expected, strict=True)] == expected, outputs


def test_few_cases_missing_values_and_texts_with_signs_of_json(place: Path) -> None:
    odd = FRAME.with_columns(
        pl.when(pl.col("pid") < 7).then(None).otherwise(pl.col("wage")).alias("wage"),
        pl.Series("region", ['say "x"\\', "ä ö", "s", "w"] * 100),
    )
    odd.write_csv(place / "d.csv")
    result = run(place, "mean(df$wage, na.rm = TRUE)\ntable(df$region)\nmean(df$wage[1:2])\n")
    assert {*rules(result)} <= {"records", "linked-tables-left"}
    assert f"{odd['wage'].mean():.7g}" in result.log
    assert "ä ö" in result.log
    assert math.isfinite(odd["wage"][8])


def test_a_script_that_was_not_rewritten_has_unchecked_figures(place: Path) -> None:
    result = run(place, "cat('. mean wage\\n')\nprint(max(df$wage))\n", rewritten=False)
    assert rules(result) == ["unchecked"]
    assert "\n| . mean wage\n" in result.log


@pytest.mark.parametrize(
    "attempt",
    [
        "readLines('/etc/passwd')",
        "readLines('../../../d.csv')",
        "writeLines('x', '/etc/discreet-r-was-here')",
        "system2('cat', '/etc/passwd', stdout = TRUE) |> nchar() |> stopifnot()",
        "if (max(df$wage) > 1420) stop('more')",
        "Sys.sleep(1000)",
    ],
)
def test_what_a_script_may_not_do_shows_nothing(place: Path, attempt: str) -> None:
    text = f"print(df$wage[1])\n{attempt}\n"
    code, seconds = ("time-limit", 3.0) if "sleep" in attempt else ("program", 120.0)
    result = run(place, text, rewritten=False, entity=None, seconds=seconds)
    assert result.error is not None
    assert result.error.code == code
    assert "1000.5" not in result.log
    assert not Path("/etc/discreet-r-was-here").exists()
