"""Cubes that go from one machine, or office, to another: made, joined, counted from.

In: the cubes of some records; or files of cubes. Out: files of cubes (confidential), which add
up: the cubes of any parts of the records, joined in any order, are the cubes of all records,
bit for bit; and, from files, the cubes that a task asks for, without any record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import MicrodataError
from discreet.key_check import MOST, KeyCheck
from discreet.keygrid import KeyGrid, limbs_of
from discreet.microdata import (
    SHARED,
    CubeFile,
    DistantCubes,
    cube_bytes,
    damaged,
    distant_records,
    dtype_name,
)
from discreet.tabulation.cube import Cube, join_cubes
from discreet.tabulation.engine import Engine, Pass, TabulationTask
from discreet.tabulation.measures import KEYS, Largest, MeasureLayout
from discreet.tabulation.query import CubeAxis, QueryGroup

#: What a cube is, as the text of a mapping: filter, axes, what is summed.
_About = str
#: Files whose cubes are in memory at the same time.
_TOGETHER = 16


# -- files ----------------------------------------------------------------------------


def cubes_of_records(
    task: TabulationTask, counted: Iterable[tuple[QueryGroup, Cube]], keys: KeyCheck | None
) -> bytes:
    """The file of the cubes of some records."""
    cubes: dict[_About, Cube] = {}
    for group, cube in counted:
        if any(axis.levels for axis in cube.axes):
            message = "partial aggregates do not contain levels from columns"
            hint = "give the variable a hierarchy file with the parent of each code"
            raise MicrodataError(message, code="cube-levels", where=cube.axes[0].column, hint=hint)
        if group.where and not isinstance(group.where, str):
            raise MicrodataError(
                "partial aggregates need filters as texts", code="where", where="where"
            )
        layout = cube.layout.with_shares(cube.layout.possible)
        complete = replace(cube, measures=cube.layout.select(cube.measures, layout), layout=layout)
        axes = sorted(cube.axes, key=repr)
        cubes[_about(group.where or "", axes, layout)] = join_cubes([complete], axes)
    tested = keys and {
        "faults": sorted(keys.faults),
        "points": keys.points if keys.coarse else keys.grid.size,
        "allowed": keys.unsuitable_allowed,
    }
    manifest = {
        "records": max((int(cube.measures[0].sum()) for cube in cubes.values()), default=0),
        "schema": {n: dtype_name(kind) for n, kind in task.schema.to_polars().items()},
        "record_key": task.record_key,
        "grid": task.grid.size,
        "keys": tested,
    }
    return _file(manifest, cubes)


def joined_files(paths: Sequence[Path]) -> bytes:
    """One file of the cubes of several, whose records are different ones."""
    files = DistantCubes.of_paths(paths).files
    cubes: dict[_About, Cube] = {}
    for first in range(0, len(files), _TOGETHER):
        held: dict[_About, list[Cube]] = {about: [cube] for about, cube in cubes.items()}
        for file in files[first : first + _TOGETHER]:
            own = dict(_read(file))
            if (first or held) and set(own) != set(held or own):
                message = "its partial aggregates differ from those of the other files"
                hint = "build all of them with the same programme"
                raise MicrodataError(message, code="cubes-differ", where=str(file.path), hint=hint)
            for about, cube in own.items():
                held.setdefault(about, []).append(cube)
        cubes = {about: join_cubes(parts, parts[0].axes) for about, parts in held.items()}
    manifest = {name: files[0].manifest[name] for name in SHARED}
    manifest |= {"records": sum(item.manifest["records"] for item in files)}
    return _file({**manifest, "keys": _joint_keys(files)}, cubes)


def _joint_keys(files: Sequence[CubeFile]) -> dict[str, Any] | None:
    """What the tests of the keys of all files found together."""
    tested = [file.manifest["keys"] for file in files]
    if not all(tested):
        return None
    return {
        "faults": sorted({fault for item in tested for fault in item["faults"]}),
        "points": min(item["points"] for item in tested),
        "allowed": any(item["allowed"] for item in tested),
    }


def _about(where: str, axes: Sequence[CubeAxis], layout: MeasureLayout) -> _About:
    described = {
        "where": where,
        "axes": [[axis.column, axis.bounds and [str(b) for b in axis.bounds]] for axis in axes],
        "keyed": layout.keyed,
        "weight": layout.weight,
        "values": list(layout.values),
        "largest": dict(sorted(layout.largest.items())),
    }
    return json.dumps(described, sort_keys=True)


def _file(manifest: Mapping[str, Any], cubes: Mapping[_About, Cube]) -> bytes:
    abouts = sorted(cubes)
    described = [{**json.loads(about), "cells": len(cubes[about])} for about in abouts]
    frames = [_frame(cubes[about], KeyGrid(manifest["grid"])) for about in abouts]
    return cube_bytes({**manifest, "cubes": described}, frames)


def _frame(cube: Cube, grid: KeyGrid) -> pl.DataFrame:
    """The cells of a cube as columns; key sums on the grid, however they were added up."""
    columns: dict[str, Any] = {}
    measures = cube.measures.copy()
    for row, at in cube.layout.rows.items():
        if row[-1] == KEYS[0]:
            measures[at : at + 2] = limbs_of(grid.combine(*measures[at : at + 2]))
    for at, (codes, values) in enumerate(zip(cube.codes, cube.values, strict=True)):
        columns[f"axis{at}"] = values.gather(codes).cast(pl.Enum(values.drop_nulls()))
    columns |= {f"measure{at}": row for at, row in enumerate(measures)}
    for name, largest in cube.largest.items():
        at = list(cube.largest).index(name)
        columns |= {f"list{at}_{n}": largest.lists[:, n] for n in range(largest.lists.shape[1])}
    return pl.DataFrame(columns)


def _read(file: CubeFile) -> Iterator[tuple[_About, Cube]]:
    """The cubes of a file."""
    for about, frame in file.cubes():
        try:
            axes = tuple(
                CubeAxis(column, None if bounds is None else tuple(map(float, bounds)))
                for column, bounds in about["axes"]
            )
            layout = MeasureLayout(
                keyed=about["keyed"],
                weight=about["weight"],
                values=tuple(about["values"]),
                largest=dict(about["largest"]),
            )
            layout = layout.with_shares(layout.possible)
            yield _about(about["where"], axes, layout), _cube(frame, axes, layout)
        except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
            raise damaged(file.path) from None


def _axis(column: str, bounds: Sequence[str] | None) -> CubeAxis:
    return CubeAxis(column, None if bounds is None else tuple(map(float, bounds)))


def _cube(frame: pl.DataFrame, axes: tuple[CubeAxis, ...], layout: MeasureLayout) -> Cube:
    """A cube from its columns."""
    codes, values = [], []
    for at in range(len(axes)):
        column = frame[f"axis{at}"]
        known = pl.Series(column.dtype.categories, dtype=pl.String)  # type: ignore[attr-defined]
        missing = column.null_count() > 0
        values.append(pl.concat([known, pl.Series([None], dtype=pl.String)]) if missing else known)
        codes.append(column.to_physical().cast(pl.Int32).fill_null(len(known)).to_numpy())
    rows = [frame[f"measure{at}"].to_numpy() for at in range(len(layout.rows))]
    weighted = layout.weight is not None
    largest = {}
    for at, (name, k) in enumerate(layout.largest.items()):
        model = Largest.empty(0, k, weighted=weighted)
        lists = [frame[f"list{at}_{n}"].to_numpy() for n in range(model.lists.shape[1])]
        largest[name] = Largest(k, np.column_stack(lists))
    measures = np.vstack(rows).astype(np.int64, casting="safe")
    return Cube(
        axes=axes,
        codes=tuple(codes),
        values=tuple(values),
        measures=measures,
        layout=layout,
        largest=largest,
    )


# -- counting ---------------------------------------------------------------------------


class CubeEngine(Engine):
    """Cubes in files: nothing is counted, cells are added up."""

    name = "cubes"
    rank = 0
    distant = True

    def __init__(self, task: TabulationTask) -> None:
        super().__init__(task)
        records = distant_records(task.records)
        assert isinstance(records, DistantCubes)
        self._distant = records
        self._cubes: list[tuple[str, Cube]] = []

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether these are cubes."""
        return isinstance(distant_records(task.records), DistantCubes)

    def groups(self) -> list[QueryGroup]:
        """Each query on its own: the cubes are there already."""
        groups = []
        for at, query in enumerate(self.task.queries):
            groups.append(QueryGroup(query.where or "", query.weight))
            groups[-1].take(at, query)
        return groups

    def key_check(self) -> KeyCheck | None:
        """Result of the key test where the keys are."""
        if self.task.record_key is None:
            return None
        keys = checked_keys(self._distant, self.task.grid, allowed=self.task.unsuitable_keys)
        keys.raise_faults(self.task.record_key)
        return keys

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """The cubes of the passes, each from the smallest one that has all of it."""
        if not self._cubes:
            parts: dict[_About, list[Cube]] = {}
            for file in self._distant.files:
                for about, cube in _read(file):
                    parts.setdefault(about, []).append(cube)
            self._cubes = [
                (json.loads(about)["where"], join_cubes(cubes)) for about, cubes in parts.items()
            ]
        for one in passes:
            fitting = [cube for where, cube in self._cubes if _has(cube, where, one)]
            if not fitting:
                raise _absent(", ".join(axis.column for axis in one.axes) or "total")
            yield _part(min(fitting, key=len), one)


