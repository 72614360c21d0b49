"""Cases of the runner: statistics and tables, with each option and kind of weights."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from tests.helpers.run_cases.cases import Near, cases
from tests.helpers.run_cases.texts import quantile

X = pl.col("x")


def known(frame, name="x"):
    """Known values of a variable, and their weights."""
    part = frame.drop_nulls(name)
    return part[name].to_numpy(), part["w"].to_numpy()


def analytic(x, w):
    """Number, mean and standard deviation with weights scaled to the number of cases."""
    mean = np.average(x, weights=w)
    return len(x), mean, (np.average((x - mean) ** 2, weights=w) * len(x) / (len(x) - 1)) ** 0.5


def repeated(x, w):
    """The same with weights that repeat observations."""
    many = np.repeat(x, w)
    return len(many), many.mean(), many.std(ddof=1)


def groups(frame, by="g"):
    """The parts of a frame in the order of a variable, and all of it."""
    return [*frame.sort(by, maintain_order=True).partition_by(by, maintain_order=True), frame]


def each(frame, work, by="g"):
    """A statistic of each part."""
    return [float(work(part)) for part in groups(frame, by)]


def cross(frame, weights=None):
    """Frequencies of g by h with their margins, row by row."""
    size = pl.col("w").sum() if weights else pl.len()
    cells = {(g, h): n for g, h, n in frame.group_by("g", "h").agg(size).rows()}
    table = np.array([[cells[g, h] for h in (0, 1)] for g in (1, 2, 3)], dtype=float)
    table = np.vstack([table, table.sum(axis=0)])
    return np.hstack([table, table.sum(axis=1, keepdims=True)])


def summary(frame, work):
    """What summarize stores."""
    n, mean, sd = work(*known(frame))
    return {"r(N)": n, "r(mean)": mean, "r(sd)": sd, "r(Var)": sd**2}


SUMMARIES = cases(
    "people",
    ("summarize x", lambda f: {
        "r(N)": f["x"].count(), "r(mean)": f["x"].mean(), "r(sd)": f["x"].std(),
        "r(sum)": f["x"].sum(), "r(min)": f["x"].min(), "r(max)": f["x"].max(),
        "r(sum_w)": f["x"].count(), "column mean": [f["x"].mean()], "column sd": [f["x"].std()]}),
    ("summarize x if h == 1 in 1/200", lambda f: {
        "r(mean)": f.head(200).filter(h=1)["x"].mean()}),
    ("summarize x [aw=w]", lambda f: summary(f, analytic)),
    ("summarize x [w=w]", lambda f: summary(f, analytic)),
    ("summarize x [fw=w]", lambda f: summary(f, repeated)),
    ("summarize x, detail", lambda f: {
        **{f"r(p{p})": quantile(f["x"], p / 100) for p in (5, 10, 25, 50, 75, 90, 95)},
        "r(skewness)": f["x"].skew(), "r(kurtosis)": f["x"].kurtosis(fisher=False),
        "column p50": [quantile(f["x"], 0.5)]}),
    ("summarize x [fw=w], detail", lambda f: {
        "r(p25)": quantile(np.repeat(*known(f)), 0.25),
        "r(p50)": quantile(np.repeat(*known(f)), 0.5),
        "r(skewness)": stats.skew(np.repeat(*known(f))),
        "r(kurtosis)": stats.kurtosis(np.repeat(*known(f)), fisher=False)}),
    ("summarize x, meanonly", lambda f: {
        "r(mean)": f["x"].mean(), "r(max)": f["x"].max(), "text": "", "no r(sd)": True}),
    ("bysort g: summarize x", lambda f: {
        "r(mean)": f.filter(g=3)["x"].mean(), "column mean": each(f, lambda p: p["x"].mean())[:3]}),
    ("summarize x [iw=w]", {"unsupported": "iweights with summarize"}),
    ("tabstat x y, by(g) statistics(n mean sd min median iqr)", lambda f: {
        "column n": [*each(f, lambda p: p["x"].count()), *each(f, lambda p: p["y"].count())],
        "column mean": [*each(f, lambda p: p["x"].mean()), *each(f, lambda p: p["y"].mean())],
        "column sd": [*each(f, lambda p: p["x"].std()), *each(f, lambda p: p["y"].std())]}),
    ("bysort g: tabstat x, statistics(mean)", lambda f: {
        "column mean": each(f, lambda p: p["x"].mean())}),
    ("tabstat x, stats(count sum variance semean cv p25 p75 skewness kurtosis)", lambda f: {
        "column n": [f["x"].count()], "column sum": [f["x"].sum()],
        "column variance": [f["x"].var()],
        "column semean": [f["x"].std() / f["x"].count() ** 0.5],
        "column cv": [f["x"].std() / f["x"].mean()],
        "column p25": [quantile(f["x"], 0.25)], "column p75": [quantile(f["x"], 0.75)],
        "column skewness": [f["x"].skew()], "column kurtosis": [f["x"].kurtosis(fisher=False)]}),
    ("tabstat x [aw=w], by(g) statistics(n mean sd sum)", lambda f: {
        "column n": each(f, lambda p: p["x"].count()),
        "column mean": each(f, lambda p: analytic(*known(p))[1]),
        "column sd": each(f, lambda p: analytic(*known(p))[2]),
        "column sum": each(f, lambda p: (known(p)[0] * known(p)[1]).sum())}),
    ("tabstat x [fw=w], statistics(n mean sd)", lambda f: {
        "column n": [repeated(*known(f))[0]], "column sd": [repeated(*known(f))[2]]}),
    ("replace g = . in 1/40\ntabstat y, by(g) statistics(n) missing", lambda f: {
        "column n": [*each(f[40:], lambda p: p.height)[:3], 40, 300]}),
    ("mean x y, over(g)", lambda f: {
        "column mean": [*each(f, lambda p: p["x"].mean()), *each(f, lambda p: p["y"].mean())],
        "column semean": [*each(f, lambda p: p["x"].std() / p["x"].count() ** 0.5),
                          *each(f, lambda p: p["y"].std() / p["y"].count() ** 0.5)]}),
    ("mean x [fw=w]", lambda f: {
        "column mean": [repeated(*known(f))[1]],
        "column semean": [repeated(*known(f))[2] / repeated(*known(f))[0] ** 0.5]}),
    ("mean x [aw=w]", lambda f: {
        "column mean": [analytic(*known(f))[1]],
        "column semean": [analytic(*known(f))[2] / analytic(*known(f))[0] ** 0.5]}),
    ("centile x, centile(25 50)", lambda f: {
        "r(c_1)": np.quantile(f["x"].drop_nulls(), 0.25, method="weibull"),
        "r(c_2)": np.quantile(f["x"].drop_nulls(), 0.5, method="weibull"),
        "column centile": np.quantile(f["x"].drop_nulls(), [0.25, 0.5], method="weibull")}),
    ("centile x, level(90) cci", lambda f: dict(zip(
        ("column low", "column high", "lacks"),
        (*centile_interval(f["x"], 0.9), ("conservative",)), strict=True))),
    ("centile x", {"text": ("conservative",)}),
    ("levelsof g, local(l)\ndisplay \"`l'\"", {"log": "1 2 3"}),
    ("count if x > 50", lambda f: {"r(N)": f.filter((X > 50) | X.is_null()).height}),
    ("bysort g: count", lambda f: {"column n": each(f, lambda p: p.height)}),
    ("correlate x y", lambda f: {
        "column correlation": [1, np.corrcoef(*pair(f))[0, 1], 1],
        "r(rho)": np.corrcoef(*pair(f))[0, 1], "r(N)": len(pair(f)[0])}),
    ("correlate x y, covariance", lambda f: {"column covariance": [
        np.cov(*pair(f))[0, 0], np.cov(*pair(f))[0, 1], np.cov(*pair(f))[1, 1]]}),
    ("pwcorr x y z, obs", lambda f: {
        "column n": [f["x"].count(), f["x"].count(), 300, f["x"].count(), 300, 300],
        "column correlation": [1, np.corrcoef(*pair(f))[0, 1], 1, np.corrcoef(
            *(f.drop_nulls("x")[name] for name in "xz"))[0, 1],
            np.corrcoef(f["y"], f["z"])[0, 1], 1]}),
    ("codebook x", lambda f: {"column mean": [f["x"].mean()], "column sd": [f["x"].std()]}),
    ("misstable summarize x y", lambda f: {"text": (str(f["x"].null_count()),)}),
    ("misstable summarize y, all", {"text": ("y ", "300")}),
    ("histogram y, width(5) start(-2)", lambda f: {
        "column n": binned(f["y"].to_numpy() + 2, 5)}),
    ("kdensity y, width(5) start(-2)", lambda f: {
        "column n": binned(f["y"].to_numpy() + 2, 5)}),
    ("histogram y [fw=w], width(5) start(0)", lambda f: {
        "column n": binned(f["y"].to_numpy(), 5, f["w"].to_numpy())}),
    ("kdensity y [fw=w], width(5) start(0)", lambda f: {
        "column n": binned(f["y"].to_numpy(), 5, f["w"].to_numpy())}),
)  # fmt: skip


def sizes(frame, weights=None):
    """Frequencies of g, or the sums of weights."""
    return np.array(each(frame, lambda p: p[weights].sum() if weights else p.height)[:-1])


def pair(frame):
    """x and y where both are known."""
    part = frame.drop_nulls("x")
    return part["x"].to_numpy(), part["y"].to_numpy()


def binned(values, width, weights=None):
    """Frequencies in classes from 0, those of fewer than the minimum put with the next."""
    place = (values // width).astype(int)
    cases_of, amounts = np.bincount(place), np.bincount(place, weights)
    enough = (
        np.flatnonzero(np.cumsum(cases_of) >= 3)[0],
        np.flatnonzero(np.cumsum(cases_of[::-1]) >= 3)[0],
    )
    place = np.clip(place, enough[0], len(amounts) - 1 - enough[1])
    return np.bincount(place, weights)[enough[0] :]


def centile_interval(values, level):
    """Conservative interval of a median: ranks whose binomial tails are at most as wanted."""
    ordered, n = np.sort(values.drop_nulls()), values.count()
    tail = (1 - level) / 2
    low = max(rank for rank in range(1, n) if stats.binom.cdf(rank - 1, n, 0.5) <= tail)
    high = min(rank for rank in range(1, n) if stats.binom.sf(rank - 1, n, 0.5) <= tail)
    return [ordered[low - 1]], [ordered[high - 1]]


TABLES = cases(
    "people",
    ("tabulate g", lambda f: {"column n": sizes(f), "r(N)": 300, "r(r)": 3}),
    ("tabulate g [fw=w]", lambda f: {"column n": sizes(f, "w")}),
    ("tabulate g [iw=w]", lambda f: {"column n": sizes(f, "w")}),
    ("tabulate g [aw=w]", lambda f: {"column n": sizes(f, "w") * 300 / f["w"].sum()}),
    ("tabulate g h", lambda f: {"column n": cross(f).ravel(), "r(c)": 2}),
    ("tabulate g h [fw=w], cell", lambda f: {
        "column n": cross(f, "w").ravel(),
        "column cell_percent": (100 * cross(f, "w") / f["w"].sum()).ravel()}),
    ("tabulate g h, row", lambda f: {
        "column row_percent": (100 * cross(f) / cross(f)[:, -1:]).ravel()}),
    ("tabulate g h, column", lambda f: {
        "column column_percent": (100 * cross(f) / cross(f)[-1:]).ravel()}),
    ("tabulate g h, chi2", lambda f: {
        "r(chi2)": stats.chi2_contingency(cross(f)[:3, :2], correction=False).statistic,
        "r(p)": stats.chi2_contingency(cross(f)[:3, :2], correction=False).pvalue}),
    ("replace g = . in 1/40\ntabulate g, missing", lambda f: {"column n": [*sizes(f[40:]), 40]}),
    ("replace g = . in 1/40\ntabulate g", lambda f: {"column n": sizes(f[40:])}),
    ("label define l 1 \"one\"\nlabel values g l\ntabulate g", {
        "column g": ["one", "2", "3"]}),
    ("label define l 1 \"one\"\nlabel values g l\ntabulate g, nolabel", {
        "column g": ["1", "2", "3"]}),
    ("label define l 1 \"one\"\nlabel values g l\ntab1 g, nolabel", {
        "column g": ["1", "2", "3"]}),
    ("tabulate g, generate(d)", lambda f: {
        f"d{at}": (f["g"] == at).cast(pl.Float64) for at in (1, 2, 3)}),
    ("tabulate g, summarize(x)", lambda f: {
        "column mean x": each(f, lambda p: p["x"].mean()),
        "column sd x": each(f, lambda p: p["x"].std()),
        "column n x": each(f, lambda p: p["x"].count())}),
    ("bysort h: tabulate g", lambda f: {
        "column n": cross(f).T.ravel()}),
    ("tab1 h g", lambda f: {"column n": sizes(f)}),
    ("replace g = . in 1/40\ntab1 g, missing", lambda f: {"column n": [*sizes(f[40:]), 40]}),
    *((f"tab1 g [{kind}=w]", lambda f, scale=scale: {
        "column n": sizes(f, "w") * (300 / f["w"].sum() if scale else 1)})
      for kind, scale in (("fw", 0), ("iw", 0), ("aw", 1))),
    ("tab2 g h, row column cell chi2", lambda f: {
        "column row_percent": (100 * cross(f) / cross(f)[:, -1:]).ravel(),
        "column column_percent": (100 * cross(f) / cross(f)[-1:]).ravel(),
        "column cell_percent": (100 * cross(f) / 300).ravel(),
        "r(chi2)": stats.chi2_contingency(cross(f)[:3, :2], correction=False).statistic}),
    *((f"tab2 g h [{kind}=w]", lambda f, scale=scale: {
        "column n": cross(f, "w").ravel() * (300 / f["w"].sum() if scale else 1)})
      for kind, scale in (("fw", 0), ("iw", 0), ("aw", 1))),
    ("label define l 1 \"one\"\nlabel values g l\nreplace h = . in 1/60\ntab2 g h, nolabel missing",
     lambda f: {"column g": [g for g in ("1", "2", "3", "Total") for _ in range(4)]}),
    ("proportion g", lambda f: {
        "column percent": 100 * sizes(f) / 300}),
    ("table g", lambda f: {"column n": each(f, lambda p: p.height)}),
    ("table g h, contents(mean x)", lambda f: {"column mean x": [
        part["x"].mean() for row in groups(f) for part in groups(row, "h")]}),
    ("table g, contents(mean x sd x median y max y)", lambda f: {
        "text": ("mean x", "sd x"),
        "column p50 y": [*each(f, lambda p: quantile(p["y"], 0.5))]}),
    ("table (g) (h), statistic(mean x) statistic(sd x)", lambda f: {
        "column sd x": [part["x"].std() for row in groups(f) for part in groups(row, "h")]}),
    ("table g, statistic(frequency)", lambda f: {"column n": each(f, lambda p: p.height)}),
    ("table g [fw=w], contents(mean x)", lambda f: {
        "column mean x": each(f, lambda p: repeated(*known(p))[1])}),
    ("table g [aw=w], contents(mean x)", lambda f: {
        "column mean x": each(f, lambda p: analytic(*known(p))[1])}),
    ("replace g = . in 1/40\ntable g, missing", lambda f: {
        "column n": [*each(f[40:], lambda p: p.height)[:3], 40, 300]}),
    ("tabulate g h s", {"error": 103}),
    ("tabulate g, bogus", {"unsupported": "option bogus of tabulate"}),
    ("tab1 g, summarize(x)", {"unsupported": "option summarize of tab1"}),
    ("tab2 g h, generate(d)", {"unsupported": "option generate of tab2"}),
    ("tabulate g [pw=w]", {"unsupported": "pweights with tabulate"}),
)  # fmt: skip


SHIFT = "generate double q = x + 2 * h\n"


def shifted(frame):
    """The two groups of the t test."""
    return [part["x"].drop_nulls().to_numpy() + 2 * at
            for at, part in enumerate(groups(frame, "h")[:2])]  # fmt: skip


def near(value):
    """A number to four digits: tests are worked out from numbers of seven digits."""
    return Near(float(value), 1e-4 * max(1.0, abs(float(value))))


def tested(result):
    """What a t test stores."""
    return {"r(t)": near(result.statistic), "r(p)": near(result.pvalue),
            "r(df_t)": near(result.df)}  # fmt: skip


TESTS = cases(
    "people",
    (SHIFT + "ttest q, by(h)", lambda f: tested(stats.ttest_ind(*shifted(f)))),
    (SHIFT + "ttest q, by(h) unequal", lambda f: tested(
        stats.ttest_ind(*shifted(f), equal_var=False))),
    (SHIFT + "ttest q, by(h) welch", lambda f: {
        "r(t)": near(stats.ttest_ind(*shifted(f), equal_var=False).statistic),
        "r(df_t)": near(welch_df(f))}),
    ("ttest x == 47", lambda f: tested(stats.ttest_1samp(known(f)[0], 47))),
    ("ttest x == y", lambda f: tested(stats.ttest_rel(*pair(f)))),
    ("ttest x == y, unpaired", lambda f: tested(stats.ttest_ind(known(f)[0], f["y"].to_numpy()))),
    ("ttest x == 47, level(90)", lambda f: {"r(level)": 90, "text": ("[90% conf.",)}),
    ("ttest x, by(h) unpaired", {"error": 198}),
    ("ttest x", {"unsupported": "ttest, but for"}),
)  # fmt: skip


def welch_df(frame):
    """Welch's degrees of freedom (1947), as opposed to Satterthwaite's."""
    parts = [(part.var(ddof=1) / len(part), len(part)) for part in shifted(frame)]
    total = sum(share for share, _ in parts)
    return -2 + total**2 / sum(share**2 / (n + 1) for share, n in parts)


PANELS = cases(
    "waves",
    ("generate h = mod(pid, 2)\nxtset pid year\nbysort h: xtsum u", {
        "text": ("h = 0", "h = 1", "between")}),
    ("xtset pid year\nxtsum u", lambda f: {
        "column mean": [f["u"].mean()], "column sd": [f["u"].std()],
        "column sd_between": [f.group_by("pid").agg(pl.col("u").mean())["u"].std()],
        "column sd_within": [(f["u"] - f.with_columns(
            pl.col("u").mean().over("pid").alias("m"))["m"] + f["u"].mean()).std()],
        "column n": [60]}),
    ("generate k = pid\nxtsum u, i(k)", lambda f: {
        "column sd_between": [f.group_by("pid").agg(pl.col("u").mean())["u"].std()]}),
    ("xtset pid year\nxtdescribe", {"text": ("60",)}),
    ("xtset pid year\nxtdescribe, patterns(2)", {"text": ("other patterns",)}),
)  # fmt: skip

RESULTS = cases(
    "people",
    ("summarize x\ntabstat y\ndisplay r(StatTotal)", {"unsupported": "r(StatTotal) of tabstat"}),
    ("summarize x\nhistogram y\nscalar m = r(mean)", {"scalar m": "."}),
    ("summarize x\ntabulate g, bogus", {"unsupported": "option bogus"}),
    ("regress y x\ndisplay e(ll)", {"unsupported": "e(ll) of regress"}),
    ("regress y x\nmean z\ndisplay _b[x]", {"error": 301}),
    ("regress y x\nproportion h\npredict p", {"error": 301}),
    ("summarize x\nscalar a = r(p50)", {"scalar a": "."}),
    ("summarize x\nprogram p, rclass\nreturn scalar a = 1\nend\np\nscalar m = r(mean)", {
        "scalar m": ".", "r(a)": 1}),
    ("correlate x y, covariance", lambda f: {
        "r(cov_12)": np.cov(*pair(f))[0, 1], "r(Var_2)": np.cov(*pair(f))[1, 1]}),
    ("ttest x == 47", lambda f: {
        "r(N_1)": len(known(f)[0]), "r(mu_1)": known(f)[0].mean(),
        "r(p_u)": near(stats.ttest_1samp(known(f)[0], 47, alternative="greater").pvalue)}),
    (SHIFT + "ttest q, by(h)", lambda f: {
        "r(mu_2)": shifted(f)[1].mean(), "r(sd_1)": shifted(f)[0].std(ddof=1),
        "r(p_l)": near(stats.ttest_ind(*shifted(f), alternative="less").pvalue)}),
    ("pctile p = x, nquantiles(4)", lambda f: {"r(r3)": quantile(f["x"], 0.75)}),
)  # fmt: skip

OUTPUT = [*RESULTS, *SUMMARIES, *TABLES, *TESTS, *PANELS]
