"""Squares in a programme: made of coordinates, beside regions, and the same from a store."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment.slivers import merge_slivers
from discreet.errors import ProgrammeError
from discreet.release.cubes import build_store
from discreet.release.run.data_checks import check_release

PROGRAMME = """
title = "Squares"

[data]
source = "people.parquet"

[keys]
column = "record_key"

[perturbation]
table = "noise.csv"

[variables.square]
squares = [10000, 1000, 100]
east = "x"
north = "y"

[variables.town]
codes = ["t0", "t1"]

[variables.place]
alternatives = ["town", "square"]

[tables.squares]
by = ["square", "sex"]
formats = ["parquet"]

[tables.places]
by = ["place"]
formats = ["parquet"]
"""


def people(count: int = 2_000) -> pl.DataFrame:
    draw = np.random.default_rng(1)
    x = 4_320_000 + draw.integers(0, 2_000, count)
    return pl.DataFrame(
        {
            "x": x,
            "y": 2_688_000.5 + draw.integers(0, 1_000, count),
            "town": [f"t{int(east > 4_321_050)}" for east in x],
            "sex": draw.choice(["m", "w"], count),
            "record_key": draw.integers(0, 10**15, count),
        }
    )


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    people().write_parquet(tmp_path / "people.parquet")
    dc.design_perturbation(max_noise=3, variance=1.5).write(tmp_path / "noise.csv")
    (tmp_path / "p.toml").write_text(PROGRAMME)
    return tmp_path / "p.toml"


def published(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


def test_squares_are_made_and_stand_beside_towns(programme: Path) -> None:
    folder = programme.parent
    check_release(programme)
    dc.protect(programme, folder / "release")
    squares = published(folder / "release", "squares")
    places = published(folder / "release", "places")
    frame = dc.with_squares(people(), east="x", north="y", size=100)
    tree = dc.Classification.from_squares(
        "square", frame["square"].unique(), sizes=[10_000, 1_000, 100]
    )
    table = dc.tabulate(frame, [tree, "sex"], record_key="record_key")
    wanted = dc.perturb(table, dc.PerturbationTable.read(folder / "noise.csv"))
    shown = {
        (square, sex): value
        for square, sex, value in squares.select("square", "sex", "value").iter_rows()
    }
    cells = wanted.to_polars(complete=False).select("square", "sex", "value").iter_rows()
    for square, sex, value in cells:
        assert shown[square, sex] == value
    # Figures that occur twice are the same; levels stand beside the towns.
    beside = dict(places.select("place", "value").iter_rows())
    assert {"Total", "t0", "t1", "CRS3035RES1000mN2688000E4320000"} <= set(beside)
    assert all(beside.get(square, 0) == n for (square, sex), n in shown.items() if sex == "Total")


def test_a_store_has_the_squares_already(programme: Path) -> None:
    folder = programme.parent
    dc.protect(programme, folder / "release")
    store = build_store(programme, folder / "store")
    assert "square" in store.info()["columns"]
    text = PROGRAMME.replace('source = "people.parquet"', 'store = "store"')
    (folder / "s.toml").write_text(text)
    dc.protect(folder / "s.toml", folder / "again")
    for name in ("squares", "places"):
        assert published(folder / "again", name).equals(published(folder / "release", name))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[10000, 1000, 100]", "[100, 1000]", "coarsest first"),
        ("[10000, 1000, 100]", "[1000, 300]", "coarsest first"),
        ('north = "y"\n', "", "grid cells need east and north"),
        ("squares = [10000, 1000, 100]\n", "", "this needs squares"),
        (
            'north = "y"',
            'north = "y"\ncolumn = "sq"',
            "grid cells come from a column or from coordinates",
        ),
        ('north = "y"', 'north = "z"', "column not found"),
        ('north = "y"', 'north = "sex"', "is not a numeric column"),
        ("[variables.square]", "[variables.sex]", "the column exists already"),
    ],
)
def test_mistakes_are_named(programme: Path, old: str, new: str, said: str) -> None:
    text = PROGRAMME.replace(old, new)
    if "variables.sex" in new:
        text = text.replace('by = ["square", "sex"]', 'by = ["sex"]').replace(
            '"town", "square"', '"town", "sex"'
        )
    programme.write_text(text)
    with pytest.raises(ProgrammeError, match=said):
        dc.protect(programme, programme.parent / "release")
    assert not (programme.parent / "release").exists()


def crossed(moved: int) -> pl.DataFrame:
    """Two towns whose border is that of squares, but for some who live across it."""
    frame = people().with_columns(town=pl.format("t{}", (pl.col("x") >= 4_321_000).cast(pl.Int8)))
    west = (pl.col("x") < 4_321_000) & (pl.col("x") >= 4_320_900)
    across = west & (west.cum_sum() <= moved)
    return frame.with_columns(town=pl.when(across).then(pl.lit("t1")).otherwise("town"))


@pytest.mark.parametrize("text", ['by = ["place"]\nwhere = "sex == \'m\'"'])
def test_slivers_stop_a_release(programme: Path, text: str) -> None:
    folder = programme.parent
    own = PROGRAMME.replace('by = ["square", "sex"]', 'by = ["town", "sex"]').replace(
        "[10000, 1000, 100]", "[1000]"
    )
    own = own.replace('by = ["place"]', text)
    stated = '\n[slivers]\nareas = ["town", "square"]\nleast = 10\n'
    for moved, stops in ((0, False), (3, True), (40, False)):
        crossed(moved).write_parquet(folder / "people.parquet")
        programme.write_text(own + stated)
        if not stops:
            check_release(programme)
            dc.protect(programme, folder / f"release{moved}")
            continue
        for run in (check_release, lambda path: dc.protect(path, folder / "none")):
            with pytest.raises(
                ProgrammeError, match=r"differences? of areas with fewer than 10 records"
            ) as error:
                run(programme)
            assert "t1" not in str(error.value)
        assert not (folder / "none").exists()
        programme.write_text(own)
        dc.protect(programme, folder / "unasked")
    frame = dc.with_squares(crossed(3), east="x", north="y", size=1_000)
    merged = merge_slivers(frame, "town", "square", least=10, merge="square")
    assert merged.groups


def test_mistakes_in_slivers_are_named(programme: Path) -> None:
    wrong = {
        'areas = ["town"]\nleast = 10': "at least 2",
        'areas = ["town", "street"]\nleast = 10': "'street' cannot be used in tables",
        'areas = ["town", "place"]\nleast = 10': "'place' has no areas",
        'areas = ["town", "town"]\nleast = 10': "named twice",
        'areas = ["town", "square"]\nleast = 1': "2",
    }
    for text, said in wrong.items():
        programme.write_text(f"{PROGRAMME}\n[slivers]\n{text}\n")
        with pytest.raises(ProgrammeError, match=said):
            check_release(programme)


def test_what_is_searched_in_part_is_no_release(programme: Path) -> None:
    few = people(300).with_columns(post=pl.format("p{}", pl.col("x") // 70))
    few.write_parquet(programme.parent / "people.parquet")
    text = PROGRAMME.replace('by = ["square", "sex"]', 'by = ["post"]')
    text += '\n[tables.both]\nby = ["square", "post"]\nformats = ["csv"]\n'
    text += '[slivers]\nareas = ["post", "square"]\n'
    programme.write_text(f"{text}least = 2\neffort = 1\n")
    with pytest.raises(ProgrammeError, match="not all unions of more than"):
        check_release(programme)
    programme.write_text(f"{text}least = 2\neffort = 1\npartly = true\n")
    with pytest.raises(ProgrammeError, match=r"differences? of areas with fewer than 2 records"):
        check_release(programme)


def test_grid_cells_beside_regions_need_a_comparison(programme: Path) -> None:
    folder = programme.parent
    release = dc.protect(programme, folder / "release")
    asked = 'add [slivers] with areas = ["town", "square"]'
    assert [text for text in release.warnings if asked in text]
    programme.write_text(f'{PROGRAMME}\n[slivers]\nareas = ["town", "square"]\nleast = 2\n')
    compared = dc.protect(programme, folder / "again")
    assert not [text for text in compared.warnings if "slivers" in text]
    alone = PROGRAMME.replace('by = ["place"]', 'by = ["sex"]')
    programme.write_text(alone)
    assert not [t for t in dc.protect(programme, folder / "alone").warnings if "slivers" in t]
