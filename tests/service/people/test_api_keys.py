"""Keys: shown once, never more than whom they belong to."""

import hmac
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from discreet.errors import DiscreetError
from discreet_service.people.callers import ApiKeys, NewApiKey
from discreet_service.permissions import Grant, Permission, Principal
from discreet_service.problems import ServiceError
from tests.helpers.service_people import LOCAL, PeopleOfService

CENSUS = Grant("requester", "census")


def made(people: PeopleOfService, *grants: Grant, days: int = 365) -> tuple[Principal, NewApiKey]:
    """Anna, who may ask about the census, with a key."""
    anna = people.logged_in("anna", CENSUS, Grant("reader"))
    key = people.keys.create(anna, name="nightly", grants=grants or (CENSUS,), days=days)
    return anna, key


def test_a_key_stands_for_whom_it_belongs_to(people: PeopleOfService) -> None:
    _, new = made(people)
    assert people.keys.principal(new.token) == Principal(
        name="anna", kind="key", grants=(CENSUS,), key=new.key.id
    )
    assert new.token.startswith(f"dsc_{new.key.id}_")
    assert len(new.token) == 4 + 12 + 1 + 43


def test_keys_are_nowhere_to_be_read(
    people: PeopleOfService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    _, new = made(people)
    people.keys.principal(new.token)
    secret = new.token.rpartition("_")[2]
    for text in (repr(new), repr(people.keys), people.everything_kept(), caplog.text):
        assert secret not in text
    assert all(secret not in repr(each) for each in people.keys.listed())


@pytest.mark.parametrize(
    "change",
    [
        lambda token: "",
        lambda token: token[:-1],
        lambda token: token + "a",
        lambda token: token + "\n",
        lambda token: token.upper(),
        lambda token: " " + token,
        lambda token: token[:-1] + ("a" if token[-1] != "a" else "b"),
        lambda token: "dsc_" + "0" * 12 + token[16:],
        lambda token: "é" * 60,
        lambda token: token.replace("dsc_", "xyz_"),
        lambda token: "dsc_" + "0" * 12 + "_" + "' OR 1=1 --" + "x" * 32,
    ],
)
def test_what_is_no_key_stands_for_nobody(
    people: PeopleOfService, change: Callable[[str], str]
) -> None:
    _, new = made(people)
    assert people.keys.principal(change(new.token)) is None


def test_keys_expire(people: PeopleOfService) -> None:
    _, new = made(people, days=2)
    people.clock.later(days=2, seconds=-1)
    assert people.keys.principal(new.token) is not None
    people.clock.later(seconds=1)
    # Also where the key was remembered a second ago.
    assert people.keys.principal(new.token) is None


def test_revoked_keys_are_over_at_once(people: PeopleOfService) -> None:
    anna, new = made(people)
    assert people.keys.principal(new.token) is not None
    people.keys.revoke(anna, new.key.id)
    assert people.keys.principal(new.token) is None
    assert people.keys.listed("anna")[0].revoked == people.clock.now


def test_other_processes_follow_within_seconds(people: PeopleOfService) -> None:
    anna, new = made(people)
    other = ApiKeys(people.database, people.trail, people.clock)
    assert other.principal(new.token) is not None
    people.keys.revoke(anna, new.key.id)
    people.clock.later(seconds=5)
    assert other.principal(new.token) is None


def test_a_clock_that_goes_back_remembers_nothing_for_longer(people: PeopleOfService) -> None:
    anna, new = made(people)
    other = ApiKeys(people.database, people.trail, people.clock)
    people.clock.later(hours=1)
    assert other.principal(new.token) is not None
    people.clock.later(hours=-1)
    people.keys.revoke(anna, new.key.id)
    assert other.principal(new.token) is None


def test_keys_lose_what_their_owner_loses(people: PeopleOfService) -> None:
    _, new = made(people)
    people.users.withdraw(LOCAL, "anna", CENSUS)
    people.clock.later(seconds=5)
    found = people.keys.principal(new.token)
    assert found is not None
    assert not found.may(Permission.query_run, "census")
    assert not found.may(Permission.catalogue_read)
    people.users.set_disabled(LOCAL, "anna", disabled=True)
    people.clock.later(seconds=5)
    assert people.keys.principal(new.token) is None


def test_roles_for_all_shrink_to_those_for_some(people: PeopleOfService) -> None:
    anna = people.logged_in("anna", Grant("requester"))
    new = people.keys.create(anna, name="all", grants=[Grant("requester")])
    people.users.withdraw(LOCAL, "anna", Grant("requester"))
    people.users.grant(LOCAL, "anna", CENSUS)
    found = people.keys.principal(new.token)
    assert found is not None
    assert found.grants == (CENSUS,)


@pytest.mark.parametrize(
    "grants",
    [(), (Grant("admin"),), (Grant("requester"),), (Grant("requester", "labour"),),
     (CENSUS, Grant("producer")), (Grant("nonsense"),)],
)  # fmt: skip
def test_keys_may_no_more_than_their_owner(
    people: PeopleOfService, grants: tuple[Grant, ...]
) -> None:
    anna = people.logged_in("anna", CENSUS)
    with pytest.raises(ServiceError):
        people.keys.create(anna, name="more", grants=grants)


def test_a_role_for_all_may_be_had_for_one(people: PeopleOfService) -> None:
    anna = people.logged_in("anna", Grant("requester"))
    new = people.keys.create(anna, name="one", grants=[CENSUS])
    found = people.keys.principal(new.token)
    assert found is not None
    assert found.grants == (CENSUS,)


def test_keys_are_made_in_person(people: PeopleOfService) -> None:
    anna, new = made(people)
    by_key = people.keys.principal(new.token)
    assert by_key is not None
    with pytest.raises(ServiceError, match="a key cannot create other keys"):
        people.keys.create(by_key, name="more", grants=[CENSUS])
    other = people.logged_in("otto", CENSUS)
    with pytest.raises(ServiceError, match="their owners, and by administrators for systems"):
        people.keys.create(other, name="as anna", grants=[CENSUS], owner="anna")
    # Not even by an administrator: nobody acts as another person.
    admin = people.logged_in("rosa", Grant("admin"))
    with pytest.raises(ServiceError, match="their owners, and by administrators for systems"):
        people.keys.create(admin, name="as anna", grants=[CENSUS], owner="anna")
    people.person("backend", Grant("service"), kind="system")
    people.keys.create(admin, name="backend", grants=[Grant("service")], owner="backend")
    with pytest.raises(ServiceError, match="their owners, and by administrators for systems"):
        people.keys.create(anna, name="x", grants=[Grant("service")], owner="backend")


@pytest.mark.parametrize("days", [0, -1, 731])
def test_keys_last_some_time(people: PeopleOfService, days: int) -> None:
    with pytest.raises(ServiceError, match="the validity of a key must be 1 to"):
        made(people, days=days)


@pytest.mark.parametrize("name", ["", " ", "a\tb\x07", "x" * 300, "a\u202eb", "\x00"])
def test_names_of_keys_can_be_read(people: PeopleOfService, name: str) -> None:
    anna = people.logged_in("anna", CENSUS)
    with pytest.raises(DiscreetError):
        people.keys.create(anna, name=name, grants=[CENSUS])


def test_nobody_has_keys_without_end(people: PeopleOfService) -> None:
    anna = people.logged_in("anna", CENSUS)
    for at in range(50):
        people.keys.create(anna, name=f"key {at}", grants=[CENSUS])
    with pytest.raises(ServiceError, match="the user has the maximum number of keys"):
        people.keys.create(anna, name="one more", grants=[CENSUS])


def test_keys_are_replaced_without_a_gap(people: PeopleOfService) -> None:
    anna, old = made(people, days=10)
    people.clock.later(days=4)
    new = people.keys.rotate(anna, old.key.id, overlap_hours=2)
    assert new.key.grants == old.key.grants
    assert new.key.expires - people.clock.now == old.key.expires - old.key.created
    assert people.keys.principal(old.token) is not None
    assert people.keys.principal(new.token) is not None
    people.clock.later(hours=2)
    assert people.keys.principal(old.token) is None
    assert people.keys.principal(new.token) is not None
    with pytest.raises(ServiceError, match="the key has expired or been replaced"):
        people.keys.rotate(anna, old.key.id)


def test_a_key_replaces_itself_and_no_other(people: PeopleOfService) -> None:
    anna, mine = made(people)
    other = people.keys.create(anna, name="another", grants=[CENSUS])
    by_key = people.keys.principal(mine.token)
    assert by_key is not None
    with pytest.raises(ServiceError, match="key not found"):
        people.keys.rotate(by_key, other.key.id)
    with pytest.raises(ServiceError, match="key not found"):
        people.keys.revoke(by_key, other.key.id)
    new = people.keys.rotate(by_key, mine.key.id)
    with pytest.raises(ServiceError, match="the key has expired or been replaced"):
        people.keys.rotate(by_key, mine.key.id)
    # What a thief made of a stolen key ends with it.
    people.keys.revoke(anna, mine.key.id)
    assert people.keys.principal(new.token) is None


def test_others_keys_are_not_there(people: PeopleOfService) -> None:
    _, new = made(people)
    otto = people.logged_in("otto", CENSUS)
    for number in (new.key.id, "0" * 12, "", "' OR 1=1", new.token):
        with pytest.raises(ServiceError, match="key not found") as found:
            people.keys.revoke(otto, number)
        assert found.value.code == "not-found"
    admin = people.logged_in("rosa", Grant("admin"))
    with pytest.raises(ServiceError, match="key not found"):
        people.keys.revoke(replace(admin, key="0" * 12), new.key.id)
    people.keys.revoke(admin, new.key.id)
    assert people.keys.principal(new.token) is None


def test_use_is_noted_by_the_hour(people: PeopleOfService) -> None:
    _, new = made(people)
    assert people.keys.listed()[0].last_used is None
    people.clock.later(minutes=10)
    people.keys.principal(new.token)
    used = people.keys.listed()[0].last_used
    assert used is not None
    assert used % 3_600_000 == 0


def test_a_full_disk_keeps_nobody_from_reading(
    people: PeopleOfService, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, new = made(people)

    def full() -> None:
        raise ServiceError("full", code="disk-full")

    monkeypatch.setattr(people.database, "writing", full)
    assert people.keys.principal(new.token) is not None


def test_the_work_does_not_tell_which_keys_there_are(
    people: PeopleOfService, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, new = made(people)
    wrong = new.token[:-2] + "zz" if new.token[-2:] != "zz" else new.token[:-2] + "yy"
    nobody = "dsc_" + "0" * 12 + new.token[16:]
    compared: list[list[int]] = []
    alike = hmac.compare_digest

    def noted(*digests: bytes) -> bool:
        compared.append([len(digest) for digest in digests])
        return alike(*digests)

    monkeypatch.setattr("hmac.compare_digest", noted)
    for token in (wrong, nobody):
        assert people.keys.principal(token) is None
    assert compared == [[32, 32]] * 2


def test_all_steps_are_in_the_trail(people: PeopleOfService) -> None:
    anna, new = made(people)
    people.keys.rotate(anna, new.key.id)
    people.keys.revoke(anna, new.key.id)
    assert people.acts()[-3:] == ["key_created", "key_created", "key_revoked"]
    assert new.token not in "".join(people.trail.export())
