"""Callers with given roles, without the work of making keys for them."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import FastAPI, Request

from discreet.microdata import Secret
from discreet_service.application import create_app
from discreet_service.permissions import Grant, Principal
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from discreet_service.web.access import Visit
from discreet_service.web.openapi import operation_examples
from tests.helpers.asgi_browser import AsgiBrowser


def example_body(operation: str) -> Any:
    """The body of the usual example of an operation."""
    return json.loads(operation_examples()[operation]["calls"]["usual"]["body"])


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


def bare_service(folder: Path) -> Service:
    """A service without data, in a folder of its own, that is asked as often as one likes."""
    secret = folder / "service.secret"
    Secret.generate().write(secret)
    limits = LimitSettings(requests_per_second=1e6, burst=10**6)
    return Service(ServiceSettings(folder=folder, secret_file=secret, limits=limits))


class MethodOffice:
    """A service that carries out methods on what is handed in, and who asks it."""

    def __init__(self, folder: Path, roles: dict[str, Sequence[str]]) -> None:
        self.service = bare_service(folder)
        self.callers = RoleCallers(self.service, ("operations", "jobs"), roles)

    def ask(self, path: str, said: Any, name: str = "paula", **more: Any) -> httpx.Response:
        """Ask with a body of JSON."""
        return self.callers.ask(name, "POST", f"/api/v1/{path}", json=said, **more)

    def hand_in(
        self, path: str, said: dict[str, Any], media: str, content: bytes
    ) -> httpx.Response:
        """Ask with a body of cells or records, and all else in the address."""
        return self.callers.ask(
            "paula",
            "POST",
            f"/api/v1/{path}",
            params={"request": json.dumps(said)},
            content=content,
            headers={"Content-Type": media},
        )

    def inputs(self) -> list[Path]:
        """What is kept of what was handed in."""
        return sorted(self.service.job_inputs.folder.glob("*"))


def app_of_known(service: Service, resources: Sequence[str]) -> FastAPI:
    """An application that believes who asks: `KnownCaller` says it."""
    app = create_app(service, resources)

    @app.middleware("http")
    async def somebody(request: Request, call_next: Any) -> Any:
        request.state.principal = app.state.caller
        return await call_next(request)

    return app


class KnownCaller(AsgiBrowser):
    """A browser of somebody with grants, without keys."""

    def __init__(self, app: FastAPI, *grants: Grant, name: str = "anna", kind: str = "key") -> None:
        super().__init__(app)
        self._state = app.state
        self._caller = Principal(name=name, kind=kind, grants=grants, key="dsc_1")

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        self._state.caller = self._caller
        return super().ask(method, path, **more)


class RoleCallers:
    """Asks a service as somebody: their key is their name, their roles ROLE or ROLE@DATASET."""

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
