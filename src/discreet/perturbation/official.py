"""Cells excluded from perturbation by rule, such as official population figures.

In: a filter on the codes of a table's spanning variables. Out: which cells it
names. A filter looks at codes only, never at counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import PerturbationError, Problem
from discreet.tabulation.filters import Filter, filter_failed, parse_filter

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables import Dimension

__all__ = ["LEVEL", "official_cells"]

BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.int32]

#: ``<variable>.level`` stands for the level of a code: 0 for the total, 1 below it, …
LEVEL = ".level"


def official_cells(
    text: str | Filter,
    dimensions: Sequence[Dimension],
    index: Sequence[IndexArray],
    totals: Mapping[str, str],
    size: int,
) -> BoolArray:
    """Which cells a filter on codes names.

    Args:
        text: The filter, such as ``sex == 'Total' and region.level == 1``.
        dimensions: The spanning variables of the table.
        index: Per spanning variable, the position of each cell's code.
        totals: Total codes of variables the table lacks.
        size: Number of cells.
    """
    import narwhals as nw
    import polars as pl

    condition = text if isinstance(text, Filter) else parse_filter(text)
    if not condition.columns:
        raise PerturbationError("the filter names no variable", code="official", where=str(text))
    spanning = {dimension.name: at for at, dimension in enumerate(dimensions)}
    _check_names(condition, list(spanning), totals)
    columns = {}
    for name in sorted(condition.columns):
        variable = name.removesuffix(LEVEL)
        if name in spanning:
            at = spanning[name]
            columns[name] = _codes(dimensions[at], index[at])
        elif name.endswith(LEVEL) and variable in spanning:
            at = spanning[variable]
            columns[name] = pl.Series(dimensions[at].levels[index[at]])
        else:
            absent: Any = 0 if name.endswith(LEVEL) else totals[name]
            columns[name] = pl.Series([absent]).new_from_index(0, size)
    frame = nw.from_native(pl.DataFrame(columns), eager_only=True)
    condition.check(frame.schema)
    try:
        named = frame.select(named=condition.to_narwhals(frame.schema)).to_native()["named"]
    except (TypeError, pl.exceptions.PolarsError, nw.exceptions.NarwhalsError) as error:
        raise filter_failed(error) from None
    return np.asarray(named.fill_null(value=False).to_numpy(), dtype=np.bool_)


def _check_names(condition: Filter, spanning: Sequence[str], totals: Mapping[str, str]) -> None:
    """Raise if the filter names variables that neither the table nor `totals` knows.

    Taken to be at its total, a slip would publish the true values of all cells.
    """
    named = {name.removesuffix(LEVEL) for name in condition.columns - set(spanning)}
    problems = [
        Problem(f"the table has no variable {name!r}", str(condition), _advice(name, spanning))
        for name in sorted(named - set(spanning) - set(totals))
    ]
    if problems:
        raise PerturbationError(
            problems[0].what if len(problems) == 1 else f"{len(problems)} variables are not known",
            code="official",
            where=str(condition),
            hint=problems[0].hint,
            problems=problems,
        )


def _advice(name: str, spanning: Sequence[str]) -> str:
    known = {variable.casefold(): variable for variable in spanning}
    near = get_close_matches(name.casefold(), known, n=1)
    meant = f"did you mean {known[near[0]]!r}? " if near else ""
    return f"{meant}a variable of other tables is named with its total: totals={{{name!r}: …}}"


def _codes(dimension: Dimension, index: IndexArray) -> pl.Series:
    import polars as pl

    return pl.Series(dimension.codes, dtype=pl.String).gather(index)
