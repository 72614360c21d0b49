"""What rewritten Python scripts call, against pandas and statsmodels on the same data."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from discreet_fire.scripts import runtime
from discreet_fire.statistics import CheckVerdict
from tests.helpers.rows import for_all_rows


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(11)
    frame = pd.DataFrame({"g": random.choice(["a", "b"], 120), "x": random.normal(size=120)})
    return frame.assign(y=2 * frame.x + random.normal(size=120), few=["z"] + ["w"] * 119)


def test_a_summary_has_the_coefficients_of_statsmodels(people: pd.DataFrame) -> None:
    fitted = smf.ols("y ~ x + C(g)", data=people).fit()
    shown = runtime.summary(fitted)
    assert shown.verdict is not CheckVerdict.fail
    assert f"{fitted.params['x']:.6f}" in shown.shown
    assert shown.stored["r2"] == pytest.approx(fitted.rsquared, rel=1e-6)


def test_a_dummy_of_one_case_is_withheld(people: pd.DataFrame) -> None:
    shown = runtime.summary(smf.ols("y ~ x + C(few)", data=people).fit())
    assert shown.verdict is CheckVerdict.fail
    assert "r2" not in shown.stored


def test_groups_have_the_means_of_pandas(people: pd.DataFrame) -> None:
    shown = runtime.statistic(people.groupby("g")["x"], "mean")
    mean = people.groupby("g")["x"].mean()["b"]
    assert f"{mean:.7f}".replace("0.", ".") in shown.shown
    assert runtime.statistic(people.groupby("few")["x"], "mean").verdict is CheckVerdict.fail


def test_extremes_are_never_in_a_description(people: pd.DataFrame) -> None:
    shown = runtime.describe(people)
    assert {"min", "max"}.isdisjoint(shown.stored)
    for value in (people.x.min(), people.x.max()):
        assert f"{abs(value):.4f}".lstrip("0") not in shown.shown


def test_a_cell_of_one_case_is_withheld(people: pd.DataFrame) -> None:
    assert runtime.value_counts(people["few"]).verdict is CheckVerdict.fail
    assert runtime.crosstab(people["few"], people["g"]).verdict is CheckVerdict.fail


@for_all_rows(
    "call",
    [
        lambda d: runtime.crosstab(d.g, d.few[::-1]),
        lambda d: runtime.crosstab(d.g, d.few, values=d.x, aggfunc="max"),
        lambda d: runtime.corr(d.x, d.y[5:]),
        lambda d: runtime.corr(d, method=lambda a, b: max(a)),
        lambda d: runtime.statistic(d.x, "max"),
        lambda d: runtime.summary(smf.quantreg("y ~ x", d).fit()),
        lambda d: runtime.summary(smf.ols("y ~ x", d).fit_regularized()),
        lambda d: runtime.value_counts(d),
        lambda d: runtime.describe(object()),
        lambda d: runtime.histogram(d),
        lambda d: runtime.histogram(d, column="x", by="g"),
        lambda d: runtime.histogram(d.x, d.g),
        lambda d: runtime.histogram(d.x, weights=d.y),
        lambda d: runtime.value_counts(d[["g", "few"]], ["g"]),
        lambda d: runtime.value_counts(d.x.round(1), bins=3),
        lambda d: runtime.statistic(d.groupby("g", as_index=False)["x"], "mean"),
        lambda d: runtime.statistic(d[:0].groupby("g")["x"], "mean"),
        lambda d: runtime.describe(d[["x", "x"]]),
        lambda d: runtime.summary(
            sm.Logit(d.y > 0, d[["x"]]).fit_regularized(alpha=9.0, disp=False)
        ),
        lambda d: runtime.summary(sm.Logit(d.y > 0, d[["x"]], offset=d.x / 2).fit(disp=False)),
    ],
)
def test_what_has_no_safe_form_stops_without_a_figure(call: object, people: pd.DataFrame) -> None:
    with pytest.raises(PermissionError, match=r"^FDZ: [A-Za-z_ ]+ is not permitted"):
        call(people)  # type: ignore[operator]


def test_groups_whose_names_look_the_same_are_not_put_together() -> None:
    frame = pd.DataFrame({"g": ["a b", "a"] * 30, "h": ["c", "b c"] * 30, "x": range(60)})
    frame["one"] = [1, "1"] * 30
    for keys in (["g", "h"], "one"):
        with pytest.raises(PermissionError, match="look the same"):
            runtime.statistic(frame.groupby(keys, sort=False)["x"], "count")


def test_a_column_called_like_the_groups_keeps_its_statistics() -> None:
    frame = pd.DataFrame({"g": ["a", "b"] * 30, "group": [float(v) for v in range(60)]})
    shown = runtime.statistic(frame.assign(x=frame.group * 2).groupby("g"), "mean")
    assert {"29", "30", "58", "60"} <= set(shown.shown.split())


def test_missing_values_are_counted_where_the_script_says_so() -> None:
    frame = pd.DataFrame({"g": ["a", "b"] * 30, "z": [None, "q", "q", "q", "q"] * 12})
    assert runtime.value_counts(frame.z, dropna=False).stored["N"] == len(frame)
    assert runtime.value_counts(frame.z).stored["N"] == frame.z.count()
    assert runtime.crosstab(frame.g, frame.z, dropna=False).stored["N"] == len(frame)
    assert runtime.crosstab(frame.g, frame.z).stored["N"] == frame.z.count()


def test_a_column_that_is_called_nought_keeps_its_name() -> None:
    shown = runtime.describe(pd.DataFrame({0: [float(v) for v in range(40)]}))
    assert "\n           0 |" in shown.shown
