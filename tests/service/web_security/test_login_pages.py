"""Logging in by pages: cookies, forms, and what other sites cannot do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from discreet_service.audit.trail import AuditKind
from discreet_service.permissions import Grant
from discreet_service.settings import OidcSettings
from tests.helpers.asgi_browser import AsgiBrowser, form_of
from tests.helpers.oidc_provider import CLIENT, SECRET, LoopbackProvider
from tests.helpers.service_people import LOCAL

GOOD = "seven quiet rivers run"
HTML = {"Accept": "text/html"}


def test_login_by_password(served: Any) -> None:
    served.person("anna", Grant("requester", "census"))
    browser = served.browser()
    assert browser.get("/account").headers["location"] == "/login"
    answer = browser.submit("/login", "/login", name="anna", password=GOOD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    page = browser.get("/account", headers=HTML)
    assert "anna" in page.text
    assert "census" in page.text
    assert browser.get("/api/v1/me").json()["grants"] == [
        {"role": "requester", "dataset": "census"}
    ]


LEADING_ON: list[tuple[str, str | None]] = [
    ("/tables/census?unit=person&by=region:district", None),
    ("/approvals#p-1", None),
    ("", "/"),
    ("//elsewhere.example/", "/"),
    ("/\\elsewhere.example/", "/"),
    ("\\\\elsewhere.example", "/"),
    ("https://elsewhere.example/", "/"),
    ("https:elsewhere.example", "/"),
    ("javascript:alert(1)", "/"),
    ("elsewhere.example", "/"),
    ("/a\r\nSet-Cookie: x=1", "/"),
    ("/\t/elsewhere.example", "/"),
    (" //elsewhere.example", "/"),
    ("/login?next=/login", "/"),
    ("/logout", "/"),
]


def test_login_leads_on_within_the_service_only(served: Any) -> None:
    served.person("anna")
    for wanted, instead in LEADING_ON:
        browser, place = served.browser(), instead or wanted
        shown = browser.ask("GET", "/login", params={"next": wanted}, headers=HTML)
        assert form_of(shown.text, "/login")["next"] == place
        answer = browser.submit("/login", "/login", name="anna", password=GOOD, next=wanted)
        assert (answer.status_code, answer.headers["location"]) == (303, place)
        assert "set-cookie: x" not in str(answer.headers).lower(), wanted


def test_whoever_must_log_in_first_comes_back(served: Any) -> None:
    """The page that refuses names the one to come back to; a wrong password forgets it not."""
    served.person("anna", Grant("admin"))
    browser = served.browser()
    refused = browser.get("/people?a=%22%3E", headers=HTML)
    assert refused.status_code == 401
    link = re.search(r'href="(/login\?next=[^"]+)"', refused.text)
    assert link
    token = form_of(browser.get(link[1], headers=HTML).text, "/login")
    assert token["next"] == "/people?a=%22%3E"
    again = browser.post("/login", data={**token, "name": "anna", "password": "wrong"})
    assert again.status_code == 401
    assert form_of(again.text, "/login")["next"] == token["next"]


def test_cookies_are_for_this_host_and_no_script(served_by_tls: Any) -> None:
    served_by_tls.person("anna")
    answer = served_by_tls.browser().submit("/login", "/login", name="anna", password=GOOD)
    cookies = answer.headers.get_list("set-cookie")
    session = next(each for each in cookies if each.startswith("__Host-discreet="))
    for part in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"):
        assert part in session
    assert "Domain" not in session
    assert len(cookies) == 2


def test_each_login_has_a_session_of_its_own(served: Any) -> None:
    """A session that somebody else put into the browser before the login ends with it."""
    planted = served.logged_in("otto").cookies["discreet"]
    served.person("anna")
    browser = served.browser()
    page = browser.get("/login")
    form = {**form_of(page.text, "/login"), "name": "anna", "password": GOOD}
    cookies = f"discreet={planted}; discreet-form={browser.cookies['discreet-form']}"
    answer = served.browser().post("/login", data=form, headers={"Cookie": cookies})
    assert answer.status_code == 303
    assert planted not in answer.headers["set-cookie"]
    assert served.service.sessions.principal(planted) is None


def test_a_cookie_that_comes_twice_is_none(served: Any) -> None:
    """One of them was put there by somebody else; which, nobody knows."""
    cookie = served.logged_in("anna").cookies["discreet"]
    for cookies, status in (
        (f"discreet={cookie}", 200),
        (f"discreet={cookie}; discreet={cookie}", 401),
        (f"discreet={cookie}; discreet=other", 401),
        ("discreet=", 401),
        (";;=;discreet", 401),
    ):
        answer = served.browser().get("/api/v1/me", headers={"Cookie": cookies})
        assert answer.status_code == status, cookies


def test_wrong_passwords_are_told_alike(served: Any) -> None:
    served.person("anna")
    texts = []
    for name in ("anna", "nobody-1"):
        answer = served.browser().submit("/login", "/login", name=name, password="wrong")
        assert answer.status_code == 401
        texts.append(re.sub(r'value="[0-9a-f]{64}"', "", answer.text))
    assert texts[0] == texts[1]
    answer = None
    for _ in range(4):
        answer = served.browser().submit("/login", "/login", name="anna", password="wrong")
    assert answer is not None
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


def test_login_forms_come_from_our_own_page(served: Any) -> None:
    """Nobody is logged in as somebody else by a page of another site."""
    served.person("anna")
    form = {"name": "anna", "password": GOOD}
    assert served.browser().post("/login", data=form).status_code == 403
    stranger = served.browser()
    token = form_of(stranger.get("/login").text, "/login")["csrf"]
    victim = served.browser()
    victim.get("/login")
    assert victim.post("/login", data={**form, "csrf": token}).status_code == 403


def test_one_time_passwords_lead_to_a_new_one(served: Any) -> None:
    once = served.service.users.first_administrator("anna")
    browser = served.browser()
    answer = browser.submit("/login", "/login", name="anna", password=once)
    assert answer.headers["location"] == "/login/password"
    assert browser.get("/account").headers["location"] == "/login/password"
    assert browser.get("/api/v1/people").status_code == 403
    answer = browser.submit("/login/password", "/login/password", old=once, new="short")
    assert answer.status_code == 422
    assert "short" not in answer.text.replace("too short", "")
    before = browser.cookies["discreet"]
    answer = browser.submit("/login/password", "/login/password", old=once, new=GOOD)
    assert answer.headers["location"] == "/"
    assert browser.cookies["discreet"] != before
    assert browser.get("/api/v1/people").status_code == 200


def test_logout(served: Any) -> None:
    browser = served.logged_in("anna")
    other = served.browser()
    other.submit("/login", "/login", name="anna", password=GOOD)
    cookie = browser.cookies["discreet"]
    assert browser.submit("/approvals", "/logout").headers["location"] == "/login"
    assert served.service.sessions.principal(cookie) is None
    assert other.get("/account").status_code == 200
    # The form at the end of the account's page ends all.
    third = served.browser()
    third.submit("/login", "/login", name="anna", password=GOOD)
    token = served.service.sessions.csrf_token(third.cookies["discreet"])
    third.post("/logout", data={"csrf": token, "everywhere": "true"})
    assert other.get("/account").headers["location"] == "/login"
    told = served.service.trail.search(kind=AuditKind.logout).rows
    assert [(entry.person, json.loads(entry.facts)) for entry in told][::-1] == [
        ("anna", {"everywhere": False, "sessions": 1}),
        ("anna", {"everywhere": True, "sessions": 2}),
    ]


def test_names_are_text_wherever_they_are_shown(served: Any) -> None:
    """Stored scripts: what somebody is called, or calls a key or a data set, stays text."""
    browser = served.logged_in("anna", Grant("admin"), Grant("reader"))
    served.person("otto")
    evil = "<script>alert(1)</script>"
    served.service.users.grant(LOCAL, "otto", Grant("reader", evil))
    page = browser.get("/people", headers=HTML).text
    assert evil not in page
    assert "&lt;script&gt;" in page
    user = served.service.users.account("otto").id
    page = browser.get(f"/people/{user}", headers=HTML).text
    assert evil not in page
    assert "&lt;script&gt;" in page
    answer = browser.submit("/people", "/people", name=evil, kind="person")
    assert answer.status_code == 422
    assert evil not in answer.text


def test_static_files_are_those_listed(served: Any) -> None:
    browser = served.browser()
    answer = browser.get("/static/service.css")
    assert answer.headers["content-type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in answer.text
    for path in ("words.toml", "..%2fwords.toml", "%2e%2e/pages.py", "x.css", "service.css%00"):
        assert browser.get(f"/static/{path}").status_code == 404


def test_keys_are_made_by_a_form_and_shown_once(served: Any) -> None:
    browser = served.logged_in("anna", Grant("requester", "census"))
    answer = browser.submit(
        "/account", "/account/keys", name="nightly", role="requester@census", days="30"
    )
    assert answer.headers["cache-control"] == "no-store"
    found = re.search(r"dsc_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", answer.text)
    assert found is not None
    assert found[0] not in browser.get("/account").text
    program = served.browser()
    told = program.get("/api/v1/me", headers={"Authorization": f"Bearer {found[0]}"}).json()
    assert (told["name"], told["kind"], told["key"]) == ("anna", "key", found[0][4:16])
    browser.submit("/account", f"/account/keys/{told['key']}/revoke")
    answer = program.get("/api/v1/me", headers={"Authorization": f"Bearer {found[0]}"})
    assert answer.status_code == 401


def test_administrators_manage_people_by_forms(served: Any) -> None:
    browser = served.logged_in("anna", Grant("admin"))
    made = browser.submit("/people", "/people", name="otto", kind="person")
    user = served.service.users.account("otto").id
    mine = f"/people/{user}"
    assert made.headers["location"] == mine
    act = {"role": "requester", "dataset": "census", "act": "grant"}
    browser.submit(mine, f"{mine}/roles", **act)
    assert served.service.users.account("otto").grants == (Grant("requester", "census"),)
    answer = browser.submit(mine, f"{mine}/password")
    assert answer.headers["cache-control"] == "no-store"
    once = re.search(r'<code id="once">([a-z0-9-]{23})</code>', answer.text)
    assert once is not None
    assert once[1] not in browser.get(mine, headers=HTML).text
    assert served.service.users.login("otto", once[1], "x").must_change
    browser.submit(mine, f"{mine}/roles", **{**act, "act": "withdraw"})
    browser.submit(mine, f"{mine}/state", act="disable")
    account = served.service.users.account("otto")
    assert (account.grants, account.disabled) == ((), True)
    found = browser.get("/people?name=OTT", headers=HTML).text
    assert mine in found
    assert f"/people/{served.service.users.account('anna').id}" not in found
    assert mine not in browser.get("/people?name=zzz", headers=HTML).text


def test_administrators_make_keys_for_systems_by_forms(served: Any) -> None:
    """Shown once, with one role, revoked at once; persons make their own."""
    browser = served.logged_in("anna", Grant("admin"))
    browser.submit("/people", "/people", name="backend", kind="system")
    user = served.service.users.account("backend").id
    mine = f"/people/{user}"
    assert f"{mine}/keys" not in browser.get(mine, headers=HTML).text
    browser.submit(mine, f"{mine}/roles", role="service", dataset="*", act="grant")
    wanted = {"name": "nightly", "role": "service@*", "days": "30"}
    answer = browser.submit(mine, f"{mine}/keys", **wanted)
    assert answer.headers["cache-control"] == "no-store"
    found = re.search(r"dsc_([0-9a-f]{12})_[A-Za-z0-9_-]{43}", answer.text)
    assert found is not None
    assert found[0] not in browser.get(mine, headers=HTML).text
    head = {"Authorization": f"Bearer {found[0]}"}
    assert served.browser().get("/api/v1/me", headers=head).json()["name"] == "backend"
    browser.submit(mine, f"{mine}/keys/{found[1]}/revoke")
    assert served.browser().get("/api/v1/me", headers=head).status_code == 401
    more = {**wanted, "role": "admin@*"}
    assert browser.submit(mine, f"{mine}/keys", **more).status_code == 403
    served.person("otto", Grant("requester"))
    other = f"/people/{served.service.users.account('otto').id}"
    page = browser.get(other, headers=HTML).text
    assert f"{other}/keys" not in page
    token = served.service.sessions.csrf_token(browser.cookies["discreet"])
    forged = {**wanted, "role": "requester@*", "csrf": token}
    assert browser.post(f"{other}/keys", data=forged).status_code == 403
    assert served.service.api_keys.listed("otto") == ()


def test_nobody_changes_themselves_by_forms(served: Any) -> None:
    browser = served.logged_in("anna", Grant("admin"))
    mine = f"/people/{served.service.users.account('anna').id}"
    page = browser.get(mine, headers=HTML).text
    assert "/roles" not in page
    assert "/state" not in page
    token = served.service.sessions.csrf_token(browser.cookies["discreet"])
    data = {"csrf": token, "role": "custodian", "act": "grant"}
    assert browser.post(f"{mine}/roles", data=data).status_code == 409
    assert served.service.users.account("anna").grants == (Grant("admin"),)


@pytest.fixture
def provided(tmp_path: Path) -> Any:
    from tests.service.web_security.conftest import ServedPeople

    secret = tmp_path / "oidc.secret"
    secret.touch(0o600)
    secret.write_text(SECRET)
    clock = lambda: 1_800_000_000_000  # noqa: E731
    with LoopbackProvider(clock) as provider:
        oidc = OidcSettings(
            issuer=provider.issuer,
            client_id=CLIENT,
            client_secret_file=secret,
            redirect="http://127.0.0.1:8077/login/oidc/back",
            roles={"staff": "requester@census"},
        )
        served = ServedPeople(tmp_path, oidc=oidc)
        yield served, provider
        served.service.close()


def _arrives(browser: AsgiBrowser, answer: dict[str, str]) -> Any:
    """The browser comes back from the provider: without the cookies that stay on this site."""
    sent = {**HTML, "Sec-Fetch-Site": "cross-site"}
    return browser.get("/login/oidc/back", params=answer, headers=sent)


def test_login_by_the_offices_provider(provided: Any) -> None:
    served, provider = provided
    browser = served.browser()
    assert "/login/oidc" in browser.get("/login", headers=HTML).text
    away = browser.get("/login/oidc")
    assert away.headers["location"].startswith(provider.issuer)
    cookie = away.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    answer = provider.let_in(away.headers["location"])
    page = _arrives(browser, answer)
    # A page, not a redirect: only from here on the strict cookie comes along.
    assert page.status_code == 200
    assert 'content="0; url=/"' in page.text
    assert browser.get("/api/v1/me").json()["grants"] == [
        {"role": "requester", "dataset": "census"}
    ]
    # The same answer again lets nobody in.
    assert _arrives(browser, answer).status_code == 401
    assert _arrives(served.browser(), answer).status_code == 401


def test_answers_belong_to_the_browser_that_began(provided: Any) -> None:
    """Somebody else's answer put into a browser logs nobody in as somebody else."""
    served, provider = provided
    attacker, victim = served.browser(), served.browser()
    answer = provider.let_in(attacker.get("/login/oidc").headers["location"])
    assert _arrives(victim, answer).status_code == 401
    provider.let_in(victim.get("/login/oidc").headers["location"])
    assert _arrives(victim, answer).status_code == 401
    assert "discreet" not in victim.cookies


def test_malformed_answers_let_nobody_in(provided: Any) -> None:
    served, provider = provided
    for query in (
        "", "state=a&state=b&code=c", "error=access_denied", "code=%00&state=%ff",
        "&".join(f"a{at}=1" for at in range(50)), "state=" + "x" * 5000,
    ):  # fmt: skip
        browser = served.browser()
        browser.get("/login/oidc")
        answer = browser.get(f"/login/oidc/back?{query}")
        assert answer.status_code == 401, query
    browser = served.browser()
    state = dict(provider.let_in(browser.get("/login/oidc").headers["location"]))
    assert _arrives(browser, {**state, "code": "invented"}).status_code == 401


def test_without_a_provider_there_is_none(served: Any) -> None:
    assert served.browser().get("/login/oidc").status_code == 404
    assert served.browser().get("/login/oidc/back").status_code == 404
    assert "/login/oidc" not in served.browser().get("/login").text
