"""From records to published files: frequency tables with ones and twos, and shadow variables.

The readers are linear programs written apart from the library. The reader of frequencies knows
that a cell with a dot is no empty cell, and that a sensitive one is 1 or 2.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.release import audit_release, protect
from tests.helpers.firm_programmes import HEAD, write
from tests.helpers.reader_of_sums import Reader, opened

COUNTS = """\
[data]
source = "firms.parquet"

[suppression]
method = "fast"
zero_cells = "partners"

[rules.few]
minimum_frequency = 3

[defaults]
formats = ["csv"]
protect = "suppress"
rules = "few"

[tables.regions]
by = ["region", "branch"]

[tables.sizes]
by = ["branch", "size"]
"""
TABLES = {"regions": ["region", "branch"], "sizes": ["branch", "size"]}


def people(seed: int, number: int = 70) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.choice([*"12345"], number),
            "branch": draw.choice([*"abcd"], number, p=[0.5, 0.3, 0.15, 0.05]),
            "size": draw.choice([*"sml"], number),
        }
    )


def shown(path: Path, by: list[str]) -> pl.DataFrame:
    frame = pl.read_csv(path, schema_overrides=dict.fromkeys(by, pl.String))
    return frame.with_columns(pl.col("value").cast(pl.Float64, strict=False))


def known_counts(folder: Path, frame: pl.DataFrame, least: float) -> tuple[int, int]:
    """How many sensitive counts there are, and how many the reader finds exactly."""
    reader = Reader()
    wanted: list[int] = []
    for name, by in TABLES.items():
        reader.read("n", shown(folder / f"{name}.csv", by), by, False, 0)
    hidden = [at for at, (low, high) in reader.bounds.items() if high > low]
    for at in hidden:
        reader.bounds[at] = (least, reader.bounds[at][1])
    for by in TABLES.values():
        table = dc.tabulate(frame, by=by)
        codes = table.to_polars()
        for row in codes.iter_rows(named=True):
            at = reader.at("n", {name: row[name] for name in by})
            if row["count"] < 3:
                assert at in hidden
                reader.bounds[at] = (least, 2.0)
                wanted.append(at)
    found = reader.intervals(list(dict.fromkeys(wanted)), 0.0)
    return len(found), sum(high - low < 1e-6 for low, high in found.values())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_one_and_no_two_is_found_in_linked_frequency_tables(tmp_path: Path, seed: int) -> None:
    frame = people(seed)
    frame.write_parquet(tmp_path / "firms.parquet")
    path = write(tmp_path, "counts.toml", COUNTS)
    protect(path, tmp_path / "out")
    sensitive, exact = known_counts(tmp_path / "out", frame, 0.0)
    assert sensitive > 3
    assert exact == 0
    assert audit_release(path, tmp_path / "out").safe
    assert "minimum-frequency" not in (tmp_path / "out" / "regions.csv").read_text("utf-8")


def test_dots_alone_tell_ones_and_twos_where_readers_are_thought_to_know_less(
    tmp_path: Path,
) -> None:
    """The attack finds something where it can: with zeros shown, a dot is no zero."""
    found = 0
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        frame = people(seed, 60)
        frame.write_parquet(folder / "firms.parquet")
        published = {}
        for name, by in TABLES.items():
            table = dc.tabulate(frame, by=by)
            hidden = dc.suppress(
                table,
                table.count < 3,
                method="fast",
                knowledge=dc.protection.suppression.Knowledge(above=None, rules=False),
            )
            published[name] = hidden.write(folder / f"{name}.csv")
        found += known_counts(folder, frame, 1.0)[1]
    assert found > 0


# -- shadow variables ----------------------------------------------------------------------------

SHADOW = (
    HEAD
    + """
[tables.wages]
by = ["size", "branch"]
value = "wages"
shadow = "turnover"
"""
)


def firms(seed: int) -> pl.DataFrame:
    """Turnover is in few hands, wages are not."""
    draw = np.random.default_rng(seed)
    size = 160
    return pl.DataFrame(
        {
            "region": draw.choice([*"12"], size),
            "branch": draw.choice([*"abcd"], size),
            "size": draw.choice([*"smlx"], size),
            "turnover": np.ceil(draw.lognormal(4, 2, size)),
            "wages": np.ceil(draw.lognormal(5, 0.4, size)),
        }
    )


def judged(frame: pl.DataFrame, **options: Any) -> tuple[dc.Table, Any]:
    by, values = ["size", "branch"], ["turnover", "wages"]
    table = dc.tabulate(frame, by=by, values=values, contributions=2)
    rules = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(12)]
    return table, dc.primary(table, rules, value="wages", unit=1.0, **options)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_shadow_variable_decides_what_is_hidden_and_levels_of_the_value_hold(
    tmp_path: Path, seed: int
) -> None:
    frame = firms(seed)
    frame.write_parquet(tmp_path / "firms.parquet")
    path = write(tmp_path, "shadow.toml", SHADOW)
    protect(path, tmp_path / "out", internal=tmp_path / "inside")
    table, asked = judged(frame, shadow="turnover")
    _, plain = judged(frame)
    assert asked.sensitive.sum() > plain.sensitive.sum() + 2
    published = shown(tmp_path / "out" / "wages.csv", ["size", "branch"])
    told = dict(
        published.filter(pl.col("reason").is_not_null())
        .select(pl.concat_str("size", "branch"), "reason")
        .rows()
    )
    for row, marked in zip(table.to_polars().iter_rows(named=True), asked.sensitive, strict=True):
        reason = told.get(row["size"] + row["branch"], "")
        assert (reason not in ("", "secondary")) == marked
    assert not opened([("wages", published, table, asked)], [])
    assert audit_release(path, tmp_path / "out").safe
    text = (tmp_path / "out" / "release.json").read_text("utf-8")
    assert "turnover" not in text
