"""Contributors that belong together count as one; who has consented to be shown is not guarded."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import rules
from discreet.errors import DiscreetError, MicrodataError, SuppressionError
from discreet.protection.suppression import Suppression, report_on
from discreet.rules import PQ, CodeRules, Dominance, MinimumFrequency, PPercent, Primary, Rule
from discreet.rules.holdings import count_waivers, without_consent
from tests.helpers.engines import ENGINES
from tests.helpers.rows import for_all_rows

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


def test_a_rule_on_holdings_needs_a_table_of_them_by_the_same_cells() -> None:
    table = dc.tabulate(FIRMS, by=["region"])
    north = FIRMS.filter(pl.col("region") == "N")
    groups = rules.count_holdings(FIRMS, by=["region"], holding="group")
    fewer = rules.count_holdings(north, by=["region"], holding="group")
    other = rules.count_holdings(FIRMS, by=["turnover"], holding="group")
    weighted = dc.tabulate(FIRMS.with_columns(w=pl.lit(2.0)), by=["region"], weight="w")
    for judged_table, holdings, said in (
        (table, None, "a rule applies to holdings, but the table of holdings is"),
        (table, fewer, "lacks cells"),
        (table, other, "other spanning variables"),
        (dc.tabulate(north, by=["region"]), groups, "'S'"),
        (weighted, groups, "weighted"),
    ):
        with pytest.raises(SuppressionError, match=said):
            dc.primary(judged_table, [MinimumFrequency(3, per="holding")], holdings=holdings)


YES = "consent == 'yes'"


def firms(seed: int, size: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "branch": [f"b{at:02}" for at in draw.integers(0, 12, size)],
            "turnover": np.ceil(draw.lognormal(3, 1.5, size)).astype(int),
            "consent": [["yes", "yes", "no", None, ""][at] for at in draw.integers(0, 5, size)],
            "group": [f"g{at}" for at in draw.integers(0, 25, size)],
        }
    )


def judged(frame: pl.DataFrame, rule: Rule, *, consent: str | None = YES) -> Primary:
    table = dc.tabulate(frame, ["branch"], values=["turnover"], contributions=4)
    how = {"values": ["turnover"], "contributions": 4, "holding": "group"}
    waivers = None if consent is None else count_waivers(frame, ["branch"], consent=consent, **how)
    holdings = dc.rules.count_holdings(frame, ["branch"], **how)
    return dc.primary(table, [rule], value="turnover", holdings=holdings, waivers=waivers)


def cells(frame: pl.DataFrame, per: str) -> list[list[tuple[float, bool]]]:
    """Per cell in the order of the table: contributions, and whether who made it is protected."""
    codes = ["Total", *sorted(set(frame["branch"].to_list()))]
    found = []
    refused = {row["group"] for row in frame.to_dicts() if row["consent"] != "yes"}
    for code in codes:
        rows = [row for row in frame.to_dicts() if code in ("Total", row["branch"])]
        if per == "record":
            found.append([(row["turnover"], row["consent"] != "yes") for row in rows])
            continue
        sums: dict[str, float] = {}
        for row in rows:
            sums[row["group"]] = sums.get(row["group"], 0) + row["turnover"]
        found.append([(value, group in refused) for group, value in sums.items()])
    return found


def estimated(cell: list[tuple[float, bool]], share: float, n: int) -> float:
    """By how much too close any n others come to anyone who is protected: an attacker's sum."""
    total, worst = sum(value for value, _ in cell), -np.inf
    for at, (value, protected) in enumerate(cell):
        if not protected:
            continue
        others = [each for number, (each, _) in enumerate(cell) if number != at]
        for pool in combinations(others, min(n, len(others))):
            worst = max(worst, share * value - (total - value - sum(pool)))
    return worst


@pytest.mark.parametrize("per", ["record", "holding"])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("seed", range(1))
def test_p_percent_protects_all_who_have_not_consented(per: str, n: int, seed: int) -> None:
    frame = firms(seed)
    found = judged(frame, PPercent(15, n=n, per=per))
    both = judged(frame, PQ(p=7.5, q=50, n=n, per=per))
    worst = np.array([estimated(cell, 0.15, n) for cell in cells(frame, per)])
    assert found.sensitive.tolist() == (worst > 1e-9).tolist()
    assert both.sensitive.tolist() == found.sensitive.tolist()
    assert np.allclose(found.upper[found.sensitive], np.maximum(worst, 1)[found.sensitive])


