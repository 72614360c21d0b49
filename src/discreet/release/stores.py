"""Stores of the records of a programme. CONFIDENTIAL.

In: a programme. Out: a store with all columns that its tables need, and record keys, which are
made on the way if the programme says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from discreet.confidential import without_values
from discreet.errors import ProgrammeError
from discreet.store import Store

AnyPath = str | os.PathLike[str]


@without_values
def build_store(
    programme: AnyPath,
    out: AnyPath,
    *,
    source: str | None = None,
    sort: str | None = None,
    data: Mapping[str, AnyPath] | None = None,
    show_values: bool = False,
) -> Store:
    """Build the store of what the tables of a programme need.

    >>> build_store("no-such-programme.toml", "census.store")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
    """
    from discreet.release.run.counts import KeyedRecords, cube_queries
    from discreet.release.run.data_checks import checked_inputs

    inputs = checked_inputs(programme, show_values=show_values, data=data)
    name = inputs.programme.known_source(source)
    records, record_key = KeyedRecords(inputs).of(name)
    queries = cube_queries(inputs, name)
    spanning = {part.name: part.trees or part.name for query in queries for part in query.variables}
    sizes = {
        part.name: max(len(tree.leaves) for tree in part.trees)
        for query in queries
        for part in query.variables
        if part.trees and all(tree.bounds is None for tree in part.trees)
    }
    first = sort or max(sizes or list(spanning), key=lambda each: sizes.get(each, 0))
    if first not in spanning:
        what, hint = f"{first!r} is not used in tables", f"variables: {', '.join(spanning)}"
        raise ProgrammeError(what, code="variable", where=str(programme), hint=hint)
    columns = dict.fromkeys(column for query in queries for column in query.columns)
    return Store.create(
        out,
        records,
        variables=[spanning.pop(first), *spanning.values()],
        values=[column for column in columns if column != record_key],
        record_key=record_key,
        key_grid=inputs.grid,
        allow_unsuitable_keys=inputs.programme.sources[name].keys.allow_unsuitable,
    )
