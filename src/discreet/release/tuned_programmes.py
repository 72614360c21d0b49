"""Thresholds for the table parts of a programme, tried on its own tables. CONFIDENTIAL.

In: a programme and its records. Out: `PartTuning`: what sets of thresholds would do to its
tables, and the strictest that meets a target. Nothing is protected, nothing is written.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import ProgrammeError
from discreet.protection.parts import PartRules, PartTuning, Reading, tune_parts
from discreet.release.programme.file import UNIVERSE
from discreet.release.run.counts import counted_tables
from discreet.release.run.inputs import open_inputs

if TYPE_CHECKING:
    from discreet.tables import Table


def tune_programme(
    programme: str | os.PathLike[str],
    vary: Mapping[str, Sequence[float]],
    *,
    target: float = 0.98,
    reading: Reading = "each-table",
    level: str | int | None = None,
    tables: Sequence[str] = (),
    show_values: bool = False,
) -> PartTuning:
    """Try thresholds on tables of a programme; see `discreet.tune_parts`."""
    inputs = open_inputs(programme, show_values=show_values)
    names = list(tables) or [n for n in inputs.programme.tables if inputs.programme.method(n).parts]
    unknown = [name for name in names if name not in inputs.programme.tables]
    stated = dict[str, tuple[dict[str, Any], str | None]]()
    for name in set(names) - set(unknown):
        areas = inputs.programme.tables[name].areas
        per = inputs.programme.part_areas(name) or (areas.variable if areas else None)
        stated[name] = inputs.programme.thresholds(name) or {}, per
    if unknown or not names or len({repr(item) for item in stated.values()}) > 1:
        message = f"table {unknown[0]!r} not found" if unknown else "no tables to examine"
        if names and not unknown:
            message = "the tables have several thresholds, or several variables with areas"
        hint = f"choose tables of {', '.join(inputs.programme.tables)}"
        raise ProgrammeError(message, code="tuning", where=str(inputs.programme.path), hint=hint)
    thresholds, per = stated[names[0]]
    # Every count behind the tables, and what each is held against.
    counted: list[Table] = []
    universes: dict[str, Table | Literal["none"]] = {}
    for name, counts in counted_tables(inputs, names, inputs.spanning(names)):
        for where in inputs.programme.method(name).needs(inputs, name):
            called = f"{name} where {where}" if where else name
            counted.append(dataclasses.replace(counts[where], name=called))
            if where:
                universes[called] = counts.get(UNIVERSE, "none")
    method = inputs.programme.method(names[0])
    return tune_parts(
        sorted(counted, key=lambda table: table.name),
        vary,
        target=target,
        reading=reading,
        rules=PartRules(**thresholds) if thresholds else None,
        areas=per,
        level=level,
        universes=universes,
        deviation=partial(method.quality, inputs),
    )
