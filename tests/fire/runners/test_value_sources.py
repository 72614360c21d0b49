"""Copies of one person's value do not raise the number of those behind a figure."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet_fire.rewriting.submission import rewrite_python, rewrite_r
from discreet_fire.runners.asked_statistics import columns_of
from discreet_fire.runners.builtin.data import DataSet, dta_bytes
from discreet_fire.runners.protocol import RunResult, run_program
from discreet_fire.runners.script_run import PythonRunner, RRunner
from discreet_fire.runners.value_sources import RENAMED, ExchangedData
from discreet_fire.statistics import SafeLimits
from tests.helpers.closed_runs import engine_of

PERSONS = 240
_DRAWN = np.random.default_rng(7)
FRAME = pl.DataFrame(
    {
        "pid": range(PERSONS),
        "wage": (1500 + 4000 * _DRAWN.random(PERSONS) ** 2).round(2),
        "age": _DRAWN.integers(18, 66, PERSONS),
        "sex": _DRAWN.integers(1, 3, PERSONS),
        "region": _DRAWN.choice(["n", "e", "s", "w"], PERSONS),
        "firm": _DRAWN.integers(0, 40, PERSONS),
        "weight": _DRAWN.random(PERSONS).round(3) + 0.5,
    }
)
FIRMS = pl.DataFrame({"firm": range(40), "turnover": (1e5 + 1e6 * _DRAWN.random(40)).round(0)})
WAGE = float(FRAME["wage"][17])

#: Each shows the wage of person 17 as a mean of many, or what tells it.
PYTHON_COPIES = """
one = d[d.pid == 17]
print(pd.concat([one] * 50).wage.mean())
e = d.merge(one[['wage']].rename(columns={'wage': 'w'}), how='cross')
print(e.w.mean())
e = d.assign(k=1).merge(one.assign(k=1)[['k', 'wage']].rename(columns={'wage': 'w'}), on='k')
print(e.w.mean())
print(pd.Series(np.repeat(one.wage.to_numpy(), 50)).mean())
print(one.sample(60, replace=True, random_state=1).wage.mean())
again = pd.read_csv('d.csv')
e = d.copy()
e['w'] = again.wage[17]
print(e.w.mean())
e['w'] = again.wage[17] + e.age / 1000
print(e.w.mean())
e['w'] = again.wage[17] + 100 * e.age
print(e.groupby('region')['w'].mean())
print(d.reindex([17] * 40).wage.mean())
print(d.loc[[17] * 40, 'wage'].mean())
print(pd.concat([d[d.pid.isin([17, 18])]] * 30).wage.mean())
e['w'] = d.wage.where(d.pid == 17).groupby(d.sex).transform('sum').max() + e.age
print(e.w.mean())
e['w'] = sorted(d.wage)[-1] + e.age
print(e.w.mean())
f = d[(d.age > 25) & (d.sex == 1)].reset_index(drop=True)
f['w'] = again.wage[17] + f.age / 7
print(f.w.mean())
rng = np.random.default_rng()
e['w'] = again.wage[17] + rng.random(len(e))
print(e.w.mean())
print(pd.crosstab(pd.concat([one] * 50).region, pd.concat([one] * 50).sex))
print(pd.concat([one] * 9 + [d]).groupby('age')['wage'].mean())
"""
#: Each hides the value of one person among those of many, or behind larger ones.
PYTHON_HIDDEN = """
again = pd.read_csv('d.csv')
e = d.sample(frac=1, random_state=3).reset_index(drop=True)
e['w'] = e.wage
e.loc[:4, 'w'] = again.wage[17]
print(e.w.mean())
e['w'] = e.groupby('sex').wage.transform('mean') * 100 + again.wage[17] / 1000
print(e.groupby('sex').w.mean())
e = d.copy()
e['w'] = d.wage.where(d.pid != 17, 0)
print(e.w.mean())
e['w'] = d.wage * np.where(d.pid == 17, 2, 1)
print(e[['w', 'age']].corr())
e['w'] = d.age + (again.wage[17] > 2000)
print(e.w.mean())
e['w'] = np.where(d.sex == 1, 1e15, again.wage[17] + d.age)
print(e.groupby('sex').w.mean())
f = pd.read_csv('f.csv')
e['w'] = d.wage + f.turnover[f.firm == 3].sum() / 1000
print(e.w.mean())
few = d[(d.wage > 3000) & (d.age < 30) & (d.region == 's') & (d.sex == 2)]
e = d.sort_values('wage').reset_index(drop=True)
e['w'] = e.wage
e.loc[:9, 'w'] = few.wage.min()
print(e.w.mean())
"""
PYTHON_HONEST = """
f = pd.read_csv('f.csv')
e = d.merge(f, on='firm')
print(e.turnover.mean())
print(e[['wage']].describe())
g = e[e.age >= 25].reset_index(drop=True)
g['lw'] = np.log(g.wage)
print(g.groupby('region')['lw'].mean())
h = d.copy()
h['lw'] = np.log(h.wage)
print(h[['lw']].describe())
h['z'] = (h.wage - h.wage.mean()) / h.wage.std()
print(h.groupby('region')['z'].mean())
h['dev'] = h.wage - h.groupby('region')['wage'].transform('mean')
print(h.groupby('sex')['dev'].std())
h['weighted'] = h.wage * h.weight / h.weight.mean()
print(h.weighted.mean())
o = d[['pid', 'age']].merge(d[['pid', 'wage']], on='pid', validate='1:1')
print(o[['age', 'wage']].corr())
long = d.melt(id_vars='pid', value_vars=['age', 'weight'])
print(long.groupby('variable')['value'].mean())
wide = long.pivot(index='pid', columns='variable', values='value')
print(wide.age.mean())
print(pd.crosstab(e.region, e.sex))
"""

R_COPIES = """
one <- d[d$pid == 17, ]
e <- one[rep(1, 50), ]
mean(e$wage)
mean(rep(one$wage, 50))
e <- merge(d, data.frame(w = one$wage), by = NULL)
mean(e$w)
one$k <- 1
d$k <- 1
e <- merge(d, data.frame(k = one$k, w = one$wage), by = "k")
summary(e["w"])
again <- read.csv("d.csv")
e <- d
e$w <- again$wage[18]
mean(e$w)
e$w <- again$wage[18] + e$age / 1000
mean(e$w)
e$w <- again$wage[18] + 100 * e$age
summary(e[c("w", "sex")])
s <- one[sample(1, 60, replace = TRUE), ]
mean(s$wage)
e <- rbind(d[c(18, 18, 19), ], d[rep(18, 40), ])
mean(e$wage)
e <- d[d$age > 25 & d$sex == 1, ]
mean(again$wage[18] + e$age / 7)
e$w <- rev(sort(d$wage))[1] + e$age
mean(e$w)
table(rep(one$region, 50), rep(one$sex, 50))
"""
R_HIDDEN = """
again <- read.csv("d.csv")
set.seed(3)
e <- d[sample(nrow(d)), ]
rownames(e) <- NULL
e$w <- e$wage
e$w[1:5] <- again$wage[18]
mean(e$w)
e$w <- ave(e$wage, e$sex) * 100 + again$wage[18] / 1000
mean(e$w)
e <- d
e$w <- ifelse(d$pid != 17, d$wage, 0)
mean(e$w)
e$w <- d$age + (again$wage[18] > 2000)
mean(e$w)
f <- read.csv("f.csv")
e$w <- d$wage + sum(f$turnover[f$firm == 3]) / 1000
mean(e$w)
"""
R_HONEST = """
f <- read.csv("f.csv")
e <- merge(d, f, by = "firm")
mean(e$turnover)
summary(e["wage"])
g <- e[e$age >= 25, ]
mean(log(g$wage))
d$lw <- log(d$wage)
summary(d[c("wage", "lw")])
d$z <- (d$wage - mean(d$wage)) / sd(d$wage)
sd(d$z)
d$dev <- d$wage - ave(d$wage, d$region)
sd(d$dev)
o <- merge(d[c("pid", "age")], d[c("pid", "wage")], by = "pid")
cor(o[c("age", "wage")])
long <- reshape(d[c("pid", "age", "weight")], direction = "long", idvar = "pid",
                varying = c("age", "weight"), v.names = "value")
