"""Linked tables: what all tables of a program tell about withheld cells, taken together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import highspy
import numpy as np
import polars as pl
import pytest

from discreet_fire.linked_tables import ShownTable, linked_findings, shown_table
from discreet_fire.linked_tables.advice import cells_to_withhold
from discreet_fire.linked_tables.system import LinkedSystem, systems_of
from discreet_fire.runners.builtin.runner import run_do
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.table import table
from discreet_fire.statistics.tabulate import tabulate

LIMITS = SafeLimits()


def records(seed: int = 3, elsewhere: int = 2) -> pl.DataFrame:
    """Counties of two regions; county 9 has four people, whose neighbour in size is elsewhere."""
    rng = np.random.default_rng(seed)
    county = np.concatenate(
        [np.repeat([1, 2, 3, 4, 9], [90, 75, 98, 76, 4]), np.arange(400) % 4 + 20]
    )
    sex = rng.integers(1, 3, county.size)
    sex[county == 9] = [1, 1, 2, 2]
    east = (county < 10) & (county != elsewhere)
    return pl.DataFrame({"cty": county, "region": np.where(east, "E", "W"), "sex": sex})


def shown(frame: pl.DataFrame, *spans: Sequence[str]) -> list[ShownTable]:
    """Tables of a frame, as the safe commands show them."""
    found = []
    for line, names in enumerate(spans, 1):
        result = tabulate(frame, *names) if len(names) == 2 else table(frame, names, statistics="n")
        one = shown_table(
            f"line {line}, {result.command}",
            result.frame.select(*names, "n"),
            frame.select(names),
            np.arange(frame.height),
        )
        assert one is not None
        found.append(one)
    return found


def test_a_finer_and_a_coarser_table_give_back_what_the_finer_withholds() -> None:
    found = linked_findings(shown(records(), ("cty", "sex"), ("region", "sex")), minimum=3)
    first = "line 1, tabulate cty sex: cty = 9, sex = 1 follows from line 2, tabulate region sex: "
    assert found[0].what == first + "region = E, sex = 1, less cty = 1, 3, 4 of the same table"
    assert "withhold besides: line 1, tabulate cty sex: cty = " in found[-1].hint
    assert {one.rule for one in found} == {"linked-tables"}
    assert len(found) <= 6


def test_tables_that_tell_nothing_together_are_no_finding() -> None:
    frame = records(elsewhere=0)  # both withheld counties are in one region
    for seed in range(50):
        frame = records(seed, elsewhere=0)
        first = shown(frame, ("cty", "sex"))[0]
        if first.hidden[1].any():
            break
    assert first.hidden[1].any()
    assert linked_findings(shown(frame, ("cty", "sex"), ("region", "sex")), minimum=3) == ()
    assert linked_findings(shown(frame, ("cty", "sex")), minimum=3) == ()


def test_the_same_from_do_file_to_finding(tmp_path: Path) -> None:
    records().with_columns(pid=pl.int_range(pl.len())).write_csv(tmp_path / "d.csv")
    (tmp_path / "a.do").write_text("tabulate cty sex\ntabulate region sex\n")
    result = run_do(tmp_path / "a.do", data=tmp_path / "d.csv", entity="pid")
    told = [one.what for one in result.findings if one.rule == "linked-tables"]
    assert told[0].startswith("line 1, tabulate cty sex: cty = 9, sex = 1 follows from line 2")
    (tmp_path / "b.do").write_text("tabulate cty sex\ntabulate sex\n")
    alone = run_do(tmp_path / "b.do", data=tmp_path / "d.csv", entity="pid")
    assert not [one for one in alone.findings if one.rule == "linked-tables"]


def test_what_cannot_be_followed_is_said(tmp_path: Path) -> None:
    records().with_columns(w=pl.lit(2)).write_csv(tmp_path / "d.csv")
    program = "tabulate cty sex\ntabulate region sex [fweight=w]\n"
    (tmp_path / "a.do").write_text(program)
    result = run_do(tmp_path / "a.do", data=tmp_path / "d.csv")
    (told,) = [one.what for one in result.findings if one.rule == "linked-tables"]
    assert told == "1 tables were not held against others: line 2, tabulate"


def test_a_split_table_is_one_with_the_whole(tmp_path: Path) -> None:
    """Counties of one region by filter, then the region: each safe alone, as the issue has it."""
    records().write_csv(tmp_path / "d.csv")
    program = 'tabulate cty sex if region == "E"\ntabulate cty sex\n'
    (tmp_path / "a.do").write_text(program)
    result = run_do(tmp_path / "a.do", data=tmp_path / "d.csv")
    told = [one.what for one in result.findings if one.rule == "linked-tables"]
    assert any("cty = 9" in one for one in told)


def test_wrong_tables_are_not_followed() -> None:
    frame = records()
    result = tabulate(frame, "cty", "sex")
    whole = result.frame.select("cty", "sex", "n")
    labels, numbers = frame.select("cty", "sex"), np.arange(frame.height)
    assert shown_table("t", whole, labels, np.zeros(frame.height, dtype=np.int64)) is None
    assert shown_table("t", whole, labels, numbers - 1) is None
    assert shown_table("t", whole.with_columns(pl.col("n") + 1), labels, numbers) is None
    assert shown_table("t", whole, labels.with_columns(pl.lit(77).alias("cty")), numbers) is None
    assert shown_table("t", whole[:-1], labels, numbers) is None
    one = shown_table("t", whole, labels, numbers)
    assert one is not None
    assert "75" not in repr(one)


def bounds(
    frame: pl.DataFrame, tables: Sequence[tuple[ShownTable, np.ndarray]], at: tuple[int, int]
) -> tuple[float, float]:
    """What a linear program of its own tells of one cell: over combinations that occur.

    Written apart from the package: an attacker who knows which combinations of all variables
    occur, and every number that is shown.
    """
    keys = (
        frame.with_columns(pl.struct(pl.all()).rank("dense").alias("atom"))["atom"].to_numpy() - 1
    )
    atoms = int(keys.max()) + 1
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for _ in range(atoms):
        solver.addVar(0.0, highspy.kHighsInf)
    chosen: np.ndarray | None = None
    for number, (one, hidden) in enumerate(tables):
        full = [np.append(np.arange(size), -1) for size in one.sizes]
        for place, cell in enumerate(itertools.product(*full)):
            inside = np.ones(frame.height, dtype=bool)
            for axis, code in zip(one.axes, cell, strict=True):
                inside &= (axis.codes == code) | (code == -1)
            members = np.unique(keys[inside]).astype(np.int32)
            if (number, place) == at:
                chosen = members
            if members.size and not hidden.ravel()[place]:
                n = float(inside.sum())
                solver.addRow(n, n, members.size, members, np.ones(members.size))
    assert chosen is not None
    ends = []
    for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
        solver.changeColsCost(atoms, np.arange(atoms, dtype=np.int32), np.zeros(atoms))
        solver.changeColsCost(chosen.size, chosen, np.ones(chosen.size))
        solver.changeObjectiveSense(sense)
        solver.run()
        endless = solver.getModelStatus() != highspy.HighsModelStatus.kOptimal
        ends.append(float("inf") if endless else solver.getInfo().objective_function_value)
    return ends[0], ends[1]


def random_program(seed: int) -> tuple[pl.DataFrame, list[Sequence[str]]]:
    """Nested, overlapping and free variables, and two to six tables of them."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(150, 600))
    county = rng.choice(12, rows, p=rng.dirichlet(np.full(12, 0.7)))
    age = rng.integers(20, 80, rows)
    frame = pl.DataFrame(
        {
            "cty": county + 1,
            "region": county % 3 + 1,
            "district": county % 6 + 1,
            "sex": rng.integers(1, 3, rows),
            "young": (age < 45).astype(int),
            "band": age // 15,
            "health": rng.choice(4, rows, p=[0.6, 0.25, 0.1, 0.05]),
        }
    )
    pairs = list(itertools.combinations(frame.columns, 2))
    chosen = rng.choice(len(pairs), int(rng.integers(2, 7)), replace=False)
    return frame, [pairs[at] for at in chosen]


