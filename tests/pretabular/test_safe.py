"""SAFE: the worked table, the optimum beside the search, records rebuilt, zeros left empty."""

import datetime as dt
import itertools
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.demo import generate
from discreet.errors import MicrodataError
from discreet.pretabular.changed_records import paired
from discreet.pretabular.safe import safe_counts
from tests.helpers.engines import ENGINES, collected
from tests.helpers.rows import for_all_rows

SECRET = "a long and secret sentence"
safe = partial(dc.pretabular.safe, secret=SECRET)
NAMES = ["sex", "age", "faith"]
CONTROLS = [["sex", "age"], ["faith"]]


def people(size: int = 400, seed: int = 3) -> pl.DataFrame:
    drawn = np.random.default_rng(seed)
    faiths = drawn.choice(["a", "b", "c", "d", None], size, p=[0.6, 0.2, 0.1, 0.06, 0.04])
    return pl.DataFrame(
        {
            "id": drawn.permutation(size) + 5,
            "sex": drawn.choice(["m", "f"], size),
            "age": drawn.integers(0, 8, size),
            "faith": pl.Series(faiths.tolist(), dtype=pl.String),
            "rent": drawn.normal(size=size),
        }
    )


def counts(frame: pl.DataFrame, names=NAMES) -> pl.DataFrame:
    return frame.group_by(names).len().sort(names)


def errors(before: pl.DataFrame, after: pl.DataFrame, names: list[str]) -> np.ndarray:
    both = pl.concat(
        [before.select(*names, n=pl.lit(-1)), after.select(*names, n=pl.lit(1))]
    )  # fmt: skip
    return both.group_by(names).agg(pl.col("n").sum())["n"].abs().to_numpy()


@pytest.mark.parametrize("exact_up_to", [5_000, 0])
@pytest.mark.parametrize("fill", [False, True])
def test_the_table_of_the_lecture(reference, exact_up_to, fill) -> None:
    cells = pl.read_csv(reference / "lecture" / "religion_by_school.csv")
    inner = cells.filter((pl.col("school") != "Total") & (pl.col("religion") != "Total"))
    records = inner.select(pl.exclude("count").repeat_by("count").explode())
    names = ["school", "religion"]
    made = safe(
        records.with_row_index("id"), id="id", variables=names,
        controls=[["school"], ["religion"]], fill=fill, exact_up_to=exact_up_to,
    )  # fmt: skip
    assert made.measures["largest_error"] == made.measures["least_possible_error"] == 0
    assert made.measures["change"] == 4
    assert exact_up_to == 0 or made.measures["least_possible_change"] == 4
    assert made.measures["moved"] == 2
    assert made.measures["removed"] == made.measures["copied"] == 0
    for name in names:
        assert errors(records, made.records, [name]).max() == 0
    assert counts(made.records, names)["len"].min() == 3


@given(
    size=st.integers(0, 120), seed=st.integers(0, 10**6), at_least=st.integers(2, 5),
    fill=st.booleans(), by=st.sampled_from([(), "land"]), exact=st.sampled_from([0, 60]),
)  # fmt: skip
def test_no_combination_is_rare_and_controls_err_as_stated(
    size, seed, at_least, fill, by, exact
) -> None:
    before = people(size, seed).with_columns(land=pl.col("id") % 2)
    impossible = "age < 2 and faith == 'a'"
    before = before.filter(~((pl.col("age") < 2) & (pl.col("faith") == "a")).fill_null(value=False))
    strata = [by] if by else []
    made = safe(
        before, id="id", variables=NAMES, controls=CONTROLS, at_least=at_least, fill=fill, by=by,
        structural_zeros=impossible, exact_up_to=exact,
    )  # fmt: skip
    after, told = made.records, made.measures
    assert (counts(after, [*strata, *NAMES])["len"] >= at_least).all()
    assert after.filter((pl.col("age") < 2) & (pl.col("faith") == "a")).is_empty()
    off = [errors(before, after, [*strata, *names]) for names in CONTROLS]
    assert [int(one.max(initial=0)) for one in off] == [
        c["largest_error"] for c in told["controls"]
    ]
    assert max((int(one.max(initial=0)) for one in off), default=0) <= told["largest_error"]
    assert told["least_possible_error"] <= told["largest_error"]
    assert told["least_possible_change"] <= told["change"]
    assert errors(before, after, [*strata, *NAMES]).sum() == told["change"]
    rare = counts(before, [*strata, *NAMES])["len"]
    assert (told["combinations"], told["below"]) == (len(rare), (rare < at_least).sum())
    assert told["combinations_after"] == counts(after, [*strata, *NAMES]).height
    assert after["id"].n_unique() == after.height == told["records_after"]
    if not fill:
        known = before.select(*strata, *NAMES).unique()
        assert after.join(known, on=[*strata, *NAMES], how="anti", nulls_equal=True).is_empty()
    log = made.changes
    assert log.height == told["moved"] + told["removed"] + told["copied"]
    # As few records as can be: what is missing in some is first taken from what others have over.
    assert told["removed"] == 0 or told["copied"] == 0 or by


