"""Rates of attacks on a service that runs; `bench/service_attacks.py` measures them with more.

What succeeds now and then is stated: averaging finds no more than single figures do, and hidden
cells are guessed about as often as by their margins alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import (
    all_attacks,
    near_filters,
    people,
    refusal_times,
    told_by_time,
)

pytestmark = pytest.mark.exhaustive

#: Attacks of which none succeeds, by the beginnings of their names.
NEVER = ("numbers of jobs", "averaging over groups of one", "spellings", "equality over filters",
         "old packages", "lines in the log", "tags of refused", "noise tabulated")  # fmt: skip


@pytest.fixture(scope="module")
def demo(demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDemo]:
    place = tmp_path_factory.mktemp("rates") / "service"
    with running_demo(demonstration, place) as found:
        found.clock.step = 20
        yield found


def test_attacks_succeed_no_more_than_is_said(demo: RunningDemo) -> None:
    rates = {each.attack: each for each in all_attacks(demo, pairs=4, small=True)}
    assert len(rates) == 12
    for name in NEVER:
        (found,) = [each for attack, each in rates.items() if attack.startswith(name)]
        assert (found.hits, found.tried > 0) == (0, True), found
    for level in ("municipality", "district"):
        averaged = rates[f"averaging over crossings of a {level}"]
        assert averaged.without is not None
        assert averaged.interval[0] <= averaged.without + 0.1  # no better than one figure
        assert averaged.rate <= 0.6
    hidden = rates["hidden cells from all margins shown"]
    assert hidden.tried > 100
    assert hidden.rate < 0.75


def test_the_attack_on_filters_has_something_to_find(demo: RunningDemo) -> None:
    assert len([*near_filters(people(demo), 10)]) == 10


def test_the_time_of_a_refusal_does_not_tell_whether_there_is_somebody(demo: RunningDemo) -> None:
    """120 refusals of each kind; the attacker learns on half, and is asked about the others.

    By chance 50 % are told rightly. 120 answers reject that beyond 64 %, once in 1,000 runs without
    cause, and with a power of 99 % where an attacker tells 75 % rightly.
    """
    found = told_by_time(refusal_times(demo, 120))
    assert found.tried == 120
    assert found.rate <= 0.64


def test_that_test_of_time_would_find_a_difference() -> None:
    late = {"few": [0.05 + 0.001 * (at % 7) for at in range(120)],
            "nobody": [0.053 + 0.001 * (at % 7) for at in range(120)]}  # fmt: skip
    assert told_by_time(late).rate > 0.64
