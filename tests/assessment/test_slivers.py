"""Slivers between geographies: all of them, held against a search of every union there is."""

import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.assessment.slivers import (
    SliverError,
    find_all_slivers,
    find_slivers,
    merge_slivers,
)
from discreet.classifications.grids import square_codes
from discreet.cli.commands import app
from tests.helpers.rows import for_all_rows

Atom = tuple[str | None, str | None]
Difference = frozenset[Atom]


def small_country(seed: int) -> tuple[dict[Atom, int], int]:
    """Few areas with few records here and many there, some of which lie in one geography only."""
    draw = random.Random(seed)
    towns, squares = draw.randint(2, 5), draw.randint(2, 5)
    counts: dict[Atom, int] = {}
    for _ in range(draw.randint(4, 10)):
        town = None if draw.random() < 0.05 else f"t{draw.randrange(towns)}"
        square = None if draw.random() < 0.05 else f"s{draw.randrange(squares)}"
        if (town, square) != (None, None):
            counts[town, square] = draw.choice([1, 2, 3, 5, 20, 50, 100])
    return counts, draw.choice([3, 5, 10])


def framed(counts: dict[Atom, int]) -> pl.DataFrame:
    rows = [(*atom, n) for atom, n in counts.items()]
    schema = {"town": pl.String, "square": pl.String, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def every_difference(counts: dict[Atom, int], least: int) -> set[Difference]:
    """The smallest ones of all pairs of unions of which one holds the other."""
    codes = [sorted({atom[k] for atom in counts} - {None}) for k in (0, 1)]

    def atoms(areas: Sequence[str | None], side: int) -> Difference:
        return frozenset(atom for atom in counts if atom[side] in areas)

    whole = [atoms([code], side) for side in (0, 1) for code in codes[side]]
    found = set()
    for side in (0, 1):
        for outer in subsets(codes[side]):
            union = atoms(outer, side)
            inside = [code for code in codes[1 - side] if atoms([code], 1 - side) <= union]
            for inner in subsets(inside):
                left = union - atoms(inner, 1 - side)
                if 0 < sum(counts[atom] for atom in left) < least and connected(
                    outer, inner, union, side
                ):
                    found.add(without(left, whole))
    return {one for one in found if one and not any(other < one for other in found if other)}


def subsets(codes: Sequence[str | None]) -> list[tuple[str | None, ...]]:
    return [some for n in range(1, len(codes) + 1) for some in itertools.combinations(codes, n)]


def connected(outer, inner, union: Difference, side: int) -> bool:
    wanted = {(side, code) for code in outer} | {(1 - side, code) for code in inner}
    reached = {(side, outer[0])}
    for _ in wanted:
        ends = [((0, town), (1, square)) for town, square in union]
        for one, other in [*ends, *(end[::-1] for end in ends)]:
            if one in reached and other in wanted:
                reached.add(other)
    return reached == wanted


def without(left: Difference, whole: Sequence[Difference]) -> Difference:
    """Less whole areas: their figures are published anyhow."""
    for area in whole:
        if area <= left:
            left -= area
    return left


@for_all_rows("tens", range(5))
def test_all_are_found_and_no_others(tens: int) -> None:
    """50 small countries, of which some 30 have slivers."""
    for seed in range(10 * tens, 10 * tens + 10):
        counts, least = small_country(seed)
        report = find_slivers(framed(counts), "town", "square", least=least, count="n")
        assert report.complete
        found = {frozenset(part[:2] for part in one.parts) for one in report.slivers}
        assert found == every_difference(counts, least), seed
        for one in report.slivers:
            assert one.records == sum(counts[part[:2]] for part in one.parts) < least


@pytest.mark.parametrize("merge", ["town", "square"])
def test_nothing_is_left_of_merged_areas(merge: str) -> None:
    merged = 0
    for seed in range(16):
        counts, least = small_country(seed)
        frame = framed(counts)
        result = merge_slivers(frame, "town", "square", least=least, merge=merge, count="n")
        new = {code: "+".join(group) for group in result.groups for code in group}
        coarser = frame.with_columns(pl.col(merge).replace(new))
        left = find_slivers(coarser, "town", "square", least=least, count="n")
        assert len(left.slivers) == len(result.report.slivers)
        # What lies in one geography only cannot be merged away.
        assert not left.slivers or any(None in atom for atom in counts)
        merged += bool(result.groups)
    assert merged > 4


def country(persons: int, side: int, seed: int, *, name: str = "") -> pl.DataFrame:
    """Persons with a square of 1 km and the nearest of some places as their town."""
    draw = np.random.default_rng(seed)
    places = draw.uniform(0, side, (side // 3, 2))
    xy = draw.uniform(0, side, (persons, 2))
    nearest = np.concatenate(
        [((part[:, None] - places[None]) ** 2).sum(2).argmin(1) for part in np.array_split(xy, 50)]
    )
    north, east = (2_600_000 + xy.astype(np.int64) * 1000).T
    squares = pl.Series(square_codes(1000, north, east + 100_000 * len(name)))
    return pl.DataFrame({"town": [f"{name}{k}" for k in nearest], "square": squares})


def with_planted(seed: int, records: int) -> tuple[pl.DataFrame, tuple[str, str]]:
    """Two islands, and some of a town of the one who live in a square of the other."""
    islands = [country(20_000, 15, seed, name=name) for name in ("A", "AB")]
    draw = random.Random(seed)
    town = draw.choice(islands[0]["town"].unique().sort().to_list())
    square = draw.choice(islands[1]["square"].unique().sort().to_list())
    planted = pl.DataFrame({"town": [town] * records, "square": [square] * records})
    return pl.concat([*islands, planted]), (town, square)


@for_all_rows("seed", range(2))
def test_planted_slivers_are_found_between_islands(seed: int) -> None:
    people, planted = with_planted(seed, 3)
    report = find_slivers(people, "town", "square", least=8)
    assert (*planted, 3) in {part for one in report.slivers for part in one.parts}
    assert any(one.text().endswith(": 3") for one in report.slivers)
    for merge in ("town", "square"):
        result = merge_slivers(people, "town", "square", least=8, merge=merge)
        assert any(planted[merge == "square"] in group for group in result.groups)
        assert not result.report.slivers
    people, planted = with_planted(seed, 8)
    report = find_slivers(people, "town", "square", least=8)
    assert not any(part[:2] == planted for one in report.slivers for part in one.parts)


def test_every_engine_and_order_finds_the_same() -> None:
    people, _ = with_planted(7, 2)
    wanted = find_slivers(people, "town", "square", least=5)
    assert wanted.slivers
    for frame in (people[::-1], people.lazy(), people.to_pandas(), people.to_arrow(),
                  duckdb.from_arrow(people.to_arrow())):  # fmt: skip
        assert find_slivers(frame, "town", "square", least=5) == wanted
    turned = find_slivers(people, "square", "town", least=5)
    assert {one.records for one in turned.slivers} == {one.records for one in wanted.slivers}


def test_a_search_that_is_cut_off_says_so() -> None:
    sparse = country(2_000, 40, seed=1)
    report = find_slivers(sparse, "town", "square", least=10, effort=20)
    assert not report.complete
    assert f"more than {report.searched} areas were examined" in report.text()


def test_confidential_numbers_are_in_no_repr() -> None:
    people = pl.DataFrame({"town": ["X"] * 21 + ["Y"] * 18, "square": ["a"] * 20 + ["b"] * 19})
    report = find_slivers(people, "town", "square", least=5)
    merged = merge_slivers(people, "town", "square", least=5, merge="town")
    for one in (report, report.slivers[0], merged):
        assert "confidential" in repr(one)
        assert "X" not in repr(one)


@for_all_rows(
    ("change", "what"),
    [
        ({"least": 1}, "must be a whole number of at least 2"),
        ({"least": 2.5}, "must be a whole number of at least 2"),
        ({"effort": 0}, "must be a whole number of at least 1"),
        ({"second": "town"}, "two different columns"),
        ({"second": "place"}, "column not found"),
        ({"count": "square"}, "counts must be whole numbers"),
        ({"records": [1, 2]}, "not a data frame of records"),
        ({"records": framed({("X", "a"): -1}), "count": "n"}, "negative"),
    ],
)
def test_wrong_input(change, what) -> None:
    frame = pl.DataFrame({"town": ["X"], "square": ["a"]})
    given = {"records": frame, "first": "town", "second": "square", "least": 5} | change
    with pytest.raises(SliverError, match=what):
        find_slivers(given.pop("records"), **given)
    if not change.keys() - {"least"}:
        with pytest.raises(SliverError, match="the geography to merge must be one of the two"):
            merge_slivers(frame, "town", "square", least=5, merge="county")


def three_geographies() -> pl.DataFrame:
    """Towns of columns of squares and post districts of rows, but for few who live elsewhere."""
    rows = []
    for x, y in itertools.product(range(9), range(9)):
        place = [f"t{x // 3}", f"s{x}{y}", f"p{y // 3}"]
        moved = [f"t{(x + 1) // 3}", place[1], place[2]] if x == 2 and y % 3 == 0 else place
        other = [place[0], place[1], f"p{(y + 1) // 3}"] if (x, y) in ((4, 2), (7, 5)) else place
        rows += [place] * 40 + [moved] * 2 + [other] * 3
    return pl.DataFrame(rows, schema=["town", "square", "post"], orient="row")


def test_the_command_finds_merges_and_finds_no_more(tmp_path: Path) -> None:
    people = three_geographies()
    people.write_parquet(tmp_path / "p.parquet")
    files = {name: tmp_path / name for name in ("report.json", "groups.csv", "merged.parquet")}
    words = ["find-slivers", str(tmp_path / "p.parquet"), "--areas", "town,square,post"]
    words += ["--least", "10", "--effort", "20", "--json"]
    done = CliRunner().invoke(app, [*words, "--out", str(files["report.json"])])
    assert done.exit_code == 1
    told = json.loads(done.stdout)["pairs"]
    reports = json.loads(files["report.json"].read_text())
    wanted = find_all_slivers(people, ["town", "square", "post"], least=10, effort=20)
    assert [one["slivers"] for one in told] == [len(each.slivers) for each in wanted]
    assert [len(each["slivers"]) for each in reports] == [len(each.slivers) for each in wanted]
    assert [one["slivers"] > 0 for one in told] == [True, False, True]
    assert files["report.json"].stat().st_mode & 0o077 == 0
    more = ["--merge", "square", "--groups", str(files["groups.csv"])]
    done = CliRunner().invoke(app, [*words, *more, "--merged", str(files["merged.parquet"])])
    left = [one["slivers"] for one in json.loads(done.stdout)["pairs"]]
    assert left[0] == 0  # towns and squares
    assert left[2] == 0  # squares and post
    merged = pl.read_parquet(files["merged.parquet"])
    assert merged.drop("square_merged").equals(people)
    codes = dict(pl.read_csv(files["groups.csv"]).iter_rows())
    assert merged["square_merged"].to_list() == [codes.get(c, c) for c in people["square"]]
    assert not find_slivers(merged, "town", "square_merged", least=10, effort=20).slivers


def test_the_command_refuses_before_it_writes(tmp_path: Path) -> None:
    pl.DataFrame({"town": ["X"], "square": ["a"]}).write_csv(tmp_path / "p.csv")
    words = ["find-slivers", str(tmp_path / "p.csv"), "--least", "5", "--areas"]
    out = ["--out", str(tmp_path / "r.txt")]
    wrong = [
        ["town", *out],
        ["town,street", *out],
        ["town,square", "--out", str(tmp_path / "r.pdf")],
        ["town,square", "--groups", str(tmp_path / "g.csv")],
        ["town,square", "--merge", "street", *out],
        ["town,square", "--merge", "town", "--merged", str(tmp_path / "m.dta"), *out],
        ["town,square", "--count", "n", *out],
    ]
    for each in wrong:
        assert CliRunner().invoke(app, [*words, *each]).exit_code == 2, each
    assert [each.name for each in tmp_path.iterdir()] == ["p.csv"]
    assert CliRunner().invoke(app, [*words, "town,square", *out]).exit_code == 0
    assert "square less" not in (tmp_path / "r.txt").read_text()


def test_slivers_that_stay_after_a_merge_name_their_geographies() -> None:
    people = pl.DataFrame({"town": ["X"] * 20 + [None] * 3, "square": ["a"] * 23})
    (stays,) = merge_slivers(people, "town", "square", least=5, merge="town").report.slivers
    assert (stays.outer, stays.inner) == ("square", "town")
    assert stays.text() == "square a less town X: 3"
