"""Odd columns, names and texts: clear answers, nothing that spoils the layout."""

from typing import Any

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire import statistics
from tests.helpers.rows import for_all_rows


def test_labels_stay_on_their_line_and_steer_no_screen() -> None:
    texts = ["a\n. withheld", "\x1b[31mred", "tab\tx", "\u202ereversed"]
    frame = pl.DataFrame({"g": [text for text in texts for _ in range(4)]})
    table = statistics.tabulate(frame, "g")
    assert table.shown.replace("\n", "").isprintable()
    assert len(table.shown.splitlines()) == 2 + 4 + 2
    levels = statistics.levelsof(frame, "g")
    assert levels.shown.isprintable()
    assert table.frame is not None
    assert sorted(table.frame["g"]) == [" [31mred", " reversed", "a . withheld", "tab x"]


def test_codebook_says_what_is_missing_of_columns_of_any_kind() -> None:
    frame = pl.DataFrame(
        {
            "object": pl.Series([object() for _ in range(8)], dtype=pl.Object),
            "list": [[at] for at in range(8)],
            "fields": [{"a": at} for at in range(8)],
            "bytes": [b"a", b"b"] * 4,
            "sex": [1, 2] * 4,
        }
    )
    found = statistics.codebook(frame)
    assert found.frame is not None
    assert found.frame["type"].to_list() == ["other"] * 4 + ["numeric"]
    assert found.frame["missing"].to_list() == ["0/8"] * 5
    assert "4  2" in found.shown


def test_entities_may_have_any_name() -> None:
    for name in ("inside", "every", "n", "len"):
        frame = pl.DataFrame({name: list(range(20)), "x": list(range(20))})
        assert statistics.count(frame, where="x > 9", entity=name).stored["N"] == 10


#: What each command takes besides the frame.
COMMANDS = {
    **dict.fromkeys(("summarize", "tabulate", "tabstat", "table", "codebook"), ("x",)),
    **dict.fromkeys(("centile", "histogram", "levelsof"), ("x",)),
    **{"correlate": [["x", "y"]], "count": [], "regress": ["x", "x"]},
}


@for_all_rows("command", COMMANDS)
@for_all_rows("limits", [{"minimum": 1}, 5, "limits.toml", False])
def test_limits_are_never_taken_from_anything_else(command: str, limits: Any) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(OutputCheckError, match="limits are SafeLimits"):
        getattr(statistics, command)(frame, *COMMANDS[command], limits=limits)
