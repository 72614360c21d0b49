"""A town that is attacked, with and without its policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from discreet_service.database import ServiceDatabase
from tests.helpers.policy_cases import PolicedTown, Town, policed
from tests.helpers.shared_demonstration import shared_demonstration

Police = Callable[..., PolicedTown]


@pytest.fixture
def police(laid_out_file: Path, tmp_path: Path) -> Callable[..., PolicedTown]:
    """Puts towns under policies, each with a database of its own."""
    opened: list[ServiceDatabase] = []

    def put(town: Town, change: Callable[[str], str] = str) -> PolicedTown:
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        place = folder / "service.db"
        place.write_bytes(laid_out_file.read_bytes())
        opened.append(ServiceDatabase.open(f"sqlite:///{place}"))
        return policed(town, opened[-1], folder, change)

    yield put  # type: ignore[misc]
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a demonstration; only copies of it run."""
    return shared_demonstration(tmp_path_factory)


@pytest.fixture(scope="session")
def large_demonstration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with more persons, for attacks that take many questions."""
    return shared_demonstration(tmp_path_factory, persons=8_000)
