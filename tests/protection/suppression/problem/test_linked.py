"""Linked tables are one system; tables published before bind later ones."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.disclosure import linked_cells
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, Earlier, hidden_in
from discreet.protection.suppression.proof.audit import check_releases
from discreet.protection.suppression.proof.certificate import certify
from tests.helpers.protected_tables import marked, protected_table
from tests.helpers.rows import for_all_rows
from tests.helpers.small_systems import exactly_known

PEOPLE = pl.DataFrame(
    {
        "region": list("NNNSSSWWW"),
        "sex": list("mwwmmwmww"),
        "age": list("yoyyooyyo"),
        "income": [1.25, 2.25, 3.5, 4.75, 5.0, 6.125, 7.0, 8.5, 9.0],
    }
)


def counted(*by: Any, **options: Any) -> dc.Table:
    return dc.tabulate(PEOPLE, by=list(by), values=["income"], **options)


def test_cells_in_common_are_one_cell() -> None:
    by_sex, by_age = counted("region", "sex"), counted("region", "age")
    linked = linked_cells([by_sex, by_age])
    assert linked.number == len(by_sex) + len(by_age) - 4  # the regions and the total
    one = linked.cells[0][marked(by_sex, region="N")]
    assert linked.cells[1][marked(by_age, region="N")] == one
    assert linked.names(int(one[0])) == "region=N"


def test_a_cell_is_hidden_in_every_table_that_has_it() -> None:
    by_sex, by_age = counted("region", "sex"), counted("age", "region")
    problem, members = build_problem([(by_sex, marked(by_sex, region="N")), (by_age, None)])
    hidden = [members.hidden(problem.hidden, at) for at in range(len(members))]
    assert (hidden[0] == marked(by_sex, region="N")).all()
    assert (hidden[1] == marked(by_age, region="N")).all()


def test_the_respondents_of_every_cell() -> None:
    tables = (counted("region", "sex"), counted("age", "region"))
    problem, members = build_problem([(table, None) for table in tables])
    respondents = members.numbers(tuple(table.count for table in tables), len(problem))
    assert (respondents == problem.value).all()


def test_a_filter_that_picks_a_code_is_that_code() -> None:
    by_sex = counted("region", "sex")
    men = counted("region", where="sex == 'm'")
    linked = linked_cells([by_sex, men])
    assert linked.number == len(by_sex)
    assert (
        linked.cells[1][marked(men, region="S")]
        == linked.cells[0][marked(by_sex, region="S", sex="m")]
    )


@for_all_rows(
    ("where", "name"),
    [
        ("sex == 'm' and age == \"y\"", "region=N, sex=m, age=y"),
        ("age=='y' and `sex`== 'm'", "region=N, sex=m, age=y"),
        ("sex == 'm' and income == 'x'", "region=N, sex=m where income == 'x'"),
        ("sex == 'm' and boss == 'm'", "region=N, sex=m where boss == 'm'"),
        ("sex == 'm' and sex == 'w'", "region=N, sex=m where sex == 'w'"),
        ("sex == 'm' or age == 'y'", "region=N where sex == 'm' or age == 'y'"),
        ("sex != 'm'", "region=N where sex != 'm'"),
        ("not sex == 'm'", "region=N where not sex == 'm'"),
        ("sex == 'z'", "region=N where sex == 'z'"),
    ],
)
def test_what_a_filter_means_for_cells(where: str, name: str) -> None:
    part = replace(counted("region"), where=where)
    linked = linked_cells([part, counted("sex", "age")])
    assert linked.names(int(linked.cells[0][marked(part, region="N")][0])) == name


def test_other_filters_make_other_cells() -> None:
    everyone, rich = counted("region"), counted("region", where="income > 3")
    linked = linked_cells([everyone, rich])
    assert linked.number == len(everyone) + len(rich)
    names = [linked.names(number) for number in range(linked.number)]
    assert "region=S where income > 3" in names
    assert "region=S" in names


def test_values_rounded_apart_leave_a_rest_in_a_relation_and_nothing_else() -> None:
    small = PEOPLE.with_columns(income=pl.Series([0.1, 0.4, 0.4] * 3))
    tables = [dc.tabulate(small, by=["region", by], values=["income"]) for by in ("sex", "age")]
    problem, _ = build_problem([(table, None) for table in tables], value="income")
    assert not problem.relations.residuals(problem.value).any()
    assert problem.relations.rhs.any()
    assert (np.abs(problem.relations.rhs) <= 4).all()


def test_tables_that_contradict_each_other_are_refused() -> None:
    other = PEOPLE.with_columns(region=pl.Series(list("NNNSSSWWS")))
    tables = [(counted("region"), None), (dc.tabulate(other, by=["region"]), None)]
    with pytest.raises(SuppressionError, match="different values") as caught:
        build_problem(tables)
    assert {problem.where for problem in caught.value.problems} == {"region=S", "region=W"}


def test_a_variable_with_two_totals_is_refused() -> None:
    tree = dc.Classification.flat("region", ["N", "S", "W"], total="All")
    with pytest.raises(SuppressionError, match="two totals, 'Total' and 'All'"):
        build_problem([(counted("region"), None), (counted(tree), None)])


def linked_case(reference: Path, name: str) -> Any:
    with gzip.open(reference / "sdctable" / f"{name}_linked.json.gz", "rt") as file:
        return json.load(file)


def test_two_hierarchies_of_one_variable(reference: Path) -> None:
    """Regions by county and by size: the published result protects both tables together."""
    case = linked_case(reference, "L1")
    frame = pl.DataFrame(
        {
            "region": case["input"]["region"],
            "n": case["input"]["n"],
            "county": case["input"]["county"],
            "group": [g.lower() for g in case["input"]["group"]],
        }
    )
    records = frame.select(pl.exclude("n").repeat_by("n")).explode(
        ["region", "county", "group"], empty_as_null=True
    )
    tables = []
    for upper, sign in (("county", "x"), ("group", "y")):
        tree = dc.Classification.from_parents(
            "region",
            dict(zip(frame["region"], frame[upper], strict=True))
            | dict.fromkeys(frame[upper].unique(maintain_order=True).to_list()),
        )
        cells = dc.tabulate(records, by=[tree])
        listed = case[sign]
        status = dict(zip(listed["region"], listed["sdcStatus"], strict=True))
        codes = [cells.dimensions[0].codes[k] for k in cells.index[0]]
        sensitive = np.array([status[code] == "u" for code in codes])
        secondary = np.array([status[code] == "x" for code in codes])
        tables.append((cells, sensitive, secondary))
    problem, members = build_problem([(cells, sensitive) for cells, sensitive, _ in tables])
    assert len(problem) == 8 + 2 + 2 + 1
    assert len(problem.relations) == 2 + 1 + 2 + 1
    hidden = problem.hidden | members.gathered(
        tuple(secondary for *_, secondary in tables), len(problem)
    )
    assert not len(certify(problem, hidden).unprotected)


def test_codes_of_two_variables_that_mean_the_same() -> None:
    codes = PEOPLE.with_columns(area=pl.col("region").replace({"N": "x", "S": "y", "W": "y"}))
    area, region = dc.tabulate(codes, by=["area", "sex"]), dc.tabulate(codes, by=["region", "sex"])
    linked = linked_cells([region, area], {("area", "x"): ("region", "N")})
    assert (
        linked.cells[1][marked(area, area="x", sex="w")]
        == linked.cells[0][marked(region, region="N", sex="w")]
    )
    with pytest.raises(SuppressionError, match="unknown code 'z'"):
        linked_cells([region, area], {("area", "z"): ("region", "N")})


def equations(records: pl.DataFrame, *by: str) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Every total of a table with its parts, as cells of region, sex and age; one by one."""
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    spanned = [["Total", each] for each in by]
    for record in records.iter_rows(named=True):
        for places in product(*spanned):
            full = {place: record[place] for place in places if place != "Total"}
            for name in by:
                if name not in full:
                    whole = tuple(full.get(each, "Total") for each in ("region", "sex", "age"))
                    part = full | {name: record[name]}
                    key = (name, *by, *whole)
                    cell = tuple(part.get(each, "Total") for each in ("region", "sex", "age"))
                    found.setdefault(key, set()).add(cell)
    return {(*key[-3:], *key): sorted(parts) for key, parts in found.items()}


