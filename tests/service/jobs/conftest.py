"""The census of the tests, for jobs that ask it."""

from tests.helpers.service_data import census_data  # noqa: F401
