"""Models of the runner against statsmodels on the same data."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from tests.helpers.run_panel import panel, run, shown

FRAME = panel()
PANDAS = FRAME.drop_nulls().to_pandas()


def displayed(text: str, folder, **options) -> list[float]:
    """What `display` lines show, one number each."""
    log = shown(run(text, folder, **options)).splitlines()
    return [float(log[at + 1]) for at, line in enumerate(log) if line.startswith(". display")]


def test_regress_with_factors_and_products(tmp_path) -> None:
    model = smf.ols("wage ~ hours + C(sex) * year", PANDAS).fit()
    found = displayed(
        "regress wage hours i.sex##c.year\ndisplay _b[hours]\ndisplay _se[hours]\n"
        "display _b[1.sex#c.year]\ndisplay e(r2)\ndisplay e(N)",
        tmp_path,
    )
    wanted = [model.params["hours"], model.bse["hours"], model.params["C(sex)[T.1]:year"]]
    assert found == pytest.approx([*wanted, model.rsquared, model.nobs], rel=1e-5)


def test_clusters_and_weights(tmp_path) -> None:
    model = smf.wls("wage ~ hours", PANDAS, weights=PANDAS["weight"]).fit(
        cov_type="cluster", cov_kwds={"groups": PANDAS["pid"]}, use_t=True
    )
    found = displayed(
        "regress wage hours [aw=weight], vce(cluster pid)\ndisplay _b[hours]\ndisplay _se[hours]",
        tmp_path,
    )
    assert found == pytest.approx([model.params["hours"], model.bse["hours"]], rel=1e-5)


def test_robust_without_constant(tmp_path) -> None:
    model = sm.OLS(PANDAS["wage"], PANDAS[["hours"]]).fit(cov_type="HC1", use_t=True)
    found = displayed(
        "regress wage hours, robust noconstant\ndisplay _b[hours]\ndisplay _se[hours]", tmp_path
    )
    assert found == pytest.approx([model.params["hours"], model.bse["hours"]], rel=1e-5)


def test_predictions_are_those_of_the_model(tmp_path) -> None:
    model = smf.ols("wage ~ hours + C(region)", PANDAS).fit()
    found = displayed(
        "regress wage hours i.region\npredict double fit\npredict double e, residuals\n"
        "predict double s, stdp\nquietly summarize e\ndisplay r(sd)\nquietly summarize fit\n"
        "display r(mean)\nquietly summarize s\ndisplay r(mean)",
        tmp_path,
    )
    spread = model.get_prediction().se_mean
    wanted = [model.resid.std(), model.fittedvalues.mean(), spread.mean()]
    assert found == pytest.approx(wanted, rel=1e-5)


def test_the_sample_goes_with_its_observations(tmp_path) -> None:
    found = displayed(
        "quietly regress wage hours if sex == 1\nsort wage\nquietly count if e(sample)\n"
        "display r(N)\nkeep if sex == 1\nquietly count if e(sample) & sex == 1\ndisplay r(N)",
        tmp_path,
    )
    size = PANDAS[PANDAS["sex"] == 1].shape[0]
    assert found == [size, size]


def test_lags_follow_the_panel(tmp_path) -> None:
    frame = FRAME.sort("pid", "year").with_columns(before=pl.col("wage").shift().over("pid"))
    model = smf.ols("wage ~ before", frame.drop_nulls("before").to_pandas()).fit()
    found = displayed(
        "xtset pid year\nregress wage L.wage\ndisplay _b[L.wage]\ndisplay e(N)", tmp_path
    )
    assert found == pytest.approx([model.params["before"], model.nobs], rel=1e-6)


@pytest.mark.parametrize("command", ["logit", "probit"])
def test_binary_models(tmp_path, command) -> None:
    data = PANDAS.assign(high=(PANDAS["wage"] > 2400).astype(float))
    model = getattr(smf, command)("high ~ hours + C(sex)", data).fit(disp=0)
    found = displayed(
        f"generate high = wage > 2400\n{command} high hours i.sex\ndisplay _b[hours]\n"
        "display _se[1.sex]\ndisplay e(ll)\npredict double p\nquietly summarize p if e(sample)\n"
        "display r(mean)",
        tmp_path,
    )
    wanted = [model.params["hours"], model.bse["C(sex)[T.1]"], model.llf, model.predict().mean()]
    assert found == pytest.approx(wanted, rel=1e-4)


def test_odds_ratios(tmp_path) -> None:
    data = PANDAS.assign(high=(PANDAS["wage"] > 2400).astype(float))
    model = smf.logit("high ~ hours", data).fit(disp=0)
    text = shown(run("generate high = wage > 2400\nlogistic high hours", tmp_path))
    line = next(line for line in text.split("Odds ratio")[1].splitlines() if "hours |" in line)
    assert float(line.split("|")[1].split()[0]) == pytest.approx(
        np.exp(model.params["hours"]), rel=1e-5
    )


def test_joint_tests_and_combinations(tmp_path) -> None:
    model = smf.ols("wage ~ hours + C(region)", PANDAS).fit()
    names = [f"C(region)[T.{r}]" for r in (2, 3, 4)]
    joint = model.f_test(", ".join(f"{name} = 0" for name in names))
    equal = model.f_test(f"{names[0]} = {names[1]}")
    combined = model.t_test(f"hours + 2 * {names[2]} = 0")
    found = displayed(
        "regress wage hours i.region\nquietly testparm i.region\ndisplay r(F)\n"
        "quietly test 2.region = 3.region\ndisplay r(F)\nquietly lincom hours + 2*4.region\n"
        "display r(estimate)\ndisplay r(se)",
        tmp_path,
    )
    wanted = [joint.fvalue, equal.fvalue, combined.effect[0], combined.sd[0, 0]]
    assert found == pytest.approx([float(x) for x in wanted], rel=1e-4)


def test_stored_models_side_by_side(tmp_path) -> None:
    text = shown(
        run(
            "quietly regress wage hours\nestimates store one\n"
            "eststo two: quietly regress wage hours i.sex\nestimates table one two\n"
            "estimates restore one\ndisplay e(r2)",
            tmp_path,
        )
    )
    first = smf.ols("wage ~ hours", PANDAS).fit()
    second = smf.ols("wage ~ hours + C(sex)", PANDAS).fit()
    line = next(line for line in text.splitlines() if line.strip().startswith("hours |"))
    wanted = [first.params["hours"], second.params["hours"]]
    assert [float(x) for x in line.split("|")[1].split()] == pytest.approx(wanted, rel=1e-5)
    assert float(text.splitlines()[-2]) == pytest.approx(first.rsquared, rel=1e-6)


def test_a_dummy_of_one_person_withholds_the_model(tmp_path) -> None:
    result = run(
        "generate me = pid == 5 & year == 2017\nregress wage hours me\ncapture display _b[me]\n"
        "display _rc\ncapture predict z\ndisplay _rc",
        tmp_path,
    )
    assert result.verdict == "fail"
    assert shown(result).count("301") == 2


def test_groups_whose_models_are_withheld_are_not_the_only_ones(tmp_path) -> None:
    result = run(
        "generate g = cond(pid <= 2, 1, cond(pid <= 60, 2, 3))\nbysort g: regress wage hours",
        tmp_path,
    )
    text = shown(result)
    assert text.count("Number of obs") == 1
    assert any(one.rule == "secondary" for one in result.findings)


def test_groups_of_one_person_are_not_named(tmp_path) -> None:
    frame = FRAME.with_columns(pid=pl.col("pid") + 987_000)
    text = shown(run("bysort pid: regress wage hours", tmp_path, frame, entity="pid"))
    assert "987" not in text


def test_u_shape(tmp_path) -> None:
    draw = np.random.default_rng(3)
    x = draw.uniform(0, 10, 300)
    frame = pl.DataFrame({"x": x, "y": (x - 4) ** 2 + draw.normal(0, 1, 300)})
    text = shown(
        run("generate double x2 = x^2\nquietly regress y x x2\nutest x x2", tmp_path, frame)
    )
    fit = np.polyfit(x, frame["y"].to_numpy(), 2)
    extreme = float(text.split("Extreme point:")[1].split()[0])
    assert extreme == pytest.approx(-fit[1] / (2 * fit[0]), rel=1e-5)


def test_nothing_of_results_is_listed(tmp_path) -> None:
    text = shown(
        run(
            "regress wage hours\nmatrix V = e(V)\nereturn list\nmatrix list V\nreturn list",
            tmp_path,
        )
    )
    assert text.count("(withheld)") == 3


@pytest.mark.parametrize(
    "trick",
    [
        "centile wage, centile(`=`m'/100')",
        "histogram wage, start(`m') width(100)",
        "ttest wage == `m'",
        "regress wage hours, level(`=`m'/50')",
        "regress wage hours\nlincom hours - `m'",
        "regress wage hours\ntest hours = `m'",
        "regress wage hours\nestimates store m`=round(`m')'\nestimates table",
        "display `m'",
        "generate v`=round(`m')' = 1\nsummarize v*",
        "summarize v`m'",
        'label define l 1 "`m\'"\nlabel values sex l\ntabulate sex',
        "generate d = wage - `m'\nregress d hours",
        "generate d = wage - `m'\ntabstat d, by(sex)",
        "quietly summarize wage if wage > `m' - 50\ndisplay r(N)",
        "scalar s = `m'\ndisplay s",
        "matrix A = (`m', 1)\ndisplay A[1,1]",
        "keep if wage == `m'\ndisplay _N",
    ],
)
def test_a_maximum_is_not_carried_out(tmp_path, trick) -> None:
    result = run(f"quietly summarize wage\nlocal m = r(max)\n{trick}\n", tmp_path)
    told = shown(result) + str(result.to_dict()) + str(result.error)
    told = "\n".join(line for line in told.splitlines() if not line.startswith(". "))
    top = FRAME["wage"].max()
    for text in (f"{top:g}", f"{top:.2f}", f"{top / 100:.4g}", f"{top / 50:.4g}", f"{top:.0f}"):
        assert text not in told.replace(",", "")
    if "_N" in trick:
        assert "(withheld)" in told
