"""Thousands of requests that are nearly right: none is an error of ours, none is told a secret."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.mutated_requests import COUNT, KEY, MutatedRequests
from tests.helpers.running_service import RunningDemo, Told, running_demo

#: What no answer and no line says, whatever is asked.
_OURS = (
    *("Traceback", 'File "/', "site-packages", "sqlalchemy", "sqlite3", "psycopg", "pydantic_core"),
    *("SELECT ", "INSERT INTO", "polars.exceptions", "duckdb", "errno", " at 0x"),
)


@pytest.fixture
def demo(demonstration: Path, tmp_path: Path) -> Iterator[RunningDemo]:
    with running_demo(demonstration, tmp_path / "service") as found:
        found.clock.step = 50
        found.service.policies._wait = lambda _: None
        yield found


def _wrong(told: Told, secrets: tuple[str, ...]) -> list[str]:
    text = told.text + "\n".join(f"{name}: {value}" for name, value in told.headers)
    found = [word for word in _OURS if word in text]
    found += ["a secret" for word in secrets if word in text]
    if told.status >= 400:
        found += ["a count" for word in (str(COUNT), str(KEY)) if word in text]
    if told.status >= 500 and told.status != 503:
        found.append(f"status {told.status}")
    if any("\n" in value or "\r" in value for _, value in told.headers):
        found.append("a header with lines")
    if told.header("x-content-type-options") != "nosniff" or "x=1" in told.header("set-cookie"):
        found.append("headers")
    return found


def _attack(demo: RunningDemo, number: int, seed: int) -> Counter[int]:
    """Ask; what is told must be clean, and so must what is logged."""
    drawn, secrets = MutatedRequests(demo, seed), demo.secrets()
    statuses, failures = Counter[int](), list[str]()
    for at in range(number):
        asked = drawn.next()
        told = demo.ask(**asked)
        statuses[told.status] += 1
        wrong = _wrong(told, secrets)
        if wrong:
            failures.append(f"{at} {wrong} {ascii(asked)[:600]} {ascii(told.text)[:300]}")
    assert not failures, f"{len(failures)}: " + "\n".join(failures[:20])
    assert drawn.asked >= {(one.method, one.path) for one in drawn.endpoints}
    for line in demo.logged():
        assert line.startswith('{"time"'), line
        assert line.isascii(), line
        assert not any(word in line for word in (*_OURS, *secrets, str(KEY), '"failure"')), line
    verdict = demo.service.trail.verify()
    assert verdict.whole
    return statuses


@pytest.mark.exhaustive
def test_many_mutated_requests(demo: RunningDemo) -> None:
    statuses = _attack(demo, 1_000, seed=2022)
    assert statuses[200] > 100
    assert statuses[422] > 100
