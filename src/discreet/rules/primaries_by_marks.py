"""`marked_cells`: cells whose status was decided elsewhere, for secondary suppression here.

In: one row per cell with its codes, true value and status, CONFIDENTIAL. Out: a `Table` and
its `Primary`, to be handed to `suppress`. A status that is not known, or could be meant in
two ways, is refused: what is taken for safe would be published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.confidential import without_values
from discreet.errors import Problem, SuppressionError, TableError, raise_all
from discreet.microdata import parse_filter
from discreet.rules.contributors import NothingSensitive
from discreet.rules.marks import Status
from discreet.rules.primaries import CellVerdict, Primary, primary
from discreet.rules.protocol import Reason, number, raise_parameters
from discreet.tables import Table, to_polars

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables import Spanning

#: What words mean that offices write; letters that mean different things are not among them.
MEANINGS: Mapping[str, Status] = {
    **dict.fromkeys(("unsafe", "u", "sensitive", "primary", "c"), "unsafe"),
    **dict.fromkeys(("safe", "free", "f"), "safe"),
    **dict.fromkeys(("protected", "fixed", "z"), "protected"),
    **dict.fromkeys(("secondary", "m", "d"), "secondary"),
}
_VERDICTS = {
    "unsafe": CellVerdict.sensitive,
    "safe": CellVerdict.free,
    "protected": CellVerdict.fixed,
    "secondary": CellVerdict.secondary,
}
#: Where the number of contributors is not known: neither nobody nor one alone.
_SEVERAL = 2
_SHOWN = 20


@without_values
def marked_cells(
    cells: Any,
    by: Sequence[Spanning],
    *,
    status: str,
    value: str | None = None,
    count: str | None = None,
    meaning: Mapping[str, str] | None = None,
    lower: str | None = None,
    upper: str | None = None,
    cost: str | None = None,
    published: str | None = None,
    manual_range: float = 20.0,
    unit: float = 1.0,
    name: str = "table",
) -> tuple[Table, Primary]:
    """Take cells whose status was decided elsewhere: by another tool, or by other offices.

    Args:
        cells: A frame with one row per cell, totals among them; confidential.
        by: The spanning variables.
        status: Column of the status. Known are unsafe (u, sensitive, primary, c), safe
            (free, f), protected (fixed, z) and secondary (m, d), in any case.
        value: Column of the true values; None to publish the counts.
        count: Column of the number of contributors; without, nobody inside is guarded against.
        meaning: What other statuses mean: {"P": "unsafe"}; "" for empty ones.
        lower: Column of lower protection levels of unsafe cells.
        upper: Column of upper ones.
        cost: Column of costs, to be named in `suppress`.
        published: Filter on codes: none of these that is safe can be hidden any more.
        manual_range: Protection levels in percent of the value, where no column has any.
        unit: The smallest step of the published value.
        name: Name of the table.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [7, 1, 6], "what": ["s", "u", "s"]})
    >>> table, found = marked_cells(frame, ["sex"], count="n", status="what", meaning={"s": "safe"})
    >>> found.sensitive.tolist()
    [False, True, False]
    """
    raise_parameters("marked_cells", number("manual_range", manual_range, 0, float("inf")))
    if value is None and count is None:
        raise SuppressionError("add the column of values, or the column of counts", code="value")
    frame = to_polars(cells)
    _check_columns(frame, [status, *(item for item in (value, lower, upper, cost) if item)])
    sums = {item: _numbers(frame, item) for item in dict.fromkeys((value, cost)) if item}
    table = replace(_table(frame, by, count, name), sums=sums)
    verdict = _verdicts(frame[status], meaning or {})
    if published is not None:
        verdict[_passing(frame, published) & (verdict == CellVerdict.free)] = CellVerdict.fixed
    sensitive: BoolArray = verdict == CellVerdict.sensitive
    true = table.count.astype(np.float64) if value is None else sums[value]
    required = np.maximum(np.abs(true) * manual_range / 100, unit)
    return table, replace(
        primary(table, [NothingSensitive()], value=value, unit=unit),
        verdict=verdict,
        reason=np.where(sensitive, Reason.manual, Reason.none).astype(np.int8),
        lower=np.where(sensitive, _levels(frame, lower, required), 0.0),
        upper=np.where(sensitive, _levels(frame, upper, required), 0.0),
    )


def _table(frame: pl.DataFrame, by: Sequence[Spanning], count: str | None, name: str) -> Table:
    """The cells, with several contributors each where their number is not known."""
    import polars as pl

    if count is None:
        free = (f"contributors{at}" for at in range(len(frame.columns) + 1))
        count = next(item for item in free if item not in frame.columns)
        frame = frame.with_columns(pl.lit(_SEVERAL).alias(count))
    return Table.from_cells(frame, by, count=count, name=name)


def _check_columns(frame: pl.DataFrame, wanted: Sequence[str]) -> None:
    hint = f"columns: {', '.join(frame.columns[:_SHOWN])}"
    problems = [
        Problem(f"column {item!r} not found", "cells", hint)
        for item in wanted
        if item not in frame.columns
    ]
    raise_all(TableError, problems, code="missing-column", many="{} columns are missing")


def _numbers(frame: pl.DataFrame, column: str, *, empty: bool = False) -> FloatArray:
    """A column of numbers; what is none is counted, never shown."""
    import polars as pl

    numbers = frame[column].cast(pl.Float64, strict=False)
    bad = ~numbers.is_finite().fill_null(value=False)
    if empty:
        bad &= frame[column].is_not_null()
    if bad.any() or not (frame[column].dtype.is_numeric() or frame[column].null_count()):
        message = f"{int(bad.sum()):,} cells lack a number, in a column of {frame[column].dtype}"
        hint = "include the true values of suppressed cells"
        raise SuppressionError(message, code="values", where=column, hint=hint)
    return numbers.to_numpy().astype(np.float64)


def _levels(frame: pl.DataFrame, column: str | None, required: FloatArray) -> FloatArray:
    """Protection levels, those asked for in general where there is no column, or none in it."""
    if column is None:
        return required
    stated = _numbers(frame, column, empty=True)
    if (stated < 0).any():
        message = "protection levels must be at least 0"
        raise SuppressionError(message, code="values", where=column)
    return np.where(np.isnan(stated), required, stated)


def _verdicts(column: pl.Series, meaning: Mapping[str, str]) -> Any:
    import polars as pl

    wrong = [item for item in meaning.values() if item not in get_args(Status)]
    if wrong:
        message = "a status must mean unsafe, safe, protected or secondary"
        raise SuppressionError(message, code="status", where="meaning")
    own = {text.strip().casefold(): verdict for text, verdict in meaning.items()}
    words = column.cast(pl.String).fill_null("").str.strip_chars().to_list()
    distinct = sorted(set(words))
    known = {**MEANINGS, **own}
    unknown = [word for word in distinct if word.casefold() not in known]
    hint = "declare it: meaning={…: 'unsafe'} (safe, protected, secondary), --meaning"
    problems = [
        Problem(f"unknown status {word!r}" if word else "cells lack a status", column.name, hint)
        for word in unknown[:_SHOWN]
    ]
    raise_all(SuppressionError, problems, code="status", many="{} statuses are unknown")
    number_of = {word: int(_VERDICTS[known[word.casefold()]]) for word in distinct}
    return np.array([number_of[word] for word in words], dtype=np.int8)


def _passing(frame: pl.DataFrame, text: str) -> BoolArray:
    """The cells that a filter passes."""
    import narwhals as nw

    parsed = parse_filter(text)
    parsed.check(nw.from_native(frame).schema)
    passed = nw.from_native(frame).select(out=parsed.to_narwhals())["out"]
    native = passed.to_native()
    if native.null_count():
        message = f"the filter is undecided for {native.null_count():,} cells"
        hint = "fill in the missing code, or add … is null to the filter"
        raise SuppressionError(message, code="published", where="published", hint=hint)
    mask: BoolArray = native.to_numpy().astype(np.bool_)
    return mask
