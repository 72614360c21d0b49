"""Equality on a service that runs: what two universes that differ by few tell of those apart.

Each attack is made twice: on a service whose policy lacks the rule, where it has to succeed, and on
one that has it. What no rule stops is held to what the documentation says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import AttackRate, asked, people, without_rules
from tests.helpers.service_equality import (
    PLACES,
    POST,
    NearUniverses,
    equality_of_filters,
    equality_of_rows,
    near_filters,
    near_rows,
    publish_places,
    with_places,
)

pytestmark = pytest.mark.exhaustive

Fresh = Callable[..., AbstractContextManager[RunningDemo]]


@pytest.fixture(scope="module")
def fresh(large_demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Services with a second data set, each new; the office heeds its report on areas, or not."""

    @contextmanager
    def run(*, heeded: bool = False) -> Iterator[RunningDemo]:
        place = tmp_path_factory.mktemp("equality") / "service"
        policy = files("discreet_service").joinpath("demo_policy.toml").read_text("utf-8")
        change = with_places(policy, heeded=heeded)
        with running_demo(large_demonstration, place, change=change) as found:
            found.clock.step = 20
            publish_places(found)
            yield found

    return run


@pytest.fixture(scope="module")
def demo(fresh: Fresh) -> Iterator[RunningDemo]:
    with fresh() as found:
        yield found


def _rates(
    demo: RunningDemo, pairs: Sequence[NearUniverses], data: str, dataset: str
) -> tuple[AttackRate, AttackRate]:
    return equality_of_filters(demo, pairs, people(demo, data), dataset)


@pytest.mark.parametrize(
    ("data", "dataset", "between"),
    [("datasets/census-2022-1", "census", ()), (PLACES, "places", ("region", "post"))],
)
def test_of_two_filters_that_differ_by_few_never_both_are_answered(
    fresh: Fresh, demo: RunningDemo, data: str, dataset: str, between: Sequence[str]
) -> None:
    """By filters of any kind, and by areas of two systems; each pair by keys of its own."""
    pairs = near_filters(demo, people(demo, data), 12, dataset=dataset, between=between)
    assert len(pairs) == 12
    with fresh() as unruled, without_rules("P5"):
        answered, proven = _rates(unruled, pairs, data, dataset)
    assert answered.rate == 1
    assert proven.rate >= 0.5  # 89 % of 120
    answered, proven = _rates(demo, pairs, data, dataset)
    assert (answered.hits, proven.hits) == (0, 0)


def test_areas_side_by_side_tell_unless_the_report_is_heeded(
    fresh: Fresh, demo: RunningDemo
) -> None:
    """Rows are not held against each other: what finds them is the report for the custodian."""
    frame = people(demo, PLACES)
    told = demo.ask("GET", "/api/v1/policies/places/1/areas/person", key="custodian").json()
    listed = {(one[1], one[3]) for one in told["differences"]}
    for level, post in (*POST.items(), ("district", "post_state"), ("state", "post_district")):
        near = near_rows(demo, frame, [("region", level)], [("post", post)], "places")
        assert {(*pair.first, *pair.second) for pair in near} <= listed

    def attacked(service: RunningDemo) -> AttackRate:
        by = [("region", "municipality")], [("post", POST["municipality"])]
        return equality_of_rows(service, frame, *by, dataset="places", what="areas")

    found = attacked(demo)
    assert found.tried >= 30
    assert found.rate >= 0.8
    with fresh(heeded=True) as careful:
        assert attacked(careful).hits == 0


def test_unions_of_areas_are_not_answered(demo: RunningDemo) -> None:
    """All post areas of a district would be the district but for few: a group of one's own."""
    frame = people(demo, PLACES)
    statuses = set()
    for district in sorted(frame["municipality"].str.slice(0, 5).unique()):
        every = frame["municipality"].unique()
        towns = sorted(every.filter(every.str.starts_with(district)))
        if len(towns) > 2:
            for codes in ([f"P{one}" for one in towns[1:]], [f"P{one}" for one in towns[:-1]]):
                where = [{"variable": "post", "codes": codes}]
                told = asked(demo, "everybody", "places", by=["sex"], where=where)
                statuses.add((told.status, told.json().get("rule")))
    assert statuses == {(403, "P6")}


def test_groupings_of_one_column_tell_within_districts_and_that_is_said(demo: RunningDemo) -> None:
    """Ages by fives and by law, in one place: 0-4 and 0-5 differ by those who are five."""
    frame = people(demo)
    rates = {}
    for level in ("district", "municipality"):
        one, other = ([("region", level), (name, "1")] for name in ("age5", "legal_age"))
        rates[level] = equality_of_rows(demo, frame, one, other, what="groupings")
    assert rates["district"].tried >= 10
    assert rates["district"].rate >= 0.8
    # Where places are small the parts that would tell are hidden.
    assert (rates["municipality"].hits, rates["municipality"].tried > 5) == (0, True)
