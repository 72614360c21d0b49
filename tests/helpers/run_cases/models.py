"""Cases of the runner: models and what follows them, against statsmodels."""

from __future__ import annotations

import numpy as np
import polars as pl
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats

from tests.helpers.run_cases.cases import cases
from tests.helpers.run_cases.output import near


def fitted(frame, formula="y ~ x", **options):
    """A linear model of statsmodels on the observations without gaps."""
    return smf.ols(formula, frame.drop_nulls("x").to_pandas()).fit(**options)


def weighted(frame, formula="y ~ x", **options):
    """The same with weights that are scaled to the number of cases."""
    data = frame.drop_nulls("x").to_pandas()
    weights = data["w"] * len(data) / data["w"].sum()
    return smf.wls(formula, data, weights=weights).fit(**options)


def repeated(frame, formula="y ~ x", **options):
    """The same with each observation as often as w says."""
    data = frame.drop_nulls("x").to_pandas()
    data = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    return smf.ols(formula, data).fit(**options)


def table(model, level=0.95, names=None):
    """Coefficients, standard errors and intervals of a model: terms first, then the constant."""
    order = [one for one in model.params.index if one != "Intercept"]
    order += ["Intercept"] if "Intercept" in model.params.index else []
    ends = model.conf_int(1 - level)
    gap = [None] * (names or 0)
    return {
        "column coefficient": [*gap, *model.params[order]],
        "column std_err": [*gap, *map(near, model.bse[order])],
        "column low": [*gap, *map(near, ends.loc[order, 0])],
        "column high": [*gap, *map(near, ends.loc[order, 1])],
    }


def binary(kind, frame, formula="h ~ y + z", weights=False, level=0.95, **options):
    """A logit or probit model of statsmodels."""
    data = frame.to_pandas()
    if weights:
        data = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    model = getattr(smf, kind)(formula, data).fit(disp=0, **options)
    return {**table(model, level), "e(N)": len(data), "e(ll)": model.llf}


def sampled(kind, frame):
    """With sampling weights: estimates of weighted data, a sandwich with n / (n - 1)."""
    data = frame.to_pandas()
    link = sm.families.links.Logit() if kind == "logit" else sm.families.links.Probit()
    x = sm.add_constant(data[["y", "z"]])
    model = sm.GLM(data["h"], x, sm.families.Binomial(link), var_weights=data["w"]).fit(tol=1e-14)
    score = x.mul(model.model.score_factor(model.params), axis=0)
    bread = np.linalg.inv(-model.model.hessian(model.params, observed=True))
    covariance = bread @ (score.T @ score).to_numpy() @ bread * len(data) / (len(data) - 1)
    order = [1, 2, 0]
    return {
        "column coefficient": model.params.iloc[order].tolist(),
        "column std_err": [near(one) for one in np.sqrt(np.diag(covariance))[order]],
    }


ROBUST = {"cov_type": "HC1", "use_t": True}


def clustered(frame, name):
    """Standard errors that allow for clusters."""
    return {
        "cov_type": "cluster", "cov_kwds": {"groups": frame.drop_nulls("x")[name].to_numpy()},
        "use_t": True,
    }  # fmt: skip


