"""A signed release of a small synthetic census, and a service that serves it."""

import shutil

import pytest

import discreet as dc
from discreet.demo import write_census, write_programme
from discreet.release.packages.keys import write_key_pair
from discreet_service.application import create_app
from discreet_service.releases import ReleaseCatalogue
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.service_server import free_port, served_on_port

TABLES = """
[defaults]
formats = ["csv", "exact", "html"]

[tables.population]
by = ["region", "sex"]
title = { en = "Population by region and sex", de = "Bevölkerung nach Region und Geschlecht" }

[tables.legal_ages]
by = ["age", "sex"]
title = { en = "Population by age groups and sex", de = "Bevölkerung nach Altersgruppen" }
parts = { min_average_size = 60, max_share_small = 0.05 }

[tables.dwellings]
from = "dwellings"
by = ["region"]
formats = ["json-stat", "geojson", "map"]
title = { en = "Dwellings by region", de = "Wohnungen nach Region" }

[tables.dwellings.figures]
dwellings = { kind = "count", title = { en = "Dwellings", de = "Wohnungen" } }
vacant = { kind = "count", where = "tenure == 'vacant'", hidden = true }

[tables.dwellings.figures.area]
kind = "mean"
of = "area"
unit = "m²"
decimals = 1
title = { en = "Mean floor area", de = "Mittlere Wohnfläche" }

[tables.dwellings.figures.vacancy]
kind = "share"
part = "vacant"
whole = "dwellings"
title = { en = "Vacant", de = "Leer stehend" }

[[tables.dwellings.notes]]
cells = { figure = "vacancy" }
text = { en = "Being modernised counts as vacant.", de = "Im Umbau zählt als leer stehend." }
"""


def programme_text(folder, tables=TABLES):
    """The demonstration's programme with other tables, signed."""
    text = (folder / "programme.toml").read_text("utf-8")
    text = text[: text.index("[defaults]")].replace('workbook = "census.xlsx"', "#")
    return f'{text}\n[release]\nsign = "office.key"\n{tables}'


@pytest.fixture(scope="session")
def office(tmp_path_factory):
    """A folder with records, a programme and keys that sign."""
    folder = tmp_path_factory.mktemp("office")
    write_census(folder, persons=1_500, seed=7)
    write_programme(folder)
    write_key_pair(folder / "office")
    (folder / "programme.toml").write_text(programme_text(folder), "utf-8")
    return folder


@pytest.fixture(scope="session")
def verify_key(office):
    return office / "office.pub"


@pytest.fixture(scope="session")
def made_release(office, tmp_path_factory):
    """A release as `discreet protect` leaves it. Do not change it."""
    out = tmp_path_factory.mktemp("made") / "census-2026"
    dc.protect(office / "programme.toml", out)
    return out


@pytest.fixture
def shelf(made_release, tmp_path):
    """A folder of releases, with one in it that may be changed."""
    folder = tmp_path / "releases"
    shutil.copytree(made_release, folder / made_release.name)
    return folder


@pytest.fixture
def catalogue(shelf, verify_key):
    return ReleaseCatalogue(shelf, signers=[verify_key], unseen=0)


def service_settings(folder, releases, verify_key, **more):
    return ServiceSettings(
        folder=folder,
        releases=(releases,),
        trusted_signers=(verify_key,),
        public_releases=True,
        **more,
    )


@pytest.fixture(scope="module")
def served(made_release, verify_key, tmp_path_factory):
    """A service over the release: not to be changed."""
    folder = tmp_path_factory.mktemp("service")
    limits = LimitSettings(anonymous_per_second=1000, burst=10_000)
    settings = service_settings(
        folder, made_release.parent, verify_key, port=free_port(), limits=limits
    )
    return Service(settings)


@pytest.fixture(scope="module")
def server(served):
    """The address of a running server with that service."""
    app = create_app(served, ("releases", "pxweb", "sdmx"))
    with served_on_port(app, port=served.settings.port) as address:
        yield address