@given(st.data())
def test_linked_tables_tell_what_all_their_sums_tell(data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(
            st.tuples(*[st.sampled_from(x) for x in ("NS", "mw", "yo")]), min_size=2, max_size=9
        )
    )
    frame = pl.DataFrame(rows, schema=["region", "sex", "age"], orient="row")
    spans = [("region", "sex"), ("region", "age")]
    tables = [dc.tabulate(frame, by=list(span)) for span in spans]
    problem, members = build_problem([(table, None) for table in tables])
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(problem), max_size=len(problem)))
    )
    cell_of: dict[Any, int] = {}
    for table, places in zip(tables, members.cells, strict=True):
        codes = table.to_polars()
        for row, place in zip(codes.iter_rows(named=True), places.tolist(), strict=True):
            cell_of[tuple(row.get(name, "Total") for name in ("region", "sex", "age"))] = place
    number, places = {cell: at for at, cell in enumerate(cell_of)}, list(cell_of.values())
    sums = [sum_of for span in spans for sum_of in equations(frame, *span).items()]
    system = np.zeros((len(sums), len(number)))
    for row, (key, parts) in zip(system, sums, strict=True):
        row[[number[part] for part in parts]] = 1
        row[number[key[:3]]] = -1
    naive = np.array(places)[exactly_known(system, chosen[places])]
    known = exactly_known(problem.relations.dense(), chosen)
    assert set(np.flatnonzero(known).tolist()) == set(naive.tolist())


