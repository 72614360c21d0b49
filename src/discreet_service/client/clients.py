"""`Client` and `AsyncClient`: the same functions, waiting or awaited. SECRET: the key, sent to the
address of the service only. `conversations` describes what is said.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import ipaddress
import time
from collections.abc import Callable, Coroutine
from types import MethodType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from discreet_service.client import conversations
from discreet_service.client.conversations import Conversation, ServiceCall
from discreet_service.problems import ServiceError

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def _address(url: str) -> str:
    """The address of a service; keys are not sent over lines on which others read along."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not found.host or found.userinfo:
        message, hint = "not an address of a service", "such as https://protect.example.org"
        raise ServiceError(message, "invalid-input", "url", hint)
    try:
        local = ipaddress.ip_address(found.host).is_loopback
    except ValueError:
        local = found.host in ("localhost", "testserver")
    if found.scheme == "http" and not local:
        message, hint = "unencrypted: use https", "https://…"
        raise ServiceError(message, "invalid-input", "url", hint)
    return str(found).rstrip("/")


def _unreachable(error: httpx.TransportError) -> ServiceError:
    message = f"the service cannot be reached ({type(error).__name__})"
    return ServiceError(message, "data-not-ready", "url", "check the address")


class ClientFunction(Generic[Given, Answer]):
    """A function that both clients have: it waits in one, and is awaited in the other."""

    def __init__(self, described: Callable[Given, Conversation[Answer]]) -> None:
        @functools.wraps(described)
        def method(
            client: Client | AsyncClient, /, *given: Given.args, **named: Given.kwargs
        ) -> Any:
            return client._talked(described(*given, **named))

        # What help and editors show: with `self`, and what the caller gets.
        known = inspect.signature(described)
        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        answer = str(known.return_annotation).removeprefix("Conversation[").removesuffix("]")
        shown = known.replace(parameters=[itself, *known.parameters.values()])
        method.__signature__ = shown.replace(return_annotation=answer)  # type: ignore[attr-defined]
        self._method, self.__doc__ = method, described.__doc__

    @overload
    def __get__(self, client: None, kind: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Client, kind: type) -> Callable[Given, Answer]: ...
    @overload
    def __get__(
        self, client: AsyncClient, kind: type
    ) -> Callable[Given, Coroutine[Any, Any, Answer]]: ...
    def __get__(self, client: Client | AsyncClient | None, kind: type) -> Any:
        return self._method if client is None else MethodType(self._method, client)


class ServiceFunctions:
    """Calls of both clients."""

    _kind: type[Any]  # Who makes requests

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        language: str = "en",
        timeout: float = 300.0,
        transport: Any = None,
    ) -> None:
        self._url = _address(url)
        head = {"Accept-Language": language, "Accept-Encoding": "identity"}
        if key is not None:
            head["Authorization"] = f"Bearer {key.strip()}"
        self._http = self._kind(
            base_url=self._url, headers=head, timeout=timeout, transport=transport
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._url}>"

    def _request(self, call: ServiceCall) -> httpx.Request:
        request: httpx.Request = self._http.build_request(
            call.method, call.path, params=call.params, headers=call.headers, content=call.content
        )
        return request

    protect_counts = ClientFunction(conversations.protect_counts)
    protect_values = ClientFunction(conversations.protect_values)
    protect_table = ClientFunction(conversations.protect_table)
    run = ClientFunction(conversations.run)
    query = ClientFunction(conversations.query)
    check = ClientFunction(conversations.check)
    document = ClientFunction(conversations.document)
    datasets = ClientFunction(conversations.datasets)
    dataset = ClientFunction(conversations.dataset)
    parameter_sets = ClientFunction(conversations.parameter_sets)
    job = ClientFunction(conversations.job)
    cancel = ClientFunction(conversations.cancel)
    result = ClientFunction(conversations.result)
    wait = ClientFunction(conversations.wait)
    operation = ClientFunction(conversations.operation)


class Client(ServiceFunctions):
    """A service, from Python.

    >>> Client("http://127.0.0.1:8077", key="dsc_secret")
    <Client http://127.0.0.1:8077>
    """

    _kind = httpx.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _talked(self, conversation: Conversation[Answer]) -> Answer:
        answer: httpx.Response | None = None
        while True:
            try:
                step = conversation.send(answer)
            except StopIteration as end:
                found: Answer = end.value
                return found
            answer = None
            if isinstance(step, float):
                time.sleep(step)
                continue
            try:
                answer = self._http.send(self._request(step))
            except httpx.TransportError as error:
                raise _unreachable(error) from None


class AsyncClient(ServiceFunctions):
    """The client for asyncio.

    >>> AsyncClient("https://protect.example.org", key="dsc_secret")
    <AsyncClient https://protect.example.org>
    """

    _kind = httpx.AsyncClient

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _talked(self, conversation: Conversation[Answer]) -> Answer:
        answer: httpx.Response | None = None
        while True:
            try:
                step = conversation.send(answer)
            except StopIteration as end:
                found: Answer = end.value
                return found
            answer = None
            if isinstance(step, float):
                await asyncio.sleep(step)
                continue
            try:
                answer = await self._http.send(self._request(step))
            except httpx.TransportError as error:
                raise _unreachable(error) from None
