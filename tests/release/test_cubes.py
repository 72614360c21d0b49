"""Cubes: records added up in many places give the release of one place, and nothing else."""

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError
from discreet.microdata.cube_files import CubeFile
from discreet.release import protect
from discreet.release.cubes import describe_cubes, join_cube_files, make_cubes
from discreet.release.packages import write_key_pair
from discreet.release.packages.keys import PackageKey
from discreet.tabulation import Query
from discreet.tabulation.tables import add_up
from tests.helpers.command import run
from tests.helpers.firm_programmes import FIRST, write
from tests.helpers.states_left import states_left
from tests.release.conftest import dwellings, persons


def split(frame: pl.DataFrame, into: int, folder: Path, seed: int = 0) -> list[Path]:
    """The records of a frame in files, at random."""
    at = np.random.default_rng(seed).integers(0, into, frame.height)
    paths = [folder / f"part{number}.parquet" for number in range(into)]
    for number, path in enumerate(paths):
        frame.filter(pl.Series(at == number)).write_parquet(path)
    return paths


def made(programme: Path, parts: Sequence[Path]) -> list[Path]:
    name = dc.release.read_programme(programme).main.name
    return [make_cubes(programme, part.with_suffix(".cube"), data={name: part}) for part in parts]


def tables_of(folder: Path) -> dict[str, str]:
    """The files of tables; others hold digests, whose key is made of the data's files."""
    texts = {
        path.name: path.read_text("utf-8")
        for path in sorted(folder.glob("*.*"))
        if path.suffix in (".csv", ".html")
    }
    return {name: re.sub("[0-9a-f]{64}", "…", text) for name, text in texts.items()}


# -- the same as in one place ----------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "records"),
    [
        pytest.param("programme", persons, marks=pytest.mark.exhaustive, id="counts"),
        pytest.param("figures", dwellings, id="sums"),
    ],
)
def test_a_release_of_cubes_is_the_release_of_the_records(
    which: str, records: Callable[[], pl.DataFrame], request: pytest.FixtureRequest
) -> None:
    programme: Path = request.getfixturevalue(which)
    folder = programme.parent
    protect(programme, folder / "whole")
    cubes = made(programme, split(records(), 4, folder))
    all_of_them = join_cube_files(cubes, folder / "all.cube")
    text = programme.read_text("utf-8")
    source = next(line for line in text.splitlines() if line.startswith("source = "))
    places = ['source = "all.cube"', 'source = "part*.cube"', f"cubes = {[c.name for c in cubes]}"]
    for number, place in enumerate(places[1:] if which == "programme" else places[:1]):
        other = folder / f"cubes{number}.toml"
        other.write_text(text.replace(source, place), encoding="utf-8")
        dc.release.check_release(other)
        protect(other, folder / f"out{number}")
        assert tables_of(folder / f"out{number}") == tables_of(folder / "whole")
        assert len(tables_of(folder / "whole")) > 2
    assert CubeFile.read(all_of_them).manifest["records"] == records().height


def test_joined_cubes_are_those_of_all_records(programme: Path) -> None:
    folder = programme.parent
    whole = make_cubes(programme, folder / "whole.cube").read_bytes()
    parts = made(programme, split(persons(), 4, folder))
    assert join_cube_files(parts, folder / "a.cube").read_bytes() == whole
    assert join_cube_files(parts[::-1], folder / "b.cube").read_bytes() == whole
    halves = [
        join_cube_files(parts[:1], folder / "c.cube"),
        join_cube_files(parts[1:], folder / "d.cube"),
    ]
    assert join_cube_files(halves, folder / "e.cube").read_bytes() == whole


KINDS = st.fixed_dictionaries(
    {
        "sex": st.sampled_from(["m", "w", "d", None]),
        "age": st.one_of(st.none(), st.integers(0, 99)),
        "rent": st.one_of(st.none(), st.floats(-1e6, 1e6), st.just(0.0)),
        "weight": st.floats(0.0, 9.5),
        "key": st.integers(0, 10**15 - 1),
    }
)
SCHEMA = {"sex": pl.String, "age": pl.Int64, "rent": pl.Float64, "weight": pl.Float64}