def checked_keys(cubes: DistantCubes, grid: KeyGrid, *, allowed: bool) -> KeyCheck:
    """Results of the key tests where the keys were added up."""
    tested = _joint_keys(cubes.files)
    if tested is None or cubes.files[0].manifest["grid"] != grid.size:
        message = "the partial aggregates have no keys, or keys of another grid"
        raise MicrodataError(message, code="cubes-only", where="keys", hint="build them with keys")
    return KeyCheck(
        grid=grid,
        records=min(cubes.records, MOST),
        points=tested["points"],
        faults=tuple(tested["faults"]),
        unsuitable_allowed=allowed and tested["allowed"],
    )


def codes_in_cubes(cubes: DistantCubes, column: str) -> list[str]:
    """All codes of a column that some record has."""
    codes: set[str] = set()
    for file in cubes.files:
        own = [
            cube.values[cube.place[CubeAxis(column)]]
            for about, cube in _read(file)
            if not json.loads(about)["where"] and CubeAxis(column) in cube.place
        ]
        if not own:
            raise _absent(column)
        codes.update(own[0].drop_nulls())
    return list(codes)


def _absent(where: str) -> MicrodataError:
    message = "the partial aggregates lack data for this table"
    hint = "build them with the programme of the table: discreet cube make"
    return MicrodataError(message, code="cubes-only", where=where, hint=hint)


def _has(cube: Cube, where: str, one: Pass) -> bool:
    """Whether a cube has all that a pass asks for."""
    layout, wanted = cube.layout, one.layout
    return (
        where == (one.asked or "")
        and set(one.axes) <= set(cube.axes)
        and (layout.keyed or not wanted.keyed)
        and layout.weight == wanted.weight
        and set(wanted.values) <= set(layout.values)
        and all(layout.largest.get(name, 0) >= k for name, k in wanted.largest.items())
    )


def _part(cube: Cube, one: Pass) -> Cube:
    """What a pass asks for, of a cube that has it."""
    wanted = replace(one.layout, shares=cube.layout.shares)
    largest = {name: cube.largest[name].shortened(k) for name, k in wanted.largest.items()}
    layout = wanted.with_shares(cube.layout.shares)
    measures = cube.layout.select(cube.measures, layout)
    part = replace(cube, measures=measures, layout=layout, largest=largest)
    return part if cube.axes == one.axes else join_cubes([part], one.axes)
