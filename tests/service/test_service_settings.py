"""Settings of the service: everything wrong is told at once, and nothing stands open by mistake."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet_service.settings import ServiceSettings, SettingsError
from tests.helpers.rows import for_all_rows


def wrong(document: dict[str, object]) -> list[str]:
    with pytest.raises(SettingsError) as found:
        ServiceSettings.of(document, Path("/office"))
    return [each.where for each in found.value.problems]


def test_defaults_are_for_this_machine_only() -> None:
    found = ServiceSettings.of({}, Path("/office"))
    assert (found.host, found.secure, found.public_releases, found.demo) == (
        *("127.0.0.1", False, False, False),
    )
    assert found.database_url() == "sqlite:////office/service.db"
    assert found.releases == (Path("/office/releases"),)
    assert found.secret_file == Path("/office/service.secret")


def test_paths_are_meant_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "SERVICE.toml"
    file.write_text('releases = ["a", "/b"]\ndatasets = "d"\n[jobs]\nworkers = 3\n')
    found = ServiceSettings.read(file)
    assert found.releases == (tmp_path / "a", Path("/b"))
    assert (found.datasets, found.jobs.workers, found.jobs.retries) == (tmp_path / "d", 3, 2)


def test_all_mistakes_at_once() -> None:
    document = {
        "nmae": "x",
        "port": "8077",
        "limits": {"burst": 1.5, "cells": 3},
        "oidc": {"issuer": "https://a"},
        "jobs": 7,
    }
    assert sorted(wrong(document)) == [
        *("jobs", "limits.burst", "limits.cells", "nmae"),
        *("oidc.client_id", "oidc.client_secret_file", "oidc.redirect", "port"),
    ]


@for_all_rows(
    ("document", "places"),
    [
        ({"host": "0.0.0.0"}, ["url"]),
        ({"host": "0.0.0.0", "demo": True}, ["host", "url"]),
        ({"host": "::", "url": "http://office.example"}, ["url"]),
        ({"host": "office"}, ["host"]),
        ({"port": 0}, ["port"]),
        ({"url": "office.example"}, ["url"]),
        ({"database": "mysql://x/y"}, ["database"]),
        ({"database": "postgresql+psycopg://me:word@db/x"}, ["database"]),
        ({"database": "sqlite:///x", "database_file": "y"}, ["database"]),
        ({"trusted_proxies": ["here"]}, ["trusted_proxies[0]"]),
        ({"languages": []}, ["languages"]),
        ({"limits": {"requests_per_second": 0}}, ["limits.requests_per_second"]),
    ],
)
def test_what_would_stand_open_or_cannot_be(document: dict[str, object], places: list[str]) -> None:
    assert wrong(document) == places


def test_open_to_others_only_behind_tls() -> None:
    found = ServiceSettings.of({"host": "10.0.0.7", "url": "https://a.example/"}, Path("/office"))
    assert (found.secure, found.base_url) == (True, "https://a.example")


@pytest.mark.parametrize("issuer", ["http://login.example", "file:///etc", "http://127.0.0.1.evil"])
def test_a_provider_is_asked_over_https_only(issuer: str) -> None:
    oidc = {"issuer": issuer, "client_id": "a", "client_secret_file": "b", "redirect": "c"}
    assert wrong({"oidc": {**oidc, "roles": {"all": "king"}}}) == [
        *("oidc.issuer", "oidc.roles.all"),
    ]


def test_a_secret_url_stands_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql+psycopg://me:word@db/x\n")
    (tmp_path / "url").chmod(0o600)
    found = ServiceSettings.of({"database_file": "url"}, tmp_path)
    assert found.database_url() == "postgresql+psycopg://me:word@db/x"
    assert "word" not in repr(found)


def test_a_port_in_use_is_named_before_any_work(tmp_path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        words = ["serve", "--demo", "--folder", str(tmp_path / "demo"), "--port", port]
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 2
        assert "cannot listen on this address" in told.output
        assert "choose another port with --port, or stop the program that uses" in told.output
        assert not (tmp_path / "demo").exists()