@pytest.mark.parametrize("asked", [{}, {"id": "id"}])
def test_order_does_not_matter(asked) -> None:
    land = pl.when(pl.col("id") < 7).then(9).otherwise(pl.col("id") % 3)
    data = people(300).with_columns(record_key=pl.col("id") * 7, land=land)
    names = ["sex", "age"]
    asked = asked | {"variables": names, "controls": [names], "at_least": 10, "by": "land"}
    plain = safe(data, **asked)
    assert min(plain.measures[word] for word in ("moved", "removed", "copied")) > 0
    made = safe(data.sample(fraction=1, shuffle=True, seed=2), **asked).records
    columns = data.columns
    assert made.sort(columns).equals(plain.records.sort(columns), null_equal=True)


def test_the_choice_stays_what_it_is() -> None:
    made = safe(people(40), id="id", variables=NAMES, controls=CONTROLS, exact_up_to=0)
    assert dict(made.changes.sort("id").select("id", "after").rows()) == {
        6: "f/5/c", 7: "m/2/b", 8: "m/7/b", 9: "m/2/b", 10: "f/1/a", 11: "m/1/a", 13: "f/3/d",
        14: None, 15: "f/1/a", 16: "f/5/c", 20: "m/3/a", 26: "f/4/b", 32: "m/4/a", 34: "f/7/a",
        40: "f/7/a", 43: "m/7/b", 44: "f/3/d",
    }  # fmt: skip


def test_another_secret_chooses_others() -> None:
    asked = {"id": "id", "variables": NAMES, "controls": CONTROLS}
    one, other = safe(people(), **asked), safe(people(), **asked | {"secret": "another sentence!"})
    assert not one.changes["id"].sort().equals(other.changes["id"].sort())


def test_who_moves_keeps_everything_else() -> None:
    data = dc.with_record_keys(people(), id="id", secret=SECRET)
    made = safe(data, id="id", variables=NAMES, controls=CONTROLS)
    kept = made.records.join(data, on="id", suffix="_before")
    assert (kept["rent"] == kept["rent_before"]).all()
    assert (kept["record_key"] == kept["record_key_before"]).all()
    moved = kept.filter(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_before")) for name in NAMES)
    )
    log = made.changes.filter(pl.col("change") == "moved")
    assert sorted(moved["id"]) == sorted(log["id"])
    texts = pl.concat_str([pl.col(n).cast(pl.String).fill_null("") for n in NAMES], separator="/")
    then = log.join(made.records.select("id", now=texts), on="id")
    assert (then["after"] == then["now"]).all()
    one_apart = sum(
        moved[name].ne_missing(moved[f"{name}_before"]).cast(int) for name in NAMES
    )  # fmt: skip
    assert (one_apart == 1).mean() > 0.8


COPIES = pl.DataFrame({"sex": ["m"] * 5 + ["f"] * 2, "rent": [1.5] * 5 + [2.5] * 2})


