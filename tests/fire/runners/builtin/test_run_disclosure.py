"""Whom records are about, what hangs on a few, and copies of one person's value."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin import session as sessions
from discreet_fire.runners.builtin.expressions import expression_tree
from discreet_fire.runners.builtin.session import (
    cases,
    cases_by_value,
    conflicts_with_earlier,
    few,
    trimmed,
)
from discreet_fire.runners.builtin.syntax import MISSING, DoError
from tests.helpers.run_data import Run

WHO = {"pid": [7, 7, 8, 9, 10, 10], "x": [1, 2, 3, 4, 5, 6]}
PERSONS = 40
FRAME = pl.DataFrame(
    {
        "pid": [who for who in range(PERSONS) for _ in range(2)],
        "year": [2001, 2002] * PERSONS,
        "region": [who % 4 for who in range(PERSONS) for _ in range(2)],
        "wage": [2_000 + 37 * who % 500 + year for who in range(PERSONS) for year in (1, 2)],
    }
)


def test_few_are_fewer_persons_than_needed_but_some() -> None:
    """Two records of one person and one of another are two; nobody is not a few."""
    run = Run("", WHO, entity="pid")
    numbers = [cases(run.session, run.rows(*one)) for one in ([], [0, 1], [0, 1, 2], [0, 2, 3])]
    assert numbers == [0, 1, 2, 3]
    assert not few(run.session, run.rows())
    assert few(run.session, run.rows(0, 1, 2))
    assert not few(run.session, run.rows(0, 2, 3))
    assert sessions._too_few(run.session, "checked", run.rows(2, 3, 4, 5)), "7 is left out"
    assert not sessions._too_few(run.session, "model", run.rows(2, 3, 4, 5))
    assert not sessions._too_few(run.session, "checked", run.rows(0, 1, 2, 3, 4, 5))


def test_a_bound_is_near_by_the_spread_of_the_gaps() -> None:
    """However near: a factor from a half to one and a half that nobody knows."""
    session = Run("", {"pid": list(range(40)), "x": list(range(40))}, entity="pid").session
    far = np.linspace(100, 200, 40)
    spread = far.std()
    assert sessions._near(session, np.append(far[1:] - far[1] + 0.4 * spread, np.nan)[:40])
    assert not sessions._near(session, far - far[0] + 1.6 * spread)
    assert not sessions._near(session, np.full(40, np.inf))
    many = far - far[0]
    many[:5] = 0.0
    assert not sessions._near(session, many), "five have the nearest value"


def test_conditions_on_categories_and_missing_values_ask_about_nobody() -> None:
    """That nobody meets them may be told; of a wage it would be a bound."""
    data = {
        "pid": list(range(12)), "sex": [1, 2] * 6, "region": [1, 2, 3] * 4,
        "wage": [100 + at for at in range(12)], "name": [f"N{at}" for at in range(12)],
    }  # fmt: skip
    session = Run("generate own = sex", data, entity="pid").session
    for condition, plain in [
        ("sex == 1", True), ("sex == 1 & region != 2", True), ("!(sex == 1 | region == 2)", True),
        ("inlist(region, 1, 2)", True), ("inlist(wage, 1, 2)", False), ("missing(wage)", True),
        ("wage == .", True), ("wage < .", True), ("wage > 5", False), ("sex == wage", False),
        ("sex == 1 & wage > 5", False), ("wage > 5 | sex == 1", False), ("sex + 1 == 2", False),
        ("sqrt(sex) == 1", False), ('name == ""', True), ('name == "Q"', False),
        ("own == 1", False), ("nowhere == 1", False),
    ]:  # fmt: skip
        assert sessions._is_plain(session, expression_tree(condition)) is plain, condition
    rare = Run("", {"pid": [1, 1, 1, 2, 3, 4], "g": [1, 1, 1, 2, 2, 2]}, entity="pid").session
    assert not sessions._is_plain(rare, expression_tree("g == 2")), "value 1 is that of one"
    table = cases_by_value(pl.Series([1, 1, 2, 2]), np.array([0, -1, 0, 1]))
    assert dict(table.sort("value").iter_rows()) == {1: 1, 2: 2}


def test_functions_and_texts_ask_without_a_bound() -> None:
    for condition, asks in [
        ("inlist(wage, 1, 2)", True), ("x > 1", False), ('name == "Q"', True),
        ('"Q" != name', True), ('name < "Q"', False), ("-inrange(x, 1, 2)", True),
        ("x == 1 | x == 2", False), ("missing(x)", False),
    ]:  # fmt: skip
        assert sessions._asks(expression_tree(condition)) is asks, condition


def outputs(entity: str | None, sets: list[list[int]]) -> list[bool]:
    """Whether outputs of the same variable on one set of records after the other conflict."""
    size = 40
    data = {"pid": [at // 2 for at in range(size)], "x": list(range(100, 100 + size))}
    run = Run("", data, entity=entity)
    return [conflicts_with_earlier(run.session, run.rows(*rows), ["x"]) for rows in sets]


def test_an_output_without_a_few_is_known_by_the_earlier_one() -> None:
    """What both have in common can be taken away: what is left is that of a few."""
    every = list(range(40))
    assert outputs("pid", [every, every]) == [False, False]
    assert outputs("pid", [every, every[:36]]) == [False, True], "two persons"
    assert outputs("pid", [every, every[:34]]) == [False, False], "three persons"
    assert outputs(None, [every, every[:37]]) == [False, False], "three records"
    assert outputs(None, [every, every[:38]]) == [False, True]
    assert outputs("pid", [every[:36], every]) == [False, True], "in any order"


def test_sets_that_differ_by_a_few_are_shown_some_times_only() -> None:
    """Another variable each time gives nothing away by itself; a search would go on."""
    size = 60
    run = Run("", {"x": list(range(size)), **{f"v{at}": [at] * size for at in range(12)}})
    shown = []
    for at in range(12):
        mask = np.ones(size, dtype=np.bool_)
        mask[at] = False
        shown.append(conflicts_with_earlier(run.session, mask, [f"v{at}"]))
    assert shown == [False] * 6 + [True] * 6


@pytest.mark.parametrize(
    ("values", "text"),
    [(np.array([1.0, 2.0, 1.0, MISSING, -0.0, 0.0]), False),
     (np.array(["a", "b", "a", "", "0", "0"], dtype=object), True)],
)  # fmt: skip
def test_marks_are_equal_where_values_are_and_none_where_they_miss(values: Any, text: bool) -> None:
    first, second, again, missing, low, high = sessions._marks(values, text=text).tolist()
    assert first == again != second
    assert missing == 0
    assert low == high
    assert all((first, second, low))


def test_a_condition_that_trims_too_often_is_marked() -> None:
    """Outliers may be dropped; who tries bounds one after the other finds the largest value."""
    run = Run("", {"pid": list(range(20)), "x": list(range(20))}, entity="pid")
    session, few_rows, many = run.session, run.rows(0), run.rows(*range(9))
    trimmed(session, "g == 1", few_rows, holds_for_few=True)
    assert not session.history.trims, "a category is no bound"
    session.plain = False
    for condition, mask, holds in (
        ("x > 1", many, False), ("x > 1", few_rows, False), ("x > 1", few_rows, True),
        ("x > 2", many, True), ("x > 3", few_rows, False),
    ):  # fmt: skip
        trimmed(session, condition, mask, holds_for_few=holds)
        assert not session.touched
    trimmed(session, "x > 4", few_rows, holds_for_few=False)
    assert session.touched


def test_altered_values_differ_from_all_that_are_known() -> None:
    run = Run("", {"x": [0.0, 1.0, -3.5, None], "s": ["ab", "", "ä", "c"]})
    for name, known in (("x", 3), ("s", 4)):
        variable = run.session.data.variables[name]
        for values in sessions._altered(variable):
            for old, new in zip(variable.values[:known], values[:known], strict=True):
                assert new != old or old == ""


# --- copies of one person's value --------------------------------------------------------------

ONE, FIRST = FRAME.filter(pl.col("pid") == 7)[:1], FRAME.unique("region", maintain_order=True)
COPIED = [
    ("generate k = 1\nmerge m:1 k using o", ONE.select(w="wage").with_columns(k=1.0)),
    ("merge m:1 region using o, nogenerate", FIRST.select("region", w="wage")),
    ("merge m:1 region using o, keepusing(w) keep(match)", FIRST.select("region", w="wage")),
    ("generate w = wage if pid == 7\nreplace w = 1000 if missing(w)", ONE),
    ("recode pid (7 = 1) (else = 0), generate(k)\ngenerate w = k * wage", ONE),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "using"), COPIED)
@pytest.mark.parametrize("entity", ["pid", None])
def test_copies_of_few_values_count_as_few(lines, using, entity) -> None:
    """All would print one wage, or one of each region, with a small number added."""
    after = "\ngenerate z = w + pid / 1000\ntabstat z, by(region)\nkeep if region == 3\nsummarize z"
    run = Run(f"{lines}{after}", FRAME, entity=entity, files={"o": using})
    assert run.text.count("(withheld)") == 2, run.text
    assert "Mean" not in run.text


MANY = [
    ("merge m:1 pid using o, nogenerate",
     FRAME.filter(pl.col("year") == 2001).select("pid", m="wage")),
    ("append using o\ngenerate m = wage", FRAME.with_columns(pid=pl.col("pid") + 100)),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "using"), MANY)
def test_copies_of_many_values_and_of_ones_own_can_be_described(lines, using) -> None:
    text = f"{lines}\ngenerate z = wage + m\ntabstat wage z, by(year)"
    run = Run(text, FRAME, entity="pid", files={"o": using})
    assert "(withheld)" not in run.text, run.text


def test_records_of_a_file_without_the_entity_count_for_nobody() -> None:
    """A file of regions beside persons: who stands behind its records is not known."""
    other = FRAME.select(region=pl.col("region") + 10, wage="wage")
    run = Run("append using o\nsummarize wage if region > 9", FRAME, entity="pid",
              files={"o": other})  # fmt: skip
    assert "(withheld)" in run.text
    assert cases(run.session, run.session.data.records >= 80) == 0


def test_few_or_nobody_beside_all_others_are_not_counted() -> None:
    """Whether somebody was chosen before would be told by how many there are then."""
    logs = []
    for bound in (2_490, 90_000):
        text = f"keep if wage > {bound}\nappend using all\ncount\nsummarize wage"
        logs.append(Run(text, FRAME, entity="pid", files={"all": FRAME}).text)
    assert logs[0] == logs[1]


# --- failures -----------------------------------------------------------------------------------

PEOPLE = pl.DataFrame(
    {
        "pid": range(1, 41),
        "group": [who % 4 for who in range(1, 41)],
        "sex": [who % 2 for who in range(1, 41)],
        "wage": [1000.0 + 10 * who for who in range(1, 41)],
        "rare": [-9 if who == 7 else who % 3 for who in range(1, 41)],
    }
)
TWICE = pl.concat([PEOPLE, PEOPLE[:2]])


def error_of(text: str, frame: pl.DataFrame, **files: pl.DataFrame) -> DoError:
    with pytest.raises(DoError) as caught:
        Run(text, frame, entity="pid", files=files)
    return caught.value


def test_a_failure_is_told_only_where_it_is_about_many() -> None:
    for text, frame, redacted, rc in [
        ("xtset pid", PEOPLE, None, 0),
        ("xtset pid group", TWICE, True, 451),
        ("xtset sex group", PEOPLE, False, 451),
        ("xtset pid wage\nxtset pid rare", PEOPLE, None, 0),
        ("merge 1:1 pid using o", TWICE, True, 459),
        ("merge 1:1 group using o", PEOPLE, False, 459),
        ("regress wage i.rare", PEOPLE, True, 452),
    ]:
        if redacted is None:
            Run(text, frame, entity="pid")
            continue
        error = error_of(text, frame, o=PEOPLE)
        assert (error.redacted, error.rc) == (redacted, rc), text


def test_what_fails_by_single_values_is_refused_before_it_is_tried() -> None:
    for text in ("xtset pid z", "merge 1:1 z using o", "merge m:1 z using o"):
        single = f"generate z = wage * (pid == 9)\n{text}"
        error = error_of(single, PEOPLE, o=PEOPLE.with_columns(z=pl.col("wage")))
        assert "rest on single values" in str(error)
        assert not error.redacted
