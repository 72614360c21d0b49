"""All pages in one table: who reads each, its heading, in two languages, and what none tells."""

import html
import json
import re
from typing import Any

import pytest
from fastapi.routing import APIRoute

from discreet.operations import OPERATIONS
from tests.helpers.served_studio import _is_told, planted
from tests.service.studio.conftest import GERMAN, HTML

NOBODY = ""
ADMIN, AUDITOR, REQUESTER, METHODS = {"adam"}, {"otto"}, {"rita"}, {"mira"}
PRODUCERS, CUSTODIANS = {"paul", "pia"}, {"cora", "carl"}
REVIEWERS, RESEARCHER = {"vera", "viktor"}, {"rosa"}
READERS = {NOBODY} | ADMIN | AUDITOR | REQUESTER | METHODS | PRODUCERS | CUSTODIANS
EVERYBODY = READERS | REVIEWERS | RESEARCHER
#: One of each role is enough where roles alone count.
ONE_OF_EACH = EVERYBODY - {"pia", "carl", "viktor"}
_POLICY = "/policies/census/2022-1"
#: Path → its headings, and who reads it.
PAGES: dict[str, tuple[str, str, set[str]]] = {
    "/help": ("Help", "Hilfe", EVERYBODY),
    "/login": ("Login", "Anmeldung", EVERYBODY),
    "/login/password": ("New password", "Neues Kennwort", EVERYBODY - {NOBODY}),
    "/account": ("My account", "Mein Konto", EVERYBODY - {NOBODY}),
    "/approvals": ("Approvals", "Genehmigungen", EVERYBODY - {NOBODY}),
    "/tables": ("Build a table", "Tabelle bauen", READERS),
    "/tables/census": ("Census (synthetic)", "Zensus (synthetisch)", READERS),
    "/releases": ("Releases", "Veröffentlichungen", EVERYBODY),
    "/releases/census-2022": ("Census (synthetic)", "Zensus (synthetisch)", EVERYBODY),
    "/jobs": ("My jobs", "Meine Aufträge", REQUESTER | PRODUCERS),
    "/programmes": ("Table programmes", "Tabellenprogramme", PRODUCERS),
    "/programmes/new": ("New programme", "Neues Tabellenprogramm", PRODUCERS),
    "/designs": ("Perturbation design", "Überlagerung entwerfen", CUSTODIANS | METHODS),
    "/designs/sets": ("Parameter sets", "Parametersätze", CUSTODIANS | METHODS),
    "/submissions": ("My submissions", "Meine Einreichungen", RESEARCHER),
    "/submissions/1": ("Submission 1:", "Einreichung 1:", RESEARCHER),
    "/reviews": ("Output checking", "Geheimhaltungsprüfung", REVIEWERS),
    "/reviews/1": ("Submission 1:", "Einreichung 1:", REVIEWERS),
    "/quality": ("Risk and quality", "Risiko und Qualität", PRODUCERS | CUSTODIANS | METHODS),
    "/quality/census/2022-1": ("Census (synthetic) 2022-1", "Zensus (synthetisch) 2022-1",
                               PRODUCERS | CUSTODIANS | METHODS),
    "/policies": ("Policies", "Geheimhaltungsregeln", PRODUCERS | CUSTODIANS | AUDITOR),
    _POLICY: ("Policy: census 2022-1", "Geheimhaltungsregeln: census 2022-1",
              PRODUCERS | CUSTODIANS | AUDITOR),
    f"{_POLICY}/areas/person": ("Areas: Persons", "Gebiete: Personen", CUSTODIANS),
    "/people": ("People", "Personen", ADMIN),
    "/administration": ("Administration", "Verwaltung", ADMIN | PRODUCERS | AUDITOR),
    "/administration/trail": ("Audit trail", "Prüfprotokoll", AUDITOR),
    "/administration/log": ("Query log", "Abfrageprotokoll", AUDITOR),
    "/administration/overrides": ("Overrides of refusals", "Aufgehobene Ablehnungen", AUDITOR),
    "/methods": ("Methods", "Verfahren", PRODUCERS),
    **{f"/{row.page}": (row.words(row.name)["title"], row.words(row.name, "de")["title"], PRODUCERS)
       for row in OPERATIONS.values() if row.page},
}  # fmt: skip
#: Who may send which forms with a token of their own.
FORMS: dict[str, set[str]] = {
    "/administration/trail/verify": AUDITOR,
    "/administration/datasets/nothing/1": PRODUCERS,
    "/programmes/new": PRODUCERS,
    f"/programmes/{'0' * 32}/run": PRODUCERS,
    f"/programmes/{'0' * 32}/drafts/{'0' * 32}/publish": PRODUCERS,
    "/designs": CUSTODIANS | METHODS,
    "/designs/sets/nothing/1/look": CUSTODIANS | METHODS,
    f"{_POLICY}/changes": CUSTODIANS,
    f"{_POLICY}/refusals/{'0' * 64}": PRODUCERS,
    "/people": ADMIN,
    "/submissions": RESEARCHER,
    "/reviews/1/decide": REVIEWERS,
    "/reviews/1/act": REVIEWERS,
    **{f"/{row.page}": PRODUCERS for row in OPERATIONS.values() if row.page},
}
_FIELDS = {"act": "retire", "reason": "none", "release": "x", "name": "", "query": "[]"}


