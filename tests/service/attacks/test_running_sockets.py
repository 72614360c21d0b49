"""Bytes on real connections to the proxy: smuggled, slow and unread requests, lying bodies."""

import contextlib
import gzip
import io
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.proxy import behind_proxy
from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_cells import WRITERS
from tests.helpers.service_server import served_on_port

pytestmark = pytest.mark.exhaustive
_HOST = "Host: 127.0.0.1:8077\r\n"
_LIVE = f"GET /health/live HTTP/1.1\r\n{_HOST}Connection: close\r\n\r\n".encode()
_COUNTS = "/api/v1/protect/counts"
_PARQUET = "application/vnd.apache.parquet"


class _Wire:
    """A service on a port, and bytes that are sent to it."""

    def __init__(self, demo: RunningDemo, url: str) -> None:
        self.demo = demo
        self.where = ("127.0.0.1", int(urlsplit(url).port or 0))

    def open(self) -> socket.socket:
        return socket.create_connection(self.where, timeout=180)

    def send(self, *pieces: bytes, keep: int = 10**9) -> bytes:
        """What is answered until the connection is closed, or the first bytes of it."""
        with self.open() as connection:
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except (BrokenPipeError, ConnectionResetError):
                    break
            return _rest(connection, keep)

    def hand_in(self, body: bytes, media: str, *more: str, keep: int = 10**9) -> tuple[int, bytes]:
        head = [
            f"POST {_COUNTS}?parameter_set=census HTTP/1.1",
            _HOST.strip(),
            "Authorization: Bearer service",
            f"Content-Type: {media}",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *more,
        ]
        told = self.send("\r\n".join(head).encode() + b"\r\n\r\n" + body, keep=keep)
        return _statuses(told)[0], told


def _rest(connection: socket.socket, keep: int) -> bytes:
    found = bytearray()
    try:
        while piece := connection.recv(65_536):
            found += piece[: keep - len(found)]
    except ConnectionResetError:
        pass
    return bytes(found)


def _statuses(told: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", told)]


@pytest.fixture(scope="module")
def wire(demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Wire]:
    place = tmp_path_factory.mktemp("wire")
    with (
        running_demo(demonstration, place / "service") as demo,
        served_on_port(demo.app, 60) as url,
        behind_proxy(url, tmp_path_factory.mktemp("proxy")) as proxy,
    ):
        found = _Wire(demo, proxy)
        yield found
        assert found.send(_LIVE).startswith(b"HTTP/1.1 200")
        assert [line for line in demo.logged() if '"failure"' in line] == []


_SMUGGLED = b"GET /api/v1/config HTTP/1.1\r\n" + _HOST.encode() + b"\r\n"


@pytest.mark.parametrize(
    "lengths",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
        "Content-Length: +5",
        "Content-Length: -1",
        "Content-Length: 0x5",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: \x0bchunked",
        "Content-Length: 5\r\nHost: elsewhere",
        "Content-Length: 5\r\nX: a\x00b",
        "Content-Length: 5\r\n 6",
        "Transfer-Encoding:\r\n chunked",
        "Content-Length: 5\r\nX: a\r\n\tTransfer-Encoding: chunked",
    ],
)
def test_no_request_is_hidden_in_another(wire: _Wire, lengths: str) -> None:
    """Only refusals, and the connection is closed: the second request is never answered."""
    head = f"POST {_COUNTS} HTTP/1.1\r\n{_HOST}{lengths}\r\n\r\n".encode("latin-1")
    told = wire.send(head + b"0\r\n\r\n" + _SMUGGLED)
    found = _statuses(told)
    assert found, told
    assert [status for status in found if status < 400] == [], told
    assert b"connection: close" in told.lower()


def test_chunks_that_lie_are_refused(wire: _Wire) -> None:
    head = (
        f"POST {_COUNTS} HTTP/1.1\r\n{_HOST}Authorization: Bearer service\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    for chunk in (b"zz\r\n", b"-1\r\n", b"5\r\nabcdefgh\r\n0\r\n\r\n", b"f" * 40 + b"\r\n"):
        told = wire.send(head + chunk)
        assert [status for status in _statuses(told) if not 400 <= status < 500] == [], told


def test_half_open_connections_stop_nobody(wire: _Wire) -> None:
    """More of them than are served at once, with half a head or half a body."""
    half = f"POST {_COUNTS} HTTP/1.1\r\n{_HOST}Authorization: Bearer service\r\n".encode()
    body = half + b"Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n{"
    held = []
    try:
        for at in range(120):
            connection = wire.open()
            held.append(connection)
            connection.sendall(body if at % 4 == 0 else half)
        for _ in range(5):
            assert wire.send(_LIVE).startswith(b"HTTP/1.1 200")
        assert _all_let_go(held)
    finally:
        for each in held:
            each.close()


def test_lines_that_go_on_are_refused_in_every_request(wire: _Wire) -> None:
    """However they come: in pieces, and behind another request."""
    whole = f"GET /health/live HTTP/1.1\r\n{_HOST}".encode()
    assert _statuses(wire.send(whole + b"X: a\r", b"\n", b" b\r\n\r\n")) == [400]
    assert _statuses(wire.send(whole + b"\r\n" + whole + b"X: a\r\n b\r\n\r\n")) == [200, 400]


def test_who_does_not_read_is_let_go(wire: _Wire) -> None:
    """Answers that wait for their callers; meanwhile others are answered."""
    ask = f"GET /api/v1/openapi.json HTTP/1.1\r\n{_HOST}\r\n".encode()
    held = []
    try:
        for _ in range(10):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(wire.where)
            connection.settimeout(0.5)
            held.append(connection)
            with contextlib.suppress(OSError):
                for _ in range(200):  # until they wait
                    connection.sendall(ask)
        assert wire.send(_LIVE).startswith(b"HTTP/1.1 200")
        assert _all_let_go(held)
    finally:
        for each in held:
            each.close()


def _is_let_go(connection: socket.socket) -> bool:
    """Whether the service holds a connection no longer; nothing is read to find out.

    What was answered before may wait in the kernel for somebody to read it; that is no end that
    this side sees.
    """
    try:
        ports = connection.getpeername()[1], connection.getsockname()[1]
    except OSError:  # reset
        return True
    ends = [f":{port:04X}" for port in ports]
    for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]:
        _, here, there, state, *_ = line.split()
        if [here[-5:], there[-5:]] == ends:
            return state != "01"  # established
    return True


