"""Output commands of the runner against polars and numpy on the same data."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from discreet_fire.statistics.limits import SafeLimits
from tests.helpers.run_panel import line_of, numbers, panel, run, shown

FRAME = panel()


def test_summarize_shows_what_polars_finds_and_no_extremes(tmp_path) -> None:
    result = run("summarize wage if sex == 1 & year > 2016", tmp_path, entity="pid")
    chosen = FRAME.filter((pl.col("sex") == 1) & (pl.col("year") > 2016))["wage"]
    line = line_of(shown(result), "wage")
    assert numbers(line) == pytest.approx([len(chosen), chosen.mean(), chosen.std()], rel=1e-6)
    assert line.split()[-2:] == [".", "."]
    text = shown(result)
    assert f"{chosen.max():g}" not in text
    assert f"{chosen.min():g}" not in text


def test_a_missing_value_is_larger_than_all_numbers(tmp_path) -> None:
    result = run("summarize wage if hours > 40\ncount if hours > 40 & !missing(hours)", tmp_path)
    with_missing = FRAME.filter((pl.col("hours") > 40) | pl.col("hours").is_null())
    text = shown(result)
    assert numbers(line_of(text, "wage"))[0] == with_missing.height
    assert f"  {FRAME.filter(pl.col('hours') > 40).height}\n" in text


def test_stored_results_may_steer_but_extremes_are_not_shown(tmp_path) -> None:
    result = run(
        "quietly summarize wage, detail\ndisplay r(mean)\ndisplay r(max)\ndisplay r(p1)\n"
        "generate top = wage == r(max)\nquietly count if top\ndisplay r(N)",
        tmp_path,
        entity="pid",
    )
    text = shown(result)
    assert f"{FRAME['wage'].mean():.7g}" in text
    assert text.count("(withheld)") == 3
    assert f"{FRAME['wage'].max():g}" not in text


def test_a_variable_shifted_by_the_maximum_is_not_summarized(tmp_path) -> None:
    result = run("quietly summarize wage\ngenerate d = wage - r(max)\nsummarize d", tmp_path)
    assert shown(result).splitlines()[3] == "(withheld)"
    assert result.verdict == "fail"


def test_by_needs_sorted_data_and_shows_each_group(tmp_path) -> None:
    unsorted = run("by region: summarize wage", tmp_path)
    assert unsorted.error is not None
    assert unsorted.error.what.endswith("r(5)")
    result = run("bysort region: summarize wage", tmp_path)
    means = FRAME.group_by("region").agg(pl.col("wage").mean()).sort("region")["wage"].to_list()
    found = [
        numbers(line)[1] for line in shown(result).splitlines() if line.strip().startswith("wage |")
    ]
    assert found == pytest.approx(means, rel=1e-6)


def test_frequency_weights_repeat_but_make_no_cases(tmp_path) -> None:
    result = run("summarize wage [fw=weight]", tmp_path)
    repeated = np.repeat(FRAME["wage"].to_numpy(), FRAME["weight"].to_numpy())
    wanted = [len(repeated), repeated.mean(), repeated.std(ddof=1)]
    assert numbers(line_of(shown(result), "wage")) == pytest.approx(wanted, rel=1e-6)
    two = pl.DataFrame({"x": [1.5, 2.5], "w": [50, 50]})
    weighted = shown(run("summarize x [fw=w]", tmp_path, two))
    assert weighted.splitlines()[1] == "(withheld)"


def test_analytic_weights(tmp_path) -> None:
    result = run("summarize wage [aw=weight]", tmp_path)
    x, w = FRAME["wage"].to_numpy(), FRAME["weight"].to_numpy().astype(float)
    mean = np.average(x, weights=w)
    variance = np.average((x - mean) ** 2, weights=w) * len(x) / (len(x) - 1)
    wanted = [len(x), mean, np.sqrt(variance)]
    assert numbers(line_of(shown(result), "wage")) == pytest.approx(wanted, rel=1e-6)


def test_cases_are_persons_even_if_the_variable_is_changed(tmp_path) -> None:
    one = FRAME.filter(pl.col("pid") <= 2)
    for trick in ("drop pid", "replace pid = _n", "sort wage\nreplace pid = _n"):
        text = shown(run(f"{trick}\nsummarize wage", tmp_path, one, entity="pid"))
        assert text.splitlines()[-2] == "(withheld)", trick
    assert re.search(r"\d", line_of(shown(run("su wage", tmp_path, one)), "wage"))


def test_tabstat_by_groups_with_total(tmp_path) -> None:
    result = run("tabstat wage, statistics(n mean sd) by(region)", tmp_path)
    for (region,), part in FRAME.group_by("region"):
        wanted = [part.height, part["wage"].mean(), part["wage"].std()]
        assert numbers(line_of(shown(result), str(region))) == pytest.approx(wanted, rel=1e-6)
    total = [FRAME.height, FRAME["wage"].mean(), FRAME["wage"].std()]
    assert numbers(line_of(shown(result), "Total")) == pytest.approx(total, rel=1e-6)


def test_mean_over_groups_with_standard_errors(tmp_path) -> None:
    result = run("mean wage, over(sex)", tmp_path)
    part = FRAME.filter(pl.col("sex") == 0)["wage"]
    wanted = [len(part), part.mean(), part.std() / len(part) ** 0.5, part.std()]
    assert numbers(line_of(shown(result), "0")) == pytest.approx(wanted, rel=1e-6)


def test_count_withholds_few_and_all_but_few(tmp_path) -> None:
    text = shown(
        run("count\ncount if pid == 1\ncount if pid > 1 & pid < 90", tmp_path, entity="pid")
    )
    assert f"  {FRAME.height}\n" in text
    assert "  .\n" in text.split("pid == 1\n")[1][:6]
    inside = FRAME.filter((pl.col("pid") > 1) & (pl.col("pid") < 90)).height
    assert f"  {inside}\n" in text


def test_by_count_is_one_table(tmp_path) -> None:
    text = shown(run("bysort region: count", tmp_path))
    for (region,), part in FRAME.group_by("region"):
        assert numbers(line_of(text, str(region))) == [part.height]


def test_centile_and_its_stored_result(tmp_path) -> None:
    text = shown(run("centile wage, centile(25 50)\ndisplay r(c_2)", tmp_path))
    median = np.median(FRAME["wage"].to_numpy())
    assert float(text.splitlines()[-2]) == pytest.approx(median, rel=1e-6)


def test_percentiles_near_the_ends_are_withheld(tmp_path) -> None:
    frame = pl.DataFrame({"x": [float(x) for x in range(1, 300)]})
    text = shown(run("summarize x, detail\ndisplay r(p1)\ndisplay r(p5)", tmp_path, frame))
    assert text.splitlines()[-4:-1] == ["(withheld)", ". display r(p5)", "15"]


def test_correlations(tmp_path) -> None:
    text = shown(run("correlate wage hours\ndisplay r(rho)\npwcorr wage hours, obs", tmp_path))
    both = FRAME.drop_nulls()
    rho = np.corrcoef(both["wage"], both["hours"])[0, 1]
    assert f"(obs={both.height})" in text
    assert numbers(line_of(text, "hours"))[0] == pytest.approx(rho, abs=5e-5)


def test_levels_may_steer_a_loop(tmp_path) -> None:
    text = shown(
        run(
            "levelsof region, local(all)\nforeach r of local all {\n"
            "quietly summarize wage if region == `r'\ndisplay \"`r' \" r(N)\n}",
            tmp_path,
        )
    )
    for (region,), part in FRAME.group_by("region"):
        assert f"{region} {part.height}" in text


def test_levels_of_few_cases_are_not_shown_by_a_loop(tmp_path) -> None:
    frame = pl.DataFrame({"g": [1] * 20 + [2] * 20 + [77], "x": [float(x) for x in range(41)]})
    text = shown(
        run(
            "quietly levelsof g, local(all)\nforeach v of local all {\ndisplay `v'\n}",
            tmp_path,
            frame,
        )
    )
    assert "77" not in text


def test_codebook_histogram_and_panel_commands(tmp_path) -> None:
    result = run(
        "codebook sex\nhistogram wage, width(200)\nxtset pid year\nxtsum wage\nxtdescribe",
        tmp_path,
        entity="pid",
    )
    text = shown(result)
    assert result.error is None
    assert f"{FRAME.filter(pl.col('sex') == 1).height}  1" in text
    means = FRAME.group_by("pid").agg(pl.col("wage").mean())["wage"]
    between = next(line for line in text.splitlines() if "between" in line)
    assert float(between.split("|")[1].split()[0]) == pytest.approx(means.std(), rel=1e-5)
    assert f"{FRAME['pid'].n_unique()}   100.00" in text


def test_t_tests(tmp_path) -> None:
    text = shown(run("ttest wage, by(sex)\ndisplay r(t)\nttest wage == 2400", tmp_path))
    first, second = (FRAME.filter(pl.col("sex") == s)["wage"].to_numpy() for s in (0, 1))
    n, m = len(first), len(second)
    pooled = ((n - 1) * first.var(ddof=1) + (m - 1) * second.var(ddof=1)) / (n + m - 2)
    t = (first.mean() - second.mean()) / np.sqrt(pooled * (1 / n + 1 / m))
    assert float(text.split("display r(t)\n")[1].split()[0]) == pytest.approx(t, rel=1e-4)


def test_limits_of_the_centre_hold(tmp_path) -> None:
    text = shown(run("count if pid <= 5", tmp_path, entity="pid", limits=SafeLimits(minimum=10)))
    assert text.splitlines()[1] == "  ."


@pytest.mark.parametrize("word", ["list wage", "browse", "scatter wage hours", "inspect wage"])
def test_refused_commands_are_noted_and_the_run_goes_on(tmp_path, word) -> None:
    result = run(f"{word}\ndisplay 6 * 7", tmp_path)
    assert result.error is None
    assert "42" in shown(result)
    assert [one.severity.value for one in result.findings] == ["refused"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("xtabond wage", "command xtabond"),
        ("summarize wage, nosuch", "option nosuch of summarize"),
        ("summarize wage [pw=weight]", "pweights with summarize"),
        ("by region: correlate wage hours", "by with correlate"),
        ("xtreg wage hours, fe", "command xtreg"),
    ],
)
def test_what_is_not_supported_stops_the_run_at_its_line(tmp_path, text, what) -> None:
    result = run(f"sort region\n{text}\ndisplay 6 * 7", tmp_path)
    assert result.line == 2
    assert what in str(result.error)
    assert "42" not in shown(result)


def test_groups_of_by_stand_in_one_table_and_hide_each_other(tmp_path) -> None:
    result = run("bysort region: tabstat wage, statistics(mean n)", tmp_path, entity="pid")
    means = FRAME.group_by("region").agg(pl.col("wage").mean()).sort("region")["wage"].to_list()
    lines = shown(result).splitlines()[3:]
    assert numbers(lines[0])[-2] == pytest.approx(means[0], rel=1e-6)
    few = "generate few = 1 + (pid > 2) + (pid > 40)\nbysort few: "
    for command in ("tabstat wage", "xtset pid year\nbysort few: xtsum wage"):
        text = few.removesuffix("bysort few: ") + ("" if "xtset" in command else "bysort few: ")
        withheld = run(f"{text}{command}", tmp_path, entity="pid")
        assert withheld.error is None, command
        first = FRAME.filter(pl.col("pid") <= 2)["wage"].mean()
        second = FRAME.filter((pl.col("pid") > 2) & (pl.col("pid") <= 40))["wage"].mean()
        for mean in (first, second):  # the second would give the first away by the total
            assert f"{mean:.6g}"[:6] not in shown(withheld)


def test_xtsum_of_groups_has_the_figures_of_each(tmp_path) -> None:
    result = run("xtset pid year\nbysort region: xtsum wage", tmp_path, entity="pid")
    assert result.error is None
    for (_,), part in FRAME.group_by(["region"]):
        first = part["wage"].drop_nulls()
        means = part.group_by("pid").agg(pl.col("wage").mean())["wage"].drop_nulls()
        assert f"{first.mean():.7g}" in shown(result)
        assert f"{means.std():.5g}"[:6] in shown(result)


def test_groups_of_two_variables_are_told_apart(tmp_path) -> None:
    result = run("bysort sex: tabstat wage, by(region) statistics(n)", tmp_path, entity="pid")
    counts = FRAME.filter(pl.col("wage").is_not_null()).group_by("sex", "region").len()
    lines = [line for line in shown(result).splitlines() if line.count("|") == 1]
    found = sorted(int(numbers(line)[-1]) for line in lines[1:-1])
    assert found == sorted(counts["len"].to_list())
    assert int(numbers(lines[-1])[-1]) == counts["len"].sum()


def test_critical_makes_one_command_stricter_and_no_command_laxer(tmp_path) -> None:
    def shows(command: str, p: float = 10.0) -> bool:
        frame = pl.DataFrame({"x": [50.0, 30.0, 12.0, 8.0], "g": [1, 1, 1, 1]})
        result = run(command, tmp_path, frame, limits=SafeLimits(p=p))
        assert result.error is None, command
        return any("25" in line.split() for line in shown(result).splitlines())

    # The two largest leave 20 of 100: the second knows the first up to 40 percent.
    assert shows("summarize x")
    assert not shows("summarize x, critical(41)")
    assert shows("summarize x, cri(20)")
    assert not shows("tabstat x, critical(41)")
    assert shows("summarize x, critical(41)\nsummarize x")
    assert not shows("summarize x, critical(1)", p=41.0)


def test_outputs_of_different_p_are_held_against_each_other(tmp_path) -> None:
    parts = {"a": [50, 30, 12, 8], "b": [10, 9, 9, 8, 8], "c": [400, 200, 120, 60, 30, 20],
             "d": [25, 26, 27, 28, 29, 30]}  # fmt: skip
    rows = [(group, float(value)) for group, values in parts.items() for value in values]
    frame = pl.DataFrame(rows, schema=["g", "x"], orient="row")
    table = "tabstat x, by(g) statistics(sum n)"
    result = run(f"{table} critical(60)\n{table}", tmp_path, frame, limits=SafeLimits(p=30))
    assert "linked-tables" in {one.rule for one in result.findings}
    same = run(f"{table}\n{table}", tmp_path, frame, limits=SafeLimits(p=30))
    assert "linked-tables" not in {one.rule for one in same.findings}


def test_critical_is_a_number_of_the_program(tmp_path) -> None:
    for option in ("critical(0)", "critical(x)", "critical(200)", "critical()"):
        assert run(f"summarize wage, {option}", tmp_path).error is not None
    assert run("generate y = 1, critical(5)", tmp_path).error is not None
    text = "quietly summarize wage\nlocal m = r(max)\nsummarize wage, critical(`=`m' / 100')"
    assert "Mean" not in shown(run(text, tmp_path)).split("critical")[-1]
