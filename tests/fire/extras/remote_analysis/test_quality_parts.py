"""Remote analysis: protected copies, distances, canonical queries, the ledger."""

import multiprocessing
import os
import pickle
import signal
import sqlite3
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, OutputCheckError
from discreet.microdata.secret import Secret
from discreet_fire import statistics
from discreet_fire.extras.remote_analysis import (
    Budget,
    BudgetLedger,
    QualityClass,
    RemoteAnalysis,
    RemoteQuery,
    compare,
    protect,
)
from discreet_fire.extras.remote_analysis.analysis import data_digest
from discreet_fire.extras.remote_analysis.answers import AnswerKey
from tests.helpers.rows import for_all_rows

SECRET = Secret(b"salt of our tests")


def people(count: int = 2000, slope: float = 2.0) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    x = draw.normal(size=count)
    return pl.DataFrame(
        {
            "pid": np.arange(count),
            "x": x,
            "y": slope * x + draw.normal(size=count),
            "g": draw.choice(["a", "b", "c"], count),
            "w": draw.uniform(1, 2, count),
        }
    ).with_columns(x=pl.when(pl.col("pid") % 50 == 0).then(None).otherwise("x"))


def protected(frame: pl.DataFrame, **options: float) -> pl.DataFrame:
    return protect(
        frame, id="pid", secret=SECRET, numeric=["x", "y"], categorical=["g"], keep=["w"], **options
    )


# --- protected copies ---------------------------------------------------------------


def test_a_copy_keeps_values_and_gaps_and_moves_most_numbers() -> None:
    frame = people()
    copy = protected(frame, distance=0.05)
    for name in ("x", "y", "g"):
        assert copy[name].sort().equals(frame[name].sort())
    assert copy["x"].is_null().equals(frame["x"].is_null())
    assert copy["w"].equals(frame["w"])
    assert (copy["y"] != frame["y"]).mean() > 0.95
    ranks = (copy["y"].rank() - frame["y"].rank()).abs()
    assert 50 < ranks.max() < 105
    assert 0.05 < (copy["g"] != frame["g"]).mean() < 0.15


def test_a_copy_does_not_depend_on_the_order_of_rows_but_on_the_secret() -> None:
    frame = people(500)
    copy = protected(frame)
    turned = protected(frame.sample(fraction=1, shuffle=True, seed=3)).sort("pid")
    assert turned.equals(copy)
    other = protect(
        frame,
        id="pid",
        secret=Secret(b"salt of two tests"),
        numeric=["x", "y", "w"],
        categorical=["g"],
    )
    assert not other["y"].equals(copy["y"])


@given(st.lists(st.one_of(st.none(), st.floats(-5, 5), st.just(float("nan"))), max_size=40))
def test_any_column_keeps_its_values(values: list[float | None]) -> None:
    frame = pl.DataFrame({"id": range(len(values)), "v": pl.Series(values, dtype=pl.Float64)})
    copy = protect(frame, id="id", secret=SECRET, numeric=["v"], distance=0.3)
    assert copy["v"].sort().equals(frame["v"].sort(), null_equal=True)
    assert copy["v"].is_null().equals(frame["v"].is_null())


@for_all_rows(
    ("options", "text"),
    [
        ({"numeric": ["x"]}, "nothing is said about the column"),
        ({"numeric": ["x", "y", "g", "w"]}, "does not hold numbers"),
        ({"numeric": ["x", "y", "w", "pid"], "categorical": ["g"]}, "named twice"),
        ({"numeric": ["x", "y", "w", "zz"], "categorical": ["g"]}, "column not found"),
        ({"numeric": "x"}, "list of names"),
        ({"numeric": ["x", "y", "w"], "categorical": ["g"], "share": 0.0}, "share above 0"),
    ],
)
def test_wrong_roles_are_told(options: dict, text: str) -> None:
    with pytest.raises(OutputCheckError, match=text):
        protect(people(20), id="pid", secret=SECRET, **options)


def test_digests_tell_data_apart_but_not_orders() -> None:
    frame = people(50)
    assert data_digest(frame) == data_digest(frame.reverse().select(reversed(frame.columns)))
    changed = frame.with_columns(y=pl.when(pl.col("pid") == 3).then(0.0).otherwise("y"))
    split = [pl.DataFrame({"a": one}) for one in (["ab", "c"], ["a", "bc"], ["abc", None])]
    assert len({data_digest(one) for one in (frame, changed, *split)}) == 5


