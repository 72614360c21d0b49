"""Survival: the estimate of Kaplan and Meier over classes of time, in which nobody stands alone."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

import discreet_fire as fire
from discreet.errors import DisclosureWarning, OutputCheckError
from discreet_fire.statistics import CheckVerdict, SafeLimits
from discreet_fire.statistics.panel import survival


def _data(n: int = 300, seed: int = 2) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "t": draw.exponential(20, n).round(1),
            "e": draw.integers(0, 2, n),
            "g": draw.choice(["a", "b"], n),
        }
    )


def _class(frame: pl.DataFrame, labels: list[str]) -> np.ndarray:
    ends = [float(label.rpartition("<")[2]) for label in labels[:-1]]
    return np.searchsorted(ends, frame["t"].to_numpy(), side="right")


def test_the_estimate_of_grouped_times() -> None:
    data = _data()
    shown = survival(data, "t", "e", edges=[5, 10, 20, 30, 40]).frame
    assert shown is not None
    known = SurvfuncRight(_class(data, shown["t"].to_list()), data["e"].to_numpy())
    assert shown["survival"].to_list() == pytest.approx(known.surv_prob.tolist(), rel=1e-6)
    assert shown["std_error"].to_list() == pytest.approx(known.surv_prob_se.tolist(), rel=1e-6)
    assert shown["at_risk"].to_list() == known.n_risk.tolist()
    assert shown["events"].to_list() == known.n_events.tolist()


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.booleans(), st.sampled_from("abc")),
        min_size=3,
        max_size=60,
    ),
    st.integers(2, 6),
)
def test_every_step_is_about_enough_cases(rows: list[tuple[int, bool, str]], minimum: int) -> None:
    data = pl.DataFrame(rows, schema=["t", "e", "g"], orient="row")
    limits = SafeLimits(minimum=minimum)
    edges = [2, 4, 6, 8, 10]
    shown = survival(data, "t", "e", by="g", edges=edges, limits=limits).frame
    for row in () if shown is None else shown.rows(named=True):
        for name in ("events", "left"):
            assert row[name] is None or row[name] == 0 or row[name] >= minimum
        assert (row["events"] is None) == (row["survival"] is None)


def test_cases_are_persons() -> None:
    data = pl.DataFrame({"pid": [1] * 30 + list(range(2, 40)), "t": [1.0] * 30 + [9.0] * 38})
    data = data.with_columns(e=pl.when(pl.col("t") < 5).then(1).otherwise(0))
    persons = survival(data, "t", "e", edges=[5.0], entity="pid")
    assert persons.verdict is CheckVerdict.fail
    assert persons.frame is None or persons.frame["events"].null_count() == persons.frame.height
    rows = survival(data, "t", "e", edges=[5.0])
    assert rows.frame["events"].to_list() == [30, 0]


def test_a_small_group_is_hidden_and_cannot_be_worked_out() -> None:
    few = pl.DataFrame({"t": [3.0, 4.0], "e": [1, 0], "g": ["c", "c"]})
    session = fire.session("P", data=pl.concat([_data(), few]))
    first = session.survival("t", "e", by="g")
    assert set(first.frame.filter(g="c")["events"]) == {None}
    assert first.svg.count("<path") == 3
    with pytest.warns(DisclosureWarning, match="g = c"):
        session.survival("t", "e")
    changed = session.protect()
    assert not session.check().linked
    # a series is hidden as a whole: each number follows from those beside it
    for one in changed:
        for row in one.frame.rows(named=True):
            assert len({x is None for name, x in row.items() if name in ("events", "at_risk")}) == 1
        groups = one.frame.group_by("g" if "g" in one.frame.columns else pl.lit(0))
        assert all(part["events"].null_count() in (0, part.height) for _, part in groups)


def test_all_had_the_event_is_looked_at() -> None:
    data = pl.DataFrame({"t": [1, 2, 3, 4, 5, 6] * 5, "e": [1] * 30})
    found = survival(data, "t", "e", edges=[3, 5])
    assert found.verdict is CheckVerdict.review
    assert "everyone who was left" in found.checks[-1].reason


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"e": pl.lit(2)}, "an event is 1"),
        ({"t": pl.lit(-1.0)}, "negative"),
        ({"t": pl.lit("x")}, "does not hold numbers"),
    ],
)
def test_bad_input(change: dict[str, pl.Expr], what: str) -> None:
    with pytest.raises(OutputCheckError, match=what):
        survival(_data().with_columns(**change), "t", "e", edges=[5])
    with pytest.raises(OutputCheckError, match="different variables"):
        survival(_data(), "t", "e", by="e")
