"""Outputs of the small Stata: those of the safe statistics, byte for byte; what is withheld."""

import re

import polars as pl
import pytest

from discreet_fire import statistics
from discreet_fire.runners.builtin.commands import COMMANDS
from discreet_fire.statistics import SafeLimits
from tests.helpers.run_data import Run
from tests.helpers.run_panel import line_of, numbers, panel, run, run_do, shown

FRAME = panel()
WOMEN = FRAME.filter(pl.col("sex") == 1)

#: A command and the safe statistic that gives the same: the ado files are held against it.
SAME = [
    ("summarize wage hours", "summarize", (["wage", "hours"],), {}, FRAME),
    ("summarize wage if sex == 1, detail", "summarize", (["wage"],), {"detail": True}, WOMEN),
    ("bysort region: summarize wage", "summarize", (["wage"],), {"by": ["region"]}, FRAME),
    (
        "tabstat wage, statistics(n mean sd p50) by(region)", "tabstat", (["wage"],),
        {"statistics": ["n", "mean", "sd", "p50"], "by": "region"}, FRAME,
    ),
    ("tabulate region", "tabulate", ("region",), {}, FRAME),
    ("tabulate region sex, row", "tabulate", ("region", "sex"), {"percent": ["row"]}, FRAME),
    ("bysort sex: tabulate region", "table", (["sex", "region"],), {}, FRAME),
    ("count", "count", (), {}, FRAME),
    ("codebook sex wage", "codebook", (["sex", "wage"],), {}, FRAME),
    ("regress wage hours i.sex", "regress", ("wage", ["hours", "i.sex"]), {}, FRAME),
    (
        "regress wage hours, vce(cluster firm)", "regress", ("wage", ["hours"]),
        {"cluster": "firm"}, FRAME,
    ),
    ("xtset pid year\nxtsum wage", "xtsum", (["wage"],), {"entity": "pid"}, FRAME),
    ("xtset pid year\nxtdescribe", "xtdescribe", (), {"entity": "pid", "time": "year"}, FRAME),
    (
        "generate double h2 = hours^2\nquietly regress wage hours h2 sex\nutest hours h2", "utest",
        ("wage", "hours", ["sex"]), {}, FRAME,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", SAME, ids=lambda case: case[0].split("\n")[-1])
def test_an_output_is_that_of_the_safe_statistic(tmp_path, case) -> None:
    text, name, arguments, options, frame = case
    statistic = getattr(statistics, name)
    options = {"entity": "pid", **options} if name != "inspect" else options
    expected = statistic(frame.with_columns(pl.col("region", "sex").cast(pl.Float64)), *arguments,
                         **options).shown  # fmt: skip
    log = shown(run(text, tmp_path, entity="pid"))
    assert log.endswith(f"\n{expected}\n{'-' * 79}\n"), log


def test_every_statistic_is_held_against_its_output() -> None:
    shows = {text.split("\n")[-1].split(": ")[-1].split()[0] for text, *_ in SAME}
    others = "append drop generate keep log merge more recode replace set sort use version"
    assert set(COMMANDS) - shows == {*others.split(), "xtset"}


def test_labels_of_recode_stand_for_values_in_their_order(tmp_path) -> None:
    text = 'recode region (1 = 1 "west") (2 = 2 "south") (3/4 = 3 "east"), generate(p)\ntabulate p'
    log = shown(run(text, tmp_path))
    order = [log.index(f" {word} |") for word in ("west", "south", "east")]
    assert order == sorted(order)


def test_cases_are_persons_even_if_the_variable_is_changed(tmp_path) -> None:
    one = FRAME.filter(pl.col("pid") <= 2)
    for trick in ("drop pid", "replace pid = wage", "sort wage\nreplace pid = hours"):
        text = shown(run(f"{trick}\nsummarize wage", tmp_path, one, entity="pid"))
        assert text.splitlines()[-2] == "(withheld)", trick
    assert re.search(r"\d", line_of(shown(run("su wage", tmp_path, one)), "wage"))


def test_count_withholds_few_and_all_but_few(tmp_path) -> None:
    text = shown(
        run("count\ncount if pid == 1\ncount if pid > 1 & pid < 90", tmp_path, entity="pid")
    )
    assert f"  {FRAME.height}\n" in text
    assert "  .\n" in text.split("pid == 1\n")[1][:6]
    inside = FRAME.filter((pl.col("pid") > 1) & (pl.col("pid") < 90)).height
    assert f"  {inside}\n" in text


def test_limits_of_the_centre_and_of_critical_hold(tmp_path) -> None:
    text = shown(run("count if pid <= 5", tmp_path, entity="pid", limits=SafeLimits(minimum=10)))
    assert text.splitlines()[1] == "  ."
    frame = pl.DataFrame({"x": [100.0, 40, 30, 20, 10, 5, 5, 5]})
    plain, strict = (
        shown(run(f"summarize x{option}", tmp_path, frame)) for option in ("", ", critical(90)")
    )
    assert numbers(line_of(plain, "x"))[1:] != numbers(line_of(strict, "x"))[1:]


@pytest.mark.parametrize("word", ["list wage", "browse", "scatter wage hours", "inspect wage"])
def test_refused_commands_are_noted_and_the_run_goes_on(tmp_path, word) -> None:
    result = run(f"{word}\ncount", tmp_path)
    assert result.error is None
    assert shown(result).splitlines()[-2] == f"  {FRAME.height}"
    assert result.verdict == "fail"


KINDS = {"g": pl.Int64, "x": pl.Float64, "y": pl.Float64, "s": pl.String, "p": pl.Int64}
ODD = {
    "empty": pl.DataFrame(schema=KINDS),
    "one": pl.DataFrame({"g": [1], "x": [2.5], "y": [1.0], "s": ["a"], "p": [1]}, schema=KINDS),
    "missing": pl.DataFrame(
        {"g": [None] * 5, "x": [None] * 5, "y": [None] * 5, "s": [""] * 5, "p": [1] * 5},
        schema=KINDS,
    ),
    "same": pl.DataFrame(
        {"g": [1] * 9, "x": [7.25] * 9, "y": [1.0] * 9, "s": ["b"] * 9, "p": list(range(9))},
        schema=KINDS,
    ),
}
LINES = [
    "summarize", "summarize x, detail", "summarize s", "bysort g: summarize x",
    "tabstat x y, statistics(n mean sd p50) by(g)", "tabulate g", "tabulate s",
    "tabulate g s, row chi2", "bysort g: tabulate s", "count", "count if x > 1", "bysort g: count",
    "codebook", "regress x y", "regress x i.g, vce(cluster p)", "xtset p\nxtsum x",
    "xtset p g\nxtdescribe", "generate y2 = y * y\nregress x y y2\nutest y y2",
]  # fmt: skip


@pytest.mark.parametrize(("name", "entity"), [*zip(ODD, (None, "p") * 2, strict=True)])
def test_no_command_fails_on_odd_data(tmp_path, name, entity) -> None:
    for line in LINES:
        result = run(line, tmp_path, ODD[name], entity=entity)
        code = None if result.error is None else result.error.code
        assert code != "internal", (line, result.error)
        assert "2.5" not in shown(result), line
        # A value that enough cases share is a category, which tables may show.
        assert "7.25" not in shown(result) or line == "codebook", line


def test_utest_needs_its_regression_on_the_same_data() -> None:
    data = {"x": list(range(40)), "y": [at * at % 17 for at in range(40)]}
    square = "generate z = x * x\nregress y x z\n"
    for text, message in [
        ("utest x y", "needs the results"),
        (f"{square}utest x", "a variable and its square"),
        (f"{square}drop if x > 30\nutest x z", "the data changed"),
        (f"{square}utest x y", "not the square"),
        ("generate z = x * x\nregress y x z, robust\nutest x z", "standard errors"),
    ]:
        with pytest.raises(Exception, match=message):
            Run(text, data)


def test_an_internal_error_shows_nothing_of_the_run(tmp_path, monkeypatch) -> None:
    def fail(session, call):
        raise IndexError(4711)

    monkeypatch.setitem(COMMANDS["count"].__dict__, "run", fail)
    FRAME.write_parquet(tmp_path / "d.parquet")
    (tmp_path / "p.do").write_text("codebook sex\ncount")
    result = run_do(tmp_path / "p.do", data=tmp_path / "d.parquet")
    assert "codebook" not in result.log
    assert result.error.code == "internal"
    assert "4711" not in str(result.error)
    assert (result.line, result.outputs) == (None, ())
