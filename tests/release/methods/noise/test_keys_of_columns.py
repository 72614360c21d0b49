"""Noise of each value column in programmes and packages: its keys, its period, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import DisclosureWarning, PackageError, ProgrammeError
from discreet.release import open_inputs, protect, read_parameters
from discreet.release.packages import open_parameters, pack_parameters

Edited = Callable[..., Path]
SAID = "the noise of 'persons' and 'rent' uses the same keys: one known"


@pytest.fixture
def edited(figures: Path) -> Edited:
    """The programme with lines more in the sections of "rent" and "persons"."""

    def edit(rent: str = "", persons: str = "") -> Path:
        text = figures.read_text("utf-8")
        for column, lines in (("rent", rent), ("persons", persons)):
            section = f"[magnitudes.{column}]\n"
            assert section in text
            text = text.replace(section, f"{section}{lines}\n")
        figures.write_text(text, encoding="utf-8")
        return figures

    return edit


def persons(out: Path) -> dict[tuple[str, str], float]:
    """The published sums of persons."""
    frame = pl.read_csv(out / "rents.csv", infer_schema=False)
    frame = frame.filter(pl.col("figure") == "persons")
    rows = frame.select("region", "year", "value").iter_rows()
    return {(region, year): float(value) for region, year, value in rows}


def by_hand(folder: Path, noise: dc.MagnitudeNoise) -> dict[tuple[str, str], float]:
    """The same sums from the API."""
    region = dc.Classification.read(folder / "region.csv", name="region")
    by = [
        region.replace(column="municipality"),
        dc.Classification.flat("year", ["2011", "2015", "2022"]),
    ]
    table = dc.tabulate(
        pl.read_parquet(folder / "dwellings.parquet"),
        by,
        record_key="record_key",
        values=["persons"],
        contributions=1,
    )
    counts = dc.PerturbationTable.read(folder / "ptable.json")
    safe = dc.perturb_magnitudes(table, noise, "persons", ptable=counts, p_percent=0)
    return {row[:2]: row[2] for row in safe.to_polars(complete=True).iter_rows()}


@pytest.mark.parametrize(
    ("lines", "keys", "period"),
    [
        ('keys = "column"\nperiod = "2022"', "column", "2022"),
        ('keys = "shared"', "shared", ""),
    ],
)
def test_a_programme_names_the_keys_of_a_column(
    edited: Edited, tmp_path: Path, lines: str, keys: str, period: str
) -> None:
    protect(edited(persons=lines), tmp_path / "out")
    noise = dc.MagnitudeNoise(
        dc.MagnitudePerturbationTable.read(tmp_path / "rent.csv"),
        strength=dc.SimpleStrength(share=0.1),
        keys=keys,  # type: ignore[arg-type]
        period=period,
    )
    assert persons(tmp_path / "out") == by_hand(tmp_path, noise)


def test_other_keys_are_other_figures_and_are_made_anew(edited: Edited, tmp_path: Path) -> None:
    """Tables that are there already stay only under the same keys."""
    path = edited()
    protect(path, tmp_path / "out")
    before = persons(tmp_path / "out")
    path.write_text(
        path.read_text("utf-8").replace(
            "[magnitudes.persons]\n", '[magnitudes.persons]\nperiod = "2022"\n'
        )
    )
    protect(path, tmp_path / "again")
    assert persons(tmp_path / "again") != before


def test_two_columns_with_shared_keys_are_warned_of(edited: Edited, tmp_path: Path) -> None:
    path = edited('keys = "shared"', 'keys = "shared"')
    assert [text for text in open_inputs(path).warnings if SAID in text]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DisclosureWarning)  # said once, not for every table
        summary = protect(path, tmp_path / "out")
    assert [text for text in summary.warnings if SAID in text]


def test_one_column_with_shared_keys_is_not(edited: Edited) -> None:
    path = edited(persons='keys = "shared"')
    assert all(text.startswith("decimals of") for text in open_inputs(path).warnings)


def test_columns_of_different_records_share_nothing(edited: Edited, tmp_path: Path) -> None:
    path = edited('keys = "shared"', 'keys = "shared"')
    (tmp_path / "others.parquet").write_bytes((tmp_path / "dwellings.parquet").read_bytes())
    text = path.read_text("utf-8")
    for line in (
        'persons = { kind = "sum", of = "persons" }\n',
        'density = { kind = "ratio", part = "persons", whole = "all" }\n',
    ):
        assert line in text
        text = text.replace(line, "")
    text += """
