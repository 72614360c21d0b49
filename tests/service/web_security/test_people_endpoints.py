"""The interface to keys, people and proposals."""

from typing import Any

import pytest
from fastapi import APIRouter

from discreet_service.application import _check_permissions
from discreet_service.people.approvals import ProposalKind
from discreet_service.permissions import Grant
from discreet_service.web import approvals, keys, login, people
from tests.helpers.service_people import LOCAL

DIGEST = "a" * 64


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_keys_by_the_interface(served: Any) -> None:
    browser = served.logged_in("anna", Grant("requester"))
    body = {"name": "nightly", "grants": [{"role": "requester", "dataset": "census"}], "days": 9}
    answer = browser.post("/api/v1/keys", json=body)
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    made = answer.json()
    listed = browser.get("/api/v1/keys").json()["keys"]
    assert [each["id"] for each in listed] == [made["id"]]
    assert "key" not in listed[0]
    program = served.browser()
    answer = program.ask(
        "POST", f"/api/v1/keys/{made['id']}:rotate", json={}, headers=bearer(made["key"])
    )
    assert answer.status_code == 201
    new = answer.json()["key"]
    assert program.ask("POST", "/api/v1/keys", json=body, headers=bearer(new)).status_code == 403
    answer = browser.ask("DELETE", f"/api/v1/keys/{made['id']}", headers={"Origin": served.base})
    assert answer.status_code == 204
    assert program.get("/api/v1/me", headers=bearer(new)).status_code == 401


def test_nobody_sees_keys_of_others(served: Any) -> None:
    anna = served.logged_in("anna", Grant("requester"))
    made = anna.post("/api/v1/keys", json={"name": "x", "grants": [{"role": "requester"}]}).json()
    otto = served.logged_in("otto", Grant("requester"))
    assert otto.get("/api/v1/keys").json() == {"keys": []}
    answer = otto.ask("DELETE", f"/api/v1/keys/{made['id']}", headers={"Origin": served.base})
    assert answer.status_code == 404
    admin = served.logged_in("rosa", Grant("admin"))
    assert len(admin.get("/api/v1/keys").json()["keys"]) == 1
    assert served.browser().get("/api/v1/keys").status_code == 401


MALFORMED: list[Any] = [
    {}, [], None, 7, {"name": "x"}, {"name": "", "grants": [{"role": "requester"}]},
    {"name": "x", "grants": []}, {"name": "x", "grants": [{"role": "admin"}]},
    {"name": "x", "grants": [{"role": "requester"}], "days": 0},
    {"name": "x", "grants": [{"role": "requester"}], "days": 1e9},
    {"name": "x", "grants": [{"role": "requester"}], "more": 1},
    {"name": "\x00", "grants": [{"role": "requester"}]},
    {"name": "x", "grants": [{"role": "requester"}] * 101},
    {"name": "x" * 500, "grants": [{"role": "requester"}]},
    {"name": "x", "grants": [{"role": "requester"}], "owner": "\x00"},
]  # fmt: skip


def test_malformed_wishes_are_told_so(served: Any) -> None:
    browser = served.logged_in("anna", Grant("requester"))
    for body in MALFORMED:
        answer = browser.post("/api/v1/keys", json=body)
        assert answer.status_code in (403, 422), body
        assert answer.headers["content-type"] == "application/problem+json", body


def test_people_by_the_interface(served: Any) -> None:
    admin = served.logged_in("anna", Grant("admin"))
    made = admin.post("/api/v1/people", json={"name": "backend", "kind": "system"}).json()
    place = f"/api/v1/people/{made['id']}"
    told = admin.post(f"{place}:grant", json={"role": "service"}).json()
    assert told["grants"] == [{"role": "service", "dataset": "*"}]
    key = admin.post(
        "/api/v1/keys", json={"name": "k", "grants": [{"role": "service"}], "owner": "backend"}
    ).json()["key"]
    program = served.browser()
    assert program.get("/api/v1/me", headers=bearer(key)).json()["name"] == "backend"
    assert admin.post(f"{place}:grant", json={"role": "custodian"}).status_code == 409
    assert admin.post(f"{place}:reset-password").status_code == 409
    assert admin.post(f"{place}:disable").json()["disabled"]
    assert program.get("/api/v1/me", headers=bearer(key)).status_code == 401
    assert not admin.post(f"{place}:enable").json()["disabled"]
    assert program.get("/api/v1/me", headers=bearer(key)).status_code == 200
    assert admin.post(f"{place}:withdraw", json={"role": "service"}).json()["grants"] == []
    assert program.get("/api/v1/me", headers=bearer(key)).json()["grants"] == []
    mine = next(
        each["id"] for each in admin.get("/api/v1/people").json()["people"]
        if each["name"] == "anna"
    )  # fmt: skip
    answer = admin.post(f"/api/v1/people/{mine}:grant", json={"role": "reader"})
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (409, "second-person")
    assert admin.post(f"/api/v1/people/{'0' * 32}:disable").status_code == 404
    assert admin.post("/api/v1/people/x:disable").status_code == 422


