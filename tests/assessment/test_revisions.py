"""Revisions of a published period: what differs from the first figures, and by whom."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet as dc
from discreet.assessment.attacks import NoiseOdds, PublishedFigures
from discreet.assessment.attacks.periods import PeriodPair, guessed_units
from discreet.assessment.record_risk import revised_cells
from discreet.cli.commands import app
from discreet.errors import DiscreetError
from discreet.release import release_changes

BY = ["area", "sex", "work"]


def persons(size: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    codes = {"area": 3, "sex": 2, "work": 4}
    columns = {name: draw.integers(0, number, size) for name, number in codes.items()}
    return pl.DataFrame({"id": np.arange(size), **columns})


def by_hand(first: pl.DataFrame, later: pl.DataFrame) -> dict[tuple[str, ...], int]:
    """Sets of every cell, one after the other."""
    found: dict[tuple[str, ...], int] = {}
    for number in range(8):
        names = [name for at, name in enumerate(BY) if number >> at & 1]
        sets: list[dict[tuple[str, ...], set[int]]] = [{}, {}]
        for side, frame in zip(sets, (first, later), strict=True):
            for row in frame.iter_rows(named=True):
                cell = tuple(str(row[name]) if name in names else "Total" for name in BY)
                side.setdefault(cell, set()).add(row["id"])
        for cell in sets[0] | sets[1]:
            if apart := sets[0].get(cell, set()) ^ sets[1].get(cell, set()):
                found[cell] = len(apart)
    return found


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_every_cell_differs_by_as_many_units_as_counted_by_hand(seed: int) -> None:
    draw = np.random.default_rng(seed)
    first = persons(60, seed)
    sex, work, stays = (pl.Series(draw.random(60) < share) for share in (0.05, 0.05, 0.97))
    later = first.with_columns(
        sex=pl.when(sex).then(1 - pl.col("sex")).otherwise("sex"),
        work=pl.when(work).then(0).otherwise("work"),
    ).filter(stays)
    found = revised_cells(first, later, BY, id="id", least=2)
    cells = {tuple(row[:-1]): row[-1] for row in found.units.iter_rows()}
    expected = by_hand(first, later)
    assert cells == expected
    assert found.few == sum(units < 2 for units in expected.values())


def test_the_same_records_tell_nothing() -> None:
    first = persons(50, 1)
    found = revised_cells(first, first.sample(fraction=1, shuffle=True, seed=1), BY, id="id")
    assert (found.changed, found.few) == (0, 0)
    assert "all cells have the same units as before." in found.text()


def test_only_records_that_count_and_columns_of_the_table_matter() -> None:
    first = persons(50, 1).with_columns(name=pl.lit("a"))
    later = first.with_columns(
        name=pl.lit("b"), work=pl.when(pl.col("id") == 0).then(9).otherwise("work")
    )
    where = f"sex == {1 - int(first['sex'][0])}"
    assert revised_cells(first, later, BY, id="id", where=where).changed == 0
    assert revised_cells(first, later, BY, id="id").changed > 0


def test_one_correction_is_read_off_two_figures_and_reported_before() -> None:
    """Person 0 was counted under the wrong work. With the same keys both places show it."""
    first, noise = persons(400, 4), dc.design_perturbation(max_noise=5, variance=3)
    later = first.with_columns(
        work=pl.when(pl.col("id") == 0).then((pl.col("work") + 1) % 4).otherwise("work")
    )
    tables = {}
    for name, frame in (("first", first), ("later", later)):
        keyed = dc.with_record_keys(frame, id="id", secret="the secret of these tests")
        tables[name] = [dc.perturb(dc.tabulate(keyed, by=BY, record_key="record_key"), noise)]
    one, two = PublishedFigures.of(tables).systems.values()
    pair = PeriodPair(one, two, NoiseOdds.of(noise).chances, "same")
    proven = sum(int(pair.proven(key).sum()) for key in pair.layers)
    check = revised_cells(first, later, BY, id="id")
    assert 0 < proven <= check.few == check.changed == 8
    # Who knows of the correction, and whom it was about, sees from where to where.
    gone = pl.DataFrame({name: [str(first[name][0])] for name in ("area", "sex")})
    none = gone.with_columns(pl.lit(None, pl.String).alias(name) for name in gone.columns)
    guess = guessed_units(pair, gone, none, ["work"], quiet=True)
    sure = dict(zip(guess.values["work"], guess.posterior[0], strict=True))
    assert sure[str(first["work"][0])] + sure[str(later["work"][0])] > 0.99


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        ({}, {"least": 1}, "least must be at least 2"),
        ({"work": pl.col("work").cast(pl.String)}, {}, "the type changed from Int64 to String"),
        ({"id": pl.lit(1)}, {}, "20 of 20 records have a repeated identifier"),
        ({}, {"id": "person"}, "missing"),
    ],
)
def test_wrong_input_is_refused(
    change: dict[str, pl.Expr], more: dict[str, Any], message: str
) -> None:
    first = persons(20, 1)
    with pytest.raises(DiscreetError, match=message):
        revised_cells(first, first.with_columns(**change), BY, **{"id": "id", **more})


PROGRAMME = """
[data]
source = "persons.csv"
[keys]
id = "id"
secret_file = "secret.key"
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv"]
[tables.T1]
by = ["area", "work"]
[tables.T2]
by = ["sex"]
"""


def test_the_programme_of_a_revision_is_checked(tmp_path: Path) -> None:
    first = persons(200, 2)
    later = first.with_columns(work=pl.when(pl.col("id") < 2).then(0).otherwise("work"))
    later.write_csv(tmp_path / "persons.csv")
    first.write_csv(tmp_path / "first.csv")
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    dc.design_perturbation(max_noise=3, variance=2).write(tmp_path / "ptable.json")
    CliRunner().invoke(app, ["keys", "secret", str(tmp_path / "secret.key")])
    line = f"check-revision {tmp_path}/programme.toml --first {tmp_path}/first.csv --id id"
    found = CliRunner().invoke(app, line.split())
    assert found.exit_code == 1, found.output
    assert "T1: " in found.output
    assert "T2: all cells have the same units as before." in found.output
    same = line.replace("first.csv", "persons.csv")
    assert CliRunner().invoke(app, same.split()).exit_code == 0
    assert CliRunner().invoke(app, [*line.split(), "--source", "homes"]).exit_code == 2


def test_cells_without_corrections_stay_and_others_are_listed(tmp_path: Path) -> None:
    first = persons(200, 2)
    later = first.with_columns(work=pl.when(pl.col("id") < 40).then(0).otherwise("work"))
    dc.design_perturbation(max_noise=3, variance=2).write(tmp_path / "ptable.json")
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    CliRunner().invoke(app, ["keys", "secret", str(tmp_path / "secret.key")])
    folders = [tmp_path / "first", tmp_path / "revised"]
    for records, folder in zip((first, later), folders, strict=True):
        records.write_csv(tmp_path / "persons.csv")
        dc.protect(tmp_path / "programme.toml", folder)
    changes = release_changes(*folders)
    assert changes.changed["T2"].is_empty()
    cells = changes.changed["T1"]
    differ = revised_cells(first, later, ["area", "work"], id="id").units
    corrected = set(differ.select("area", "work").cast(pl.String).iter_rows())
    assert 0 < len(set(cells.select("area", "work").iter_rows())) <= len(corrected)
    assert set(cells.select("area", "work").iter_rows()) <= corrected
    assert changes.stayed["T1"] > 0
    line = ["list-changes", *map(str, folders), "--out", str(tmp_path / "changes.csv")]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    assert f"T1: {len(cells)} cells changed, {changes.stayed['T1']} stayed." in result.output
    listed = pl.read_csv(tmp_path / "changes.csv")
    assert listed.height == len(cells)
    assert set(listed["table"]) == {"T1"}
    assert release_changes(folders[0], folders[0]).listed().is_empty()
