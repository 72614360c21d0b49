"""People in a database of their own."""

import pytest

from discreet_service.database import ServiceDatabase
from tests.helpers.service_people import PeopleOfService


@pytest.fixture
def people(service_database: ServiceDatabase) -> PeopleOfService:
    return PeopleOfService.of(service_database)