def programs(number: int) -> list[int]:
    return list(range(number))


def attacked(seed: int) -> tuple[int, int]:
    """Withheld cells that are determined before and after the advice is taken."""
    frame, spans = random_program(seed)
    tables = shown(frame, *spans)
    before = after = 0
    extra = {id(one): one.hidden.copy() for one in tables}
    for system in systems_of(tables):
        _take_advice(system, extra)
    findings = linked_findings(tables, minimum=3)
    for hidden_by, add in ((lambda one: one.hidden, 0), (lambda one: extra[id(one)], 1)):
        held = [(one, hidden_by(one)) for one in tables]
        for number, one in enumerate(tables):
            for place in np.flatnonzero(one.hidden & (one.counts > 0)).tolist():
                low, high = bounds(frame, held, (number, place))
                if high - low < 0.5:
                    before, after = (before + 1, after) if not add else (before, after + 1)
    assert bool(findings) or not before
    return before, after


def _take_advice(system: LinkedSystem, extra: dict[int, np.ndarray]) -> None:
    for cell in cells_to_withhold(system, 3).tolist():
        extra[id(system.tables[system.table(cell)])].ravel()[system.place(cell)] = True


@pytest.mark.parametrize("seed", programs(6))
def test_nothing_withheld_is_determined_once_the_advice_is_taken(seed: int) -> None:
    assert attacked(seed)[1] == 0


@pytest.mark.exhaustive
def test_nothing_withheld_is_determined_in_two_hundred_programs() -> None:
    told = [attacked(seed) for seed in range(6, 206)]
    assert sum(after for _, after in told) == 0
    assert sum(before > 0 for before, _ in told) > 20  # the attack finds something at all
