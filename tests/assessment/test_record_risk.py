"""Risk of records: worked examples, exact integrals, properties, and what is refused."""

import json
import math
from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet as dc
from discreet.assessment.record_risk import individual_risk, special_uniques
from discreet.cli.commands import app
from discreet.errors import MicrodataError, PublicationError
from tests.helpers.rows import for_all_rows

#: Eight persons of a sample, as in worked examples of the field; weights sum to 1,000.
SAMPLE = pl.DataFrame(
    {
        "age": ["20", "20", "30", "30", "30", "40", "40", "50"],
        "sex": ["m", "m", "f", "f", "f", "m", "f", "m"],
        "place": ["a", "a", "a", "b", "b", "b", "b", None],
        "illness": ["x", "x", "x", "y", "z", "x", "y", "z"],
        "weight": [100.0, 100, 200, 150, 150, 100, 100, 100],
    }
)
codes = st.lists(
    st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 3), min_size=1, max_size=25
).map(lambda rows: pl.DataFrame(rows, schema=dict.fromkeys("uvw", pl.String), orient="row"))


def test_frequencies_weights_and_diversity_of_a_worked_example() -> None:
    found = dc.assess_records(
        SAMPLE, keys=["age", "sex"], weight="weight", sensitive=["illness"], special=2
    )
    assert found.records["frequency"].to_list() == [2, 2, 3, 3, 3, 1, 1, 1]
    assert found.records["population"].to_list() == [200, 200, 500, 500, 500, 100, 100, 100]
    pi = 0.01
    assert found.records["risk"][5] == pytest.approx(pi / (1 - pi) * math.log(1 / pi))
    assert found.rates["expected_found"] == pytest.approx(found.records["risk"].sum())
    assert found.rates["unique"] == 3 / 8
    assert found.rates["below_k"] == 5 / 8
    assert found.classes == {"1": 3, "2": 2, "3–4": 3, "5–9": 0, "10–99": 0, "100+": 0}
    # The two of 20 are all x; single ones have one value; the three of 30 have three.
    assert found.diversity["illness"] == {
        "fewest": 1, "entropy": 1.0, "only_one_value": 5, "share": 5 / 8,
    }  # fmt: skip
    # 50 alone is unique by age; the two of 40 by age and sex, not by one of them.
    assert found.records["special_sets"].to_list() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert found.records["score"].to_list() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert found.contributions == {"age": 1.0, "sex": 2 / 3}


@for_all_rows("share", [1e-6, 0.001, 0.05, 0.5, 0.99, 1.0])
@for_all_rows("count", [1, 2, 3, 7, 31, 32, 100, 5_000])
def test_the_individual_risk_is_the_mean_of_the_posterior(count, share) -> None:
    """Against the sum over F of 1/F by the negative binomial, and by an integral done apart."""
    found = float(individual_risk(np.array([count]), np.array([share]))[0])
    # The mean of 1/F is an integral of the generating function, from 0 to 1.
    u = np.linspace(-40.0 / count, 0.0, 100_001)  # the logarithm of y
    y = np.exp(u)
    value = float(np.trapezoid(y**count * share / (share + (1 - share) * y), u))
    assert found == pytest.approx(value, rel=1e-5)
    assert 0 < found <= 1 / count + 1e-12
    if share == 0.5 and count < 50:
        chance, total = share**count, 0.0
        for population in range(count, 4_000):
            total += chance / population
            chance *= population / (population - count + 1) * (1 - share)
        assert found == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("share", [1e-9, 0.0999, 0.1, 1 - 2**-52])
@pytest.mark.parametrize("count", [1, 2, 31, 32, 60])
def test_the_individual_risk_is_exact_up_to_rounding(count, share) -> None:
    """Against the recursion of the integral over powers of y, with enough digits."""
    with localcontext(prec=80 + 17 * count):
        odds = Decimal(share) / (1 - Decimal(share))
        value = -Decimal(share).ln()
        for power in range(1, count):
            value = 1 / Decimal(power) - odds * value
        exact = float(odds * value)
    found = individual_risk(np.array([count]), np.array([share]))
    assert found[0] == pytest.approx(exact, rel=1e-13)