def test_the_table_names_every_page(readers: Any) -> None:
    """Those without a name of something in their path."""
    paths = {
        route.path
        for route in readers.app.routes
        if isinstance(route, APIRoute) and "GET" in route.methods and not route.include_in_schema
    }
    plain = {path for path in paths if "{" not in path and not path.startswith("/login/oidc")}
    own = {"/"}  # `test_home`
    assert plain - own <= PAGES.keys() | {
        f"/{each.path[1:]}" for each in readers.app.state.navigation
    }


@pytest.mark.parametrize("path", PAGES)
def test_page(readers: Any, path: str) -> None:
    english, german, allowed = PAGES[path]
    for name in sorted(ONE_OF_EACH):
        answer = readers.browser(name).get(path, headers=HTML)
        refused = 401 if not name else 403
        if path in ("/account", "/login/password") and not name:
            refused = 303
        assert answer.status_code == (200 if name in allowed else refused), name
        if name not in allowed:
            assert english not in re.sub(r"<nav.*?</nav>", "", answer.text, flags=re.DOTALL), name
    reader = min(allowed)
    for head, language, title in ((HTML, "en", english), (GERMAN, "de", german)):
        answer = readers.browser(reader).get(path, headers=head)
        assert f'<html lang="{language}">' in answer.text
        headings = re.findall(r"<h1>(.*?)</h1>", answer.text)
        assert len(headings) == 1
        assert html.unescape(headings[0]).startswith(title)
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        for word in (" style=", "<style", " onclick", "javascript:", "built-in", "object at"):
            assert word not in answer.text


def test_no_page_tells_what_is_planted(readers: Any) -> None:
    passwords = json.loads((readers.folder / "DEMONSTRATION.json").read_text("utf-8"))["passwords"]
    secrets = planted(readers.folder, passwords)
    assert {"a true sum", "a perturbation table"} <= set(secrets)
    for path, (_, _, allowed) in PAGES.items():
        body = readers.browser(min(allowed)).get(path, headers=HTML).content
        assert [name for name, forms in secrets.items() if any(_is_told(f, body) for f in forms)
                ] == [], path  # fmt: skip
        assert str(readers.folder).encode() not in body, path


def test_navigation_leads_to_nothing_that_is_refused(readers: Any) -> None:
    for name in sorted(EVERYBODY):
        text = readers.page("/", name)
        part = text[text.index('<nav class="pages"') :]
        links = set(re.findall(r'href="(/[a-z]+)"', part[: part.index("</nav>")]))
        known = {path for path in links if path in PAGES}
        assert known
        assert all(name in PAGES[path][2] for path in known)


@pytest.mark.parametrize("path", FORMS)
def test_forms_by_role(readers: Any, path: str) -> None:
    for name in sorted(ONE_OF_EACH - {NOBODY}):
        answer = readers.post(path, _FIELDS, name)
        assert (answer.status_code != 403) is (name in FORMS[path]), (name, answer.text[-800:])
