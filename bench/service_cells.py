"""Cells in, protected cells out, over a socket of this machine: cells per second, by format.

Run it alone: python bench/service_cells.py [--cells 2000000] [--repeats 5] [--callers 12]. The
server is a process of its own (uvicorn, one worker); the client writes, sends, receives and reads
every time. Then so many callers at once send large bodies again and again, in each format: what
they were answered, and the most memory of the server meanwhile.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from discreet_service.client import Client
from tests.helpers.service_cells import WRITERS, CellService


def cells(size: int) -> pl.DataFrame:
    """Counts as in small areas, a fifth of them zero."""
    draw = np.random.default_rng(11)
    count = draw.geometric(0.15, size) - 1
    key = np.where(count == 0, 0, draw.integers(0, 10**15, size))
    return pl.DataFrame({"n": count, "key": key})


def serve(folder: str, port: int) -> None:
    """Serve until killed."""
    import uvicorn

    from discreet_service.application import create_app

    settings = CellService.settings(Path(folder))
    from discreet_service.service import Service

    app = create_app(Service(settings), ("status", "operations", "parameter_sets"))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def timed(step: Callable[[], Any], repeats: int) -> list[float]:
    step()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        found.append(time.perf_counter() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--callers", type=int, default=12)
    parser.add_argument("--serve", nargs=2)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve[0], int(given.serve[1]))
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        served = CellService.of(Path(folder))
        served.in_use(parts=None)
        token = served.key()
        served.service.close()
        command = [sys.executable, __file__, "--serve", folder, str(port)]
        server = subprocess.Popen(command)
        try:
            measure(port, token, given.cells, given.repeats, server.pid)
            for form in LARGE:
                crowded(port, token, form, given.callers, server.pid)
        finally:
            server.terminate()
            server.wait(10)


def measure(port: int, token: str, size: int, repeats: int, pid: int) -> None:
    url, frame = f"http://127.0.0.1:{port}", cells(size)
    client = Client(url, token)
    for _ in range(100):
        try:
            httpx.get(f"{url}/health/live").raise_for_status()
            break
        except httpx.TransportError:
            time.sleep(0.1)
    print(f"{size:,} cells, {os.cpu_count()} processors, {repeats} repeats: median (all)")
    told("client, frame to frame, Arrow", size, timed(
        lambda: client.protect_counts(frame, "census"), repeats))  # fmt: skip
    head = {"Authorization": f"Bearer {token}"}
    for how, form in (("arrow", "arrow"), ("parquet", "parquet"), ("csv", "csv"), ("json", "json")):
        part = frame if how in ("arrow", "parquet") else frame[:200_000]
        media, written = WRITERS[how]
        content = written(part)

        def send(media: str = media, content: bytes = content, form: str = form) -> None:
            httpx.post(
                f"{url}/api/v1/protect/counts",
                params={"parameter_set": "census", "format": form},
                headers={**head, "Content-Type": media},
                content=content,
                timeout=60,
            ).raise_for_status()

        told(f"written before, not read back, {how}", part.height, timed(send, repeats))
    print(f"most memory of the server: {held(pid, 'VmHWM'):,} MB")


#: Rows of bodies near the largest: 10 MB of text.
LARGE = {"arrow": 1_000_000, "parquet": 1_000_000, "csv": 480_000, "json": 300_000}
ROUNDS = 10


def crowded(port: int, token: str, form: str, callers: int, pid: int) -> None:
    """Callers who all send a large body at once, and again."""
    media, written = WRITERS[form]
    content = written(cells(LARGE[form]))
    before = held(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # forget the most memory until now

    def send(_: int) -> int:
        address = f"http://127.0.0.1:{port}/api/v1/protect/counts"
        head = {"Authorization": f"Bearer {token}", "Content-Type": media}
        given = {"parameter_set": "census", "format": form}
        try:
            return httpx.post(
                address, params=given, headers=head, content=content, timeout=120
            ).status_code
        except httpx.TransportError:  # refused while it was still being sent
            return 503

    with ThreadPoolExecutor(callers) as pool:
        found = Counter(pool.map(send, range(callers * ROUNDS)))
    most, after = held(pid, "VmHWM"), held(pid, "VmRSS")
    print(
        f"{callers} callers, {callers * ROUNDS} bodies of {len(content) / 1e6:.1f} MB, {form}: "
        f"{dict(found)}; {before:,} MB before, {most:,} at most, {after:,} after",
        flush=True,
    )


def held(pid: int, name: str) -> int:
    """Megabytes that a process holds, or held at most."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(text.partition(f"{name}:")[2].split()[0]) // 1024


def told(what: str, size: int, times: list[float]) -> None:
    median = statistics.median(times)
    every = " ".join(f"{each:.2f}" for each in times)
    print(f"  {what}: {size / median / 1e6:.2f} M cells/s ({every} s)")


if __name__ == "__main__":
    main()
