"""Who reads a count table with dots: what is printed, and what everybody knows.

The reader is a linear program of its own. He knows the printed counts, that they add up, that
an empty cell is printed as one, and, of each sensitive count, that it is below the number of
the rule. He must find no sensitive count exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import (
    Earlier,
    Knowledge,
    Suppression,
    audit_published,
    check_releases,
)
from tests.helpers.attacker_apart import Attacker
from tests.helpers.protected_tables import blanks

ENDLESS = 1e6
#: Codes of a row and a column.
Cell = tuple[str, str]


def counted(
    draw: np.random.Generator, rows: int, columns: int, mean: float, *, deep: bool = False
) -> dc.Table:
    """A table of counts drawn cell by cell, with its margins; regions of districts if deep."""
    leaves = draw.poisson(mean * draw.gamma(0.7, 1 / 0.7, (rows, columns)))
    names = [f"r{at // 3}.{at}" if deep else f"r{at}" for at in range(rows)]
    sums: Counter[Cell] = Counter()
    for (at, other), count in np.ndenumerate(leaves):
        above = [names[at], *([names[at].split(".")[0]] if deep else []), "T"]
        for row in above:
            for column in (f"c{other}", "T"):
                sums[row, column] += int(count)
    regions = sorted({name.split(".")[0] for name in names}) if deep else []
    order = {code: at for at, code in enumerate(["T", *regions])}
    parents = [-1, *([0] * len(regions)), *(order[n.split(".")[0]] if deep else 0 for n in names)]
    codes = ("T", *(f"c{at}" for at in range(columns)))
    by = [
        dc.Classification(name="row", codes=("T", *regions, *names), parents=tuple(parents)),
        dc.Classification(name="column", codes=codes, parents=(-1, *[0] * columns)),
    ]
    cells = [(*codes, count) for codes, count in sums.items() if count]
    frame = pl.DataFrame(cells, schema=["row", "column", "n"], orient="row")
    return dc.Table.from_cells(frame, by=by, count="n")


def sums_of(table: dc.Table) -> Iterator[tuple[Cell, list[Cell]]]:
    """Each total with its parts, from the code trees alone."""
    rows, columns = (dimension.classifications[0] for dimension in table.dimensions)
    for parent, parts in families(rows):
        yield from (((parent, other), [(code, other) for code in parts]) for other in columns.codes)
    for parent, parts in families(columns):
        yield from (((other, parent), [(other, code) for code in parts]) for other in rows.codes)


def families(tree: dc.Classification) -> Iterator[tuple[str, list[str]]]:
    """Codes with their parts."""
    for at, parent in enumerate(tree.codes):
        pairs = zip(tree.codes, tree.parents, strict=True)
        if parts := [code for code, above in pairs if above == at]:
            yield parent, parts


def reader(safe: dc.ProtectedTable, table: dc.Table, known: Any, least: int) -> Attacker:
    """Who knows bounds of some hidden counts of a published table."""
    frame = safe.to_polars(complete=True).select("row", "column", "value")
    cells = {(row, column): value for row, column, value in frame.iter_rows()}
    blanks = {c: known.get(c, (least, ENDLESS)) for c, value in cells.items() if value is None}
    shown = {cell: float(value) for cell, value in cells.items() if value is not None}
    sums = [({total: -1, **dict.fromkeys(parts, 1)}, 0.0) for total, parts in sums_of(table)]
    return Attacker(shown, blanks, sums)


def known_exactly(
    safe: dc.ProtectedTable, table: dc.Table, n: int, *, told: bool = False, least: int = 1
) -> tuple[int, int]:
    """How many sensitive counts the reader finds exactly, and how many there are."""
    frame = table.to_polars()
    codes = frame.select("row", "column").rows()
    counts = dict(zip(codes, frame["count"].to_list(), strict=True))
    small = {cell for cell, count in counts.items() if 0 < count < n}
    known = dict.fromkeys(small, (least, n - 1))
    if told:
        known |= {cell: (n, ENDLESS) for cell in counts if cell not in small}
    attacker = reader(safe, table, known, least)
    assert small <= set(attacker.blanks)
    ends = [attacker.interval(cell) for cell in small]
    return sum(high - low < 0.5 for low, high in ends), len(small)


def judged(table: dc.Table, n: int = 3) -> Any:
    """Its sensitive cells."""
    return dc.primary(table, [dc.rules.MinimumFrequency(n)])


def attacked(tables: int, shapes: list[Any], n: int, **options: Any) -> Counter[str]:
    """What became of many tables: counts known exactly, all sensitive ones, tables refused."""
    draw = np.random.default_rng(5)
    found: Counter[str] = Counter()
    for number in range(tables):
        rows, columns, mean, deep = shapes[number % len(shapes)]
        table = counted(draw, rows, columns, mean, deep=deep)
        primary = judged(table, n)
        safe = published(table, primary, **options)
        if safe is None:
            found["refused"] += 1
            continue
        told = safe.withheld is not None
        notes = {note.kind for note in safe.notes}  # readers see them, too
        least = 0 if "hidden-zeros" in notes or options.get("zero_cells") == "partners" else 1
        exact, sensitive = known_exactly(safe, table, n, told=told, least=least)
        found["exact"] += exact
        found["sensitive"] += sensitive
        assert dc.audit(safe, table, primary).safe
    return found


def published(table: dc.Table, primary: Any, **options: Any) -> dc.ProtectedTable | None:
    """The table with hidden cells; None if no pattern protects it."""
    try:
        return dc.suppress(table, primary, method="fast", **options)
    except SuppressionError as error:
        if error.code == "infeasible":
            return None
        raise


SMALL = [(10, 5, 6.0, False), (9, 4, 8.0, True), (6, 4, 12.0, False)]
LARGE = [(40, 8, 6.0, False), (24, 6, 6.0, True), (12, 5, 3.0, False), (40, 8, 3.0, False)]


@pytest.mark.parametrize("n", [3, 5])
def test_who_knows_the_ones_and_the_rule_finds_no_sensitive_count(n: int) -> None:
    found = attacked(3, SMALL, n)
    assert found["exact"] == 0
    assert found["sensitive"] > 10
    assert found["refused"] <= 1


@pytest.mark.parametrize("reasons", ["kind", "rule"])
def test_nor_does_who_is_told_which_counts_are_sensitive(reasons: str) -> None:
    found = attacked(3, SMALL, 3, reasons=reasons)
    assert found["exact"] == 0
    assert found["sensitive"] > 10


def test_sparse_tables_are_refused_or_hide_zeros_too() -> None:
    """Where a total of two is two ones, who knows the rule knows both, whatever is hidden."""
    sparse = [(12, 5, 2.0, True), (8, 4, 1.0, False)]
    assert attacked(2, sparse, 3, zero_cells="fixed")["refused"] == 2
    found = attacked(2, sparse, 3, zero_cells="partners")
    assert (found["exact"], found["refused"]) == (0, 0)
    assert found["sensitive"] > 20
    table = counted(np.random.default_rng(5), 8, 4, 1.0)
    with pytest.raises(SuppressionError, match='zero_cells="partners"'):
        dc.suppress(table, judged(table), method="fast", zero_cells="fixed")
    without = Knowledge(rules=False)
    assert dc.suppress(table, judged(table), method="fast", knowledge=without) is not None


def test_zeros_become_partners_only_where_nothing_else_protects() -> None:
    table = counted(np.random.default_rng(5), 8, 4, 1.0)
    done = Suppression.of((table, judged(table)), method="fast")
    stated = Suppression.of((table, judged(table)), method="fast", zero_cells="partners")
    assert blanks(done.tables[0]) == blanks(stated.tables[0])
    assert [note.kind for note in done.tables[0].notes] == ["cell-suppression", "hidden-zeros"]
    assert any("zeros and empty cells may be suppressed" in note for note in done.notes)
    assert known_exactly(done.tables[0], table, 3, least=0)[0] == 0
    dense = counted(np.random.default_rng(5), 6, 4, 12.0)
    kept = Suppression.of((dense, judged(dense)), method="fast")
    fixed = dc.suppress(dense, judged(dense), method="fast", zero_cells="fixed")
    assert blanks(kept.tables[0]) == blanks(fixed)
    assert [note.kind for note in kept.tables[0].notes] == ["cell-suppression"]


@pytest.mark.exhaustive
def test_no_sensitive_count_of_16_tables_is_found() -> None:
    found = attacked(12, LARGE, 3)
    found += attacked(4, SMALL, 5)
    assert found["exact"] == 0
    assert found["sensitive"] > 150
    assert found["refused"] <= 5


def flat(counts: dict[str, int]) -> dc.Table:
    """A table of one variable."""
    listed = {"Total": sum(counts.values())} | counts
    frame = pl.DataFrame({"a": list(listed), "n": list(listed.values())})
    tree = dc.Classification(name="a", codes=tuple(listed), parents=(-1, *[0] * len(counts)))
    return dc.Table.from_cells(frame, by=[tree], count="n")


@pytest.mark.parametrize("reasons", [None, "kind", "rule"])
def test_two_ones_are_not_hidden_alone(reasons: Any) -> None:
    table = flat({"x": 10, "y": 5, "z": 1, "w": 1})
    safe = dc.suppress(table, judged(table), method="optimal", reasons=reasons)
    hidden = [code for code in "xyzw" if safe.get(code) is None]
    assert hidden == ["y", "z", "w"]
    assert dc.audit(safe, table, judged(table)).safe
    signed = Knowledge(negative=True)  # of counts nobody believes it
    assert dc.suppress(table, judged(table), method="optimal", knowledge=signed).get("y") is None
    pair = dc.suppress(table, judged(table), method="optimal", knowledge=Knowledge(rules=False))
    assert pair.get("Total") == 17
    told = audit_published(hiding(table, "zw"), ["a"])
    assert told.to_polars().select("low", "high").rows() == [(1.0, 1.0), (1.0, 1.0)]
    assert told.exact.all()


def hiding(table: dc.Table, codes: str) -> pl.DataFrame:
    """The table as printed with some counts missing."""
    frame = table.to_polars()
    return frame.select("a", value=pl.when(~pl.col("a").is_in(list(codes))).then("count"))


def test_the_audit_of_another_pattern_finds_the_ones() -> None:
    table = flat({"x": 10, "y": 5, "z": 1, "w": 1})
    safe = dc.suppress(table, judged(table), method="optimal")
    ones = table.count == 1
    status = np.where(ones, dc.CellStatus.suppressed, dc.CellStatus.published)
    open_cells = replace(safe, value=np.where(ones, 0, table.count), status=status, withheld=None)
    found = dc.audit(open_cells, table, judged(table))
    assert found.exact == ("a=z", "a=w")
    assert not dc.audit(open_cells, table).safe
    assert found.described()["hidden"] == len(audit_published(open_cells)) == 2
    mask = (table.count < 10) & (table.count != 5)
    release = Earlier(table=table, hidden=mask, primary=judged(table))
    assert check_releases([release]).opened == ("a=z", "a=w")


# -- zeros as partners, and the examples of a lecture ----------------------------------------------


def lecture() -> dc.Table:
    """Persons by school certificate and religion."""
    rows = [
        ("none", 13, 10, 2, 0, 22), ("in_school", 8, 8, 0, 0, 7), ("lower", 136, 128, 3, 0, 89),
        ("middle", 76, 90, 3, 0, 12), ("fachhochschulreife", 24, 24, 1, 0, 30),
        ("abitur", 58, 60, 4, 4, 82), ("Total", 315, 320, 13, 4, 242),
    ]  # fmt: skip
    religions = ["catholic", "evangelical", "orthodox", "jewish", "other"]
    cells = [
        (school, religion, count)
        for school, *counts in rows
        for religion, count in [*zip(religions, counts, strict=True), ("Total", sum(counts))]
    ]
    frame = pl.DataFrame(cells, schema=["school", "religion", "n"], orient="row")
    return dc.Table.from_cells(frame, by=["school", "religion"], count="n")


def test_the_lectures_pattern_for_a_minimum_frequency() -> None:
    table = lecture()
    safe = dc.suppress(table, judged(table), method="optimal", cost="value")
    rows = ("none", "fachhochschulreife")
    assert blanks(safe) == {(row, column) for row in rows for column in ("orthodox", "evangelical")}


@pytest.mark.parametrize("stored", [True, False])
def test_the_lectures_pattern_for_the_marginal_rule_hides_a_zero(stored: bool) -> None:
    table = lecture()
    if not stored:
        frame = table.to_polars().filter(pl.col("count") > 0)
        table = dc.Table.from_cells(frame, by=["school", "religion"], count="count")
    found = dc.primary(table, [dc.rules.MarginalRule(1)])
    asked: dict[str, Any] = {"method": "optimal", "cost": "value", "zero_cells": "partners"}
    safe = dc.suppress(table, found.sensitive, **asked)
    rows = ("abitur", "fachhochschulreife")
    assert blanks(safe) == {(row, column) for row in rows for column in ("orthodox", "jewish")}
    audited = dc.audit(safe, table, found.sensitive)
    assert audited.safe
    assert audited.described()["hidden"] == len(audit_published(safe)) == 4
    assert [note.kind for note in safe.notes] == ["cell-suppression", "hidden-zeros"]
    strict = dc.suppress(table, found, **asked)  # the level of the rule asks for more room
    assert ("none", "jewish") in blanks(strict)
    assert blanks(dc.suppress(table, found, method="optimal")) & {("Total", "jewish")}


def test_a_hidden_zero_stays_hidden_later() -> None:
    table = lecture()
    mask = dc.primary(table, [dc.rules.MarginalRule(1)]).sensitive
    asked: dict[str, Any] = {"method": "optimal", "zero_cells": "partners"}
    first = dc.suppress(table, mask, **asked)
    before = Earlier(table=table, hidden=first, primary=mask)
    frame = table.to_polars().filter(pl.col("count") > 0)
    sparse = dc.Table.from_cells(frame, by=["school", "religion"], count="count")
    later = dc.suppress(
        sparse, np.zeros(len(sparse), dtype=np.bool_), method="fast", earlier=[before]
    )
    assert blanks(later) == blanks(first)
    shown = Earlier(table=table, hidden=np.zeros(len(table), dtype=np.bool_))
    assert ("school=abitur, religion=jewish") in check_releases([before, shown]).opened


def test_grids_of_partners_stay_small() -> None:
    codes = ("T", *(f"{at}" for at in range(600)))
    tree = [dc.Classification(name=name, codes=codes, parents=(-1, *[0] * 600)) for name in "ab"]
    frame = pl.DataFrame({"a": ["T", "1", "T", "1"], "b": ["T", "T", "1", "1"], "n": [2] * 4})
    table = dc.Table.from_cells(frame, by=tree, count="n")
    with pytest.raises(SuppressionError, match="361,201 cells with empty ones") as caught:
        dc.suppress(table, judged(table), zero_cells="partners")
    assert caught.value.code == "empty-cells"


# -- what is stated, and what reasons tell ---------------------------------------------------------


def test_knowledge_that_is_stated_is_never_widened() -> None:
    table = flat({"x": 100, "y": 90, "z": 80})
    mask = np.array([False, True, False, False])
    levels = {"lower": 30.0 * mask, "upper": 30.0 * mask, "sliding": 0.0 * mask}
    asked = SimpleNamespace(sensitive=mask, **levels)
    done = Suppression.of((table, asked), method="fast", knowledge=Knowledge(below=0.3, above=0.3))
    assert done.problem.low.tolist() == [189, 70, 63, 56]
    with pytest.raises(
        SuppressionError, match="the cell cannot be protected: the a-priori bounds of intruders"
    ) as caught:
        dc.suppress(table, asked, method="fast", knowledge=Knowledge(below=0.2, above=0.3))
    assert caught.value.code == "knowledge"
    assert "a=x" in str(caught.value)


def test_reasons_that_would_open_cells_are_told_in_a_coarser_form() -> None:
    ones = flat({"x": 10, "y": 5, "z": 1, "w": 1})
    done = Suppression.of((ones, judged(ones, 2)), method="fast", reasons="rule")
    assert done.reasons == "none"
    assert done.tables[0].withheld is None
    assert any("coarser" in note for note in done.notes)
    table = lecture()
    marginal = dc.primary(table, [dc.rules.MarginalRule(1)])
    assert Suppression.of((table, marginal), method="fast", reasons="kind").reasons == "none"


def test_that_a_value_is_zero_is_no_reason_to_print() -> None:
    frame = pl.DataFrame({"a": [*"xxxyyyzzzw"], "v": [0, 0, 0, 5, 6, 7, 1, 2, 90, 3]})
    table = dc.tabulate(frame, ["a"], values=["v"], contributions=2)
    zeros = [dc.rules.ZeroUnsafe(safety_range=2)]
    done = Suppression.of((table, dc.primary(table, zeros, value="v")), method="fast")
    assert done.reasons == "none"
    both = dc.primary(table, [*zeros, dc.rules.PPercent(10)], value="v")
    assert Suppression.of((table, both), method="fast").reasons == "kind"
    assert int(done.problem.low.min()) == 0
    lone = dc.primary(table, [dc.rules.PPercent(10)], value="v")
    assert int(Suppression.of((table, lone), method="fast").problem.low.max()) >= 1


def test_counts_beside_values_are_published_without_reasons() -> None:
    frame = pl.DataFrame({"a": [*"xxxyyyzzzw"], "v": [3, 4, 5, 5, 6, 7, 1, 2, 90, 3]})
    table = dc.tabulate(frame, ["a"], values=["v"], contributions=2)
    few = [dc.rules.MinimumFrequency(3)]
    found = [dc.primary(table, few, value="v"), dc.primary(table, few)]
    assert dc.suppress(table, found, method="fast").withheld is None
    assert dc.suppress(table, found[0], method="fast").withheld is not None
