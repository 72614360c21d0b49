"""A service on a port of this machine, for callers that are programs of their own."""

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn


def free_port() -> int:
    """A port that nobody listens on, and that no other program is given by chance."""
    while True:
        port = secrets.randbelow(12_000) + 20_000
        with socket.socket() as opened, suppress(OSError):
            opened.bind(("127.0.0.1", port))
            return port


@contextmanager
def served_on_port(app: Any, most: int = 200, port: int = 0) -> Iterator[str]:
    """The address at which an application is served meanwhile, to so many callers at once."""
    config = uvicorn.Config(
        app,
        http="h11",
        host="127.0.0.1",
        port=port,
        log_level="error",
        lifespan="off",
        limit_concurrency=most,
        timeout_graceful_shutdown=5,  # callers may hold connections open
        h11_max_incomplete_event_size=32 * 2**10,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)  # a daemon: what hangs on ends with the tests
