"""Digests of a release tell nothing to those who know the data, or all of it but one value."""

import json
import shutil
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, PublicationError, RecordKeyError
from discreet.microdata import Secret
from discreet.release import audit_release, protect
from tests.helpers.firm_programmes import FIRST, firms


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A programme of firms, which no secret belongs to."""
    return programme(tmp_path / "office")


def programme(folder: Path, *, more: str = "") -> Path:
    folder.mkdir()
    firms().write_parquet(folder / "firms.parquet")
    place = folder / "programme.toml"
    place.write_text(FIRST.replace("[rules.business]", f"{more}\n[rules.business]"), "utf-8")
    return place


def digests(release: Path) -> dict[str, str]:
    """What an attacker reads in the state of a release."""
    states = sorted((release / ".discreet").glob("*.json"))
    return {state.stem: json.loads(state.read_text("utf-8"))["digest"] for state in states}


def published(release: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in release.iterdir() if path.is_file()}


def test_who_knows_the_data_and_the_rules_finds_no_digest_again(
    office: Path, tmp_path: Path
) -> None:
    """An attacker tries a value, or a rule: the digest is of use only if the right one fits."""
    protect(office, tmp_path / "released")
    attacker = programme(tmp_path / "attacker")
    protect(attacker, tmp_path / "tried")
    assert digests(tmp_path / "tried").keys() == digests(tmp_path / "released").keys()
    assert not set(digests(tmp_path / "tried").values()) & set(
        digests(tmp_path / "released").values()
    )
    assert published(tmp_path / "tried") == published(tmp_path / "released")


def test_published_files_carry_digests_only_with_a_stated_secret(
    office: Path, tmp_path: Path
) -> None:
    assert not any(table.digests for table in protect(office, tmp_path / "one").tables)
    stated = programme(tmp_path / "stated", more='[release]\nsecret_file = "own.secret"\n')
    Secret.generate().write(stated.parent / "own.secret")
    assert all(table.digests for table in protect(stated, tmp_path / "two").tables)
    assert not (stated.parent / "programme.secret").exists()


def test_the_secret_is_kept_beside_the_programme_for_its_owner_and_used_again(
    office: Path, tmp_path: Path
) -> None:
    protect(office, tmp_path / "out")
    secret = office.parent / "programme.secret"
    assert secret.stat().st_mode & 0o077 == 0
    assert not protect(office, tmp_path / "out").fresh  # nothing is made a second time
    assert audit_release(office, tmp_path / "out") is not None
    before = digests(tmp_path / "out")
    secret.unlink()
    with pytest.raises(PublicationError) as missing:
        audit_release(office, tmp_path / "out")
    assert missing.value.code == "release-secret"
    assert protect(office, tmp_path / "out").fresh
    assert not set(before.values()) & set(digests(tmp_path / "out").values())


def test_a_secret_that_cannot_be_kept_is_an_error_before_anything_is_written(
    office: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Secret, path: Path) -> None:
        raise RecordKeyError("no file can be written", code="secret", where=str(path))

    monkeypatch.setattr(Secret, "write", refuse)
    with pytest.raises(PublicationError) as refused:
        protect(office, tmp_path / "out")
    assert refused.value.code == "release-secret"
    assert "secret_file" in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_secret_in_a_variable_replaces_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = programme(tmp_path / "stated", more='[release]\nsecret_env = "OFFICE_SECRET"\n')
    with pytest.raises(DiscreetError, match="OFFICE_SECRET is not set"):
        protect(stated, tmp_path / "out")
    monkeypatch.setenv("OFFICE_SECRET", "d1f0a7c3925b48e61c7d3a9f50b2e846")
    protect(stated, tmp_path / "out")
    shutil.copytree(stated.parent, tmp_path / "elsewhere")
    protect(tmp_path / "elsewhere" / "programme.toml", tmp_path / "again")
    assert digests(tmp_path / "again") == digests(tmp_path / "out")
