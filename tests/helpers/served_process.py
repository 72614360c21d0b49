"""A service in a process of its own, as `discreet serve` starts it, and who asks it."""

import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.service_server import free_port


@contextmanager
def served_process(folder: Path, *words: str) -> Iterator[tuple[int, int]]:
    """The port and the process of a service."""
    port = free_port()
    command = [sys.executable, "-m", "discreet", "serve", str(folder / "SERVICE.toml"), *words]
    with (folder / "service.log").open("ab") as log:
        server = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log)
    try:
        _wait_until_it_answers(server, port)
        yield port, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(120)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_it_answers(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + 180
    while time.monotonic() < until:
        assert server.poll() is None, "the service did not start"
        caller = ProcessCaller(port, "")
        try:
            if caller.get("/health/live")[0] == http.client.OK:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            caller.close()
    raise AssertionError("the service does not answer")


class ProcessCaller:
    """One client with one connection."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
        self._head = {"Authorization": f"Bearer {key}"} if key else {}

    def get(self, path: str) -> tuple[int, bytes]:
        self._connection.request("GET", path, headers=self._head)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        self._connection.close()
