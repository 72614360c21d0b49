"""Records from trees: the same bytes in any order, and what never leaves the original."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.demo import generate
from discreet.errors import DiscreetError
from discreet.microdata import Secret
from discreet.synthesis import synthesise
from discreet.synthesis.columns import columns_of
from discreet.synthesis.trees import draw_columns

SECRET = "a long and secret sentence"
CHILD = "age < 15 and marital_status != 'single'"


def people(size: int, seed: int = 1) -> pl.DataFrame:
    """Invented persons with an income in cents, which children do not have, and a birthday."""
    columns = ("person_id", "age", "sex", "marital_status", "education", "district")
    frame = generate(persons=size, seed=seed).persons.select(columns)
    drawn = np.random.default_rng(seed)
    income = np.exp(drawn.normal(7, 0.5, size)) * (1 + frame["age"].to_numpy() / 60)
    born = np.datetime64("2026-01-01") - 365 * frame["age"].to_numpy().astype(int)
    born = born - drawn.integers(0, 365, size)
    return frame.with_columns(
        income=pl.when(pl.col("age") > 14).then(pl.Series(income.round(2))),
        born=pl.Series(born),
    )


PERSONS = people(2_000)
EVERY = PERSONS.columns[1:]


def made_of(frame: pl.DataFrame, **options: Any) -> pl.DataFrame:
    options = {"variables": EVERY, **options}
    return synthesise(frame, id="person_id", secret=SECRET, **options).described.frame


def test_neither_the_order_of_records_nor_threads_change_a_byte(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "variables": EVERY, "leaf": 20, "structural_zeros": [CHILD], "keys": ["age", "sex"],
        "sensitive": ["income"], "models": [["income", "age", "education"]], "limit": 1.0,
    }  # fmt: skip
    files = []
    for at, frame in enumerate((PERSONS, PERSONS.sample(fraction=1, shuffle=True, seed=5))):
        made = synthesise(frame, id="person_id", secret=SECRET, **options)
        place = made.write(tmp_path / f"{at}.csv")
        report = (tmp_path / f"{at}-report.json").read_bytes()
        files.append((place.read_bytes(), report, made.report.text("de")))
    assert files[0] == files[1]
    other = synthesise(PERSONS, id="person_id", secret="another long sentence", **options)
    assert not other.described.frame.equals(made.described.frame)


def test_draws_and_values_are_pinned() -> None:
    """A change of these is a change of every file that was ever made."""
    made = made_of(PERSONS, variables=["sex", "age", "income"], records=4)
    assert made.rows() == PINNED


PINNED = [("w", 9, None), ("w", 27, 760.67), ("w", 37, 644.29), ("w", 62, 1013.58)]


def test_types_tables_and_means_are_kept() -> None:
    made = made_of(PERSONS, leaf=20, structural_zeros=[CHILD])
    assert made.schema == PERSONS.drop("person_id").schema
    assert made.filter(pl.col("age") < 15)["marital_status"].unique().to_list() == ["single"]
    for frame, other in ((PERSONS, made), (made, PERSONS)):
        for name in ("age", "income"):
            error = float(frame[name].std()) / len(frame) ** 0.5
            assert abs(frame[name].mean() - other[name].mean()) < 5 * error
    # Who has no income is young, as in the original.
    assert (made["income"].is_null() == (made["age"] < 15)).mean() > 0.98


def test_no_number_of_one_person_and_no_rare_code_is_repeated() -> None:
    made = made_of(PERSONS, leaf=10)
    for name in ("income", "born", "age"):
        alone = PERSONS[name].drop_nulls().value_counts().filter(pl.col("count") == 1)
        assert alone.height > 0
        assert made.join(alone, on=name, how="semi").height == 0
        ordered = PERSONS[name].drop_nulls().sort()
        assert made[name].min() >= ordered[9]
        assert made[name].max() <= ordered[-10]
    codes = PERSONS["education"].value_counts().filter(pl.col("count") < 10)["education"]
    assert not set(codes) & set(made["education"])


def test_a_kept_first_column_keeps_its_frequencies() -> None:
    frame = PERSONS.with_columns(pl.col("sex").cast(pl.String))
    for size in (2_000, 1_000):
        kept = made_of(frame, variables=["sex", "age"], keep_first=True, records=size, holdout=0.0)
        share = size / frame.height
        for sex in ("m", "w"):
            expected = share * (frame["sex"] == sex).sum()
            assert abs((kept["sex"] == sex).sum() - expected) <= 1
    columns = columns_of(frame, ["sex", "age"], [], 10)
    drawn = draw_columns(columns, np.arange(2_000), 2_000, Secret.of(SECRET), leaf=50,
                         keep_first=True, rules=[])  # fmt: skip
    share = drawn[0][:500].mean()  # a part of the file is like the whole
    assert abs(share - drawn[0].mean()) < 0.08


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_rules_and_margins_hold_for_any_records(data: st.DataObject) -> None:
    """Conditions hold, nothing of one person is repeated, and codes stay near their shares."""
    size = data.draw(st.integers(120, 400))
    seed = data.draw(st.integers(0, 2**32 - 1))
    drawn = np.random.default_rng(seed)
    codes = drawn.choice(4, size, p=drawn.dirichlet(np.ones(4)))
    scale = data.draw(st.sampled_from([1, 100, 10**6]))
    number = np.round(drawn.normal(codes * 10, 3) * scale, data.draw(st.integers(0, 3)))
    frame = pl.DataFrame({
        "id": np.arange(size), "code": codes, "number": number,
        "other": drawn.integers(0, 40, size) + codes,
        "free": np.where(codes == 0, "no", drawn.choice(["no", "yes"], size)),
    }).with_columns(pl.when(pl.col("other") % 5 > 0).then(pl.col("other")))  # fmt: skip
    rule = "code == 0 and free == 'yes'"
    try:
        made = synthesise(frame, id="id", secret=SECRET, leaf=data.draw(st.integers(3, 40)),
                          threshold=3, structural_zeros=[rule], holdout=0.1)  # fmt: skip
    except DiscreetError as error:
        if "every value is that of one record" not in str(error):
            raise
        return
    after = made.described.frame
    assert after.height == size
    assert not ((after["code"] == 0) & (after["free"] == "yes")).any()
    for name in ("number", "other"):
        alone = frame[name].drop_nulls().value_counts().filter(pl.col("count") == 1)
        few = frame[name].n_unique() <= 20  # codes: those of one record do not occur
        assert after.join(alone, on=name, how="semi").height == 0, (name, few)
    for code, count in frame["code"].value_counts().rows():
        share = count / size
        error = 2 * (share * (1 - share) / (0.9 * size)) ** 0.5
        assert abs((after["code"] == code).mean() - share) < 4 * error + 0.05


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"keys": ["age"]}, "keys: name both"),
        ({"keys": ["age"], "sensitive": ["age"]}, "key variables cannot be sensitive"),
        ({"variables": ["age", "age"]}, "variables: name each column once"),
        ({"variables": ["age", "agee"]}, "closest match: 'age'"),
        ({"variables": ["person_id"]}, "cannot be an identifier"),
        ({"models": [["income"]]}, "a model needs an outcome"),
        ({"models": [["income", "shoes"]]}, "models: 'shoes' is not"),
        ({"leaf": 2}, "leaf: must be at least 3"),
        ({"method": "tables", "keep_first": True}, "needs records"),
        ({"structural_zeros": ["age > 15 and sex == 'm'"]}, "some records have an impossible"),
        ({"structural_zeros": ["shoes > 3"]}, "shoes"),
        ({"holdout": 0.6}, "holdout: must be at most 0.5"),
        ({"method": "forest"}, "method: unknown value"),
        ({"threshold": 900}, "fewer than 4,500 records"),
    ],
)
def test_wrong_input_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(DiscreetError) as caught:
        made_of(PERSONS, **options)
    assert named in str(caught.value)


def test_identifiers_and_lists_are_refused() -> None:
    names = PERSONS.with_columns(mail=pl.format("p{}@example.org", "person_id"))
    for frame, options, named in (
        (PERSONS, {"id": "person_id"}, "born: nearly every value occurs once"),
        (names, {"id": "person_id"}, "mail: texts have the form of e-mail"),
        (names, {"id": "person_id", "variables": ["sex", "mail"]}, "mail: no code has 10 records"),
        (PERSONS, {}, "name the columns that identify a record"),
        (PERSONS, {"id": "age", "variables": ["sex"]}, "repeated identifier"),
        (
            PERSONS.drop("born").with_columns(at=pl.concat_list("age")),
            {"id": "person_id"},
            "at: cannot synth",
        ),
    ):
        with pytest.raises(DiscreetError) as caught:
            synthesise(frame, secret=SECRET, **options)
        assert named in str(caught.value)
    with pytest.raises(DiscreetError, match="a secret is required"):
        synthesise(PERSONS, id="person_id")
