"""Users: who they are, what they may, and how they get in."""

import hashlib
from typing import Any

import pytest
import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet_service.database.schema import USERS
from discreet_service.people.oidc import OidcIdentity
from discreet_service.people.users import (
    PasswordCost,
    Users,
    check_password,
    kept_password,
    one_time_password,
    password_fits,
)
from discreet_service.permissions import Grant, Permission, Principal
from discreet_service.problems import ServiceError
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import LOCAL, QUICK, PeopleOfService, at_once, code_of

GOOD = "seven quiet rivers run"
HERE = "192.0.2.1"


def with_password(people: PeopleOfService, name: str = "anna") -> None:
    """Somebody with a password of their own."""
    people.person(name, Grant("reader"))
    once = people.users.reset_password(LOCAL, name)
    people.users.change_password(name, once, GOOD, HERE)


def test_the_first_administrator_has_a_password_for_once(people: PeopleOfService) -> None:
    once = people.users.first_administrator("anna")
    account = people.users.login("anna", once, HERE)
    assert account.must_change
    assert account.grants == (Grant("admin"),)
    cookie = people.sessions.start(account)
    found = people.sessions.principal(cookie)
    assert found is not None
    assert found.grants == ()
    people.users.change_password("anna", once, GOOD, HERE)
    # All logins end with the old password, and it is good no longer.
    assert people.sessions.principal(cookie) is None
    with pytest.raises(ServiceError, match="wrong"):
        people.users.login("anna", once, HERE)
    assert not people.users.login("anna", GOOD, HERE).must_change
    with pytest.raises(ServiceError, match="an administrator exists already"):
        people.users.first_administrator("otto")
    assert people.acts() == ["user_created", "login", "login", "password_changed", "login"]


def test_one_time_passwords_end_after_a_day(people: PeopleOfService) -> None:
    once = people.users.first_administrator("anna")
    people.clock.later(hours=24)
    with pytest.raises(ServiceError, match="wrong"):
        people.users.login("anna", once, HERE)


def test_passwords_are_kept_stretched(people: PeopleOfService) -> None:
    with_password(people)
    kept = people.everything_kept()
    assert GOOD not in kept
    assert "scrypt$10$8$1$" in kept


def test_passwords_are_stretched_anew_when_it_costs_too_little(people: PeopleOfService) -> None:
    with_password(people)
    dearer = Users(people.database, people.trail, people.clock, PasswordCost(log_n=11, p=1))
    dearer.login("anna", GOOD, HERE)
    assert "scrypt$11$8$1$" in people.everything_kept()
    dearer.login("anna", GOOD, HERE)


WRONG = (
    *(("anna", "wrong"), ("otto", GOOD), ("", GOOD), ("\x00", GOOD), ("x" * 9999, GOOD)),
    *(("anna", ""), ("anna", GOOD + " "), ("anna", GOOD.upper()), ("\ud800", "\ud800")),
    *(("anna' OR 1=1 --", GOOD), ("robot", GOOD), ("closed", GOOD), ("elsewhere", GOOD)),
)


def test_all_that_is_wrong_is_told_alike(people: PeopleOfService) -> None:
    with_password(people)
    with_password(people, "closed")
    people.users.set_disabled(LOCAL, "closed", disabled=True)
    people.person("robot", kind="system")
    people.users.arrive(
        OidcIdentity(issuer="i", subject="1", name="elsewhere", grants=(Grant("reader"),))
    )
    for name, password in WRONG:
        with pytest.raises(ServiceError) as found:
            people.users.login(name, password, HERE)
        told = found.value.code, found.value.what
        assert told == ("not-authenticated", "name or password is wrong"), (name, password)
        people.clock.later(hours=1)


@pytest.mark.parametrize("change", [{"kind": "system"}, {"issuer": "i", "subject": "1"}])
def test_who_logs_in_otherwise_has_no_password(
    people: PeopleOfService, change: dict[str, str]
) -> None:
    """Not even where one stands in the database."""
    with_password(people)
    with people.database.writing() as connection:
        connection.execute(sa.update(USERS).values(**change))
    with pytest.raises(ServiceError, match="wrong"):
        people.users.login("anna", GOOD, HERE)