[sources.others]
source = "others.parquet"
keys = { column = "record_key" }

[tables.others]
from = "others"
by = ["year"]
figures.persons = { kind = "sum", of = "persons" }
"""
    path.write_text(text, encoding="utf-8")
    assert all(text.startswith("decimals of") for text in open_inputs(path).warnings)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('keys = "own"', "known: column, shared"),
        ("period = 2022", "text"),
        ("range_floor = 0.1", 'range_floor needs of = "range"'),
    ],
)
def test_mistakes_are_placed(edited: Edited, tmp_path: Path, lines: str, words: str) -> None:
    with pytest.raises(ProgrammeError, match=words) as caught:
        protect(edited(persons=lines), tmp_path / "out")
    assert "magnitudes.persons" in str(caught.value)


# -- packages ----------------------------------------------------------------------------


def packed(folder: Path, elsewhere: Path, period: str) -> Path:
    """A programme that takes the parameters of the other from a package."""
    elsewhere.mkdir()
    key = elsewhere / "package.key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    package = elsewhere / "homes.dcparams"
    pack_parameters(
        read_parameters(folder / "figures.toml"),
        package,
        statistic="homes",
        version="1",
        sign_key=None,
        key=key,
    )
    for name in ("dwellings.parquet", "region.csv"):
        (elsewhere / name).write_bytes((folder / name).read_bytes())
    text = (folder / "figures.toml").read_text("utf-8")
    start, end = text.index("[perturbation]"), text.index("[variables.region]")
    section = '[parameters]\npackage = "homes.dcparams"\nkey_file = "package.key"\n'
    section += "allow_unsigned = true\n"
    section += f'period = "{period}"\n\n' if period else "\n"
    path = elsewhere / "figures.toml"
    path.write_text(text[:start] + section + text[end:], encoding="utf-8")
    return path


def test_keys_go_with_the_package(edited: Edited, tmp_path: Path) -> None:
    protect(edited(persons='keys = "shared"\nzeros_in_key = true'), tmp_path / "out")
    protect(packed(tmp_path, tmp_path / "there", ""), tmp_path / "there" / "out")
    assert persons(tmp_path / "there" / "out") == persons(tmp_path / "out")


def test_one_package_serves_every_period(edited: Edited, tmp_path: Path) -> None:
    path = edited(rent='keys = "shared"')
    first = packed(tmp_path, tmp_path / "there", "2022")
    protect(first, tmp_path / "there" / "out")
    section = "[magnitudes.persons]\n"
    path.write_text(path.read_text("utf-8").replace(section, f'{section}period = "2022"\n'))
    protect(path, tmp_path / "out")
    assert persons(tmp_path / "there" / "out") == persons(tmp_path / "out")


def test_a_period_that_the_package_cannot_use_is_refused(edited: Edited, tmp_path: Path) -> None:
    edited('period = "2021"', 'keys = "shared"')
    with pytest.raises(ProgrammeError, match="'rent' name another period"):
        open_inputs(packed(tmp_path, tmp_path / "there", "2022"))
    there = tmp_path / "there"
    parameters = open_parameters(
        there / "homes.dcparams", key=there / "package.key", allow_unsigned=True
    )
    assert parameters.of_period("2021").digest(b"key") == parameters.digest(b"key")


def test_a_period_needs_a_column_with_keys_of_its_own(edited: Edited) -> None:
    parameters = read_parameters(edited('keys = "shared"', 'keys = "shared"'))
    with pytest.raises(PackageError, match="a period needs a value column with separate keys"):
        parameters.of_period("2022")
