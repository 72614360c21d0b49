"""Estimates from samples: formulas, classes, what is withheld."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.classifications import Classification
from discreet.derived import KeyFigure, PrecisionClasses, SampleDesign, estimate_sample
from discreet.derived.sample_estimates import _Sample
from discreet.errors import MicrodataError, TableError
from discreet.tables import CellStatus
from tests.helpers.rows import for_all_rows

REGION = Classification.from_prefixes("region", ["11", "12", "21", "22"], [1, 2])
SEX = Classification.flat("sex", ["m", "w"])
COUNT = KeyFigure(name="count", kind="count")
INCOME = KeyFigure(name="income", kind="sum")
WORKING = KeyFigure(name="working", kind="count")
RATE = KeyFigure(name="rate", kind="share", part="working", whole="count")
OVER = KeyFigure(name="over", kind="share", part="count", over=["region"])
FIGURES = [COUNT, INCOME, WORKING, RATE, OVER]
FILTERS = {"working": "work == 'yes'"}


def sample(seed: int = 1, persons: int = 240) -> pl.DataFrame:
    """Persons in blocks of dwellings in strata."""
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 24, persons)
    return pl.DataFrame(
        {
            "region": rng.choice(["11", "12", "21", "22"], persons),
            "sex": rng.choice(["m", "w"], persons),
            "work": rng.choice(["yes", "no"], persons, p=[0.7, 0.3]),
            "income": rng.integers(0, 4_000, persons).astype(float),
            "w": rng.integers(80, 120, persons) / 4,
            "stratum": [f"S{b % 3}" for b in block],
            "block": block // 3,
            "drawn": (block % 3) / 10,
        }
    )


def estimated(records: pl.DataFrame, design: SampleDesign, figures: Any = FIGURES) -> _Sample:
    return _Sample(records, [REGION, SEX], design, figures, FILTERS, "", "T1")


def by_hand(
    records: pl.DataFrame, inside: pl.Expr, below: pl.Expr | None, value: pl.Expr
) -> tuple[float, float]:
    """Estimate and variance of one cell, from the formula, unit by unit."""
    contribution = pl.when(inside).then(pl.col("w") * value).otherwise(0.0)
    frame = records.with_columns(z=contribution)
    estimate = float(frame["z"].sum())
    if below is not None:
        frame = frame.with_columns(b=pl.when(below).then(pl.col("w")).otherwise(0.0))
        whole = float(frame["b"].sum())
        estimate /= whole
        frame = frame.with_columns(z=(pl.col("z") - estimate * pl.col("b")) / whole)
    variance = 0.0
    for _, stratum in frame.group_by("stratum"):
        totals = stratum.group_by("block").agg(pl.col("z").sum(), pl.col("drawn").first())
        n, fraction = totals.height, totals["drawn"][0]
        spread = ((totals["z"] - totals["z"].mean()) ** 2).sum()
        variance += (1 - fraction) * n / (n - 1) * spread
    return float(estimate), variance


STRATIFIED = SampleDesign(weight="w", strata="stratum", units="block", fraction="drawn")


@pytest.mark.parametrize("seed", range(1))
def test_estimates_and_variances_are_those_of_the_formula(seed: int) -> None:
    records = sample(seed)
    made = estimated(records, STRATIFIED)
    table = made.table
    for cell in range(len(table.count)):
        region = REGION.codes[table.index[0][cell]]
        sex = SEX.codes[table.index[1][cell]]
        inside = pl.col("region").str.starts_with("" if region == "Total" else region)
        of_sex = (pl.col("sex") == sex) | pl.lit(sex == "Total")
        work = pl.col("work") == "yes"
        cases: list[tuple[pl.Expr, pl.Expr | None, pl.Expr]] = [
            (inside & of_sex, None, pl.lit(1.0)),
            (inside & of_sex, None, pl.col("income")),
            (inside & of_sex & work, None, pl.lit(1.0)),
            (inside & of_sex & work, inside & of_sex, pl.lit(1.0)),
            (inside & of_sex, of_sex, pl.lit(1.0)),
        ]
        for figure, case in zip(FIGURES, cases, strict=True):
            estimate, variance = by_hand(records, *case)
            assert made.variance(figure)[cell] == pytest.approx(variance, rel=1e-9, abs=1e-9)
            if figure.kind != "share":
                assert made.sums(figure, "w")[cell] == pytest.approx(estimate, rel=1e-12)


def test_a_jackknife_of_records_gives_the_formula_for_totals() -> None:
    records = sample(2, 40)
    n = records.height
    names = [f"r{at}" for at in range(n)]
    replicates = [
        (pl.when(pl.int_range(n) == at).then(0.0).otherwise(pl.col("w") * n / (n - 1))).alias(name)
        for at, name in enumerate(names)
    ]
    jackknife = SampleDesign(weight="w", replicates=names, factor=(n - 1) / n)
    one = estimated(records.with_columns(replicates), jackknife)
    other = estimated(records, SampleDesign(weight="w"))
    for figure in (COUNT, INCOME, WORKING):
        np.testing.assert_allclose(one.variance(figure), other.variance(figure), rtol=1e-9)
    # Shares agree up to their curvature.
    np.testing.assert_allclose(one.variance(RATE)[0], other.variance(RATE)[0], rtol=0.1)


def test_a_sample_of_all_has_no_variance() -> None:
    records = sample().with_columns(drawn=pl.lit(1.0))
    assert not estimated(records, STRATIFIED).variance(COUNT).any()


def published(records: pl.DataFrame, **options: Any) -> Any:
    return estimate_sample(records, [REGION, SEX], STRATIFIED, **options)


def test_figures_are_rounded_and_carry_the_class_of_their_error() -> None:
    records = sample(1, 700)
    made = estimated(records, STRATIFIED, [COUNT])
    classes = PrecisionClasses()
    safe = published(records)
    error = np.sqrt(made.variance(COUNT)) / made.sums(COUNT, "w")
    noted = {each.codes: each.note.kind for each in safe.cell_notes}
    seen = set()
    for cell in range(len(made.table.count)):
        codes = (REGION.codes[made.table.index[0][cell]], SEX.codes[made.table.index[1][cell]])
        name = next((n for n, bound in classes.bounds.items() if error[cell] <= bound), "E")
        seen.add(name)
        plain = made.sums(COUNT, "w")[cell]
        if name == "E":
            assert safe.get(*codes) is None
            assert codes not in noted
        else:
            assert safe.get(*codes) == 10 * np.floor(plain / 10 + 0.5)
            assert noted[codes] == f"precision-{name}"
    assert len(seen) > 2
    brackets = safe.to_polars().filter(status="bracketed")
    assert {noted[codes] for codes in brackets.select("region", "sex").rows()} <= {"precision-D"}
    assert "auf Vielfache von 10 gerundet" in safe.notes[0].text("de")
    assert "A bis 2 %, B bis 5 %, C bis 10 %, D bis 15 %, E darüber" in safe.notes[0].text("de")


def test_a_cell_without_records_looks_like_one_with_few() -> None:
    records = sample(1, 400)
    none = records.filter(~((pl.col("region") == "22") & (pl.col("sex") == "w")))
    lone = records.filter((pl.col("region") == "22") & (pl.col("sex") == "w")).head(1)
    wide = PrecisionClasses(bounds={"A": 0.99}, worst="E", bracketed=(), withheld=())
    found = [
        published(each, classes=wide).to_polars(complete=True).filter(region="22", sex="w")
        for each in (none, pl.concat([none, lone]))
    ]
    assert found[0].equals(found[1])
    assert found[0]["status"].to_list() == ["imprecise"]


def test_shares_are_made_of_rounded_figures() -> None:
    records = sample(3, 2_000)
    safe = published(records, figures=FIGURES, filters=FILTERS)
    for sex in ("m", "w", "Total"):
        working, every = safe.get("1", sex, "working"), safe.get("1", sex, "count")
        assert safe.get("1", sex, "rate") == round(100 * working / every, 1)
    assert safe.get("Total", "Total", "over") == 100
    assert safe.dimensions[-1].codes == ("count", "income", "working", "rate", "over")


def test_hidden_figures_are_ingredients_only() -> None:
    hidden = KeyFigure(name="working", kind="count", hidden=True)
    safe = published(sample(3, 2_000), figures=[COUNT, hidden, RATE], filters=FILTERS)
    assert safe.dimensions[-1].codes == ("count", "rate")


def test_the_order_of_records_does_not_matter() -> None:
    records = sample(4, 1_000)
    one = published(records, figures=FIGURES, filters=FILTERS)
    other = published(records.reverse(), figures=FIGURES, filters=FILTERS)
    assert one.to_polars().equals(other.to_polars())
    assert one.cell_notes == other.cell_notes


def test_nothing_of_what_is_withheld_is_stored() -> None:
    safe = published(sample(5, 100))
    hidden = safe.status == CellStatus.imprecise
    assert hidden.any()
    assert not safe.value[hidden].any()


@for_all_rows(
    ("change", "design", "says"),
    [
        ({"w": None}, STRATIFIED, "column 'w' not found"),
        ({"w": pl.lit(-1.0)}, STRATIFIED, "weights must not be negative"),
        ({"w": pl.lit(None, pl.Float64)}, STRATIFIED, "every record needs a number"),
        ({"drawn": pl.lit(2.0)}, STRATIFIED, "sampling fractions must be from 0 to 1"),
        ({"drawn": pl.col("income") / 4_000}, STRATIFIED, "has two sampling fractions"),
        (
            {"stratum": pl.col("region") + pl.col("block").cast(pl.String)},
            SampleDesign(weight="w", strata="stratum", units="block"),
            "strata have a single unit",
        ),
    ],
)
def test_samples_that_give_no_variance_are_refused(
    change: dict[str, Any], design: SampleDesign, says: str
) -> None:
    records = sample()
    for column, made in change.items():
        records = records.drop(column) if made is None else records.with_columns(**{column: made})
    with pytest.raises(MicrodataError, match=says):
        estimate_sample(records, [REGION, SEX], design)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"replicates": ["r1", "r2"]}, "replicate weights need a factor"),
        ({"factor": 0.5}, "replicate weights need a factor"),
        ({"replicates": ["r1", "r2"], "factor": 1, "strata": "s"}, "exclude each other"),
        ({"replicates": ["r1"], "factor": 1}, "a list of several columns"),
    ],
)
def test_designs_that_contradict_themselves_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(TableError, match=says):
        SampleDesign(weight="w", **fields)


@for_all_rows(
    ("fields", "says"),
    [
        ({"bounds": {"A": 0.1, "B": 0.05}}, "the bounds must be increasing shares above 0"),
        ({"worst": "A"}, "the worst class must not have a bound"),
        ({"withheld": ["F"]}, "unknown class 'F'"),
        ({"bracketed": ["E"]}, "bracketed or withheld, not both"),
        ({"min_records": 0}, "must be a whole number of at least 1"),
    ],
)
def test_classes_that_contradict_themselves_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(TableError, match=says):
        PrecisionClasses(**fields)


def test_other_kinds_of_figures_are_refused() -> None:
    with pytest.raises(TableError, match="samples support counts, sums and shares, not mean"):
        published(sample(), figures=[KeyFigure(name="m", kind="mean", of="income")])
