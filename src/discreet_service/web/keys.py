"""Keys: what programs show instead of a login; a key is shown once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from discreet_service.people import ApiKey, NewApiKey
from discreet_service.permissions import ALL, Grant, Permission
from discreet_service.web.access import KnownVisit
from discreet_service.web.pages import iso_time

router = APIRouter(prefix="/api/v1/keys", tags=["keys"])

_ROLES = ["requester"]
KeyId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="Visible part of the key")]


class GrantBody(BaseModel, extra="forbid"):
    """A role, and for which data set."""

    role: Annotated[str, Field(max_length=40, examples=_ROLES)]
    # The data set; * for all
    dataset: Annotated[str, Field(max_length=100, examples=["census"])] = ALL

    def grant(self) -> Grant:
        """As a grant."""
        return Grant(self.role, self.dataset)


class NewKeyBody(BaseModel, extra="forbid"):
    """A key that somebody wants."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["nightly tables"])]
    grants: Annotated[list[GrantBody], Field(min_length=1, max_length=100)]  # What it may
    # The system that it belongs to; empty for oneself
    owner: Annotated[str, Field(max_length=200)] = ""
    days: Annotated[int, Field(ge=1, le=730)] = 365  # After which it ends


class RotationBody(BaseModel, extra="forbid"):
    """Body of a rotation."""

    # For how long the old one is good as well
    overlap_hours: Annotated[int, Field(ge=0, le=168)] = 24


@router.post("", status_code=201)
def create_key(body: NewKeyBody, visit: KnownVisit, response: Response) -> dict[str, Any]:
    """Create an API key; it is shown only once. Needs a login: a key cannot create keys."""
    made = visit.service.api_keys.create(
        visit.principal,
        name=body.name,
        grants=[grant.grant() for grant in body.grants],
        owner=body.owner,
        days=body.days,
    )
    return _shown_once(made, response)


@router.get("")
def list_keys(visit: KnownVisit) -> dict[str, Any]:
    """List one's own API keys; administrators see all. The keys themselves are never shown."""
    of_all = visit.principal.may(Permission.people_manage, ALL) and not visit.principal.key
    found = visit.service.api_keys.listed("" if of_all else visit.principal.name)
    return {"keys": [shown_key(item) for item in found]}


@router.post("/{key}:rotate", status_code=201)
def rotate_key(
    key: KeyId, body: RotationBody, visit: KnownVisit, response: Response
) -> dict[str, Any]:
    """Replace an API key. The old one stays valid for some hours; a key may replace itself."""
    return _shown_once(
        visit.service.api_keys.rotate(visit.principal, key, body.overlap_hours), response
    )


@router.delete("/{key}", status_code=204)
def revoke_key(key: KeyId, visit: KnownVisit) -> None:
    """Revoke an API key at once, with all keys that replaced it."""
    visit.service.api_keys.revoke(visit.principal, key)


def shown_key(key: ApiKey) -> dict[str, Any]:
    """Public facts about a key."""
    times = ("created", "expires", "last_used", "revoked")
    return {
        **{name: getattr(key, name) for name in ("id", "name", "owner")},
        "grants": [grant.facts for grant in key.grants],
        **{name: iso_time(getattr(key, name)) for name in times},
    }


def _shown_once(made: NewApiKey, response: Response) -> dict[str, Any]:
    response.headers["Cache-Control"] = "no-store"
    return {**shown_key(made.key), "key": made.token}
