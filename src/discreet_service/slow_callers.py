"""Slow callers: connections that send their requests by drops, and stop nobody else.

In: connections. Out: the same, without those whose head is late or whose body hardly moves (408);
where it gets crowded, the oldest of these go first. Public: nothing of a request is looked at.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds for the head of a request, and for a body to get on; bytes per second that are enough.
HEAD_SECONDS, BODY_SECONDS, BYTES_PER_SECOND = 10.0, 10.0, 1_000
_LOOKS = 4
#: Connections that are kept free for callers who come.
_SPARE = 8
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\ncache-control: no-store\r\n"
    b"x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with limits of time for what callers send."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; where it is crowded, the slowest goes.

        Args:
            transport: The connection.
        """
        self._since, self._taken = self.loop.time(), 0
        most = self.limit_concurrency
        if most is not None and len(self.connections) >= max(1, most - _SPARE):
            slow = [each for each in map(_patient, self.connections) if each is not None]
            if slow:
                min(slow, key=lambda each: each._since)._end()
        super().connection_made(transport)
        self._look_later()

    def data_received(self, data: bytes) -> None:
        """Take bytes.

        Args:
            data: The bytes.
        """
        waited = self._waits_for_head()
        self._taken += len(data)
        super().data_received(data)
        if waited and not self._waits_for_head():
            self._begin_again()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._begin_again()
        super().on_response_complete()

    def _begin_again(self) -> None:
        self._since, self._taken = self.loop.time(), 0

    def _waits_for_head(self) -> bool:
        return self.cycle is None or (
            self.cycle.response_complete and self.conn.their_state is not h11.SEND_BODY
        )

    def _waits_for_body(self) -> bool:
        # Where it is us who do not read on, the caller is not late.
        return self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused

    def _is_behind(self) -> bool:
        return self._taken < BYTES_PER_SECOND * (self.loop.time() - self._since)

    def _look_later(self) -> None:
        self.loop.call_later(min(HEAD_SECONDS, BODY_SECONDS) / _LOOKS, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        waited = self.loop.time() - self._since
        if self._waits_for_head():
            if waited > HEAD_SECONDS:
                self._end()
        elif not self._waits_for_body():
            self._begin_again()
        elif waited > BODY_SECONDS:
            if self._is_behind():
                self._end()
            self._begin_again()
        if not self.transport.is_closing():
            self._look_later()

    def _end(self) -> None:
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(_LATE)
        self.connections.discard(self)
        self.transport.close()


def _patient(connection: Any) -> PatientProtocol | None:
    """A connection if it is slow, or waits for its next request."""
    if not isinstance(connection, PatientProtocol) or connection.transport.is_closing():
        return None
    behind = connection._waits_for_body() and connection._is_behind()
    return connection if connection._waits_for_head() or behind else None
