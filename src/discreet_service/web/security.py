"""Security of every request: unknown hosts, too large, too fast, or sent by another site is
refused, and nothing of it is quoted. Every response carries headers against harm.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import math
import os
import re
import secrets
import tempfile
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlsplit

import anyio
import anyio.to_thread
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.operations import OPERATIONS
from discreet_service.operation import ServiceMetrics, place_of_failure, service_log
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.plugins import facades
from discreet_service.web.problem_pages import problem_response

#: Calls that are worked on at once; the others wait, so many at most.
AT_ONCE, WAITING = max(2, os.cpu_count() or 1), 40
#: Bodies up to this size stay in memory; pieces in which others are written.
_IN_MEMORY, _PIECE = 2**20, 2**22
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
            with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=self._folder) as file:
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


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MOST = 65_536
#: So many bytes of the body of a refused request are read off, for so many seconds.
_SMALL, _LINGERING = 1_048_576, 1.0
#: Networks of one customer: an address of IPv6 is one of very many.
_SIX = 64


class TokenBuckets:
    """Buckets that fill at a steady rate; each request takes one token.

    >>> buckets = TokenBuckets(per_second=1.0, burst=2, clock=lambda: 0)
    >>> buckets.wait("anna"), buckets.wait("anna"), buckets.wait("anna")
    (0, 0, 1)
    """

    def __init__(self, *, per_second: float, burst: float, clock: Callable[[], int]) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        self._levels: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait(self, who: str) -> int:
        """Take a token; the seconds to wait if there is none, 0 if there was one."""
        now = self._clock()
        level, before = self._levels.pop(who, (self._burst, now))
        level = min(self._burst, level + max(0, now - before) / 1000 * self._rate)
        enough = level >= 1
        self._levels[who] = (level - 1 if enough else level, now)
        if len(self._levels) > _MOST:
            self._levels.popitem(last=False)
        return 0 if enough else max(1, math.ceil((1 - level) / self._rate))


def address_key(address: str) -> str:
    """Key of an address: for IPv6 the network, since one customer has a whole one.

    >>> address_key("2001:db8::1:2"), address_key("192.0.2.7"), address_key("::ffff:192.0.2.7")
    ('2001:db8::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        ip_address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(ip_address, ipaddress.IPv6Address):
        if ip_address.ipv4_mapped is not None:
            return str(ip_address.ipv4_mapped)
        return str(ipaddress.ip_network((ip_address, _SIX), strict=False))
    return str(ip_address)


#: Headers of every response; what an endpoint says of itself does not replace them.
_ALWAYS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_WITHOUT_RATE = ("/api/v1/config", "/health/", "/static/")
#: Routes that read large tables, and the media types of those.
_LARGE_ROUTES = (
    *("/api/v1/protect/", "/api/v1/records/"),
    *(f"/api/v1/{operation.address}" for operation in OPERATIONS.values()),
)
_LARGE_TYPES = frozenset(
    (
        "application/octet-stream",
        "application/vnd.apache.arrow.file",
        "application/vnd.apache.arrow.stream",
        "application/vnd.apache.parquet",
    )
)
_FORM, _FORM_BYTES = "application/x-www-form-urlencoded", 100_000
_NUMBER = re.compile(r"[0-9A-Za-z-]{8,64}")
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[0-9a-z._-]{1,253})(?::([0-9]{1,5}))?")
_LENGTH = re.compile(r"[0-9]{1,18}")
#: Bodies of JSON of the largest size that are held at once; others are told to come again.
_JSON_AT_ONCE = 4
_LONGEST_TARGET = 16_000
#: What stays as it is in a query: all that can be seen.
_IN_QUERIES = "".join(map(chr, range(0x21, 0x7F)))
#: All callers behind one address together may ask so many times as much as one.
_PER_ADDRESS = 10


def cookie_name(*, secure: bool, name: str = "discreet") -> str:
    """Name of a cookie: over TLS one that no other host and no plain page can set.

    >>> cookie_name(secure=True)
    '__Host-discreet'
    """
    return f"__Host-{name}" if secure else name


