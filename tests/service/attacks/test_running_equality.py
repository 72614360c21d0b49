"""Equality on a service that runs: what two universes that differ by few tell of those apart.

Each attack is made twice: on a service whose policy lacks the rule, where it has to succeed, and on
one that has it. What no rule stops is held to what the documentation says of it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import AttackRate, asked, people
from tests.helpers.service_equality import (
    PLACES,
    POST,
    equality_of_rows,
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


def test_one_grouping_of_a_column_is_answered_in_an_area(demo: RunningDemo) -> None:
    """Ages by fives and by law, in one place: 0-4 and 0-5 differ by those who are five."""
    frame = people(demo)
    told = demo.ask("GET", "/api/v1/policies/census/2022-1/areas/person", key="custodian").json()
    listed = {(one[1], one[3]) for one in told["differences"]}
    for level in ("district", "municipality"):
        one, other = ([("region", level), (name, "1")] for name in ("age5", "legal_age"))
        near = near_rows(demo, frame, one, other, "census")
        assert {(", ".join(pair.first), ", ".join(pair.second)) for pair in near} <= listed
        rate = equality_of_rows(demo, frame, one, other, what="groupings")
        assert (rate.hits, rate.tried > 5) == (0, True)
    by = [{"variable": "region", "level": 2}, {"variable": "legal_age", "level": 1}]
    assert asked(demo, "everybody", "census", by=by).json()["rule"] == "P4/P5/P7"
    whole = [{"variable": "legal_age", "level": 1}, {"variable": "sex", "level": 1}]
    assert asked(demo, "everybody", "census", by=whole).status == 200
