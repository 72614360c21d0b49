"""Policies as pages: who sees what, two persons for each change, and overrides that are found."""

import re
from typing import Any

import pytest

from discreet.release.packages.keys import read_signing_key
from discreet_service.permissions import Grant
from discreet_service.policies import PolicyDocument, sign_policy
from tests.helpers.asgi_browser import filled_form, form_of
from tests.service.studio.conftest import GERMAN, HTML, text_of

PAGE = "/policies/census/2022-1"
#: Refused by the number of its variables alone.
DEEP = "unit=person&by=region:municipality,sex,marital_status,education:1"


def test_only_custodians_read_the_whole_document(readers: Any) -> None:
    """The limits of averaging tell something of the noise."""
    document = readers.browser("cora").get("/api/v1/policies/census/2022-1/document").json()
    shown = readers.page(PAGE, "cora")
    assert document["digest"] in shown
    assert "everywhere = 60.0" in shown
    for name in ("paul", "otto"):
        text = readers.page(PAGE, name)
        assert "everywhere" not in text
        assert "6.37" not in text
        assert document["digest"] not in text
        assert "A caller may send up to 100 queries at once." in text
        assert "independent estimates" not in text
        assert f"{PAGE}/changes" not in text


def _signed(readers: Any, text: str) -> tuple[str, str]:
    """A policy and its signature, made with the office's key."""
    place = readers.folder / "changed-policy.toml"
    place.write_text(text, "utf-8")
    signature = sign_policy(place, read_signing_key(readers.folder / "office.key"))
    return text, signature.read_text("utf-8").strip()


def test_a_policy_is_changed_by_two_persons(readers: Any) -> None:
    in_force = readers.service.policies
    text = readers.browser("cora").get("/api/v1/policies/census/2022-1/document").json()["policy"]
    now = in_force.policy("census", "2022-1")
    bold = text.replace(f"revision = {now.revision}", f"revision = {now.revision + 1}")
    text, signature = _signed(readers, bold.replace("burst = 100", "burst = 90"))
    cora, carl = readers.browser("cora"), readers.browser("carl")
    given = {"policy": text, "signature": signature, "reason": "fewer at once"}
    # Browsers send lines of a form with both ends.
    sent = {**given, "policy": text.replace("\n", "\r\n")}
    answer = cora.submit(f"{PAGE}/changes", f"{PAGE}/changes", act="propose", **sent)
    assert (answer.status_code, answer.headers["location"]) == (303, "/approvals")
    assert in_force.policy("census", "2022-1").revision == now.revision
    path = readers.proposal("carl")
    change = readers.page(path, "carl")
    assert path in readers.page(PAGE, "cora")
    assert text_of(change, "differences") == (
        "Rule In force Proposed Direction Rates (P8) A caller may send up to 100 queries at once. "
        "A caller may send up to 90 queries at once. stricter"
    )
    own = cora.get(path, headers=HTML).text
    assert 'value="withdraw"' in own
    assert 'value="approve"' not in own
    fields = form_of(own, path)
    act = {**fields, "act": "approve", "reason": ""}
    assert cora.post(path, data=act, headers=HTML).status_code == 409
    assert in_force.policy("census", "2022-1").revision == now.revision
    carl.submit(path, path, act="approve", reason="")
    assert in_force.policy("census", "2022-1").rates.burst == 90
    history = readers.page(PAGE, "cora", **GERMAN)
    assert "abgelöst" in history


