"""Access: who asks, and whether they may.

In: a request. Out: the `Principal` behind it, or 401 or 403. Every endpoint names the permission
that it needs; one that names none cannot be made (`application` looks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from discreet_service.permissions import Grant, Permission, Principal
from discreet_service.policies import Language
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.problem_pages import language_of

ANONYMOUS = "anonymous"
#: Path parameter that holds the data set a permission is about.
_DATASET = "dataset"


def service_of(request: Request) -> Service:
    """The service behind a request."""
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(service_of)]


def principal_of(request: Request) -> Principal:
    """Who asks: by key, by session, or nobody in particular.

    A key that is not known is an error, not nobody: callers should hear of it.
    """
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:
        return known
    service = service_of(request)
    found = _by_key(request, service) or _by_session(request, service)
    if found is None:
        grants = (Grant("reader"),) if service.settings.public_releases else ()
        found = Principal(name=ANONYMOUS, kind="anonymous", grants=grants)
    request.state.principal = found
    return found


def _by_key(request: Request, service: Service) -> Principal | None:
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    found = service.api_keys.principal(token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        what, hint = "the key is not known, or no longer", "Authorization: Bearer dsc_…"
        raise ServiceError(what, code="not-authenticated", where="authorization", hint=hint)
    return found


def _by_session(request: Request, service: Service) -> Principal | None:
    from discreet_service.web.security import check_same_origin, session_cookie

    cookie = session_cookie(request)
    found = service.sessions.principal(cookie) if cookie else None
    if found is not None:
        check_same_origin(request)
    return found


def check_allowed(principal: Principal, permission: Permission, dataset: str = "") -> None:
    """Raise an error unless somebody may do something."""
    if principal.may(permission, dataset):
        return
    if principal.kind == ANONYMOUS:
        hint = "send a key: Authorization: Bearer dsc_…"
        raise ServiceError("say who you are first", code="not-authenticated", hint=hint)
    hint = "ask the administrators for the role"
    raise ServiceError(f"this needs {permission.value}", code="not-allowed", hint=hint)


class Visit(Request):
    """A request with the service behind it, who asks, and in which language."""

    @property
    def service(self) -> Service:
        """The service."""
        return service_of(self)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        return principal_of(self)

    @property
    def language(self) -> Language:
        """The language that they prefer."""
        return language_of(self)


def visit_with(permission: Permission) -> Callable[[Request], Visit]:
    """A dependency that gives the visit of somebody who may do this.

    Where the path names a data set, it is about that one.
    """

    def needed(request: Request) -> Visit:
        principal = principal_of(request)
        check_allowed(principal, permission, request.path_params.get(_DATASET, ""))
        return visit_of(request)

    needed.permission = permission  # type: ignore[attr-defined]
    return needed


def visit_of(request: Request) -> Visit:
    """A request as a visit."""
    return Visit(request.scope, request.receive)


def principal_with(permission: Permission) -> Callable[[Request], Principal]:
    """A dependency that gives the one who asks, if they may.

    Where the path names a data set, it is about that one.
    """

    def needed(request: Request) -> Principal:
        principal = principal_of(request)
        check_allowed(principal, permission, request.path_params.get(_DATASET, ""))
        return principal

    needed.permission = permission  # type: ignore[attr-defined]
    return needed


def known_principal(request: Request) -> Principal:
    """A dependency that gives the one who asks, whoever that is, but not nobody."""
    principal = principal_of(request)
    if principal.kind == ANONYMOUS:
        hint = "log in, or send a key: Authorization: Bearer dsc_…"
        raise ServiceError("say who you are first", code="not-authenticated", hint=hint)
    return principal


known_principal.permission = None  # type: ignore[attr-defined]
KnownPrincipal = Annotated[Principal, Depends(known_principal)]


def known_visit(request: Request) -> Visit:
    """A dependency that gives the visit of anybody, but not of nobody."""
    known_principal(request)
    return visit_of(request)


known_visit.permission = None  # type: ignore[attr-defined]
KnownVisit = Annotated[Visit, Depends(known_visit)]


def open_to_all(request: Request) -> None:
    """A dependency of endpoints that everybody may use."""


open_to_all.permission = None  # type: ignore[attr-defined]
OpenToAll = Depends(open_to_all)


def open_visit(request: Request) -> Visit:
    """A dependency that gives the visit of anybody."""
    return visit_of(request)


open_visit.permission = None  # type: ignore[attr-defined]
OpenVisit = Annotated[Visit, Depends(open_visit)]
