"""The clients give the figures of direct calls, say what is wrong, and keep keys to themselves."""

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import polars as pl
import pytest

import discreet as dc
from discreet.release.cell_programme import CellProgramme, protect_by_programme
from discreet.release.packages import open_parameters
from discreet_service.application import RESOURCES
from discreet_service.client import AsyncClient, Client, ServiceJob
from discreet_service.client.clients import ServiceFunctions
from discreet_service.problems import ServiceError, problem_document
from discreet_service.web.openapi import operations
from tests.helpers.asgi_browser import BASE
from tests.helpers.interface_calls import documented_calls
from tests.helpers.package_parameters import PTABLE
from tests.helpers.record_files import STEPS, people, programme_file
from tests.helpers.service_cells import CellService, homes, parameters, some_cells
from tests.service.cells.test_changed_records import secret_of_file

BY = ["region", "tenure"]
LAYOUT = {"by": BY, "count": "n", "cell_key": "key"}


class Waiting(httpx.BaseTransport):
    """Carries requests of a client that waits to an application."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def carried() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            sent = httpx.Request(
                request.method, request.url, headers=request.headers, content=request.content
            )
            answer = await transport.handle_async_request(sent)
            content = await answer.aread()
            return httpx.Response(answer.status_code, headers=answer.headers, content=content)

        return asyncio.run(carried())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CellService]:
    found = CellService.of(tmp_path_factory.mktemp("client"))
    found.in_use()
    yield found
    found.service.close()


@pytest.fixture(scope="module")
def token(served: CellService) -> str:
    return served.key()


@pytest.fixture
def client(served: CellService, token: str) -> Iterator[Client]:
    with Client(BASE, token, transport=Waiting(served.app())) as found:
        yield found


def home_cells() -> pl.DataFrame:
    table = dc.tabulate(homes(), BY, record_key="record_key")
    return table.to_polars().rename({"count": "n", "cell_key": "key"})


def test_counts_are_those_of_the_perturbation_table(client: Client) -> None:
    cells = some_cells(3_000).rename({"n": "persons", "key": "ck"})
    found = client.protect_counts(cells, "census", n="persons", key="ck")
    count, key = cells["persons"].to_numpy(), cells["ck"].to_numpy()
    assert found["value"].to_list() == (count + PTABLE.lookup(count, key)).tolist()
    assert found.columns == ["value", "status"]
    assert set(found["status"]) == {"published", "zero_or_changed_to_zero"}
    pandas = client.protect_counts(cells.to_pandas(), "census", n="persons", key="ck")
    assert pandas.equals(found)


def test_rounded_tables_are_those_of_the_library(
    served: CellService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = home_cells()
    request = {"by": BY, "rounding": {"method": "controlled", "base": 3}, "name": "homes"}
    table = dc.Table.from_cells(cells, BY, count="n", name="homes")
    safe = dc.round_counts(table, 3, "controlled")
    app = served.app("operations", "jobs")
    with Client(BASE, served.key("producer", "pia"), transport=Waiting(app)) as client:
        found = client.run("rounding", cells, request, format="csv")
        assert found == safe.write(tmp_path / "homes.csv").read_bytes()
        frame = client.run("rounding", cells, request | {"title": {"en": "x" * 200}})
        assert isinstance(frame, pl.DataFrame)
        assert frame["value"].to_list() == safe.to_polars(complete=True)["value"].to_list()
        monkeypatch.setattr("discreet.operations.rounding.AT_ONCE", 3)
        with pytest.raises(ServiceError, match="the job has not ended yet"):
            client.run("rounding", cells, request, timeout=0.0)


def test_changed_records_are_those_of_a_programme(served: CellService, tmp_path: Path) -> None:
    records = people()
    steps = [{"method": name, **STEPS[name]} for name in ("swap", "pram")]
    drop = ["person", "household"]
    request = {"id": ["person"], "drop": drop, "steps": steps, "name": "people"}
    token = served.key("producer", "petra")
    with Client(BASE, token, transport=Waiting(served.app("operations", "jobs"))) as client:
        found = client.run("anonymise", records, request, format="csv")
        frame = client.run("anonymise", records, request)
    secret = secret_of_file(served.service, "petra", "people")
    assert found == programme_file(tmp_path, records, steps, secret, drop)
    assert isinstance(frame, pl.DataFrame)
    assert frame.equals(pl.read_csv(found, schema=frame.schema))


def test_tables_are_those_of_the_library(client: Client, tmp_path: Path) -> None:
    cells = home_cells()
    safe = protect_by_programme(cells, CellProgramme.of(LAYOUT, parameters(), name="T1"))
    found = client.protect_table(cells, LAYOUT, "census", "1", name="T1", format="csv")
    assert found == safe.write(tmp_path / "T1.csv").read_bytes()
    frame = client.protect_table(cells, LAYOUT, "census", kind="parts")
    assert isinstance(frame, pl.DataFrame)
    assert frame["value"].to_list() == safe.to_polars()["value"].to_list()
    labels = {f"x{at}": None for at in range(400)} | dict.fromkeys(("a", "b", "c", "d"))
    long = client.protect_table(
        cells, LAYOUT, "census", classifications={"region": {"codes": labels}}
    )
    assert isinstance(long, pl.DataFrame)
    assert long.filter(pl.col("region") == "a")["value"].to_list() == (
        frame.filter(pl.col("region") == "a")["value"].to_list()
    )


def test_awaited_ones_give_the_same(served: CellService, token: str, client: Client) -> None:
    cells = some_cells()

    async def asked() -> tuple[pl.DataFrame, list[dict[str, Any]]]:
        transport = httpx.ASGITransport(served.app())
        async with AsyncClient(BASE, token, transport=transport) as other:
            return await other.protect_counts(cells, "census"), await other.parameter_sets()

    found, sets = asyncio.run(asked())
    assert found.equals(client.protect_counts(cells, "census"))
    assert sets == client.parameter_sets()


def test_functions_are_described_once() -> None:
    waiting, awaited = Client(BASE), AsyncClient(BASE)
    names = [name for name in dir(ServiceFunctions) if not name.startswith("_")]
    assert len(names) == 15
    assert {*names, "close"} == {name for name in dir(Client) if name[0] != "_"}
    for name in names:
        one, other = getattr(waiting, name), getattr(awaited, name)
        assert inspect.signature(one) == inspect.signature(other)
        assert one.__doc__
        assert inspect.isfunction(getattr(Client, name))
        unbound = inspect.signature(getattr(Client, name))
        assert [*unbound.parameters] == ["self", *inspect.signature(one).parameters]
        assert one.__name__ == name


def test_third_parties_with_the_package_get_the_bytes_of_the_service(
    served: CellService, client: Client, tmp_path: Path
) -> None:
    """They have records of their own, the signed package and its key, and no line to the office."""
    package = tmp_path / "census.dcparams"
    package.write_bytes(served.package())
    opened = open_parameters(
        package, key=served.folder / "package.key", verify_key=served.folder / "office.pub"
    )
    own = dc.tabulate(homes(150), BY, record_key="record_key")
    cells = own.to_polars().rename({"count": "n", "cell_key": "key"})
    plan = CellProgramme.of(LAYOUT, opened, name="own")
    for form, file in (("csv", "own.csv"), ("parquet", "own.parquet"), ("px", "own.px")):
        offline = protect_by_programme(cells, plan).write(tmp_path / file, language="de")
        online = client.protect_table(
            cells, LAYOUT, "census", name="own", format=form, language="de"
        )
        assert online == offline.read_bytes()
    direct = dc.perturb(own, opened.perturbation_table).to_polars(complete=False)
    listed = client.protect_counts(cells, "census")
    values = cells.select(BY).with_columns(listed["value"])
    joined = direct.join(values, on=BY, suffix="_service")
    assert joined["value"].to_list() == joined["value_service"].to_list()


def test_errors_tell_everything_that_the_service_says(client: Client) -> None:
    with pytest.raises(ServiceError) as caught:
        client.protect_counts(pl.DataFrame({"n": [-1], "key": [10**16]}), "census")
    error = caught.value
    assert error.code == "invalid-cells"
    assert [each.where for each in error.problems] == ["n", "key"]
    assert error.__notes__[0].startswith("request urn:discreet:request:")
    with pytest.raises(ServiceError) as caught:
        client.protect_counts(some_cells(2), "labour")
    assert caught.value.code == "unknown-parameter-set"
    nobody = Client(BASE, transport=client._functions._http._transport)
    with pytest.raises(ServiceError) as caught:
        nobody.protect_counts(some_cells(2), "census")
    assert caught.value.code == "not-authenticated"


def test_keys_are_neither_shown_nor_logged(
    client: Client, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client.protect_counts(some_cells(3), "census")
        with pytest.raises(ServiceError) as caught:
            client.protect_counts(some_cells(3), "labour")
    assert token not in caplog.text
    assert token not in repr(client) + repr(caught.value) + str(caught.value)
    for url in ("http://protect.example.org", "ftp://x", "https://user:word@x.example", "x"):
        with pytest.raises(ServiceError) as caught:
            Client(url, token)
        assert caught.value.code == "invalid-input"


Handler = Callable[[httpx.Request], httpx.Response]


def scripted(monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response) -> tuple[Client, list[Any]]:
    """A client whose service answers so, one after the other; pauses are noted, not made."""
    sent: list[Any] = []
    left = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return left.pop(0)

    monkeypatch.setattr("discreet_service.client.clients.time.sleep", sent.append)
    return Client(BASE, "dsc_x", transport=httpx.MockTransport(handle)), sent


def told(code: str, **more: Any) -> httpx.Response:
    document = problem_document(ServiceError("no", code=code, **more), "1f")
    retry = {"Retry-After": str(more["retry_after"])} if "retry_after" in more else {}
    return httpx.Response(document["status"], json=document, headers=retry)


def test_it_comes_again_when_the_service_says(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = httpx.Response(200, json={"parameter_sets": []})
    client, sent = scripted(
        monkeypatch, told("rate-limited", retry_after=3), told("overloaded"), fine
    )
    assert client.parameter_sets() == []
    pauses = [each for each in sent if isinstance(each, float)]
    assert 3 <= pauses[0] <= 3.2
    assert 1 <= pauses[1] <= 1.2
    busy, _ = scripted(monkeypatch, *[told("rate-limited", retry_after=1)] * 6)
    with pytest.raises(ServiceError) as caught:
        busy.parameter_sets()
    assert (caught.value.code, caught.value.retry_after) == ("rate-limited", 1)


def test_answers_of_others_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, code in (
        (httpx.Response(502, text="<html>Bad gateway"), "overloaded"),
        (httpx.Response(404, json={"type": 3}), "internal"),
        (httpx.Response(200, text="<html>"), "internal"),
        (httpx.Response(403, json={**told("not-allowed").json(), "type": "x/new"}), "internal"),
    ):
        client, _ = scripted(monkeypatch, answer)
        with pytest.raises(ServiceError) as caught:
            client.parameter_sets()
        assert caught.value.code == code

    def broken(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no")

    with pytest.raises(ServiceError, match="cannot be reached"):
        Client(BASE, transport=httpx.MockTransport(broken)).datasets()


def test_large_queries_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    number = "a" * 32
    states = ["queued", "running", "done"]
    client, sent = scripted(
        monkeypatch,
        httpx.Response(202, json={"job": number, "state": "queued"}),
        *[httpx.Response(200, json={"id": number, "state": state}) for state in states],
        httpx.Response(200, content=b"sex,value\r\n"),
    )
    seen: list[ServiceJob] = []
    found = client.query("census", {"by": ["sex"]}, format="csv", progress=seen.append)
    assert found == b"sex,value\r\n"
    assert [job.state for job in seen] == states
    asked = [each for each in sent if isinstance(each, httpx.Request)]
    assert json.loads(asked[0].content) == {"by": ["sex"], "format": "csv"}
    assert len(asked[0].headers["idempotency-key"]) == 32
    assert asked[-1].url.path == f"/api/v1/jobs/{number}/result"
    lost, _ = scripted(monkeypatch, httpx.Response(200, json={"state": "failed"}))
    with pytest.raises(ServiceError) as caught:
        lost.wait(number)
    assert caught.value.code == "job-failed"
    slow, _ = scripted(monkeypatch, httpx.Response(200, json={"state": "running"}))
    with pytest.raises(ServiceError) as caught:
        slow.wait(number, timeout=0.0)
    assert caught.value.code == "result-not-ready"


def test_names_cannot_leave_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    client, sent = scripted(monkeypatch, httpx.Response(200, json={}))
    client.dataset("../keys?x=1#y")
    assert sent[0].url.raw_path == b"/api/v1/datasets/..%2Fkeys%3Fx%3D1%23y"


def test_every_operation_can_be_called(served: CellService) -> None:
    """What the document shows as a call is what the client sends for the operation."""
    document = served.app(*RESOURCES).openapi()
    text = json.dumps(document).encode()
    sent: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("openapi.json"):
            return httpx.Response(200, content=text)
        sent.append(request)
        return httpx.Response(200, json={"fine": True})

    shown = list(documented_calls(document))
    assert len({call.operation for call in shown}) > 80
    client = Client(BASE, transport=httpx.MockTransport(handle))
    paths = {each["operationId"]: path for _, path, each in operations(document)}
    for call in shown:
        named = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>.+)", paths[call.operation]), call.path)
        assert named is not None
        body = b"package" if call.media and call.body is None else call.body
        told = client.operation(
            call.operation,
            path=named.groupdict(),
            query=call.query,
            body=body,
            media=call.media or "application/json",
            headers=call.headers,
        )
        assert told == {"fine": True}
        request = sent.pop()
        assert request.method == call.method
        assert unquote(request.url.raw_path.decode().partition("?")[0]) == call.path
        assert dict(request.url.params) == call.query
        if call.media:
            assert request.headers["content-type"] == call.media
            own = json.loads(request.content) if isinstance(body, dict) else request.content
            assert own == (body.encode() if isinstance(body, str) else body)


def test_operations_that_are_none_are_told(client: Client) -> None:
    assert client.operation("get_live") == {"status": "live"}
    with pytest.raises(ServiceError, match="unknown operation") as caught:
        client.operation("get_life")
    assert "get_live" in str(caught.value)
    with pytest.raises(ServiceError, match="the path needs 'version'"):
        client.operation("show_parameter_set", path={"name": "census"})
    with pytest.raises(ServiceError) as caught:
        client.operation("show_parameter_set", path={"name": "../x", "version": "1"})
    assert caught.value.code in ("unknown-parameter-set", "not-found")