@settings(max_examples=8)
@given(records=st.lists(KINDS, min_size=1, max_size=30), cuts=st.lists(st.integers(0, 30)))
def test_any_partition_gives_the_same_cubes(
    records: list[dict[str, Any]], cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = pl.DataFrame(records, schema={**SCHEMA, "key": pl.Int64})
    ages = dc.Classification.from_intervals("age", bounds=[0, 18, 65, 100])
    queries = [
        Query(by=["sex", ages]),
        Query(by=["sex"], where="age >= 18", values=["rent"], contributions=3, weight="weight"),
        Query(by=[], values=["rent"], contributions=2),
    ]
    options: dict[str, Any] = {"record_key": "key", "allow_unsuitable_keys": True}
    folder = tmp_path_factory.mktemp("cubes")
    bounds = sorted({0, frame.height, *(min(cut, frame.height) for cut in cuts)})
    paths = []
    for first, last in pairwise(bounds):
        paths.append(folder / f"{first}.cube")
        paths[-1].write_bytes(add_up(frame[first:last], queries, **options))
    joined = dc.tabulate_many(str(folder / "*.cube"), queries, **options)
    plain = dc.tabulate_many(frame, queries, **options)
    for ours, theirs in zip(joined, plain, strict=True):
        assert ours.to_polars().equals(theirs.to_polars())
        for name, part in theirs.contributions.items():
            assert np.array_equal(ours.contributions[name].top, part.top, equal_nan=True)
            assert np.array_equal(ours.contributions[name].total, part.total)
            assert np.array_equal(ours.contributions[name].count, part.count)


def test_units_that_inherit_keys_are_added_up_with_their_parts(folder: Path) -> None:
    people = persons().with_columns(household_id=pl.col("person_id") // 3)
    homes = people.group_by("household_id").agg(pl.col("municipality").first()).sort("household_id")
    text = (folder / "programme.toml").read_text("utf-8").split("[tables.T1]")[0]
    text += """
[sources.homes]
source = "homes.parquet"
keys = { inherit = "data", by = "household_id" }

[tables.H]
from = "homes"
by = ["region"]
"""
    (folder / "homes.toml").write_text(text, encoding="utf-8")
    people.write_parquet(folder / "persons.parquet")
    homes.write_parquet(folder / "homes.parquet")
    protect(folder / "homes.toml", folder / "whole")
    parts = []
    for odd in (0, 1):
        own = {name: folder / f"{name}{odd}.parquet" for name in ("data", "homes")}
        for name, frame in (("data", people), ("homes", homes)):
            frame.filter(pl.col("household_id") % 2 == odd).write_parquet(own[name])
        cube = folder / f"homes{odd}.cube"
        parts.append(make_cubes(folder / "homes.toml", cube, data=own, source="homes"))
    place = 'cubes = ["homes0.cube", "homes1.cube"]'
    text = text.replace('source = "homes.parquet"', place)
    (folder / "joined.toml").write_text(text, encoding="utf-8")
    protect(folder / "joined.toml", folder / "joined")
    assert tables_of(folder / "joined") == tables_of(folder / "whole")


# -- what is refused ---------------------------------------------------------------------


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(DiscreetError) as caught:
        call()
    assert "record_key" not in str(caught.value) or caught.value.code != "cube-file"
    return caught.value.code


def test_cubes_have_no_records(programme: Path) -> None:
    cube = make_cubes(programme, programme.parent / "all.cube")
    for call in (
        lambda: dc.read_microdata(cube).collect(),
        lambda: dc.tabulate(cube, by=["person_id"], record_key="record_key"),
        lambda: dc.tabulate(cube, by=["sex"], where="age > 3", record_key="record_key"),
        lambda: dc.with_record_keys(
            dc.read_microdata(cube), id="person_id", secret=os.urandom(32), column="key"
        ).collect(),
    ):
        assert code_of(call) == "cubes-only"


def test_hidden_cells_need_the_records(tmp_path: Path) -> None:
    programme = write(tmp_path, "first.toml", FIRST)
    text = programme.read_text("utf-8")
    cube = make_cubes(programme, tmp_path / "firms.cube")
    source = next(line for line in text.splitlines() if line.startswith("source = "))
    programme.write_text(text.replace(source, f'source = "{cube.name}"'), encoding="utf-8")
    assert code_of(lambda: protect(programme, tmp_path / "out")) == "cubes-only"
    assert not (tmp_path / "out").exists()


def test_damaged_files_are_refused(programme: Path, tmp_path: Path) -> None:
    good = make_cubes(programme, tmp_path / "good.cube").read_bytes()
    assert (tmp_path / "good.cube").stat().st_mode & 0o777 == 0o600
    place = tmp_path / "bad.cube"
    draw = np.random.default_rng(3)
    for number in range(60):
        bad = bytearray(good)
        if number % 4 == 0:
            bad = bad[: draw.integers(0, len(good))]
        elif number % 4 == 1:
            bad += draw.bytes(int(draw.integers(1, 200)))
        else:
            at = int(draw.integers(0, len(good)))
            bad[at] ^= 1 << int(draw.integers(0, 8))
        place.write_bytes(bytes(bad))
        with suppress(DiscreetError):
            join_cube_files([place], tmp_path / "out.cube")
            # In the manifest a name may be another one.
            assert (tmp_path / "out.cube").read_bytes() != good
            (tmp_path / "out.cube").unlink()
    assert not list(tmp_path.glob(".*"))


def test_what_cannot_be_joined(programme: Path, edited: Callable[..., Path]) -> None:
    folder = programme.parent
    first, second = made(programme, split(persons(), 2, folder))
    out = folder / "out.cube"
    assert code_of(lambda: join_cube_files([first, second, first], out)) == "cubes-twice"
    edited(("intervals = [0, 18, 65]", "intervals = [0, 15, 65]"))
    other = make_cubes(programme, folder / "other.cube")
    assert code_of(lambda: join_cube_files([first, other], out)) == "cubes-differ"
    assert not out.exists()


def test_levels_of_columns_are_refused(folder: Path, edited: Callable[..., Path]) -> None:
    persons().with_columns(state=pl.col("municipality").str.head(1)).write_parquet(
        folder / "persons.parquet"
    )
    change = ("prefixes = [1, 2]", 'levels = ["state", "municipality"]')
    path = edited(change, ('column = "municipality"\n', ""))
    assert code_of(lambda: make_cubes(path, folder / "a.cube")) == "cube-levels"


def test_signatures_and_encryption(programme: Path) -> None:
    folder = programme.parent
    office, stranger = (write_key_pair(folder / name) for name in ("office", "stranger"))
    key = PackageKey.of(bytes(range(32)))
    plain = make_cubes(programme, folder / "plain.cube")
    sealed = make_cubes(programme, folder / "sealed.cube", sign=office.signing, key=key)
    assert sealed.read_bytes()[:8] == b"DCCUBESX"
    assert b"record_key" not in sealed.read_bytes()
    out = folder / "out.cube"

    def joined(path: Path, **options: Any) -> Path:
        return join_cube_files([path], out, **options)

    assert code_of(lambda: joined(sealed)) == "key"
    wrong = PackageKey.of(bytes(32))
    assert code_of(lambda: joined(sealed, key=wrong)) == "key"
    assert code_of(lambda: dc.read_microdata(sealed)) == "file-content"
    for pair, path, code in (
        (stranger, sealed, "signer"),
        (office, plain, "unsigned"),
    ):
        found = code_of(lambda p=path, v=pair: joined(p, key=key, verify_keys=[v.public]))
        assert found == code
    assert not out.exists()
    joined(sealed, key=key, verify_keys=[stranger.public, office.public])
    assert out.read_bytes() == plain.read_bytes()
    assert describe_cubes(sealed, key)["signer"] == office.key_id
    content = bytearray(sealed.read_bytes())
    content[-1] ^= 1
    sealed.write_bytes(bytes(content))
    assert code_of(lambda: joined(sealed, key=key)) == "key"
    signed = make_cubes(programme, folder / "signed.cube", sign=office.signing)
    content = bytearray(signed.read_bytes())
    content[CubeFile.read(signed).start + 100] ^= 1
    signed.write_bytes(bytes(content))
    assert code_of(lambda: joined(signed)) in ("signature", "cube-file")


def test_the_commands(programme: Path) -> None:
    folder = programme.parent
    parts = split(persons(), 3, folder)
    for part in parts:
        cube = part.with_suffix(".cube")
        assert run("cube", "make", part, "--programme", programme, "--out", cube).exit_code == 0
    cubes = [part.with_suffix(".cube") for part in parts]
    assert run("cube", "join", *cubes, "--out", folder / "all.cube").exit_code == 0
    told = json.loads(run("cube", "show", folder / "all.cube", "--json").stdout)
    assert told["records"] == persons().height
    assert any({"municipality", "sex"} <= set(each["by"]) for each in told["cubes"])
    assert run("cube", "join", cubes[0], cubes[0], "--out", folder / "x.cube").exit_code == 2


def test_a_killed_join_leaves_a_whole_file_or_none(programme: Path, tmp_path: Path) -> None:
    """Whatever moment it is killed at: between any two calls."""
    folder = tmp_path / "joined"
    folder.mkdir()
    parts = made(programme, split(persons(), 3, programme.parent))
    left = states_left(
        lambda: join_cube_files(parts, folder / "out.cube"),
        folder,
        tmp_path / "left",
        of=lambda frame: "discreet" in frame.f_code.co_filename,
    )
    whole = (folder / "out.cube").read_bytes()
    assert dc.tabulate(folder / "out.cube", by=["sex"], record_key="record_key").count.max() == 500
    seen = [path / "out.cube" for path in left.folders]
    assert any(list(each.parent.iterdir()) and not each.exists() for each in seen)
    assert {each.read_bytes() for each in seen if each.exists()} == {whole}