@pytest.mark.parametrize("per", ["record", "holding"])
def test_few_contributors_are_protected_while_one_has_not_consented(per: str) -> None:
    frame = firms(5)
    found = judged(frame, MinimumFrequency(5, per=per))
    wanted = [len(cell) < 5 and any(who for _, who in cell) for cell in cells(frame, per)]
    assert found.sensitive.tolist() == wanted


@for_all_rows("n", [1, 2])
@for_all_rows("seed", range(2))
def test_dominance_protects_the_rest_from_who_has_consented(n: int, seed: int) -> None:
    frame = firms(seed, 40)
    found = judged(frame, Dominance(n=n, k=70))
    wanted = []
    for cell in cells(frame, "record"):
        order = sorted(cell, reverse=True)
        rest = sorted((value for value, who in cell if who), reverse=True)
        top = sum(value for value, _ in order[:n]) > 0.7 * sum(value for value, _ in cell)
        among = bool(rest) and rest[0] >= order[:n][-1][0]
        alone = bool(rest) and sum(rest[:n]) > 0.7 * sum(rest)
        wanted.append((top and among) or alone)
    assert found.sensitive.tolist() == wanted


def test_consent_that_is_missing_is_none() -> None:
    frame = pl.DataFrame({"branch": ["a", "b"], "turnover": [5, 6], "consent": [None, "yes"]})
    table = dc.tabulate(frame, ["branch"], values=["turnover"], contributions=2)
    for consent in (YES, "not (consent == 'no')", "consent is null", "consent != 'no'"):
        waivers = count_waivers(
            frame, ["branch"], consent=consent, values=["turnover"], contributions=2
        )
        found = dc.primary(table, [PPercent(10)], value="turnover", waivers=waivers)
        assert found.sensitive[1], consent  # the firm of branch a


def test_the_log_names_the_cells_that_consent_opens() -> None:
    frame = pl.DataFrame({"branch": ["a", "b", "b"], "turnover": [5, 6, 7], "consent": ["yes"] * 3})
    table = dc.tabulate(frame, ["branch"], values=["turnover"], contributions=2)
    waivers = count_waivers(frame, ["branch"], consent=YES, values=["turnover"], contributions=2)
    found = dc.primary(table, [MinimumFrequency(3)], value="turnover", waivers=waivers)
    assert found.waived.tolist() == [False, True, True]
    assert not found.sensitive.any()
    report = report_on(Suppression.of((table, found), method="fast"))
    assert report.waived == ("table: branch=a", "table: branch=b")
    assert "because of waivers: 2 cells" in report.text()


def test_waivers_of_other_records_are_refused() -> None:
    frame = firms(1)
    table = dc.tabulate(frame.head(20), ["branch"], values=["turnover"], contributions=2)
    how = {"values": ["turnover"], "contributions": 2}
    for wrong in (
        count_waivers(frame, ["branch"], consent=YES, **how),
        count_waivers(frame.head(20), ["branch"], consent=YES),
    ):
        with pytest.raises(SuppressionError) as caught:
            dc.primary(table, [PPercent(10)], value="turnover", waivers=wrong)
        assert caught.value.code in ("waivers", "other-table")
    with pytest.raises(DiscreetError):
        without_consent("1 == 1")


def test_holdings_come_whole_if_a_record_passes() -> None:
    frame = pl.DataFrame(
        {
            "branch": ["a", "a", "b", "b"],
            "group": ["g", "h", "g", "k"],
            "turnover": [1, 2, 4, 8],
            "asked": ["no", "no", "yes", "no"],
        }
    )
    found = dc.rules.count_holdings(
        frame, ["branch"], holding="group", values=["turnover"], having="asked == 'yes'"
    )
    assert found.to_polars().select("branch", "count", "turnover").rows() == [
        ("Total", 1, 5.0),
        ("a", 1, 1.0),
        ("b", 1, 4.0),
    ]


# -- thresholds of codes -------------------------------------------------------


