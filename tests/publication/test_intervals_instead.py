"""Intervals in the place of hidden values: in every file that people read."""

from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.publication.notation import interval_text, legend


def table(negative: bool = False) -> tuple[dc.Table, Any]:
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "region": draw.choice([*"1234"], 90),
            "branch": draw.choice([*"abc"], 90, p=[0.6, 0.3, 0.1]),
            "sales": np.ceil(draw.lognormal(6, 1.3, 90)) - (700 if negative else 0),
            "staff": draw.integers(1, 50, 90) / 4,
        }
    )
    found = dc.tabulate(frame, by=["region", "branch"], values=["sales", "staff"], contributions=2)
    return found, [dc.primary(found, [dc.rules.PPercent(15)], value=v) for v in ("sales", "staff")]


def test_every_hidden_cell_shows_its_interval(tmp_path: Path) -> None:
    true, (asked, _) = table()
    safe = dc.suppress(true, asked, method="fast", intervals="instead")
    frame = pl.read_csv(safe.write(tmp_path / "safe.csv"))
    hidden = frame.filter(pl.col("status") == "suppressed")
    assert len(hidden) > 3
    for row in hidden.iter_rows(named=True):
        assert row["symbol"] == interval_text(row["low"], row["high"], 0)
        assert row["value"] is None
        at = [row["region"], row["branch"]]
        inside = true.to_polars().filter(pl.col("region") == at[0], pl.col("branch") == at[1])
        assert row["low"] <= inside["sales"][0] <= row["high"]
    assert "." not in frame["symbol"].to_list()
    html = safe.write(tmp_path / "safe.html").read_text("utf-8")
    sheet = openpyxl.load_workbook(safe.write(tmp_path / "safe.xlsx")).worksheets[0]
    shown = {str(cell.value) for row in sheet.iter_rows() for cell in row if cell.value}
    for row in hidden.iter_rows(named=True):
        printed = interval_text(row["low"], row["high"], 0, "en")
        assert f">{printed}</abbr>" in html
        assert printed in shown
    assert "secret; the value is in this interval, which anyone could" in html


def test_beside_the_sign_it_stays_as_it_was(tmp_path: Path) -> None:
    true, (asked, _) = table()
    for wanted in (True, False):
        safe = dc.suppress(true, asked, method="fast", intervals=wanted)
        frame = pl.read_csv(safe.write(tmp_path / f"{wanted}.csv"))
        assert set(frame.filter(pl.col("status") == "suppressed")["symbol"]) == {"."}
        assert ("low" in frame.columns) == wanted
        assert "a–b" not in [sign.symbol for sign in legend(safe)]


def test_several_values_each_with_its_decimals(tmp_path: Path) -> None:
    from discreet.protection.suppression import SharedSuppression

    true, asked = table()
    done = SharedSuppression.of(
        [(true, asked)], method="fast", intervals="instead", decimals_of={"staff": 2}
    )
    frame = pl.read_csv(done.tables[0].write(tmp_path / "safe.csv"))
    hidden = frame.filter(pl.col("value").is_null() & pl.col("low").is_not_null())
    for row in hidden.iter_rows(named=True):
        places = 2 if row["figure"] == "staff" else 0
        assert row["symbol"] == interval_text(row["low"], row["high"], places)
    assert done.tables[0].write(tmp_path / "safe.xlsx").exists()


def test_negative_values_and_open_ends() -> None:
    true, (asked, _) = table(negative=True)
    safe = dc.suppress(true, asked, method="fast", intervals="instead")
    assert safe.withheld is not None
    assert safe.withheld.low is not None
    assert np.isneginf(safe.withheld.low).any()
    assert [interval_text(*ends, 0) for ends in ((-np.inf, 5), (7, np.inf), (-np.inf, np.inf))] == [
        "≤ 5",
        "≥ 7",
        ".",
    ]
    assert interval_text(1234.5, 2000, 1, "de") == "1\u202f234,5–2\u202f000,0"


def test_other_words_are_refused() -> None:
    true, (asked, _) = table()
    with pytest.raises(SuppressionError, match="intervals: must be true, false or 'instead'"):
        dc.suppress(true, asked, intervals="beside")  # type: ignore[call-overload]