def test_proposals_by_interface_and_page(served: Any) -> None:
    anna = served.logged_in("anna", Grant("custodian"))
    otto = served.logged_in("otto", Grant("custodian"))
    reader = served.logged_in("rosa", Grant("reader"))
    done = []
    approvals = served.service.approvals
    approvals.register(
        ProposalKind.policy_change, lambda _, proposal: done.append(proposal.id) or DIGEST
    )
    principal = served.service.sessions.principal(anna.cookies["discreet"])

    def proposed(subject: str) -> str:
        with served.service.database.writing() as connection:
            made = approvals.propose(
                connection,
                kind=ProposalKind.policy_change,
                subject=subject,
                digest=DIGEST,
                principal=principal,
                reason="more <b>variables</b> are asked for",
            )
        return str(made.id)

    first = proposed("census@1")
    place = f"/api/v1/proposals/{first}"
    assert reader.get("/api/v1/proposals").json() == {"proposals": []}
    assert reader.get(place).status_code == 404
    assert otto.get(place).json()["state"] == "open"
    assert anna.post(f"{place}:approve", json={"digest": DIGEST}).status_code == 409
    assert otto.post(f"{place}:approve", json={"digest": "b" * 64}).status_code == 412
    assert reader.post(f"{place}:approve", json={"digest": DIGEST}).status_code == 404
    assert otto.post(f"{place}:approve", json={"digest": DIGEST}).json()["state"] == "approved"
    assert done == [first]
    second = proposed("census@2")
    answer = otto.post(f"/api/v1/proposals/{second}:reject", json={"reason": "not these"})
    assert answer.json()["remark"] == "not these"
    third = proposed("census@3")
    page = otto.get("/approvals", headers={"Accept": "text/html"}).text
    assert "<b>variables" not in page
    assert "Change of a policy: census 3" in page
    path = f"/approvals/{third}"
    shown = otto.get(path, headers={"Accept": "text/html"}).text
    # What cannot be shown, here a policy that is not there, is not offered for approval.
    assert 'role="alert"' in shown
    assert 'value="reject"' in shown
    assert 'value="approve"' not in shown
    assert otto.submit(path, path, act="reject", reason="").status_code == 422
    assert otto.post(f"/api/v1/proposals/{third}:approve", json={"digest": DIGEST}).is_success
    assert done == [first, third]
    fourth = proposed("census@4")
    anna.submit(f"/approvals/{fourth}", f"/approvals/{fourth}", act="withdraw")
    assert anna.get(f"/api/v1/proposals/{fourth}").json()["state"] == "withdrawn"
    states = otto.get("/api/v1/proposals", params={"state": "approved"}).json()["proposals"]
    assert {each["id"] for each in states} == {first, third}
    assert otto.get("/api/v1/proposals", params={"state": "nonsense"}).status_code == 422


def test_nothing_here_is_open(served: Any) -> None:
    """Every endpoint but those that must be asks who it is."""
    nobody = served.browser()
    free = {
        "/login", "/login/oidc", "/login/oidc/back", "/login/password", "/account",
        "/static/{name}", "/api/v1/config", "/health/live", "/health/ready",
    }  # fmt: skip
    looked = 0
    routes = [route for each in (keys, people, approvals, login) for route in each.router.routes]
    for route in routes:
        path = route.path
        if path in free:
            continue
        looked += 1
        shown = path
        for name, value in (("{key}", "0" * 12), ("{user}", "0" * 32), ("{proposal}", "0" * 32)):
            shown = shown.replace(name, value)
        for method in route.methods - {"HEAD"}:
            more = {"json": {}} if method == "POST" else {}
            assert nobody.ask(method, shown, **more).status_code == 401, (method, path)
    assert looked > 10


def test_an_endpoint_that_names_no_permission_is_an_error() -> None:
    bare, nested = APIRouter(), APIRouter()
    bare.add_api_route("/open", lambda: None)
    nested.mount("/more", lambda *_: None)
    for router in (bare, nested):
        with pytest.raises(AssertionError, match="lacks its permission"):
            _check_permissions("x", router)


def test_secrets_are_not_in_the_log(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    import logging

    caplog.set_level(logging.DEBUG)
    browser = served.logged_in("anna", Grant("reader"))
    made = browser.post("/api/v1/keys", json={"name": "x", "grants": [{"role": "reader"}]}).json()
    once = served.service.users
    once.add(LOCAL, "otto")
    password = once.reset_password(LOCAL, "otto")
    served.browser().get("/api/v1/me", headers=bearer(made["key"]))
    for secret in (made["key"], browser.cookies["discreet"], password):
        assert secret not in caplog.text