def test_weights_that_are_one_but_for_rounding_leave_the_risk_as_it_is() -> None:
    frame = pl.DataFrame({"sex": ["m", "m", "f"], "weight": [1.0000000000000002] * 3})
    found = dc.assess_records(frame, keys="sex", weight="weight")
    assert found.records["risk"].to_list() == pytest.approx([0.5, 0.5, 1.0])


@given(frame=codes)
def test_minimal_unique_sets_are_those_found_one_by_one(frame) -> None:
    sets, score, shares = special_uniques(frame, 3)
    rows = frame.rows()
    for at, row in enumerate(rows):
        alone = [
            part
            for size in (1, 2, 3)
            for part in combinations(range(3), size)
            if sum(all(other[p] == row[p] for p in part) for other in rows) == 1
        ]
        minimal = [p for p in alone if not any(set(q) < set(p) for q in alone)]
        assert sets[at] == len(minimal)
        assert score[at] == sum(math.factorial(3 - len(p)) for p in minimal)
    if sets.sum():
        assert sum(shares.values()) >= 1 - 1e-9


@given(frame=codes, seed=st.integers(0, 9))
def test_a_missing_value_agrees_with_any_if_asked(frame, seed) -> None:
    weights = np.random.default_rng(seed).integers(1, 9, frame.height).astype(float)
    asked = {"keys": ["u", "v", "w"], "weight": "n", "special": 0}
    found = dc.assess_records(frame.with_columns(n=weights), missing="any", **asked).records
    rows = frame.rows()
    for at, row in enumerate(rows):
        like = [
            all(a is None or b is None or a == b for a, b in zip(row, other, strict=True))
            for other in rows
        ]
        assert found["frequency"][at] == sum(like)
        assert found["population"][at] == max(weights[like].sum(), sum(like))
    own = dc.assess_records(frame.with_columns(n=weights), **asked).records
    assert (own["frequency"] <= found["frequency"]).all()


def test_neither_order_nor_engine_matters() -> None:
    frame = SAMPLE.with_row_index("row")
    asked = {"keys": ["age", "sex", "place"], "weight": "weight"}
    first = dc.assess_records(frame, **asked)
    turned = dc.assess_records(frame.reverse(), **asked)
    assert turned.records.reverse().equals(first.records)
    assert turned.rates == first.rates
    assert dc.assess_records(frame.to_pandas(), **asked).records.equals(first.records)


def test_reports_name_no_record_and_no_code(tmp_path) -> None:
    frame = SAMPLE.with_columns(name=pl.int_range(pl.len()).cast(pl.String) + "-person")
    found = dc.assess_records(frame, keys=["age", "sex"], sensitive=["illness"])
    assert found.rates["identifying_columns"] == 1
    cleared = dc.assess_records(frame, keys=["age", "sex"], harmless=["name"])
    assert cleared.rates["identifying_columns"] == 0
    for language in ("en", "de"):
        for name in ("r.html", "r.txt", "r.json"):
            text = found.write(tmp_path / name, language=language).read_text("utf-8")
            assert "person" not in text.replace("persons", "").replace("Personen", "")
            assert oct((tmp_path / name).stat().st_mode & 0o777) == "0o600"
    assert "verdict" not in found.text()
    assert repr(found) == "<RecordRisk: 8 records, 2 keys>"
    with pytest.raises(PublicationError):
        found.write(tmp_path / "r.pdf")


def test_linkage_and_loss_of_a_worked_example() -> None:
    old = pl.DataFrame(
        {"id": [1, 2, 3, 4], "a": [0.0, 10, 20, 30], "b": [5.0, 5, 6, 6], "c": list("xxyy")}
    )
    new = old.with_columns(a=pl.Series([1.0, 18, 11, 30]), c=pl.Series(list("xyyy"))).reverse()
    found = dc.compare_records(old, new, id="id", numbers=["a", "b"], codes=["c"])
    spread = np.std([0, 10, 20, 30], ddof=1)
    assert found.rates["information_loss"] == pytest.approx(18 / spread / 8 / math.sqrt(2))
    assert found.rates["within"] == 0.25
    assert found.codes["c"] == {
        "total_variation": 0.25,
        "hellinger": pytest.approx(math.sqrt(1 - math.sqrt(0.125) - math.sqrt(0.375))),
        "true": 0.75,  # the second is a y now
        "surest": 1.0,
    }
    assert found.numbers["a"]["changed"] == 0.75
    # 10 became 18 and 20 became 11: b keeps the second from being taken for the first.
    assert found.rates["linked"] == 1.0


