"""The gate of large bodies: how many are read and worked on at once, as files without a name
(CONFIDENTIAL). Beyond, callers are told to come again (503, Retry-After).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import IO, Any, TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from discreet_service.problems import ServiceError
from discreet_service.service import Service

#: Calls that are worked on at once; the others wait, so many at most.
AT_ONCE, WAITING = max(2, os.cpu_count() or 1), 40
#: Bodies up to this size stay in memory; pieces in which others are written.
_SMALL, _PIECE = 2**20, 2**22
#: Largest bodies for which there is room at once.
_LARGEST_AT_ONCE = 2

_Result = TypeVar("_Result")


class HeldBytes:
    """Limit on bytes of held bodies; first come, first served.

    Were all refused that go on while there is too much, nobody might be served. Those who came
    later hold what they have sent until then, so all together hold up to twice as much.

    >>> held = HeldBytes(10)
    >>> held.take("first", 6), held.take("second", 4), held.take("second", 1), held.take("first", 4)
    (True, True, False, True)
    >>> held.let_go("first")
    >>> held.take("second", 1)
    True
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._sizes: dict[object, int] = {}

    def take(self, body: object, more: int) -> bool:
        """Hold more bytes of a body; whether there is room for them."""
        self._sizes[body] = self._sizes.get(body, 0) + more
        if self.total <= self.most:
            return True
        names = list(self._sizes)
        return sum(self._sizes[name] for name in names[: names.index(body) + 1]) <= self.most

    def let_go(self, body: object) -> None:
        """A body is no longer held."""
        self._sizes.pop(body, None)

    @property
    def total(self) -> int:
        """Number of held bytes."""
        return sum(self._sizes.values())


class BodyGate:
    """Lets a few calls work at once, and few bytes in."""

    def __init__(self, service: Service) -> None:
        self.limiter, self.waiting = anyio.CapacityLimiter(AT_ONCE), 0
        self.held = HeldBytes(_LARGEST_AT_ONCE * service.settings.limits.arrow_bytes)
        self._folder = str(service.settings.folder)

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[IO[bytes]]:
        """The body of a request as a file; it counts as held until it is let go."""
        if self.waiting >= WAITING:
            raise _busy()
        # Whoever says that it is too much for now need not send it.
        stated = request.headers.get("content-length", "0")
        if self.held.total + (int(stated) if stated.isdecimal() else 0) > self.held.most:
            raise _busy()
        self.waiting += 1
        try:
            with tempfile.SpooledTemporaryFile(max_size=_SMALL, dir=self._folder) as file:
                held, size = [], 0
                async for chunk in request.stream():
                    # The largest body that is allowed always passes where it came first.
                    if not self.held.take(request, len(chunk)):
                        raise _busy()
                    held.append(chunk)
                    size += len(chunk)
                    if size >= _PIECE:
                        await anyio.to_thread.run_sync(file.writelines, held)
                        held, size = [], 0
                await anyio.to_thread.run_sync(file.writelines, held)
                held.clear()
                file.seek(0)
                yield file
        finally:
            self.held.let_go(request)
            self.waiting -= 1

    async def work(self, function: Callable[[IO[bytes]], _Result], file: IO[bytes]) -> _Result:
        """Do something with a body beside the event loop, when it is one's turn."""
        return await anyio.to_thread.run_sync(function, file, limiter=self.limiter)


def _busy() -> ServiceError:
    return ServiceError("too many requests in progress", "overloaded", retry_after=2)


def raw_body(media: str = "application/octet-stream", form: str = "binary") -> dict[str, Any]:
    """OpenAPI description of an endpoint with a raw body."""
    schema = {"type": "string"} | ({"format": form} if form else {})
    return {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}


async def read_small(request: Request, most: int, too_large: str) -> bytes:
    """A body as it is, up to a number of bytes."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            raise ServiceError(too_large, "too-large", limit=most)
    return bytes(content)
