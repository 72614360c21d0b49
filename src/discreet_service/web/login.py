"""Login by the office's provider or a password. A form that is not from our own page is refused; so
is an answer of the provider to no login begun in this browser.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from discreet_service.people import OidcLogin
from discreet_service.permissions import Grant
from discreet_service.problems import ServiceError
from discreet_service.web.access import KnownVisit, OpenVisit, Visit
from discreet_service.web.keys import KeyId
from discreet_service.web.pages import (
    FormVisit,
    back_to,
    iso_time,
    own_place,
    page,
    set_cookie,
    told,
)
from discreet_service.web.security import request_cookie, session_cookie

router = APIRouter(tags=["login"])

_SESSION, _BEFORE, _ELSEWHERE = "discreet", "discreet-form", "discreet-oidc"
_MINUTES = 10
_Text = Annotated[str, Form(max_length=1024)]
_Token = Annotated[str, Form(max_length=100)]
_LONGEST_PLACE = 8_001


@router.get("/api/v1/me")
def get_me(visit: KnownVisit) -> dict[str, Any]:
    """Name, roles and permissions of the caller."""
    return {
        "name": visit.principal.name,
        "kind": visit.principal.kind,
        "key": visit.principal.key or None,
        "grants": [grant.facts for grant in visit.principal.grants],
        "time": iso_time(visit.service.clock()),
    }


@router.get("/login", include_in_schema=False)
def show_login(
    visit: OpenVisit,
    onward: Annotated[str, Query(alias="next", max_length=_LONGEST_PLACE)] = "/",
) -> Response:
    """The login page; it leads back to the page of the studio that asked for it."""
    return _login_page(visit, onward)


@router.post("/login", include_in_schema=False)
def log_in(
    visit: OpenVisit,
    name: _Text,
    password: _Text,
    csrf: _Token = "",
    onward: Annotated[str, Form(alias="next", max_length=_LONGEST_PLACE)] = "/",
) -> Response:
    """Log in by name and password."""
    service = visit.service
    service.sessions.check_csrf(request_cookie(visit, _BEFORE), csrf)
    try:
        account = service.users.login(name, password, visit.address)
    except ServiceError as error:
        if error.code not in ("not-authenticated", "rate-limited"):
            raise
        return _login_page(visit, onward, error)
    response = back_to("/login/password" if account.must_change else _place(onward))
    set_cookie(response, service, _SESSION, service.sessions.start(account, session_cookie(visit)))
    set_cookie(response, service, _BEFORE, "", seconds=0)
    return response


@router.get("/login/password", include_in_schema=False)
def show_password(visit: OpenVisit) -> Response:
    """The page to change the password."""
    return back_to("/login") if visit.login is None else page(visit, "password", problem="")


@router.post("/login/password", include_in_schema=False)
def change_password(visit: FormVisit, old: _Text, new: _Text) -> Response:
    """Change one's password; all other logins end, and this one gets a new cookie."""
    service, name = visit.service, visit.principal.name
    if visit.login is None or visit.login.elsewhere:
        raise ServiceError("the password of this login is managed elsewhere", "conflict")
    try:
        account = service.users.change_password(name, old, new, visit.address)
    except ServiceError as error:
        if error.code not in ("not-authenticated", "rate-limited", "invalid-input"):
            raise
        return page(visit, "password", status=error.kind.status, problem=told(visit, error))
    response = back_to("/")
    set_cookie(response, service, _SESSION, service.sessions.start(account, session_cookie(visit)))
    return response


def _provider(visit: Visit) -> OidcLogin:
    if visit.service.oidc is None:
        raise ServiceError("no other provider", "not-found")
    return visit.service.oidc


