"""Rates of attacks on a service that runs; `bench/service_attacks.py` measures them with more.

What succeeds now and then is stated: hidden cells are guessed about as often as by their margins
alone. Averaging, equality and extraction have files of their own.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import (
    AttackRate,
    forged_lines,
    guessed_jobs,
    guessing_hidden_cells,
    probed_tags,
    refusal_times,
    repeated_spelling,
    told_by_time,
)

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def demo(
    large_demonstration: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningDemo]:
    place = tmp_path_factory.mktemp("rates") / "service"
    with running_demo(large_demonstration, place) as found:
        found.clock.step = 20
        yield found


@pytest.mark.parametrize(
    ("attack", "tries"),
    [
        (guessed_jobs, 60),
        (repeated_spelling, 10),
        (forged_lines, 8),
        (probed_tags, 6),
    ],
)
def test_attacks_of_which_none_succeeds(
    demo: RunningDemo, attack: Callable[[RunningDemo, int], AttackRate], tries: int
) -> None:
    found = attack(demo, tries)
    assert (found.hits, found.tried > 0) == (0, True), found


def test_hidden_cells_are_guessed_no_better_than_by_always_saying_one(demo: RunningDemo) -> None:
    hidden = guessing_hidden_cells(demo, 5)
    assert hidden.tried > 100
    assert hidden.rate < 0.75


def test_the_time_of_a_refusal_does_not_tell_whether_there_is_somebody(demo: RunningDemo) -> None:
    """80 refusals of each kind; the attacker learns on half, and is asked about the others.

    By chance 50 % are told rightly. 80 answers reject that beyond 75 %, once in 100,000 runs
    without cause, and with a power of 99 % where an attacker tells 87 % rightly.
    """
    found = told_by_time(refusal_times(demo, 80))
    assert found.tried == 80
    assert found.rate <= 0.75


def test_that_test_of_time_would_find_a_difference() -> None:
    late = {"few": [0.05 + 0.001 * (at % 7) for at in range(120)],
            "nobody": [0.055 + 0.001 * (at % 7) for at in range(120)]}  # fmt: skip
    assert told_by_time(late).rate > 0.75
