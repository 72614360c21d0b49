"""Grid cells that a programme aggregates until each of them shows a minimum.

In: what a release is made from. CONFIDENTIAL. Out: the same, with a column of the aggregated grid
cell of each record, for each variable with ``at_least``. Counts with the noise of the programme
decide what is aggregated: the grid cells tell what these counts tell, and no more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw

from discreet.classifications import Classification
from discreet.errors import ProgrammeError
from discreet.microdata import distant_records
from discreet.release.inputs import Inputs
from discreet.release.programme.variables import found_codes, used_variables
from discreet.release.run.counts import KeyedRecords


def with_merged_squares(inputs: Inputs) -> Inputs:
    """The inputs with the aggregated grid cells of all records."""
    programme, records = inputs.programme, dict(inputs.records)
    used: dict[tuple[str, str], None] = {}
    for table in programme.tables:
        source = programme.source_of(table).name
        used |= {(source, name): None for name in used_variables(programme, table)}
    for source, name in used:
        column = programme.variables[name].merged_column(name)
        if column is None:
            continue
        if distant_records(records[source]) is not None:
            message = f"grid cells of {name} can be aggregated only where the records are in files"
            hint = "add a column of aggregated grid cells to the records"
            raise ProgrammeError(message, code="squares", where=name, hint=hint)
        records[source] = _merged(inputs, source, name, records[source], column)
    return replace(inputs, records=records)


def _merged(inputs: Inputs, source: str, name: str, records: Any, merged: str) -> Any:
    """The records of a source with the aggregated grid cells of one variable."""
    from discreet.pretabular import merge_squares
    from discreet.protection.noise import perturb
    from discreet.tabulation import tabulate

    entry = inputs.programme.variables[name]
    column = entry.coarser_column(name) or entry.column or name
    keyed, record_key = KeyedRecords(inputs).of(source)
    assert inputs.parameters is not None
    codes = found_codes(records, [column])[column]
    short = not any(code.startswith("CRS") for code in codes)
    tree = Classification.from_squares(
        name, codes, sizes=entry.squares or (), column=column, short=short
    )
    counts = tabulate(
        nw.to_native(keyed),
        [tree] if entry.within is None else [entry.within, tree],
        record_key=record_key,
        key_grid=inputs.grid,
        allow_unsuitable_keys=inputs.programme.sources[source].keys.allow_unsuitable,
        name=name,
    )
    rules = inputs.parameters.rules
    shown = perturb(
        counts,
        inputs.parameters.perturbation_table,
        zeros=rules.zeros,
        decimals=rules.decimals,
        suppress_below=rules.suppress_below,
    )
    squares = merge_squares(shown, entry.at_least or 0, rest=entry.rest)
    made = squares.assign(nw.to_native(records), column, area=entry.within, column=merged)
    return nw.from_native(made)
