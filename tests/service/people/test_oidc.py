"""Logins at the office's provider: what cannot be checked lets nobody in."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet_service.people.oidc import OidcIdentity, OidcLogin
from discreet_service.permissions import Grant
from discreet_service.problems import ServiceError
from discreet_service.settings import OidcSettings
from tests.helpers.oidc_provider import CLIENT, SECRET, LoopbackProvider, SigningKey, b64
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import SetClock


@pytest.fixture
def clock(set_clock: SetClock) -> SetClock:
    return set_clock


@pytest.fixture
def provider(clock: SetClock) -> Iterator[LoopbackProvider]:
    with LoopbackProvider(clock) as found:
        yield found


@pytest.fixture
def said(provider: LoopbackProvider, tmp_path: Path) -> OidcSettings:
    secret = tmp_path / "oidc.secret"
    secret.touch(0o600)
    secret.write_text(SECRET + "\n")
    return OidcSettings(
        issuer=provider.issuer,
        client_id=CLIENT,
        client_secret_file=secret,
        redirect="https://sdc.example.org/login/oidc/back",
        roles={"staff": "reader", "census": "requester@census"},
    )


@pytest.fixture
def login(said: OidcSettings, clock: SetClock) -> OidcLogin:
    return OidcLogin(said, clock)


def outcome(login: OidcLogin, provider: LoopbackProvider, **user: Any) -> OidcIdentity:
    attempt = login.begin()
    return login.finish(attempt, provider.let_in(attempt.address, **user))


def refusal(login: OidcLogin, provider: LoopbackProvider, **user: Any) -> ServiceError:
    with pytest.raises(ServiceError) as found:
        outcome(login, provider, **user)
    assert found.value.code == "not-authenticated"
    return found.value


def test_somebody_is_let_in_with_the_roles_of_their_groups(
    login: OidcLogin, provider: LoopbackProvider
) -> None:
    found = outcome(login, provider, groups=["census", "staff", "canteen"])
    assert found == OidcIdentity(
        issuer=provider.issuer,
        subject="42",
        name="anna",
        grants=(Grant("reader"), Grant("requester", "census")),
    )
    assert outcome(login, provider, groups=["canteen"]).grants == ()
    assert outcome(login, provider, groups="staff").grants == (Grant("reader"),)
    # What the provider says of itself and its keys is asked once.
    assert provider.asked.count("/keys") == 1


def test_attempts_and_settings_show_no_secret(login: OidcLogin) -> None:
    attempt = login.begin()
    for secret in (attempt.state, attempt.nonce, attempt.verifier):
        assert secret not in repr(attempt)
        assert len(secret) >= 43
    assert attempt.verifier not in attempt.address
    assert SECRET not in repr(login)


def test_answers_of_other_attempts_are_refused(
    login: OidcLogin, provider: LoopbackProvider
) -> None:
    mine, other = login.begin(), login.begin()
    with pytest.raises(ServiceError, match="belongs to no login"):
        login.finish(mine, provider.let_in(other.address))
    with pytest.raises(ServiceError, match="belongs to no login"):
        login.finish(mine, {"code": "abc"})


def test_a_code_is_good_for_its_own_attempt_only(
    login: OidcLogin, provider: LoopbackProvider
) -> None:
    """Somebody else's code put into one's own answer: PKCE and nonce hold."""
    mine, other = login.begin(), login.begin()
    stolen = provider.let_in(other.address)["code"]
    with pytest.raises(ServiceError, match="the provider rejected the code"):
        login.finish(mine, {**provider.let_in(mine.address), "code": stolen})


def test_codes_cannot_be_replayed(login: OidcLogin, provider: LoopbackProvider) -> None:
    attempt = login.begin()
    answer = provider.let_in(attempt.address)
    login.finish(attempt, answer)
    with pytest.raises(ServiceError, match="the provider rejected the code"):
        login.finish(attempt, answer)


@for_all_rows(
    "claims",
    [
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"aud": ["another"], "azp": CLIENT},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"nonce": "replayed"},
        {"nonce": None},
        {"exp": 1_700_000_000},
        {"exp": 1_800_000_000 - 61},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": 1_800_000_000 + 120},
        {"iat": 1_700_000_000},
        {"iat": None},
        {"iat": "now"},
        {"nbf": 1_800_000_000 + 120},
        {"sub": None},
        {"sub": ""},
        {"sub": 42},
        {"sub": "a\nb"},
        {"sub": "x" * 256},
        {"groups": {"staff": True}},
        {"groups": 7},
        {"at_hash": "wrong"},
    ],
)
def test_claims_must_be_right(
    login: OidcLogin, provider: LoopbackProvider, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    refusal(login, provider)


def test_clocks_may_differ_a_little(login: OidcLogin, provider: LoopbackProvider) -> None:
    provider.claims = {"iat": 1_800_000_000 + 50, "exp": 1_800_000_000 - 50}
    assert outcome(login, provider).subject == "42"


def test_tokens_without_signature_are_refused(login: OidcLogin, provider: LoopbackProvider) -> None:
    def unsigned(claims: dict[str, Any]) -> str:
        head = {"alg": "none", "kid": "one"}
        return f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}."

    provider.tokens = unsigned
    refusal(login, provider)
    provider.tokens = lambda claims: provider.key.token(claims, alg="none")
    refusal(login, provider)


def test_public_keys_are_no_shared_secrets(login: OidcLogin, provider: LoopbackProvider) -> None:
    """HS256 with the public key for its secret, which everybody knows."""

    def confused(claims: dict[str, Any]) -> str:
        head = {"alg": "HS256", "kid": "one"}
        signed = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
        secret = json.dumps(provider.key.jwk).encode()
        return f"{signed}.{b64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"

    provider.tokens = confused
    refusal(login, provider)


def test_wrong_signatures_are_refused(login: OidcLogin, provider: LoopbackProvider) -> None:
    other = SigningKey("one")
    provider.tokens = lambda claims: other.token(claims)
    refusal(login, provider)
    # The key that comes with a token is not believed.
    provider.tokens = lambda claims: other.token(claims, jwk=other.jwk)
    refusal(login, provider)
    provider.tokens = lambda claims: provider.key.token(claims)[:-8] + "AAAAAAAA"
    refusal(login, provider)


@for_all_rows("token", ["", "abc", "a.b.c", "....", "é.é.é", "x" * 100_000, None, 5])
def test_malformed_tokens_are_refused(
    login: OidcLogin, provider: LoopbackProvider, token: Any
) -> None:
    provider.tokens = lambda claims: token
    refusal(login, provider)


def test_keys_may_change(login: OidcLogin, provider: LoopbackProvider, clock: SetClock) -> None:
    outcome(login, provider)
    new = SigningKey("two")
    provider.keys, provider.tokens = [new], lambda claims: new.token(claims)
    # Not asked for each unknown key: nobody makes us ask again and again.
    refusal(login, provider)
    clock.now += 31_000
    assert outcome(login, provider).subject == "42"
    provider.tokens = lambda claims: provider.key.token(claims)
    refusal(login, provider)


def test_short_keys_are_not_believed(login: OidcLogin, provider: LoopbackProvider) -> None:
    short = SigningKey("short", 1024)
    provider.keys, provider.tokens = [short], lambda claims: short.token(claims)
    refusal(login, provider)


def test_nobody_comes_from_another_provider(login: OidcLogin, provider: LoopbackProvider) -> None:
    attempt = login.begin()
    answer = provider.let_in(attempt.address)
    for iss in ("https://evil.example", ""):
        with pytest.raises(ServiceError, match="another provider"):
            login.finish(attempt, {**answer, "iss": iss})
    del answer["iss"]
    with pytest.raises(ServiceError, match="lacks"):
        login.finish(attempt, answer)


def test_a_refusal_of_the_provider_is_one(login: OidcLogin) -> None:
    attempt = login.begin()
    with pytest.raises(ServiceError, match="the provider refused the login"):
        login.finish(
            attempt, {"state": attempt.state, "error": "access_denied", "iss": _issuer(login)}
        )


def _issuer(login: OidcLogin) -> str:
    return repr(login).split()[1].rstrip(">")


@for_all_rows(
    "issuer",
    [
        "http://id.example.org", "ftp://id.example.org", "https://", "file:///etc/passwd",
        "https://user:word@id.example.org", "https://id.example.org:99999", "id.example.org",
    ],
)  # fmt: skip
def test_providers_are_asked_over_https_only(said: OidcSettings, issuer: str) -> None:
    with pytest.raises(ServiceError, match="https"):
        OidcLogin(replace(said, issuer=issuer), lambda: 0)


@for_all_rows(
    "described",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://169.254.169.254/latest"},
        {"token_endpoint": "http://127.0.0.1:1/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://evil.example/keys"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
    ],
)
def test_no_other_host_is_asked(
    said: OidcSettings, clock: SetClock, provider: LoopbackProvider, described: dict[str, Any]
) -> None:
    provider.described = described
    with pytest.raises(ServiceError) as found:
        outcome(OidcLogin(said, clock), provider)
    assert found.value.code == "overloaded"
    assert "evil" not in str(found.value)


@for_all_rows(
    "answer",
    [
        (302, {"Location": "http://127.0.0.1:1/"}, b""),
        (200, {}, b"<html>"),
        (200, {}, b"[]"),
        (200, {}, b"[" * 100_000),
        (200, {}, b'{"a":"' + b"x" * 1_000_001 + b'"}'),
        (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"),
        (500, {}, b"{}"),
        (404, {}, b"{}"),
        (204, {}, b""),
        (200, {}, b"\xff\xfe"),
    ],
)
@for_all_rows("path", ["/.well-known/openid-configuration", "/keys", "/token"])
def test_strange_answers_let_nobody_in(
    said: OidcSettings, clock: SetClock, provider: LoopbackProvider, path: str, answer: Any
) -> None:
    provider.answers = {path: answer}
    with pytest.raises(ServiceError) as found:
        outcome(OidcLogin(said, clock), provider)
    assert found.value.code in ("overloaded", "not-authenticated")


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token"])
def test_no_redirect_is_followed(login: OidcLogin, provider: LoopbackProvider, path: str) -> None:
    """Not even one that leads to what would be right."""
    outcome(login, provider)
    fresh = OidcLogin(login._settings, login._clock)
    provider.answers[path] = (307, {"Location": f"{provider.issuer}/right"}, b"")
    right = {
        "issuer": provider.issuer,
        "authorization_endpoint": f"{provider.issuer}/authorize",
        "token_endpoint": f"{provider.issuer}/token",
        "jwks_uri": f"{provider.issuer}/keys",
        "keys": [key.jwk for key in provider.keys],
    }
    provider.answers["/right"] = (200, {}, json.dumps(right).encode())
    with pytest.raises(ServiceError):
        outcome(fresh, provider)
    assert "/right" not in provider.asked


def test_a_silent_provider_holds_nobody_up(said: OidcSettings, clock: SetClock) -> None:
    login = OidcLogin(replace(said, issuer="http://127.0.0.1:1"), clock)
    for _ in range(3):
        with pytest.raises(ServiceError, match="does not respond") as found:
            login.begin()
        assert found.value.retry_after
