"""Extraction of noise on a service that runs, by systems that may hand cells in.

Such a system always finds how noise is drawn; what is held is that staff is told. The one way of
which nobody is told is that of a system that does what all do, and it is the least exact one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_extraction import STYLES, in_steps, searched, tabulated, true_shares

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def demo(
    large_demonstration: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningDemo]:
    with running_demo(large_demonstration, tmp_path_factory.mktemp("noise") / "service") as found:
        yield found


@pytest.mark.parametrize("style", ["keys in steps", "the same keys with other counts"])
def test_staff_is_told_of_tabulations(demo: RunningDemo, style: str) -> None:
    runs = [tabulated(demo, STYLES[style], 1 + at, at) for at in range(4)]
    assert all(each.told for each in runs)


def test_staff_is_told_of_systems_that_share_the_work(demo: RunningDemo) -> None:
    """Six of them, none of whom hands in enough to be noticed alone."""
    assert all(tabulated(demo, in_steps, 2 + at, at, callers=6).told for at in range(2))


def test_staff_is_told_of_searches_for_bounds(demo: RunningDemo) -> None:
    """With some hundred cells the row is known exactly, and nothing can be done but tell."""
    for at in range(4):
        found = searched(demo, 2 + at, at)
        assert found.told
        assert found.cells < 400
        assert found.error < 0.003  # noise that is drawn once in a thousand may be missed


def test_random_keys_are_not_noticed_and_say_the_least(demo: RunningDemo) -> None:
    """A limit that is stated: 3,000 random keys look like a table, and are one for all purposes."""
    runs = [tabulated(demo, STYLES["random keys, each once"], 3 + at, at) for at in range(2)]
    assert not any(each.told for each in runs)
    assert all(0.001 < each.error < 0.04 for each in runs)


def test_what_is_compared_with_is_a_row_of_the_noise(demo: RunningDemo) -> None:
    assert sum(true_shares(demo, 3).values()) == pytest.approx(1)
    assert true_shares(demo, 50) == true_shares(demo, 8) != true_shares(demo, 3)
