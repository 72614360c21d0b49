"""A small browser for applications: keeps cookies, sends what browsers send, follows nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from html.parser import HTMLParser
from typing import Any

import httpx

BASE = "http://127.0.0.1:8077"


class AsgiBrowser:
    """Asks an application without a socket.

    Args:
        app: The application.
        base: Its address.
        address: Where the caller is.
    """

    def __init__(self, app: Any, base: str = BASE, address: str = "192.0.2.1") -> None:
        self._app, self._base, self._address = app, base, address
        self.cookies = httpx.Cookies()

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._ask(method, path, **more))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(
            self._app, raise_app_exceptions=False, client=(self._address, 4711)
        )
        async with httpx.AsyncClient(
            transport=transport, base_url=self._base, cookies=self.cookies
        ) as client:
            answer = await client.request(method, path, **more)
            self.cookies = client.cookies
            return answer

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.ask("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        """As a page of the same site does."""
        sent = {"Origin": self._base, "Sec-Fetch-Site": "same-origin"}
        more["headers"] = sent | dict(more.get("headers", {}))
        return self.ask("POST", path, **more)

    def submit(self, page: str, action: str, **fields: str) -> httpx.Response:
        """Fill in the form of a page and send it, with its hidden fields."""
        form = form_of(self.get(page, headers={"Accept": "text/html"}).text, action)
        return self.post(action, data={**form, **fields}, headers={"Accept": "text/html"})


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self.filled: dict[str, dict[str, str]] = {}
        self._text: str | None = None
        self._open: dict[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = self.forms.setdefault(given.get("action", ""), {})
            self._filled = self.filled.setdefault(given.get("action", ""), {})
        elif self._open is not None and tag == "textarea":
            self._text = given["name"]
            self._filled[self._text] = ""
        elif self._open is not None and tag == "input" and "name" in given:
            chosen = given.get("type") not in ("radio", "checkbox") or "checked" in given
            if chosen:
                self._filled[given["name"]] = given.get("value", "")
        if tag == "input" and self._open is not None and given.get("type") == "hidden":
            self._open[given["name"]] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        if tag == "textarea":
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text:
            self._filled[self._text] += data


def form_of(page: str, action: str) -> dict[str, str]:
    """The hidden fields of a form."""
    reader = _Forms()
    reader.feed(page)
    return reader.forms[action]


def filled_form(page: str, action: str) -> dict[str, str]:
    """The fields of a form as a browser would send them, but for choices from lists."""
    reader = _Forms()
    reader.feed(page)
    # The first line break of a text is none.
    return {
        name: text[1:] if text.startswith("\n") else text
        for name, text in reader.filled[action].items()
    }


async def in_pieces(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """A body of unknown length."""
    for piece in pieces:
        yield piece
