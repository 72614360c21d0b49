"""Login by OpenID Connect, code flow with PKCE. SECRET: the client's secret. Only the configured
provider is asked, no redirect is followed; what cannot be checked is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlsplit

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from discreet.confidential import without_values
from discreet.files import read_private
from discreet_service.permissions import Grant
from discreet_service.problems import ServiceError
from discreet_service.settings import OidcSettings

#: Signatures that are believed; none with a shared secret, and none without a signature.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
_SCOPES = "openid profile"
#: Seconds by which clocks may differ.
_LEEWAY = 60
_TIMEOUT, _LONGEST_ANSWER, _LONGEST_TOKEN = 5.0, 1_000_000, 64_000
_KEEP_DESCRIPTION, _ASK_KEYS_AGAIN = 3_600_000, 30_000
_MOST_GROUPS, _LEAST_RSA = 10_000, 2048


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginAttempt:
    """A login that waits for the provider's answer. SECRET."""

    state: str = field(repr=False)  # What comes back with the answer
    nonce: str = field(repr=False)  # What must stand in the token
    verifier: str = field(repr=False)  # What proves that the answer is for us
    begun: int  # When, in milliseconds
    address: str = field(default="", repr=False)  # Where the browser goes


@dataclass(frozen=True, kw_only=True, slots=True)
class OidcIdentity:
    """Somebody whom the provider knows."""

    issuer: str  # The provider
    subject: str  # Their number there, which never changes
    name: str  # Their name there
    grants: tuple[Grant, ...]  # The roles of their groups


