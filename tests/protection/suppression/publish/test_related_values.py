"""Values that add up: what a reader who knows that computes from the others, and does not.

The attacker is `tests.helpers.reader_of_sums`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError, SuppressionError
from discreet.protection.suppression import Earlier, Knowledge, SharedSuppression, report_on
from discreet.tables.value_relations import ValueRelation, found_relations
from tests.helpers.reader_of_sums import opened
from tests.helpers.rows import for_all_rows

RULES = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(15)]
THREE = ("home", "foreign", "total")
BY = ("region", "branch")


def firms(seed: int, number: int = 110) -> pl.DataFrame:
    """Firms with home and foreign turnover, wages and their parts, and a balance."""
    draw = np.random.default_rng(seed)
    home = np.ceil(draw.lognormal(4, 1.3, number))
    foreign = np.ceil(draw.lognormal(3, 1.6, number)) * (draw.random(number) < 0.6)
    wages = np.ceil(draw.lognormal(3, 1, number))
    return pl.DataFrame(
        {
            "region": draw.choice([*"1234"], number),
            "branch": draw.choice([*"abc"], number, p=[0.6, 0.3, 0.1]),
            "size": draw.choice([*"sml"], number),
            "home": home,
            "foreign": foreign,
            "total": home + foreign,
            "wages": wages,
            "rest": home + foreign - wages,
        }
    )


def tabulated(frame: pl.DataFrame, by: Sequence[str] = BY, **options: Any) -> dc.Table:
    values = [name for name in frame.columns if name not in ("region", "branch", "size")]
    return dc.tabulate(frame, by=list(by), values=values, contributions=2, **options)


def judged(table: dc.Table, value: str | None) -> Any:
    return dc.primary(table, RULES if value else RULES[:1], value=value)


SUM = {"total": -1, "home": 1, "foreign": 1}


# -- what it must show -------------------------------------------------------------------------


def apart(table: dc.Table, values: Sequence[str]) -> list[Any]:
    """Each value suppressed by itself, for readers who are no contributors."""
    found = [(value, judged(table, value)) for value in values]
    return [
        (value, dc.suppress(table, asked, method="fast", singletons=False), table, asked)
        for value, asked in found
    ]


def together(
    pairs: Sequence[tuple[dc.Table, str]], method: str = "fast", **options: Any
) -> list[Any]:
    """All values in one call, each with its own pattern."""
    asked = [(table, judged(table, value)) for table, value in pairs]
    safe = dc.suppress(asked, method=method, **options)
    return [
        (value, each, table, found)
        for (table, value), each, (_, found) in zip(pairs, safe, asked, strict=True)
    ]


def test_home_and_foreign_turnover_open_each_other_apart_and_not_together() -> None:
    table = tabulated(firms(1))
    assert len(opened(apart(table, THREE), [SUM])) >= 2
    rows = together([(table, value) for value in THREE])
    assert not opened(rows, [SUM])
    assert dc.audit(*[[row[at] for row in rows] for at in (1, 2, 3)]).safe


def test_the_audit_of_several_values_knows_what_adds_up() -> None:
    table = tabulated(firms(1))
    rows = apart(table, THREE)
    wrong = opened(rows, [SUM])
    found = dc.audit([row[1] for row in rows], [table] * 3, [row[3] for row in rows])
    assert not found.safe
    assert len(found.unprotected) >= len(wrong) > 0
    assert any("total = home + foreign" in note for note in found.notes)
    assert all(name.partition(":")[0] in THREE for name in found.unprotected)


@pytest.mark.parametrize("method", ["auto", "optimal", "modular", "hypercube"])
def test_every_method_protects_values_that_add_up(method: str) -> None:
    table = tabulated(firms(2, 36), ("region", "size"))
    rows = together([(table, value) for value in THREE], method)
    assert not opened(rows, [SUM])


def test_a_shared_pattern_protects_values_that_add_up() -> None:
    table = tabulated(firms(1))
    asked = [judged(table, value) for value in THREE]
    safe = dc.suppress(table, asked, method="fast")
    each = [dc.protection.suppression.figure_of(safe, value) for value in THREE]
    rows = list(zip(THREE, each, [table] * 3, asked, strict=True))
    assert not opened(rows, [SUM])
    blank = [set(one.to_polars().filter(pl.col("value").is_null()).rows()) for one in each]
    assert blank[0] == blank[1] == blank[2]
    assert dc.audit(safe, table, asked).safe


def test_four_values_with_two_relations_and_negative_ones() -> None:
    relations = [SUM, {"total": -1, "wages": 1, "rest": 1}]
    values = ("home", "foreign", "total", "wages", "rest")
    table = tabulated(firms(0))
    assert len(opened(apart(table, values), relations, signed=["rest"])) > 2
    rows = together([(table, value) for value in values])
    assert not opened(rows, relations, signed=["rest"])


def test_values_with_different_decimals() -> None:
    draw = np.random.default_rng(0)
    frame = firms(0).with_columns(
        (pl.col(name) / 7 + pl.Series(draw.random(110)) * (pl.col(name) > 0))
        for name in ("home", "foreign")
    )
    table = tabulated(frame.with_columns(total=pl.col("home") + pl.col("foreign")))
    decimals = {"home": 1, "foreign": 2, "total": 0}
    asked = [(table, judged(table, value)) for value in THREE]
    done = SharedSuppression.of(asked, method="fast", decimals_of=decimals)
    for value, safe in zip(THREE, done.tables, strict=True):
        assert safe.figure_decimals() == decimals[value]
        off = safe.to_polars()["value"].to_numpy() - np.array(table.sums[value])
        assert np.nanmax(np.abs(off)) <= 20 * 10.0 ** -decimals[value]
    rows = list(zip(THREE, done.tables, [table] * 3, [one for _, one in asked], strict=True))
    assert not opened(rows, [SUM], slack=0.5)
    alone = [
        (value, dc.suppress(table, one, method="fast", decimals=decimals[value]), t, one)
        for value, (t, one) in zip(THREE, asked, strict=True)
    ]
    assert opened(alone, [SUM], slack=0.5)


def test_a_value_that_stands_in_other_tables_only() -> None:
    frame = firms(0)
    fine, other = tabulated(frame), tabulated(frame, ("branch", "size"))
    pairs = [(fine, "home"), (other, "foreign"), (fine, "total"), (other, "total")]
    assert opened([row for table, value in pairs for row in apart(table, [value])], [SUM])
    assert not opened(together(pairs), [SUM])


def test_counts_add_up_too() -> None:
    frame = (
        firms(3)
        .with_columns(small=(pl.col("home") < 40).cast(pl.Int64))
        .with_columns(large=1 - pl.col("small"))
    )
    table = tabulated(frame)
    few = [dc.rules.MinimumFrequency(3, of="records")]
    asked = [dc.primary(table, few, value=value) for value in ("small", "large")]
    counts = dc.primary(table, few)
    done = SharedSuppression.of(
        [(table, asked[0]), (table, asked[1]), (table, counts)],
        method="fast",
        knowledge=Knowledge(above=None, rules=False),  # else two of two records follow
    )
    names = ("small", "large", "count")
    rows = list(zip(names, done.tables, [table] * 3, [*asked, counts], strict=True))
    assert not opened(rows, [{"count": -1, "small": 1, "large": 1}])
    assert any("count = " in note or "= count" in note for note in done.by_value[None].notes)


def test_a_total_published_before_counts_also_when_it_has_changed_since() -> None:
    old = tabulated(firms(1))
    asked = judged(old, "total")
    before = dc.suppress(old, asked, method="fast")
    stated = {"relations": ["total = home + foreign"], "method": "fast"}
    for new in (old, tabulated(firms(1).with_columns(home=pl.col("home") + (pl.col("home") > 90)))):
        found = [(new, judged(new, value)) for value in ("home", "foreign")]
        earlier = {"total": [Earlier(table=old, hidden=before, primary=asked)]}
        done = SharedSuppression.of(found, earlier_of=earlier, **stated)
        assert set(done.by_value) == {"home", "foreign"}
        rows = [
            (value, safe, new, one)
            for value, safe, (_, one) in zip(THREE, done.tables, found, strict=False)
        ]
        if new is old:
            assert not opened([*rows, ("total", before, old, asked)], [SUM])
    alone = [row for value in ("home", "foreign") for row in apart(old, [value])]
    assert opened([*alone, ("total", before, old, asked)], [SUM])


# -- stated relations ---------------------------------------------------------------------------


def test_a_value_that_nobody_publishes_bounds_the_others() -> None:
    """Home turnover is at most the total, whether foreign turnover is published or not."""
    table = tabulated(firms(5, 60).with_columns(foreign=0.0, total=pl.col("home") + 1))
    table = dataclasses.replace(
        table, sums={**table.sums, "foreign": table.sums["total"] - table.sums["home"]}
    )
    asked = [judged(table, "home"), dc.primary(table, [dc.rules.NothingSensitive()], value="total")]
    pairs = [(table, each) for each in asked]
    stated = {"relations": ["total = home + foreign"]}
    blind = dc.suppress(pairs, method="fast")
    assert dc.audit(blind, [table] * 2, asked).safe
    assert not dc.audit(blind, [table] * 2, asked, **stated).safe
    safe = dc.suppress(pairs, method="fast", **stated)
    assert safe[1].to_polars()["value"].null_count() > 0
    assert dc.audit(safe, [table] * 2, asked, **stated).safe


def test_a_relation_that_does_not_hold_is_refused_by_cell() -> None:
    table = tabulated(firms(1).with_columns(total=pl.col("total") + 9 * (pl.col("branch") == "c")))
    asked = [(table, judged(table, value)) for value in THREE]
    with pytest.raises(SuppressionError, match="does not hold") as caught:
        dc.suppress(asked, method="fast", relations=["total = home + foreign"])
    assert caught.value.code == "relations"
    assert all("branch=c" in p.where or "branch" not in p.where for p in caught.value.problems)
    said = str(caught.value)
    figures = {f"{value:.0f}" for name in THREE for value in table.sums[name] if value > 99}
    assert not any(figure in said for figure in figures)


@for_all_rows(
    "text", ["total", "total = ", "total = home foreign", "a = b = c", "total = 2", "total = total"]
)
def test_texts_that_are_no_relation_are_refused(text: str) -> None:
    table = tabulated(firms(1, 40))
    with pytest.raises(DiscreetError) as caught:
        dc.suppress([(table, judged(table, value)) for value in THREE], relations=[text])
    assert caught.value.code == "relations"


def test_relations_of_columns_that_are_not_there_are_refused() -> None:
    table = tabulated(firms(1, 40))
    with pytest.raises(SuppressionError, match="does not have") as caught:
        dc.suppress(
            (table, judged(table, "home"))[0],
            judged(table, "home"),
            relations=["home = inland + islands"],
        )
    assert caught.value.code == "relations"


# -- what is found -------------------------------------------------------------------------------


def test_relations_are_read_as_they_are_written() -> None:
    for text, wanted in {
        "total = home + foreign": "total = home + foreign",
        "2 * a - b = 0": "2 * a = b",
        "`a b` = c - d": "`a b` + d = c",
        "4 * a + 2 * b = 2 * c": "2 * a + b = c",
    }.items():
        relation = ValueRelation.read(text)
        assert relation.text == wanted
        assert set(ValueRelation.read(relation.text).coefs) == set(relation.coefs)


def test_relations_are_found_exactly_and_within_rounding_and_not_by_chance() -> None:
    draw = np.random.default_rng(1)
    home, foreign = (np.ceil(draw.lognormal(5, 2, 40)) for _ in range(2))
    exact = {"total": home + foreign, "home": home, "foreign": foreign, "zero": 0 * home}
    assert [each.text for each in found_relations(exact)] == ["total = home + foreign"]
    part = draw.random(40)
    rounded = {
        "total": np.rint(home + foreign + part),
        "home": np.rint(home + part * 0.4),
        "foreign": np.rint(foreign + part * 0.6),
    }
    units = dict.fromkeys(rounded, 1.0)
    assert [each.text for each in found_relations(rounded, units)] == ["total = home + foreign"]
    assert not found_relations(rounded)
    for seed in range(40):
        draw = np.random.default_rng(seed)
        size, number = int(draw.integers(3, 12)), int(draw.integers(2, 6))
        chance = {f"v{at}": draw.integers(0, 1000, size).astype(float) for at in range(number)}
        assert not found_relations(chance, dict.fromkeys(chance, 1.0))


def test_reports_say_what_each_value_costs_and_what_adds_up() -> None:
    table = tabulated(firms(1))
    done = SharedSuppression.of([(table, judged(table, v)) for v in THREE], method="fast")
    assert set(done.by_value) == set(THREE)
    for value, own in done.by_value.items():
        told = report_on(own)
        assert len(own.pattern.hidden) == len(own.problem)
        blank = done.tables[THREE.index(value)].to_polars()["value"].null_count()
        assert sum(p.primary + p.secondary for p in told.parts) == blank
        assert "total = home + foreign" in told.text()
