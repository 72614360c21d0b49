"""What is wrong with cells is said all at once, and no value is quoted; no bomb is unpacked."""

import io
import json
import random
import re
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.keygrid import KeyGrid
from discreet_service.cells.columns import conflicting_keys
from tests.helpers.rows import for_all_rows
from tests.helpers.service_cells import WRITERS, arrow_bytes, parquet_bytes, some_cells
from tests.service.cells.conftest import Caller

#: Numbers that stand in wrong cells, and must not come back.
TRUE = (731731, 918273645)


def problems_of(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert not any(str(each) in answer.text for each in TRUE)
    return {each["where"]: each["message"] for each in answer.json()["problems"]}


@for_all_rows(
    ("columns", "where", "said"),
    [
        ({"n": [1.5, TRUE[0]], "key": [1, 2]}, "n", "expected whole numbers"),
        ({"n": [-TRUE[0], 1], "key": [1, 2]}, "n", "1 of 2 cells have a number below 0"),
        ({"n": [1, None], "key": [1, 2]}, "n", "1 of 2 cells lack a value"),
        ({"n": [1, TRUE[0]], "key": [1, 10**15]}, "key", "1 of 2 cells have a key off the grid"),
        ({"n": [1, 2], "key": [0.25, 0.5]}, "key", "expected whole numbers"),
        ({"n": [1, 2], "key": ["a", "b"]}, "key", "expected whole numbers"),
        ({"n": [1, 2]}, "key", "column not found"),
        ({"n": [1], "key": [2], "731731": [3]}, "cells", "1 columns are unknown"),
        (
            {"n": [1, 2], "key": [TRUE[1]] * 2},
            "key",
            "1 keys occur with different numbers of records",
        ),
        (
            {"n": [1], "key": [2], "weight": [float("inf")]},
            "weight",
            "cells lack a number of at least 0",
        ),
        ({"n": [0], "key": [2], "weight": [1.0]}, "weight", "weights without records"),
        ({"n": [1], "key": [2], "official": [True]}, "official", "no exempt cells"),
        ({"n": [1], "key": [2], "official": ["x"]}, "official", "true or false"),
    ],
)
def test_each_mistake_is_told_without_values(
    caller: Caller, columns: dict[str, list[Any]], where: str, said: str
) -> None:
    frame = pl.DataFrame(columns, strict=False)
    for how in ("arrow", "csv"):
        assert said in problems_of(caller.hand_in("counts", frame, how))[where]


def test_all_mistakes_are_told_at_once(caller: Caller) -> None:
    frame = pl.DataFrame({"n": [-1, None], "keys": [1, 2], "weight": ["x", "y"]})
    found = problems_of(caller.hand_in("counts", frame))
    assert set(found) == {"n", "key", "cells", "weight"}


def test_cells_of_tables_are_looked_at_as_well(caller: Caller) -> None:
    frame = pl.DataFrame({"sex": ["m", "m", "w"], "n": [1, 2, 3], "key": [5, 6, 7]})
    answer = caller.hand_in("counts", frame, by="sex")
    assert answer.status_code == 422
    assert "more than once" in answer.text
    wrong = pl.DataFrame({"sex": ["m", "w"], "n": [-1, 2], "key": [-5, 6]})
    assert set(problems_of(caller.hand_in("counts", wrong, by="sex"))) == {"n", "key"}
    trees = json.dumps({"sex": {"codes": {"m": None, "f": None}}})
    shifted = pl.DataFrame({"sex": ["m", "731731"], "n": [1, 2], "key": [5, 6]})
    found = problems_of(caller.hand_in("counts", shifted, by="sex", classifications=trees))
    assert found == {"sex": "1 cells have codes that are not in the hierarchy"}


@for_all_rows(
    ("said", "where"),
    [
        ({"layout": "{"}, "layout"),
        ({"layout": "[1]"}, "layout"),
        ({"by": "sex", "layout": "{}"}, "by"),
        ({"language": "fr"}, "language"),
        ({"parameter_set": ""}, "parameter_set"),
        ({"sql": "DROP TABLE"}, ""),
        ({"by": "sex", "name": "../../etc/passwd"}, "name"),
        (
            {"layout": json.dumps({"by": ["sex"], "hierarchies": {"sex": "/etc/passwd"}})},
            "cells.hierarchies",
        ),
    ],
)
def test_what_a_call_says_is_checked(caller: Caller, said: dict[str, str], where: str) -> None:
    frame = pl.DataFrame({"sex": ["m"], "n": [1], "key": [5]})
    found = problems_of(caller.hand_in("counts", frame, **said))
    assert where in found
    assert "DROP" not in str(found)


def test_a_set_that_is_not_there(caller: Caller) -> None:
    for more in ({"parameter_set": "labour"}, {"version": "2"}):
        answer = caller.hand_in("counts", some_cells(2), **more)
        assert answer.status_code == 404
        assert answer.json()["type"].endswith("unknown-parameter-set")


def test_other_media_types_and_broken_bodies(caller: Caller) -> None:
    assert caller.send("counts", b"", "application/xml").status_code == 415
    for media, _ in WRITERS.values():
        for content in (b"", b"\xff\xfe", b"[]", b"{}", b'{"cells": 3}', b"ARROW1\0\0"):
            answer = caller.send("counts", content, media, parameter_set="census")
            assert answer.status_code == 422, (media, content)


def test_more_cells_than_one_call_may_have(caller: Caller) -> None:
    limits = caller.served.service.settings.limits
    object.__setattr__(limits, "cells_protect", 10)
    try:
        for how in WRITERS:
            answer = caller.hand_in("counts", some_cells(11), how)
            assert answer.status_code == 413, how
            assert (answer.json()["limit"], answer.json()["actual"]) == (10, 11)
            assert caller.hand_in("counts", some_cells(10), how).status_code == 200
    finally:
        object.__setattr__(limits, "cells_protect", 5_000_000)


def test_bombs_are_not_unpacked(caller: Caller) -> None:
    size = 5_000_000
    parquet = WRITERS["parquet"][0]
    wide = pa.table({f"c{at}": pa.array([1]) for at in range(101)})
    long = pa.table({"n": pa.array([1] * 10), "key": pa.array(["x" * 2000] * 10)})
    many = pa.table({"n": pa.array(np.zeros(size + 1, dtype=np.int8))})
    for table, status in ((wide, 422), (long, 422), (many, 413)):
        file = io.BytesIO()
        pyarrow.parquet.write_table(table, file)
        answer = caller.send("counts", file.getvalue(), parquet, parameter_set="census")
        assert answer.status_code == status
    media = WRITERS["arrow"][0]
    file = io.BytesIO()
    some_cells().write_ipc_stream(file, compression="zstd")
    answer = caller.send("counts", file.getvalue(), media, parameter_set="census")
    assert "compressed" in answer.text
    nested = pa.table({"n": pa.array([[1], [2]]), "key": pa.array([1, 2])})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, nested.schema) as stream:
        stream.write_table(nested)
    answer = caller.send("counts", sink.getvalue().to_pybytes(), media, parameter_set="census")
    assert "columns have an unsupported type" in answer.text
    nothing = pa.table({"n": pa.nulls(size + 1)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, nothing.schema) as stream:
        stream.write_table(nothing)
    answer = caller.send("counts", sink.getvalue().to_pybytes(), media, parameter_set="census")
    assert answer.status_code == 413


def mutated(content: bytes, draw: random.Random) -> bytes:
    """A body with some bytes changed, left out, repeated or cut off."""
    made = bytearray(content)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(made) + 1)
        match draw.randrange(4):
            case 0 if made:
                made[at % len(made)] = draw.randrange(256)
            case 1:
                del made[at : at + draw.randint(1, 40)]
            case 2:
                made[at:at] = made[at : at + draw.randint(1, 40)]
            case _:
                made = made[:at] if draw.random() < 0.2 else made
    return bytes(made)


