"""`count`, `levelsof` and `inspect`: small commands that can tell much.

In: a frame of microdata (confidential), rules. Out: `SafeResult`s.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from discreet.output_checking.safe.cases import cases_of
from discreet.output_checking.safe.groups import group
from discreet.output_checking.safe.judging import Found, checks_of
from discreet.output_checking.safe.layout import closed
from discreet.output_checking.safe.limits import SafeLimits, limits_of
from discreet.output_checking.safe.numbers import count_text
from discreet.output_checking.safe.records import Records, names_of, take
from discreet.output_checking.safe.results import Check, Evidence, SafeResult, Verdict
from discreet.output_checking.safe.words import refused_line

__all__ = ["count", "inspect", "levelsof"]

#: Columns of counts; no column of records has such a name.
_INSIDE, _EVERY = "\0inside", "\0every"


def count(
    frame: Any,
    *,
    where: str | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
) -> SafeResult:
    r"""How many records there are.

    Withheld if they are few, and if all but few are counted.

    Args:
        frame: Records; any frame narwhals reads.
        where: Only these records.
        limits: The rules.
        entity: Column of whom a record is about.

    >>> frame = pl.DataFrame({"age": [30, 41, 52, 63]})
    >>> print(count(frame, where="age > 0"))
      4
    >>> count(frame, where="age > 35").shown
    '  .\n. withheld for confidentiality'
    """
    limits = limits_of(limits)
    some = [entity] if entity is not None else _first_column(frame)
    records = take(frame, some, where=where, entity=entity)
    everyone = records if where is None else take(frame, some, entity=entity)
    if everyone.entity is not None:
        everyone.named_entities()
    inside = _cases(records)
    outside = _left_out(records, everyone)
    found = [Found("minimum", "count")] * (0 < inside < limits.minimum)
    found += [Found("few-others", "count")] * (0 < outside < limits.minimum)
    shown = None if found else float(len(records))
    return SafeResult(
        command="count" + (f" if {where}" if where else ""),
        shown=closed([f"  {count_text(shown)}"], shown is None, limits.language),
        stored={} if shown is None else {"N": shown},
        checks=checks_of(found, ["minimum", "few-others"]),
        evidence=Evidence(records=len(records), cases=inside, others=outside),
    )


def _first_column(frame: Any) -> list[str]:
    from discreet.microdata.frames import open_frame

    return open_frame(frame).collect_schema().names()[:1]


def _cases(records: Records) -> int:
    return len(records) if records.entity is None else records.named_entities().n_unique()


def _left_out(records: Records, everyone: Records) -> int:
    """How many cases have records that are not counted."""
    if records.entity is None:
        return len(everyone) - len(records)
    name = records.entity
    inside = records.data.group_by(name).agg(pl.len().alias(_INSIDE))
    every = everyone.data.group_by(name).agg(pl.len().alias(_EVERY))
    joined = every.join(inside, on=name, how="left").with_columns(pl.col(_INSIDE).fill_null(0))
    return joined.filter(pl.col(_EVERY) > pl.col(_INSIDE)).height


def levelsof(
    frame: Any,
    name: str,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """The values of a variable that enough cases have.

    Args:
        frame: Records; any frame narwhals reads.
        name: The variable; measurements are refused.
        limits: The rules.
        entity: Column of whom a record is about.
        where: Only these records.

    >>> print(levelsof(pl.DataFrame({"region": [1] * 5 + [2] * 4 + [9]}), "region"))
    1 2
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    names_of(name, "levelsof")
    records = take(frame, [name], where=where, entity=entity)
    axis = group(records, name, limits, together=False)
    cases = cases_of(axis.codes, len(axis), records.entities())
    text = records.is_text(name)
    levels = [
        f'`"{label}"\'' if text else label
        for label, value, size in zip(axis.labels, axis.values, cases.tolist(), strict=True)
        if size >= limits.minimum and not (axis.checks and value == "(other)")
    ]
    found = [Found("minimum", name)] * (len(levels) < len(axis))
    return SafeResult(
        command=f"levelsof {name}",
        shown=closed([" ".join(levels)], bool(found), limits.language),
        frame=pl.DataFrame({name: levels}, schema={name: pl.String}),
        checks=[*axis.checks, *checks_of(found, ["minimum"])],
        evidence=Evidence(cases=cases),
    )


def inspect(frame: Any, name: str, *, limits: SafeLimits | None = None) -> SafeResult:
    """Refused: it draws single values and counts of signs and distinct values.

    Args:
        frame: Records; they are not read.
        name: The variable.
        limits: The rules, for the language.

    >>> print(inspect(None, "rent"))
    *FDZ: command not permitted in remote execution
    """
    limits = limits_of(limits)
    reason = "it shows single and distinct values; use codebook or tabulate"
    return SafeResult(
        command=f"inspect {name}",
        shown=refused_line(limits.language),
        checks=[Check(rule="refused", verdict=Verdict.fail, reason=reason, where=name)],
    )