@given(st.permutations([0, 1, 2]), st.randoms(use_true_random=False))
def test_neither_the_order_of_records_nor_of_tables_matters(order: Any, random: Any) -> None:
    rows = list(range(len(PEOPLE)))
    random.shuffle(rows)
    tables = [("region", "sex"), ("region", "age"), ("sex", "age")]

    def built(frame: pl.DataFrame, numbers: Any) -> tuple[list[int], list[int], int]:
        sources = [(dc.tabulate(frame, by=list(tables[k])), None) for k in numbers]
        problem, _ = build_problem(sources)
        names = {problem.name(cell): int(problem.value[cell]) for cell in range(len(problem))}
        return sorted(names), sorted(names.values()), len(problem.relations)

    assert built(PEOPLE[rows], order)[1:] == built(PEOPLE, [0, 1, 2])[1:]


# -- tables published before --------------------------------------------------


def test_what_was_published_stays_published_and_what_was_hidden_hidden() -> None:
    old, new = counted("region"), counted("region", "sex")
    hidden = marked(old, region="N") | marked(old, region="S")
    problem, members = build_problem(
        (new, marked(new, region="N", sex="m")), earlier=[Earlier(table=old, hidden=hidden)]
    )
    state = problem.state[members.cells[0]]
    assert state[marked(new, region="N")] == CellState.secondary
    assert state[marked(new, region="W")] == CellState.fixed
    assert state[marked(new)] == CellState.fixed
    assert len(members) == 1
    again, _ = build_problem(
        (new, None), earlier=[Earlier(table=old, hidden=hidden, primary=marked(old, region="N"))]
    )
    assert [again.name(cell) for cell in again.primary] == ["region=N"]


def test_a_sensitive_cell_that_was_published_is_refused() -> None:
    old, new = counted("region"), counted("region", "sex")
    nothing = np.zeros(len(old), dtype=np.bool_)
    with pytest.raises(SuppressionError, match="region=N: the cell must be published and"):
        build_problem((new, marked(new, region="N")), earlier=[Earlier(table=old, hidden=nothing)])


def published(table: dc.Table, hidden: np.ndarray) -> dc.ProtectedTable:
    trees = [dimension.classifications[0] for dimension in table.dimensions]
    status = np.where(hidden, dc.CellStatus.suppressed, dc.CellStatus.published)
    value = np.where(hidden, 0, table.count)
    return protected_table(trees, value, at=table.index, status=status, name=table.name)


def test_the_hidden_cells_of_a_table_as_it_was_published() -> None:
    table = counted("sex", "region")
    hidden = marked(table, region="N", sex="m") | marked(table, region="S", sex="w")
    assert (hidden_in(table, published(table, hidden)) == hidden).all()
    turned = counted("region", "sex")
    assert hidden_in(turned, published(table, hidden)).sum() == 2
    with pytest.raises(SuppressionError, match="its variables or figures differ"):
        hidden_in(counted("age"), published(table, hidden))


def test_releases_that_are_safe_apart_can_open_each_other() -> None:
    """Each region is hidden beside another one; two sums are one more than the unknowns."""
    frame = pl.DataFrame({"region": ["Total", *"NSWE"], "n": [20, 2, 4, 6, 8]})
    table = dc.Table.from_cells(frame, by=["region"], count="n")
    first = Earlier(table=table, hidden=marked(table, region="N") | marked(table, region="S"))
    second = Earlier(table=table, hidden=marked(table, region="N") | marked(table, region="W"))
    assert check_releases([first, first]).safe
    check = check_releases([first, second])
    assert not check.safe
    assert set(check.opened) == {"region=N", "region=S", "region=W"}


def test_later_breakdowns_open_earlier_tables() -> None:
    old, new = counted("region"), counted("region", "sex")
    hidden = marked(old, region="N") | marked(old, region="S")
    nothing = np.zeros(len(new), dtype=np.bool_)
    partly = marked(new, region="N") | marked(new, region="S")
    for pattern, opened in ((nothing, 2), (partly, 2)):
        releases = [Earlier(table=old, hidden=hidden), Earlier(table=new, hidden=pattern)]
        assert len(check_releases(releases).opened) == opened
    for sex in "mw":
        partly = partly | marked(new, region="N", sex=sex) | marked(new, region="S", sex=sex)
    releases = [Earlier(table=old, hidden=hidden), Earlier(table=new, hidden=partly)]
    assert check_releases(releases).safe


def test_releases_of_columns_with_other_names_are_compared_by_their_records() -> None:
    """A land tells a hidden town; names alone say that nobody has looked."""
    towns = ["a"] * 2 + ["b"] * 5 + ["c"] * 3 + ["d"] * 6
    people = pl.DataFrame({"town": towns * 10, "land": (["N"] * 7 + ["S"] * 9) * 10})
    tables = [dc.tabulate(people, by=[name]) for name in ("town", "land")]
    codes = tables[0].to_polars()["town"]
    first = Earlier(table=tables[0], hidden=codes.is_in(["a", "c"]).to_numpy())
    second = Earlier(table=tables[1], hidden=np.zeros(len(tables[1]), dtype=bool))
    assert check_releases([first, second]).verdict == "not examined"
    found = check_releases([first, second], records=people)
    assert found.opened == ("town=a", "town=c")
    every = codes.is_in(["a", "b", "c", "d"]).to_numpy()
    assert check_releases([replace(first, hidden=every), second], records=people).safe