# --- distances ----------------------------------------------------------------------


def interval(value: float, error: float, chance: float = 0.0) -> statistics.SafeResult:
    row = {
        "term": "x", "state": "estimated", "coefficient": value, "std_err": error, "p": chance,
        "low": value - 1.96 * error, "high": value + 1.96 * error,
    }  # fmt: skip
    return statistics.SafeResult(command="regress", shown="", frame=pl.DataFrame([row]))


@for_all_rows(
    ("moved", "expected"),
    [(0.3, "very close"), (0.9, "close"), (1.9, "fair"), (2.1, "far"), (9.0, "far")],
)
def test_overlap_of_intervals(moved: float, expected: str) -> None:
    """Two intervals of one length overlap by 1 - d / 3.92 where estimates differ by d errors.

    The measure is that of Karr et al. (2006), The American Statistician 60(3), 224-232.
    """
    assert compare(interval(10, 1), interval(10 + moved, 1)) == expected


def test_turned_signs_and_lost_significance_count() -> None:
    assert compare(interval(0.02, 0.2, 0.04), interval(-0.02, 0.2, 0.9)) == "far"
    assert compare(interval(0.02, 0.2, 0.5), interval(-0.02, 0.2, 0.9)) == "very close"
    assert compare(interval(2.0, 1.0, 0.045), interval(1.9, 1.0, 0.055)) == "fair"


def test_real_models_and_tables() -> None:
    frame = people()
    near, rough = protected(frame, distance=0.01), protected(frame, distance=0.9, share=0.9)
    ask = [
        ("regress", {"outcome": "y", "terms": ["x"]}),
        ("correlate", {"names": ["x", "y"]}),
        ("tabulate", {"row": "g"}),
        ("summarize", {"names": ["x", "y"]}),
        ("centile", {"names": ["y"], "centiles": [25, 50]}),
    ]
    found = {}
    for command, arguments in ask:
        query = RemoteQuery.of(command, **arguments)
        found[command] = [
            compare(query.run(frame), query.run(copy)).value for copy in (frame, near, rough)
        ]
    assert all(classes[0] == "very close" for classes in found.values())
    assert found["correlate"][1:] == ["very close", "far"]
    assert found["regress"][2] == "far"
    assert found["tabulate"] == found["summarize"] == ["very close"] * 3  # values are kept


def test_what_the_original_withholds_is_far() -> None:
    one = pl.DataFrame({"g": ["a"] * 9 + ["b"] * 2})
    other = pl.DataFrame({"g": ["a"] * 6 + ["b"] * 5})
    assert compare(statistics.tabulate(one, "g"), statistics.tabulate(other, "g")) == "far"


# --- queries ------------------------------------------------------------------------


@for_all_rows(
    ("one", "other", "same"),
    [
        ("x > 5", "5 < x", True),
        ("x > 5", "x >= 6", False),
        ("1 < x < 5", "x < 5 and 1 < x", True),
        ("g in ('a', 'b')", 'g in ("b", "a", "a")', True),
        ("x == 1 or (y == 2 or x == 1)", "y == 2.0 or x == 1", True),
        ("x == 1 and y == 2 or z == 3", "x == 1 and (y == 2 or z == 3)", False),
        ("not x == 1", "x == 1", False),
        ("not x == 1", "x != 1", True),
        ("not not x == 1", "x == 1", True),
        ("not (x > 5 or y <= 2)", "y > 2 and x <= 5", True),
        ("not 1 < x <= 5", "x > 5 or x <= 1", True),
        ("x in (1,)", "x == 1", True),
        ("x in (1, 2) or y == 3", "y == 3 or x == 2 or x == 1", True),
        ("x not in (1, 2)", "not (x == 2.0 or x == 1)", True),
        ("not (x not in (1, 2))", "x in [2, 1]", True),
        ("not x is null", "x is not null", True),
        ("x in (1, 2)", "x == 1 and x == 2", False),
        ("x < y", "y < x", False),
        ("not b", "b", False),
        ("x == 1", "x == '1'", False),
        ("`my x` > 1 and `o` < 2", "`o` < 2 and `my x` > 1", True),
        ("x is null", "x is not null", False),
        ("x == -1", "-1 == x", True),
    ],
)
def test_filters_in_other_words(one: str, other: str, same: bool) -> None:
    texts = [RemoteQuery.of("count", where=text).text for text in (one, other)]
    assert (texts[0] == texts[1]) is same