def test_the_work_does_not_tell_who_there_is(
    people: PeopleOfService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stretching passwords takes nearly all of the time: as much of it for nobody."""
    people.person("anna", Grant("reader"))
    once = people.users.reset_password(LOCAL, "anna")
    stretched: list[Any] = []
    scrypt = hashlib.scrypt

    def noted(password: bytes, **how: Any) -> bytes:
        stretched.append((len(password), {**how, "salt": len(how["salt"])}))
        return scrypt(password, **how)

    monkeypatch.setattr("hashlib.scrypt", noted)
    for name in ("anna", "nobody-1"):
        with pytest.raises(ServiceError):
            people.users.login(name, once + "x", HERE)
    there, not_there = stretched
    assert there == not_there


def test_guessing_is_slowed_down_not_shut_out(people: PeopleOfService) -> None:
    with_password(people)
    waits = []
    for _ in range(12):
        with pytest.raises(ServiceError) as found:
            people.users.login("anna", "a wrong password", "198.51.100.7")
        if found.value.code == "rate-limited":
            assert found.value.retry_after is not None
            waits.append(found.value.retry_after)
            people.clock.later(seconds=found.value.retry_after)
    assert waits[:4] == [1, 2, 4, 8]
    # Where anna logged in before, she still gets in at once.
    assert people.users.login("anna", GOOD, HERE).name == "anna"


def test_names_that_nobody_has_are_slowed_down_alike(people: PeopleOfService) -> None:
    with_password(people)
    told: dict[str, list[tuple[str, int | None]]] = {"anna": [], "nobody-1": []}
    for _ in range(8):
        for name, said in told.items():
            with pytest.raises(ServiceError) as found:
                people.users.login(name, "a wrong password", "198.51.100.7")
            said.append((found.value.code, found.value.retry_after))
    assert told["anna"] == told["nobody-1"]
    assert told["anna"][-1][0] == "rate-limited"


def test_many_addresses_are_slowed_down_together(people: PeopleOfService) -> None:
    with_password(people)
    codes = []
    for at in range(20):
        with pytest.raises(ServiceError) as found:
            people.users.login("anna", "a wrong password", f"198.51.100.{at}")
        codes.append(found.value.code)
    assert codes[:10] == ["not-authenticated"] * 10
    assert "rate-limited" in codes[10:]
    with pytest.raises(ServiceError, match="too many"):
        people.users.login("anna", GOOD, "203.0.113.1")
    # Where she logged in before, nobody keeps her out.
    assert people.users.login("anna", GOOD, HERE).name == "anna"


def test_other_spellings_of_a_name_do_not_help(people: PeopleOfService) -> None:
    with_password(people)
    codes = []
    for name in ("anna", "ANNA", " anna ", "\N{CYRILLIC SMALL LETTER A}nna", "änna"):
        with pytest.raises(ServiceError) as found:
            people.users.login(name, "a wrong password", "198.51.100.7")
        codes.append(found.value.code)
    assert codes == ["not-authenticated"] * 3 + ["rate-limited"] * 2


def test_attempts_at_once_are_all_counted(people: PeopleOfService) -> None:
    with_password(people)
    codes: list[str] = []

    def attempt() -> None:
        try:
            people.users.login("anna", "a wrong password", "198.51.100.7")
        except ServiceError as error:
            codes.append(error.code)

    at_once(*[attempt] * 16)
    assert sorted(codes) == ["not-authenticated"] * 3 + ["rate-limited"] * 13


@for_all_rows(
    "password",
    ["", "tiny word", "x" * 300, "aaaaaaaaaaaaaaaa", "abababababab", "1234567890123456",
     "my name is anna", "My Name Is ANNA"],
)  # fmt: skip
def test_passwords_that_are_easy_to_guess_are_refused(password: str) -> None:
    with pytest.raises(ServiceError) as found:
        check_password(password, "anna")
    assert found.value.where == "password"
    assert not password or password not in str(found.value)


def test_passwords_may_be_of_any_letters() -> None:
    for password in ("здравствуй мир ж", "Müllers Öfen glühen"):
        check_password(password, "anna")
        kept = kept_password(password, QUICK)
        assert password_fits(password, kept, QUICK)
        # The same letters, put together another way.
        import unicodedata

        assert password_fits(unicodedata.normalize("NFD", password), kept, QUICK)


@for_all_rows(
    "kept",
    ["", "x", "scrypt$10$8$1$$", "scrypt$30$8$1$AAAA$AAAA", "scrypt$10$8$1$AAAA$AAAA",
     "plain$10$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
     "scrypt$10$8$1$AAAAAAAAAAAAAAAAAAAAAA==$%%%"],
)  # fmt: skip
def test_nothing_fits_what_is_no_kept_password(kept: str) -> None:
    assert not password_fits("anything", kept, QUICK)


def test_floods_of_logins_are_told_to_wait() -> None:
    cost, codes = PasswordCost(log_n=14, p=1), []

    def attempt() -> None:
        try:
            password_fits("anything", None, cost)
        except ServiceError as error:
            codes.append(error.code)

    at_once(*[attempt] * 40)
    assert set(codes) == {"overloaded"}
    assert not password_fits("anything", None, QUICK)


def test_one_time_passwords_are_all_different() -> None:
    assert len({one_time_password() for _ in range(100)}) == 100


def test_names_that_look_alike_are_one(people: PeopleOfService) -> None:
    people.person("anna")
    for name in ("Anna", " anna", "\N{CYRILLIC SMALL LETTER A}nna", "ánna"):
        with pytest.raises(ServiceError, match="a user with the same or a similar name exists"):
            people.users.add(LOCAL, name)
    for name in ("local", "anonymous", "Service", "", "a\nb", "a\u202eb"):
        with pytest.raises(DiscreetError):
            people.users.add(LOCAL, name)


def test_nobody_changes_their_own_rights(people: PeopleOfService) -> None:
    people.person("otto", Grant("reader"))
    anna = people.logged_in("anna", Grant("admin"))
    for act in (
        lambda name: people.users.grant(anna, name, Grant("producer")),
        lambda name: people.users.withdraw(anna, name, Grant("admin")),
        lambda name: people.users.reset_password(anna, name),
        lambda name: people.users.set_disabled(anna, name, disabled=True),
    ):
        for name in ("anna", "Anna", " \N{CYRILLIC SMALL LETTER A}nna"):
            assert code_of(act, name) == "second-person"
    people.users.grant(anna, "otto", Grant("producer", "census"))
    assert people.users.account("otto").grants == (
        Grant("producer", "census"),
        Grant("reader"),
    )


@pytest.mark.parametrize(
    "principal",
    [
        Principal(name="x", kind="session", grants=(Grant("producer"),)),
        Principal(name="x", kind="session", grants=(Grant("admin", "census"),)),
        Principal(name="x", kind="key", grants=(Grant("admin"),), key="0123456789ab"),
        Principal(name="anonymous", kind="anonymous", grants=()),
    ],
)
def test_only_administrators_who_logged_in_manage_people(
    people: PeopleOfService, principal: Principal
) -> None:
    people.person("anna")
    assert code_of(people.users.add, principal, "otto") == "not-allowed"
    with pytest.raises(ServiceError):
        people.users.grant(principal, "anna", Grant("reader"))


def test_who_manages_people_touches_nothing_else(people: PeopleOfService) -> None:
    people.person("anna", Grant("admin"), Grant("reader"))
    people.person("otto", Grant("custodian"))
    people.person("rosa", Grant("auditor"))
    for name, role in (("anna", "custodian"), ("otto", "admin"), ("rosa", "producer")):
        with pytest.raises(ServiceError, match="cannot be combined with other roles"):
            people.users.grant(LOCAL, name, Grant(role))


def test_systems_agree_to_nothing(people: PeopleOfService) -> None:
    people.person("census backend", Grant("service"), kind="system")
    for role in ("custodian", "producer", "admin", "auditor", "reviewer"):
        with pytest.raises(ServiceError, match="a system cannot"):
            people.users.grant(LOCAL, "census backend", Grant(role))


@pytest.mark.parametrize(
    "grant", [Grant("root"), Grant("reader", ""), Grant("reader", "a\nb"), Grant("reader", " a")]
)
def test_grants_must_be_of_something(people: PeopleOfService, grant: Grant) -> None:
    people.person("anna")
    with pytest.raises(ServiceError):
        people.users.grant(LOCAL, "anna", grant)


def test_logins_end_when_rights_change(people: PeopleOfService) -> None:
    account = people.person("anna", Grant("reader"))
    for change in (
        lambda: people.users.grant(LOCAL, "anna", Grant("requester")),
        lambda: people.users.withdraw(LOCAL, "anna", Grant("requester")),
        lambda: people.users.set_disabled(LOCAL, "anna", disabled=True),
    ):
        cookie = people.sessions.start(account)
        assert people.sessions.principal(cookie) is not None
        change()
        assert people.sessions.principal(cookie) is None
    with pytest.raises(ServiceError, match="not granted here"):
        people.users.withdraw(LOCAL, "anna", Grant("requester"))


def identity(name: str = "anna", subject: str = "42", *grants: Grant) -> OidcIdentity:
    return OidcIdentity(issuer="https://id.example", subject=subject, name=name, grants=grants)


def test_who_arrives_has_the_roles_of_their_groups(people: PeopleOfService) -> None:
    reader, census = Grant("reader"), Grant("requester", "census")
    account = people.users.arrive(identity("anna", "42", reader, census))
    assert account.grants == (reader, census)
    cookie = people.sessions.start(account)
    # The name may change over there; the number does not.
    assert people.users.arrive(identity("anna m.", "42", reader)).id == account.id
    assert people.users.account("anna").grants == (reader,)
    assert people.sessions.principal(cookie) is None
    with pytest.raises(ServiceError, match="the groups of this login have no role"):
        people.users.arrive(identity("anna", "42"))
    # What was taken away over there is gone here, though nobody got in.
    assert people.users.account("anna").grants == ()


def test_nobody_takes_over_the_name_of_another(people: PeopleOfService) -> None:
    people.person("anna", Grant("admin"))
    for name in ("anna", "ANNA", "\N{CYRILLIC SMALL LETTER A}nna"):
        with pytest.raises(ServiceError, match="a user with the same or a similar name exists"):
            people.users.arrive(identity(name, "666", Grant("reader")))
    people.users.arrive(identity("otto", "1", Grant("reader")))
    with pytest.raises(ServiceError, match="a user with the same or a similar name exists"):
        people.users.arrive(identity("otto", "2", Grant("reader")))


def test_who_arrives_without_roles_or_shut_out_stays_out(people: PeopleOfService) -> None:
    with pytest.raises(ServiceError, match="the groups of this login have no role"):
        people.users.arrive(identity())
    assert people.users.accounts() == ()
    people.users.arrive(identity("anna", "42", Grant("reader")))
    people.users.set_disabled(LOCAL, "anna", disabled=True)
    with pytest.raises(ServiceError, match="disabled"):
        people.users.arrive(identity("anna", "42", Grant("reader")))
    for grants in ((Grant("admin"), Grant("custodian")), (Grant("auditor"), Grant("producer"))):
        with pytest.raises(ServiceError, match="cannot be combined with other roles"):
            people.users.arrive(identity("otto", "43", *grants))


def test_the_trail_names_who_changed_what(people: PeopleOfService) -> None:
    anna = people.logged_in("anna", Grant("admin"))
    people.users.add(anna, "otto")
    people.users.grant(anna, "otto", Grant("requester", "census"))
    people.users.set_disabled(anna, "otto", disabled=True)
    people.users.set_disabled(anna, "otto", disabled=False)
    people.users.withdraw(anna, "otto", Grant("requester", "census"))
    assert people.acts()[-5:] == [
        "user_created", "role_granted", "user_disabled", "user_enabled", "role_withdrawn",
    ]  # fmt: skip
    assert anna.may(Permission.people_manage)
    assert people.trail.verify().whole
