"""Two data sets made one: which rows go together, and the values of both. CONFIDENTIAL.

In: data in memory ("master") and other data ("using"), and pairs of row numbers; −1 where
one side has no row. Out: one data set with the types and labels of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.output_checking.running.dataset import DataSet, Variable
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.values import MISSING, WHOLE, text_width

__all__ = ["combined", "keys_of", "missing_values", "wider"]

_ORDER = [*WHOLE, "float", "double"]


def wider(first: str, second: str) -> str:
    """The storage type that holds values of two types.

    >>> wider("byte", "long"), wider("long", "float"), wider("str3", "str10")
    ('long', 'double', 'str10')
    """
    if first.startswith("str"):
        if "strL" in (first, second):
            return "strL"
        return max(first, second, key=lambda kind: text_width(kind) or 0)
    if {first, second} == {"long", "float"}:
        return "double"
    return max(first, second, key=_ORDER.index)


def missing_values(variable: Variable) -> Any:
    """Where a variable is missing: `.` to `.z`, or an empty text."""
    return variable.values == "" if variable.is_text else variable.values >= MISSING


def keys_of(master: DataSet, using: DataSet, names: Sequence[str]) -> tuple[Any, Any]:
    """For the rows of both, one number per combination of values, in their order.

    Raises:
        DoError: A variable is missing in one, or is text in one and numeric in the other.
    """
    codes = np.zeros(master.rows + using.rows, dtype=np.int64)
    for name in names:
        if name not in using.variables:
            raise DoError(f"variable {name} not found in using data", code=111)
        one, other = master.variables[name], using.variables[name]
        if one.is_text != other.is_text:
            raise DoError(f"key variable {name} is of different types", code=106)
        values = np.concatenate([one.values, other.values])
        if one.is_text:
            values = np.array([text.encode() for text in values], dtype=object)
        found = np.unique(values, return_inverse=True)[1]
        codes = codes * (int(found.max(initial=0)) + 1) + found
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes[: master.rows], codes[master.rows :]


def combined(
    master: DataSet,
    using: DataSet,
    pairs: tuple[Any, Any],
    *,
    keys: Sequence[str] = (),
    names: Sequence[str] | None = None,
    force: bool = False,
    labels: bool = True,
) -> DataSet:
    """Both data sets, row by row: where both have a variable, the master's values count.

    Args:
        master: Data in memory.
        using: The other data.
        pairs: Rows of the master and of the other data; −1 where there is none.
        keys: Variables that both agree on.
        names: Variables to take from the other data; all unless given.
        force: Whether a variable that is text in one and numeric in the other is let pass.
        labels: Whether value labels of the other data are taken.
    """
    rows, others = (np.asarray(one, dtype=np.int64) for one in pairs)
    wanted = [*keys, *(using.variables if names is None else names)]
    result = DataSet(rows=len(rows), label=master.label, panel=master.panel)
    for name, variable in master.variables.items():
        other = using.variables.get(name) if name in wanted else None
        if other is not None and other.is_text != variable.is_text:
            if not force:
                raise DoError(f"variable {name} is of different types", code=106)
            other = None
        result.variables[name] = _joined(variable, other, rows, others)
    for name in wanted:
        if name not in master.variables:
            one = using.variables[name]
            values = np.where(others >= 0, _at(one, others), one.nothing(len(others)))
            result.variables[name] = _with(one, values, one.kind)
    for name, kept in master.hidden.items():
        result.hidden[name] = _joined(kept, using.hidden.get(name), rows, others)
    for name, kept in using.hidden.items():
        if name not in master.hidden:
            values = np.where(others >= 0, _at(kept, others), kept.nothing(len(others)))
            result.hidden[name] = _with(kept, values, kept.kind)
    result.value_labels = {**(using.value_labels if labels else {}), **master.value_labels}
    return result


def _at(variable: Variable, rows: Any) -> Any:
    if not len(variable.values):
        return variable.nothing(len(rows))
    return variable.values[np.maximum(rows, 0)]


def _joined(variable: Variable, other: Variable | None, rows: Any, others: Any) -> Variable:
    inside = rows >= 0
    values = np.where(inside, _at(variable, rows), variable.nothing(len(rows)))
    if other is None:
        return _with(variable, values, variable.kind)
    taken = ~inside & (others >= 0)
    values = np.where(taken, _at(other, others), values)
    kind = wider(variable.kind, other.kind) if taken.any() else variable.kind
    return _with(variable, values, kind)


def _with(like: Variable, values: Any, kind: str) -> Variable:
    column = values.astype(object) if like.is_text else np.asarray(values, dtype=np.float64)
    return Variable(column, kind, like.layout, like.label, like.value_label)
