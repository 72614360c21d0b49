"""Cells in, protected cells out, over a socket of this machine: cells per second, by format.

Run it alone: python bench/service_cells.py [--cells 2000000] [--repeats 5]. The server is a process
of its own (uvicorn, one worker); the client writes, sends, receives and reads every time.
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
from collections.abc import Callable
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

    app = create_app(Service(settings), ("status", "protect", "parameter_sets"))
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
    memory = Path(f"/proc/{pid}/status")
    if memory.exists():
        line = next(x for x in memory.read_text().splitlines() if x.startswith("VmHWM"))
        print(f"most memory of the server: {int(line.split()[1]) / 1024:,.0f} MB")


def told(what: str, size: int, times: list[float]) -> None:
    median = statistics.median(times)
    every = " ".join(f"{each:.2f}" for each in times)
    print(f"  {what}: {size / median / 1e6:.2f} M cells/s ({every} s)")


if __name__ == "__main__":
    main()
