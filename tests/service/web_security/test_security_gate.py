"""Every request is looked at before an endpoint sees it, and every response has its headers."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import Body, FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st

from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from discreet_service.web.problem_pages import add_problem_pages
from discreet_service.web.security import (
    HeldBytes,
    SecurityGate,
    TokenBuckets,
    address_key,
    caller_address,
)
from tests.helpers.asgi_browser import BASE, AsgiBrowser, in_pieces
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import SetClock

LIMITS = LimitSettings(json_bytes=1000, arrow_bytes=5000, requests_per_second=5, burst=1000)


def application(clock: SetClock | None = None, **changes: Any) -> FastAPI:
    """An application with three endpoints behind the gate."""
    said = ServiceSettings(folder=Path("/nowhere"), limits=LIMITS)
    service = Service(replace(said, **changes), clock or SetClock())
    app = FastAPI()
    app.state.service = service

    @app.get("/who")
    def who(request: Request) -> dict[str, Any]:
        heads = [name for name in request.headers if name.startswith(("x-f", "forw", "x-real"))]
        return {"from": caller_address(request), "said": heads, "scheme": request.url.scheme}

    @app.post("/json")
    def json(sent: Annotated[Any, Body()]) -> dict[str, Any]:
        return {"kind": type(sent).__name__}

    @app.post("/api/v1/protect/counts")
    async def cells(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @app.get("/fails")
    def fails() -> None:
        raise ValueError("the true count is 1717")

    add_problem_pages(app)
    app.add_middleware(SecurityGate, service=service)
    return app


def test_every_response_has_the_headers() -> None:
    asked = AsgiBrowser(application())
    for path, status in (("/who", 200), ("/nothing", 404), ("/fails", 500)):
        answer = asked.get(path)
        assert answer.status_code == status
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "strict-transport-security" not in answer.headers
        assert answer.headers["cache-control"] in ("private, no-cache", "no-store")
        assert len(answer.headers["x-request-id"]) == 16


def test_unexpected_errors_tell_nothing() -> None:
    answer = AsgiBrowser(application()).get("/fails")
    drawn = answer.headers["x-request-id"]
    assert answer.json()["instance"].endswith(drawn)
    assert "1717" not in answer.text.replace(drawn, "")


def test_behind_tls_browsers_are_told_so() -> None:
    base = "https://sdc.example.org"
    answer = AsgiBrowser(application(url=base), base).get("/who")
    assert answer.headers["strict-transport-security"].startswith("max-age=31536000")


@for_all_rows(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "a b", "localhost@evil.example", "x:y:z"]
)
def test_only_its_own_host_is_served(host: str) -> None:
    answer = AsgiBrowser(application()).get("/who", headers={"Host": host})
    assert answer.status_code in (404, 422)
    assert "evil" not in answer.text


def test_proxies_are_believed_if_they_are_trusted() -> None:
    said = {
        "X-Forwarded-For": "6.6.6.6, 203.0.113.9, 10.0.0.7",
        "X-Forwarded-Proto": "https",
        "X-Request-Id": "from-the-proxy-1",
    }
    trusted = AsgiBrowser(application(trusted_proxies=("10.0.0.0/8",)), address="10.0.0.1")
    answer = trusted.get("/who", headers=said)
    assert answer.json() == {"from": "203.0.113.9", "said": [], "scheme": "https"}
    assert answer.headers["x-request-id"] == "from-the-proxy-1"
    others = AsgiBrowser(application(trusted_proxies=("10.0.0.0/8",)), address="192.0.2.4")
    answer = others.get("/who", headers=said)
    assert answer.json() == {"from": "192.0.2.4", "said": [], "scheme": "http"}
    assert answer.headers["x-request-id"] != "from-the-proxy-1"


@for_all_rows("chain", ["", "nonsense", ",,,", "1.2.3.4.5", "x" * 5000])
def test_malformed_chains_name_the_proxy(chain: str) -> None:
    browser = AsgiBrowser(application(trusted_proxies=("10.0.0.0/8",)), address="10.0.0.1")
    answer = browser.get("/who", headers={"X-Forwarded-For": chain})
    assert answer.json()["from"] == "10.0.0.1"


def test_request_numbers_forge_no_log_lines() -> None:
    browser = AsgiBrowser(application(trusted_proxies=("10.0.0.0/8",)), address="10.0.0.1")
    answer = browser.get("/who", headers={"X-Request-Id": 'aaaaaaaa"} {"event'})
    assert '"' not in answer.headers["x-request-id"]


def test_bodies_have_limits_by_kind() -> None:
    browser = AsgiBrowser(application())
    arrow = {"Content-Type": "application/vnd.apache.arrow.stream"}
    cells = "/api/v1/protect/counts"
    assert browser.post(cells, content=b"x" * 4000, headers=arrow).json() == {"bytes": 4000}
    assert browser.post(cells, content=b"x" * 5001, headers=arrow).status_code == 413
    assert browser.post(cells, content=b"x" * 4000).status_code == 413
    assert browser.post("/json", content=b"x" * 4000, headers=arrow).status_code == 413
    told = browser.post("/json", content=b"[" + b"1," * 600 + b"1]").json()
    assert (told["type"].rpartition("/")[2], told["limit"]) == ("too-large", 1000)


@pytest.mark.parametrize("path", ["/json", "/api/v1/protect/counts"])
def test_bodies_of_unknown_length_are_cut_off(path: str) -> None:
    pieces = in_pieces([b"1" * 600] * 3)
    answer = AsgiBrowser(application()).post(
        path, content=pieces, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413


def test_bodies_together_take_bounded_memory() -> None:
    """Callers who each hold most of a body: those for whom there is no room come again."""
    app, told = application(), list[tuple[int, dict[bytes, bytes]]]()

    async def all_of_them(number: int) -> None:
        over = asyncio.Event()

        async def one() -> None:
            pieces = [b"[" + b" " * 900, b"]"]

            async def receive() -> dict[str, Any]:
                if len(pieces) == 1:
                    await over.wait()
                return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

            async def send(message: Any) -> None:
                if message["type"] == "http.response.start":
                    told.append((message["status"], dict(message["headers"])))

            head = [(b"host", b"localhost"), (b"content-type", b"application/json")]
            scope = {
                "type": "http", "method": "POST", "path": "/json", "raw_path": b"/json",
                "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
                "headers": head, "client": ("192.0.2.1", 1), "server": ("localhost", 80),
            }  # fmt: skip
            await app(scope, receive, send)

        asked = [asyncio.create_task(one()) for _ in range(number)]
        while len(told) < max(0, number - 4):
            await asyncio.sleep(0.01)
        assert all(status == 503 and b"retry-after" in heads for status, heads in told)
        over.set()
        await asyncio.gather(*asked)

    asyncio.run(asyncio.wait_for(all_of_them(12), 30))
    assert [status for status, _ in told].count(200) == 4
    told.clear()
    asyncio.run(asyncio.wait_for(all_of_them(4), 30))  # all was let go
    assert [status for status, _ in told] == [200] * 4


def test_compressed_bodies_are_not_read() -> None:
    answer = AsgiBrowser(application()).post(
        "/json", content=b"{}", headers={"Content-Encoding": "gzip"}
    )
    assert answer.status_code == 415


@for_all_rows(
    ("sent", "status"),
    [
        ({"Origin": BASE, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": BASE}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Referer": f"{BASE}/page"}, 200),
        ({}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": f"{BASE}.evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Referer": "https://evil.example/"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": BASE}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
    ],
)
def test_pages_of_other_sites_change_nothing(sent: dict[str, str], status: int) -> None:
    browser = AsgiBrowser(application())
    with_cookie = {**sent, "Cookie": "discreet=abc"}
    assert browser.ask("POST", "/json", json=1, headers=with_cookie).status_code == status
    # Without a cookie there is nobody in whose name something could be changed.
    assert browser.ask("POST", "/json", json=1, headers=sent).status_code == 200


def test_callers_are_slowed_down_each_for_themselves() -> None:
    clock = SetClock()
    limits = LimitSettings(requests_per_second=1, burst=3, anonymous_per_second=1)
    browser = AsgiBrowser(application(clock, limits=limits))
    anna, otto = {"Authorization": "Bearer anna"}, {"Authorization": "Bearer otto"}
    assert [browser.get("/who", headers=anna).status_code for _ in range(4)] == [200] * 3 + [429]
    answer = browser.get("/who", headers=anna)
    assert answer.headers["retry-after"] == "1"
    assert browser.get("/who", headers=otto).status_code == 200
    clock.now += 1000
    assert browser.get("/who", headers=anna).status_code == 200
    assert browser.get("/api/v1/config").status_code == 404
    assert [browser.get("/who").status_code for _ in range(4)] == [200] * 3 + [429]


def test_made_up_keys_do_not_help() -> None:
    limits = LimitSettings(requests_per_second=1, burst=3)
    browser = AsgiBrowser(application(limits=limits))
    found = [
        browser.get("/who", headers={"Authorization": f"Bearer {at}"}).status_code
        for at in range(35)
    ]
    assert found == [200] * 30 + [429] * 5


def test_tables_of_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet_service.web.security._MOST", 100)
    buckets = TokenBuckets(per_second=1, burst=1, clock=lambda: 0)
    for at in range(1000):
        buckets.wait(str(at))
    assert len(buckets._levels) == 100
    assert address_key("2001:db8::1") == address_key("2001:db8::ffff:1")


def test_clocks_that_go_back_give_nothing() -> None:
    clock = SetClock()
    buckets = TokenBuckets(per_second=1, burst=1, clock=clock)
    assert buckets.wait("a") == 0
    clock.now -= 100_000
    assert buckets.wait("a") == 1


_FUZZED = application(trusted_proxies=("10.0.0.0/8",))
_NAMES = st.sampled_from(
    ["host", "cookie", "origin", "content-length", "content-type", "content-encoding", "accept",
     "accept-language", "x-forwarded-for", "authorization", "referer", "x-request-id"]
)  # fmt: skip


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "FOO"]),
    path=st.binary(max_size=30),
    headers=st.lists(st.tuples(_NAMES, st.binary(max_size=40)), max_size=6),
    body=st.binary(max_size=1500),
    query=st.binary(max_size=30),
)
def test_nothing_malformed_is_our_failure(
    method: str,
    path: bytes,
    headers: list[tuple[str, bytes]],
    body: bytes,
    query: bytes,
) -> None:
    """What a server hands on is arbitrary bytes."""
    scope = {
        "type": "http", "method": method, "http_version": "1.1", "scheme": "http",
        "path": "/" + path.decode("utf-8", "replace"), "raw_path": b"/" + path,
        "query_string": query, "root_path": "", "client": ("10.0.0.1", 1),
        "server": ("127.0.0.1", 8077),
        "headers": [(name.encode(), value) for name, value in headers]
        or [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }  # fmt: skip
    assert _status(_FUZZED, scope, body) < 500


def _status(app: FastAPI, scope: dict[str, Any], body: bytes) -> int:
    seen: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            seen.append(message["status"])

    asyncio.run(app(scope, receive, send))
    return seen[0]


def test_only_requests_are_answered() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "headers": [], "path": "/who", "query_string": b""}
    asyncio.run(application()(scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_of_many_bodies_those_that_came_first_are_read_to_their_end() -> None:
    """Any order of pieces: somebody is always served, and no more is held than twice the bound."""
    for seed in range(200):
        draw = random.Random(seed)
        held, left, done = HeldBytes(100), dict.fromkeys(range(8), 60), 0
        while left:
            body, piece = draw.choice(list(left)), draw.randint(1, 30)
            piece = min(piece, left[body])
            taken = held.take(body, piece)
            left[body] -= piece
            assert held.total <= 2 * held.most + 30
            done += taken and not left[body]
            if not taken or not left[body]:
                del left[body]
                held.let_go(body)
        assert done >= 1
