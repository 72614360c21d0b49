"""`Client` and `AsyncClient`: the same functions, waiting or awaited.

In: the address of a service and a key (SECRET, sent to that address only, never shown or logged).
Out: protected frames and files; a `ServiceError` where the service says no.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import polars as pl

from discreet_service.client import calls
from discreet_service.client.calls import AGAIN, ServiceCall, ServiceJob, Table, TableKind
from discreet_service.problems import ServiceError

Answer = TypeVar("Answer")
Progress = Callable[[ServiceJob], None]
_RETRIES = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0


def _address(url: str) -> str:
    """The address of a service; keys are not sent over lines on which others read along."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not found.host or found.userinfo:
        what, hint = "this is no address of a service", "such as https://protect.example.org"
        raise ServiceError(what, code="invalid-input", where="url", hint=hint)
    try:
        local = ipaddress.ip_address(found.host).is_loopback
    except ValueError:
        local = found.host in ("localhost", "testserver")
    if found.scheme == "http" and not local:
        what, hint = "others would read along without TLS", "https://…"
        raise ServiceError(what, code="invalid-input", where="url", hint=hint)
    return str(found).rstrip("/")


def _head(key: str | None, language: str) -> dict[str, str]:
    head = {"Accept-Language": language, "Accept-Encoding": "identity"}
    if key is not None:
        head["Authorization"] = f"Bearer {key.strip()}"
    return head


def _unreachable(error: httpx.TransportError) -> ServiceError:
    what = f"the service cannot be reached ({type(error).__name__})"
    return ServiceError(what, code="data-not-ready", where="url", hint="check the address")


def _late() -> ServiceError:
    what = "the job has not ended yet"
    return ServiceError(what, code="result-not-ready", hint="wait again by its number")


def _failed(job: ServiceJob) -> ServiceError:
    code = "job-expired" if job.state == "expired" else "job-failed"
    return ServiceError(f"the job is {job.state}", code=code, hint=f"its number is {job.id}")


