"""`audit`: what tables with blanks still tell, whoever hid the cells."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import audit_published
from discreet.protection.suppression.proof.audit import audit_problem
from discreet.protection.suppression.proof.contributors import audit_respondents
from discreet.tables.dimension import Figure, figure_dimension
from tests.helpers.small_systems import problem_of

CELLS = pl.DataFrame(
    {
        "sex": ["Total"] * 4 + ["m"] * 4 + ["w"] * 4,
        "age": ["Total", "young", "middle", "old"] * 3,
        "n": [100, 30, 40, 30, 52, 2, 30, 20, 48, 28, 10, 10],
    }
)


@pytest.fixture
def table() -> dc.Table:
    return dc.Table.from_cells(CELLS, by=["sex", "age"], count="n")


def hiding(table: dc.Table, *cells: tuple[str, str]) -> dc.ProtectedTable:
    """A table with blanks that somebody chose."""
    safe = dc.suppress(table, table.count < 0, method="fast")
    codes = [
        [dimension.codes[at] for at in part]
        for dimension, part in zip(safe.dimensions, safe.index, strict=True)
    ]
    blank = np.array([pair in cells for pair in zip(*codes, strict=True)])
    assert blank.sum() == len(cells)
    return replace(safe, status=np.where(blank, dc.CellStatus.suppressed, safe.status))


def small(table: dc.Table) -> np.ndarray:
    return table.count < 3


def test_a_lone_blank_is_no_blank(table: dc.Table) -> None:
    found = dc.audit(hiding(table, ("m", "young")), table, small(table))
    assert not found.safe
    assert found.unprotected == found.exact == ("sex=m, age=young",)


def test_a_sensitive_cell_that_is_shown_is_found(table: dc.Table) -> None:
    found = dc.audit(hiding(table), table, small(table))
    assert found.exact == ("sex=m, age=young",)


def test_a_square_of_blanks_protects(table: dc.Table) -> None:
    square = [(sex, age) for sex in "mw" for age in ("young", "middle")]
    found = dc.audit(hiding(table, *square), table, small(table), intervals=True)
    assert found.safe
    frame = found.intervals().sort("cell")
    assert frame["cell"].to_list() == [f"sex={sex}, age={age}" for sex, age in sorted(
        ((s, a) for s, a in square), key=lambda pair: f"sex={pair[0]}, age={pair[1]}")]  # fmt: skip
    low, high = frame.filter(cell="sex=m, age=young").select("low", "high").row(0)
    # At most twice the true value is thought possible, and zeros are shown.
    assert (low, high) == (1.0, 4.0)


@pytest.mark.parametrize("records", [1, 0])
def test_a_hidden_zero_with_records_tells_readers_that_zeros_may_be_hidden(records: int) -> None:
    """Where a zero of records stands between blanks, none of them is known to be more."""
    frame = pl.DataFrame(
        {"at": ["a", "b", "c", *["d"] * records], "sales": [5, 4, 9, 0][: 3 + records]}
    )
    table = dc.tabulate(frame, ["at"], values=["sales"])
    codes = table.to_polars()["at"]
    blank = codes.is_in(["a", "b", "d"]).to_numpy()
    safe = replace(dc.suppress(table, blank, method="fast", value="sales"), notes=())
    asked = codes.is_in(["a"]).to_numpy()
    found = dc.audit(safe, table, asked, value="sales", intervals=True, coalition=0)
    assert set(found.intervals()["low"]) == {0.0 if records else 1.0}


def test_levels_wider_than_the_interval_are_missed(table: dc.Table) -> None:
    primary = dc.primary(
        table,
        [],
        marks=[
            dc.rules.Mark(cells={"sex": "m", "age": "young"}, status="unsafe", lower=2, upper=9)
        ],
    )
    square = [(sex, age) for sex in "mw" for age in ("young", "old")]
    shown = dc.audit(hiding(table, *square), table, primary)
    assert shown.safe
    tight = [*square[:2], ("w", "young"), ("w", "old")]
    narrow = replace(primary, upper=primary.upper * 3)
    assert not dc.audit(hiding(table, *tight), table, narrow).safe


def test_without_primaries_every_blank_must_stay_unknown(table: dc.Table) -> None:
    row = hiding(table, ("m", "young"), ("m", "old"))
    found = dc.audit(row, table)
    assert set(found.exact) == {"sex=m, age=young", "sex=m, age=old"}


def test_linked_tables_are_laid_side_by_side(table: dc.Table) -> None:
    """One table hides the total of a column, the other shows it."""
    ages = dc.Table.from_cells(
        CELLS.filter(sex="Total").drop("sex"), by=["age"], count="n", name="ages"
    )
    first = hiding(table, ("m", "young"), ("Total", "young"), ("m", "old"), ("Total", "old"))
    second = dc.suppress(ages, ages.count < 0, method="fast")
    assert dc.audit(first, table, small(table)).safe
    both = dc.audit([first, second], [table, ages], [small(table), None])
    assert both.exact == ("sex=m, age=young",)
    assert "published elsewhere" in " ".join(both.notes)


def test_the_digest_is_that_of_the_verdicts_and_not_of_the_clock(table: dc.Table) -> None:
    safe = dc.suppress(table, small(table), method="fast")
    one, other = (dc.audit(safe, table, small(table)) for _ in range(2))
    assert one.digest() == other.digest()
    assert one.digest() != dc.audit(hiding(table), table, small(table)).digest()


# -- tables of others, without the true ones --------------------------------------


def published(hidden: list[tuple[str, str]]) -> pl.DataFrame:
    pair = pl.concat_list("sex", "age")
    gone = pair.is_in([list(each) for each in hidden]) if hidden else pl.lit(value=False)
    return CELLS.with_columns(value=pl.when(~gone).then(pl.col("n"))).drop("n")


def test_intervals_of_blanks_need_no_true_table() -> None:
    square = [(sex, age) for sex in "mw" for age in ("young", "middle")]
    found = audit_published(published(square), ["sex", "age"])
    assert (found.verdict, found.safe) == ("not examined", False)
    assert audit_published(published([]), ["sex", "age"]).verdict == "not examined"
    rows = {row[:2]: row[2:4] for row in found.to_polars().rows()}
    # Row m: 52 - 20 = 32, column young: 30, so m young lies between 1 and 29.
    assert rows[("m", "young")] == (1.0, 29.0)
    assert rows[("w", "middle")] == (9.0, 37.0)
    assert found.described()["exact"] == 0


def test_only_what_adds_up_has_intervals(table: dc.Table) -> None:
    """Means of parts do not add up, and neither do several figures of a cell."""
    safe = hiding(table, ("m", "young"), ("m", "middle"), ("w", "young"), ("w", "middle"))
    assert len(audit_published(safe).low) == 4
    mean = replace(safe, figures=(Figure(name="age", kind="mean"),))
    people = Figure(name="people")
    several = replace(
        safe,
        dimensions=(*safe.dimensions, figure_dimension([people, Figure(name="cases")])),
        index=(*safe.index, np.zeros(len(safe.status), dtype=np.int32)),
        figures=(people, Figure(name="cases")),
    )
    for wrong in (mean, several):
        with pytest.raises(SuppressionError, match="only counts and sums add up") as caught:
            audit_published(wrong)
        assert caught.value.code == "figures"


def test_rounded_values_leave_more_room() -> None:
    frame = published([("m", "young"), ("m", "old")])
    exactly = audit_published(frame, ["sex", "age"])
    assert exactly.exact.all()
    rounded = audit_published(frame, ["sex", "age"], rounding=0.5)
    assert not rounded.exact.any()
    assert (rounded.low <= exactly.low).all()
    assert (rounded.high >= exactly.high).all()


def test_a_hidden_grand_total_has_no_end() -> None:
    frame = pl.DataFrame({"sex": ["Total", "m", "w"], "value": [None, 3, None]})
    open_cells = audit_published(frame, ["sex"])
    assert open_cells.verdict == ("open" if open_cells.exact.any() else "not examined")
    rows = open_cells.to_polars().sort("sex")
    assert rows["low"].to_list() == [4.0, 1.0]
    assert rows["high"].to_list() == [None, None]


def test_cells_that_cannot_add_up_are_told() -> None:
    frame = pl.DataFrame({"sex": ["Total", "m", "w"], "value": [5, 7, None]})
    with pytest.raises(SuppressionError) as caught:
        audit_published(frame, ["sex"])
    assert caught.value.code == "additivity"
    assert audit_published(frame, ["sex"], negative=True).low.tolist() == [-2.0]


def test_a_frame_needs_its_columns_and_numbers() -> None:
    frame = pl.DataFrame({"sex": ["Total", "m"], "value": ["7", "."]})
    for given, by in ((frame, ["sex"]), (frame.drop("value"), ["sex"]), (frame, None)):
        with pytest.raises(SuppressionError):
            audit_published(given, by)


# -- respondents ------------------------------------------------------------------


def test_no_coalition_without_respondents() -> None:
    rows = [[(0, -1), (1, 1), (2, 1)]]
    problem = problem_of(np.array([30, 10, 20]), rows, state=[0, 1, 1])
    with pytest.raises(SuppressionError):
        audit_respondents(problem, problem.hidden, np.array([1]), most=1)
    with pytest.raises(SuppressionError):
        audit_respondents(problem, problem.hidden, np.array([9, 1, 1]), most=0)


# -- wrong input ------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"insiders": "exact"}, {"coalition": 2}])
def test_contributors_of_counts_are_examined_where_that_is_asked_for(asked: dict) -> None:
    """One person alone in her cell subtracts herself, and knows the two beside her."""
    counts = dc.tabulate(pl.DataFrame({"at": [*"abbcccddd"]}), ["at"])
    few = counts.count < 3
    safe = dc.suppress(counts, counts.count < 0, method="fast")
    safe = replace(safe, status=np.where(few, dc.CellStatus.suppressed, safe.status))
    assert dc.audit(safe, counts, few).respondents is None
    found = dc.audit(safe, counts, few, **asked).respondents
    assert found is not None
    assert "at=b" in found.names


def test_as_many_true_tables_as_published_ones(table: dc.Table) -> None:
    safe = dc.suppress(table, table.count < 0, method="fast")
    for words in ((safe, [table, table]), ([], []), (table, safe)):
        with pytest.raises(SuppressionError) as caught:
            dc.audit(*words)
        assert caught.value.code == "tables"
    with pytest.raises(SuppressionError):
        dc.audit(safe, table, depth=3)
    with pytest.raises(SuppressionError):
        dc.audit(safe, table, small(table)).intervals()


# -- contributors of one cell -----------------------------------------------------


def test_contributors_cannot_estimate_each_other_closer_than_the_rule_says() -> None:
    draw = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "region": draw.choice(["n", "e", "s", "w"], 150),
            "branch": draw.choice(["a", "b", "c", "d"], 150, p=[0.5, 0.3, 0.15, 0.05]),
            "turnover": np.ceil(draw.lognormal(4, 1.5, 150)).astype(int),
        }
    )
    by = ["region", "branch"]
    table = dc.tabulate(frame, by=by, values=["turnover"], contributions=2)
    primary = dc.primary(table, [dc.rules.PPercent(25)], value="turnover")
    assert primary.sensitive.any()
    safe = dc.suppress(table, primary, method="fast")
    found = dc.audit(safe, table, primary, coalition=1)
    assert found.closest_estimate is not None
    assert 25.0 - 1e-6 <= found.closest_estimate < np.inf
    shown = dc.suppress(table, table.count < 0, method="fast", value="turnover")
    open_to_all = dc.audit(shown, table, primary, coalition=1)
    assert open_to_all.closest_estimate is not None
    assert open_to_all.closest_estimate < 25.0


def test_contributors_of_several_values_are_not_estimated_by_those_of_one() -> None:
    firms = pl.DataFrame({"at": [*"aaabbbccc"], "x": range(3, 12), "y": range(20, 11, -1)})
    table = dc.tabulate(firms, ["at"], values=["x", "y"], contributions=3)
    judged = [dc.primary(table, [dc.rules.PPercent(60)], value=name) for name in "xy"]
    safe = dc.suppress(table, judged, method="fast")
    assert dc.audit(safe, table, judged, coalition=1).closest_estimate is None
    one = dc.suppress(table, judged[0], method="fast")
    assert dc.audit(one, table, judged[0], coalition=1).closest_estimate is not None


def test_a_cell_of_two_is_estimated_by_subtraction() -> None:
    frame = pl.DataFrame({"branch": ["a", "a", "b", "b", "b"], "turnover": [80, 20, 50, 50, 50]})
    table = dc.tabulate(frame, by=["branch"], values=["turnover"], contributions=2)
    shown = dc.suppress(table, table.count < 0, method="fast", value="turnover")
    sensitive = (table.count == 2) & (table.index[0] > 0)
    found = dc.audit(shown, table, sensitive, value="turnover", coalition=1)
    assert found.closest_estimate == 0.0


def test_an_audit_says_how_long_it_took_and_what_it_could_not_estimate(table: dc.Table) -> None:
    """Without two contributors anywhere there is no estimate, and no sentence about one."""
    began = time.monotonic()
    found = dc.audit(hiding(table, ("m", "young"), ("m", "middle")), table, table.count < 3)
    assert 0 < found.seconds <= time.monotonic() - began
    began = time.monotonic()
    again = audit_problem(found.problem, found.hidden)
    assert 0 < again.seconds <= time.monotonic() - began
    assert "overestimated" not in found.text()
    assert "closest_estimate_percent" not in found.described()
    empty = replace(found, closest_estimate=np.inf)
    assert "overestimated" not in empty.text()
    assert empty.described()["closest_estimate_percent"] is None
    some = replace(found, closest_estimate=12.5)
    assert "overestimated by 12.5 % or more" in some.text()
    assert some.described()["closest_estimate_percent"] == 12.5


def test_cells_hidden_here_and_shown_there_are_counted(table: dc.Table) -> None:
    """Only these: not those that every table hides, or shows."""
    cells = (("m", "young"), ("m", "middle"), ("w", "young"), ("w", "middle"))
    blank, full = hiding(table, *cells), hiding(table)
    same = dc.audit([blank, blank], [table, table], [table.count < 3] * 2)
    assert not any("published elsewhere" in note for note in same.notes)
    apart = dc.audit([blank, full], [table, table], [table.count < 3] * 2)
    assert any(
        note.startswith("4 suppressed cells are published elsewhere") for note in apart.notes
    )
