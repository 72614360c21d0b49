"""Record keys of yearly statistics: which units keep their key from one period to the next. SECRET.

In: the records of a period, the secret, and the keyed records of the period before. Out: the same
records with their keys and, unless keys are for good, the period since which each key holds.
What each option gives away over the years is measured in docs/methods/record-keys.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, RecordKeyError, raise_all
from discreet.keygrid import KeyGrid
from discreet.microdata.frames import (
    NarwhalsFrame,
    eager_columns,
    like,
    name_list,
    open_frame,
    require_columns,
    require_new,
    with_values,
)
from discreet.microdata.identifiers import check_identifiers, identifier_texts
from discreet.microdata.key_values import KeyFunction
from discreet.microdata.secret import Secret

#: same: a unit has one key for ever. period: all units get new keys in each period. changed: a
#: unit gets a new key in a period in which it appears, or what is tabulated of it has changed.
PeriodOption = Literal["same", "period", "changed"]

#: What a key holds for, in the derivation of its cipher.
_HOLDS = {"same": "", "period": "period {}", "changed": "since {}"}
_SINCE = "_since"


def since_column(column: str) -> str:
    """The column beside the keys that says since which period each holds.

    >>> since_column("record_key")
    'record_key_since'
    """
    return f"{column}{_SINCE}"


@without_values
def with_period_keys(
    frame: Any,
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret | bytes | str | Path,
    period: str,
    option: PeriodOption,
    watched: str | Sequence[str] = (),
    previous: Any = None,
    first: bool = False,
    column: str = "record_key",
    grid: KeyGrid | int | str = 10**15,
) -> Any:
    """Give the records of a period their keys, so that it is said who keeps the key of before.

    "same" gives the keys of `with_record_keys`. For the others, a column beside the keys says
    since which period each holds (`record_key_since`). A period that is keyed again after the
    same previous one gets the same keys.

    Args:
        frame: The records of the period, one for each unit: polars, pandas or pyarrow.
        id: Column, or columns, that identify a unit in all periods.
        secret: What makes the keys unpredictable, the same in all periods.
        period: The name of the period, such as "2026".
        option: "same", "period" or "changed".
        watched: For "changed", the columns that tables are made of, as they are tabulated:
            age groups, not dates of birth. Values that are missing in both periods are equal.
        previous: The keyed records of the period before. "changed" needs them; for the
            others they are only held against secret, grid and option.
        first: Says that "changed" begins with this period: all keys are new.
        column: Name of the column of keys, here and in `previous`.
        grid: The key grid.

    >>> secret = "a long and secret sentence"
    >>> old = pl.DataFrame({"id": [1, 2], "work": ["yes", "no"]})
    >>> how = {"id": "id", "secret": secret, "option": "changed", "watched": "work"}
    >>> old = with_period_keys(old, period="2025", first=True, **how)
    >>> new = pl.DataFrame({"id": [1, 2, 3], "work": ["yes", "yes", "no"]})
    >>> new = with_period_keys(new, period="2026", previous=old, **how)
    >>> new["record_key_since"].to_list(), new["record_key"][0] == old["record_key"][0]
    (['2025', '2026', '2026'], True)
    """
    ids = name_list(id, "id")
    looked = [watched] if isinstance(watched, str) else list(watched)
    _check_stated(period, option, looked, previous, first=first)
    records, key_grid, held = _eager(frame, "the frame"), KeyGrid.of(grid), Secret.of(secret)
    for name in (column, since_column(column))[: 1 if option == "same" else 2]:
        require_new(records, name)
    require_columns(records, [*ids, *looked])
    check_identifiers(records, ids)
    maker = _PeriodKeys(held, key_grid, len(ids), option)
    units = eager_columns(records, [*ids, *looked])
    since = pl.repeat(period, units.height, dtype=pl.String, eager=True)
    before = None if previous is None else _previous(previous, ids, looked, column, maker, period)
    if before is not None and option == "changed":
        since = _since(units, before, ids, looked, period)
    keyed: Any = with_values(records, column, maker.keys(_texts(units, ids), since))
    if option != "same":
        keyed = with_values(keyed, since_column(column), since.to_list())
    return like(keyed.lazy() if isinstance(open_frame(frame), nw.LazyFrame) else keyed, frame)


class _PeriodKeys:
    """The keys of units by the period that they hold for. SECRET."""

    def __init__(self, secret: Secret, grid: KeyGrid, parts: int, option: PeriodOption) -> None:
        self._secret, self._grid, self._parts, self.option = secret, grid, parts, option

    def keys(self, texts: pl.Series, since: pl.Series) -> IntArray:
        """The keys of units, each since a period."""
        keys = np.empty(len(texts), dtype=np.int64)
        for period in since.unique().sort().to_list():
            rows = (since == period).to_numpy()
            holds = _HOLDS[self.option].format(period)
            function = KeyFunction.of(self._secret, self._grid, self._parts, holds)
            keys[rows] = function(texts.filter(pl.Series(rows)))
        return keys

    def __repr__(self) -> str:
        return f"<_PeriodKeys: {self.option}>"


def _check_stated(
    period: Any, option: Any, watched: Sequence[str], previous: Any, *, first: bool
) -> None:
    """Refuse what does not go together; nothing is left to be guessed."""
    if option not in get_args(PeriodOption):
        message, hint = f"unknown option={option!r}", "use same, period or changed"
        raise RecordKeyError(message, code="period-option", where="option", hint=hint)
    problems = []
    if not isinstance(period, str) or not period.strip():
        problems.append(Problem("a period needs a name", "period", 'such as period="2026"'))
    if option == "changed" and not watched:
        message, hint = "watch is missing", "name all columns that tables use"
        problems.append(Problem(message, "watched", hint))
    if option == "changed" and (previous is None) != first:
        message = "give either previous= or first=True"
        problems.append(Problem(message, "previous", "previous=… or first=True"))
    if option != "changed" and (watched or first):
        message = f"watch does not apply to option {option!r}"
        problems.append(Problem(message, "watched" if watched else "first", 'option="changed"'))
    raise_all(RecordKeyError, problems, code="period")


def _eager(frame: Any, label: str) -> nw.DataFrame[Any]:
    """The frame in memory: who changed is looked up among all units."""
    opened: NarwhalsFrame = open_frame(frame)
    if isinstance(opened, nw.DataFrame):
        return opened
    if opened.implementation.is_polars():
        return opened.collect()
    raise MicrodataError(
        f"period keys are created in memory, but {label} belongs to another engine",
        code="engine",
        where=opened.implementation.name.lower(),
        hint="collect the columns that are needed into polars, pandas or pyarrow first",
    )


def _texts(units: pl.DataFrame, ids: Sequence[str]) -> pl.Series:
    return identifier_texts(units.select(pl.col(name).cast(pl.String) for name in ids))


def _previous(
    previous: Any,
    ids: Sequence[str],
    watched: Sequence[str],
    column: str,
    maker: _PeriodKeys,
    period: str,
) -> pl.DataFrame:
    """The units of the period before, whose keys are what secret, grid and option make them."""
    opened, since = _eager(previous, "previous"), since_column(column)
    there = opened.collect_schema().names()
    if maker.option != "same" and column in there and since not in there:
        message = f"previous holds keys of another option than {maker.option!r}"
        hint = (
            "the earlier keys lack a period; start this option with first=True, which "
            "makes new keys"
        )
        raise RecordKeyError(message, code="period-option", where=since, hint=hint)
    dated = [] if maker.option == "same" else [since]
    require_columns(opened, [*ids, *watched, column, *dated])
    check_identifiers(opened, ids)
    before = eager_columns(opened, [*ids, *watched, column, *dated])
    of = before[since] if dated else pl.repeat("", before.height, dtype=pl.String, eager=True)
    if of.null_count() or of.dtype != pl.String:
        message = f"{of.null_count():,} of {len(of):,} units lack the first period of their key"
        raise RecordKeyError(message, code="period", where=since, hint="restore this column")
    if (used := int((of == period).sum())) and dated:
        raise RecordKeyError(
            f"previous holds keys of the same period {period!r}: {used:,} of {len(of):,}",
            code="period-used",
            where="period",
            hint="give the records of the previous period; for a revision, those used for the "
            "first publication",
        )
    other = int((maker.keys(_texts(before, ids), of) != before[column].to_numpy()).sum())
    if other:
        raise RecordKeyError(
            f"{other:,} of {before.height:,} earlier keys come from another secret, grid or "
            f"option than {maker.option!r}",
            code="period-keys",
            where=column,
            hint="use the secret, grid, identifiers and option of the previous period",
        )
    return before


def _since(
    units: pl.DataFrame,
    before: pl.DataFrame,
    ids: Sequence[str],
    watched: Sequence[str],
    period: str,
) -> pl.Series:
    """Since when the key of each unit holds; units that were away begin anew."""
    _check_kinds(units, before, watched)
    since = before.columns[-1]
    old, new = (
        frame.select(
            _texts(frame, ids).alias("unit"),
            *[_compared(frame, name).alias(f"value {at}") for at, name in enumerate(watched)],
            *([frame[since].alias("since")] if since in frame.columns else []),
        )
        for frame in (before, units)
    )
    joined = new.join(old, on="unit", how="left", suffix=" old", maintain_order="left")
    if units.height and before.height and joined["since"].null_count() == joined.height:
        message = "this period and the previous one share no unit"
        hint = "units must keep their identifiers; if all units are new, start with first=True"
        raise RecordKeyError(message, code="period-units", where=", ".join(ids), hint=hint)
    kept = [
        pl.col(f"value {at}").eq_missing(pl.col(f"value {at} old")) for at in range(len(watched))
    ]
    stays = pl.all_horizontal(pl.col("since").is_not_null(), *kept)
    return joined.select(pl.when(stays).then("since").otherwise(pl.lit(period))).to_series()


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_integer() or dtype.is_float():
        return "numbers" if dtype.is_float() else "whole numbers"
    texts = dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)
    return "texts" if texts else str(dtype)


def _check_kinds(units: pl.DataFrame, before: pl.DataFrame, watched: Sequence[str]) -> None:
    """Values of two types are never equal, and all units would seem to have changed."""
    hint = "convert one of the two columns; watched values are compared without conversion"
    problems = [
        Problem(f"the type changed from {was} to {now}", name, hint)
        for name in watched
        if (was := _kind(before[name].dtype)) != (now := _kind(units[name].dtype))
    ]
    problems += [
        Problem("a column of lists or records cannot be watched", name, hint)
        for name in watched
        if units[name].dtype.is_nested()
    ]
    raise_all(MicrodataError, problems, code="column-type")


def _compared(frame: pl.DataFrame, name: str) -> pl.Series:
    kind = _kind(frame[name].dtype)
    if kind == "numbers":
        return frame[name].cast(pl.Float64)
    return frame[name].cast(pl.String) if kind in ("whole numbers", "texts") else frame[name]
