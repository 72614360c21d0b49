"""Contributors that belong together count as one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import rules
from discreet.errors import MicrodataError, SuppressionError

FIRMS = pl.DataFrame(
    {
        "region": ["N", "N", "N", "N", "S", "S", "S"],
        "group": ["a", "a", "b", "c", "d", "e", "f"],
        "turnover": [40.0, 45.0, 20.0, 10.0, 30.0, 30.0, 30.0],
    }
)


def test_firms_of_one_group_dominate_together() -> None:
    table = dc.tabulate(FIRMS, by=["region"], values=["turnover"], contributions=3)
    groups = rules.count_holdings(FIRMS, by=["region"], holding="group", values=["turnover"])
    single = [rules.Dominance(n=1, k=50), rules.PPercent(15)]
    joint = [rules.Dominance(n=1, k=50, per="holding"), rules.PPercent(15, per="holding")]
    assert not dc.primary(table, single, value="turnover").sensitive.any()
    primary = dc.primary(table, joint, value="turnover", holdings=groups)
    assert primary.sensitive.tolist() == [False, True, False]
    assert primary.rules.tolist() == [[False, True, False], [False, True, False]]
    assert primary.upper[1] == pytest.approx(100 * 85 / 50 - 115)


def test_a_minimum_of_holdings_and_of_records_can_be_asked_for_at_once() -> None:
    table = dc.tabulate(FIRMS, by=["region"])
    groups = rules.count_holdings(FIRMS, by=["region"], holding="group")
    listed = [rules.MinimumFrequency(4), rules.MinimumFrequency(4, per="holding")]
    primary = dc.primary(table, listed, holdings=groups)
    assert primary.rules.tolist() == [[False, False, True], [False, True, True]]


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2", "s1"]),
        st.sampled_from(["m", "w"]),
        st.sampled_from("abcde"),
        st.one_of(st.none(), st.integers(-20, 50)),
    ),
    min_size=1,
    max_size=25,
)
STATE = {"n1": "N", "n2": "N", "s1": "S"}


@given(rows=ROWS)
def test_holdings_of_every_cell_are_those_counted_one_by_one(
    rows: list[tuple[str, str, str, int | None]],
) -> None:
    frame = pl.DataFrame(
        rows, schema={"town": str, "sex": str, "group": str, "x": pl.Int64}, orient="row"
    )
    town = dc.Classification.from_parents("town", {"N": None, "S": None, **STATE})
    table = rules.count_holdings(
        frame, by=[town, "sex"], holding="group", values=["x"], contributions=2
    )
    plain = dc.tabulate(frame, by=[town, "sex"], values=["x"])
    assert np.array_equal(table.sums["x"], plain.sums["x"])
    assert all(map(np.array_equal, table.index, plain.index))
    found = table.contributions["x"]
    for at, (code, sex) in enumerate(table.to_polars().select("town", "sex").rows()):
        inside = [
            row
            for row in rows
            if code in ("Total", row[0], STATE[row[0]]) and sex in ("Total", row[1])
        ]
        sums: dict[str, int] = {}
        for _, _, group, x in inside:
            if x is not None:
                sums[group] = sums.get(group, 0) + x
        largest = sorted(sums.values(), key=lambda x: (-abs(x), -x))[:2]
        assert table.count[at] == len({row[2] for row in inside})
        assert found.count[at] == len(sums)
        assert found.nonzero[at] == sum(x != 0 for x in sums.values())
        assert found.absolute[at] == sum(map(abs, sums.values()))
        assert [x for x in found.top[at] if not np.isnan(x)] == largest
        if sums:
            assert (found.low[at], found.high[at]) == (min(sums.values()), max(sums.values()))


def test_the_order_of_the_records_does_not_matter() -> None:
    frame = pl.DataFrame({"g": list("aabbc") * 4, "x": [0.1 * at for at in range(20)]})
    one, other = (
        rules.count_holdings(rows, by=[], holding="g", values=["x"]).contributions["x"]
        for rows in (frame, frame.reverse())
    )
    assert one.top.tobytes() == other.top.tobytes()
    assert one.absolute.tobytes() == other.absolute.tobytes()


def test_records_without_a_holding_are_refused() -> None:
    frame = FIRMS.with_columns(group=pl.Series([None, "a", "b", "c", "d", "e", "f"]))
    with pytest.raises(MicrodataError, match="belong to no holding"):
        rules.count_holdings(frame, by=["region"], holding="group")


def test_a_rule_on_holdings_needs_a_table_of_them() -> None:
    table = dc.tabulate(FIRMS, by=["region"])
    rule = rules.MinimumFrequency(3, per="holding")
    with pytest.raises(
        SuppressionError, match="a rule applies to holdings, but the table of holdings is"
    ):
        dc.primary(table, [rule])


def test_a_table_of_holdings_of_other_cells_is_refused() -> None:
    table = dc.tabulate(FIRMS, by=["region"])
    rule = rules.MinimumFrequency(3, per="holding")
    north = FIRMS.filter(pl.col("region") == "N")
    fewer = rules.count_holdings(north, by=["region"], holding="group")
    with pytest.raises(SuppressionError, match="lacks cells"):
        dc.primary(table, [rule], holdings=fewer)
    other = rules.count_holdings(FIRMS, by=["turnover"], holding="group")
    with pytest.raises(SuppressionError, match="other spanning variables"):
        dc.primary(table, [rule], holdings=other)
    few = dc.tabulate(north, by=["region"])
    more = rules.count_holdings(FIRMS, by=["region"], holding="group")
    with pytest.raises(SuppressionError, match="'S'"):
        dc.primary(few, [rule], holdings=more)


def test_holdings_and_weights_exclude_each_other() -> None:
    weighted = FIRMS.with_columns(w=pl.lit(2.0))
    table = dc.tabulate(weighted, by=["region"], weight="w")
    groups = rules.count_holdings(FIRMS, by=["region"], holding="group")
    with pytest.raises(SuppressionError, match="weighted"):
        dc.primary(table, [rules.MinimumFrequency(3, per="holding")], holdings=groups)