def _all_let_go(held: list[socket.socket]) -> bool:
    """Whether all connections end within minutes."""
    until = time.monotonic() + 180
    left = list(held)
    while left and time.monotonic() < until:
        left = [connection for connection in left if not _is_let_go(connection)]
        time.sleep(0.5)
    return not left


def test_packed_bodies_are_not_unpacked(wire: _Wire) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    for coding in ("gzip", "zstd", "deflate", "br", "identity, gzip", "x"):
        status, _ = wire.hand_in(bomb, "application/json", f"Content-Encoding: {coding}")
        assert status == 415, coding


def _parquet(columns: dict[str, object], **more: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, **more)
    return file.getvalue()


def _arrow(columns: dict[str, object], **more: object) -> bytes:
    file, table = io.BytesIO(), pa.table(columns)
    with pa.ipc.new_stream(file, table.schema, options=pa.ipc.IpcWriteOptions(**more)) as stream:
        stream.write_table(table)
    return file.getvalue()


def _bombs() -> dict[str, tuple[bytes, str]]:
    same = pa.array(["x" * 900] * 2_000_000).dictionary_encode()
    stream = "application/vnd.apache.arrow.stream"
    zeros = {"n": pa.array([0] * 6_000_000), "key": pa.array([0] * 6_000_000)}
    wide = {f"c{at}": [1] for at in range(5_000)}
    return {
        "texts": (_parquet({"n": same.cast(pa.string()), "key": [1] * len(same)}), _PARQUET),
        "rows": (_parquet(zeros, compression="zstd"), _PARQUET),
        "columns": (_parquet(wide), _PARQUET),
        "arrow, packed": (_arrow({"n": [0] * 10**6}, compression="zstd"), stream),
        "arrow, columns": (_arrow(wide), stream),
        "depth": (b"[" * 200_000, "application/json"),
        "depth in cells": (b'{"cells":' + b'{"a":' * 100_000, "application/json"),
        "digits": (b'{"cells":[{"n":' + b"9" * 10**6 + b',"key":1}]}', "application/json"),
    }


def test_bodies_that_grow_are_refused_within_bounds(wire: _Wire) -> None:
    made = _bombs()
    for name, (body, media) in made.items():
        begun, before = time.process_time(), _held("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        status, told = wire.hand_in(body, media)
        assert 400 <= status < 500, (name, told)
        assert _held("VmHWM") - before < 400, name
        assert time.process_time() - begun < 30, name


def _held(name: str) -> int:
    """Megabytes that this process holds, or held at most since it was last asked to forget."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) // 1024


def test_files_that_lie_are_refused_or_read(wire: _Wire) -> None:
    """Every byte of the head of a Parquet file and of a stream, changed: no error is ours."""
    columns = {"n": [3, 4], "key": [250_000_000_000_000, 5]}
    for whole, media in (
        (_parquet(columns), _PARQUET),
        (_arrow(columns), "application/vnd.apache.arrow.stream"),
    ):
        footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
        places = range(footer, len(whole), 3) if media == _PARQUET else range(0, len(whole), 3)
        for at in places:
            for value in (0, 0x7F, 0xFF):
                lying = whole[:at] + bytes([value]) + whole[at + 1 :]
                status, told = wire.hand_in(lying, media)
                assert status < 500, (media, at, value, told)


#: Rows of bodies that come near to the largest (10 MB of text); and megabytes that six callers more
#: may take. A call in Arrow takes some 300, so six more would take 1,800.
_LARGE = {"parquet": (10**6, 1_000), "json": (200_000, 400)}


@pytest.mark.parametrize("form", _LARGE)
def test_memory_does_not_grow_with_the_number_of_callers(wire: _Wire, form: str) -> None:
    """Few large bodies are read and worked on at once; those who came first are served."""
    rows, most = _LARGE[form]
    numbers = pl.Series("key", range(rows)) + 10**14
    frame = pl.DataFrame({"n": numbers * 0 + 3, "key": numbers, "official": numbers < 0})
    media, write = WRITERS[form]
    body = write(frame)
    assert len(body) > 9_000_000 or form == "parquet"
    peaks = []
    for callers in (2, 2, 8):  # the first time warms up
        Path("/proc/self/clear_refs").write_text("5")
        with ThreadPoolExecutor(callers) as pool:
            told = list(pool.map(lambda _: wire.hand_in(body, media, keep=200)[0], range(callers)))
        assert set(told) <= {200, 503}, told
        assert told.count(200) >= 2, told
        peaks.append(_held("VmHWM"))
    assert told.count(200) >= 4, told
    assert peaks[2] - peaks[1] < most, peaks
