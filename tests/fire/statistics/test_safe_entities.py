"""Whom records are about: columns of every kind say it, or are refused in words."""

import datetime as dt

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire import statistics
from discreet_fire.statistics.models import regress
from tests.helpers.rows import for_all_rows

SIZE = 12
FRAME = pl.DataFrame({"x": [float(at) for at in range(SIZE)], "g": ["a", "b"] * 6})
COMMANDS = {
    "summarize": lambda frame: statistics.summarize(frame, "x", entity="who"),
    "tabulate": lambda frame: statistics.tabulate(frame, "g", entity="who"),
    "count": lambda frame: statistics.count(frame, entity="who"),
    "count if": lambda frame: statistics.count(frame, where="x > 3", entity="who"),
    "levelsof": lambda frame: statistics.levelsof(frame, "g", entity="who"),
    "regress": lambda frame: regress(
        frame.with_columns(y=pl.col("x").sin()), "x", "y", entity="who"
    ),
}


@for_all_rows("command", COMMANDS)
@for_all_rows(
    "who",
    [
        pl.Series([dt.date(2020, 1, 1 + at) for at in range(SIZE)]),
        pl.Series([f"p{at}" for at in range(SIZE)], dtype=pl.Categorical),
        pl.Series(range(2**63, 2**63 + SIZE), dtype=pl.UInt64),
        pl.Series(range(SIZE)).cast(pl.Decimal(10, 2)),
        pl.Series([dt.time(at) for at in range(SIZE)]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_numbers_texts_and_dates_name_entities(command, who):
    found = COMMANDS[command](FRAME.with_columns(who=who))
    assert found.shown == COMMANDS[command](FRAME.with_row_index("who")).shown


@for_all_rows("command", COMMANDS)
@for_all_rows(
    ("who", "words"),
    [
        (pl.Series([[1]] * SIZE), "values of this kind"),
        (pl.Series([{"a": 1}] * SIZE), "values of this kind"),
        (pl.Series([dt.timedelta(1)] * SIZE), "values of this kind"),
        (pl.Series([object()] * SIZE, dtype=pl.Object), "values of this kind"),
        (pl.Series([b"a"] * SIZE), "values of this kind"),
        (pl.Series([None] * SIZE), "is missing"),
        (pl.Series([1, None] * 6), "is missing"),
        (pl.Series([1.0, float("nan")] * 6), "is missing"),
    ],
    ids=lambda part: str(part.dtype) if isinstance(part, pl.Series) else "",
)
def test_other_columns_are_refused(command, who, words):
    with pytest.raises(OutputCheckError, match=words) as refused:
        COMMANDS[command](FRAME.with_columns(who=who))
    assert refused.value.code == "entity"
