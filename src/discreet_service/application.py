"""The application: all endpoints and pages of a service. An endpoint that names no permission is an
error when it is made.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from types import ModuleType

from fastapi import FastAPI
from fastapi.routing import APIRoute, APIRouter
from starlette.routing import BaseRoute

from discreet._version import __version__
from discreet_service import studio, web
from discreet_service.service import Service
from discreet_service.web import (
    BodyGate,
    NavigationEntry,
    SecurityGate,
    add_kept_answers,
    add_problem_pages,
    dependants,
    describe_interface,
    facades,
)

#: Modules with endpoints and pages: those of `web` and of the studio that have a `router`;
#: `facades` stands for those of plugins.
RESOURCES = (
    *(
        module.name
        for package in (web, studio)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ),
    "facades",
)
_ABOUT = (
    "Protected tables of official statistics: submit cells or query tables. The same cell "
    "always has the same value."
)


def create_app(service: Service, resources: Sequence[str] = RESOURCES) -> FastAPI:
    """The application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(title="discreet: protection service",
                  summary="Protected figures of official statistics", description=_ABOUT,
                  version=__version__, openapi_url="/api/v1/openapi.json", docs_url=None,
                  redoc_url=None, lifespan=lifespan, generate_unique_id_function=_operation,
                  redirect_slashes=False)  # fmt: skip
    app.state.service, app.state.body_gate = service, BodyGate(service)
    navigation: list[NavigationEntry] = []
    modules = modules_of(resources)
    app.router.routes += _routes(**modules)
    for module in modules.values():
        entries = getattr(module, "NAVIGATION", ())
        navigation += entries if isinstance(entries, tuple) else (entries,)
    app.state.navigation = sorted(navigation, key=lambda entry: entry.place)
    add_problem_pages(app)
    describe_interface(app)
    # Requests come through the last one first.
    add_kept_answers(app, service)
    app.add_middleware(SecurityGate, service=service)
    return app


@cache
def _routes(**modules: ModuleType) -> list[BaseRoute]:
    """The routes of some modules: what is worked out of them is so once per process."""
    every = APIRouter(generate_unique_id_function=_operation)
    # Addresses are looked for in one router after the other: those of most requests come first.
    for name, module in sorted(modules.items(), key=lambda one: not one[0].endswith(".queries")):
        _check_permissions(name, module.router)
        every.include_router(module.router)
    return every.routes


def modules_of(resources: Sequence[str]) -> dict[str, ModuleType]:
    """The modules with a `router` of those named; a façade goes by its name, too."""
    modules: dict[str, ModuleType] = {}
    for name in resources:
        if name == "facades":
            modules |= facades()
        elif name in facades():
            modules[name] = facades()[name]
        else:
            path = name if "." in name else f"discreet_service.web.{name}"
            module = importlib.import_module(path)
            modules |= {name: module} if hasattr(module, "router") else {}
    return modules


def _operation(route: APIRoute) -> str:
    return route.name


def _check_permissions(name: str, router: APIRouter) -> None:
    for route in router.routes:
        # What is no plain route could hold others that nobody has looked at.
        found = dependants(route.dependant) if isinstance(route, APIRoute) else ()
        if not any(hasattr(item.call, "permission") for item in found):
            message = f"{name}: {getattr(route, 'path', route)} lacks its permission"
            raise AssertionError(message)
