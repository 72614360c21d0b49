"""Packages come into use by two persons, and no other package takes their place."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import sqlalchemy as sa

from discreet.release.packages import write_key_pair
from discreet_service.database.schema import PARAMETER_SETS
from discreet_service.parameter_sets import SetState
from discreet_service.people import Proposal, ProposalKind
from discreet_service.permissions import Grant, Principal
from discreet_service.problems import ServiceError
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.service_cells import CellService
from tests.helpers.service_people import code_of

ACTIVATION = ProposalKind.parameter_activation
RETIREMENT = ProposalKind.parameter_retirement


@pytest.fixture
def served(tmp_path: Path, service_url: str) -> Iterator[CellService]:
    found = CellService.of(tmp_path, database=service_url)
    yield found
    found.service.close()


def proposed(served: CellService, *version: str, **more: str) -> None:
    with served.service.database.writing() as connection:
        package = served.package(*version, **more)
        served.service.parameter_sets.propose(connection, package, "anna")


def refused(code: str, served: CellService, version: str | None = None) -> None:
    with pytest.raises(ServiceError) as caught:
        served.service.parameter_sets.parameters("census", version)
    assert caught.value.code == code


def test_a_set_is_used_from_activation_to_retirement(served: CellService) -> None:
    sets = served.service.parameter_sets
    refused("unknown-parameter-set", served)
    proposed(served)
    refused("unknown-parameter-set", served, "1")
    served.agree(ACTIVATION)
    found, opened = sets.parameters("census")
    assert found.state is SetState.active
    assert opened is sets.parameters("census", "1")[1], "it is opened once"
    assert opened.version == "1"
    served.agree(RETIREMENT)
    refused("version-retired", served, "1")
    acts = [line for line in served.service.trail.export() if "parameters_" in line]
    assert len(acts) == 3
    assert "anna" in acts[1]
    assert "otto" in acts[1]


def test_one_set_is_in_use_and_the_act_that_brings_the_next_ends_it(served: CellService) -> None:
    served.in_use("1")
    served.clock.later(seconds=1)
    served.in_use("2")
    sets = served.service.parameter_sets
    one, two = sets.sets()
    assert (one.state, two.state) == (SetState.retired, SetState.active)
    assert one.retired == two.activated == served.clock.now
    assert sets.parameters("census")[0].version == "2"
    refused("version-retired", served, "1")
    acts = re.findall("parameters_(activated|retired)", "".join(served.service.trail.export()))
    assert acts == ["activated", "retired", "activated"]


def test_of_two_sets_that_an_earlier_service_left_in_use_the_last_one_holds(
    served: CellService,
) -> None:
    served.in_use("1")
    served.clock.later(seconds=1)
    served.in_use("2")
    with served.service.database.writing() as connection:
        connection.execute(sa.update(PARAMETER_SETS).values(state="active"))
    assert served.service.parameter_sets.parameters("census")[0].version == "2"
    refused("version-retired", served, "1")


@pytest.mark.parametrize("decider", ["", "anna", "Anna "])
def test_one_person_is_not_two(served: CellService, decider: str) -> None:
    """Whoever hands the proposal in: the registry looks itself."""
    proposed(served)
    agreed = SimpleNamespace(subject="census@1", id="0" * 32, proposer="anna", decider=decider)
    with (
        pytest.raises(ServiceError) as caught,
        served.service.database.writing() as connection,
    ):
        served.service.parameter_sets.activate(connection, cast("Proposal", agreed))
    assert caught.value.code == "second-person"
    assert served.service.parameter_sets.show("census", "1").state is SetState.proposed


def test_old_packages_do_not_come_back(served: CellService) -> None:
    served.in_use("3")
    for version in ("3", "2", "final"):
        assert code_of(proposed, served, version) == "conflict"
    served.agree(RETIREMENT, "3")
    with pytest.raises(ServiceError, match="the version exists already"):
        proposed(served, "3")
    with pytest.raises(ServiceError, match="this set is already retired"):
        served.agree(ACTIVATION, "3")
    refused("version-retired", served, "3")
    proposed(served, "4")


def test_a_version_that_was_overtaken_is_not_activated(served: CellService) -> None:
    proposed(served, "1")
    served.in_use("2")
    with pytest.raises(ServiceError, match="newer version"):
        served.agree(ACTIVATION, "1")


def test_other_signers_and_changed_packages_are_refused(served: CellService) -> None:
    write_key_pair(served.folder / "stranger")
    with pytest.raises(
        ServiceError, match="the signer of the package is not trusted by this service"
    ):
        proposed(served, "1", signer="stranger")
    sets, package = served.service.parameter_sets, served.package("1")
    for wrong in (package[:-1], package[:400] + b"x" + package[401:], b"DCPARAMS", b""):
        with (
            pytest.raises(ServiceError, match="valid signature"),
            served.service.database.writing() as connection,
        ):
            sets.propose(connection, wrong, "anna")
    assert not list((served.folder / "parameters").glob("*.dcparams"))
    assert sets.sets() == ()


def test_a_file_that_was_changed_on_the_disk_is_not_used(served: CellService) -> None:
    served.in_use("1")
    file = served.service.parameter_sets.show("census", "1").file
    place = served.folder / "parameters" / f"{file}.dcparams"
    # Signed, of the same version, by the same office: and yet another one.
    place.write_bytes(served.package("1", perturbation={"suppress_below": 9}))
    refused("data-not-ready", served)
    place.unlink()
    refused("data-not-ready", served)


def test_nothing_of_the_content_is_told(served: CellService) -> None:
    served.in_use("1")
    app = AsgiBrowser(served.app())
    head = {"Authorization": f"Bearer {served.key()}"}
    listed = app.get("/api/v1/parameter-sets", headers=head).json()["parameter_sets"]
    assert [(each["name"], each["state"]) for each in listed] == [("census", "active")]
    shown = app.get("/api/v1/parameter-sets/census/1", headers=head).json()
    assert set(shown) == {
        *("name", "version", "state", "digest", "file", "signer"),
        *("imported", "activated", "retired"),
    }
    assert repr(served.service.parameter_sets) == "<ParameterSets: secret>"
    assert app.get("/api/v1/parameter-sets/census/9", headers=head).status_code == 404
    assert app.get("/api/v1/parameter-sets").status_code == 401


def test_packages_come_over_http_and_into_use_by_approval(served: CellService) -> None:
    app = AsgiBrowser(served.app())
    heads = {
        name: {"Authorization": f"Bearer {served.key('custodian', name)}"}
        for name in ("anna", "otto")
    }
    where = "/api/v1/parameter-sets"
    tool = {"Authorization": f"Bearer {served.key()}"}
    sent = {"content": served.package("1")}
    kind = {"Content-Type": "application/octet-stream"}
    assert app.post(where, headers=tool | kind, **sent).status_code == 403
    made = app.post(where, headers=heads["anna"] | kind, **sent)
    assert made.status_code == 201, made.text
    why = {"reason": "the census is due"}
    asked = app.post(f"{where}/census/1:activate", headers=heads["anna"], json=why)
    assert asked.status_code == 202, asked.text
    number, digest = asked.json()["proposal"], made.json()["file"]
    service = served.service
    persons = {
        name: Principal(name=name, kind="key", grants=(Grant("custodian"),)) for name in heads
    }
    with pytest.raises(ServiceError), service.database.writing() as connection:
        service.approvals.approve(connection, number, persons["anna"], digest=digest)
    with service.database.writing() as connection:
        service.approvals.approve(connection, number, persons["otto"], digest=digest)
    assert service.parameter_sets.parameters("census")[0].state is SetState.active
    again = app.post(f"{where}/census/1:retire", headers=heads["otto"], json=why)
    assert again.status_code == 202, again.text
    with service.database.writing() as connection:
        number = again.json()["proposal"]
        service.approvals.approve(connection, number, persons["anna"], digest=digest)
    refused("version-retired", served, "1")
