"""What a session hands in is taken by the queue, made again there, and released by two persons."""

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import discreet_fire as fire
from discreet.errors import OutputCheckError
from discreet_fire.queue import (
    OutputDecision,
    OutputPart,
    PartVerdict,
    Submission,
    submit,
    verify,
    view,
)
from discreet_fire.research_session import ResearchSession
from discreet_fire.research_session.submission_folder import read_folder
from discreet_fire.statistics import SafeLimits
from tests.helpers.queue_parts import let_go, new_queue
from tests.helpers.session_parts import GIANT, people


@pytest.fixture
def data(tmp_path: Path) -> Path:
    people().write_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def _session() -> ResearchSession:
    session = fire.session("P17", data=people(), entity="pid")
    session.rename(session.crosstab("county", "sex"), "women by county")
    session.comment(session.summary("age", by="sex"), "for table 2")
    session.request_exception(session.crosstab(["county", "sex"], values="wage"), "in the yearbook")
    session.logit("married ~ age + C(sex)")
    session.hist("age", edges=[30, 40, 50])
    return session


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the session hands in, made once."""
    return _session().finalise(tmp_path_factory.mktemp("session") / "handed")


@pytest.fixture
def folder(once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(once, tmp_path / "handed"))


def _findings(queue, number: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in view(queue, number).findings:
        found.setdefault(one.rule, []).append(f"{one.severity.value} {one.what}")
    return found


def _found(tmp_path: Path, folder: Path, *data: Path, project: str = "P17") -> dict[str, list[str]]:
    """What is found about a folder that is handed in."""
    with new_queue(tmp_path) as queue:
        handed = Submission(program=folder, researcher="Weber", project=project, data=data)
        return _findings(queue, submit(queue, handed))


def test_released_by_two_persons(tmp_path: Path, folder: Path, data: Path) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        submission = Submission(
            program=folder, researcher="Weber", project="P17", data=(data,), unit="pid"
        )
        number = submit(queue, submission)
        found = _findings(queue, number)
        assert len(found["repeated"]) == 5
        assert "no-universe" not in found
        (asked,) = found["exception-requested"]
        assert asked.startswith("review output 3")
        assert "in the yearbook" in asked
        assert "for table 2" in found["comment"][0]
        now = view(queue, number).row.standing
        names = {one.file: one.names for one in now.parts}
        assert names["001 women by county.txt"] == {"county", "sex"}
        assert names["005 hist-5.svg"] == {"age"}

        def choice(one: OutputPart) -> OutputDecision:
            if one.file.startswith("003"):
                return OutputDecision(verdict=PartVerdict.exception, comment="it is")
            return OutputDecision(verdict=PartVerdict.accept)

        target = let_go(queue, number, choice)
        assert verify(queue) == []
    released = {path.name for path in target.iterdir()}
    assert released == {
        "001 women by county.txt", "002 summary-2.txt", "003 crosstab-3.txt", "004 logit-4.txt",
        "005 hist-5.txt", "005 hist-5.svg", "manifest.json", "SHA256SUMS",
    }  # fmt: skip
    for path in target.iterdir():
        assert str(GIANT)[:6] not in path.read_text()


def test_a_held_output_is_left_out_with_its_picture(tmp_path: Path, data: Path) -> None:
    session = fire.session("P17", data=people(), entity="pid")
    session.hist("age", edges=[30, 40, 50])
    session.crosstab("region", "sex")
    folder = session.finalise(tmp_path / "handed")

    def choice(one: OutputPart) -> OutputDecision:
        if one.file.startswith("001"):
            return OutputDecision(verdict=PartVerdict.hold, comment="ages are told elsewhere")
        return OutputDecision(verdict=PartVerdict.exception, comment="other variables")

    with new_queue(tmp_path) as queue:
        submission = Submission(program=folder, researcher="Weber", project="P17", data=(data,))
        target = let_go(queue, submit(queue, submission), choice, persons=("Ben",))
    assert {path.name for path in target.iterdir()} == {
        "002 crosstab-2.txt", "manifest.json", "SHA256SUMS"
    }  # fmt: skip


def test_nothing_of_the_records_is_in_the_folder(tmp_path: Path) -> None:
    frame = people().with_columns(pid=pl.format("person-{}", "pid"))
    session = fire.session("P17", data=frame, entity="pid")
    session.crosstab(["county", "sex"], values="wage", statistics=["mean", "sum"])
    session.ols("wage ~ C(county)*C(sex)")
    folder = session.finalise(tmp_path / "handed")
    for path in folder.rglob("*.*"):
        text = path.read_text()
        assert "person-" not in text, path.name
        assert str(GIANT)[:6] not in text, path.name
    evidence = json.loads((folder / "evidence.json").read_text())
    assert evidence["outputs"][0]["fewest"] == 22


def test_without_data_the_officer_is_told(tmp_path: Path, folder: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = submit(queue, Submission(program=folder, researcher="Weber", project="P18"))
        found = _findings(queue, number)
        assert found["not-repeated"][0].startswith("review")
        assert found["no-universe"][0].startswith("review")
        assert "P17" in found["project"][0]
        # nobody knows what an output is about that nobody made again
        assert all(one.names is None for one in view(queue, number).row.standing.parts)


def _sealed(folder: Path) -> None:
    """Checksums that fit, whatever was changed."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    lines = sorted(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n"
        for path in files
    )
    (folder / "SHA256SUMS").write_text("".join(lines))


