"""Averaging on a service that runs: how often a count is found from all that the catalogue offers.

Success cannot be brought to zero, for one figure alone is exact in every second case: it is held
to what is said of it, by one key or by several that share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import other_policy, real_keys, without_rules
from tests.helpers.service_averaging import (
    averaged_variable,
    averaging_catalogue,
    averaging_free_groups,
)
from tests.helpers.service_data import OPEN_POLICY

pytestmark = pytest.mark.exhaustive

Fresh = Callable[..., AbstractContextManager[RunningDemo]]


@pytest.fixture(scope="module")
def fresh(large_demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Services that nobody asked before, with the policy of the demonstration or another one."""

    @contextmanager
    def run(policy: str = "") -> Iterator[RunningDemo]:
        place = tmp_path_factory.mktemp("averaging") / "service"
        change = other_policy(policy) if policy else lambda _: None
        with running_demo(large_demonstration, place, change=change) as found:
            found.clock.step = 20
            yield found

    return run


def test_the_catalogue_says_little_more_than_one_figure(fresh: Fresh) -> None:
    """All crossings of two variables of municipalities: n = 271, and 50 % by single figures."""
    with fresh() as demo:
        found = averaging_catalogue(
            demo, "municipality", real_keys(demo, "requester", 4), targets=("sex", "marital_status")
        )
    assert found.tried > 250
    assert found.without is not None
    # It finds something: who is sure to gain nothing would not have to be held.
    assert found.rate >= found.without - 0.02
    assert found.rate <= 0.6


def test_four_keys_are_shown_what_one_key_is(fresh: Fresh) -> None:
    shown = []
    for number in (1, 4):
        with fresh() as demo:
            keys = real_keys(demo, "requester", number)
            shown.append(averaged_variable(demo, "district", "education", keys))
    assert shown[0] == shown[1]
    assert shown[0][1] > 5


def test_groups_of_ones_own_are_not_answered_and_would_tell(fresh: Fresh) -> None:
    """Partitions of ages into two groups: none is answered. Without the rule they find counts."""
    with fresh() as demo:
        held = averaging_free_groups(demo, real_keys(demo, "requester", 4), 10)
    assert "0 of 10 answered" in held.attack
    assert held.without is not None
    assert held.rate <= held.without
    with fresh(OPEN_POLICY) as demo, without_rules("P6"):
        found = averaging_free_groups(demo, real_keys(demo, "requester", 4), 60)
    assert "60 of 60 answered" in found.attack
    assert found.rate >= 0.65