@pytest.mark.parametrize("how", list(WRITERS))
@pytest.mark.parametrize(
    "number", [15, pytest.param(400, marks=pytest.mark.exhaustive)], ids=["few", "many"]
)
def test_mutated_bodies_never_fail_inside(caller: Caller, how: str, number: int) -> None:
    draw = random.Random(f"{how} {number}")
    media, written = WRITERS[how]
    frame = some_cells(40).with_columns(official=pl.lit(value=False))
    content = written(frame)
    for _ in range(number):
        answer = caller.send("counts", mutated(content, draw), media, parameter_set="census")
        assert answer.status_code in (200, 413, 422), answer.text


def test_keys_of_two_counts_are_found_unless_that_can_be_by_chance() -> None:
    draw, grid = np.random.default_rng(1), KeyGrid()
    key = draw.integers(0, grid.size, 100_000)
    count = draw.integers(0, 5, 100_000)
    assert conflicting_keys(count, key, grid) == 0
    again = np.concatenate([key, key[:1000]])
    assert conflicting_keys(np.concatenate([count, count[:1000]]), again, grid) == 0
    assert conflicting_keys(
        np.concatenate([count, count[:1000] + 1]), again, grid
    ) == np.count_nonzero(count[:1000])
    small = KeyGrid(2**32)
    assert conflicting_keys(count, key % small.size, small) == 0
    assert conflicting_keys(np.array([1, 2]), np.array([7, 7]), KeyGrid(256)) == 0
    assert conflicting_keys(np.arange(300) + 1, np.arange(300) % 250, KeyGrid(256)) == 0


def test_no_error_speaks_of_places_on_the_disk(caller: Caller) -> None:
    for content in (arrow_bytes(some_cells())[:300], parquet_bytes(some_cells())[:300]):
        answer = caller.send("counts", content, WRITERS["parquet"][0], parameter_set="census")
        assert not re.search(r"/(tmp|home|work|usr)", answer.text)
