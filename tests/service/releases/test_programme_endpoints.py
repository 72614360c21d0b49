"""Producers hand programmes in, check and run them, look at drafts and publish these."""

import json
import shutil
from pathlib import Path

import pytest

from discreet.microdata import Secret
from discreet.release import carry_out
from discreet_service.audit.trail import AuditKind
from discreet_service.datasets.versions import open_version
from discreet_service.jobs.context import JobContext
from discreet_service.permissions import Grant
from discreet_service.problems import ServiceError
from discreet_service.releases.drafts import RELEASE, run_programme
from discreet_service.releases.programmes import method_choices, opened_inputs
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.service_callers import KnownCaller, app_of_known
from tests.helpers.service_data import OPEN_POLICY, write_policy

API = "/api/v1/programmes"
DATASET = """
[dataset]
id = "census"
version = "2026-1"
title = { en = "Census", de = "Zensus" }
geography = ["region", "state"]
public_codes = ["occupation"]

[units.person]
source = "persons"
variables = ["region", "sex", "age5"]

[units.dwelling]
source = "dwellings"
variables = ["region"]
"""
GOOD = """
dataset = "census"
title = { en = "People", de = "Leute" }
languages = ["en", "de"]
date = "2026-12-01"

[defaults]
formats = ["csv"]

[tables.people]
by = ["region", "sex"]
title = { en = "People by region and sex", de = "Leute nach Region und Geschlecht" }

[tables.homes]
from = "dwellings"
by = ["region"]
title = { en = "Homes", de = "Wohnungen" }
figures.homes = { kind = "count", title = { en = "Homes", de = "Wohnungen" } }
figures.area = { kind = "mean", of = "area", unit = "m²" }
"""


class Staff(KnownCaller):
    """Somebody who hands in programmes."""

    def hand_in(self, text, **more):
        headers = {"Content-Type": "application/toml"}
        return self.post(API, content=text, headers=headers, **more)


