"""Processes: servers of requests, one or several, and the workers beside them, until told to stop.
One that dies is started again; the job of a worker is taken over by its lease.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from discreet.errors import DiscreetError
from discreet_service.application import create_app
from discreet_service.jobs import upkeep
from discreet_service.operation import log_event, place_of_failure, start_log
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings

#: Seconds that requests at hand, and workers, have to end.
_GRACE = 20
_LOOK_SECONDS = 0.5
#: Tells processes which one began them; who starts one by hand does not set it.
_SERVER = "DISCREET_SERVER_PROCESS"
#: Requests at once beyond which others are told to come back.
_MOST_AT_ONCE = 200
#: Connections that wait until they are let in.
_WAITING = 2_048
_LARGEST_HEAD = 32 * 2**10


def run_service(
    settings: ServiceSettings,
    file: Path,
    *,
    port: int | None = None,
    processes: int | None = None,
    check: bool = False,
) -> None:
    """Serve until told to stop: in this process, or in several that share an address."""
    settings = dataclasses.replace(
        settings, port=port or settings.port, processes=processes or settings.processes
    )
    one_of_several = _began_by_server()
    if not (check or one_of_several):
        check_port(settings.host, settings.port)
    start_log()
    # Let the allocator of the system keep little of what was freed; others do so by themselves.
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        for option, value in _ALLOCATOR.items():
            library.mallopt(option, value)
    service = Service(settings)
    service.start()
    app = create_app(service)
    if check:
        service.close()
        log_event("checked", host=settings.host, port=settings.port)
        return
    # Bring to their end the publications that a process was killed in; upkeep tries again.
    try:
        service.publications.settle()
    except (DiscreetError, OSError) as error:
        log_event("upkeep failed", step="publications", **place_of_failure(error))
    if one_of_several:
        _serve(app, service, shared=True)
        return
    command = [sys.executable, "-m", "discreet"]
    worker = [*command, "service", "worker", str(file.absolute())]
    others = [worker] * settings.jobs.workers
    if settings.processes == 1:
        with _running(others):
            _serve(app, service, shared=False)
        return
    service.close()
    server = [*command, "serve", str(file.absolute()), "--port", str(settings.port)]
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    # Figures about the service are those of all processes: each writes its own to a file.
    with (
        tempfile.TemporaryDirectory(prefix="discreet-metrics-") as metrics,
        _running([server] * settings.processes + others, PROMETHEUS_MULTIPROC_DIR=metrics),
    ):
        over.wait()
    log_event("stopped")


def _serve(app: FastAPI, service: Service, *, shared: bool) -> None:
    """Serve until told to stop, and then go on here."""
    settings, sockets = service.settings, None
    if shared:
        # The system deals out connections to all who listen at the address.
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        place = (settings.host, settings.port)
        sockets = [socket.create_server(place, family=family, backlog=_WAITING, reuse_port=True)]
    config = uvicorn.Config(app, http="h11", host=settings.host, port=settings.port,
                            access_log=False, log_config=None, server_header=False,
                            proxy_headers=False, timeout_graceful_shutdown=_GRACE,
                            limit_concurrency=_MOST_AT_ONCE,
                            h11_max_incomplete_event_size=_LARGEST_HEAD)  # fmt: skip
    server = uvicorn.Server(config)

    def stop(_number: int, _frame: object) -> None:
        server.should_exit = True

    # The server sends itself once more what ended it: by default that would end this process
    # before its workers are told.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with upkeep(service):
        log_event("serving", host=settings.host, port=settings.port)
        server.run(sockets)
    log_event("stopped")


def check_port(host: str, port: int) -> None:
    """Raise an error if nothing can listen at a port: before the work, not after it."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        message = f"cannot listen on this address ({error.strerror or 'unknown host'})"
        hint = "choose another port with --port, or stop the program that uses it"
        raise DiscreetError(message, code="port", where=f"{host}:{port}", hint=hint) from None


#: What glibc calls them, and what they become: heaps of threads, bytes from which memory is mapped
#: by itself, and bytes at the end of the heap that are given back.
_ALLOCATOR = {-8: 2, -3: 2**17, -1: 2**17}


@contextmanager
def _running(commands: Sequence[Sequence[str]], **environment: str) -> Iterator[None]:
    """Programs of our own, started again where they die; they end with the block."""
    over = threading.Event()

    def begin(command: Sequence[str]) -> subprocess.Popen[bytes]:
        told = {**os.environ, **environment, _SERVER: str(os.getpid())}
        return subprocess.Popen(command, env=told)  # noqa: S603 - our own program

    running = [begin(command) for command in commands]

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            for at, process in enumerate(running):
                if process.poll() is not None and not over.is_set():
                    log_event("process died", code=int(process.returncode or 0))
                    over.wait(_LOOK_SECONDS)
                    running[at] = begin(commands[at])

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(_GRACE + _LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def run_worker(settings: ServiceSettings) -> None:
    """Work on jobs until told to stop."""
    from discreet_service.jobs import work

    start_log()
    _began_by_server()
    work(Service(settings))


def _began_by_server() -> bool:
    """Whether a server began this process, which then ends with it."""
    server = os.environ.pop(_SERVER, "")
    if server.isdecimal():
        threading.Thread(target=_end_with, args=(int(server),), daemon=True).start()
    return server.isdecimal()


def _end_with(server: int) -> None:
    """Stop when the server is gone, also one that was killed: the next one has workers too."""
    while os.getppid() == server:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
