"""Slow callers: connections that send their requests by drops, and stop nobody else.

In: connections. Out: the same, without those whose head is late or whose body hardly moves (408),
and those who do not read what they are told; where it gets crowded, the oldest of these go first.
Lines of heads that go on in the next one are refused: proxies read them in several ways. Public:
nothing else of a request is looked at.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds for the head of a request, and for a body to get on; bytes per second that are enough.
HEAD_SECONDS, BODY_SECONDS, BYTES_PER_SECOND = 10.0, 10.0, 1_000
#: Seconds for a caller to read on.
READ_SECONDS = 30.0
_LOOKS = 4
#: A line of a head that goes on in the next one.
_FOLDED = re.compile(rb"\n[ \t]")
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
        self._unread, self._unread_since = 0, self._since
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

    def handle_events(self) -> None:
        """Take what came, if no line of a head goes on in the next one."""
        if self.conn.their_state is h11.IDLE:
            head = self.conn.trailing_data[0].partition(b"\r\n\r\n")[0]
            if _FOLDED.search(head):
                self.send_400_response("Invalid HTTP request received.")
                return
        super().handle_events()

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
        if self._is_not_read():
            self.transport.abort()
            return
        if self.transport.is_closing():
            if self.transport.get_write_buffer_size():  # it stays until this is read
                self._look_later()
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

    def _is_not_read(self) -> bool:
        """Whether nothing was taken of what waits for the caller, for a long time."""
        left, now = self.transport.get_write_buffer_size(), self.loop.time()
        if not left or left != self._unread:
            self._unread, self._unread_since = left, now
            return False
        return now - self._unread_since > READ_SECONDS

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