def test_second_person_sees_which_logged_tables_a_policy_would_refuse(readers: Any) -> None:
    """The same that the rules say of each table; what they cannot say without data is named."""
    readers.page("/tables/census/result?unit=person&by=region:state,marital_status", "rita")
    text = readers.browser("cora").get("/api/v1/policies/census/2022-1/document").json()["policy"]
    now = readers.service.policies.policy("census", "2022-1")
    bold = text.replace(f"revision = {now.revision}", f"revision = {now.revision + 1}")
    text, signature = _signed(readers, bold.replace("most = 4", "most = 0"))
    given = {"policy": text, "signature": signature, "reason": "geography alone"}
    form = f"{PAGE}/changes"
    sent = readers.browser("cora").submit(form, form, act="propose", **given)
    assert sent.status_code == 303
    path = readers.proposal("carl")
    shown = readers.page(path, "carl")
    effect = re.search(
        r"The policy in force refuses (\d+) of the latest (\d+) queries for (\d+) tables. "
        r"This policy would refuse (\d+)",
        shown,
    )
    assert effect
    refused, questions, tables, would_refuse = map(int, effect.groups())
    assert 1 <= tables <= questions
    assert refused < would_refuse <= questions
    assert "Persons by Marital status, Region" in text_of(shown, "effect-tables")
    readers.browser("cora").submit(path, path, act="withdraw")
    assert readers.service.policies.policy("census", "2022-1").variables.most == 4


@pytest.mark.parametrize("spoil", ["text", "signature", "nothing", "reason"])
def test_a_policy_that_cannot_hold_is_told_and_kept_in_the_form(readers: Any, spoil: str) -> None:
    text = readers.browser("cora").get("/api/v1/policies/census/2022-1/document").json()["policy"]
    text, signature = _signed(readers, text)
    given = {"policy": text, "signature": signature, "reason": "because of it"}
    if spoil == "text":
        given["policy"] = text.replace("least = 50", "least = 5")
    if spoil == "signature":
        given["signature"] = "ed25519 <b>00</b>"
    if spoil == "reason":
        given["reason"] = "-"
    sent = {**given, "act": "propose"}
    answer = readers.browser("cora").submit(f"{PAGE}/changes", f"{PAGE}/changes", **sent)
    # Nothing but the old revision is wrong with what is signed.
    assert answer.status_code == (409 if spoil in ("nothing", "reason") else 422), answer.text
    assert 'role="alert"' in answer.text
    assert "<b>00</b>" not in answer.text
    assert "least = 5\n" in answer.text or spoil != "text"
    assert readers.service.policies.policy("census", "2022-1").small_universes.least == 50


def _draft(readers: Any, act: str = "check", **limits: str) -> Any:
    """What the form says after some of its fields were changed."""
    path = f"{PAGE}/changes"
    fields = filled_form(readers.page(path, "cora"), path)
    changed = {name.replace("__", "."): value for name, value in limits.items()}
    assert changed.keys() <= fields.keys() | {"policy"}
    return readers.browser("cora").post(path, data={**fields, **changed, "act": act}, headers=HTML)


def test_limits_are_changed_in_a_form(readers: Any) -> None:
    """The form and the text are the same policy; the effect is that on past questions."""
    now = readers.service.policies.policy("census", "2022-1")
    readers.browser("rita").get(
        "/tables/census/result?unit=person&by=region:municipality,sex,education:1", headers=HTML
    )
    unchanged = _draft(readers)
    assert "No changes to the policy in force." in unchanged.text
    shown = _draft(readers, variables__depth__municipality="1", sparsity__share_small="35")
    assert "Tables by municipality use at most 1 other variables." in shown.text
    assert "At most 35% of the filled cells are small." in shown.text
    assert "Persons by Education, Region, Sex" in text_of(shown.text, "outcome")
    assert "not examined: P7" in text_of(shown.text, "outcome")
    file = _draft(readers, "file", variables__depth__municipality="1")
    assert file.headers["content-disposition"] == 'attachment; filename="POLICY.toml"'
    document = PolicyDocument.of_text(file.text)
    assert document.revision == now.revision + 1
    assert document.variables.depth["municipality"] == 1
    # The text that was signed is the text that is proposed, though the form was filled in.
    text, signature = _signed(readers, file.text)
    fields = {"variables.depth.municipality": "1", "signature": signature, "reason": "fewer"}
    answer = _draft(readers, "propose", **fields)
    assert answer.headers.get("location") == "/approvals", answer.text
    # A changed text fills in the form.
    text = text.replace("municipality = 1", "municipality = 3")
    filled = filled_form(_draft(readers, policy=text).text, f"{PAGE}/changes")
    assert filled["variables.depth.municipality"] == "3"
    assert filled["policy"] == filled["known"]


