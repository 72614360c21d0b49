"""Estimates from a sample beside full counts, in a whole release."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.classifications import Classification
from discreet.demo import example_perturbation_table
from discreet.derived import PrecisionClasses, SampleDesign, estimate_sample
from discreet.errors import ProgrammeError
from discreet.release import protect
from tests.helpers.programmes import Edit as Made
from tests.helpers.programmes import editor

PLACES = [f"{state}{place}" for state in "12" for place in "3456"]

PROGRAMME = """\
title = "Census and sample"
languages = ["en", "de"]

[data]
name = "persons"
source = "people.parquet"

[keys]
column = "record_key"

[sources.survey]
source = "survey.parquet"

[perturbation]
table = "ptable.csv"

[parts]
max_share_small = 0.5
per = "region"

[protection.sample]
of = "persons"
strata = "stratum"
units = "block"
min_records = 3

[variables.region]
prefixes = [1, 2]

[variables.sex]
codes = ["m", "w"]

[defaults]
formats = ["csv", "html"]

[tables.T1]
by = ["region", "sex"]
title = { en = "Population", de = "Bevölkerung" }

[tables.S1]
from = "survey"
protect = "sample"
weight = "w"
by = ["region", "sex"]
title = { en = "Estimates", de = "Schätzwerte" }
"""


@pytest.fixture
def made(tmp_path: Path) -> Made:
    rng = np.random.default_rng(8)
    share = np.array([0.002 if place == "13" else 1.0 for place in PLACES])
    persons, sampled = 2_000, 900
    region = pl.Series("region", rng.choice(PLACES, persons, p=share / share.sum()))
    people = pl.DataFrame(
        {
            "region": region,
            "sex": rng.choice(["m", "w"], persons),
            "record_key": rng.integers(0, 10**15, persons),
        }
    )
    people.write_parquet(tmp_path / "people.parquet")
    # The small place is drawn as a whole: its estimates are precise.
    lone = people.filter(region="13").drop("record_key")
    many = pl.concat([people.drop("record_key").head(sampled), *[lone] * 6])
    survey = many.with_columns(
        w=pl.Series(rng.integers(15, 30, many.height)) / 10,
        stratum=pl.int_range(many.height) % 4,
        block=pl.int_range(many.height) // 4,
        income=pl.Series(rng.integers(100, 4_000, many.height)),
        rep_1=pl.Series(rng.integers(10, 35, many.height)) / 10,
        rep_2=pl.Series(rng.integers(10, 35, many.height)) / 10,
    )
    survey.write_parquet(tmp_path / "survey.parquet")
    example_perturbation_table().write(tmp_path / "ptable.csv")

    return editor(tmp_path / "programme.toml", PROGRAMME)


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def test_estimates_stand_beside_full_counts_and_say_so(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = protect(made(("max_share_small = 0.5", "max_share_small = 1")), out)
    assert not any("full counts" in each for each in summary.warnings)
    found = read(out / "S1.csv")
    region = Classification.from_prefixes("region", PLACES, [1, 2])
    expected = estimate_sample(
        pl.read_parquet(tmp_path / "survey.parquet"),
        [region, Classification.flat("sex", ["m", "w"])],
        SampleDesign(weight="w", strata="stratum", units="block"),
        classes=PrecisionClasses(min_records=3),
    )
    for row in found.iter_rows(named=True):
        value = expected.get(row["region"], row["sex"])
        assert row["value"] == (None if value is None else str(value))
        assert row["symbol"] == "/" if value is None else row["symbol"].strip("()") == str(value)
    assert "Precision class B." in found["note"].to_list()
    page = (out / "S1.de.html").read_text()
    assert "Schätzwerte aus einer Stichprobe, auf Vielfache von 10 gerundet" in page
    assert "Genauigkeitsklasse B." in page
    assert "Der Schätzwert ist nicht sehr sicher" in page
    assert "Vollzählung" in (out / "T1.de.html").read_text()
    assert "Vollzählung" not in page
    assert "Amtlich festgestellt" not in page


def test_the_official_total_is_noted_beside_the_estimate(made: Made, tmp_path: Path) -> None:
    programme = made(
        ("max_share_small = 0.5", "max_share_small = 1"),
        ("min_records = 3", "min_records = 3\ntotal = 2000"),
        ("[tables.S1]", '[tables.S1]\nuniverse = "All"'),
    )
    protect(programme, tmp_path / "out")
    assert "The official number is 2,000." in (tmp_path / "out/S1.html").read_text()
    page = (tmp_path / "out/S1.de.html").read_text()
    assert "Amtlich festgestellt sind 2\N{NARROW NO-BREAK SPACE}000." in page
    assert "Amtlich festgestellt" not in (tmp_path / "out/T1.de.html").read_text()
    women = made(
        ("min_records = 3", "min_records = 3\ntotal = 2000"),
        ("[tables.S1]", "[tables.S1]\nwhere = \"sex == 'w'\""),
    )
    protect(women, tmp_path / "women")
    assert "official number" not in (tmp_path / "women/S1.html").read_text()


def test_what_full_counts_hide_estimates_hide_too(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    protect(made(), out)
    counts, estimates = read(out / "T1.csv"), read(out / "S1.csv")
    hidden = counts.filter(symbol=".").select("region", "sex")
    assert hidden.height
    both = hidden.join(estimates, on=["region", "sex"], how="left")
    assert both["symbol"].unique().to_list() == ["."]
    assert both["value"].null_count() == both["note"].null_count() == len(both)
    # Without the relation, the estimate of a hidden count is shown, and the release warns.
    summary = protect(made(('of = "persons"\n', "")), tmp_path / "apart")
    shown = hidden.join(read(tmp_path / "apart" / "S1.csv"), on=["region", "sex"])
    assert shown["value"].drop_nulls().len()
    assert any(
        "the source of the full counts is missing: estimates may" in each
        for each in summary.warnings
    )


@pytest.mark.parametrize("where", ["sex=='m'", "not sex == 'w'"])
def test_filters_are_compared_by_their_records(made: Made, tmp_path: Path, where: str) -> None:
    """The same persons pass, however the filter is written; what counts do not say is a gap."""
    first = 'by = ["region", "sex"]\ntitle = { en = "Population"'
    second = 'by = ["region", "sex"]\ntitle = { en = "Estimates"'
    for name, own, hides in (("one", where, True), ("other", "income > 0", False)):
        filtered = [
            (first, f"where = \"sex == 'm'\"\n{first}"),
            (second, f'where = "{own}"\n{second}'),
        ]
        summary = protect(made(*filtered), tmp_path / name)
        assert any("not examined for" in line for line in summary.warnings) is not hides
        counts, estimates = read(tmp_path / name / "T1.csv"), read(tmp_path / name / "S1.csv")
        hidden = counts.filter(symbol=".").filter(pl.col("region").is_in(PLACES))
        assert hidden.height
        both = hidden.select("region").unique().join(estimates, on="region")
        totals = both.filter(pl.col("sex").is_in(["Total", "T", "total"]))["symbol"].to_list()
        assert (set(totals) == {"."}) is hides


def test_estimates_are_made_anew_if_the_counts_hide_something_else(
    made: Made, tmp_path: Path
) -> None:
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    protect(made(("max_share_small = 0.5", "max_share_small = 1")), out)
    assert protect(made(("max_share_small = 0.5", "max_share_small = 1")), out).fresh == 0
    assert protect(made(), out).fresh == 2
    protect(made(), fresh)
    for name in ("T1.csv", "S1.csv", "S1.html"):
        assert (out / name).read_bytes() == (fresh / name).read_bytes()


def test_full_counts_say_so_only_beside_estimates(made: Made, tmp_path: Path) -> None:
    sample = PROGRAMME[PROGRAMME.index("[protection") : PROGRAMME.index("[variables.region]")]
    table = PROGRAMME[PROGRAMME.index("[tables.S1]") :]
    source = '[sources.survey]\nsource = "survey.parquet"\n'
    protect(made((table, ""), (sample, ""), (source, "")), tmp_path / "out")
    assert "Vollzählung" not in (tmp_path / "out" / "T1.de.html").read_text()
    protect(made(), tmp_path / "out")
    assert "Vollzählung" in (tmp_path / "out" / "T1.de.html").read_text()


def test_figures_and_replicate_weights_of_a_programme(made: Made, tmp_path: Path) -> None:
    figures = """
