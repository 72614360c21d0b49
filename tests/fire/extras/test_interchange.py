"""Releases in the forms of others hold what was released, what was decided, and nothing else."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import discreet_fire as fire
from discreet.errors import OutputCheckError
from discreet_fire.extras.interchange import CratePublisher, write_crate, write_decided
from discreet_fire.queue import OutputDecision, OutputPart, PartVerdict, Queue, Submission, submit
from discreet_fire.research_session.submission_folder import read_sacro
from tests.helpers.command import run
from tests.helpers.queue_parts import let_go, new_queue
from tests.helpers.session_parts import people

CENTRE = CratePublisher(
    name="FDZ", address="https://fdz.example.org/", licence="https://example.org/licence"
)


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """A queue with a session of which one output is held back and the others are released."""
    people().write_parquet(tmp_path / "people.parquet")
    session = fire.session("P17", data=people(), entity="pid")
    session.crosstab("region", "sex")
    session.hist("age", edges=[30, 40, 50])
    session.rename(session.crosstab("married"), "held one")
    handed = session.finalise(tmp_path / "handed")
    opened = new_queue(tmp_path, approvals=2, clean_approvals=2)
    given = {"researcher": "Weber", "project": "P17", "data": (tmp_path / "people.parquet",)}

    def choice(one: OutputPart) -> OutputDecision:
        if "held" in one.file:
            return OutputDecision(verdict=PartVerdict.hold, comment="asked for twice")
        return OutputDecision(verdict=PartVerdict.exception, comment="seen by me")

    let_go(opened, submit(opened, Submission(program=handed, **given)), choice,
           reason="secret reason")  # fmt: skip
    yield opened
    opened.close()


def _graph(folder: Path) -> dict[str, dict[str, Any]]:
    plain = json.loads((folder / "data" / "ro-crate-metadata.json").read_text())
    found = {one["@id"]: one for one in plain["@graph"]}
    assert len(found) == len(plain["@graph"])
    return found


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [one for each in value for one in _references(each)]
    if isinstance(value, dict):
        return [value["@id"]] if set(value) == {"@id"} else []
    return []


def test_the_crate_is_a_bag_whose_sums_fit(queue: Queue, tmp_path: Path) -> None:
    folder = write_crate(queue, 1, tmp_path / "crate", CENTRE)
    for manifest in ("manifest-sha512.txt", "tagmanifest-sha512.txt"):
        lines = (folder / manifest).read_text().splitlines()
        for line in lines:
            digest, _, name = line.partition("  ")
            assert hashlib.sha512((folder / name).read_bytes()).hexdigest() == digest
    payload = {path for path in (folder / "data").rglob("*") if path.is_file()}
    known = {folder / line.partition("  ")[2] for line in
             (folder / "manifest-sha512.txt").read_text().splitlines()}  # fmt: skip
    assert payload == known


def test_the_crate_says_what_was_decided(queue: Queue, tmp_path: Path) -> None:
    graph = _graph(write_crate(queue, 1, tmp_path / "crate", CENTRE))
    root = graph["./"]
    assert root["conformsTo"]["@id"] == "https://w3id.org/5s-crate/0.4"
    for name in ("name", "description", "datePublished", "license", "publisher"):
        assert root[name]
    files = [one["@id"] for one in root["hasPart"]]
    assert "outputs/001%20crosstab-1.txt" in files
    assert len(files) == 3
    checks = [one for one in graph.values() if one["@type"] == "AssessAction"]
    assert len(checks) == 2
    assert {one["additionalType"]["@id"] for one in checks} == {
        "https://w3id.org/shp#DisclosureCheck"
    }
    assert graph[files[0]]["description"] == "decided: exception"
    # each reference is described, or leads to a term that is known elsewhere
    outside = ("https://w3id.org/", "http://schema.org/")
    for one in graph.values():
        for value in one.values():
            for reference in _references(value):
                assert reference in graph or reference.startswith(outside), reference


def test_persons_reasons_and_what_is_held_back_are_not_in_it(queue: Queue, tmp_path: Path) -> None:
    write_crate(queue, 1, tmp_path / "crate", CENTRE)
    write_decided(queue, 1, tmp_path / "sacro")
    for folder in (tmp_path / "crate", tmp_path / "sacro"):
        text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
        for secret in ("Anna", "Ben", "Weber", "secret reason", "seen by me", "held one"):
            assert secret not in text, secret
    internal = write_crate(queue, 1, tmp_path / "inside", CENTRE, internal=True)
    text = (internal / "data" / "ro-crate-metadata.json").read_text()
    for told in ("Anna", "Ben", "Weber", "secret reason", "seen by me"):
        assert told in text
    assert "held one" not in text


def test_the_form_of_sacro_is_read_again(queue: Queue, tmp_path: Path) -> None:
    found = read_sacro(write_decided(queue, 1, tmp_path / "sacro", internal=True))
    assert len(found.outputs) == 3
    plain = json.loads((tmp_path / "sacro" / "results.json").read_text())
    decided = [one["decision"] for one in plain["results"].values()]
    assert all(one["verdict"] == "exception" and one["person"] == "Anna" for one in decided)


def test_only_what_is_released_is_written(queue: Queue, tmp_path: Path) -> None:
    session = fire.session("P17", data=people())
    session.crosstab("sex")
    handed = session.finalise(tmp_path / "second")
    number = submit(queue, Submission(program=handed, researcher="Weber", project="P17"))
    for write in (lambda: write_crate(queue, number, tmp_path / "x", CENTRE),
                  lambda: write_decided(queue, number, tmp_path / "x")):  # fmt: skip
        with pytest.raises(OutputCheckError, match="only released"):
            write()
    released = next((tmp_path / "q" / "released").iterdir())
    (released / "001 crosstab-1.txt").write_text("changed")
    with pytest.raises(OutputCheckError, match="the released folder"):
        write_crate(queue, 1, tmp_path / "x", CENTRE)
    assert not (tmp_path / "x").exists()


def test_addresses_are_addresses() -> None:
    with pytest.raises(OutputCheckError, match="not a web address"):
        CratePublisher(name="FDZ", address="fdz", licence="https://example.org/")


def test_the_command(queue: Queue, tmp_path: Path) -> None:
    given = ["fire", "queue", "export", "1", "--queue", str(tmp_path / "q")]
    crate = ["--crate", str(tmp_path / "c"), "--publisher", "FDZ", "--address",
             "https://fdz.example.org/", "--licence", "https://example.org/l"]  # fmt: skip
    done = run(*given, *crate, "--sacro", tmp_path / "s")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "c" / "bagit.txt").exists()
    assert (tmp_path / "s" / "results.json").exists()
    assert run(*given, *crate).exit_code == 2  # it is there
    assert run(*given).exit_code == 2
