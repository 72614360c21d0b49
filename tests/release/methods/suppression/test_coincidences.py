"""Dependencies that chance could have made: the run lists them, a programme strikes them out."""

from pathlib import Path

import polars as pl

from discreet.release import protect
from tests.helpers.firm_programmes import write

TOWNS = """\
[data]
source = "firms.parquet"

[suppression]
method = "fast"
{}

[rules.few]
minimum_frequency = 2

[defaults]
formats = ["csv"]
protect = "suppress"
rules = "few"


[tables.towns]
by = ["town"]
value = "count"

[tables.lands]
by = ["land"]
value = "count"
"""
NAME = "town determines land"


def test_a_programme_strikes_out_what_chance_has_made(tmp_path: Path) -> None:
    towns = [f"t{at}" for at in range(6) for _ in range(3)]
    lands = [land for land in ("N", "S", "W") for _ in range(6)]
    pl.DataFrame({"town": towns, "land": lands}).write_parquet(tmp_path / "firms.parquet")
    reports = []
    for line in ("", f'coincidences = ["{NAME}"]'):
        path = write(tmp_path, f"programme{len(reports)}.toml", TOWNS.format(line))
        internal = tmp_path / f"internal{len(reports)}"
        warnings = protect(path, path.with_suffix(""), internal=internal).warnings
        reports.append("\n".join(text for text in warnings if NAME in text))
        assert NAME in (internal / "suppression-internal.txt").read_text("utf-8")
        public = [file for file in path.with_suffix("").rglob("*") if file.is_file()]
        assert not any(NAME.encode() in file.read_bytes() for file in public)
    assert "Readers are assumed to know it" in reports[0]
    assert "Treated as chance, unknown to readers" in reports[1]