mean(long$value)
table(e$region, e$sex)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "d.csv")
    FIRMS.write_csv(tmp_path / "f.csv")
    (tmp_path / "program").mkdir()
    return tmp_path


def run_python(place: Path, text: str) -> RunResult:
    program = place / "program" / "a.py"
    head = "import numpy as np\nimport pandas as pd\nd = pd.read_csv('d.csv')\n"
    program.write_text(rewrite_python(head + text).text)
    return _run(engine_of("python"), program, place)


def run_r(place: Path, text: str) -> RunResult:
    program = place / "program" / "a.R"
    program.write_text(rewrite_r("d <- read.csv('d.csv')\n" + text).text)
    return _run(engine_of("r"), program, place)


def _run(runner: PythonRunner | RRunner, program: Path, place: Path) -> RunResult:
    data = [place / "d.csv", place / "f.csv"]
    return run_program(runner, program, data=data, limits=SafeLimits(), entity="pid", seed=0,
                       seconds=120.0, witness=None)  # fmt: skip


def withheld(result: RunResult) -> list[bool]:
    """Of each output, whether all of it is withheld because few are behind it."""
    return ["few-sources" in {check.rule for check in one.result.checks} for one in result.outputs]


@pytest.mark.parametrize("ending", ["csv", "parquet", "dta"])
def test_values_are_exchanged_within_a_part_and_nowhere_else(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"d.{ending}"
    panel = FRAME.with_columns(
        pid=pl.col("pid") // 3, year=pl.col("pid") % 3 + 2001, half=pl.lit(None).cast(pl.Float64)
    ).drop("firm")
    if ending == "csv":
        panel.write_csv(file)
    elif ending == "parquet":
        panel.write_parquet(file)
    else:
        file.write_bytes(dta_bytes(DataSet.of(panel)))
    data = ExchangedData([file], "pid", parts=8, least=3, seed=-1)
    made = tmp_path / "made"
    made.mkdir()

    def written(change: int | str) -> pl.DataFrame:
        (place,) = data.written(made, change)
        return pl.DataFrame(columns_of(place))

    whole = pl.DataFrame(columns_of(file))
    assert written("same").equals(whole)
    for part in range(8):
        other, inside = written(part), pl.Series(data.part == part)
        assert 20 <= inside.sum() <= 40
        assert other.filter(~inside).equals(whole.filter(~inside))
        assert other.select("pid", "year").equals(whole.select("pid", "year"))
        for name in ("wage", "age", "sex", "region"):
            assert not (other[name] == whole[name]).filter(inside).any()
        assert sorted(other["wage"]) == sorted(whole["wage"])
    for change in RENAMED:  # the same records, under other names and at other places
        other = written(change)
        assert other["pid"].equals(whole["pid"])
        blocks = other.partition_by("pid", maintain_order=True)
        old = whole.partition_by("pid", maintain_order=True)
        kept = {tuple(one.drop("pid").rows()) for one in old}
        assert {tuple(one.drop("pid").rows()) for one in blocks} == kept
        moved = [
            a.drop("pid").rows() != b.drop("pid").rows() for a, b in zip(old, blocks, strict=True)
        ]
        assert all(moved)
    ends = written("ends")["wage"]
    assert 0 < (ends != whole["wage"]).sum() <= 4
    assert ends.max() == whole["wage"].sort()[-3]


@pytest.mark.exhaustive
def test_whether_a_condition_on_one_value_holds_is_not_told(place: Path) -> None:
    """The log says that lines hang on few, whichever way the condition goes."""
    logs = []
    for limit in (0, WAGE - 1, WAGE + 1):
        text = f"if d.wage.iloc[17] > {limit}:\n    print('high')\n"
        logs.append(run_python(place, text))
    everybody, holds, fails = logs
    assert "| high" in everybody.log  # true of all: it tells nothing of one
    of_way, of_other = (
        [line for line in log.log.splitlines() if not line.startswith(". * program ")]
        for log in (holds, fails)
    )
    assert of_way == of_other
    assert "lines that depend on few records" in fails.log
    assert repr(holds) == repr(fails) == "<RunResult a.py: fail>"


@pytest.mark.exhaustive
def test_python_shows_figures_of_many_and_no_value_that_was_copied_or_hidden(place: Path) -> None:
    """One script has them all: it runs once for each exchange of values."""
    parts = (PYTHON_COPIES, PYTHON_HIDDEN, PYTHON_HONEST)
    result = run_python(place, "".join(parts))
    copied, hidden, honest = (part.count("print(") for part in parts)
    assert result.error is None, result.error
    assert withheld(result) == [True] * (copied + hidden) + [False] * honest
    assert f"{WAGE:.7g}" not in result.log
    turnover = FRAME.join(FIRMS, on="firm")["turnover"].mean()
    assert f"{turnover:.7g}" in result.log
    assert f"{FRAME['age'].mean():.7g}" in result.log


@pytest.mark.r
def test_r_shows_figures_of_many_and_no_value_that_was_copied_or_hidden(place: Path) -> None:
    result = run_r(place, R_COPIES + R_HIDDEN + R_HONEST)
    assert result.error is None, result.error
    assert withheld(result) == [True] * (12 + 5) + [False] * 9
    assert f"{WAGE:.7g}" not in result.log
    turnover = FRAME.join(FIRMS, on="firm")["turnover"].mean()
    assert f"{turnover:.7g}" in result.log
