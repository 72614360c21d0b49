"""People: who is known, and what they may; for administrators. Passwords are shown once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Path, Query, Response
from pydantic import BaseModel, Field

from discreet_service.people import NewApiKey, UserAccount
from discreet_service.permissions import ALL, ROLES, Grant, Permission
from discreet_service.web.access import Visit, visit_with
from discreet_service.web.keys import GrantBody, KeyId
from discreet_service.web.pages import (
    Cell,
    NavigationEntry,
    PageForm,
    Part,
    back_to,
    form_visit_with,
    iso_time,
    list_page,
    page,
    sent,
    words,
)

router = APIRouter(tags=["people"])
NAVIGATION = NavigationEntry(path="/people", place=140, permissions=(Permission.people_manage,))

Manager = Annotated[Visit, Depends(visit_with(Permission.people_manage))]
_PeopleManageForm = Annotated[Visit, Depends(form_visit_with(Permission.people_manage))]
UserId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Number of the user")]
_Name = Annotated[str, Form(max_length=200)]
#: What fits into a page of 150 kB.
_MOST_SHOWN = 200


class NewUserBody(BaseModel, extra="forbid"):
    """Somebody to be known."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["anna"])]  # Their name
    kind: Literal["person", "system"] = "person"  # A person, or a system that has only keys


@router.get("/api/v1/people")
def list_people(visit: Manager) -> dict[str, Any]:
    """List all users with their roles."""
    return {"people": [_shown(account) for account in visit.service.users.accounts()]}


@router.post("/api/v1/people", status_code=201)
def create_person(body: NewUserBody, visit: Manager) -> dict[str, Any]:
    """Add a user, without any role."""
    return _shown(visit.service.users.add(visit.principal, body.name, body.kind))


@router.post("/api/v1/people/{user}:grant")
def grant_role(user: UserId, body: GrantBody, visit: Manager) -> dict[str, Any]:
    """Grant a role. The user's sessions end; nobody can grant a role to themselves."""
    return _changed(visit, user, "grant", body.grant())


@router.post("/api/v1/people/{user}:withdraw")
def withdraw_role(user: UserId, body: GrantBody, visit: Manager) -> dict[str, Any]:
    """Withdraw a role, also from the user's API keys."""
    return _changed(visit, user, "withdraw", body.grant())


@router.post("/api/v1/people/{user}:disable")
def disable_person(user: UserId, visit: Manager) -> dict[str, Any]:
    """Disable a user and all their API keys at once."""
    return _changed(visit, user, "set_disabled", disabled=True)


@router.post("/api/v1/people/{user}:enable")
def enable_person(user: UserId, visit: Manager) -> dict[str, Any]:
    """Enable a disabled user."""
    return _changed(visit, user, "set_disabled", disabled=False)


@router.post("/api/v1/people/{user}:reset-password")
def reset_password(user: UserId, visit: Manager, response: Response) -> dict[str, Any]:
    """Create a one-time password, valid for a day; it is shown only once."""
    password = visit.service.users.reset_password(
        visit.principal, visit.service.users.name_of(user)
    )
    response.headers["Cache-Control"] = "no-store"
    return {"id": user, "one_time_password": password}


@router.get("/people", include_in_schema=False)
def show_people(
    visit: Manager, wanted: Annotated[str, Query(alias="name", max_length=200)] = ""
) -> Response:
    """The page of users; `name` keeps those whose names contain a text."""
    sought, language = wanted.strip().casefold(), visit.language
    accounts = [one for one in visit.service.users.accounts() if sought in one.name.casefold()]
    spoken = words("people", language)

    def role_text(grant: Grant) -> str:
        role = getattr(ROLES.get(grant.role), language, grant.role)
        return role if grant.dataset == ALL else f"{role} ({grant.dataset})"

    rows = [
        (
            Cell(account.name, f"/people/{account.id}"),
            spoken[account.kind],
            ", ".join(map(role_text, account.grants)) or Cell(spoken["no_roles"], look="quiet"),
            Cell(spoken["disabled" if account.disabled else "enabled"],
                 tag="problem" if account.disabled else "good"),
        )
        for account in accounts[:_MOST_SHOWN]
    ]  # fmt: skip
    more = len(accounts) - len(rows)
    after: list[Any] = [Part("note", "more", look="quiet", lead=f"{more:,}")] if more else []
    after.append(PageForm(path="/people", model=NewUserBody, send="send", heading="add"))
    return list_page(visit, "people", ("name", "kind", "roles", "state"), rows, table="people",
                     fields={"name": wanted}, after=after)  # fmt: skip


