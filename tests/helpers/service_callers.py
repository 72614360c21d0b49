"""Callers with given roles, without the work of making keys for them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import httpx

from discreet_service.application import create_app
from discreet_service.permissions import Grant, Principal
from discreet_service.service import Service
from discreet_service.web.access import Visit
from tests.helpers.asgi_browser import AsgiBrowser


def visit_as(service: Service, principal: Principal) -> Visit:
    """What an endpoint gets when somebody asks it."""
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "https",
        "server": ("office.example", 443),
        "path": "/",
        "root_path": "",
        "query_string": b"",
        "headers": [],
        "app": SimpleNamespace(state=SimpleNamespace(service=service)),
        "state": {"principal": principal},
    }
    return Visit(scope)


class RoleCallers:
    """Asks a service as somebody: their key is their name.

    Args:
        service: The service.
        resources: What it has.
        roles: Name → roles, or role@dataset.
    """

    def __init__(
        self, service: Service, resources: Sequence[str], roles: dict[str, Sequence[str]]
    ) -> None:
        self.people = {
            name: Principal(
                name=name,
                kind="key",
                grants=tuple(Grant(*each.split("@")) for each in given),
            )
            for name, given in roles.items()
        }
        service.__dict__["api_keys"] = SimpleNamespace(principal=self.people.get)
        self.browser = AsgiBrowser(create_app(service, resources))

    def ask(self, name: str, method: str, path: str, **more: Any) -> httpx.Response:
        head = {"Authorization": f"Bearer {name}"} if name else {}
        return self.browser.ask(method, path, headers=head | more.pop("headers", {}), **more)