@pytest.fixture(scope="module")
def service(office, verify_key, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programmes")
    place = folder / "datasets" / "census-2026-1"
    place.parent.mkdir()
    shutil.copytree(office, place)
    (place / "DATASET.toml").write_text(DATASET, "utf-8")
    policy = OPEN_POLICY.replace('"2022-1"', '"2026-1"')
    custodian = write_policy(place, folder, policy)
    Secret.generate().write(folder / "service.secret")
    (folder / "releases").mkdir()
    settings = ServiceSettings(
        folder=folder,
        datasets=folder / "datasets",
        releases=(folder / "releases",),
        secret_file=folder / "service.secret",
        trusted_signers=(verify_key, custodian),
        limits=LimitSettings(requests_per_second=1e6, burst=10**6, anonymous_per_second=1e6),
    )
    found = Service(settings)
    found.datasets.publish("census", "2026-1", "berta")
    yield found
    found.close()


@pytest.fixture(scope="module")
def app(service):
    return app_of_known(service, ("programmes", "releases", "approvals"))


@pytest.fixture
def anna(app):
    return Staff(app, Grant("producer", "census"), name="anna")


def run(service, job):
    """Do the job, as a worker would."""
    told = []
    folder = service.settings.folder / "work"
    folder.mkdir(exist_ok=True)
    context = JobContext(
        service=service,
        job=service.jobs.job(job, None),
        folder=folder,
        report=lambda done, step: told.append((done, step)),
        cancelled=lambda: False,
    )
    output = run_programme(context)
    assert told
    assert told[-1][0] == 100
    return json.loads(output.content)


def test_a_draft_of_an_ended_version_is_neither_proposed_nor_approved(
    service, anna, app, monkeypatch
):
    programme = anna.hand_in(GOOD).json()["id"]
    draft = anna.post(f"{API}/{programme}:run", headers={"Idempotency-Key": "ended"}).json()["id"]
    run(service, draft)
    asked = {"draft": draft, "release": "ended", "reason": "it is due"}
    asked["confirm"] = anna.post(f"{API}/{programme}:publish", json=asked).json()["confirm"]
    done = anna.post(f"{API}/{programme}:publish", json=asked).json()

    def ended(*_):
        raise ServiceError("the version is no longer used", code="version-retired")

    monkeypatch.setattr(service.datasets, "version", ended)
    assert anna.post(f"{API}/{programme}:publish", json=asked).status_code == 410
    berta = Staff(app, Grant("producer"), name="berta")
    agree = f"/api/v1/proposals/{done['proposal']}:approve"
    assert berta.post(agree, json={"digest": done["digest"]}).status_code == 410
    assert "ended" not in service.releases.releases()


def test_from_programme_to_release(service, anna, app):
    created = anna.hand_in(GOOD)
    assert created.status_code == 201, created.text
    programme = created.json()["id"]
    assert created.headers["location"] == f"{API}/{programme}"
    assert anna.get(f"{API}/{programme}/text").text == GOOD
    checked = anna.post(f"{API}/{programme}:validate").json()
    for price in checked["prices"]:
        assert price.pop("exposure") >= 1
        assert price.pop("method") == "noise"
        assert price.pop("margin") in (5, None)  # none is stated of tables with sums
        assert {rule["outcome"] for rule in price.pop("rules")} <= {"passed", "later"}
    assert checked == {
        "valid": True,
        "dataset": "census",
        "version": "2026-1",
        "tables": ["people", "homes"],
        "prices": [
            {"table": "people", "cells": 72, "allowed": True, "text": ""},
            {"table": "homes", "cells": 48, "allowed": True, "text": ""},
        ],
        "problems": [],
    }
    started = anna.post(f"{API}/{programme}:run", headers={"Idempotency-Key": "one"})
    assert started.status_code == 202
    again = anna.post(f"{API}/{programme}:run", headers={"Idempotency-Key": "one"})
    draft = started.json()["id"]
    assert again.json()["id"] == draft
    early = anna.get(f"{API}/{programme}/drafts/{draft}")
    assert early.status_code == 409
    summary = run(service, draft)
    assert str(service.settings.folder) not in json.dumps(summary)
    assert anna.get(f"{API}/{programme}").json()["drafts"] == [draft]

    seen = anna.get(f"{API}/{programme}/drafts/{draft}?release=people").json()
    assert [each["change"] for each in seen["changes"]] == ["new", "new"]
    file = anna.get(f"{API}/{programme}/drafts/{draft}/files/people.csv")
    assert file.headers["cache-control"] == "no-store"

    asked = {"draft": draft, "release": "people"}
    first = anna.post(f"{API}/{programme}:publish", json=asked).json()
    assert first["published"] is False
    assert service.releases.releases() == {}
    wrong = anna.post(f"{API}/{programme}:publish", json={**asked, "confirm": "0" * 32})
    assert wrong.status_code == 412
    berta = Staff(app, Grant("producer"), name="berta")
    other = berta.post(f"{API}/{programme}:publish", json={**asked, "confirm": first["confirm"]})
    assert other.status_code == 412
    again = {**asked, "confirm": first["confirm"]}
    assert anna.post(f"{API}/{programme}:publish", json=again).status_code == 422, "no reason"
    done = anna.post(f"{API}/{programme}:publish", json={**again, "reason": "it is due"}).json()
    assert done["published"] is False
    assert service.releases.releases() == {}
    agree = f"/api/v1/proposals/{done['proposal']}:approve"
    assert anna.post(agree, json={"digest": done["digest"]}).status_code == 409
    assert berta.post(agree, json={"digest": "0" * 64}).status_code == 412
    assert service.releases.releases() == {}
    assert berta.post(agree, json={"digest": done["digest"]}).status_code == 200
    release = service.releases.release("people")
    assert release.identity == summary["seal"] == first["seal"]
    assert sorted(path.name for path in release.files.folder.iterdir()) == sorted(
        [*release.published, "release.seal"]
    )
    table = service.releases.table("people.people")
    assert table.provenance.time == "2026-12-01"
    assert release.seal.programme == "programme.toml"
    acts = [each.kind for each in service.trail.search().rows]
    assert AuditKind.programme_uploaded.value in acts
    (entry,) = service.trail.search(kind=AuditKind.release_published).rows
    assert json.loads(entry.facts)["persons"] == ["anna", "berta"]

    # The same once more: nothing has changed; the word of before holds no longer.
    late = anna.post(f"{API}/{programme}:publish", json={**asked, "confirm": first["confirm"]})
    assert late.status_code == 412
    second = anna.post(f"{API}/{programme}:publish", json=asked).json()
    assert [each["change"] for each in second["changes"]] == ["same", "same"]
    assert second["replaces"] == release.identity


def test_a_killed_run_is_taken_up_again(service, anna):
    programme = anna.hand_in(GOOD).json()["id"]
    draft = anna.post(f"{API}/{programme}:run").json()["id"]
    job = service.jobs.job(draft, None)
    steps = []

    def report(done, step):
        steps.append(done)

    stopped = JobContext(
        service=service, job=job, folder=Path(), report=report, cancelled=lambda: len(steps) > 1
    )
    with pytest.raises(ServiceError, match="was stopped"):
        run_programme(stopped)
    assert anna.get(f"{API}/{programme}/drafts/{draft}").status_code == 409
    summary = run(service, draft)
    assert summary["cells"] > 0
    # The data set has noise for rents, too, of which these tables need nothing.
    assert "rent" in service.datasets.version("census").parameters.magnitudes
    assert summary["warnings"] == []


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ('[data]\nsource = "/etc/passwd"', "data"),
        ('[keys]\nsecret_file = "../../other/secret.key"', "keys"),
        ('[sources.x]\nsource = "x.csv"', "sources"),
        ('[perturbation]\ntable = "mine.json"', "perturbation"),
        ('[parameters]\npackage = "x.dcparams"', "parameters"),
        ("[parts]\nenabled = false", "parts"),
        ("[attacks]\naverage = 1.0", "attacks"),
        ("[figures]\nbracket_above = 9.0", "figures"),
        ('[release]\nsign = "/root/key"', "release"),
        ('[quality]\ninternal = "/tmp/x"', "quality"),
        ('[suppression]\nearlier = ["/srv"]', "suppression"),
        ('[variables.x]\nhierarchy = "/etc/passwd"', "variables"),
        ("[protection.x]\na = 1", "protection"),
        ('[tables.t]\nby = []\nmarks = "/etc/passwd"', "tables.t.marks"),
        ('[tables.t]\nby = []\nrules = "mine"', "tables.t.rules"),
        ("[tables.t]\nby = []\nparts = { max_share_small = 1.0 }", "tables.t.parts"),
        ('[tables.t]\nby = []\nofficial = "true"', "tables.t.official"),
        ('[tables.t]\nby = []\nweight = "w"', "tables.t.weight"),
        ('[tables."t.by"]\nmarks = "x"', 'tables."t.by"'),
        ('[tables."*"]\nfigures."*"."protect" = 1', 'tables."*"'),
    ],
)
def test_what_the_data_set_says_cannot_be_said_here(anna, service, more, where):
    before = list(service.settings.folder.glob("programmes/*"))
    found = anna.hand_in(f"{GOOD}\n{more}\n")
    assert found.status_code == 422, found.text
    places = [each["where"] for each in found.json()["problems"]]
    assert any(place.endswith(where) or f"{where}." in place for place in places), places
    assert all(place.startswith("line ") for place in places)
    assert list(service.settings.folder.glob("programmes/*")) == before


