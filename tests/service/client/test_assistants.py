"""Language assistants get released and requested tables with their notes, and nothing more."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters

from discreet_service.application import create_app
from discreet_service.client import AsyncClient
from discreet_service.client.assistants import MOST_CELLS, AssistantTools
from discreet_service.installation import new_key
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from tests.helpers.asgi_browser import BASE
from tests.helpers.running_service import UNBOUNDED
from tests.helpers.served_process import served_process
from tests.helpers.shared_demonstration import copied_demonstration


@dataclass
class Assistant:
    """Calls tools as the program of an assistant does."""

    app: Any
    key: str | None
    language: str = "en"

    def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether it failed, and its text."""

        async def called() -> tuple[bool, str]:
            transport = httpx.ASGITransport(self.app)
            client = AsyncClient(BASE, self.key, language=self.language,
                                 transport=transport)  # fmt: skip
            async with Client(AssistantTools(client, self.language).server()) as assistant:
                answer = await assistant.call_tool(tool, arguments)
                return answer.is_error, answer.content[0].text  # type: ignore[union-attr]

        return asyncio.run(called())

    def read(self, tool: str, **arguments: Any) -> Any:
        failed, text = self.call(tool, **arguments)
        assert not failed, text
        return json.loads(text)


def reader(factory: pytest.TempPathFactory, folder: Path) -> tuple[Path, str]:
    """A demonstration, and the key of somebody who may ask for tables."""
    copied_demonstration(factory, folder)
    return folder, new_key(folder / "SERVICE.toml", "assistant", ["requester"], 1)[0]


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    folder, key = reader(tmp_path_factory, tmp_path_factory.mktemp("assistants") / "demo")
    settings = ServiceSettings.read(folder / "SERVICE.toml")
    service = Service(replace(settings, limits=UNBOUNDED))
    yield Assistant(create_app(service), key)
    service.close()


def test_released_tables_are_searched_and_read_with_their_notes(assistant: Assistant) -> None:
    found = assistant.read("search_tables", words="marital")
    assert [table["id"] for table in found["tables"]] == ["marital_status", "adults"]
    assert [data["id"] for data in found["datasets"]] == ["census"]
    place = {"release": found["tables"][0]["release"], "table": "marital_status"}
    table = assistant.read("released_table", **place, codes={"age5": ["Total"]})
    assert {row["age5"] for row in table["cells"]} == {"Total"}
    assert {row["marital_status"] for row in table["cells"]} >= {"Total"}
    assert table["notes"][0]["text"].startswith("The cell-key method protects the values")
    assert {item["symbol"] for item in table["legend"]} >= {"*"}
    assert table["imprint"]["licence"] == "CC BY 4.0"
    german = replace(assistant, language="de").read("released_table", **place)
    assert german["title"] == "Bevölkerung nach Alter und Familienstand"


def test_a_table_too_large_is_refused_with_what_to_state(assistant: Assistant) -> None:
    failed, text = assistant.call("released_table", release="census-2022", table="age_groups")
    assert failed
    assert f"at most {MOST_CELLS} (region, age5, sex)" in text
    failed, text = assistant.call("released_table", release="census-2022", table="age_groups",
                                  codes={"ages": ["Total"]})  # fmt: skip
    assert failed
    assert "unknown variable 'ages'" in text


def test_data_sets_are_described_and_codes_searched(assistant: Assistant) -> None:
    units = [unit["name"] for unit in assistant.read("describe_data", dataset="census")["units"]]
    assert units == ["person", "household", "dwelling", "building"]
    described = assistant.read("describe_data", dataset="census", unit="person")
    region = next(each for each in described["variables"] if each["name"] == "region")
    assert [level["name"] for level in region["levels"]] == ["state", "district", "municipality"]
    whole = assistant.read("search_codes", dataset="census", unit="person", variable="region",
                           level="state")  # fmt: skip
    assert not whole["more"]
    word = whole["codes"][1]["label"][:6].lower()
    found = assistant.read("search_codes", dataset="census", unit="person", variable="region",
                           words=word, level="state")  # fmt: skip
    assert found["codes"] == [whole["codes"][1]]


def test_requested_tables_are_those_of_everybody_else(assistant: Assistant) -> None:
    asked = {"dataset": "census", "unit": "person", "by": ["region:state", "sex"]}
    table = assistant.read("request_table", **asked, where={"marital_status": ["widowed"]})
    again = assistant.read("request_table", **asked, where={"marital_status": ["widowed"]})
    assert table == again
    assert {(row["region"], row["sex"]) for row in table["cells"]} >= {("Total", "Total")}

    async def direct() -> bytes:
        client = AsyncClient(BASE, assistant.key,
                             transport=httpx.ASGITransport(assistant.app))  # fmt: skip
        query = {"unit": "person", "by": [{"variable": "region", "level": "state"}, "sex"],
                 "where": [{"variable": "marital_status", "codes": ["widowed"]}]}  # fmt: skip
        content = await client.query("census", query, format="json")
        assert isinstance(content, bytes)
        return content

    cells = json.loads(asyncio.run(direct()))["cells"]
    assert [row["value"] for row in table["cells"]] == cells["value"]


def test_refusals_name_the_policy_and_tables_that_pass(assistant: Assistant) -> None:
    by = ["region", "age5", "sex", "occupation", "education"]
    failed, text = assistant.call("request_table", dataset="census", unit="person", by=by)
    assert failed
    assert "refused-by-policy" in text
    nearest = next(line for line in text.splitlines() if line.startswith("nearest table: "))
    assert json.loads(nearest.removeprefix("nearest table: "))["query"]["unit"] == "person"
    failed, text = assistant.call("request_table", dataset="census", unit="person", by=["regin"])
    assert failed
    assert "closest match: 'region'" in text


def test_without_a_key_nothing_is_read_that_needs_one(assistant: Assistant) -> None:
    stranger = replace(assistant, key="dsc_000000000000_" + "A" * 43)
    failed, text = stranger.call("search_tables")
    assert failed
    assert "not-authenticated" in text


def test_every_tool_only_reads(assistant: Assistant) -> None:
    async def listed() -> list[Any]:
        server = AssistantTools(AsyncClient(BASE)).server()
        async with Client(server) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(listed())
    assert len(tools) == 5
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert not any("\n  " in tool.description for tool in tools)


@pytest.mark.exhaustive
def test_the_command_serves_a_program_that_starts_it(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, key = reader(tmp_path_factory, tmp_path / "demo")
    key_file = tmp_path / "reader.key"
    key_file.touch(0o600)
    key_file.write_text(key)
    with served_process(folder) as (port, _):
        address = f"http://127.0.0.1:{port}"
        words = ["ask", "assistant", "--url", address, "--key-file", str(key_file)]
        command = str(Path(sys.executable).with_name("discreet"))

        async def asked() -> str:
            async with Client(StdioServerParameters(command=command, args=words)) as client:
                answer = await client.call_tool("search_tables", {"words": "marital"})
                return answer.content[0].text  # type: ignore[union-attr]

        assert "marital_status" in asyncio.run(asked())