def by_code(rules: list[Rule | CodeRules]) -> dict[tuple[str, str], bool]:
    frame = pl.DataFrame(
        {
            "country": ["DE1"] * 4 + ["DE2"] * 3 + ["FR"] * 4 + ["IT"] * 2,
            "branch": [*"aaab", *"aab", *"aabb", *"ab"],
        }
    )
    country = dc.Classification.from_parents(
        "country", {"DE": None, "DE1": "DE", "DE2": "DE", "FR": None, "IT": None}
    )
    table = dc.tabulate(frame, [country, "branch"])
    found = dc.primary(table, rules)
    frame = table.to_polars()
    cells = zip(frame["country"], frame["branch"], found.sensitive.tolist(), strict=True)
    return {(country, branch): sensitive for country, branch, sensitive in cells}


def test_a_country_has_its_threshold_and_sums_have_both() -> None:
    plain = by_code([MinimumFrequency(2)])
    assert [cell for cell, hit in plain.items() if hit] == [
        *[("DE1", "b"), ("DE2", "b"), ("IT", "a"), ("IT", "b")]
    ]
    strict = by_code([MinimumFrequency(2), CodeRules({"country": "DE"}, [MinimumFrequency(6)])])
    more = {cell for cell, hit in strict.items() if hit} - {c for c, hit in plain.items() if hit}
    # All in and below DE with fewer than 6; and the sum of branch b, 5 with 2 of DE.
    wanted = {("DE", "a"), ("DE", "b"), ("DE1", "a"), ("DE2", "a"), ("Total", "b")}
    wanted |= {("DE1", "Total"), ("DE2", "Total")}
    assert more == wanted - {cell for cell, hit in plain.items() if hit}


def test_a_laxer_threshold_holds_inside_only() -> None:
    lax = by_code([MinimumFrequency(3), CodeRules({"country": ["IT"]}, [MinimumFrequency(1)])])
    assert not lax["IT", "a"]
    assert lax["FR", "a"] == lax["FR", "b"] == True  # noqa: E712 - two of FR each
    both = by_code(
        [MinimumFrequency(7), CodeRules({"country": "IT", "branch": "b"}, [MinimumFrequency(1)])]
    )
    assert not both["IT", "b"]
    assert both["IT", "Total"]
    assert both["Total", "b"]


def test_kinds_that_codes_do_not_mention_stay() -> None:
    frame = pl.DataFrame({"country": ["DE", "DE", "FR"], "turnover": [1, 99, 4]})
    table = dc.tabulate(frame, ["country"], values=["turnover"], contributions=2)
    general: list[Rule | CodeRules] = [MinimumFrequency(3), PPercent(10)]
    special = CodeRules({"country": "DE"}, [PPercent(1)])
    found = dc.primary(table, [*general, special], value="turnover")
    assert found.sensitive.tolist() == [True, True, True]
    assert found.rules[:, 1].tolist() == [True, False, True]


def test_codes_that_do_not_occur_are_refused() -> None:
    with pytest.raises(SuppressionError) as caught:
        by_code([MinimumFrequency(2), CodeRules({"country": "GE"}, [MinimumFrequency(6)])])
    assert caught.value.code == "rule"
    assert "6" not in str(caught.value)


def test_a_table_without_the_variable_is_judged_by_both() -> None:
    assert all(
        hit or branch == "Total" or country != "FR"
        for (country, branch), hit in by_code(
            [MinimumFrequency(2), CodeRules({"size": "1"}, [MinimumFrequency(4)])]
        ).items()
    )


@for_all_rows(
    ("consent", "others"),
    [
        ("`my consent` == 'yes'", 3),
        ("ok", 3),
        ("`my consent` in ('yes', '') and ok == true", 3),
        ("not (answer == 2)", 3),  # NaN is a missing value, too
        ("`my consent` != 'no' or ok", 3),
        ("`my consent` is not null", 1),
    ],
)
def test_engines_agree_on_who_has_not_consented(consent: str, others: int) -> None:
    frame = pl.DataFrame(
        {
            "branch": ["x"] * 6,
            "my consent": ["yes", "no", None, "yes", "", "yes"],
            "ok": [True, False, None, True, True, None],
            "answer": [1.0, float("nan"), 2.0, None, 1.0, 1.0],
        }
    )
    for engine in ENGINES.values():
        found = count_waivers(engine(frame), ["branch"], consent=consent)
        assert found.records.count.tolist() == [others, others]
