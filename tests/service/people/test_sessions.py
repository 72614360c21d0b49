"""Sessions end in time, and nobody makes them up."""

import pytest

from discreet_service.people.callers import Sessions
from discreet_service.people.oidc import LoginAttempt
from discreet_service.permissions import Grant, Principal
from discreet_service.problems import ServiceError
from tests.helpers.service_people import LOCAL, PeopleOfService


def test_a_cookie_stands_for_somebody(people: PeopleOfService) -> None:
    cookie = people.sessions.start(people.person("anna", Grant("requester", "census")))
    assert people.sessions.principal(cookie) == Principal(
        name="anna", kind="session", grants=(Grant("requester", "census"),)
    )
    assert cookie not in people.everything_kept()
    assert len(cookie) == 43


@pytest.mark.parametrize("cookie", ["", "x", "a" * 43, "é" * 43, "a" * 42 + "\n", "a" * 9999])
def test_nobody_is_meant_by_what_is_no_cookie(people: PeopleOfService, cookie: str) -> None:
    assert people.sessions.principal(cookie) is None


def test_sessions_end_after_eight_hours(people: PeopleOfService) -> None:
    cookie = people.sessions.start(people.person("anna"))
    for _ in range(23):
        people.clock.later(minutes=20)
        assert people.sessions.principal(cookie) is not None
    people.clock.later(minutes=20)
    assert people.sessions.principal(cookie) is None


def test_sessions_end_after_half_an_hour_without_a_request(people: PeopleOfService) -> None:
    cookie = people.sessions.start(people.person("anna"))
    people.clock.later(minutes=29)
    assert people.sessions.principal(cookie) is not None
    people.clock.later(minutes=29)
    assert people.sessions.principal(cookie) is not None
    people.clock.later(minutes=30)
    assert people.sessions.principal(cookie) is None


def test_the_session_before_a_login_does_not_live_on(people: PeopleOfService) -> None:
    account = people.person("anna")
    first = people.sessions.start(account)
    second = people.sessions.start(account, replaced=first)
    assert first != second
    assert people.sessions.principal(first) is None
    assert people.sessions.principal(second) is not None


def test_logout_ends_one_or_all(people: PeopleOfService) -> None:
    account = people.person("anna")
    cookies = [people.sessions.start(account) for _ in range(3)]
    other = people.sessions.start(people.person("otto"))
    people.sessions.log_out(cookies[0], people.trail)
    assert [people.sessions.principal(each) is None for each in cookies] == [True, False, False]
    assert people.sessions.log_out(cookies[1], people.trail, everywhere=True) == 2
    assert people.sessions.principal(cookies[2]) is None
    assert people.sessions.principal(other) is not None
    # A form that is sent again, and a session that ended, are no logout.
    assert people.sessions.log_out(cookies[0], people.trail) == 0
    assert people.sessions.log_out("made up", people.trail, everywhere=True) == 0
    assert people.acts().count("logout") == 2


def test_who_is_shut_out_has_no_session(people: PeopleOfService) -> None:
    people.person("anna")
    people.users.set_disabled(LOCAL, "anna", disabled=True)
    cookie = people.sessions.start(people.users.account("anna"))
    assert people.sessions.principal(cookie) is None


def test_forms_carry_the_token_of_their_session(people: PeopleOfService) -> None:
    account = people.person("anna")
    mine, other = people.sessions.start(account), people.sessions.start(account)
    token = people.sessions.csrf_token(mine)
    people.sessions.check_csrf(mine, token)
    for cookie, wrong in (
        (other, token),
        (mine, ""),
        (mine, token[:-1]),
        (mine, mine),
        (mine, "é"),
    ):
        with pytest.raises(ServiceError, match="form"):
            people.sessions.check_csrf(cookie, wrong)
    with pytest.raises(ServiceError, match="form"):
        people.sessions.check_csrf(None, token)


def test_another_key_makes_other_sessions(people: PeopleOfService) -> None:
    cookie = people.sessions.start(people.person("anna"))
    other = Sessions(people.database, b"another" * 5, people.clock)
    assert other.principal(cookie) is None
    assert "another" not in repr(other)


def test_attempts_are_taken_once_and_in_time(people: PeopleOfService) -> None:
    attempt = LoginAttempt(state="s", nonce="n", verifier="v", begun=people.clock.now)
    cookie = people.sessions.keep_attempt(attempt)
    assert people.sessions.take_attempt(cookie) == attempt
    with pytest.raises(ServiceError, match="the login was not started here, or has expired"):
        people.sessions.take_attempt(cookie)
    late = people.sessions.keep_attempt(attempt)
    people.clock.later(minutes=10)
    with pytest.raises(ServiceError, match="the login was not started here, or has expired"):
        people.sessions.take_attempt(late)
    for wrong in ("", "x", "é" * 43):
        with pytest.raises(ServiceError):
            people.sessions.take_attempt(wrong)