class Client:
    """A service, from Python.

    Args:
        url: Its address.
        key: The caller's key, dsc_….
        language: "en" or "de", for labels, notes and errors.
        timeout: Seconds that an answer may take.
        transport: What carries requests; for tests.

    >>> Client("http://127.0.0.1:8077", key="dsc_secret")
    <Client http://127.0.0.1:8077>
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        language: str = "en",
        timeout: float = 300.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = _address(url)
        self._http = httpx.Client(
            base_url=self._url, headers=_head(key, language), timeout=timeout, transport=transport
        )

    def __repr__(self) -> str:
        return f"<Client {self._url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def protect_counts(
        self,
        cells: Any,
        parameter_set: str,
        version: str | None = None,
        *,
        n: str = "n",
        key: str = "key",
        weight: str | None = None,
        official: str | None = None,
    ) -> pl.DataFrame:
        """Protect counts; value and status, in the order of the cells.

        Args:
            cells: A frame: polars, pandas, pyarrow, ….
            parameter_set: The parameters.
            version: Their version; None if only one is in use.
            n: Its column of counts.
            key: Its column of cell keys.
            weight: Its column of sums of weights.
            official: Its column that says which figures are published as they are.
        """
        names = {"n": n, "key": key, "weight": weight, "official": official}
        return self._send(calls.counts_call(cells, parameter_set, version, names))

    def protect_values(
        self,
        cells: Any,
        value: str,
        parameter_set: str,
        version: str | None = None,
        *,
        figure: str | None = None,
    ) -> pl.DataFrame:
        """Protect sums or means; value and status, in the order of the cells.

        Args:
            cells: A frame with the columns total, largest_1 …, count and key.
            value: The value column of the parameters.
            parameter_set: The parameters.
            version: Their version; None if only one is in use.
            figure: "sum" or "mean"; what is accurate if None.
        """
        return self._send(calls.values_call(cells, value, parameter_set, version, figure))

    def protect_table(
        self,
        cells: Any,
        layout: Mapping[str, Any],
        parameter_set: str,
        version: str | None = None,
        *,
        kind: TableKind = "counts",
        name: str | None = None,
        classifications: Mapping[str, Any] | None = None,
        format: str | None = None,  # noqa: A002 - the word users know
        language: str | None = None,
    ) -> Table:
        """Protect a table of cells: a frame, or the bytes of a format.

        Args:
            cells: A frame.
            layout: What its columns are, as [cells] in a programme for cells.
            parameter_set: The parameters.
            version: Their version; None if only one is in use.
            kind: "counts", "figures" with brackets, or "parts".
            name: Name of the table.
            classifications: Code trees of some of the variables.
            format: csv, parquet, json, xlsx, html, px, json-stat, sdmx-csv; None for a frame.
            language: Language of labels and notes.
        """
        said = {"parameter_set": parameter_set, "version": version, "name": name}
        said |= {"language": language, "format": format}
        return self._send(calls.table_call(cells, layout, kind, classifications, said))

    def query(
        self,
        dataset: str,
        query: Mapping[str, Any],
        *,
        format: str | None = None,  # noqa: A002
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Table:
        """Ask for a table of a data set; of a large one the job is waited for.

        Args:
            dataset: The data set.
            query: by, where, measures, …; see the documentation of queries.
            format: A format; None for a frame.
            progress: Is told how far a job is.
            timeout: Seconds after which a job is no longer waited for.
        """
        found = self._send(calls.query_call(dataset, query, format, secrets.token_hex(16)))
        if not isinstance(found, ServiceJob):
            return found
        job = self.wait(found.id, progress=progress, timeout=timeout)
        return calls.table_of(self.result(job.id), format)

    def check(self, dataset: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """What a query comes to, and whether it would be answered.

        Args:
            dataset: The data set.
            query: The query.
        """
        return self._send(calls.check_call(dataset, query))

    def datasets(self) -> list[dict[str, Any]]:
        """The data sets there are."""
        return list(self._send(calls.document_call("datasets"))["datasets"])

    def dataset(self, dataset: str) -> dict[str, Any]:
        """One of them.

        Args:
            dataset: Its name.
        """
        return self._send(calls.document_call("datasets", dataset))

    def parameter_sets(self) -> list[dict[str, Any]]:
        """The parameter sets there are, without what is in them."""
        return list(self._send(calls.document_call("parameter-sets"))["parameter_sets"])

    def job(self, number: str) -> ServiceJob:
        """How far a job is.

        Args:
            number: The job.
        """
        return self._send(calls.job_call(number))

    def cancel(self, number: str) -> ServiceJob:
        """End a job.

        Args:
            number: The job.
        """
        return self._send(calls.job_call(number, "DELETE"))

    def result(self, number: str) -> bytes:
        """What a job made.

        Args:
            number: The job.
        """
        return self._send(calls.result_call(number))

    def wait(
        self, number: str, *, progress: Progress | None = None, timeout: float | None = None
    ) -> ServiceJob:
        """Wait until a job is done; an error if it ends in another way.

        Args:
            number: The job.
            progress: Is told how far it is, whenever it was asked for.
            timeout: Seconds after which it is no longer waited for.
        """
        pause, until = _FIRST_PAUSE, None if timeout is None else time.monotonic() + timeout
        while True:
            job = self.job(number)
            if progress is not None:
                progress(job)
            if job.ended:
                break
            if until is not None and time.monotonic() + pause > until:
                raise _late()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if job.state != "done":
            raise _failed(job)
        return job

    def _send(self, call: ServiceCall[Answer]) -> Answer:
        for attempt in range(_RETRIES + 1):
            try:
                answer = self._http.request(
                    call.method,
                    call.path,
                    params=dict(call.params),
                    headers=dict(call.headers),
                    content=call.content,
                )
            except httpx.TransportError as error:
                raise _unreachable(error) from None
            if answer.status_code not in AGAIN or attempt == _RETRIES:
                break
            time.sleep(calls.pause_before_retry(answer, attempt))
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise calls.error_of(answer)
        return call.read(answer)


class AsyncClient:
    """The same, to be awaited; what is not said here is said of `Client`.

    Args:
        url: Its address.
        key: The caller's key, dsc_….
        language: "en" or "de", for labels, notes and errors.
        timeout: Seconds that an answer may take.
        transport: What carries requests; for tests.

    >>> AsyncClient("https://protect.example.org", key="dsc_secret")
    <AsyncClient https://protect.example.org>
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        language: str = "en",
        timeout: float = 300.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = _address(url)
        self._http = httpx.AsyncClient(
            base_url=self._url, headers=_head(key, language), timeout=timeout, transport=transport
        )

    def __repr__(self) -> str:
        return f"<AsyncClient {self._url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def protect_counts(
        self,
        cells: Any,
        parameter_set: str,
        version: str | None = None,
        *,
        n: str = "n",
        key: str = "key",
        weight: str | None = None,
        official: str | None = None,
    ) -> pl.DataFrame:
        """As `Client.protect_counts`."""
        names = {"n": n, "key": key, "weight": weight, "official": official}
        return await self._send(calls.counts_call(cells, parameter_set, version, names))

    async def protect_values(
        self,
        cells: Any,
        value: str,
        parameter_set: str,
        version: str | None = None,
        *,
        figure: str | None = None,
    ) -> pl.DataFrame:
        """As `Client.protect_values`."""
        return await self._send(calls.values_call(cells, value, parameter_set, version, figure))

    async def protect_table(
        self,
        cells: Any,
        layout: Mapping[str, Any],
        parameter_set: str,
        version: str | None = None,
        *,
        kind: TableKind = "counts",
        name: str | None = None,
        classifications: Mapping[str, Any] | None = None,
        format: str | None = None,  # noqa: A002
        language: str | None = None,
    ) -> Table:
        """As `Client.protect_table`."""
        said = {"parameter_set": parameter_set, "version": version, "name": name}
        said |= {"language": language, "format": format}
        return await self._send(calls.table_call(cells, layout, kind, classifications, said))

    async def query(
        self,
        dataset: str,
        query: Mapping[str, Any],
        *,
        format: str | None = None,  # noqa: A002
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Table:
        """As `Client.query`."""
        found = await self._send(calls.query_call(dataset, query, format, secrets.token_hex(16)))
        if not isinstance(found, ServiceJob):
            return found
        job = await self.wait(found.id, progress=progress, timeout=timeout)
        return calls.table_of(await self.result(job.id), format)

    async def check(self, dataset: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """As `Client.check`."""
        return await self._send(calls.check_call(dataset, query))

    async def datasets(self) -> list[dict[str, Any]]:
        """As `Client.datasets`."""
        return list((await self._send(calls.document_call("datasets")))["datasets"])

    async def dataset(self, dataset: str) -> dict[str, Any]:
        """As `Client.dataset`."""
        return await self._send(calls.document_call("datasets", dataset))

    async def parameter_sets(self) -> list[dict[str, Any]]:
        """As `Client.parameter_sets`."""
        told = await self._send(calls.document_call("parameter-sets"))
        return list(told["parameter_sets"])

    async def job(self, number: str) -> ServiceJob:
        """As `Client.job`."""
        return await self._send(calls.job_call(number))

    async def cancel(self, number: str) -> ServiceJob:
        """As `Client.cancel`."""
        return await self._send(calls.job_call(number, "DELETE"))

    async def result(self, number: str) -> bytes:
        """As `Client.result`."""
        return await self._send(calls.result_call(number))

    async def wait(
        self,
        number: str,
        *,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> ServiceJob:
        """As `Client.wait`."""
        pause, until = _FIRST_PAUSE, None if timeout is None else time.monotonic() + timeout
        while True:
            job = await self.job(number)
            if progress is not None:
                progress(job)
            if job.ended:
                break
            if until is not None and time.monotonic() + pause > until:
                raise _late()
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if job.state != "done":
            raise _failed(job)
        return job

    async def _send(self, call: ServiceCall[Answer]) -> Answer:
        for attempt in range(_RETRIES + 1):
            try:
                answer = await self._http.request(
                    call.method,
                    call.path,
                    params=dict(call.params),
                    headers=dict(call.headers),
                    content=call.content,
                )
            except httpx.TransportError as error:
                raise _unreachable(error) from None
            if answer.status_code not in AGAIN or attempt == _RETRIES:
                break
            await asyncio.sleep(calls.pause_before_retry(answer, attempt))
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise calls.error_of(answer)
        return call.read(answer)
