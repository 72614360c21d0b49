"""People: who is known, and what they may; for administrators.

In: names and roles. Out: accounts. Passwords are shown once, and never by another way.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet_service.people.users import UserAccount
from discreet_service.permissions import ALL, ROLES, Grant, Permission, Principal
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.keys import GrantBody
from discreet_service.web.pages import FormPrincipal, back_to, iso_time, page

router = APIRouter(tags=["people"])

Manager = Annotated[Principal, Depends(principal_with(Permission.people_manage))]
UserId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Number of the user")]
_Name = Annotated[str, Form(max_length=200)]


class NewUserBody(BaseModel):
    """Somebody to be known.

    Args:
        name: Their name.
        kind: A person, or a system that has only keys.
    """

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(min_length=1, max_length=200, examples=["anna"])]
    kind: Literal["person", "system"] = "person"


@router.get("/api/v1/people")
def list_people(service: ServiceDep, _: Manager) -> dict[str, Any]:
    """Everybody who is known, with their roles."""
    return {"people": [_shown(each) for each in service.users.accounts()]}


@router.post("/api/v1/people", status_code=201)
def create_person(body: NewUserBody, service: ServiceDep, principal: Manager) -> dict[str, Any]:
    """Make somebody known, without any role."""
    return _shown(service.users.add(principal, body.name, body.kind))


@router.post("/api/v1/people/{user}:grant")
def grant_role(
    user: UserId, body: GrantBody, service: ServiceDep, principal: Manager
) -> dict[str, Any]:
    """Give a role. The user's logins end; nobody gives a role to themselves."""
    name = service.users.name_of(user)
    service.users.grant(principal, name, body.grant())
    return _shown(service.users.account(name))


@router.post("/api/v1/people/{user}:withdraw")
def withdraw_role(
    user: UserId, body: GrantBody, service: ServiceDep, principal: Manager
) -> dict[str, Any]:
    """Take a role away, from the user's keys too."""
    name = service.users.name_of(user)
    service.users.withdraw(principal, name, body.grant())
    service.api_keys.forget()
    return _shown(service.users.account(name))


@router.post("/api/v1/people/{user}:disable")
def disable_person(user: UserId, service: ServiceDep, principal: Manager) -> dict[str, Any]:
    """Shut somebody out at once, with all keys."""
    return _set_disabled(service, principal, user, disabled=True)


@router.post("/api/v1/people/{user}:enable")
def enable_person(user: UserId, service: ServiceDep, principal: Manager) -> dict[str, Any]:
    """Let somebody in again."""
    return _set_disabled(service, principal, user, disabled=False)


@router.post("/api/v1/people/{user}:reset-password")
def reset_password(
    user: UserId, service: ServiceDep, principal: Manager, response: Response
) -> dict[str, Any]:
    """A password to be used once within a day; it is shown this once."""
    password = service.users.reset_password(principal, service.users.name_of(user))
    response.headers["Cache-Control"] = "no-store"
    return {"id": user, "one_time_password": password}


@router.get("/people", include_in_schema=False)
def show_people(request: Request, service: ServiceDep, principal: Manager) -> Response:
    """The page of people."""
    return page(request, "people", people=service.users.accounts(), names=list(ROLES), once=None)


@router.post("/people", include_in_schema=False)
def add_by_form(
    service: ServiceDep, principal: FormPrincipal, name: _Name, kind: Annotated[str, Form()]
) -> Response:
    """Make somebody known."""
    check_allowed(principal, Permission.people_manage)
    service.users.add(principal, name, kind)
    return back_to("/people")


@router.post("/people/{user}/roles", include_in_schema=False)
def change_role_by_form(
    user: UserId,
    service: ServiceDep,
    principal: FormPrincipal,
    role: Annotated[str, Form(max_length=40)],
    act: Annotated[Literal["grant", "withdraw"], Form()],
    dataset: Annotated[str, Form(max_length=100)] = ALL,
) -> Response:
    """Give or take a role."""
    check_allowed(principal, Permission.people_manage)
    name, grant = service.users.name_of(user), Grant(role, dataset.strip() or ALL)
    if act == "grant":
        service.users.grant(principal, name, grant)
    else:
        service.users.withdraw(principal, name, grant)
        service.api_keys.forget()
    return back_to("/people")


@router.post("/people/{user}/state", include_in_schema=False)
def change_state_by_form(
    user: UserId,
    service: ServiceDep,
    principal: FormPrincipal,
    act: Annotated[Literal["disable", "enable"], Form()],
) -> Response:
    """Shut somebody out, or let them in again."""
    check_allowed(principal, Permission.people_manage)
    _set_disabled(service, principal, user, disabled=act == "disable")
    return back_to("/people")


@router.post("/people/{user}/password", include_in_schema=False)
def reset_password_by_form(
    request: Request, user: UserId, service: ServiceDep, principal: FormPrincipal
) -> Response:
    """A one-time password, shown once."""
    check_allowed(principal, Permission.people_manage)
    name = service.users.name_of(user)
    once = (name, service.users.reset_password(principal, name))
    accounts, names = service.users.accounts(), list(ROLES)
    return page(request, "people", secret=True, people=accounts, names=names, once=once)


def _set_disabled(
    service: ServiceDep, principal: Principal, user: str, *, disabled: bool
) -> dict[str, Any]:
    name = service.users.name_of(user)
    service.users.set_disabled(principal, name, disabled=disabled)
    service.api_keys.forget()
    return _shown(service.users.account(name))


def _shown(account: UserAccount) -> dict[str, Any]:
    return {
        "id": account.id,
        "name": account.name,
        "kind": account.kind,
        "grants": [{"role": each.role, "dataset": each.dataset} for each in account.grants],
        "login": "provider" if account.elsewhere else "password",
        "disabled": account.disabled,
        "created": iso_time(account.created),
    }
