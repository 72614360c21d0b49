"""Releases are found whole and signed, read as they were made, and switched at once."""

import json
import shutil

import numpy as np
import pytest

import discreet as dc
from discreet.publication.exact_tables import described
from discreet.release.state.memory import remembered_tables
from discreet_service.problems import ServiceError
from discreet_service.releases import ReleaseCatalogue


def same(one, other):
    assert described(one) == described(other)
    for mine, theirs in zip(
        (*one.index, one.value, one.status), (*other.index, other.value, other.status), strict=True
    ):
        assert np.array_equal(mine, theirs)
    return True


def test_tables_are_read_as_they_were_protected(catalogue, made_release):
    kept = {name: each.table for name, each in remembered_tables(made_release).items()}
    assert set(catalogue.releases()) == {"census-2026"}
    assert {each.name for each in catalogue.tables().values()} == set(kept)
    for name, table in kept.items():
        assert same(catalogue.table(f"census-2026.{name}"), table)


def test_lists_say_what_tables_are_about(catalogue):
    listed = catalogue.listed("census-2026.dwellings")
    assert listed.title("de") == "Wohnungen nach Region"
    assert listed.figures == ("dwellings", "area", "vacancy")
    assert listed.updated == "2026-11-21"
    assert "wohnungen" in listed.searched
    table = catalogue.table(listed.id)
    assert listed.variable_titles("de") == [each.title("de") for each in table.spanning]
    release = catalogue.release("census-2026")
    assert release.languages == ("en", "de")
    assert release.cells == sum(each.cells for each in catalogue.tables().values())


def test_a_copy_for_readers_serves_what_is_exact(catalogue, shelf, verify_key):
    """Without the state of, only tables in the format "exact" can be read."""
    shutil.rmtree(shelf / "census-2026" / ".discreet")
    catalogue.look_again()
    assert "dwellings.jsonstat.json" in catalogue.release("census-2026").published
    assert catalogue.table("census-2026.population").get("Total", "Total") is not None
    with pytest.raises(ServiceError) as error:
        catalogue.table("census-2026.dwellings")
    assert error.value.code == "not-found"


@pytest.mark.parametrize(
    "damage", ["changed", "missing", "extra", "seal", "link", "manifest", "memory"]
)
def test_what_is_not_as_it_was_sealed_is_not_served(shelf, verify_key, damage):
    folder = shelf / "census-2026"
    if damage == "changed":
        path = folder / "population.csv"
        path.write_bytes(path.read_bytes().replace(b"male", b"mail"))
    elif damage == "missing":
        (folder / "population.csv").unlink()
    elif damage == "extra":
        (folder / "extra.csv").write_text("a")
    elif damage == "seal":
        (folder / "release.seal").write_text("{}")
    elif damage == "link":
        (folder / "population.csv").rename(shelf.parent / "elsewhere.csv")
        (folder / "population.csv").symlink_to(shelf.parent / "elsewhere.csv")
    elif damage == "manifest":
        text = (folder / "release.json").read_text()
        (folder / "release.json").write_text(text.replace("Census", "Senate"))
    else:
        path = folder / ".discreet" / "dwellings.json"
        path.write_text(path.read_text().replace("Dwellings", "Buildings"))
    found = ReleaseCatalogue(shelf, signers=[verify_key])
    assert found.releases() == {}
    assert list(found.refused().values()) != []
    assert all(str(shelf) not in why for why in found.refused().values())


def test_a_release_nobody_trusted_has_signed_is_not_served(shelf, office, tmp_path):
    from discreet.release.packages.keys import write_key_pair

    other = write_key_pair(tmp_path / "other")
    found = ReleaseCatalogue(shelf, signers=[other.public])
    assert found.releases() == {}
    assert "the signer of the release is not trusted" in next(iter(found.refused().values()))
    assert ReleaseCatalogue(shelf).releases() == {}


def test_a_new_release_takes_the_place_of_the_old_one(catalogue, shelf, office, tmp_path):
    before = catalogue.release("census-2026").identity
    text = (office / "programme.toml").read_text("utf-8")
    second = office / "second.toml"
    second.write_text(text.replace('date = "2026-11-21"', 'date = "2027-01-01"'), "utf-8")
    dc.protect(second, tmp_path / "new")
    shutil.rmtree(shelf / "census-2026")
    (tmp_path / "new").rename(shelf / "census-2026")
    second.unlink()
    after = catalogue.release("census-2026")
    assert after.identity != before
    assert after.date == "2027-01-01"


def test_while_a_run_is_writing_the_old_release_stays(catalogue, shelf):
    table = catalogue.listed("census-2026.population").id
    (shelf / "census-2026" / ".discreet" / "stage").mkdir()
    assert catalogue.listed(table).id == table
    assert "is writing" in next(iter(catalogue.refused().values()))
    (shelf / "census-2026" / ".discreet" / "stage").rmdir()
    assert catalogue.listed(table).id == table


def test_a_file_that_changes_after_the_release_was_found_is_not_read(shelf, verify_key):
    """Between two looks at the folder: the file itself is held against the seal."""
    catalogue = ReleaseCatalogue(shelf, signers=[verify_key], unseen=3600)
    release = catalogue.release("census-2026")
    path = shelf / "census-2026" / "population.csv"
    size = len(release.files.read("population.csv"))
    path.write_bytes(b"x" * size)
    with pytest.raises(ServiceError) as error:
        release.files.opened("population.csv")
    assert error.value.code == "data-not-ready"
    catalogue.look_again()
    assert catalogue.releases() == {}


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", ".discreet/release.json", "x", ""])
def test_only_sealed_files_can_be_opened(catalogue, name):
    with pytest.raises(ServiceError) as error:
        catalogue.release("census-2026").files.opened(f"../{name}")
    assert error.value.code == "not-found"
    assert name not in catalogue.release("census-2026").published


def test_a_manifest_of_another_form_is_refused(shelf, verify_key):
    (shelf / "junk").mkdir()
    (shelf / "junk" / "release.json").write_text(json.dumps([1]))
    (shelf / ".hidden").mkdir()
    found = ReleaseCatalogue(shelf, signers=[verify_key])
    assert set(found.releases()) == {"census-2026"}
    assert len(found.refused()) == 1
