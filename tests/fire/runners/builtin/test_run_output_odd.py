"""Output commands on data that is empty, tiny or missing: an error or a dot, never a failure."""

from __future__ import annotations

import polars as pl
import pytest

from tests.helpers.run_panel import line_of, numbers, run, shown

KINDS = {"g": pl.Int64, "x": pl.Float64, "y": pl.Float64, "s": pl.String, "p": pl.Int64}
FRAMES = {
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
    "summarize",
    "summarize x, detail",
    "summarize s",
    "bysort g: summarize x",
    "summarize x [fw=y]",
    "summarize x [aw=y]",
    "tabstat x y, statistics(n mean sd p50) by(g)",
    "mean x, over(g)",
    "tabulate g",
    "tabulate s",
    "tabulate g s, row chi2",
    "tabulate g [aw=y]",
    "tabulate g, generate(d) missing",
    "tabulate g, summarize(x)",
    "bysort g: tabulate s",
    "table g s, contents(mean x freq)",
    "count",
    "count if x > 1",
    "bysort g: count",
    "levelsof g, local(a)",
    "levelsof s",
    "centile x",
    "codebook",
    "correlate x y",
    "pwcorr x y, obs",
    "histogram x",
    "ttest x, by(g)",
    "ttest x == y",
    "regress x y",
    "regress x i.g, vce(cluster p)",
    "bysort g: regress x y",
    "logit y x",
    "probit y x",
    "xtset p\nxtsum x",
    "xtset p g\nxtdescribe",
    "proportion g",
    "predict z",
    "test x",
    "lincom x",
    "estimates table",
]


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("entity", [None, "p"])
def test_no_command_fails(tmp_path, name, entity) -> None:
    frame = FRAMES[name]
    for line in LINES:
        result = run(line, tmp_path, frame, entity=entity)
        code = None if result.error is None else result.error.code
        assert code != "internal", (line, result.error)
        assert "2.5" not in shown(result), line
        # A value that enough cases share is a category, which tables may show.
        assert "7.25" not in shown(result) or line == "codebook", line


def test_empty_texts_are_missing(tmp_path) -> None:
    frame = pl.DataFrame({"s": ["a"] * 5 + [""] * 4 + ["b"] * 6})
    text = shown(run("tabulate s\ntabulate s, missing", tmp_path, frame))
    first, second = text.split(", missing")
    assert numbers(line_of(first, "Total"))[0] == 11
    assert numbers(line_of(second, "Total"))[0] == 15
