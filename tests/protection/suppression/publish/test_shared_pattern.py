"""Several values under one pattern: hidden for one is hidden for all, and each is protected."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import SharedSuppression, build_problem
from discreet.protection.suppression.proof.audit import audit_problem
from tests.helpers.protected_tables import blanks

REGION = dc.Classification.from_prefixes("region", ["11", "12", "13", "21", "22"], [1, 2])
RULES = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(15)]
VALUES = ("turnover", "wages")


def firms(seed: int = 3, number: int = 250) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.choice(REGION.leaves, number),
            "branch": draw.choice(["a", "b", "c", "d"], number, p=[0.5, 0.3, 0.15, 0.05]),
            "size": draw.choice(["s", "m", "l"], number),
            "turnover": np.ceil(draw.lognormal(4, 1.6, number)),
            "wages": np.ceil(draw.lognormal(3, 2, number)),
        }
    )


def tabulated(by: list[Any], frame: pl.DataFrame | None = None) -> dc.Table:
    given_frame = firms() if frame is None else frame
    return dc.tabulate(given_frame, by=by, values=list(VALUES), contributions=2)


def judged(table: dc.Table, values: tuple[str | None, ...] = VALUES) -> list[Any]:
    rules = {None: RULES[:1]}
    return [dc.primary(table, rules.get(value, RULES), value=value) for value in values]


def hidden_codes(safe: dc.ProtectedTable, figure: str) -> set[tuple[str, ...]]:
    return {codes[:-1] for codes in blanks(safe) if codes[-1] == figure}


def protected(table: dc.Table, hidden: set[tuple[str, ...]], value: str) -> bool:
    """Whether hiding these cells keeps the levels of a value, whoever chose them."""
    mask = np.array([codes in hidden for codes in _codes(table)])
    problem, members = build_problem((table, dc.primary(table, RULES, value=value)), value=value)
    return audit_problem(problem, members.gathered((mask,), len(problem))).safe


def _codes(table: dc.Table) -> list[tuple[str, ...]]:
    names = [dimension.name for dimension in table.dimensions]
    return table.to_polars().select(names).rows()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4)
def test_a_cell_hidden_for_one_value_is_hidden_for_all_and_each_is_protected(seed: int) -> None:
    table = tabulated([REGION, "branch"], firms(seed))
    safe = dc.suppress(table, judged(table), method="fast")
    assert hidden_codes(safe, "turnover") == hidden_codes(safe, "wages")
    assert all(protected(table, hidden_codes(safe, value), value) for value in VALUES)


def test_the_pattern_of_one_value_alone_leaves_the_other_open() -> None:
    table = tabulated([REGION, "branch"])
    alone = dc.suppress(table, dc.primary(table, RULES, value="turnover"), method="fast")
    hidden = {codes for codes in _codes(table) if alone.get(*codes) is None}
    assert protected(table, hidden, "turnover")
    assert not protected(table, hidden, "wages")


def test_values_shown_are_the_true_ones_and_reasons_are_those_of_each_value() -> None:
    table = tabulated([REGION, "branch"])
    found = judged(table, (*VALUES, None))
    safe = dc.suppress(table, found, method="fast", reasons="rule")
    assert [figure.name for figure in safe.figures] == [*VALUES, "count"]
    true = table.to_polars()
    for name in (*VALUES, "count"):
        joined = safe.to_polars(complete=True).filter(pl.col("figure") == name)
        both = true.join(joined, on=["region", "branch"]).filter(pl.col("value").is_not_null())
        assert both["value"].to_list() == both[name].to_list()
    sensitive = dict(zip([*VALUES, "count"], found, strict=True))
    for name, primary in sensitive.items():
        frame = safe.to_polars().filter(pl.col("figure") == name, pl.col("value").is_null())
        reasons = {row[:2]: row[-1] for row in frame.drop("figure", "value", "status").rows()}
        marked = {
            codes for codes, is_so in zip(_codes(table), primary.sensitive, strict=True) if is_so
        }
        assert marked == {codes for codes, reason in reasons.items() if reason != "secondary"}


def test_linked_tables_share_cells_for_every_value() -> None:
    first, second = tabulated([REGION, "branch"]), tabulated(["branch", "size"])
    both = [(first, judged(first)), (second, [judged(second)[0]])]
    safe, other = dc.suppress(both, method="fast")
    for branch in ("a", "b", "c", "d"):
        hidden = safe.get("Total", branch, "turnover") is None
        assert (other.get(branch, "Total") is None) == hidden
        assert (safe.get("Total", branch, "wages") is None) == hidden
    assert not other.several_figures


def test_a_single_value_gives_what_it_gives_alone() -> None:
    table = tabulated([REGION, "branch"])
    found = dc.primary(table, RULES, value="turnover")
    alone = dc.suppress(table, found, method="optimal")
    shared = dc.suppress(table, [found], method="optimal")
    assert (alone.value == shared.value).all()
    assert (alone.status == shared.status).all()
    assert not shared.figures[1:]


def test_intervals_decimals_and_files_of_several_values(tmp_path: Any) -> None:
    table = tabulated([REGION, "branch"])
    done = SharedSuppression.of(
        [(table, judged(table))], method="fast", intervals=True, decimals_of={"wages": 1}
    )
    safe = done.tables[0]
    assert [figure.decimals for figure in safe.figures] == [0, 1]
    frame = pl.read_csv(safe.write(tmp_path / "safe.csv"))
    assert {"figure", "reason", "low", "high"} <= set(frame.columns)
    hidden = frame.filter(pl.col("value").is_null() & pl.col("reason").is_not_null())
    assert (hidden["high"] >= hidden["low"]).all()
    assert set(done.by_value) == set(VALUES)
    assert all(each.pattern.safe for each in done.by_value.values())


def test_what_must_be_shown_for_one_value_is_not_hidden_for_another() -> None:
    table = tabulated(["branch"])
    shown = [dc.rules.Mark(cells={"branch": "a"}, status="protected")]
    hidden = [dc.rules.Mark(cells={"branch": "a"}, status="unsafe")]
    found = [
        dc.primary(table, [], value="turnover", marks=shown),
        dc.primary(table, [], value="wages", marks=hidden),
    ]
    with pytest.raises(
        SuppressionError, match="the cell must be published for one value and suppressed for"
    ) as caught:
        dc.suppress(table, found, method="fast")
    assert caught.value.where == "branch=a"


@pytest.mark.parametrize("wrong", [[], "mask", "twice"])
def test_wrong_judgements_are_refused(wrong: Any) -> None:
    table = tabulated(["branch"])
    one = dc.primary(table, RULES, value="turnover")
    asked = {"mask": [table.count < 3], "twice": [one, one]}.get(wrong, []) if wrong else []
    with pytest.raises(SuppressionError, match="value"):
        dc.suppress(table, asked, method="fast")


def test_a_value_cannot_be_named_besides() -> None:
    table = tabulated(["branch"])
    with pytest.raises(
        SuppressionError, match="values with a common suppression pattern must be those of"
    ):
        dc.suppress(table, judged(table), value="turnover")
