"""Identities of a release: written beside internal reports, read by later releases. CONFIDENTIAL.

In: what a release is made from, and the fingerprints of earlier ones. Out: `identity.parquet`, per
cell its layer, its codes and a fingerprint of its records; at a later release the columns that
earlier tables need and that have another name now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.files import atomic_path
from discreet.microdata import parse_filter
from discreet.record_batches import collected
from discreet.release.inputs import Inputs
from discreet.release.state.identity import (
    COLUMNS,
    IDENTITY,
    codes_of,
    keys_of,
    read_identity,
    texts_of_cells,
)
from discreet.tables import Table, level_numbers
from discreet.tabulation import CubeAxis, Query


def write_identity(inputs: Inputs, digests: Mapping[str, str], folder: Path) -> None:
    """Write the fingerprints of all tables with hidden cells, unless they are there already."""
    import polars as pl

    path, programme = folder / IDENTITY, inputs.programme
    tables = [name for name in programme.tables if programme.method(name).auditable]
    sources = dict.fromkeys(programme.source_of(name).name for name in tables)
    identities = {source: inputs.record_identity(source) for source in sources}
    kept = {name: digests[name] for name in tables if identities[programme.source_of(name).name]}
    if not kept:
        path.unlink(missing_ok=True)
        return
    with suppress(PublicationError):  # one that is damaged is made again
        earlier = read_identity(path)
        alike = {identity.mark for identity in identities.values() if identity is not None}
        if set(earlier) == {*kept.values()} and {own.mark for own in earlier.values()} == alike:
            return
    frames = []
    for source, identity in identities.items():
        if identity is None:
            continue
        own = [name for name in kept if programme.source_of(name).name == source]
        spanning = inputs.spanning(own)[source]
        queries = [
            Query(by=[spanning[v] for v in entry.by or []], where=entry.where or None, name=name)
            for name in own
            for entry in [programme.tables[name]]
        ]
        for table in identity.counted(inputs.records[source], queries):
            levels = [
                [f"{dimension.name} {level}" for level in level_numbers(dimension).tolist()]
                for dimension in table.dimensions
            ]
            about = [kept[table.name], table.name, identity.mark, json.dumps(identity.columns)]
            cells = {"codes": codes_of(table), "fingerprint": keys_of(table)}
            columns = dict(zip(COLUMNS, [pl.lit(text) for text in about], strict=False))
            layers = pl.Series("layer", texts_of_cells(levels, table), dtype=pl.String)
            frame = pl.DataFrame(cells, schema={"codes": pl.String, "fingerprint": pl.Int64})
            frames.append(frame.with_columns(layers, **columns).select(COLUMNS))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_path(path, private=True) as temporary:
        pl.concat(frames).write_parquet(temporary)


def with_earlier_columns(inputs: Inputs) -> Inputs:
    """A copy with renamed columns that earlier tables need.

    A column is another one if each of its codes had exactly the records that a code has now.
    """
    records = dict(inputs.records)
    # Without a filter all records are seen.
    for before in sorted(inputs.earlier, key=lambda item: len(item.about["where"])):
        source = inputs.source_before(before)
        identity = inputs.identity_before(before)
        if source is None or identity is None:
            continue
        for at, dimension in enumerate(before.table.spanning):
            axes = {CubeAxis.of(tree) for tree in dimension.classifications}
            axis = axes.pop()
            schema = records[source].collect_schema()
            if axes or axis.bounds is not None or axis.levels or axis.column in schema:
                continue
            assert before.identity is not None
            wanted = before.identity.along(before.table.spanning, at)
            missing = dimension.classifications[0].missing
            where = before.about["where"]
            queries = [
                Query(by=[item], where=where or None, name="identity")
                for item in _candidates(inputs, source, records[source], where, len(wanted))
                if item not in identity.columns
            ]
            for table in identity.counted(records[source], queries):
                matches = _matches(wanted, missing, table)
                if matches is not None:
                    column = CubeAxis.of(table.dimensions[0].classifications[0]).column
                    texts = nw.col(column).cast(nw.String)
                    fresh = texts.replace_strict(matches, default=None, return_dtype=nw.String)
                    records[source] = records[source].with_columns(fresh.alias(axis.column))
                    break
    return replace(inputs, records=records)


def _candidates(
    inputs: Inputs, source: str, records: Any, where: str, number: int
) -> Iterator[str | Classification]:
    """What spans tables now, then every other column with so many codes."""
    schema = records.collect_schema()
    tables = [n for n in inputs.programme.tables if inputs.programme.source_of(n).name == source]
    spanning: list[Any] = []
    for item in inputs.spanning(tables)[source].values():
        spanning += item if isinstance(item, list) else [item]
    plain: list[str] = [tree for tree in spanning if isinstance(tree, str)]
    trees = [tree for tree in spanning if isinstance(tree, Classification)]
    usable = [tree for tree in trees if not (tree.bounds or CubeAxis.of(tree).levels)]
    yield from usable
    yield from plain
    codes = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
    others = [n for n, kind in schema.items() if kind in codes or kind.is_integer()]
    if where:
        records = records.filter(parse_filter(where).to_narwhals(schema))
    sizes = collected(records.select(nw.col(*others).n_unique())) if others else None
    yield from (n for n in others if n not in plain and sizes is not None and sizes[n][0] == number)


def _matches(wanted: Mapping[str, int], missing: str, table: Table) -> dict[str, str] | None:
    """For each finest code of today the code of then; None if some code has no match."""
    dimension = table.dimensions[0]
    tree = dimension.classifications[0]
    places = dict(zip(keys_of(table), table.index[0].tolist(), strict=True))
    # Of a code and its only part, the finer one; both have the same records.
    if not wanted or not all(key in places for key in wanted.values()):
        return None
    then = {places[key]: code for code, key in wanted.items()}
    matches = {}
    for leaf, count in zip(table.index[0].tolist(), table.count.tolist(), strict=True):
        if not dimension.is_leaf[leaf] or not count:
            continue
        at = leaf
        while at not in then and at > 0:
            at = int(tree.parent_index[at])
        code = then.get(at)
        if code is None or (code == missing) != (tree.codes[leaf] == tree.missing):
            return None
        if code != missing:
            matches[tree.codes[leaf]] = code
    return matches
