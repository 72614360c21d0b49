"""The same records on every engine."""

import pytest

from tests.helpers.engines import ENGINES, Engine


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Engine:
    """Moves a polars frame to one of the engines."""
    return ENGINES[request.param]


@pytest.fixture(params=["polars", "duckdb"])
def either(request: pytest.FixtureRequest) -> Engine:
    """One engine in memory and one that is a database, where the engine is not the subject."""
    return ENGINES[request.param]
