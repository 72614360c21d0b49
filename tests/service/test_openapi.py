"""OpenAPI 3.1: the document is sound, and its examples are answered as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet_service.application import create_app
from discreet_service.demo import make_demonstration
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from discreet_service.web.openapi import operations
from tests.helpers.service_server import served_on_port

Called = tuple[httpx.Client, dict[str, str]]


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    shown = make_demonstration(tmp_path_factory.mktemp("openapi") / "demo", persons=2_000)
    service = Service(ServiceSettings.read(shown.settings))
    with served_on_port(create_app(service)) as url, httpx.Client(base_url=url) as client:
        yield client, dict(shown.keys)
    service.close()


@pytest.fixture(scope="module")
def document(called: Called) -> dict[str, Any]:
    found = called[0].get("/api/v1/openapi.json").raise_for_status().json()
    assert isinstance(found, dict)
    return found


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for each in part.values():
            yield from references(each)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


def test_the_document_is_sound(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["title"]
    assert document["info"]["version"]
    for reference in references(document):
        found: Any = document
        for word in reference.removeprefix("#/").split("/"):
            found = found[word.replace("~1", "/").replace("~0", "~")]
        assert found
    for _, path, operation in operations(document):
        named = set(re.findall(r"{([^}]+)}", path))
        told = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
        assert told == named, path
        assert any(code[0] == "2" for code in operation["responses"])
        assert all(each["description"] for each in operation["responses"].values())


def test_each_operation_has_a_name_and_a_summary(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names)) > 60
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name)] == []
    for _, _, operation in operations(document):
        told = operation["summary"]
        assert " " in told
        assert told != operation["operationId"].replace("_", " ").title()


def test_problems_are_documented(called: Called, document: dict[str, Any]) -> None:
    for _, _, operation in operations(document):
        content = operation["responses"]["default"]["content"]
        assert list(content) == ["application/problem+json"]
        assert "422" not in operation["responses"]
    answer = called[0].get("/api/v1/keys")
    example = content["application/problem+json"]["example"]
    told = answer.json()
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert {**told, "instance": ""} == {**told, **example, "instance": ""}
    known = set(document["components"]["schemas"]["Problem"]["properties"])
    assert told.keys() <= known


def examples(document: dict[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    for method, path, operation in operations(document):
        for media, told in operation.get("requestBody", {}).get("content", {}).items():
            found = [each["value"] for each in told.get("examples", {}).values()]
            for value in [*found, *([told["example"]] if "example" in told else [])]:
                yield method, path, media, value


def test_examples_are_answered_as_said(called: Called, document: dict[str, Any]) -> None:
    client, keys = called
    done = []
    for method, path, media, value in examples(document):
        tool = path in ("/api/v1/protect/counts", "/api/v1/protect/values")
        # Tables of cells need the official figures of the statistic: tests of cells send them.
        if not tool and "/query" not in path:
            continue
        head = {"Authorization": f"Bearer {keys['demo-tool' if tool else 'demo-client']}"}
        head |= {"Content-Type": media}
        address = path.replace("{dataset}", "census")
        answer = client.request(method, address, headers=head, content=json.dumps(value))
        told = document["paths"][path][method]["responses"]
        assert answer.status_code in (200, 202), (path, answer.text)
        assert str(answer.status_code) in told
        done.append(path)
    names = {path.rpartition("/")[2] for path in done}
    assert names == {"query", "query:check", "counts", "values"}


def test_what_needs_nothing_is_answered(called: Called, document: dict[str, Any]) -> None:
    client, keys = called
    head = {"Authorization": f"Bearer {keys['demo-client']}"}
    for method, path, operation in operations(document):
        needed = [each for each in operation.get("parameters", []) if each.get("required")]
        if method != "get" or needed or path.endswith("/events"):
            continue
        answer = client.get(path, headers=head)
        assert str(answer.status_code) in operation["responses"] or answer.status_code in (403, 404)


def test_the_policy_of_versions_is_said() -> None:
    text = (Path(__file__).parents[2] / "docs" / "service" / "index.md").read_text("utf-8")
    assert "**Versions.**" in text
