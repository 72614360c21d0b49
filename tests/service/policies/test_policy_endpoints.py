"""Policies over HTTP: who sees what of them."""

from pathlib import Path
from typing import Any

import pytest

from discreet_service.permissions import Grant
from discreet_service.policies import sign_policy
from discreet_service.service import Service
from tests.helpers.service_callers import KnownCaller
from tests.helpers.service_data import OPEN_POLICY

API = "/api/v1/policies/census/2022-1"
POLICY = OPEN_POLICY.replace("variables = { most = 20", "variables = { most = 1")
PARTS = ("policies", "queries")


def visitor(app: Any, role: str) -> KnownCaller:
    """A browser of somebody with a role."""
    return KnownCaller(app, Grant(role, "census"), kind="session")


def test_callers_see_limits_that_say_nothing_of_people(app: Any) -> None:
    shown = visitor(app, "reader").get(API)
    assert shown.status_code == 200
    assert shown.json()["variables"]["most"] == 1
    assert "exposure" not in shown.json()
    assert visitor(app, "reader").get("/api/v1/policies/census/other").status_code == 404


@pytest.mark.parametrize("path", ["/document", "/alerts", f"/refusals/{'a' * 64}", "/areas/person"])
def test_staff_alone_sees_the_rest(app: Any, path: str) -> None:
    assert visitor(app, "requester").get(API + path).status_code == 403
    found = visitor(app, "custodian").get(API + path)
    assert found.status_code == (404 if "refusals" in path else 200)
    if found.status_code == 200:
        assert found.headers["cache-control"] == "no-store"


def test_a_refusal_is_explained_and_the_explanation_written_down(
    app: Any, service: Service
) -> None:
    requester = visitor(app, "requester")
    body = {"unit": "person", "by": ["sex", "age5"]}
    refused = requester.ask("POST", "/api/v1/datasets/census/query", json=body)
    assert refused.status_code == 403
    assert refused.json()["rule"] == "P2"
    checked = requester.ask("POST", "/api/v1/datasets/census/query:check", json=body).json()
    found = visitor(app, "custodian").get(f"{API}/refusals/{checked['digest']}")
    assert found.status_code == 200
    assert {one["rule"]: one["explanation"] for one in found.json()["rules"]}["P2"] == (
        "2 variables of 1"
    )
    with service.database.reading() as connection:
        assert connection.exec_driver_sql(
            "SELECT count(*) FROM audit_entries WHERE kind = 'refusal_explained'"
        ).scalar()


def test_changes_are_signed_newer_and_about_this_version(app: Any, tmp_path: Path) -> None:
    custodian = visitor(app, "custodian")
    keys = Path(app.state.service.settings.folder)

    def proposed(text: str) -> Any:
        place = tmp_path / "POLICY.toml"
        place.write_text(text)
        signature = sign_policy(place, keys / "custodian.key").read_text()
        body = {"policy": text, "signature": signature, "reason": "more is needed"}
        return custodian.ask("POST", f"{API}/changes", json=body)

    assert proposed(POLICY).status_code == 409
    newer = POLICY.replace("revision = 1", "revision = 2").replace("most = 1,", "most = 2,")
    assert proposed(newer.replace('dataset = "census"', 'dataset = "other"')).status_code == 422
    forged = {"policy": newer, "signature": "ed25519 00 00", "reason": "more is needed"}
    assert custodian.ask("POST", f"{API}/changes", json=forged).status_code == 422
    made = proposed(newer)
    assert made.status_code == 202
    shown = custodian.get(f"{API}/changes/{made.json()['digest']}")
    assert shown.json()["policy"] == newer
    requester = visitor(app, "requester")
    assert requester.ask("POST", f"{API}/changes", json=forged).status_code == 403
