"""Two processes compare at once, outside the lock of writers: what was released since counts."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import REFUSED_TABLES, RELEASED_TABLES, RELEASED_UNIVERSES
from tests.helpers.policy_cases import Filters, policed
from tests.helpers.policy_races import both_allowed, race_town

pytestmark = pytest.mark.exhaustive

#: Filters of two tables, and what was released before.
TWINS: tuple[Filters, Filters, tuple[Filters, ...]] = ({"sex": 1}, {"twin": 1}, ({"age": 2},))
PARTS: tuple[Filters, Filters, tuple[Filters, ...]] = ({"part": 0}, {"part": 1}, ({"whole": 1},))
APART: tuple[Filters, Filters, tuple[Filters, ...]] = ({"age": 0}, {"age": 1}, ({"sex": 1},))


def raced(
    url: str, folder: Path, case: tuple[Filters, Filters, tuple[Filters, ...]], trusting: bool
) -> tuple[list[bool], int, int, int]:
    """What both were told; tables, universes and refusals that were kept of it."""
    first, second, before = case
    database = ServiceDatabase.open(url)
    here = policed(race_town(), database, folder)
    for where in before:
        assert here.ask(("age",), where)
    allowed = sorted(both_allowed(url, folder, first, second, trusting))
    tables = (RELEASED_TABLES, RELEASED_UNIVERSES, REFUSED_TABLES)
    with database.reading() as connection:
        counts = [
            connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in tables
        ]
    database.close()
    return allowed, counts[0] - len(before), counts[1] - len(before), counts[2]


@pytest.mark.parametrize("case", [TWINS, PARTS], ids=["twins", "parts of a whole"])
def test_of_two_that_do_not_go_together_one_is_refused(
    service_url: str, tmp_path: Path, case: tuple[Filters, Filters, tuple[Filters, ...]]
) -> None:
    assert raced(service_url, tmp_path, case, trusting=False) == ([False, True], 1, 1, 1)


def test_two_that_go_together_are_both_answered(service_url: str, tmp_path: Path) -> None:
    assert raced(service_url, tmp_path, APART, trusting=False) == ([True, True], 2, 2, 0)


def test_a_rule_that_trusts_old_comparisons_would_answer_both(
    service_url: str, tmp_path: Path
) -> None:
    """The race is real: without the look at what was released since, both get through."""
    assert raced(service_url, tmp_path, TWINS, trusting=True)[0] == [True, True]