def session_cookie(request: Request) -> str | None:
    """The value of the cookie of the session; None without."""
    return request_cookie(request, "discreet")


def request_cookie(request: Request, name: str) -> str | None:
    """The value of one of our cookies; None without."""
    service: Service = request.app.state.service
    return _cookie(request.headers, cookie_name(secure=service.settings.secure, name=name))


def check_same_origin(request: Request) -> None:
    """Raise an error if a request that changes something was sent by a page of another site."""
    service: Service = request.app.state.service
    if _from_elsewhere(request.scope, request.headers, service.settings.base_url):
        raise _foreign()


def caller_address(request: Request) -> str:
    """Address of the caller; behind trusted proxies the one they report."""
    return request.client.host if request.client is not None else ""


class SecurityGate:
    """ASGI middleware through which every request goes, and every response."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, settings, self._metrics = app, service.settings, service.metrics
        self._settings, limits = settings, settings.limits
        named = (urlsplit(settings.base_url).hostname or "").lower()
        # No name that somebody else could let point here.
        self._hosts = frozenset((named, settings.host, "localhost", "127.0.0.1", "::1"))
        proxies = settings.trusted_proxies
        self._proxies = tuple(ipaddress.ip_network(proxy, strict=False) for proxy in proxies)
        self._held = HeldBytes(_JSON_AT_ONCE * limits.json_bytes)
        own = [path for each in facades().values() for path in getattr(each, "UNLIMITED", ())]
        self._unlimited = (*_WITHOUT_RATE, *own)
        self._callers, self._addresses, self._nobodies = (
            TokenBuckets(per_second=rate * times, burst=limits.burst * times, clock=service.clock)
            for rate, times in (
                (limits.requests_per_second, 1),
                (limits.requests_per_second, _PER_ADDRESS),
                (limits.anonymous_per_second, 1),
            )
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = dict(scope)
        trusted = _set_true_caller(scope, self._proxies)
        # Frameworks take the query for text, which bytes from anywhere need not be.
        scope["query_string"] = quote(scope["query_string"], _IN_QUERIES).encode("ascii")
        scope["state"] = dict(scope.get("state") or {})
        given = Headers(scope=scope).get("x-request-id", "") if trusted else ""
        scope["state"]["number"] = given if _NUMBER.fullmatch(given) else secrets.token_hex(8)
        back = _ResponseGate(send, scope, self._settings.secure, self._metrics)
        body = None
        try:
            limit = self._checked(scope)
            # Larger ones have a gate of their own, and lie on the disk.
            held = self._held if limit <= self._settings.limits.json_bytes else None
            back.body = body = _BodyGate(receive, limit, held)
            await self._app(scope, body, back)
            if body.refused is not None and not back.started:
                await self._tell(body.refused, scope, receive, back)
        except (ServiceError, HTTPException) as error:
            refused = body.refused if body is not None else None
            told = error if isinstance(error, ServiceError) else refused or _too_large(0)
            await self._tell(told, scope, receive, back)
        except Exception as error:
            fields = {"request": scope["state"]["number"], **place_of_failure(error)}
            service_log().error("failure", extra={"fields": fields})
            if back.started:
                raise
            message = "internal error; staff can find it by the number of the request"
            await self._tell(ServiceError(message, code="internal"), scope, receive, back)
        finally:
            if body is not None:
                body.let_go()

    async def _tell(
        self, error: ServiceError, scope: Scope, receive: Receive, back: _ResponseGate
    ) -> None:
        if back.started:
            raise error
        refused_by_head = back.body is None and b"expect" not in dict(scope["headers"])
        back.body = None
        response = problem_response(Request(scope, receive), error)
        # The rest of the body is not read: nobody would know where the next request begins.
        response.headers["Connection"] = "close"

        async def send(message: Message) -> None:
            # A proxy that still sends a body when the connection ends tells its caller 502: what
            # is on its way is read and thrown away, as far as it is small and comes at once.
            if message["type"] == "http.response.body" and refused_by_head:
                await back({**message, "more_body": True})
                with suppress(TimeoutError):
                    await asyncio.wait_for(_read_off(receive), _LINGERING)
                message = {"type": "http.response.body"}
            await back(message)

        await response(scope, receive, send)

    def _checked(self, scope: Scope) -> int:
        """Refuse what can be refused by its head; the number of bytes that its body may have."""
        headers = Headers(scope=scope)
        match = _HOST.fullmatch(headers.get("host", "").lower())
        if len(headers.getlist("host")) != 1 or match is None:
            raise ServiceError("not a host", "invalid-input", "host")
        if match[1].strip("[]") not in self._hosts:
            raise ServiceError("this host is not served here", "not-found", "host")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_TARGET:
            raise ServiceError("the address is too long", "too-large", limit=_LONGEST_TARGET)
        self._check_rate(scope, headers)
        if "cookie" in headers and _from_elsewhere(scope, headers, self._settings.base_url):
            raise _foreign()
        if headers.get("content-encoding", "identity").strip().lower() != "identity":
            message = "compressed bodies are not supported"
            raise ServiceError(message, "unsupported-media-type", "content-encoding")
        limits, kind = self._settings.limits, headers.get("content-type", "")
        kind = kind.partition(";")[0].strip().lower()
        large = scope["path"].startswith(_LARGE_ROUTES) and kind in _LARGE_TYPES
        limit = limits.arrow_bytes if large else limits.json_bytes
        if kind == _FORM:
            limit = min(_FORM_BYTES, limits.json_bytes)
        stated = headers.get("content-length")
        if stated is not None and "transfer-encoding" in headers:
            # A proxy may take the other one for the end, and what follows for a request.
            raise ServiceError("a body needs exactly one length", "invalid-input", "content-length")
        if stated is not None and not _LENGTH.fullmatch(stated):
            raise ServiceError("not a length", "invalid-body", "content-length")
        if stated is not None and int(stated) > limit:
            raise _too_large(limit)
        return limit

    def _check_rate(self, scope: Scope, headers: Headers) -> None:
        if scope["path"].startswith(self._unlimited):
            return
        address = address_key(scope["client"][0] if scope.get("client") else "")
        named = headers.get("authorization") or _cookie(
            headers, cookie_name(secure=self._settings.secure)
        )
        if named:
            # Whoever makes up a new key for each request is still held by the address.
            wait = self._addresses.wait(address)
            digest = hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()
            wait = wait or self._callers.wait(digest)
        else:
            wait = self._nobodies.wait(address)
        if wait:
            message = "too many requests in a short time"
            raise ServiceError(message, "rate-limited", retry_after=wait)


async def _read_off(receive: Receive) -> None:
    """Read a small body to its end."""
    left = _SMALL
    while left > 0:
        message = await receive()
        if not message.get("more_body"):
            return
        left -= len(message.get("body", b""))


class _BodyGate:
    """Hands on a body up to a number of bytes, while there is room for it beside others."""

    def __init__(self, receive: Receive, limit: int, held: HeldBytes | None) -> None:
        self._receive, self._limit, self._held = receive, limit, held
        self._read = 0
        self.refused: ServiceError | None = None

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            more = len(message.get("body", b""))
            self._read += more
            room = self._held is None or self._held.take(self, more)
            if self._read > self._limit:
                self.refused = _too_large(self._limit)
            elif not room:
                reason = "too many requests with bodies"
                self.refused = ServiceError(reason, code="overloaded", retry_after=2)
            if self.refused is not None:
                # Of a kind that frameworks hand on as it is.
                raise HTTPException(413)
        return message

    def let_go(self) -> None:
        if self._held is not None:
            self._held.let_go(self)
            self._held = None


class _ResponseGate:
    def __init__(self, send: Send, scope: Scope, secure: bool, metrics: ServiceMetrics) -> None:
        self._send, self._scope, self._secure, self._metrics = send, scope, secure, metrics
        self.started, self._begun = False, time.perf_counter()
        self.body: _BodyGate | None = None

    async def __call__(self, message: Message) -> None:
        if self.body is not None and self.body.refused is not None and not self.started:
            return  # what is told instead stands there
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            status = message["status"]
            for name, value in _ALWAYS.items():
                headers[name] = value
            headers["X-Request-Id"] = self._scope["state"]["number"]
            if self._secure:
                headers["Strict-Transport-Security"] = "max-age=31536000"
            if "cache-control" not in headers:
                headers["Cache-Control"] = "no-store" if status >= 400 else "private, no-cache"
            headers.add_vary_header("Accept-Language")
            # By the pattern of its path; what never got to one, or was kept, by none.
            route = getattr(self._scope.get("route"), "path", "")
            self._metrics.requests.labels(route=route, status=str(status)).inc()
            took = time.perf_counter() - self._begun
            self._metrics.seconds.labels(route=route).observe(took)
        await self._send(message)


def _set_true_caller(scope: dict[str, Any], proxies: Sequence[_Network]) -> bool:
    """Take over what a trusted proxy says, and nothing from others; whether it is one."""
    headers = [(name.lower(), value) for name, value in scope["headers"]]
    hops = (b"x-forwarded-", b"forwarded", b"x-real-ip")
    scope["headers"] = [header for header in headers if not header[0].startswith(hops)]
    peer = scope["client"][0] if scope.get("client") else ""
    if not _is_trusted(peer, proxies):
        return False
    chain, schemes, hosts = (
        b",".join(value for name, value in headers if name == b"x-forwarded-" + each)
        .decode("latin-1").lower().split(",")
        for each in (b"for", b"proto", b"host")
    )  # fmt: skip
    scope["client"] = (_true_address(peer, chain, proxies), 0)
    if (scheme := schemes[-1].strip()) in ("http", "https"):
        scope["scheme"] = scheme
    if host := hosts[-1].strip():
        kept = [item for item in scope["headers"] if item[0] != b"host"]
        scope["headers"] = [*kept, (b"host", host.encode("latin-1"))]
    return True


def _is_trusted(address: str, proxies: Sequence[_Network]) -> bool:
    try:
        ip_address = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip_address, ipaddress.IPv6Address) and ip_address.ipv4_mapped is not None:
        ip_address = ip_address.ipv4_mapped
    return any(ip_address in network for network in proxies)


def _true_address(peer: str, chain: Sequence[str], proxies: Sequence[_Network]) -> str:
    """The last address of the chain that no trusted proxy has; all before it can be made up."""
    true_address = peer
    for part in reversed(chain):
        try:
            true_address = str(ipaddress.ip_address(part.strip()))
        except ValueError:
            return true_address
        if not _is_trusted(true_address, proxies):
            return true_address
    return true_address


def _from_elsewhere(scope: Scope, headers: Headers, base_url: str) -> bool:
    """Whether a page of another site sends what changes something, as far as the browser tells.

    Who tells nothing is refused: browsers do tell, and programs have keys.
    """
    if scope["method"] in _SAFE:
        return False
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return True
    origin = headers.get("origin")
    if origin is None:
        found = _origin_of(headers.get("referer", ""))
        return site is None and (not found or found not in _own_origins(headers, base_url))
    return _origin_of(origin) not in _own_origins(headers, base_url)


def _own_origins(headers: Headers, base_url: str) -> frozenset[str]:
    """Origins of this service: the one that callers know, and on one machine the host asked."""
    # The host was checked before: it is one of this service.
    scheme, host = base_url.partition(":")[0], headers.get("host", "")
    return frozenset((_origin_of(base_url), _origin_of(f"{scheme}://{host}")))


def _origin_of(address: str) -> str:
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname else ""


def _cookie(headers: Headers, name: str) -> str | None:
    """The value of a cookie; None without, and if it comes twice: one was put there by others."""
    texts = [
        value.strip()
        for line in headers.getlist("cookie")
        for each in line.split(";")
        for key, _, value in (each.partition("="),)
        if key.strip() == name
    ]
    return texts[0] if len(texts) == 1 and texts[0] else None


def _too_large(limit: int) -> ServiceError:
    return ServiceError("the body exceeds the limit", "too-large", limit=limit or None)


def _foreign() -> ServiceError:
    message = "the request came from another site and was ignored"
    hint = "use the pages of the service, or a key instead of a login"
    return ServiceError(message, "not-allowed", "origin", hint)