@pytest.mark.parametrize(("place", "value"), [("size.cells_job", "many"), ("sparsity.small", "-1")])
def test_what_is_no_limit_is_told_at_its_field(readers: Any, place: str, value: str) -> None:
    answer = _draft(readers, **{place: value})
    assert answer.status_code == 422
    field = re.search(rf'<input id="{re.escape(place)}"[^>]*>', answer.text)
    assert field
    assert 'aria-invalid="true"' in field[0]
    assert f'value="{value}"' in field[0]
    assert 'role="alert"' in answer.text


def test_areas_are_compared_without_numbers(readers: Any) -> None:
    told = readers.browser("cora").get("/api/v1/policies/census/2022-1/areas/person").json()
    text = readers.page(f"{PAGE}/areas/person", "cora")
    assert told["differences"]
    assert f"{len(told['differences']):,}" in text
    for first, one, second, other, _ in told["differences"][:50]:
        assert f">{first} {one}</th>" in text
        assert f">{second} {other}</td></tr>" in text
    assert readers.page(f"{PAGE}/areas/nothing", "cora", 404)
    kinds = readers.browser("otto").get("/api/v1/audit?kind=report_exported&person=cora").json()
    assert len(kinds["entries"]) >= 2


def test_an_auditor_finds_who_overrode_a_refusal(readers: Any) -> None:
    """A table is refused, two producers let it be answered, and it can be seen who they were."""
    readers.add("pia", Grant("producer"))
    path = f"/tables/census/result?{DEEP}"
    assert readers.browser("rita").get(path, headers=HTML).status_code == 403
    link = re.search(rf'href="({PAGE}/refusals/[0-9a-f]{{64}})"', readers.page(PAGE, "paul"))
    assert link
    why = readers.page(link[1], "paul")
    assert "3 variables of 2" in why
    assert "marital_status" in why
    reason = "<b>agreed</b> with the minister"
    answer = readers.browser("paul").submit(link[1], link[1], reason=reason)
    assert answer.headers["location"] == "/approvals"
    assert readers.browser("rita").get(path, headers=HTML).status_code == 403
    proposal = readers.proposal("pia")
    shown = readers.page(proposal, "pia")
    assert "3 variables of 2" in shown
    assert "Override of a refusal: Persons by " in shown
    # Who only looks is offered no decision.
    assert 'value="approve"' not in readers.page(proposal, "otto")
    readers.browser("pia").submit(proposal, proposal, act="approve", reason="")
    assert readers.browser("rita").get(path, headers=HTML).status_code == 200
    found = readers.page("/administration/overrides", "otto")
    row = next(each for each in re.findall(r"<tr>(.*?)</tr>", found, re.DOTALL) if ">pia<" in each)
    cells = [re.sub(r"<[^>]+>", "", each) for each in re.findall(r"<t[hd].*?</t[hd]>", row)]
    about = f"census@2022-1:{link[1].rpartition('/')[2]}"
    assert cells[1].startswith("Persons by ")
    assert about in cells[1]
    assert cells[2:] == ["P2", "paul", "pia", "&lt;b&gt;agreed&lt;/b&gt; with the minister"]
    assert ">pia<" not in readers.page("/administration/overrides?person=nobody", "otto")
    # Whoever does not look at overrides finds both in the trail.
    trail = readers.page(f"/administration/trail?about={about}", "otto")
    for kind in ("proposed", "approved", "refusal_overridden"):
        assert f" · {kind} · " in trail
