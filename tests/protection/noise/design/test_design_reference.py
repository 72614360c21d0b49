"""The published tables of the R package ptable, as far as its solver is precise."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet import MagnitudePerturbationTable, PerturbationTable, design_magnitude_perturbation
from discreet.errors import PerturbationError
from discreet.protection.noise.design import design_rows
from tests.helpers.rows import for_all_rows

NEAR = 1e-6  # its solver is precise to 4.5e-7
FLOOR = 1e-8  # it lets no probability be smaller
# Where many values lie on that floor, they take up variance: see the last test.
TOLERANCE = {"n09": 1.1e-6}
COUNTS = (
    "c01 c02 c04 c06 c07 c08 c09 c10 c11 c12 c13 c14 c17 c18 c19 c25 c26 c27 c29 c31 c32 c33 c34"
)
MAGNITUDES = [f"n{number:02}" for number in range(1, 13)]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def parameters(reference: Path, name: str) -> dict[str, Any]:
    cases = json.loads((reference / "ptable" / "cases.json").read_text())
    (found,) = [case["params"] for case in cases if case["id"] == name]
    return found


def relaxed(name: str, stated: dict[str, Any]) -> list[str]:
    """What gives way: that tool keeps the variance with optim = 4, and lowers stay."""
    usual = "stay" if name in ("c25", "c32") else "variance"
    return ["unimodality" if optim == 4 else usual for optim in listed(stated["optim"])]


def transitions(reference: Path, name: str) -> dict[int, dict[float, float]]:
    with (reference / "ptable" / f"{name}_tmatrix.csv").open() as file:
        head, *lines = csv.reader(file)
    targets = [float(cell) for cell in head[1:]]
    return {int(line[0]): dict(zip(targets, map(float, line[1:]), strict=True)) for line in lines}


def design_of(reference: Path, name: str) -> Any:
    stated = parameters(reference, name)
    stay = [None if value == "NA" else value for value in listed(stated["pstay"])]
    return design_rows(
        stated["D"],
        stated["V"],
        forbidden=range(1, stated["js"] + 1),
        monotone=listed(stated["mono"]),
        stay=stay,
        relax=relaxed(name, stated),
    )


@for_all_rows("name", COUNTS.split())
def test_tables_for_counts_are_those_published_and_none_has_more_entropy(
    reference: Path, name: str
) -> None:
    design = design_of(reference, name)
    published = transitions(reference, name)
    assert [row.i for row in design.rows] == sorted(published)
    for row in design.rows:
        ours = {row.i + v: p for v, p in zip(row.noise, row.probability.tolist(), strict=True)}
        for target in ours.keys() | published[row.i].keys():
            theirs = published[row.i].get(target, 0)
            assert ours.get(target, 0) == pytest.approx(theirs, abs=NEAR)
        # That tool's rows miss their own constraints by some 1e-8, which is worth up
        # to 4e-12 of entropy; its variance is never truly below ours.
        used = [share for share in published[row.i].values() if share > 0]
        entropy = -math.fsum(share * math.log(share) for share in used)
        assert row.entropy > entropy - 1e-11
    assert design.residual < 1e-12


def test_the_stay_probability_is_lowered_as_that_tool_does(reference: Path) -> None:
    for name, expected in (("c25", 0.55), ("c32", 0.5)):
        first = design_of(reference, name).rows[1]
        assert (first.relaxed, first.stay) == ("stay", expected)


def test_unimodality_is_given_up_in_one_row_of_c29_only(reference: Path) -> None:
    rows = design_of(reference, "c29").rows
    assert [row.relaxed for row in rows] == [None, "unimodality", *[None] * 6]
    assert rows[1].variance == pytest.approx(3, abs=1e-12)
    assert rows[1].probability[-1] > rows[1].probability[-2]


#: Error cases of that tool: largest noise, variance, forbidden figures, options, and the
#: least variance feasible, None where a table exists.
REFUSED = {
    "c03": (5, 1, (1, 2), {}, "2"),
    "c22": (5, 2, (1, 2, 3), {}, "4"),
    "c28": (5, 3, (1, 2, 3), {}, "4"),
    "c30": (5, 2, (1, 2), {"relax": dict.fromkeys(range(3, 9), "unimodality")}, None),
    "c36": (5, 1, (1, 2), {"monotone": False}, "2"),
    "c37": (5, 1, (1, 2), {"relax": "unimodality"}, "2"),
    "c38": (5, 1, (1, 2), {"relax": "unimodality", "monotone": False}, "2"),
    "c39": (5, 2, (1, 2), {}, None),
    "c40": (5, 1, (1,), {}, None),
}


def test_all_error_cases_are_covered(reference: Path) -> None:
    cases = json.loads((reference / "ptable" / "cases.json").read_text())
    assert {case["id"] for case in cases if case["status"] == "error"} == set(REFUSED)


@for_all_rows("name", REFUSED)
def test_a_case_refused_there_is_solved_or_truly_impossible(name: str) -> None:
    max_noise, variance, forbidden, options, least = REFUSED[name]
    if least is None:
        design = design_rows(max_noise, variance, forbidden, **options)
        assert design.residual < 1e-12
        return
    with pytest.raises(PerturbationError, match=f"a variance of at least {least}"):
        design_rows(max_noise, variance, forbidden, **options)
    design = design_rows(max_noise, int(least), forbidden, **options)
    assert design.residual < 1e-12


def test_c40_is_one_below_or_one_above() -> None:
    first = design_rows(5, 1, forbidden=(1,)).rows[1]
    used = {v: p for v, p in zip(first.noise, first.probability.tolist(), strict=True) if p}
    assert used == {-1: 0.5, 1: 0.5}


def magnitude(reference: Path, name: str) -> MagnitudePerturbationTable:
    stated = parameters(reference, name)
    return design_magnitude_perturbation(
        stated["D"],
        stated["V"],
        classes=listed(stated["icat"]),
        step=stated["step"],
        kind=stated["type"],
        monotone=listed(stated["mono"]),
        relax=relaxed(name, stated),
    )


@for_all_rows("name", MAGNITUDES)
def test_tables_for_magnitudes_are_those_published(reference: Path, name: str) -> None:
    table = magnitude(reference, name)
    published = transitions(reference, name)
    assert list(table.classes()) == sorted(published)
    for i, theirs in published.items():
        ours = dict(enumerate(table.transition_matrix(i).tolist()))
        for target, share in theirs.items():
            # Beyond the last column lies less than a step of the key grid.
            found = ours.get(round(target * table.step()), 0)
            assert found == pytest.approx(share, abs=TOLERANCE.get(name, NEAR))


@for_all_rows("name", MAGNITUDES)
def test_their_files_hold_the_designed_tables_to_eight_decimals(reference: Path, name: str) -> None:
    table = magnitude(reference, name)
    for ending in ("ptable.csv", "tauargus.txt"):
        path = reference / "ptable" / f"{name}_{ending}"
        if not path.exists():  # that tool writes no τ-ARGUS file for parity tables
            continue
        read = MagnitudePerturbationTable.read(path, kind=table.kinds[0])
        assert (read.classes(), read.step()) == (table.classes(), table.step())
        theirs, ours = read.transition_matrix(), table.transition_matrix()
        columns = min(theirs.shape[1], ours.shape[1])  # beyond: less than a grid step
        assert theirs[:, columns:].sum() <= FLOOR * ours.size
        assert abs(theirs[:, :columns] - ours[:, :columns]).max() < TOLERANCE.get(name, NEAR)


@pytest.mark.parametrize("name", ["c01", "c08", "c31"])
def test_their_files_of_counts_hold_the_designed_tables(reference: Path, name: str) -> None:
    read = PerturbationTable.read(reference / "ptable" / f"{name}_ptable.csv")
    ours = design_of(reference, name).table()
    assert abs(read.transition_matrix() - ours.transition_matrix()).max() < NEAR


def test_what_n09_is_off_is_the_floor_of_that_tool(reference: Path) -> None:
    # In the last row all noise beyond ±5 lies on the floor. What is left of
    # probability and variance, designed on −5 … 5, is that tool's row.
    published = transitions(reference, "n09")[10]
    beyond = range(6, 11)
    left = 1 - 2 * FLOOR * len(beyond)
    variance = (1 - 2 * FLOOR * sum(v * v for v in beyond)) / left
    row = design_rows(5, variance).rows[5]
    for v, share in zip(row.noise, row.probability.tolist(), strict=True):
        assert left * share == pytest.approx(published[10 + v], abs=5e-7)