def test_methods_and_rules_of_tables_are_those_that_the_data_set_admits(office, tmp_path):
    """Noise for what queries give, and another method for a value that they do not give."""
    place, programme = tmp_path / "data", tmp_path / "programme.toml"
    shutil.copytree(office, place)
    (place / "DATASET.toml").write_text(DATASET, "utf-8")
    text = (place / "programme.toml").read_text("utf-8")
    begin = text.index("[magnitudes.rent]")
    text = text[:begin] + text[text.index("[magnitudes.area]") :]
    text = text.replace("[parts]\nenabled = false", "[parts]\nenabled = true")
    text = text.replace("[defaults]\n", "[defaults]\nround_to = 5\n")
    own = 'from = "dwellings"\nby = ["region"]\nprotect = "unit-noise"\nvalue = ["rent"]\n'
    noise = '[protection.unit-noise]\np_percent = 0\nchance = 1\nsecret_file = "secret.key"\n'
    (place / "programme.toml").write_text(
        f"{text}\n{noise}\n[tables.rents]\n{own}round_to = 1", "utf-8"
    )
    version = open_version(place, b"key")
    choices = {(one.name, one.value): one.reason for one in method_choices(version, "dwellings")}
    assert {chosen for chosen, reason in choices.items() if not reason} == {
        ("noise", ""),
        ("unit-noise", "rent"),
    }
    assert "disclose" in choices["suppress", ""]

    def opened(table):
        programme.write_text(f'dataset = "census"\n[tables.t]\n{table}', "utf-8")
        return opened_inputs(programme, version)

    carry_out(opened(own), tmp_path / "rents")
    assert opened('by = ["region"]\nround_to = 10\nparts = { enabled = true }')
    for table, key in (
        ('by = ["region"]\nprotect = "suppress"', "protect"),
        ('by = ["region"]\nprotect = "rounding"', "protect"),
        (own.replace("dwellings", "persons"), "protect"),
        (own.replace("rent", "area"), "value"),
        ('by = ["region"]\nround_to = 2', "round_to"),
        ('by = ["region"]\nparts = { enabled = false }', "parts"),
    ):
        with pytest.raises(ServiceError) as caught:
            opened(table)
        assert key in [one.where.rpartition(".")[2] for one in caught.value.problems], table


