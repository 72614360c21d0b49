"""Access: who asks, and whether they may, or 401 or 403. Every endpoint names the permission that
it needs; one that names none cannot be made (`application` looks).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from discreet_service.audit import AuditKind
from discreet_service.jobs import Job
from discreet_service.people import LoginSession
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import Language
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.problem_pages import language_of
from discreet_service.web.security import (
    address_key,
    caller_address,
    check_same_origin,
    session_cookie,
)

_ANONYMOUS = "anonymous"


class Visit(Request):
    """A request with the service behind it, who asks, and in which language."""

    @property
    def service(self) -> Service:
        """The service."""
        service: Service = self.app.state.service
        return service

    def note_changes(self) -> int:
        """The number of changes, noted once: what is looked up from here on is no older."""
        if not hasattr(self.state, "changes"):
            self.state.changes = self.service.database.number()
        self.service.database.look_as_of(self.state.changes)
        return int(self.state.changes)

    @property
    def login(self) -> LoginSession | None:
        """Their login; None without."""
        cookie = session_cookie(self)
        return None if cookie is None else self.service.sessions.session(cookie)

    @property
    def principal(self) -> Principal:
        """Caller by API key, by session, or anonymous.

        A key that is not known is an error, not nobody: callers should hear of it.
        """
        principal: Principal | None = getattr(self.state, "principal", None)
        if principal is not None:
            return principal
        header, principal = self.headers.get("authorization"), None
        if header is not None:
            scheme, _, token = header.partition(" ")
            if scheme.lower() == "bearer":
                self.note_changes()
                principal = self.service.api_keys.principal(token.strip())
            if principal is None:
                message, hint = "the key is unknown or expired", "Authorization: Bearer dsc_…"
                raise ServiceError(message, "not-authenticated", "authorization", hint)
        elif cookie := session_cookie(self):
            principal = self.service.sessions.principal(cookie)
            if principal is not None:
                check_same_origin(self)
        if principal is None:
            principal = self.service.somebody(self.address)
        self.state.principal = principal
        return principal

    @property
    def address(self) -> str:
        """Where they are, or their network."""
        return address_key(caller_address(self))

    @property
    def language(self) -> Language:
        """The language that they prefer."""
        return language_of(self)

    def submit(self, kind: str, request: Mapping[str, Any], key: str | None = None) -> Job:
        """Hand in a job of theirs; with the same key the same request is the same job."""
        jobs, owner = self.service.jobs, self.principal.name
        return jobs.submit(kind=kind, owner=owner, request=request, idempotency_key=key)

    def note(
        self, kind: AuditKind, about: str = "", facts: Mapping[str, Any] | None = None
    ) -> None:
        """Write down in the audit trail what they did."""
        with self.service.database.writing() as connection:
            self.service.trail.append(connection, kind, self.principal.name, about, facts or {})


def check_allowed(principal: Principal, permission: Permission, dataset: str = "") -> None:
    """Raise an error unless somebody may do something."""
    if principal.may(permission, dataset):
        return
    if principal.kind == _ANONYMOUS:
        hint = "send a key: Authorization: Bearer dsc_…"
        raise ServiceError("authentication required", "not-authenticated", hint=hint)
    hint = "ask the administrators for the role"
    raise ServiceError(f"this needs {permission.value}", "not-allowed", hint=hint)


Function = TypeVar("Function", bound=Callable[..., Any])


def needs(permission: Permission | None) -> Callable[[Function], Function]:
    """Mark a dependency with the permission that it asks for; None for no special one."""

    def mark(function: Function) -> Function:
        function.permission = permission  # type: ignore[attr-defined]
        return function

    return mark


def visit_with(permission: Permission) -> Callable[[Request], Visit]:
    """A dependency that gives the visit of somebody who may do this.

    Where the path names a data set, it is about that one.
    """

    @needs(permission)
    def needed(request: Request) -> Visit:
        visit = open_visit(request)
        check_allowed(visit.principal, permission, request.path_params.get("dataset", ""))
        return visit

    return needed


@needs(None)
def open_visit(request: Request) -> Visit:
    """A dependency that gives the visit of anybody."""
    return Visit(request.scope, request.receive)


@needs(None)
def known_visit(request: Request) -> Visit:
    """A dependency that gives the visit of anybody, but not of nobody."""
    visit = open_visit(request)
    if visit.principal.kind == _ANONYMOUS:
        hint = "log in, or send a key: Authorization: Bearer dsc_…"
        raise ServiceError("authentication required", "not-authenticated", hint=hint)
    return visit


OpenVisit = Annotated[Visit, Depends(open_visit)]
KnownVisit = Annotated[Visit, Depends(known_visit)]
