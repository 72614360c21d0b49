"""Values that changed since they were published: the old pattern is preferred, both are audited."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression, check_releases
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import Earlier
from tests.helpers.attacker_apart import Attacker
from tests.helpers.protected_tables import blanks
from tests.helpers.rows import for_all_rows

CODES = ["Total", "A", "B", "C", "D"]


def regions(**values: int) -> dc.Table:
    """Turnover by region, each of five records."""
    records = [(code, value / 5) for code, value in values.items() for _ in range(5)]
    frame = pl.DataFrame(records, schema=["region", "t"], orient="row")
    return dc.tabulate(frame, by=["region"], values=["t"], contributions=2)


def mask(table: dc.Table, *codes: str) -> np.ndarray:
    return table.to_polars()["region"].is_in(codes).to_numpy()


class Levels:
    """Sensitive cells with one level to both sides, as what primary rules found."""

    def __init__(self, table: dc.Table, code: str, level: int) -> None:
        self.value = "t"
        self.sensitive = mask(table, code)
        self.lower = self.upper = np.where(self.sensitive, float(level), 0.0)
        self.sliding = np.zeros(len(table))


OLD = regions(A=100, B=300, C=200, D=290)
NEW = regions(A=100, B=305, C=210, D=280)


def test_changed_values_no_longer_stop_what_was_published_before() -> None:
    """A is hidden again, with B as before though C and D are cheaper now."""
    before = Earlier(table=OLD, hidden=mask(OLD, "A", "B"), primary=mask(OLD, "A"))
    done = Suppression.of((NEW, Levels(NEW, "A", 10)), earlier=[before], value="t", method="auto")
    assert blanks(done.tables[0]) == {("A",), ("B",)}
    assert any("differ from those published before" in note for note in done.notes)
    alone = Suppression.of((NEW, Levels(NEW, "A", 10)), value="t", method="auto")
    assert blanks(alone.tables[0]) != {("A",), ("B",)}


def apart(change: float, hidden: tuple[str, str]) -> tuple[float, float]:
    """What an attacker bounds A by who has both tables and thinks that little changed."""
    old, new = (dict(t.to_polars().select("region", "t").iter_rows()) for t in (OLD, NEW))
    shown: dict[Any, float] = {}
    free: dict[Any, tuple[float, float]] = {}
    for name, values, blank in (("old", old, hidden[0]), ("new", new, hidden[1])):
        for code, value in values.items():
            if code in blank:
                free[name, code] = (0.0, 2.0 * value)
            else:
                shown[name, code] = value
    sums: list[Any] = [
        ({(name, "Total"): -1, **{(name, code): 1 for code in CODES[1:]}}, 0.0)
        for name in ("old", "new")
    ]
    for code in CODES:
        most = np.ceil(change * max(old[code], new[code]))
        most = max(most, abs(new[code] - old[code]))
        free["change", code] = (-most, most) if old[code] != new[code] else (0.0, 0.0)
        if code == "A":
            continue
        sums.append(({("new", code): -1, ("old", code): 1, ("change", code): 1}, 0.0))
    sums.append(({("new", "A"): -1, ("old", "A"): 1}, 0.0))
    return Attacker(shown=shown, blanks=free, sums=sums).interval(("new", "A"))


@for_all_rows("change", [0.02, 0.1, 0.3])
@for_all_rows("hidden", [("AB", "AB"), ("AB", "AC"), ("AD", "AB")])
def test_an_attacker_with_both_tables_finds_the_same(change: float, hidden: Any) -> None:
    low, high = apart(change, hidden)
    for level in (5, 20, 35, 60, 90):
        releases = [
            Earlier(table=t, hidden=mask(t, *blank), primary=Levels(t, "A", level), change=change)
            for t, blank in ((OLD, hidden[0]), (NEW, hidden[1]))
        ]
        safe = check_releases(releases, value="t").safe
        assert safe == (low <= 100 - level + 1e-6 and high >= 100 + level - 1e-6)


def test_cells_that_have_not_changed_stay_as_they_were() -> None:
    """What is public with the same value cannot be hidden."""
    before = Earlier(table=OLD, hidden=mask(OLD, "B", "C"))
    with pytest.raises(SuppressionError) as refused:
        Suppression.of((NEW, mask(NEW, "A")), earlier=[before], value="t")
    assert refused.value.code == "contradiction"
    shown = Suppression.of((NEW, mask(NEW, "B")), earlier=[before], value="t", method="auto")
    assert blanks(shown.tables[0]) == {("B",), ("C",)}


def test_a_problem_names_changes_and_cells_of_before() -> None:
    before = Earlier(table=OLD, hidden=mask(OLD, "A", "B"))
    problem, members = build_problem((NEW, mask(NEW, "A")), value="t", earlier=[before])
    names = [problem.name(at) for at in range(len(problem))]
    assert "region=B (as published before)" in names
    assert "the change of region=B" in names
    assert len(members.changed) == 4, "all but A, whose value is that of before"
    assert not problem.relations.residuals(problem.value).any()
    with pytest.raises(SuppressionError, match="share of a change"):
        Earlier(table=OLD, hidden=mask(OLD, "A"), change=-0.5)


def test_two_earlier_periods_and_single_respondents() -> None:
    """Systems of three periods hold with the guard of single respondents switched on."""
    last = regions(A=90, B=300, C=190, D=300)
    past = [
        Earlier(table=table, hidden=mask(table, "A", "B"), primary=Levels(table, "A", 9))
        for table in (last, OLD)
    ]
    done = Suppression.of(
        (NEW, Levels(NEW, "A", 10)), earlier=past, value="t", method="fast", singletons=True
    )
    assert done.pattern.safe
    assert blanks(done.tables[0]) == {("A",), ("B",)}
    # B has the value of two periods ago: no change is known of it, and one cell says it all.
    assert len(done.members.changed) == 9 - 1


def test_differences_by_rounding_are_no_changes() -> None:
    """Many parts each a unit off beside a total that changed: everything adds up, then and now."""
    many = {f"R{at}": 100 + at for at in range(12)}
    old = regions(**many)
    new = regions(**{code: value + 1 for code, value in many.items()})
    before = Earlier(table=old, hidden=mask(old, "R0", "R1"), primary=Levels(old, "R0", 20))
    problem, members = build_problem((new, Levels(new, "R0", 20)), value="t", earlier=[before])
    assert not problem.relations.residuals(problem.value).any()
    assert len(members.changed) == 13
    change = [at for at in range(len(problem)) if problem.name(at) == "the change of region=R5"]
    assert problem.high[change].tolist() == [1]
    releases = [before, Earlier(table=new, hidden=mask(new, "R0", "R2"))]
    assert not check_releases(releases, value="t").safe, "R1 is that of then, but for a unit"
    same = regions(**{**many, "R3": 104})
    _, members = build_problem((same, mask(same, "R0")), value="t", earlier=[before])
    assert not len(members.changed), "by a unit, of rounded values"