def test_arguments_in_other_words() -> None:
    same = [
        RemoteQuery.of("tabstat", names=["y", "x"], statistics="mean sd", by="g"),
        RemoteQuery.of(
            "tabstat", names=["x", "y"], statistics=["sd", "mean"], by="g", weights=None
        ),
    ]
    assert same[0].text == same[1].text
    assert RemoteQuery.of("tabulate", row="g", column="h").text == RemoteQuery.of(
        "tabulate", row="h", column="g", missing=False
    ).text  # fmt: skip
    terms = [["i.sex##c.age", "pay"], "pay age i.sex c.age#i.sex", "pay c.age##sex"]
    assert len({RemoteQuery.of("regress", outcome="y", terms=one).text for one in terms}) == 1
    bases = ["ib3.sex", "i.sex", "c.sex", "i(1 2).sex"]
    assert len({RemoteQuery.of("regress", outcome="y", terms=one).text for one in bases}) == 4
    assert RemoteQuery.of("tabstat", names="x", by=["g"]).arguments["by"] == "g"
    assert RemoteQuery.of("count").text != RemoteQuery.of("count", where="x > 1").text


@for_all_rows(
    ("command", "arguments", "text"),
    [
        ("inspect", {}, "cannot be asked for"),
        ("count", {"limits": None}, "set by the centre"),
        ("count", {"colour": 1}, "unknown argument"),
        ("regress", {"terms": ["x"]}, "is missing"),
        ("count", {"where": "import os"}, "filter"),
        ("centile", {"names": "x", "centiles": {1: 2}}, "each is a number"),
        ("centile", {"names": "x", "centiles": [[1], [2]]}, "each is a number"),
        ("centile", {"names": "x", "level": "95"}, "not a number"),
        ("tabulate", {"row": 5}, "not a text"),
        ("tabulate", {"row": "g", "missing": "yes"}, "not true or false"),
        ("tabulate", {"row": ["g", "h"]}, "not a text"),
        ("tabstat", {"names": "x", "by": ["g", "h"]}, "not a text"),
    ],
)
def test_wrong_queries_are_told(command: str, arguments: dict, text: str) -> None:
    with pytest.raises(DiscreetError, match=text):
        RemoteQuery.of(command, **arguments)


# --- ledger -------------------------------------------------------------------------


def test_budgets_of_one_and_of_all(tmp_path) -> None:
    ledger = BudgetLedger.create(tmp_path / "b", Budget(answer=0.1, each=0.3, everyone=0.4))
    assert ledger.budget.most_answers == 3
    for question in "abc":
        ledger.charge("d", "Weber", question, QualityClass.far)
    with pytest.raises(OutputCheckError, match="researcher is used up"):
        ledger.charge("d", "Weber", "z", QualityClass.far)
    assert ledger.charge("d", "Weber", "a", QualityClass.close) == "far"  # as it was given
    assert ledger.charge("d", "Meyer", "a", QualityClass.close) == "far"
    ledger.charge("d", "Meyer", "x", QualityClass.far)
    with pytest.raises(OutputCheckError, match="data set is used up"):
        ledger.charge("d", "Meyer", "y", QualityClass.far)
    assert ledger.usage("d", "Meyer").left == 1
    ledger.charge("other", "Weber", "z", QualityClass.far)


