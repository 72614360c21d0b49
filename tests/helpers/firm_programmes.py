"""Synthetic firms and a programme that hides cells, for the tests of releases."""

from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc

HEAD = """\
title = { en = "Firms", de = "Unternehmen" }
languages = ["en", "de"]
date = "2026-11-21"

[data]
source = "firms.parquet"

[suppression]
method = "fast"
reasons = "rule"

[rules.business]
minimum_frequency = 3
p_percent = 12

[values.turnover]
title = { en = "Turnover", de = "Umsatz" }
unit = { en = "EUR 1,000", de = "1 000 EUR" }

[variables.region]
prefixes = [1, 2]

[defaults]
formats = ["csv"]
protect = "suppress"
rules = "business"
"""
FIRST = (
    HEAD
    + """
[tables.branches]
by = ["region", "branch"]
value = "turnover"

[tables.sizes]
by = ["branch", "size"]
value = ["turnover", "wages"]

[tables.firms]
by = ["size"]
value = "count"
"""
)
LATER = (
    HEAD.replace('method = "fast"', 'method = "fast"\nearlier = ["first"]')
    + """
[tables.regions]
by = ["region", "size"]
value = "turnover"
"""
)
TOTAL = "Total"
PARTS = {
    "region": {TOTAL: ["1", "2"], "1": ["11", "12", "13"], "2": ["21", "22"]},
    "branch": {TOTAL: ["a", "b", "c", "d"]},
    "size": {TOTAL: ["l", "m", "s"]},
}
REGIONS = ("11", "12", "13", "21", "22")


def firms(number: int = 300, seed: int = 7) -> pl.DataFrame:
    """Firms with turnover and wages, the same ones every time."""
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.choice(REGIONS, number),
            "branch": draw.choice(["a", "b", "c", "d"], number, p=[0.5, 0.3, 0.15, 0.05]),
            "size": draw.choice(["s", "m", "l"], number),
            "holding": draw.integers(0, number - number // 5, number).astype(str),
            "asked": draw.choice(["yes", "no"], number, p=[0.03, 0.97]),
            "turnover": np.ceil(draw.lognormal(4, 1.6, number)).astype(int),
            "wages": np.ceil(draw.lognormal(3, 1.8, number)).astype(int),
        }
    )


def table_of(by: list[str], value: str, frame: pl.DataFrame | None = None) -> dc.Table:
    """The true table over these variables."""
    region = dc.Classification.from_prefixes("region", REGIONS, [1, 2])
    spanning = [region if name == "region" else name for name in by]
    data = firms() if frame is None else frame
    return dc.tabulate(data, by=spanning, values=[value], contributions=2)


def rules() -> list[dc.rules.Rule]:
    """The rules of the programmes."""
    return [dc.rules.MinimumFrequency(3), dc.rules.PPercent(12)]


def write(folder: Path, name: str, text: str) -> Path:
    """A programme in a folder with data."""
    if not (folder / "firms.parquet").exists():
        firms().write_parquet(folder / "firms.parquet")
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def published(path: Path, value: str = "turnover") -> dict[tuple[str, str, str], float | None]:
    """What a file shows: region, branch, size → value; None where it is hidden."""
    texts = dict.fromkeys(PARTS, pl.String)
    frame = pl.read_csv(path, schema_overrides=texts)
    if "figure" in frame.columns:
        frame = frame.filter(pl.col("figure") == value)
    columns = [pl.col(n) if n in frame.columns else pl.lit(TOTAL).alias(n) for n in PARTS]
    rows = frame.select(*columns, pl.col("value").cast(pl.Float64, strict=False)).rows()
    return {row[:3]: row[3] for row in rows}


def content(folder: Path, *, below: bool = False) -> dict[str, bytes]:
    """The files of a release, byte by byte; those below it, too, if that is said."""
    paths = sorted(folder.rglob("*") if below else folder.iterdir())
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths if p.is_file()}


def whole_content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return content(folder, below=True)