class OidcLogin:
    """Logins by one provider.

    >>> from pathlib import Path
    >>> settings = OidcSettings(issuer="https://id.example.org", client_id="discreet",
    ...     client_secret_file=Path("oidc.secret"), redirect="https://sdc.example.org/login/back")
    >>> OidcLogin(settings, lambda: 0)
    <OidcLogin https://id.example.org>
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], int]) -> None:
        self._settings, self._clock = settings, clock
        self._origin = _origin(settings.issuer)
        if self._origin is None:
            message = "the provider needs https"
            raise ServiceError(message, "invalid-input", "oidc.issuer")
        self._lock = threading.RLock()
        self._described: tuple[int, dict[str, Any]] | None = None
        self._keys: tuple[int, list[Any]] | None = None
        self._silent_until = 0.0
        self._tls = ssl.create_default_context()

    def __repr__(self) -> str:
        return f"<OidcLogin {self._settings.issuer}>"

    def begin(self) -> LoginAttempt:
        """A new attempt, with the address to which the browser goes."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        address = prepare_grant_uri(self._endpoint("authorization_endpoint"),
                                    client_id=self._settings.client_id, response_type="code",
                                    redirect_uri=self._settings.redirect, scope=_SCOPES,
                                    state=state, nonce=nonce,
                                    code_challenge=create_s256_code_challenge(verifier),
                                    code_challenge_method="S256")  # fmt: skip
        return LoginAttempt(
            state=state, nonce=nonce, verifier=verifier, begun=self._clock(), address=address
        )

    @without_values
    def finish(self, attempt: LoginAttempt, answer: Mapping[str, str]) -> OidcIdentity:
        """Identify the user who returns from the provider."""
        if not hmac.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise _refused("the answer belongs to no login of this service")
        described = self._description()
        issuer = answer.get("iss")
        if issuer is None and described.get("authorization_response_iss_parameter_supported"):
            raise _refused("the answer lacks its provider")
        if issuer is not None and issuer != self._settings.issuer:
            raise _refused("the answer comes from another provider")
        code = answer.get("code", "")
        if "error" in answer or not 0 < len(code) <= _LONGEST_TOKEN:
            raise _refused("the provider refused the login")
        tokens = self._exchange(code, attempt.verifier)
        token, access = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
            raise _refused("the provider sent no token")
        claims = self._checked(token, attempt, access if isinstance(access, str) else None)
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255 or not subject.isprintable():
            raise _refused("the token has no user")
        name = claims.get("preferred_username") or claims.get("email") or subject
        groups = claims.get(self._settings.groups_claim, [])
        groups = [groups] if isinstance(groups, str) else groups
        if not isinstance(groups, list) or len(groups) > _MOST_GROUPS:
            raise _refused("the groups in the token cannot be read")
        known = self._settings.roles
        roles = {known[group] for group in groups if isinstance(group, str) and group in known}
        grants = tuple(map(Grant.of, sorted(roles)))
        return OidcIdentity(
            issuer=self._settings.issuer, subject=subject, name=str(name), grants=grants
        )

    def _checked(self, token: str, attempt: LoginAttempt, access: str | None) -> dict[str, Any]:
        """The claims of a token whose signature, issuer, audience, times and nonce are right."""
        settings, now = self._settings, self._clock() // 1000
        try:
            text = jwt.decode(token, self._key, algorithms=list(_ALGORITHMS))
            wanted = {"iss": settings.issuer, "aud": settings.client_id, "nonce": attempt.nonce}
            options = {name: {"essential": True, "value": one} for name, one in wanted.items()}
            known = {
                "nonce": attempt.nonce,
                "client_id": settings.client_id,
                "access_token": access,
            }
            claims = CodeIDToken(text.claims, text.header, options=options, params=known)
            claims.validate(now=now, leeway=_LEEWAY)
            fresh = attempt.begun // 1000 - _LEEWAY <= claims["iat"] <= now + _LEEWAY
        except (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise _refused("the provider's token is not valid") from None
        if not fresh:
            raise _refused("the provider's token belongs to another login")
        return dict(claims)

    def _key(self, signed: Any) -> Any:
        number = signed.headers().get("kid")
        for again in (False, True):
            keys = self._provider_keys(again=again)
            found = [key for key in keys if number is None or key.kid == number]
            if len(found) == 1:
                return found[0]
        raise _refused("the provider's token is signed with an unknown key")

    def _provider_keys(self, *, again: bool) -> list[Any]:
        with self._lock:
            longest = _ASK_KEYS_AGAIN if again else _KEEP_DESCRIPTION
            if self._keys is not None and 0 <= self._clock() - self._keys[0] < longest:
                return self._keys[1]
            address = self._endpoint("jwks_uri")
            # Public keys that may sign; what cannot be read, or is too short, is none.
            described = self._ask("GET", address)
            keys: list[Any] = []
            listed = described.get("keys")
            for item in listed[:100] if isinstance(listed, list) else []:
                wanted = isinstance(item, dict) and item.get("kty") in ("RSA", "EC")
                if not wanted or item.get("use", "sig") != "sig":
                    continue
                public = {name: item[name] for name in item if name not in ("d", "p", "q")}
                try:
                    if item["kty"] == "EC":
                        keys.append(ECKey.import_key(public))
                    elif len(str(item.get("n"))) * 6 >= _LEAST_RSA:
                        keys.append(RSAKey.import_key(public))
                except (JoseError, ValueError, TypeError, KeyError, IndexError):
                    continue
            self._keys = (self._clock(), keys)
            return keys

    def _description(self) -> dict[str, Any]:
        with self._lock:
            now = self._clock()
            if self._described is not None and 0 <= now - self._described[0] < _KEEP_DESCRIPTION:
                return self._described[1]
            place = self._settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
            found = self._ask("GET", place)
            if found.get("issuer") != self._settings.issuer:
                raise _unreachable("the provider has another identity")
            self._described = (now, found)
            return found

    def _endpoint(self, name: str) -> str:
        address = self._description().get(name)
        if not isinstance(address, str) or not self._is_of_provider(address):
            raise _unreachable("the provider names a foreign address")
        return address

    def _is_of_provider(self, address: str) -> bool:
        origin, own = _origin(address), self._origin
        if origin is None or own is None:
            return False
        elsewhere = origin[1] in self._settings.other_hosts
        return origin == own or (origin[0] == "https" == own[0] and elsewhere)

    def _exchange(self, code: str, verifier: str) -> dict[str, Any]:
        place = self._settings.client_secret_file
        secret = read_private(place, "the client secret").decode("utf-8").strip()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._settings.redirect,
            "code_verifier": verifier,
        }
        # RFC 6749, 2.3.1: both are encoded before they are joined.
        auth = (quote_plus(self._settings.client_id), quote_plus(secret))
        return self._ask("POST", self._endpoint("token_endpoint"), data=form, auth=auth)

    def _ask(self, method: str, address: str, **more: Any) -> dict[str, Any]:
        if time.monotonic() < self._silent_until:
            raise _unreachable("the provider does not respond")
        until, body = time.monotonic() + 2 * _TIMEOUT, bytearray()
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            with (
                httpx.Client(
                    timeout=_TIMEOUT, follow_redirects=False, trust_env=False, verify=self._tls
                ) as client,
                client.stream(method, address, headers=headers, **more) as response,
            ):
                if method == "POST" and 400 <= response.status_code < 500:
                    raise _refused("the provider rejected the code")
                if response.status_code != 200 or "content-encoding" in response.headers:
                    raise _unreachable("unexpected answer of the provider")
                for part in response.iter_raw():
                    body += part
                    if len(body) > _LONGEST_ANSWER or time.monotonic() > until:
                        raise _unreachable("the provider's answer is too long, or takes too long")
            document = json.loads(bytes(body))
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            # Who waits for a silent provider holds a thread: the next ones are told at once.
            self._silent_until = time.monotonic() + _TIMEOUT
            raise _unreachable("the provider does not respond") from None
        except (ValueError, RecursionError):
            raise _unreachable("the provider's answer cannot be read") from None
        if not isinstance(document, dict):
            raise _unreachable("the provider's answer cannot be read")
        return document


def _origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address that may be asked: https, or http on this machine."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        return None
    if parts.scheme == "https":
        return "https", host, port or 443
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    return ("http", host, port or 80) if parts.scheme == "http" and here else None


def _refused(what: str) -> ServiceError:
    return ServiceError(what, "not-authenticated", hint="start the login again")


def _unreachable(what: str) -> ServiceError:
    return ServiceError(what, "overloaded", "oidc", retry_after=30)
