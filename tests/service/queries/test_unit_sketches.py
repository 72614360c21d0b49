"""Sketches of universes: what is added up of areas is to the digit what all units give."""

import threading
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.disclosure.sketches import SketchSum, marks_of, sums_of
from discreet.microdata.distant_frames import distant_records
from discreet.microdata.stored_records import StoredRecords
from discreet_service.datasets import DataVersion
from discreet_service.policies.sketches import UniverseSketch
from discreet_service.queries.evidence import SketchMemory, StoredUnits, keyed_units
from tests.helpers.rows import for_all_rows
from tests.service.queries.conftest import evidence_of

SIZE = 12


def parts_of(sketch: UniverseSketch) -> list[Any]:
    return [sketch.count, sketch.size, sketch.sums.tolist(), sketch.marks.tolist()]


@for_all_rows("count", [0, 1, 31, 33, 300, 70_001])
def test_sums_of_parts_are_those_of_the_whole(count: int) -> None:
    units = np.unique(np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64))
    total = SketchSum(SIZE)
    for part in np.array_split(np.random.default_rng(1).permutation(units), 3):
        total.add(part)
    halves = [units[::2], units[1::2]]
    of_sketches = SketchSum(SIZE)
    of_sketches.add_sketches(
        np.array([len(half) for half in halves]),
        np.stack([sums_of(half, SIZE) for half in halves]),
        [marks_of(half) for half in halves],
    )
    for found in (total, of_sketches):
        assert found.count == len(units)
        assert (found.sums == sums_of(units, SIZE)).all()
        assert found.marks.tolist() == marks_of(units).tolist()


@for_all_rows("kind", ["whole", "state", "places", "codes", "both", "nobody"])
def test_filters_of_every_kind(census: DataVersion, kind: str) -> None:
    region = census.units["person"].variables["region"]
    state = {"variable": "region", "codes": [region.codes_of(1)[1]]}
    men = {"variable": "sex", "codes": ["m"]}
    where = {
        "whole": [],
        "state": [state],
        "places": [{"variable": "region", "codes": list(region.codes_of(2)[2:6])}],
        "codes": [men],
        "both": [state, men],
        "nobody": [{"variable": "age5", "codes": ["0-4"]},
                   {"variable": "marital_status", "codes": ["widowed"]}],
    }[kind]  # fmt: skip
    evidence = evidence_of(census, {"where": where})
    expected = UniverseSketch.of(evidence.universe_units(), SIZE)
    found = evidence.universe_sketch(SIZE)
    assert parts_of(found) == parts_of(expected)
    assert found.related is not None
    for one in evidence.query.where:
        variable = census.units["person"].variables[one.variable]
        index, leaves = variable.tree.index, variable.leaves_within
        own = leaves([index[code] for code in one.codes])
        shared = {code for code, at in index.items() if (leaves([at]) & own).any()}
        assert found.related[one.variable] == shared
    assert (expected.count == 0) == (kind == "nobody")


@pytest.mark.parametrize("condition", ["", "sex == 'm'"])
def test_records_with_one_key_are_one_unit(census: DataVersion, condition: str) -> None:
    held = distant_records(census.records("person")[0])
    assert isinstance(held, StoredRecords)
    copy = StoredRecords.open(held.folder)
    keys = np.array(held.keys)
    keys[5:900:7] = keys[6]  # many of one unit, in several areas
    keys[-1] = keys[2]
    vars(copy)["keys"] = keys
    found = StoredUnits(copy, b"key", SIZE).sketch(condition, census.inputs.grid, {})
    assert found.related is None  # a unit may be in universes of different codes
    chosen = keys
    if condition:
        chosen = keys[(copy.decoded("sex", 0, copy.records) == "m").to_numpy()]
    assert found.count == len(np.unique(chosen)) < len(chosen)
    units = keyed_units(pl.Series(chosen), b"key")
    assert parts_of(found) == parts_of(UniverseSketch.of(units, SIZE))


def test_a_sketch_asked_for_at_once_is_made_once() -> None:
    memory, made, gate = SketchMemory(), list[int](), threading.Barrier(4)

    def make() -> UniverseSketch:
        made.append(1)
        threading.Event().wait(0.05)
        return UniverseSketch.of(np.arange(3, dtype=np.uint64), SIZE)

    def ask() -> None:
        gate.wait(120)
        memory.sketch("all", make)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [1]


def test_a_sketch_that_fails_is_made_again() -> None:
    memory = SketchMemory()

    def fail() -> UniverseSketch:
        raise OSError

    with pytest.raises(OSError):
        memory.sketch("all", fail)
    found = UniverseSketch.of(np.arange(3, dtype=np.uint64), SIZE)
    assert memory.sketch("all", lambda: found) is found
    assert memory.sketch("all", fail) is found
