"""Effects of a policy before it holds, and programmes in sentences."""

import pytest

from discreet_service.application import RESOURCES
from discreet_service.permissions import Grant
from discreet_service.policies import PolicyDocument, limit_use
from discreet_service.queries import (
    PolicyEffect,
    policy_effect,
    programme_sentences,
)
from discreet_service.releases import parsed
from discreet_service.service import Service
from tests.helpers.service_callers import KnownCaller, app_of_known
from tests.helpers.service_data import OPEN_POLICY
from tests.service.conftest import ServeCensus

API = "/api/v1/datasets/census/data"
TABLES = (
    "unit=person&by=region:state,sex",
    "unit=person&by=region:municipality,sex",
    "unit=person&by=region:municipality,sex,marital_status",
    "unit=person&by=age5,education,marital_status",
)
#: Municipalities are shown by two variables at most.
POLICY = OPEN_POLICY.replace("municipality = 20", "municipality = 2")


@pytest.fixture(scope="module")
def service(serve_census: ServeCensus) -> Service:
    """A service that has answered tables, one of them three times."""
    service = serve_census(POLICY)
    caller = KnownCaller(app_of_known(service, RESOURCES), Grant("requester", "census"))
    for table in (*TABLES, TABLES[2], TABLES[2]):
        answer = caller.get(f"{API}?{table}")
        assert answer.status_code == 200, answer.text
    # Looking at what a table comes to is no question.
    assert caller.get(f"{API}?{TABLES[0]}&format=nothing").status_code >= 400
    return service


def _effect(service: Service, *changes: tuple[str, str]) -> PolicyEffect:
    text = POLICY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return policy_effect(
        service.answers, service.query_log, service.database, PolicyDocument.of_text(text)
    )


def test_the_policy_in_force_changes_nothing(service: Service) -> None:
    effect = _effect(service)
    assert (effect.questions, effect.tables) == (6, 4)
    assert (effect.refused_now, effect.refused_then) == (0, 0)
    assert (effect.more, effect.fewer, effect.unexamined) == ((), (), ())


def test_refused_questions_are_counted_by_rule(service: Service) -> None:
    deeper = _effect(service, ("municipality = 2", "municipality = 1"))
    assert (deeper.refused_now, deeper.refused_then) == (0, 3)
    assert deeper.by_rule == {"P2": (0, 3)}
    [table] = deeper.more
    assert (table.questions, table.rules) == (3, ("P2",))
    assert "Marital status" in table.title["en"]
    # What the effect says is what the service does: these and no others are refused.
    [row, *_] = service.query_log.search(digest=table.digest).rows
    assert "marital_status" in row.query


def test_limits_that_need_records_are_not_examined(service: Service) -> None:
    effect = _effect(
        service,
        ("small_universes = { least = 3 }", "small_universes = { least = 9 }"),
        ("burst = 10_000", "burst = 9_000"),
    )
    assert effect.unexamined == ("P4", "P8")
    assert effect.more == ()


def test_use_of_limits_is_told_by_their_keys(service: Service) -> None:
    policy = service.policies.policy("census", "2022-1")
    with service.database.reading() as connection:
        use = limit_use(connection, policy, service.clock())
    used, limit = use["differences.most_universes"]
    assert limit == 1_000_000
    assert 0 <= used < 10
    cells, _ = use["size.cells_job"]
    assert cells == max(row.cells for row in service.query_log.search().rows)
    assert use["rates.cells_per_day"][0] >= cells


PROGRAMME = b"""
dataset = "census"
[tables.people]
by = ["region", "sex"]
[tables.homes]
from = "households"
by = ["region"]
where = "household_type == 'single'"
"""


def test_programmes_are_sentences(service: Service) -> None:
    version, old = service.datasets.version("census"), parsed(PROGRAMME)
    english = programme_sentences(old, version, "en")
    assert english["people"] == "Persons by Region and Sex"
    assert english["homes"] == "Households by Region; Type of household: one person"
    odd = parsed(PROGRAMME.replace(b"household_type == 'single'", b"size > 2"))
    assert programme_sentences(odd, version, "en")["homes"].endswith("by Region; filter: size > 2")
    assert programme_sentences(old, version, "de")["people"].startswith("Personen nach ")
