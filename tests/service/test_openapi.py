"""OpenAPI 3.1: the document is sound and complete, and each of its examples is answered as shown.

Neither jsonschema nor openapi-spec-validator is among what is installed: the document is held
against the models of OpenAPI that FastAPI has, answers against their schemas by a checker of ours.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.openapi.models import OpenAPI

from discreet_service.jobs.kinds import KINDS
from discreet_service.web.openapi import answer_schemas, operation_examples, operations
from tests.helpers.interface_calls import STORY, DocumentedCall, Storyteller, documented_calls
from tests.helpers.jobs_done import do_jobs
from tests.helpers.json_schemas import violations
from tests.helpers.shared_demonstration import copied_demonstration

PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def teller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storyteller]:
    folder = tmp_path_factory.mktemp("openapi")
    copied_demonstration(tmp_path_factory, folder / "demo")
    found = Storyteller(folder)
    yield found
    found.service.close()


@pytest.fixture(scope="module")
def document(teller: Storyteller) -> dict[str, Any]:
    found = teller.ask("", "GET", "/api/v1/openapi.json").raise_for_status().json()
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
    OpenAPI.model_validate(document)
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
        for answer in operation["responses"].values():
            assert "$ref" in answer or answer["description"]


def test_each_operation_has_a_name_and_a_summary(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names)) > 67
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name)] == []
    for _, _, operation in operations(document):
        told = operation["summary"]
        assert " " in told
        assert told != operation["operationId"].replace("_", " ").title()


def test_every_operation_has_examples_and_schemas(document: dict[str, Any]) -> None:
    """An operation without an example, or with an answer that nothing is said of, fails here."""
    calls = list(documented_calls(document))
    shown = {call.operation for call in calls}
    names = {operation["operationId"] for _, _, operation in operations(document)}
    assert names - shown == set()
    assert set(operation_examples()) - names == set()
    played = {step.partition("/")[0] for _, steps in STORY for step in steps.split()}
    assert names - played == set()
    for _, path, operation in operations(document):
        own = [call for call in calls if call.operation == operation["operationId"]]
        for each in operation.get("parameters", []):
            if each.get("required"):
                assert {call.name for call in own} <= set(each["examples"]), (path, each["name"])
        if operation.get("requestBody", {}).get("required"):
            assert all(call.media for call in own), path
        fine = [call for call in own if call.status[0] == "2"]
        assert fine or operation["operationId"] == "create_job", path
        for status, answer in operation["responses"].items():
            for media, content in answer.get("content", {}).items():
                assert content.get("schema"), (path, status, media)
    used = {reference.rpartition("/")[2] for reference in references(document)}
    assert set(answer_schemas()) - used == set()


def test_examples_hold_no_secrets(teller: Storyteller, document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False)
    assert [secret for secret in teller.secrets if secret in text] == []
    assert re.findall(r"dsc_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", text) == []
    assert re.findall(r"ed25519 \w+", text) == []
    for call in documented_calls(document):
        if isinstance(call.shown, dict) and "one_time_password" in call.shown:
            assert call.shown["one_time_password"] == "…"


def test_the_document_is_the_same_for_every_service(document: dict[str, Any]) -> None:
    """Nothing of it is made anew: it says what the files beside the code say."""
    shown = {(call.operation, call.name): call for call in documented_calls(document)}
    told = {(name, each) for name, row in operation_examples().items() for each in row["calls"]}
    assert told == set(shown)


def test_examples_are_as_their_schemas_say(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    wrong = {}
    for call in documented_calls(document):
        if not isinstance(call.shown, str) and call.shown is not None:
            schema = schema_of(document, call)
            if found := list(violations(call.shown, schema, schemas)):
                wrong[call.operation, call.name] = found
    assert wrong == {}
    for each in document["components"]["responses"].values():
        (example,) = each["content"][PROBLEM]["examples"].values()
        assert list(violations(example["value"], schemas["Problem"], schemas)) == []


def schema_of(document: dict[str, Any], call: DocumentedCall) -> dict[str, Any]:
    for _, _, operation in operations(document):
        if operation["operationId"] == call.operation:
            found = operation["responses"][call.status]["content"][call.answer]["schema"]
            assert isinstance(found, dict)
            return found
    raise AssertionError(call)


def test_every_example_is_answered_as_shown(teller: Storyteller, document: dict[str, Any]) -> None:
    schemas, calls = document["components"]["schemas"], list(documented_calls(document))
    wrong: list[Any] = []
    for who, steps in STORY:
        for step in steps.split():
            if step == "jobs":
                assert do_jobs(teller.service) == []
            operation, _, name = step.partition("/")
            own = [each for each in calls if each.operation == operation]
            for call in [each for each in own if name in ("", each.name)]:
                answer = teller.play(call, who)
                media = answer.headers.get("content-type", "").partition(";")[0]
                told = (str(answer.status_code), "" if answer.status_code == 204 else media)
                if told != (call.status, call.answer):
                    wrong.append((step, call.name, *told, answer.text[:300]))
                    continue
                if isinstance(call.shown, dict):
                    schema = schema_of(document, call)
                    wrong += [(step, each) for each in violations(answer.json(), schema, schemas)]
                    wrong += [(step, call.shown.keys() ^ answer.json().keys())] * (
                        call.shown.keys() != answer.json().keys()
                    )
                elif isinstance(call.shown, str):
                    first = call.shown.partition("\n")[0]
                    if media in ("text/csv", "application/vnd.sdmx.data+csv"):
                        assert answer.text.partition("\n")[0] == first, step
                    assert answer.text
    assert wrong == []


def test_what_was_not_released_is_told_as_described(
    teller: Storyteller, document: dict[str, Any]
) -> None:
    """Those that are refused or sent back: the story ends with a release."""
    schemas, place = document["components"]["schemas"], "/api/v1/submissions"
    kind = {"Content-Type": "application/octet-stream"}
    for act in ("reject", "change"):
        asked = {"file": f"{act}.do", "data": "panel"}
        program = f"tabulate grp\ncount\n* {act}\n".encode()
        handed = teller.ask("ruth", "POST", place, params=asked, content=program, headers=kind)
        assert handed.status_code == 202
        assert do_jobs(teller.service) == []
        (row,) = teller.ask("bert", "GET", place).json()["submissions"]
        told = {"act": act, "version": row["version"], "reason": "say what it is for"}
        answer = teller.ask("bert", "POST", f"{place}/{row['submission']}:act", json=told)
        assert list(violations(answer.json(), schemas["SubmissionState"], schemas)) == []
    own = teller.ask("ruth", "GET", f"{place}/mine").json()
    assert list(violations(own, schemas["OwnSubmissions"], schemas)) == []
    said = [one["verdict"] for each in own["submissions"] for one in each["comments"]]
    assert {"rejected", "change"} <= set(said)


def test_jobs_of_every_kind_are_described(document: dict[str, Any]) -> None:
    told = document["components"]["schemas"]["Job"]["properties"]["kind"]["enum"]
    assert sorted(told) == sorted(KINDS)


def test_strangers_and_those_without_the_right_are_told(
    teller: Storyteller, document: dict[str, Any]
) -> None:
    """401 without a key, 403 with a key that may not: wherever the document says so."""
    schemas, calls = document["components"]["schemas"], {}
    for call in documented_calls(document):
        calls.setdefault(call.operation, call)
    counted = 0
    for _, _, operation in operations(document):
        call, needed = calls[operation["operationId"]], operation.get("x-permission")
        if needed in (None, "catalogue:read", "releases:read"):
            continue
        without = "rita" if needed.startswith("outputs:") else "vera"  # vera reviews
        for who, status in (("", "401"), (without, "403")):
            assert status in operation["responses"], call.operation
            answer = teller.play(call, who)
            counted += 1
            assert str(answer.status_code) == status, (call.operation, who, answer.text)
            assert answer.headers["content-type"].startswith(PROBLEM)
            assert list(violations(answer.json(), schemas["Problem"], schemas)) == []
    assert counted > 60
    common = document["components"]["responses"]["NotAuthenticated"]["content"][PROBLEM]
    told = teller.ask("", "GET", "/api/v1/keys").json()
    shown = common["examples"]["NotAuthenticated"]["value"]
    assert told["type"] == shown["type"]
    assert told.keys() == shown.keys()


def test_the_policy_of_versions_is_said() -> None:
    text = (Path(__file__).parents[2] / "docs" / "service" / "index.md").read_text("utf-8")
    assert "**Versions.**" in text
