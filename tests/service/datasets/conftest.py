"""Fixtures of the tests of data sets."""

from tests.helpers.service_data import census_data  # noqa: F401