LINEAR = cases(
    "people",
    ("regress y x", lambda f: {
        **table(fitted(f)), "e(N)": len(f.drop_nulls("x")), "e(r2)": fitted(f).rsquared,
        "e(r2_a)": fitted(f).rsquared_adj, "e(F)": near(fitted(f).fvalue),
        "e(rmse)": fitted(f).mse_resid**0.5, "e(rss)": fitted(f).ssr, "e(mss)": near(fitted(f).ess),
        "e(df_r)": fitted(f).df_resid, "e(df_m)": 1}),
    ("regress y x if h == 1", lambda f: table(fitted(f.filter(h=1)))),
    ("regress y x, robust", lambda f: table(fitted(f, **ROBUST))),
    ("regress y x, vce(robust)", lambda f: table(fitted(f, **ROBUST))),
    ("regress y x, vce(cluster w)", lambda f: table(fitted(f, **clustered(f, "w")))),
    ("generate c = int(id / 10)\nregress y x, cluster(c)", lambda f: table(fitted(
        f, **clustered(f.with_columns(c=pl.col("id") // 10), "c")))),
    ("regress y x, noconstant", lambda f: table(fitted(f, "y ~ x - 1"))),
    ("regress y x, level(90)", lambda f: table(fitted(f), 0.9)),
    ("regress y x [aw=w]", lambda f: table(weighted(f))),
    ("regress y x [w=w]", lambda f: table(weighted(f))),
    ("regress y x [fw=w]", lambda f: {
        **table(repeated(f)), "e(N)": f.drop_nulls("x")["w"].sum()}),
    ("regress y x [pw=w]", lambda f: table(weighted(f, **ROBUST))),
    ("regress y x [aw=w], robust", lambda f: table(weighted(f, **ROBUST))),
    ("regress y x i.g", lambda f: {"column coefficient": [
        fitted(f, "y ~ x + C(g)").params["x"], None,
        *fitted(f, "y ~ x + C(g)").params[["C(g)[T.2]", "C(g)[T.3]", "Intercept"]]]}),
    ("regress y ib2.g", lambda f: {
        "column term": ["1.g", "2.g", "3.g", "_cons"],
        "column coefficient": [
            fitted0(f, "y ~ C(g, Treatment(2))", "C(g, Treatment(2))[T.1]"), None,
            fitted0(f, "y ~ C(g, Treatment(2))", "C(g, Treatment(2))[T.3]"),
            fitted0(f, "y ~ C(g, Treatment(2))", "Intercept")]}),
    ("regress y i.h##c.z\nscalar b = _b[1.h#c.z]\nscalar s = _se[1.h#c.z]", lambda f: {
        "scalar b": near(fitted0(f, "y ~ C(h) * z", "C(h)[T.1]:z")),
        "scalar s": near(smf.ols("y ~ C(h) * z", f.to_pandas()).fit().bse["C(h)[T.1]:z"])}),
    ("regress y c.z#c.z z\nscalar b = _b[c.z#c.z]", lambda f: {
        "scalar b": near(fitted0(f, "y ~ I(z**2) + z", "I(z ** 2)"))}),
    ("regress y i.g#i.h\nscalar b = _b[3.g#1.h] - _b[2.g#0.h]", lambda f: {"scalar b": near(
        f.filter(g=3, h=1)["y"].mean() - f.filter(g=2, h=0)["y"].mean())}),
    ("regress y i(2 3).g\nscalar b = _b[3.g]", lambda f: {"scalar b": near(
        fitted0(f, "y ~ I(g == 2) + I(g == 3)", "I(g == 3)[T.True]"))}),
    ("bysort h: regress y z", lambda f: {"text": ("h = 0", "h = 1")}),
    ("regress y x, beta", {"unsupported": "option beta of regress"}),
    ("regress y x, vce(hc3)", {"unsupported": "vce(hc3)"}),
    ("regress y s", {"error": 109}),
    ("regress y x [iw=w]", {"unsupported": "iweights with regress"}),
    ("regress y x\npredict double p\npredict double r, residuals\npredict double e, stdp\n"
     "predict double q, xb\npredict f", lambda f: {
         "p": predicted(f), "q": predicted(f), "type f": "float",
         "r": [near(y - p) if p != "." else "." for y, p in zip(f["y"], map(
             number, predicted(f)), strict=True)],
         "e": [near(one) if one is not None else "." for one in spread(f)]}),
    ("regress y x if h == 1\ngenerate e = e(sample)", lambda f: {
        "e": [float(h == 1 and x is not None) for h, x in zip(f["h"], f["x"], strict=True)]}),
    ("regress y x z\ntest x z", lambda f: {
        "r(F)": near(float(fitted(f, "y ~ x + z").f_test("x = 0, z = 0").fvalue)),
        "r(p)": near(float(fitted(f, "y ~ x + z").f_test("x = 0, z = 0").pvalue)), "r(df)": 2}),
    ("regress y x z\ntest x = z", lambda f: {
        "r(F)": near(float(fitted(f, "y ~ x + z").f_test("x = z").fvalue))}),
    ("regress y x z\ntest (x = .1) (z = 2)", lambda f: {
        "r(F)": near(float(fitted(f, "y ~ x + z").f_test("x = .1, z = 2").fvalue))}),
    ("regress y x i.g\ntestparm i.g", lambda f: {"r(F)": near(float(fitted(
        f, "y ~ x + C(g)").f_test(
        "C(g)[T.2] = 0, C(g)[T.3] = 0").fvalue))}),
    ("regress y x z\nlincom 2*x - z + 1", lambda f: {
        "r(estimate)": near(float(fitted(f, "y ~ x + z").t_test("2*x - z = 0").effect[0]) + 1),
        "r(se)": near(float(fitted(f, "y ~ x + z").t_test("2*x - z = 0").sd[0, 0]))}),
    ("regress y x z\nlincom x, level(90)", lambda f: {
        "r(lb)": near(fitted(f, "y ~ x + z").conf_int(0.1).loc["x", 0]),
        "r(ub)": near(fitted(f, "y ~ x + z").conf_int(0.1).loc["x", 1])}),
    ("generate double z2 = z^2\nregress y z z2\nutest z z2", lambda f: {"text": (
        "Extreme point:",)}),
    ("generate double z2 = z^2\nregress y z z2\nutest z z2, min(-1.25) max(1.75)",
     {"text": ("Interval", "-1.25", "1.75")}),
    ("generate double z2 = z^2\nregress y z z2\nutest z z2, quadratic fieller level(90)",
     {"text": ("90% Fieller interval",)}),
    ("regress y x\nestimates store a\nregress y z\nestimates restore a\nscalar b = _b[x]",
     lambda f: {"scalar b": near(fitted(f).params["x"])}),
    ("regress y x\nestimates store a\nestimates drop a\nestimates restore a", {"error": 111}),
    ("regress y x\neststo a\neststo b: regress y z\nesttab a b, se", {"text": ("a", "b", "_cons")}),
    ("eststo a: quietly regress y x\neststo clear\nestimates table a", {"error": 111}),
    ("regress y x\nmatrix B = e(b)\nmatrix V = e(V)\nscalar b = B[1,1]\nscalar v = V[1,1]",
     lambda f: {"scalar b": near(fitted(f).params["x"]),
                "scalar v": near(fitted(f).bse["x"] ** 2)}),
    ("regress y x\nestimates table, star", {"text": ("_cons",)}),
    ("test x", {"error": 301}),
    ("predict p", {"error": 301}),
    ("regress y x\npredict p, pr", {"unsupported": "predict, pr after regress"}),
)  # fmt: skip


def fitted0(frame, formula, name):
    """A coefficient of a model on all observations."""
    return smf.ols(formula, frame.to_pandas()).fit().params[name]


def predicted(frame):
    """Predictions for all observations where x is known."""
    model = fitted(frame)
    return [near(model.params["Intercept"] + model.params["x"] * one) if one is not None else "."
            for one in frame["x"]]  # fmt: skip


def number(value):
    """The number of one that is known up to an error."""
    return value if isinstance(value, str) else value.value


def spread(frame):
    """Standard errors of the predictions."""
    model = fitted(frame)
    covariance = model.cov_params().loc[["Intercept", "x"], ["Intercept", "x"]].to_numpy()
    rows = [None if one is None else np.array([1.0, one]) for one in frame["x"]]
    return [None if row is None else float((row @ covariance @ row) ** 0.5) for row in rows]


BINARY = cases(
    "people",
    *(pair for kind in ("logit", "probit") for pair in (
        (f"{kind} h y z", lambda f, k=kind: binary(k, f)),
        (f"{kind} h y z, robust", lambda f, k=kind: scaled(k, f)),
        (f"{kind} h y z, vce(robust)", lambda f, k=kind: scaled(k, f)),
        (f"generate c = int(id / 10)\n{kind} h y z, cluster(c)", lambda f, k=kind: scaled(
            k, f, (f["id"] // 10).to_numpy())),
        (f"{kind} h y z, noconstant", lambda f, k=kind: binary(k, f, "h ~ y + z - 1")),
        (f"{kind} h y z, level(90)", lambda f, k=kind: binary(k, f, level=0.9)),
        (f"{kind} h y z [fw=w], nolog", lambda f, k=kind: binary(k, f, weights=True)),
        (f"{kind} h y z [pw=w]", lambda f, k=kind: sampled(k, f)),
        (f"bysort g: {kind} h y", {"text": ("g = 1", "g = 3")}),
        (f"{kind} h y z\npredict double p\npredict double q, pr\npredict double l, xb",
         lambda f, k=kind: {
            "p": chances(k, f), "q": chances(k, f), "l": scores(k, f)}),
    )),
    ("logit h y z, or", lambda f: {"text": (
        f"{np.exp(smf.logit('h ~ y + z', f.to_pandas()).fit(disp=0).params['y']):.6f}"[1:],)}),
    ("logistic h y z", lambda f: {**binary("logit", f), "text": ("Odds ratio",)}),
    ("logistic h y z, or", {"text": ("Odds ratio",)}),
    ("logistic h y z, robust", lambda f: scaled("logit", f)),
    ("logistic h y z, vce(robust)", lambda f: scaled("logit", f)),
    ("generate c = int(id / 10)\nlogistic h y z, cluster(c)", lambda f: scaled(
        "logit", f, (f["id"] // 10).to_numpy())),
    ("logistic h y z, noconstant", lambda f: binary("logit", f, "h ~ y + z - 1")),
    ("logistic h y z, level(90)", lambda f: binary("logit", f, level=0.9)),
    ("logistic h y z [fw=w]", lambda f: binary("logit", f, weights=True)),
    ("logistic h y z [pw=w]", lambda f: sampled("logit", f)),
    ("bysort g: logistic h y", {"text": ("g = 1", "g = 3")}),
    ("probit h y z, or", {"unsupported": "option or of probit"}),
    ("logit h y z\ntest y z", lambda f: {"r(chi2)": near(float(smf.logit(
        "h ~ y + z", f.to_pandas()).fit(disp=0).wald_test(
            "y = 0, z = 0", scalar=True).statistic))}),
    ("logit g y", {"text": ("withheld",)}),
)  # fmt: skip


def scaled(kind, frame, groups=None):
    """Robust or clustered errors of likelihood models, with m / (m - 1) for m clusters."""
    data = frame.to_pandas()
    model = getattr(smf, kind)("h ~ y + z", data).fit(disp=0)
    scores_of = model.model.score_obs(model.params)
    clusters = np.arange(len(data)) if groups is None else groups
    sums = np.array([scores_of[clusters == one].sum(axis=0) for one in np.unique(clusters)])
    bread = np.linalg.inv(-model.model.hessian(model.params))
    covariance = bread @ sums.T @ sums @ bread * len(sums) / (len(sums) - 1)
    errors = np.sqrt(np.diag(covariance))
    order = [1, 2, 0]
    ends = stats.norm.ppf(0.975) * errors
    values = model.params.to_numpy()
    return {
        "column coefficient": values[order].tolist(),
        "column std_err": [near(one) for one in errors[order]],
        "column low": [near(one) for one in (values - ends)[order]],
    }


def scores(kind, frame):
    """The linear prediction of a model."""
    model = getattr(smf, kind)("h ~ y + z", frame.to_pandas()).fit(disp=0)
    return [near(one) for one in model.fittedvalues]


def chances(kind, frame):
    """Predicted chances of a model."""
    model = getattr(smf, kind)("h ~ y + z", frame.to_pandas()).fit(disp=0)
    return [near(one) for one in model.predict()]


LAGS = cases(
    "waves",
    ("xtset pid year\nregress u L.u\nscalar b = _b[L.u]", lambda f: {"scalar b": near(smf.ols(
        "u ~ v", f.join(f.select("pid", pl.col("year") + 1, v="u"), on=["pid", "year"]).to_pandas()
    ).fit().params["v"])}),
    ("xtset pid year\nregress D.u L(1/2).u\nscalar b = _b[L2.u]", lambda f: {
        "scalar b": near(smf.ols("I(u - v) ~ v + w", f.join(
            f.select("pid", pl.col("year") + 1, v="u"), on=["pid", "year"]).join(
                f.select("pid", pl.col("year") + 2, w="u"), on=["pid", "year"]).to_pandas()
        ).fit().params["w"])}),
)  # fmt: skip

MODELS = [*LINEAR, *BINARY, *LAGS]
