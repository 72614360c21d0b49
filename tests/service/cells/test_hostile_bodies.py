"""Bodies that lie about themselves: refused with a clear error that quotes nothing of them."""

import io
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet_service.cells.bodies import BodyKind, HandedIn, RowLimit, read_body
from discreet_service.problems import ServiceError
from tests.helpers.rows import for_all_rows

GOOD = b'{"cells": [{"n": 3, "key": 7654321}]}'


def read(content: bytes, kind: BodyKind) -> HandedIn:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        return read_body(file, kind, RowLimit(1_000))


def refused(content: bytes, kind: BodyKind) -> str:
    with pytest.raises(ServiceError) as caught:
        read(content, kind)
    assert "7654321" not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value.code


@for_all_rows(
    "content",
    [
        b'{"cells": [{"n": 3, "n": 5, "key": 7654321}]}',
        b'{"cells": [{"n": 3, "key": 7654321}], "cells": []}',
        b'{"cells": {"n": [3], "key": [7654321], "n": [5]}}',
        b'{"cells": [{"n": NaN, "key": 7654321}]}',
        b'{"cells": [{"n": -Infinity, "key": 7654321}]}',
        b'{"cells": [{"n": ' + b"7654321" * 1_000 + b"}]}",
        b'{"cells": [{"a": "7654321\xff"}]}',
        b'{"cells": [{"a": "\xc0\x80"}]}',
        b"\xff\xfe" + GOOD.decode().encode("utf-16-le"),
        GOOD[:-1],
        GOOD + GOOD,
        b"[" * 100_000,
        b'{"cells":' + b'{"a":' * 100_000,
        b'{"cells": 7654321}',
        b'{"cells": [[7654321]]}',
        b"null",
        b"",
    ],
)
def test_json_that_says_two_things_or_none(content: bytes) -> None:
    assert refused(content, BodyKind.json) == "invalid-body"


@pytest.mark.parametrize("number", ["1e400", "9" * 30, "1" + "0" * 400])
def test_numbers_beyond_all_bounds_are_no_values(number: str) -> None:
    """They are read; what columns may hold is checked where they are used."""
    frame = read(f'{{"cells": {{"n": [{number}]}}}}'.encode(), BodyKind.json).frame
    (value,) = frame["n"].to_list()
    assert value is None or value == float("inf")


def arrow(batch: pa.RecordBatch) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_stream(file, batch.schema) as stream:
        stream.write_batch(batch)
    return file.getvalue()


def batch_of(array: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array], names=["a"])


def lying(whole: bytes, said: list[int], instead: list[int]) -> bytes:
    """A stream in which other numbers stand in the place of some."""
    before, after = (np.array(each, dtype=np.int32).tobytes() for each in (said, instead))
    assert whole.count(before) == 1
    return whole.replace(before, after)


PLAIN = arrow(batch_of(pa.array(["7654321", "abc"])))
NUMBERED = arrow(batch_of(pa.array(["a", "7654321", "c", "a"]).dictionary_encode()))
LYING = {
    "texts beyond their bytes": lying(PLAIN, [0, 7, 10], [0, 7, 10**6]),
    "texts that go back": lying(PLAIN, [0, 7, 10], [0, 7, 3]),
    "texts before their bytes": lying(PLAIN, [0, 7, 10], [-5, 7, 10]),
    "texts that are none": PLAIN.replace(b"7654321abc", b"765432\xff\xfebc"),
    "numbers of no text": lying(NUMBERED, [0, 1, 2, 0], [0, 1, 2, 7_000_000]),
    "numbers before all texts": lying(NUMBERED, [0, 1, 2, 0], [0, -9, 2, 0]),
}


@for_all_rows("content", LYING.values(), ids=LYING)
def test_streams_whose_buffers_lie(content: bytes) -> None:
    assert refused(content, BodyKind.arrow) == "invalid-body"


def test_streams_that_have_fewer_bytes_than_rows() -> None:
    rows = 999
    whole = bytearray(arrow(batch_of(pa.array(range(rows), pa.int64()))))
    said = rows.to_bytes(8, "little")
    places = [at for at in range(len(whole) - 7) if whole[at : at + 8] == said]
    assert places
    for number in (rows + 1, 2**31, 2**62, 2**64 - 1):
        for at in places[:2]:
            lying = bytes(whole[:at]) + number.to_bytes(8, "little") + bytes(whole[at + 8 :])
            assert refused(lying, BodyKind.arrow) in ("invalid-body", "too-many-cells")


@pytest.mark.parametrize("cut", [4, 12, 40, 200])
def test_files_that_are_cut_off(cut: int) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"n": list(range(100)), "a": ["7654321"] * 100}), file)
    assert refused(file.getvalue()[:-cut], BodyKind.parquet) == "invalid-body"
    assert refused(file.getvalue()[cut:], BodyKind.parquet) == "invalid-body"


@pytest.mark.parametrize(
    "content", [b"n,key\n3,\xff7654321\n", b"n,n\n3,7654321\n1,2,3,4\n", b'n,key\n"3,7654321\n']
)
def test_lines_that_are_none(content: bytes) -> None:
    assert refused(content, BodyKind.csv) == "invalid-body"