@for_all_rows(
    ("asked", "said"),
    [
        ({"keys": []}, "too few entries; at least 1"),
        ({"keys": ["nobody"]}, "nobody"),
        ({"keys": ["weight"]}, "cannot be recoded"),
        ({"keys": ["age"], "weight": "sex"}, "weights must be above 0"),
        (
            {"keys": ["age"], "sensitive": ["age"]},
            "key variables cannot be the weight or sensitive",
        ),
        ({"keys": ["age"], "missing": "some"}, "own"),
        ({"keys": ["age"], "k": 0}, "at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, said) -> None:
    with pytest.raises(MicrodataError, match=said):
        dc.assess_records(SAMPLE, **asked)


def test_no_records_are_no_risk() -> None:
    found = dc.assess_records(SAMPLE.clear(), keys=["age"], sensitive=["illness"])
    assert found.rates["expected_found"] == 0
    assert "0" in found.text()


def test_the_command_says_the_same(tmp_path) -> None:
    SAMPLE.with_row_index("id").write_parquet(tmp_path / "p.parquet")
    words = ["assess-records", str(tmp_path / "p.parquet"), "--keys", "age,sex", "--json"]
    more = ["--original", str(tmp_path / "p.parquet"), "--id", "id", "--codes", "age,sex"]
    done = CliRunner().invoke(app, [*words, *more, "--out", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["rates"]["unique"] == 3 / 8
    assert told["changes"]["codes"]["age × sex"]["total_variation"] == 0
    assert "<table>" in (tmp_path / "r.html").read_text()
    assert CliRunner().invoke(app, [*words, "--id", "id"]).exit_code == 2


# -- changed records under attack ------------------------------------------------------------------


def _persons(size: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(size),
            "area": draw.integers(0, 60, size),
            "age": draw.integers(0, 40, size),
            "faith": draw.choice(4, size, p=[0.6, 0.25, 0.1, 0.05]),
        }
    )


def test_codes_after_pram_are_as_sure_as_its_matrix_says() -> None:
    """P(true = k | seen = k) = R_kk T_k / Σ R_lk T_l; 40,000 records, five standard errors."""
    people = _persons(40_000, 3).with_columns(pl.col("faith").cast(pl.String))
    stay, codes = 0.7, ["0", "1", "2", "3"]
    matrix = np.full((4, 4), 0.1) + np.eye(4) * (stay - 0.1)
    changed = dc.pretabular.pram(
        people, {"faith": dc.pretabular.PramMatrix(codes, matrix.tolist())}, id="id",
        secret="a secret of thirty-two characters",
    ).records  # fmt: skip
    found = dc.compare_records(people, changed, id="id", codes=["faith"]).codes["faith"]
    share = np.array([0.6, 0.25, 0.1, 0.05])
    exact = stay * share / (matrix.T @ share)
    assert found["surest"] == pytest.approx(exact.max(), abs=0.02)
    assert found["true"] == pytest.approx(stay, abs=0.02)


def test_uniques_after_swapping_are_right_where_they_were_not_swapped() -> None:
    people = _persons(6_000, 4)
    draw = np.random.default_rng(1)
    moved = draw.random(6_000) < 0.3
    changed = people.with_columns(
        area=pl.when(pl.Series(moved)).then((pl.col("area") + 7) % 60).otherwise("area")
    )
    found = dc.compare_records(people, changed, id="id", codes=["area", "age"], sensitive=["faith"])
    unique = changed.with_columns(same=pl.len().over("area", "age")).filter(pl.col("same") == 1)
    assert found.rates["alone"] == pytest.approx(unique.height / 6_000)
    assert 0.3 < found.rates["alone_right"] < 0.75
    assert found.rates["grouped_right"] == 1.0
    same = dc.compare_records(people, people, id="id", codes=["area", "age"])
    assert same.rates["alone_right"] == 1.0
    assert "%" in found.text("de")
