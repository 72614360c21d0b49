"""A yearly programme says which period it is, and whose keys stay; releases remember it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.demo.panel import panel
from discreet.errors import DiscreetError
from discreet.release import check_release

PROGRAMME = """
[data]
source = "{year}.parquet"
[keys]
column = "record_key"
[period]
name = "{year}"
keys = "{option}"
{more}
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv"]
[tables.T1]
by = ["area"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two years of a panel with keys of changed units."""
    dc.design_perturbation(max_noise=3, variance=2).write(tmp_path / "ptable.json")
    previous = None
    for year, frame in panel(1_000, 2).items():
        previous = dc.with_period_keys(
            frame, id="person", secret="the secret of these tests", period=year, option="changed",
            watched=["area", "sex"], previous=previous, first=previous is None,
        )  # fmt: skip
        previous.write_parquet(tmp_path / f"{year}.parquet")
    return tmp_path


def made(folder: Path, year: str, option: str = "changed", more: str = "", out: str = "") -> Any:
    path = folder / f"{year}.toml"
    path.write_text(PROGRAMME.format(year=year, option=option, more=more))
    return dc.protect(path, folder / (out or f"release-{year}"))


def test_one_year_follows_another(folder: Path) -> None:
    made(folder, "2021")
    made(folder, "2022", more='earlier = ["release-2021"]')
    made(folder, "2022", more='earlier = ["release-2021"]')  # and again
    more = 'earlier = ["release-2021", "release-2022"]\nrevision = true'
    made(folder, "2022", more=more, out="release-2022-revised")


REFUSED = [
    ("same", 'earlier = ["release-2021"]', "option 'changed', not 'same'"),
    ("same", "", "the keys are not permanent"),
    ("changed", 'earlier = ["release-2022"]', "the period '2022' is published already"),
    ("changed", 'earlier = ["release-2021"]\nrevision = true', "no earlier release of"),
    ("changed", "revision = true", "a revision needs an earlier release"),
    ("changed", 'earlier = ["nowhere"]', "file 'nowhere' not found"),
    ("changed", 'earlier = ["silent"]', "the release lacks its period"),
    ("sometimes", "", "period.keys"),
]


def test_what_does_not_follow_is_refused(folder: Path) -> None:
    for year in ("2021", "2022"):
        made(folder, year)
    text = PROGRAMME.format(year="2021", option="changed", more="")
    start, end = text.index("[period]"), text.index("[perturbation]")
    (folder / "silent.toml").write_text(text[:start] + text[end:])
    dc.protect(folder / "silent.toml", folder / "silent")
    for option, more, message in REFUSED:
        with pytest.raises(DiscreetError, match=message):
            made(folder, "2022", option, more, out="release-new")
        assert not (folder / "release-new").exists()


def test_a_folder_holds_one_period(folder: Path) -> None:
    made(folder, "2021")
    before = sorted((path, path.read_bytes()) for path in (folder / "release-2021").glob("*.csv"))
    path = folder / "2021.toml"
    path.write_text(PROGRAMME.format(year="2022", option="changed", more=""))
    with pytest.raises(
        DiscreetError, match="the folder contains the release of '2021', with keys of the"
    ):
        dc.protect(path, folder / "release-2021")
    after = sorted((path, path.read_bytes()) for path in (folder / "release-2021").glob("*.csv"))
    assert before == after


def test_keys_that_are_made_on_the_way_stay(folder: Path) -> None:
    text = PROGRAMME.format(year="2021", option="period", more="")
    text = text.replace('column = "record_key"', 'id = "person"\nsecret_env = "NO_SUCH_SECRET"')
    (folder / "made.toml").write_text(text)
    with pytest.raises(DiscreetError, match="keys of the option 'period' must be in the data"):
        dc.protect(folder / "made.toml", folder / "release")


def corrected(folder: Path, people: int, option: str = "same", **other: Any) -> None:
    """The first records and release of 2022, and the records with some persons moved."""
    first = pl.read_parquet(folder / "2022.parquet").drop("record_key", "record_key_since")
    secret = "the secret of these tests"
    moved = pl.when(pl.int_range(pl.len()) < people).then(pl.col("area").last())
    later = first.with_columns(area=moved.otherwise("area"))
    for frame, name, key in ((first, "first", secret), (later, "2022", other.get("key", secret))):
        keyed = dc.with_record_keys(frame, id="person", secret=key)
        keyed.write_parquet(folder / f"{name}.parquet")
    (folder / "first.toml").write_text(
        PROGRAMME.format(year="first", option=option, more="").replace('"first"', '"2022"')
    )
    dc.protect(folder / "first.toml", folder / "release-first")


REVISION = 'earlier = ["release-first"]\nrevision = true\n'
FIRST = REVISION + 'first = "first.parquet"\nunit = "person"\n'


def test_a_revision_keeps_what_did_not_change_and_lists_what_did(folder: Path) -> None:
    corrected(folder, 60)
    internal = "[quality]\ninternal = 'internal'\n"
    more = FIRST + "few = 1000\n" + internal
    done = made(folder, "2022", "same", more, out="revised")
    attack, cells, units = done.checks
    assert attack.startswith("Attack on 2022, 2022 (2) together: in ")
    changes = pl.read_csv(folder / "revised" / "changes.csv")
    table = pl.read_csv(folder / "revised" / "T1.csv")
    assert 0 < changes.height < table.height
    assert f"keeps {table.height - changes.height:,} cells and changes {changes.height:,}" in cells
    assert "changes.csv" in done.manifest.read_text()
    assert done.described()["checks"] == list(done.checks)
    page = (folder / "internal" / "quality-internal.html").read_text()
    assert attack in page
    assert units in page
    assert done.text().count("Attack on 2022") == 1
    before = {name: (folder / "revised" / name).read_bytes() for name in ("changes.csv", "T1.csv")}
    again = made(folder, "2022", "same", more, out="revised")
    assert (again.fresh, again.checks) == (0, done.checks)
    assert before == {name: (folder / "revised" / name).read_bytes() for name in before}


def test_a_revision_of_few_units_is_refused_by_check_and_run(folder: Path) -> None:
    corrected(folder, 1)
    for run in (dc.protect, check_release):
        path = folder / "2022.toml"
        path.write_text(PROGRAMME.format(year="2022", option="same", more=FIRST))
        with pytest.raises(DiscreetError, match="cells differ by fewer than 3 units") as refused:
            run(path, *([folder / "revised"] if run is dc.protect else []))
        assert "period.first" in refused.value.where
        assert "accept these cells: few" in refused.value.hint
    assert not (folder / "revised").exists()
    done = made(folder, "2022", "same", REVISION, out="revised")
    assert any("was not examined; add first" in line for line in done.warnings)


def test_a_revision_with_other_keys_is_refused(folder: Path) -> None:
    corrected(folder, 60, key="another secret of these tests")
    with pytest.raises(DiscreetError, match="cells changed, but not their records"):
        made(folder, "2022", "same", FIRST + "few = 1000", out="revised")
    assert not (folder / "revised").exists()


def test_a_revision_is_suppressed_together_with_what_it_revises(folder: Path) -> None:
    """Two patterns of nearly the same records open each other."""
    corrected(folder, 60)
    hiding = (
        '[rules.few]\nminimum_frequency = 30\n[defaults]\nprotect = "suppress"\nrules = "few"\n'
    )
    path, together = folder / "2022.toml", '[suppression]\nearlier = ["release-first"]\n'
    text = PROGRAMME.format(year="2022", option="same", more=REVISION)
    for more, message in {"": "opens suppressed cells", together: "published with noise"}.items():
        path.write_text(text.replace("[defaults]\n", f"{more}{hiding}"))
        path.chmod(0o600)
        with pytest.raises(DiscreetError, match=message):
            dc.protect(path, folder / "revised")


def test_attacks_on_all_periods_have_limits(folder: Path) -> None:
    made(folder, "2021")
    earlier = 'earlier = ["release-2021"]\n'
    (sentence,) = made(folder, "2022", more=earlier).checks
    number = int(sentence.partition("in ")[2].partition(" cells")[0].replace(",", ""))
    assert number > 0
    limit = earlier + "[attacks]\nproven = {}\n"
    assert (
        "Means over all tables and periods"
        in made(folder, "2022", more=limit.format(number)).checks[1]
    )
    with pytest.raises(DiscreetError, match="proven"):
        made(folder, "2022", more=limit.format(number - 1), out="other")
    assert not (folder / "other").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('earlier = ["release-first"]\nfirst = "first.parquet"', "first is about a revision"),
        (REVISION + 'first = "first.parquet"', "unit is missing"),
        (REVISION + "few = 3", "this needs first"),
        (FIRST.replace("first.parquet", "lost.parquet"), "file 'lost.parquet' not found"),
    ],
)
def test_incomplete_revisions_are_refused(folder: Path, more: str, message: str) -> None:
    corrected(folder, 3)
    with pytest.raises(DiscreetError, match=message):
        made(folder, "2022", "same", more, out="revised")