[tables.S1.figures]
all = { kind = "count" }
women = { kind = "count", where = "sex == 'w'", hidden = true }
income = { kind = "sum", of = "income", unit = "EUR" }
rate = { kind = "share", part = "women", whole = "all" }
"""
    path = made(
        ('strata = "stratum"\nunits = "block"\n', 'replicates = "rep_*"\nfactor = 0.01\n'),
        ('title = { en = "Estimates", de = "Schätzwerte" }\n', figures),
        ('weight = "w"\nby = ["region", "sex"]', 'weight = "w"\nby = ["region"]'),
        ("max_share_small = 0.5", "max_share_small = 1"),
    )
    protect(path, tmp_path / "out")
    found = read(tmp_path / "out" / "S1.csv")
    assert found["figure"].unique(maintain_order=True).to_list() == ["all", "income", "rate"]
    survey = pl.read_parquet(tmp_path / "survey.parquet")
    total = found.filter(region="Total")["value"].to_list()
    weight = float(survey["w"].sum())
    assert total[0] == str(int(np.floor(weight / 10 + 0.5)) * 10)
    spread = 0.01 * sum((float(survey[each].sum()) - weight) ** 2 for each in ("rep_1", "rep_2"))
    name = next(n for n, b in PrecisionClasses().bounds.items() if np.sqrt(spread) / weight <= b)
    assert found.filter(region="Total", figure="all")["note"].to_list() == [
        f"Precision class {name}."
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('of = "persons"', 'of = "homes"', "unknown source 'homes'"),
        ('weight = "w"\n', "", "estimates need weights"),
        (
            'strata = "stratum"',
            'factor = 0.5\nstrata = "stratum"',
            "replicate weights need a factor",
        ),
        ("min_records = 3", "fraction = 0.1", "protection.sample.fraction: must be a text"),
        ("min_records = 3", 'withheld = ["F"]', "unknown class 'F'"),
        (
            "min_records = 3",
            "classes = { A = 0.1, B = 0.05 }",
            "the bounds must be increasing shares above 0",
        ),
        ('units = "block"', 'units = "blok"', "blok"),
        ('protect = "sample"', 'protect = "sample"\nofficial = "sex == \'m\'"', "this needs"),
    ],
)
def test_mistakes_are_found_before_anything_is_written(
    made: Made, tmp_path: Path, old: str, new: str, says: str
) -> None:
    with pytest.raises(ProgrammeError, match=says):
        protect(made((old, new)), tmp_path / "out")


def test_the_log_of_parts_lists_what_estimates_hide(made: Made, tmp_path: Path) -> None:
    protect(made(), tmp_path / "out")
    listed = json.loads((tmp_path / "out" / "decisions.json").read_text())["tables"]
    assert "13" in listed["T1"]["areas"]["hidden"]


CALIBRATED = '[sources.survey]\nsource = "survey.parquet"\ncalibrate.totals = "totals.csv"\n'
CALIBRATED += 'calibrate.weight = ["w", "rep_*"]\ncalibrate.most = 10'


def test_weights_meet_published_totals_before_tables_are_made(made: Made, tmp_path: Path) -> None:
    """From a file and from a release; ages are classes of the programme."""
    out, source = tmp_path / "out", ('[sources.survey]\nsource = "survey.parquet"', CALIBRATED)
    survey = pl.read_parquet(tmp_path / "survey.parquet")
    survey = survey.with_columns(age=pl.int_range(survey.height) % 70)
    survey.write_parquet(tmp_path / "survey.parquet")
    (tmp_path / "totals.csv").write_text("age,sex,value\n0-17,,600\n18+,,1400\n,m,900\n,w,1100\n")
    edits = [source, ("max_share_small = 0.5", "max_share_small = 1"),
             ("[variables.sex]", "[variables.age]\nintervals = [0, 18]\n\n[variables.sex]"),
             ("[tables.S1]", '[tables.T2]\nby = ["sex"]\n\n[tables.S1]'),
             ('by = ["region", "sex"]\ntitle = { en = "Estimates"',
              'by = ["sex", "age"]\ntitle = { en = "Estimates"')]  # fmt: skip
    summary = protect(made(*edits), out)
    assert any("calibrated weights 'rep_1' against" in one for one in summary.checks)
    assert (
        "Weights were calibrated to published totals of age; sex." in (out / "S1.html").read_text()
    )
    estimates = {(r["sex"], r["age"]): r["value"] for r in read(out / "S1.csv").to_dicts()}
    assert [estimates["m", "Total"], estimates["w", "Total"]] == ["900", "1100"]
    assert [estimates["Total", "0-17"], estimates["Total", "18+"]] == ["600", "1400"]
    assert protect(made(*edits), out).fresh == 0
    # Other totals make other tables; those of a release are the totals of its tables.
    (tmp_path / "totals.csv").write_text("age,value\n0-17,600\n18+,1500\n")
    protect(made(*edits), out)
    assert "Total,Total,2100" in (out / "S1.csv").read_text()
    from_release = ("totals.csv", 'out"\ncalibrate.tables = "T2')
    protect(made(*edits, from_release), tmp_path / "again")
    counts = {r["sex"]: int(r["value"]) for r in read(out / "T2.csv").to_dicts()}
    shown = {r["sex"]: int(r["value"]) for r in read(tmp_path / "again/S1.csv").to_dicts()
             if r["age"] == "Total"}  # fmt: skip
    assert all(abs(shown[code] - counts[code]) <= 5 for code in "mw")


@pytest.mark.parametrize(
    ("totals", "named"),
    [
        ("sex,value\nm,900\n", "records have codes without a total: w"),
        ("sex,value\nm,900\nw,0\n", "records where the total is 0: sex=w"),
        ("sex,value\nm,900\nw,90\n", "no factors from 0.2 to 10 meet all totals"),
        (None, "not found"),
    ],
)
def test_totals_that_do_not_fit_name_their_place(
    made: Made, tmp_path: Path, totals: str | None, named: str
) -> None:
    if totals is not None:
        (tmp_path / "totals.csv").write_text(totals)
    programme = made(('[sources.survey]\nsource = "survey.parquet"', CALIBRATED))
    with pytest.raises(ProgrammeError) as caught:
        protect(programme, tmp_path / "out")
    assert named in str(caught.value)
    assert "sources.survey.calibrate" in str(caught.value)
    assert not (tmp_path / "out").exists()