def test_everything_that_is_wrong_is_told_at_once_with_lines(anna, service):
    text = """dataset = "census"

[tables.a]
by = ["regoin", "person_id"]
where = "person_id == '1'"

[tables.b]
from = "dwelings"
by = ["region"]
formats = ["docx"]
figures.x = { kind = "mean" }
"""
    programme = anna.hand_in(text).json()["id"]
    found = anna.post(f"{API}/{programme}:validate").json()
    assert found["valid"] is False
    told = {each["where"]: each for each in found["problems"]}
    assert told["line 4, tables.a.by[0]"]["hint"] == "closest match: 'region'"
    assert "line 4, tables.a.by[1]" in told
    assert "identifiers" in told["line 5, tables.a.where"]["message"]
    assert any(where.startswith("line 8, tables.b.from") for where in told)
    assert any(where.startswith("line 10, tables.b.formats") for where in told)
    assert any("tables.b.figures.x" in where for where in told)
    assert str(service.settings.folder) not in json.dumps(found)
    assert anna.post(f"{API}/{programme}:run").status_code == 422


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"\xff\xfe", 422),
        (b"dataset = ", 422),
        (b"[" * 3000, 422),
        (b"", 422),
        (b'dataset = "census"', 422),
        (b'dataset = "nothing"\n[tables.a]\nby = ["sex"]', 403),
        (b'dataset = "census"\nversion = "9"\n[tables.a]\nby = ["sex"]', 404),
        (b"dataset = 7\n[tables.a]\nby = ['sex']", 422),
        (b"x = 1\n" + b"#" * 1_000_001, 413),
    ],
)
def test_what_is_no_programme_is_refused(anna, text, status):
    assert anna.hand_in(text).status_code == status


def test_others_learn_of_no_programme(anna, app):
    programme = anna.hand_in(GOOD).json()["id"]
    stranger = Staff(app, Grant("producer", "labour"), name="carl")
    assert stranger.get(API).json()["programmes"] == []
    for path in ("", "/text", f"/drafts/{'0' * 32}"):
        assert stranger.get(f"{API}/{programme}{path}").status_code == 404
    for act in (":validate", ":run"):
        assert stranger.post(f"{API}/{programme}{act}").status_code == 404
    assert stranger.hand_in(GOOD).status_code == 403
    reader = Staff(app, Grant("reader"), name="rita")
    assert reader.get(API).status_code == 403
    assert reader.hand_in(GOOD).status_code == 403
    for number in ("..", "%2e%2e", "0" * 31, "0" * 32, "g" * 32):
        assert anna.get(f"{API}/{number}/text").status_code == 404


def test_drafts_nobody_signed_are_not_published(service, anna):
    programme = anna.hand_in(GOOD).json()["id"]
    draft = anna.post(f"{API}/{programme}:run").json()["id"]
    run(service, draft)
    folder = service.settings.folder / "programmes" / programme / "drafts" / draft / RELEASE
    path = folder / "people.csv"
    path.write_bytes(path.read_bytes() + b"\n")
    found = anna.post(f"{API}/{programme}:publish", json={"draft": draft, "release": "other"})
    assert found.status_code == 409
    assert "other" not in service.releases.releases()


def test_publishing_names_are_plain(anna):
    programme = anna.hand_in(GOOD).json()["id"]
    for name in ("../x", "a/b", ".x", ""):
        found = anna.post(f"{API}/{programme}:publish", json={"draft": "0" * 32, "release": name})
        assert found.status_code == 422
