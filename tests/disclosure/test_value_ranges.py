"""Values that are nearly multiples of others: what a reader who knows that computes, and does not.

The attacker is the linear program of `tests.helpers.reader_of_sums`, which knows by how much a
record may miss each relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import SharedSuppression
from discreet.tables import ValueRelation, near_relations
from discreet.tabulation import column_relations
from tests.helpers.reader_of_sums import opened

RULES = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(10)]
BY = ["region", "branch"]
#: Two value columns, decimals, what readers know of each record, and by how much it is missed
ROWS: dict[str, tuple[tuple[str, str], int, dict[str, int], float]] = {
    "a multiple": (("staff", "hours"), 0, {"hours": -1, "staff": 1650}, 0.0),
    "one more": (("net", "net1"), 0, {"net1": 1, "net": -1}, 1.0),
    "tax": (("net", "gross"), 0, {"gross": 100, "net": -119}, 50.0),
    "currencies": (("mark", "euro"), 2, {"euro": 195583, "mark": -100000}, 0.005 * 195583),
    "thousands": (("net", "thousands"), 0, {"thousands": 1000, "net": -1}, 500.0),
}


def firms(seed: int, number: int = 260) -> pl.DataFrame:
    """Firms with values that are stated twice, in other units."""
    draw = np.random.default_rng(700 + seed)
    staff = np.ceil(draw.lognormal(1.5, 1.3, number))
    net = np.ceil(draw.lognormal(9.5, 1.6, number))
    mark = np.round(draw.lognormal(7, 1.5, number), 2)
    return pl.DataFrame(
        {
            "region": draw.choice([*"12345"], number),
            "branch": draw.choice([*"abcdef"], number, p=[0.4, 0.3, 0.15, 0.05, 0.05, 0.05]),
            "staff": staff,
            "hours": 1650 * staff,
            "net": net,
            "net1": net + 1,
            "gross": np.floor(1.19 * net + 0.5),
            "mark": mark,
            "euro": np.round(mark / 1.95583, 2),
            "thousands": np.round(net / 1000),
            "other": np.ceil(draw.lognormal(9.5, 1.6, number)),
        }
    )


def hidden(safe: dc.ProtectedTable) -> int:
    return int((safe.status == dc.CellStatus.suppressed).sum())


def rows_of(name: str, seed: int) -> tuple[list[str], list[dc.Table], list[Any]]:
    """Two values with their table and what is sensitive in it."""
    values = list(ROWS[name][0])
    table = dc.tabulate(firms(seed), by=BY, values=values, contributions=2)
    return values, [table] * 2, [dc.primary(table, RULES, value=value) for value in values]


def apart(name: str, seed: int) -> list[Any]:
    """Each value suppressed by itself, by what its own cells cost."""
    values, tables, found = rows_of(name, seed)
    safe = [
        dc.suppress(table, one, method="fast", decimals=ROWS[name][1], singletons=False, cost=cost)
        for table, one, cost in zip(tables, found, ("value", "unity"), strict=True)
    ]
    return list(zip(values, safe, tables, found, strict=True))


def together(name: str, seed: int, method: str = "fast") -> list[Any]:
    """Both values suppressed in one call with their records."""
    values, tables, found = rows_of(name, seed)
    listed = list(zip(tables, found, strict=True))
    safe = dc.suppress(listed, decimals=ROWS[name][1], method=method, records=firms(seed))
    return list(zip(values, safe, tables, found, strict=True))


def seen_through(name: str, rows: list[Any]) -> list[Any]:
    """The sensitive cells of which a reader who knows the relation knows too much."""
    _, _, relation, room = ROWS[name]
    return opened(rows, [relation], rooms=[room], slack=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive if name in ("tax", "currencies") else ())
        for name in ROWS
    ],
)
def test_readers_who_divide_find_nothing_that_is_protected_together(name: str) -> None:
    old, new = apart(name, 3), together(name, 3)
    assert seen_through(name, old)
    assert not seen_through(name, new)
    assert sum(hidden(row[1]) for row in new) <= sum(hidden(row[1]) for row in old) + 5


@pytest.mark.parametrize("method", ["auto", "optimal", "modular", "hypercube"])
def test_every_method_keeps_ranges(method: str) -> None:
    rows = together("thousands", 3, method)
    assert not seen_through("thousands", rows)
    found = dc.audit(*[[row[at] for row in rows] for at in (1, 2, 3)], records=firms(3))
    assert found.safe, found.text()


def test_audits_name_what_ranges_open() -> None:
    old = apart("thousands", 3)
    wrong = seen_through("thousands", old)
    rows = [[row[at] for row in old] for at in (1, 2, 3)]
    found = dc.audit(*rows, records=firms(3), coalition=0)
    assert found.verdict == "open"
    assert len(found.unprotected) >= len(wrong) > 0
    assert any("net = 1000 * thousands within 500" in note for note in found.notes)
    # What somebody states counts also where no records are at hand, and nothing is looked for.
    told = dc.audit(*rows, relations=["net = 1000 * thousands within 500"], related_within=None,
                    coalition=0)  # fmt: skip
    assert told.unprotected == found.unprotected


def test_pairs_within_a_share_are_found_in_cells_without_records() -> None:
    frame = firms(2, 600).with_columns(near=pl.col("net") * (1 + 0.008 * (pl.col("staff") % 2)))
    table = dc.tabulate(frame, by=BY, values=["net", "near"], contributions=2)
    asked = [dc.primary(table, RULES, value=value) for value in ("net", "near")]
    done = SharedSuppression.of([(table, one) for one in asked], method="fast")
    assert any("within" in note for note in done.by_value["net"].notes)
    none = SharedSuppression.of([(table, one) for one in asked], method="fast", related_within=None)
    assert not any("within" in note for note in none.by_value["net"].notes)


def test_more_columns_than_cells_are_not_examined_without_records() -> None:
    frame = firms(3).with_columns(region=pl.lit("1"))
    values = ["net", "staff", "mark", "other"]
    table = dc.tabulate(frame, by=["region"], values=values, contributions=2)
    asked = [dc.primary(table, [dc.rules.NothingSensitive()], value=value) for value in values]
    safe = dc.suppress(table, asked, method="fast")
    assert dc.audit(safe, table, asked, coalition=0).verdict == "not examined"
    name = "what net, staff, mark, other add up to"
    assert dc.audit(safe, table, asked, coalition=0, accept=[name]).safe
    assert dc.audit(safe, table, asked, coalition=0, records=frame).safe


def test_a_stated_range_must_hold() -> None:
    table = dc.tabulate(firms(0), by=BY, values=["net", "thousands"], contributions=2)
    asked = [(table, dc.primary(table, RULES, value=value)) for value in ("net", "thousands")]
    with pytest.raises(SuppressionError, match="does not hold"):
        dc.suppress(asked, relations=["net = 1000 * thousands within 5"])


# -- what is found in records ------------------------------------------------------------------


def texts(frame: pl.DataFrame, values: Sequence[str], **options: Any) -> list[str]:
    return [found.text for found in column_relations(frame, values, **options)]


def test_relations_of_records_are_found_in_whole_numbers() -> None:
    frame = firms(4, 3_000)
    assert texts(frame, ["staff", "hours"]) == ["1650 * staff = hours"]
    assert texts(frame, ["net", "net1"]) == ["net1 = net + count"]
    assert texts(frame, ["net", "gross"]) == ["119 * net = 100 * gross within 50"]
    assert texts(frame, ["mark", "euro"]) == ["100000 * mark = 195583 * euro within 977.915"]
    exact = frame.with_columns(euro=(pl.col("mark") * 1.95583).cast(pl.Decimal(20, 7)))
    assert texts(exact, ["mark", "euro"]) == ["195583 * mark = 100000 * euro"]


def test_one_record_beyond_the_first_ones_refutes_a_relation() -> None:
    size = 30_000
    frame = firms(5, size).with_columns(
        hours=pl.col("hours") + (pl.int_range(size) == size - 1).cast(pl.Float64) * 40_000
    )
    assert texts(frame, ["staff", "hours"]) == []
    assert texts(frame.head(size - 1), ["staff", "hours"]) == ["1650 * staff = hours"]


def test_columns_that_have_nothing_to_do_with_each_other_are_not_related() -> None:
    draw = np.random.default_rng(9)
    size = 300
    kinds = [
        lambda: np.ceil(draw.lognormal(8, 1.2, size)),
        lambda: draw.poisson(3, size) + 0.0,
        lambda: np.round(draw.normal(1_000, 2, size)),
        lambda: np.round(draw.lognormal(8, 3, size)) * (draw.random(size) < 0.05),
        lambda: draw.integers(0, 2, size) + 0.0,
        lambda: np.round(draw.lognormal(4, 1, size), 2),
    ]
    found = []
    for _ in range(40):
        one, other = (kinds[int(draw.integers(len(kinds)))]() for _ in range(2))
        found += texts(pl.DataFrame({"one": one, "other": other}), ["one", "other"])
    assert found == []
    # Nor are columns that go together as values of firms do.
    size = 2_000
    one = np.ceil(draw.lognormal(8, 1.2, size))
    other = np.ceil(one * draw.lognormal(0, 0.1, size))
    assert texts(pl.DataFrame({"one": one, "other": other}), ["one", "other"]) == []


def test_ranges_are_written_as_they_are_read() -> None:
    for text in ("1000 * q = t within 500", "hours = 1650 * staff within 1.5 %", "a = b + count"):
        relation = ValueRelation.read(text)
        assert ValueRelation.read(relation.text) == relation
    assert ValueRelation.read("gross = 1.19 * net within 0.5") == ValueRelation(
        (("gross", -100), ("net", 119)), each=50.0
    )
    assert ValueRelation.read("q = t + count").without_count().each == 1.0


def test_a_share_says_what_is_related() -> None:
    draw = np.random.default_rng(3)
    one = draw.lognormal(8, 1.2, 500)
    columns = {"one": one, "other": 0.25 * one * draw.uniform(0.98, 1.02, 500)}
    assert near_relations(columns, 0.01) == []
    (found,) = near_relations(columns, 0.03)
    assert 0.02 <= found.share <= 0.03
