"""Administration, policies and the dashboard in Chromium, as the roles that use them."""

import re
from collections.abc import Callable
from typing import Any

from discreet_service.people.approvals import ProposalKind, ProposalState
from discreet_service.permissions import Grant, Principal
from tests.helpers.served_studio import ServedStudio

LoggedIn = Callable[..., Any]

POLICY = "/policies/census/2022-1"
#: Refused by the number of its variables alone.
DEEP = "/tables/census/result?unit=person&by=region:municipality,sex,marital_status,education:1"


def _person(page: Any, name: str) -> None:
    """Open the page of somebody from that of all."""
    page.goto("/people")
    page.locator("#people").get_by_role("link", name=name, exact=True).click()
    page.wait_for_url("**/people/*")


def test_administrator_makes_a_person_and_a_key(
    logged_in: LoggedIn, check_page: Any, studio: ServedStudio
) -> None:
    """As written down in the how-to: ten steps at most, the last one is copying the key."""
    page = logged_in("admin")
    page.get_by_role("link", name="People", exact=True).click()
    page.fill("#name", "nina")
    page.get_by_role("button", name="Add user").click()
    page.wait_for_url("**/people/*")
    page.select_option("#role", "requester")
    page.select_option("#dataset", "census")
    page.get_by_role("button", name="Grant role").click()
    page.get_by_role("button", name="Withdraw role: requester census").wait_for()
    page.get_by_role("button", name="Reset password").click()
    word = page.locator("#once").inner_text()
    check_page(page)
    assert studio.service.users.login("nina", word, "192.0.2.9").must_change
    page.goto("/people")
    page.fill("#name", "nightly-tables")
    page.select_option("#kind", "system")
    page.get_by_role("button", name="Add user").click()
    page.wait_for_url("**/people/*")
    page.get_by_role("button", name="Grant role").click()
    page.fill("#name", "tables of the night")
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Copy").click()
    page.wait_for_function("document.querySelector('#live').textContent === 'Copied'")
    key = page.evaluate("navigator.clipboard.readText()")
    assert studio.service.api_keys.principal(key).name == "nightly-tables"
    check_page(page)
    _person(page, "nightly-tables")
    assert key not in page.content()
    page.get_by_role("button", name=f"Revoke key: tables of the night dsc_{key[4:16]}").click()
    page.get_by_text("revoked", exact=True).wait_for()
    assert studio.service.api_keys.principal(key) is None


def test_auditor_finds_who_overrode_a_refusal(
    logged_in: LoggedIn, check_page: Any, studio: ServedStudio
) -> None:
    """A table is refused, two producers agree; the auditor finds both."""
    assert logged_in("requester").goto(DEEP).status == 403
    producer = logged_in("producer")
    producer.goto(POLICY)
    producer.locator("#refused-table a").first.click()
    producer.get_by_text("3 variables of 2").wait_for()
    check_page(producer)
    producer.fill("#reason", "agreed with the ministry")
    producer.get_by_role("button", name="Propose").click()
    producer.wait_for_url("**/approvals")
    check_page(producer)
    producer.locator("#proposals a").first.click()
    producer.get_by_role("button", name="Withdraw proposal").wait_for()
    assert "Persons by" in producer.locator("h1").inner_text()
    check_page(producer)
    assert producer.locator("button[value=approve]").count() == 0
    second = Principal(name="pia", kind="session", grants=(Grant("producer"),))
    waiting = studio.service.approvals.proposals(second, ProposalState.open)
    [open_one] = [one for one in waiting if one.kind is ProposalKind.refusal_override]
    with studio.service.database.writing() as connection:
        studio.service.approvals.approve(connection, open_one.id, second, digest=open_one.digest)
    page = logged_in("auditor")
    assert "verify the audit trail" in page.locator("main").inner_text()
    for name in ("Administration", "Overrides of refusals"):
        page.get_by_role("link", name=name).press("Enter")
        page.get_by_role("heading", level=1, name=name).wait_for()
    check_page(page)
    row = page.locator("#rows tbody tr").first
    told = row.locator("td").all_inner_texts()
    assert told[1:] == ["P2", "paul", "pia", "agreed with the ministry"]
    page.goto("/administration/trail?kind=refusal_overridden")
    row = page.locator("#rows tbody tr").first
    assert "overrode the refusal of a table of census 2022-1 (rule P2)" in row.inner_text()
    row.locator("summary").press("Enter")
    assert "refusal_overridden" in row.locator("code").inner_text()
    check_page(page)
    page.get_by_role("button", name="Verify audit trail").press("Enter")
    page.get_by_text("The audit trail is complete and unchanged.").wait_for()
    check_page(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name=re.compile("Export audit trail")).click()
    lines = waiting.value.path().read_text("utf-8").splitlines()
    assert any('"refusal_overridden"' in line for line in lines)
    assert '"trail_exported"' in lines[-1]


def test_dashboard_is_printed_without_what_is_pressed(logged_in: LoggedIn) -> None:
    page = logged_in("custodian")
    page.goto("/quality/census/2022-1")
    assert page.locator("nav.pages").is_visible()
    page.emulate_media(media="print")
    assert not page.locator("nav.pages").is_visible()
    assert page.locator("#exposure").is_visible()
    assert page.locator("main a.button:visible").count() == 0
