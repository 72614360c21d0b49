"""Fixtures shared by all tests."""

import gc
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.helpers.places import ROOT

# Two workers share two cores: more threads each only wait for one another.
for _pool in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
# Java of Spark lives for seconds here: compiling it well takes longer than that saves.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# The tree of commands is made once per process, not at each call: it takes 0.15 s.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

# What is left where the power fails is tried nowhere, so no test waits for disks. Programs that
# are killed leave the same with and without.
os.fsync = lambda _: None  # type: ignore[assignment]

# How long an example takes says nothing on a busy machine, and each run tries the same examples;
# `make test-more` takes the long form by `--hypothesis-profile exhaustive`.
for _name, _examples in (("quick", 10), ("exhaustive", 40)):
    settings.register_profile(
        _name,
        deadline=None,
        derandomize=True,
        max_examples=_examples,
        suppress_health_check=list(HealthCheck),
    )
# Examples go by what a test draws alone, not by numbers that stand in whatever was imported so far.
providers._get_local_constants = lambda: providers._local_constants
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


class _SameSecrets:
    """Stands for the module `secrets` where those of microdata are drawn: each run draws the same.

    They decide about noise: with others in each run, a test of published figures could fail once
    in a hundred runs, and nobody could repeat it. Which one it is hangs on the functions of the
    project that lead to the draw, and on how often the test came there before.
    """

    draws: ClassVar[dict[str, Iterator[int]]] = {}

    def token_bytes(self, size: int) -> bytes:
        way, frame = "", sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith((f"{ROOT}/src", f"{ROOT}/tests")):
                way += f"{file.removeprefix(str(ROOT))} {frame.f_code.co_qualname}\n"
            frame = frame.f_back
        way += str(next(self.draws.setdefault(way, count())))
        return hashlib.shake_256(way.encode()).digest(size)


def pytest_configure() -> None:
    from discreet.microdata import secret

    secret.secrets = _SameSecrets()  # type: ignore[assignment]


def pytest_runtest_setup() -> None:
    """Each test draws its secrets from the beginning."""
    _SameSecrets.draws.clear()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile` one worker has all tests of Spark, one those of the browser.

    The others go file by file, so that what a file makes for its tests is made once.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByScene(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            named = (name for name in ("spark", "browser") if name in nodeid)
            return next(named, nodeid.partition("::")[0])

    return ByScene(config, log)


# What stands in memory once all tests are collected stays there: looking through it again and
# again for what may go took a tenth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage among what the tests themselves make."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """DuckDB reports what is still there at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the program keeps for an account is kept with the files of the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


def reference_folder() -> Path | None:
    """Where the published reference data are: DISCREET_REFERENCE, or beside the repository."""
    named = os.environ.get("DISCREET_REFERENCE")
    folder = Path(named) if named else ROOT.parent / "shared" / "reference"
    return folder if folder.is_dir() else None


def without(what: str) -> NoReturn:
    """Leave a test out on a desk, where something may be missing; never in CI."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of published examples and results of other tools."""
    folder = reference_folder()
    return folder or without("no reference data: set DISCREET_REFERENCE to their folder")


@pytest.fixture(scope="session")
def r() -> str:
    """The program R."""
    found = shutil.which("R")
    return found or without("R is not there")


@pytest.fixture(scope="session")
def spark():
    """A local Spark session, with ANSI arithmetic on as Spark 4 has it."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        without("Spark needs Java")
    from pyspark.sql import SparkSession

    # Workers of Spark run the interpreter of the tests, not the first one on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("discreet tests")
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ansi.enabled": "true",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
