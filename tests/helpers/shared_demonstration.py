"""The demonstration of the service, made once per run and copied by whoever changes it."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from discreet_service.demo import make_demonstration
from tests.helpers.running_service import cheap_passwords


def shared_demonstration(factory: pytest.TempPathFactory, persons: int = 3_000) -> Path:
    """The folder of a demonstration that all workers of a run share; only copies of it run.

    Args:
        factory: Where pytest keeps folders; those of all workers stand side by side.
        persons: Size of its census.
    """
    base = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        base = base.parent
    folder = base / f"demonstration-{persons}"
    with (base / f"{folder.name}.lock").open("w") as lock, cheap_passwords():
        fcntl.flock(lock, fcntl.LOCK_EX)
        make_demonstration(folder, persons=persons)
    return folder


def copied_demonstration(
    factory: pytest.TempPathFactory, folder: Path, persons: int = 3_000
) -> Path:
    """A copy of the shared demonstration in a folder that is not there yet.

    Args:
        factory: Where pytest keeps folders.
        folder: The copy.
        persons: Size of its census.
    """
    return Path(shutil.copytree(shared_demonstration(factory, persons), folder))