@pytest.mark.parametrize(
    ("ids", "new"),
    [([1, 2, 3, 4, 5, 6, 99], 101), ([*"abcdefg"], "+1"), ([10, 11, 12, 13, 14, 15, 100], 1001)],
)
def test_copies_have_names_and_keys_of_their_own(ids, new) -> None:
    data = COPIES.with_columns(id=pl.Series(ids))
    keyed = dc.with_record_keys(data, id="id", secret=SECRET)
    made = safe(keyed, id="id", variables=["sex"], controls=[["sex"]])
    copy = made.records.tail(1)
    assert made.measures["copied"] == 1
    assert copy["id"].to_list() == [new]
    assert copy.select("sex", "rent").rows() == [("f", 2.5)]
    assert made.records["record_key"].n_unique() == made.records.height == 8
    assert dc.tabulate(made.records, by=["sex"], record_key="record_key") is not None
    assert made.changes.select("change", "before", "after", "copy").rows() == [
        ("copied", "f", "f", str(new))
    ]


@for_all_rows("kind", ["pandas", "pyarrow", "duckdb"])
@for_all_rows("text", [True, False])
def test_copies_on_other_engines(kind, text) -> None:
    ids = pl.Series(range(7), dtype=pl.Int32)
    data = COPIES.with_columns(id=ids.cast(pl.String) if text else ids)
    given = ENGINES[kind](data)
    made = safe(given, id="id", variables=["sex"], controls=[["sex"]]).records
    assert type(made) is type(given)
    if kind == "pandas":
        assert (made.dtypes == given.dtypes).all()
    assert collected(made).tail(1).select("id", "sex", "rent").rows() == [
        ("+1" if text else 11, "f", 2.5)
    ]


@given(one=st.lists(st.integers(0, 4), max_size=30), other=st.lists(st.integers(0, 4), max_size=30))
def test_pairs_are_alike_and_as_many_as_can_be(one, other) -> None:
    first, second = np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)
    here, there = paired(first, second)
    assert (first[here] == second[there]).all()
    assert len(set(here)) == len(here) == sum(min(one.count(k), other.count(k)) for k in range(5))


def test_a_stratum_of_too_few_is_left_empty() -> None:
    data = pl.DataFrame({"id": range(5), "land": [1, 2, 2, 2, 2], "sex": ["m"] * 5})
    made = safe(data, id="id", variables=["sex"], controls=[["sex"]], by="land")
    assert made.records["land"].to_list() == [2] * 4
    assert made.changes.select("id", "change", "after").rows() == [(0, "removed", None)]


def table(drawn: np.random.Generator, size: int, largest: int):
    """Counts, and two-way tables of three variables of four codes."""
    codes = drawn.integers(0, 4, (3, size))
    pairs = [one * 4 + other for one, other in itertools.combinations(codes, 2)]
    return drawn.geometric(0.4, size).clip(1, largest), [*pairs, np.zeros(size, dtype=np.int64)]


@for_all_rows("seed", range(6))
def test_the_search_is_near_the_optimum(seed) -> None:
    count, cells = table(np.random.default_rng(seed), 60, 9)
    best = safe_counts(count, cells, 3, seed=1, exact=True)
    near = safe_counts(count, cells, 3, seed=1, exact=False)
    for made in (best, near):
        change = made.count - count
        assert made.error == max(np.abs(np.bincount(one, weights=change)).max() for one in cells)
    assert best.error == best.least_error
    assert np.abs(best.count - count).sum() == best.least_change
    assert best.error <= near.error <= best.error + 1
    if near.error == best.error:
        change = np.abs(near.count - count).sum()
        assert best.least_change <= change <= 1.3 * best.least_change + 2


@pytest.mark.parametrize(("at_least", "within"), [(2, 1), (3, 1), (5, 3)])
def test_the_search_keeps_many_combinations_within_little(at_least, within) -> None:
    count, cells = table(np.random.default_rng(1), 5_000, 9)
    made = safe_counts(count, cells, at_least, seed=1, exact=False)
    off = max(np.abs(np.bincount(one, weights=made.count - count)).max() for one in cells)
    assert off == made.error <= within
    assert ((made.count == 0) | (made.count >= at_least)).all()
    assert np.abs(made.count - count).sum() < 1.5 * made.least_change


