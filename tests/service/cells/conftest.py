"""Fixtures of the tests of cells that are handed in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.service_callers import MethodOffice
from tests.helpers.service_cells import WRITERS, CellService


@dataclass
class Caller:
    """Somebody with a key who hands in cells."""

    served: CellService
    browser: AsgiBrowser
    token: str

    def send(self, path: str, content: bytes, media: str, **params: Any) -> httpx.Response:
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": media}
        if accept := params.pop("accept", None):
            head["Accept"] = accept
        where = f"/api/v1/protect/{path}"
        return self.browser.ask("POST", where, content=content, headers=head, params=params)

    def hand_in(
        self, path: str, frame: pl.DataFrame, how: str = "arrow", **params: Any
    ) -> httpx.Response:
        media, written = WRITERS[how]
        return self.send(path, written(frame), media, **{"parameter_set": "census", **params})


def caller_of(folder: Path, **sections: Any) -> Caller:
    served = CellService.of(folder)
    served.in_use(**sections)
    return Caller(served, AsgiBrowser(served.app()), served.key())


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A trusted system, and a parameter set in use."""
    found = caller_of(tmp_path_factory.mktemp("cells"))
    yield found
    found.served.service.close()


CallerMaker = Callable[..., Caller]


@pytest.fixture
def caller_with(tmp_path: Path) -> Iterator[CallerMaker]:
    """Makes one with other parameters."""
    made: list[Caller] = []

    def make(**sections: Any) -> Caller:
        made.append(caller_of(tmp_path, **sections))
        return made[-1]

    yield make
    for each in made:
        each.served.service.close()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MethodOffice]:
    """A service that carries out methods for two producers."""
    roles = {"paula": ["producer"], "otto": ["producer"]}
    found = MethodOffice(tmp_path_factory.mktemp("office"), roles)
    yield found
    found.service.close()