@router.post("/people", include_in_schema=False)
def add_by_form(
    visit: _PeopleManageForm, form: Annotated[NewUserBody, Depends(sent(NewUserBody))]
) -> Response:
    """Add a user."""
    return _to_person(visit.service.users.add(visit.principal, form.name, form.kind).id)


@router.get("/people/{user}", include_in_schema=False)
def show_person(user: UserId, visit: Manager) -> Response:
    """The page of one user: roles, API keys, login."""
    return _person_page(visit, user)


@router.post("/people/{user}/roles", include_in_schema=False)
def change_role_by_form(
    user: UserId,
    visit: _PeopleManageForm,
    role: Annotated[str, Form(max_length=40)],
    act: Annotated[Literal["grant", "withdraw"], Form()],
    dataset: Annotated[str, Form(max_length=100)] = ALL,
) -> Response:
    """Grant or withdraw a role."""
    _changed(visit, user, act, Grant(role, dataset.strip() or ALL))
    return _to_person(user)


@router.post("/people/{user}/state", include_in_schema=False)
def change_state_by_form(
    user: UserId,
    visit: _PeopleManageForm,
    act: Annotated[Literal["disable", "enable"], Form()],
) -> Response:
    """Disable or enable a user."""
    _changed(visit, user, "set_disabled", disabled=act == "disable")
    return _to_person(user)


@router.post("/people/{user}/password", include_in_schema=False)
def reset_password_by_form(visit: _PeopleManageForm, user: UserId) -> Response:
    """Create a one-time password; the page shows it once."""
    once = visit.service.users.reset_password(visit.principal, visit.service.users.name_of(user))
    return _person_page(visit, user, password=once)


@router.post("/people/{user}/keys", include_in_schema=False)
def make_key_by_form(
    visit: _PeopleManageForm,
    user: UserId,
    name: _Name,
    role: Annotated[str, Form(max_length=200)],
    days: Annotated[int, Form(ge=1, le=730)] = 365,
) -> Response:
    """Create an API key for a system, with one of the user's roles; the page shows it once."""
    owner, grants = visit.service.users.name_of(user), [Grant.of(role)]
    made = visit.service.api_keys.create(
        visit.principal, name=name, grants=grants, owner=owner, days=days
    )
    return _person_page(visit, user, made=made)


@router.post("/people/{user}/keys/{key}/revoke", include_in_schema=False)
def revoke_key_of_person(user: UserId, key: KeyId, visit: _PeopleManageForm) -> Response:
    """Revoke one of a user's API keys."""
    visit.service.api_keys.revoke(visit.principal, key)
    return _to_person(user)


def _to_person(user: str) -> Response:
    return back_to(f"/people/{user}")


def _person_page(
    visit: Visit, user: str, *, password: str = "", made: NewApiKey | None = None
) -> Response:
    service, name = visit.service, visit.service.users.name_of(user)
    known = {record.dataset for record in service.datasets.records()}
    known |= {dataset for dataset, _ in service.datasets.drafts()}
    return page(visit, "person", secret=bool(password or made), title=name,
                user=service.users.account(name), keys=service.api_keys.listed(name),
                names=list(ROLES), datasets=sorted(known), password=password, made=made,
                now=service.clock())  # fmt: skip


def _changed(visit: Visit, user: str, act: str, *given: Grant, **state: bool) -> dict[str, Any]:
    """A user of whom something was changed: `grant`, `withdraw` or `set_disabled`."""
    users = visit.service.users
    name = users.name_of(user)
    getattr(users, act)(visit.principal, name, *given, **state)
    return _shown(users.account(name))


def _shown(account: UserAccount) -> dict[str, Any]:
    return {
        **{name: getattr(account, name) for name in ("id", "name", "kind")},
        "grants": [grant.facts for grant in account.grants],
        "login": "provider" if account.elsewhere else "password",
        "disabled": account.disabled,
        "created": iso_time(account.created),
    }