def test_the_optimum_is_that_of_all_counts_tried() -> None:
    drawn = np.random.default_rng(8)
    for _ in range(3):
        count, cells = drawn.integers(1, 5, 5), [drawn.integers(0, 2, 5), drawn.integers(0, 3, 5)]
        best = (99, 99)
        for tried in itertools.product([0, 3, 4, 5, 6, 7], repeat=5):
            change = np.array(tried) - count
            off = max(np.abs(np.bincount(one, weights=change)).max() for one in cells)
            best = min(best, (int(off), int(np.abs(change).sum())))
        made = safe_counts(count, cells, 3, seed=1, exact=True)
        assert (made.error, int(np.abs(made.count - count).sum())) == best


@pytest.mark.exhaustive
def test_a_larger_file_within_five() -> None:
    persons = generate(persons=100_000).persons
    names = ["district", "sex", "age", "nationality", "marital_status", "education", "occupation"]
    pairs = [list(one) for one in itertools.combinations(names, 2)][:20]
    made = safe(persons, id="person_id", variables=names, controls=pairs)
    assert made.measures["below"] > 50_000
    assert made.measures["largest_error"] <= 5
    assert counts(made.records, names)["len"].min() >= 3


@for_all_rows(
    ("changed", "word"),
    [
        ({"controls": [["rent"]]}, "control tables must use the variables"),
        ({"controls": []}, "too few entries; at least 1"),
        ({"variables": []}, "too few entries; at least 1"),
        ({"at_least": 1}, "at least 2"),
        ({"variables": ["rent"], "controls": [["rent"]]}, "cannot be recoded"),
        ({"id": "rent2"}, "have a repeated identifier"),
        ({"id": "none"}, "not found"),
        ({"structural_zeros": "sex == 'm'"}, "some records have an impossible combination"),
        ({"structural_zeros": "rent > 0"}, "not found"),
        ({"record_key": "rent"}, "whole numbers"),
        ({"by": "sex"}, "name one or more variables, each once, and no key or stratum"),
    ],
)
def test_wrong_input_is_refused(changed, word) -> None:
    asked = {"id": "id", "variables": NAMES, "controls": CONTROLS}
    with pytest.raises(dc.errors.DiscreetError, match=word):
        safe(people(50).with_columns(rent2=pl.lit("1")), **asked | changed)


def test_only_what_is_to_be_filled_may_be_too_much() -> None:
    wide = pl.DataFrame({name: range(120) for name in ("a", "b", "c")})
    asked = {"variables": ["a", "b", "c"], "controls": [["a"]], "exact_up_to": 0}
    assert safe(wide, **asked).measures["combinations"] == 120
    with pytest.raises(MicrodataError, match="too many combinations to fill: 1,728,000"):
        safe(wide, **asked, fill=True)


def test_a_condition_that_the_engine_refuses_quotes_no_value() -> None:
    dates = pl.DataFrame({"born": [dt.date(1990, 1, 1)] * 4})
    with pytest.raises(dc.errors.FilterError):
        safe(dates, variables=["born"], controls=[["born"]], structural_zeros="born == 'x'")


def test_identifiers_that_copies_cannot_have_are_refused() -> None:
    data = COPIES.with_columns(id=pl.Series([f"+{at}" for at in range(7)]))
    with pytest.raises(MicrodataError, match="plus sign"):
        safe(data, id="id", variables=["sex"], controls=[["sex"]])
    narrow = COPIES.with_columns(id=pl.Series([*range(1, 7), 120], dtype=pl.Int8))
    with pytest.raises(
        MicrodataError, match="the column is too small for the identifiers of copies"
    ):
        safe(narrow, id="id", variables=["sex"], controls=[["sex"]])
