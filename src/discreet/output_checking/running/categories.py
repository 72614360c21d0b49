"""The groups of a table: value labels in place of numbers, rare values put together. CONFIDENTIAL.

In: a column. Out: the same with labels as categories, in the order of the values. A value
that few have is not named: the name alone would tell what they have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.output_checking.running.isolating import cases_by_value
from discreet.output_checking.safe.numbers import number_text

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["grouping"]

#: The name of values that few have, as in the safe commands.
_OTHER = "(other)"
#: A variable of more values is looked at by the safe commands themselves.
_FEW = 5


def grouping(session: Session, name: str, column: pl.Series, who: Any) -> pl.Series:
    """A grouping variable as it is shown.

    Args:
        session: The session.
        name: The variable.
        column: Its values for the chosen observations.
        who: Whom each is about; -1 for nobody that is known.
    """
    named = _labelled(session, name, column)
    if len(column) == session.data.rows and name not in session.trace.made:
        return named
    return _together(named, who, session.limits.minimum)


def _labelled(session: Session, name: str, column: pl.Series) -> pl.Series:
    """A column with its value labels in place of numbers, in the order of the numbers."""
    label = session.data.variables[name].value_label
    texts = {} if label in session.trace.labels else session.data.value_labels.get(label, {})
    values = column.drop_nulls().unique().sort().to_list()
    if not texts or column.dtype == pl.String or any(value != int(value) for value in values):
        return column
    labels = [texts.get(float(value)) or number_text(int(value)) for value in values]
    if len(set(labels)) < len(labels):
        labels = [f"{label} ({int(value)})" for label, value in zip(labels, values, strict=True)]
    if len(set(labels)) < len(labels):
        return column
    return column.replace_strict(values, labels, return_dtype=pl.Enum(labels))


def _together(column: pl.Series, who: Any, minimum: int) -> pl.Series:
    """Put values of few cases together, and as many others that their number stays unknown."""
    values = column.drop_nulls().unique().sort()
    known = len(column) - column.null_count()
    if not len(values) or (len(values) > _FEW and len(values) * minimum > known):
        return column
    counted = cases_by_value(column, who)
    number = dict(zip(counted["value"].to_list(), counted["cases"].to_list(), strict=True))
    cases = [number[value] for value in values.to_list()]
    order = sorted(range(len(values)), key=lambda at: (cases[at], at))
    rare = [at for at in order if cases[at] < minimum]
    if not rare:
        return column
    left = order[len(rare) :]
    while left and (len(rare) < 2 or sum(cases[at] for at in rare) < minimum + len(rare) - 1):
        rare.append(left.pop(0))
    names = [_name(value) for value in values.to_list()]
    kept = [names[at] for at in range(len(values)) if at not in set(rare)]
    shown = [_OTHER if at in set(rare) else names[at] for at in range(len(values))]
    kind = pl.Enum([*kept, _OTHER])
    return column.replace_strict(values, shown, default=None, return_dtype=kind)


def _name(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)
