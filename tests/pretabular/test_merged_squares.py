"""Merged squares: the rule holds, each record has one square, and the tree tells nothing more."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.assessment.slivers import find_slivers
from discreet.classifications.grids import GridSquare
from discreet.pretabular.merged_squares import MergedSquares, MergedSquaresError, merge_squares

HALVES = (1_600, 800, 400, 200, 100)
TENTHS = (100_000, 10_000, 1_000, 100)
NOISE = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))


def people(count: int, seed: int, *, side: float = 600.0) -> pl.DataFrame:
    """Persons around a few places, with squares of 100 m, towns and keys."""
    draw = np.random.default_rng(seed)
    places = draw.uniform(0, 6_400, (12, 2))
    own = (draw.pareto(1.1, count) * 2).astype(np.int64) % 12
    here = np.clip(places[own] + draw.normal(0, side, (count, 2)), 0, 6_399)
    frame = pl.DataFrame(
        {
            "east": 4_320_000 + here[:, 0],
            "north": 2_688_000 + here[:, 1],
            "town": [f"t{1 + (x + y > 6_400)}" for x, y in here],
            "record_key": draw.integers(0, 10**15, count),
        }
    )
    return dc.with_squares(frame)


@cache
def parsed(code: str) -> GridSquare:
    """As `GridSquare.read`, many times over."""
    return GridSquare(*map(int, re.findall(r"\d+", code.removeprefix("CRS3035"))))


def counted(frame: pl.DataFrame, sizes: tuple[int, ...], *more: str) -> dc.Table:
    tree = dc.Classification.from_squares("square", frame["square"].unique(), sizes=sizes)
    return dc.tabulate(frame, [*more, tree], record_key="record_key")


def figures_of(table: dc.Table | dc.ProtectedTable) -> dict[str, int]:
    """What is shown of each square."""
    column = "count" if isinstance(table, dc.Table) else "value"
    frame = table.to_polars() if isinstance(table, dc.Table) else table.to_polars(complete=False)
    return dict(zip(frame["square"], frame[column], strict=True))


def divided(
    figures: Mapping[str, int], sizes: tuple[int, ...], least: int, *, rest: bool = False
) -> Callable[[str], str]:
    """The same rule, square by square: gives the merged square of a square."""
    parts: dict[str, set[str]] = defaultdict(set)
    for code in figures:
        if code != "Total":
            square = parsed(code)
            for coarse, fine in pairwise(sizes):
                if square.size <= fine:
                    parts[square.within(coarse).code].add(square.within(fine).code)

    @cache
    def kept(code: str) -> tuple[set[str], bool] | None:
        """The parts that stand, and if others are left; None if it is not divided."""
        shown = {part: figures.get(part, 0) for part in parts[code]}
        good = {part for part, n in shown.items() if n >= least}
        poor = {part for part, n in shown.items() if 0 < n < least}
        while rest and poor and good and sum(shown[part] for part in poor) < least:
            smallest = min(good, key=lambda part: (shown[part], number(part)))
            good.remove(smallest)
            poor.add(smallest)
        if not good or (poor and not rest):
            return None
        return good, bool(poor)

    def number(code: str) -> tuple[int, int]:
        square = parsed(code)
        return square.north, square.east

    def merged(code: str) -> str:
        square = parsed(code)
        for coarse, fine in pairwise(sizes):
            here, below = square.within(coarse).code, square.within(fine).code
            found = kept(here)
            if found is None:
                return here
            if found[1] and below not in found[0]:
                return f"{here}-rest"
        return code

    return merged


@pytest.mark.parametrize("sizes", [HALVES, TENTHS])
@pytest.mark.parametrize("rest", [False, True])
def test_squares_are_those_of_the_rule(sizes: tuple[int, ...], rest: bool) -> None:
    """Of true and of protected counts, against the rule written square by square."""
    for seed in range(2):
        frame = people(3_000, seed, side=300.0)
        table = counted(frame, sizes)
        for one in (table, dc.perturb(table, NOISE)):
            true = isinstance(one, dc.Table)
            tree = merge_squares(one, 20, rest=rest, true_counts=true)
            found = tree.assign(frame)
            rule = divided(figures_of(one), sizes, 20, rest=rest)
            wanted = {code: rule(code) for code in frame["square"].unique()}
            assert found["merged_square"].to_list() == [wanted[code] for code in found["square"]]
            if true:
                counts = Counter(found["merged_square"])
                small = [code for code, n in counts.items() if n < 20]
                assert {parsed(code).size for code in small} <= {sizes[0]}
            assert len(set(wanted.values())) > 1


def test_no_square_less_its_parts_leaves_few() -> None:
    """Merged squares, and all larger ones: differences of nested unions hold the minimum."""
    for seed in range(6):
        frame = people(4_000, seed)
        for rest in (False, True):
            tree = merge_squares(counted(frame, HALVES), 15, rest=rest, true_counts=True)
            found = tree.assign(frame)
            leaves = tree.classification("merged_square", found["merged_square"].unique())
            table = dc.tabulate(found, [leaves])
            count = dict(table.to_polars().iter_rows())
            low = [code for code in leaves.children("Total") if count[code] < 15]
            for code in leaves.codes[1:]:
                parts = leaves.children(code)
                assert count[code] == sum(count[part] for part in parts) or not parts
                assert count[code] >= 15 or code in low
                if code not in low and len(parts) > 1:
                    assert count[code] - max(count[part] for part in parts) >= 15


def test_the_tree_tells_what_the_figures_tell() -> None:
    """Other people behind the same figures: the same tree; true counts make another."""
    frame = people(3_000, 1, side=250.0)
    table = counted(frame, HALVES)
    safe = dc.perturb(table, NOISE)
    tree = merge_squares(safe, 20)
    # Nobody in a cell is known any more: the figures as they are read from the release.
    release = safe.to_polars(complete=False).filter(pl.col("square") != "Total")
    again = dc.Table.from_cells(release, [safe.dimensions[0].classifications[0]], count="value")
    assert same(merge_squares(again, 20, true_counts=True), tree, frame)
    assert not same(merge_squares(table, 20, true_counts=True), tree, frame)


def same(one: MergedSquares, other: MergedSquares, frame: pl.DataFrame) -> bool:
    squares = frame["square"].unique().sort()
    return one.codes(squares) == other.codes(squares)


def test_an_outsider_learns_from_trees_of_true_counts_only() -> None:
    """Several periods under the same keys: on which side of the minimum a true count lies.

    The outsider has the protected figures of all squares, the rule, and the tree of each period.
    What they know of a count from its figure is that it lies within the largest noise. A tree of
    protected figures follows from these; one of true counts contradicts some of what is left.
    """
    frame = people(20_000, 3)
    least, told = 20, {True: 0, False: 0}
    for leaving in range(3):
        now = frame.filter(pl.int_range(pl.len()) % 40 >= leaving)
        table = counted(now, HALVES)
        safe = dc.perturb(table, NOISE)
        shown = figures_of(safe)
        for true in (False, True):
            tree = merge_squares(table if true else safe, least, true_counts=true)
            codes = tree.codes(now["square"].unique())
            # What stands is shown to hold the minimum; figures below it are known to be noise.
            standing = {code for code in codes if parsed(code).size < HALVES[0]}
            told[true] += sum(0 < shown.get(code, 0) < least for code in standing)
    assert told[False] == 0
    assert told[True] > 10, told


def two_kinds(seed: int) -> tuple[pl.DataFrame, list[dc.Table]]:
    """Persons of two kinds, of which each has a tree of its own."""
    frame = people(6_000, seed).with_columns(kind=pl.int_range(pl.len()) % 2)
    return frame, [counted(frame.filter(pl.col("kind") == kind), HALVES) for kind in (0, 1)]


def test_trees_of_two_universes_lie_in_each_other() -> None:
    """Squares that overlap hold each other, so that their differences are whole squares."""
    for seed in range(4):
        both, tables = two_kinds(seed)
        for at, table in enumerate(tables):
            both = merge_squares(table, 15, true_counts=True).assign(both, column=str(at))
        assert both["0"].n_unique() > 10
        for kind in (0, 1):
            some = both.filter(pl.col("kind") == kind)
            assert not find_slivers(some, "0", "1", least=15).slivers
        for one, other in both.select("0", "1").unique().iter_rows():
            a, b = parsed(one), parsed(other)
            assert a.within(b.size) == b if a.size <= b.size else b.within(a.size) == a


def test_rests_of_two_trees_differ_by_few() -> None:
    """What the page warns of: with rests, publish one tree, or merge by both tables at once."""
    slivers = 0
    for seed in range(4):
        frame, tables = two_kinds(seed)
        both = frame
        for at, table in enumerate(tables):
            tree = merge_squares(table, 15, true_counts=True, rest=True)
            both = tree.assign(both, column=str(at))
        some = both.filter(pl.col("kind") == 0)
        slivers += len(find_slivers(some, "0", "1", least=15).slivers)
        joint = merge_squares(tables[0], 15, also=[(tables[1], 15)], true_counts=True, rest=True)
        counts = joint.assign(frame).group_by("merged_square", "kind").agg(pl.len())
        small = counts.filter(pl.col("len") < 15)["merged_square"]
        assert all(code.startswith("CRS3035RES1600m") and "rest" not in code for code in small)
        assert counts["merged_square"].n_unique() > 5
    assert slivers > 0


@pytest.mark.parametrize("rest", [False, True])
def test_squares_within_areas_add_up_to_them(rest: bool) -> None:
    frame = people(5_000, 2)
    table = counted(frame, HALVES, "town")
    tree = merge_squares(table, 15, rest=rest, true_counts=True)
    found = tree.assign(frame, area="town")
    assert found["merged_square"].null_count() == 0
    counts = Counter(found["merged_square"])
    assert min(counts.values()) >= 15
    leaves = tree.classification("merged_square", found["merged_square"].unique())
    tabulated = dc.tabulate(found, [leaves]).to_polars()
    for town, number in Counter(frame["town"]).items():
        assert dict(tabulated.iter_rows())[town] == number
    assert len(counts) > (20 if rest else 1)


def test_a_share_keeps_parts_from_being_small_beside_others() -> None:
    frame = people(5_000, 4)
    table = counted(frame, HALVES)
    figures = figures_of(table)
    tree = merge_squares(table, 5, least_share=0.1, true_counts=True)
    found = tree.assign(frame)["merged_square"].unique()
    small = [parsed(code) for code in found]
    small = [square for square in small if square.size < HALVES[0]]
    assert small
    for square in small:
        assert figures[square.code] >= 0.1 * figures[square.within(2 * square.size).code]


def test_what_is_hidden_meets_no_minimum() -> None:
    frame = people(4_000, 5)
    table = counted(frame, HALVES)
    safe = dc.perturb(table, NOISE)
    draw = np.random.default_rng(1)
    status = np.where(draw.random(len(safe.status)) < 0.1, dc.CellStatus.suppressed, safe.status)
    hidden = replace(safe, status=status.astype(np.int8))
    cells = hidden.to_polars(complete=False).filter(pl.col("status") == "published")
    shown = dict(cells.select("square", "value").iter_rows())
    codes = merge_squares(hidden, 10).codes(frame["square"].unique())
    fine = [code for code in codes if parsed(code).size < HALVES[0]]
    assert len(set(fine)) > 3
    unlisted = {code for code in fine if code not in shown}
    assert all(safe.get(code) == 0 for code in unlisted)  # none of them is a hidden one


def test_records_of_other_engines_and_without_squares() -> None:
    frame = people(1_000, 6)
    tree = merge_squares(dc.perturb(counted(frame, HALVES), NOISE), 10)
    wanted = tree.assign(frame)["merged_square"].to_list()
    given = frame.to_pandas()
    assert isinstance(given, pd.DataFrame)
    assert tree.assign(given)["merged_square"].to_list() == wanted
    assert tree.assign(frame.lazy()).collect()["merged_square"].to_list() == wanted
    empty = frame.head(3).with_columns(square=pl.lit(None, pl.String))
    assert tree.assign(empty)["merged_square"].to_list() == [None] * 3
    far = tree.codes(["CRS3035RES100mN100E100"])  # no table had it
    assert far == ["CRS3035RES1600mN0E0"]


def test_wrong_input_is_named() -> None:
    frame = people(500, 7)
    table = counted(frame, HALVES)
    safe = dc.perturb(table, NOISE)
    wrong: list[tuple[object, dict[str, object], str]] = [
        (table, {}, "true counts need true_counts=True, protected counts do not"),
        (safe, {"true_counts": True}, "true counts need true_counts=True, protected counts do not"),
        (frame, {}, "not a Table"),
        (safe, {"least_share": 1.5}, "a share must be at least 0 and below 1"),
        (safe, {"also": [(dc.perturb(counted(frame, TENTHS), NOISE), 5)]}, "the same sizes"),
        (
            dc.perturb(counted(frame, (100,)), NOISE),
            {},
            "grid cells need two or more sizes, each a multiple of the next",
        ),
    ]
    for given, how, what in wrong:
        with pytest.raises(MergedSquaresError, match=what):
            merge_squares(given, 5, **how)  # type: ignore[arg-type]
    with pytest.raises(MergedSquaresError, match="must be a whole number of at least 1"):
        merge_squares(safe, 0)
    with pytest.raises(MergedSquaresError, match="records need areas"):
        merge_squares(safe, 5).assign(frame, area="town")
    with pytest.raises(
        MergedSquaresError, match="records need grid cells of 100 m, as in the classification"
    ):
        merge_squares(safe, 5).codes(["CRS3035RES200mN0E0"])
    assert "confidential" in repr(merge_squares(table, 5, true_counts=True))