def test_a_changed_output_is_an_error_although_checksums_fit(
    tmp_path: Path, folder: Path, data: Path
) -> None:
    table = folder / "outputs" / "001 women by county.txt"
    lines = table.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("e2"))
    lines[at] = lines[at].replace(".", "2", 1)
    table.write_text("\n".join(lines) + "\n")
    with pytest.raises(OutputCheckError, match="not what its checksum says"):
        read_folder(folder)
    _sealed(folder)
    (told,) = _found(tmp_path, folder, data)["repeated-differs"]
    assert told.startswith("error output 1")


def _with_manifest(folder: Path, change) -> None:
    plain = json.loads((folder / "session.json").read_text())
    change(plain)
    (folder / "session.json").write_text(json.dumps(plain))
    _sealed(folder)


def test_weaker_rules_of_the_session_do_not_help(tmp_path: Path, data: Path) -> None:
    session = fire.session("P17", data=people(), limits=SafeLimits(minimum=1))
    session.crosstab("county", "sex")
    folder = session.finalise(tmp_path / "handed")
    assert "repeated-differs" in _found(tmp_path, folder, data)


def test_tables_that_give_cells_away_are_found_when_repeated(tmp_path: Path, data: Path) -> None:
    """A folder made without the check of the session, such as by hand."""
    one = fire.session("P17", data=people())
    one.crosstab("county", "sex")
    folder = one.finalise(tmp_path / "handed")
    other = fire.session("P17", data=people())
    other.rename(other.crosstab("region"), "x")
    other.crosstab("region", "sex")
    second = other.finalise(tmp_path / "second")
    shutil.copy(second / "outputs" / "002 crosstab-2.txt", folder / "outputs")
    more = json.loads((second / "session.json").read_text())["outputs"][1]
    _with_manifest(folder, lambda plain: plain["outputs"].append(more))
    found = _found(tmp_path, folder, data)
    assert len(found["repeated"]) == 2
    assert any("taken together" in told for told in found["linked-tables"])


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain.update(format="discreet session 9"),
        lambda plain: plain.update(extra=1),
        lambda plain: plain.update(outputs=[]),
        lambda plain: plain["outputs"][0].update(files=["../../../etc/passwd"]),
        lambda plain: plain["outputs"][0].update(files=["001 a.txt\n"]),
        lambda plain: plain["outputs"][0].update(number=2),
        lambda plain: plain["outputs"][0].update(hidden=[-1]),
        lambda plain: plain["outputs"][0].update(comment=7),
        lambda plain: plain["outputs"].append(plain["outputs"][0]),
    ],
)
def test_other_manifests_are_refused(tmp_path: Path, folder: Path, change) -> None:
    _with_manifest(folder, change)
    with pytest.raises(OutputCheckError, match="session-folder"):
        _found(tmp_path, folder)


@pytest.mark.parametrize(
    "call",
    [
        {"method": "__import__", "arguments": {"name": "os"}},
        {"method": "crosstab", "arguments": {"rows": 5}},
        {"method": "crosstab", "arguments": {"rows": ["sex"], "limits": None}},
        {"method": "crosstab", "arguments": {"rows": [["sex"]]}},
        {"method": "figure", "arguments": {"of": {"method": "figure", "arguments": {}}}},
        {"method": "figure", "arguments": {"of": {}}},
        {"method": "crosstab", "arguments": {"ro\x1b[2Jws\u202e": "sex"}},
        {"method": "hist", "arguments": {"variable": "age", "edges": ["a"]}},
        {"method": "ols", "arguments": {"formula": None}},
        {"method": "summary", "arguments": {"variables": "age", "where": "__import__('os')"}},
    ],
)
def test_other_calls_are_errors_of_their_output_only(
    tmp_path: Path, folder: Path, data: Path, call: dict[str, object]
) -> None:
    _with_manifest(folder, lambda plain: plain["outputs"][1].update(call=call))
    with new_queue(tmp_path) as queue:
        submission = Submission(program=folder, researcher="Weber", project="P17", data=(data,))
        found = _findings(queue, submit(queue, submission))
        assert len(found["repeated"]) == 4
        told = [one.title for one in view(queue, 1).row.standing.parts]
        assert all(one.isprintable() for one in told)
        told = [*found.get("not-repeated", ()), *found.get("repeated-differs", ())]
        assert len(told) == 1
        assert told[0].startswith("error output 2")


def test_more_files_and_links_are_refused(tmp_path: Path, folder: Path) -> None:
    (folder / "outputs" / "more.txt").write_text("x")
    with pytest.raises(OutputCheckError, match="not of the same names"):
        read_folder(folder)
    (folder / "outputs" / "more.txt").unlink()
    table = folder / "outputs" / "001 women by county.txt"
    shutil.move(table, tmp_path / "elsewhere.txt")
    table.symlink_to(tmp_path / "elsewhere.txt")
    with pytest.raises(OutputCheckError, match="not an ordinary file"):
        read_folder(folder)


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path, monkeypatch) -> None:
    session = _session()
    (tmp_path / "handed").mkdir()
    with pytest.raises(OutputCheckError, match="the place is already in use"):
        session.finalise(tmp_path / "handed")

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Exception, match="disk is full"):
        session.finalise(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["handed"]
    with pytest.raises(OutputCheckError, match="no output"):
        fire.session("P17", data=people()).finalise(tmp_path / "empty")