@router.get("/login/oidc", include_in_schema=False)
def begin_elsewhere(visit: OpenVisit) -> Response:
    """Start a login at the office's identity provider."""
    attempt = _provider(visit).begin()
    cookie = visit.service.sessions.keep_attempt(attempt)
    response = RedirectResponse(attempt.address, 303, {"Cache-Control": "no-store"})
    # Strict cookies stay away when another site sends the browser back.
    set_cookie(response, visit.service, _ELSEWHERE, cookie, from_elsewhere=True,
               seconds=60 * _MINUTES)  # fmt: skip
    return response


@router.get("/login/oidc/back", include_in_schema=False)
def finish_elsewhere(visit: OpenVisit) -> Response:
    """Complete a login at the identity provider."""
    provider, service = _provider(visit), visit.service
    attempt = service.sessions.take_attempt(request_cookie(visit, _ELSEWHERE) or "")
    # What the provider answered, each thing once.
    answer = visit.query_params.multi_items()
    if len(answer) > 20 or len({name for name, _ in answer}) != len(answer):
        message = "the provider's answer cannot be read"
        raise ServiceError(message, "not-authenticated", hint="start the login again")
    account = service.users.arrive(provider.finish(attempt, dict(answer)))
    cookie = service.sessions.start(account, session_cookie(visit))
    # A redirect would still count as coming from the provider, without the session's cookie.
    response = page(visit, "arrived", secret=True)
    set_cookie(response, service, _SESSION, cookie)
    set_cookie(response, service, _ELSEWHERE, "", from_elsewhere=True, seconds=0)
    return response


@router.post("/logout", include_in_schema=False)
def log_out(visit: FormVisit, everywhere: Annotated[bool, Form()] = False) -> Response:
    """Log out here, or of all one's sessions."""
    cookie = session_cookie(visit)
    if cookie is not None:
        visit.service.sessions.log_out(cookie, visit.service.trail, everywhere=everywhere)
    response = back_to("/login")
    set_cookie(response, visit.service, _SESSION, "", seconds=0)
    # What the browser kept of our pages goes too.
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


@router.get("/account", include_in_schema=False)
def show_account(visit: OpenVisit) -> Response:
    """One's own account: roles, API keys, logout."""
    session = visit.login
    if session is None or session.must_change:
        return back_to("/login" if session is None else "/login/password")
    keys = visit.service.api_keys.listed(session.name)
    return page(visit, "account", keys=keys, made=None, now=visit.service.clock())


@router.post("/account/keys", include_in_schema=False)
def make_key(
    visit: FormVisit,
    name: _Text,
    role: Annotated[str, Form(max_length=200)],
    days: Annotated[int, Form(ge=1, le=730)] = 365,
) -> Response:
    """Create an API key for oneself; the page shows it once."""
    made = visit.service.api_keys.create(
        visit.principal, name=name, grants=[Grant.of(role)], days=days
    )
    keys = visit.service.api_keys.listed(visit.principal.name)
    return page(visit, "account", secret=True, keys=keys, made=made, now=visit.service.clock())


@router.post("/account/keys/{key}/revoke", include_in_schema=False)
def revoke_by_form(key: KeyId, visit: FormVisit) -> Response:
    """Revoke one of one's own API keys."""
    visit.service.api_keys.revoke(visit.principal, key)
    return back_to("/account")


def _login_page(visit: Visit, onward: str, error: ServiceError | None = None) -> Response:
    """The form, bound to this browser before anybody logged in."""
    service, before = visit.service, secrets.token_urlsafe(32)
    response = page(
        visit,
        "login",
        status=200 if error is None else error.kind.status,
        secret=True,
        problem="" if error is None else told(visit, error),
        retry_after=None if error is None else error.retry_after,
        onward=_place(onward),
        form_token=service.sessions.csrf_token(before),
        elsewhere=service.settings.oidc is not None,
    )
    if error is not None and error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    set_cookie(response, service, _BEFORE, before, seconds=60 * _MINUTES)
    return response


def _place(onward: str) -> str:
    """Where somebody goes on to who has logged in: not to the login once more."""
    place = own_place(onward)
    return "/" if place.startswith(("/login", "/logout")) else place