def test_the_ledger_is_never_changed(tmp_path) -> None:
    ledger = BudgetLedger.create(tmp_path / "b", Budget())
    ledger.charge("d", "Weber", "a", QualityClass.far)
    connection = sqlite3.connect(tmp_path / "b")
    for change in ("DELETE FROM charges", "UPDATE budget SET each = 1000"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute(change)
    connection.close()
    with pytest.raises(OutputCheckError, match="already a file"):
        BudgetLedger.create(tmp_path / "b", Budget())
    (tmp_path / "c").write_bytes(os.urandom(4096))
    with pytest.raises(OutputCheckError, match="cannot be used"):
        BudgetLedger(tmp_path / "c")


def _ask_many(path: str, name: str, told: object) -> None:
    ledger = BudgetLedger(path)
    for number in range(1000):
        try:
            ledger.charge("d", "Weber", f"{name} {number}", QualityClass.far)
        except OutputCheckError:
            return
        told.put((name, number))  # type: ignore[attr-defined]


@pytest.mark.parametrize("killed", [False, True])
def test_two_at_once_and_kill_9(tmp_path, killed: bool) -> None:
    """Never more charges than the budget, and never an answer without its charge."""
    path = tmp_path / "b"
    ledger = BudgetLedger.create(path, Budget(answer=1, each=40, everyone=60))
    context = multiprocessing.get_context("fork")
    told = [context.SimpleQueue() for _ in "ab"]  # one that is killed holds up nobody else
    both = [
        context.Process(target=_ask_many, args=(str(path), name, own))
        for name, own in zip("ab", told, strict=True)
    ]
    for one in both:
        one.start()
    if killed:
        while ledger.usage("d", "Weber").answers < 5:
            time.sleep(0.001)
        os.kill(both[0].pid, signal.SIGKILL)
    for one in both:
        one.join(180)
    assert ledger.usage("d", "Weber").answers == 40
    known = []
    for own in told:
        while not own.empty():
            known.append("{} {}".format(*own.get()))
    assert len(known) >= (30 if killed else 40)
    assert all(ledger.known("d", "Weber", one) == "far" for one in known)


# --- the whole ----------------------------------------------------------------------


def test_a_session(tmp_path) -> None:
    frame = people()
    ledger = BudgetLedger.create(tmp_path / "b", Budget(answer=20, each=60, everyone=60))
    desk = RemoteAnalysis(frame, protected(frame), secret=SECRET, ledger=ledger, data="panel")
    answer = desk.ask("Weber", "correlate", names=["x", "y"])
    assert answer.quality == "very close"
    assert answer.result.stored == statistics.correlate(protected(frame), ["x", "y"]).stored
    assert "quality: very close" in str(answer)
    assert answer.left == 2


def test_secrets_stay_inside(tmp_path) -> None:
    frame = people(20)
    ledger = BudgetLedger.create(tmp_path / "b", Budget())
    desk = RemoteAnalysis(frame, frame, secret=SECRET, ledger=ledger, data="panel")
    assert repr(desk) == "<RemoteAnalysis (confidential)>"
    for secret in (desk, AnswerKey(SECRET)):
        with pytest.raises((TypeError, DiscreetError)):
            pickle.dumps(secret)
    with pytest.raises(OutputCheckError, match="different columns"):
        RemoteAnalysis(frame, frame.drop("x"), secret=SECRET, ledger=ledger, data="panel")


def test_other_frames_and_kinds_of_columns(tmp_path) -> None:
    frame = people(60).with_columns(
        d=pl.col("y").round(2).cast(pl.Decimal(10, 2)),
        t=pl.date(2020, 1, 1),
        b=pl.col("pid") % 3 == 0,
    )
    roles = {"numeric": ["x", "y", "d"], "categorical": ["g", "b"], "keep": ["w", "t"]}
    copy = protect(frame.lazy(), id="pid", secret=SECRET, **roles)
    assert copy["d"].sort().equals(frame["d"].sort())
    assert copy.schema == frame.schema
    from_pandas = protect(people(60).to_pandas(), id="pid", secret=SECRET, numeric=["y", "x"],
                          categorical=["g"], keep=["w"])  # fmt: skip
    assert from_pandas["y"].equals(copy["y"])
    ledger = BudgetLedger.create(tmp_path / "b", Budget())
    options = {"secret": SECRET, "ledger": ledger, "data": "panel"}
    assert RemoteAnalysis(frame, copy, **options).ask("W", "tabulate", row="g").left == 9
    nested = frame.with_columns(n=pl.concat_list("x", "y"))
    with pytest.raises(DiscreetError):
        RemoteAnalysis(nested, nested, **options)


def test_errors_on_the_original_alone_are_answers_like_others(tmp_path) -> None:
    """A value of the original is too large for any command; the copy has none such."""
    copy = people(200).select("pid", "y")
    original = copy.with_columns(y=pl.when(pl.col("pid") == 3).then(1e200).otherwise("y"))
    with pytest.raises(DiscreetError, match="huge"):
        statistics.summarize(original, "y")
    ledger = BudgetLedger.create(tmp_path / "b", Budget(answer=20, each=20, everyone=20))
    desk = RemoteAnalysis(original, copy, secret=SECRET, ledger=ledger, data="panel")
    assert desk.ask("W", "summarize", names="y").quality == "far"
