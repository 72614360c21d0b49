"""Submissions: from the upload to the release; who sees, decides and fetches what."""

import hashlib
import io
import stat
import threading
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import discreet_fire as fire
from discreet_fire.queue import OutputDecision, PartVerdict
from discreet_service.permissions import Grant, Principal
from discreet_service.problems import ServiceError
from discreet_service.reviews.desk import unpacked
from discreet_service.settings import ServiceSettings, SettingsError
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import at_once, code_of
from tests.service.reviews.conftest import PROGRAM, ReviewedCentre


def test_from_upload_to_release(centre: ReviewedCentre) -> None:
    number = centre.handed_in()
    report = centre.ask("vera", "GET", f"/{number}").json()
    assert report["program"] == PROGRAM.decode()
    assert "fdzsummarize pay" in report["rewritten"]
    secret = report["outputs"][1]["text"]
    mean = secret.splitlines()[2].split("|")[1].split()[1]
    assert mean in report["log"]
    assert mean in report["cleaned"]
    assert centre.act("vera", number, "approve").status_code == 409  # nobody decided yet
    assert centre.decide("vera", number, "accept", "hold", "accept").status_code == 200
    assert centre.act("vera", number, "approve").json()["state"] == "waiting"
    assert centre.act("vera", number, "release").status_code == 409  # four eyes
    assert centre.act("vera", number, "approve").json()["state"] == "waiting"  # the same two
    # until then the researcher sees where it stands, and nothing else
    mine = centre.ask("ruth", "GET", "/mine")
    assert mine.json()["submissions"][0]["state"] == "waiting"
    assert b"one firm" not in mine.content
    assert centre.act("viktor", number, "approve").json()["state"] == "approved"
    assert centre.act("viktor", number, "release").json()["state"] == "released"
    (own,) = centre.ask("ruth", "GET", "/mine").json()["submissions"]
    assert set(own["files"]) == {"a.log", "manifest.json", "SHA256SUMS"}
    held = {"output": "fdzsummarize pay", "verdict": "hold", "comment": "one firm"}
    assert held in own["comments"]
    assert not {"vera", "viktor"} & set(str(own).split("'"))
    got = [centre.ask("ruth", "GET", f"/mine/{number}/files/{name}") for name in own["files"]]
    assert [one.status_code for one in got] == [200] * 3
    assert report["outputs"][0]["text"].encode() in got[0].content
    everything = b"".join(one.content for one in got) + str(own).encode()
    assert mean.encode() not in everything
    kinds = [one["kind"] for one in _trail(centre)]
    assert kinds.count("outputs_fetched") == 3
    assert kinds.count("output_decided") == 4
    assert {"outputs_submitted", "outputs_released"} <= set(kinds)


def _trail(centre: ReviewedCentre) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in centre.service.trail.export()]


def test_researchers_see_only_their_own(centre: ReviewedCentre) -> None:
    number = centre.handed_in("ruth")
    centre.decide("vera", number, "accept", "accept", "accept")
    for name in ("vera", "viktor"):
        centre.act(name, number, "approve")
    centre.act("vera", number, "release")
    assert centre.ask("ruth", "GET", f"/mine/{number}/files/a.log").status_code == 200
    assert centre.ask("rolf", "GET", "/mine").json()["submissions"] == []
    assert centre.ask("rolf", "GET", f"/mine/{number}/files/a.log").status_code == 404
    for file in ("..%2Fqueue.key", "queue.key", "a_FiRe.log", "%2e%2e"):
        found = centre.ask("ruth", "GET", f"/mine/{number}/files/{file}")
        assert found.status_code == 404, file
    (target,) = (centre.folder / "reviews" / "released").glob("*/a.log")
    target.write_text("changed")
    assert centre.ask("ruth", "GET", f"/mine/{number}/files/a.log").status_code == 503


def test_nobody_who_is_not_named_or_handed_it_in_decides(centre: ReviewedCentre) -> None:
    number = centre.handed_in("ruth")
    now = centre.version(number)
    for name in ("stranger", "ruth"):
        for answer in (
            centre.decide(name, number, "accept", "accept", "accept"),
            centre.act(name, number, "approve"),
            centre.act(name, number, "reject"),
            centre.act(name, number, "release"),
        ):
            assert answer.status_code in (403, 409)
    assert centre.ask("ruth", "GET", f"/{number}").status_code == 403
    assert centre.version(number) == now
    assert not [one for one in _trail(centre) if one["kind"] == "output_decided"]


def test_of_two_reviewers_at_once_one_decides(centre: ReviewedCentre) -> None:
    number = centre.handed_in()
    now = centre.version(number)
    start, codes = threading.Barrier(2), []

    def race(name: str, verdict: str) -> None:
        start.wait()
        done = centre.decide(name, number, verdict, "accept", "accept", version=now)
        codes.append(done.status_code)

    at_once(partial(race, "vera", "accept"), partial(race, "viktor", "hold"))
    assert sorted(codes) == [200, 412]
    # and an approval of what was seen before does not count for what is decided now
    assert centre.act("vera", number, "approve", version=now).status_code == 412


def test_what_gives_a_held_output_away_is_told(centre: ReviewedCentre) -> None:
    number = centre.handed_in(content=b"tabulate sex\ntabulate grp sex\n")
    found = centre.decide("vera", number, "hold", "accept")
    assert found.status_code == 409
    assert "same variables" in found.json()["detail"]
    assert str(centre.folder) not in found.text


def test_problems_of_programs_are_told_without_places(centre: ReviewedCentre) -> None:
    centre.upload("ruth", b"count\n")
    centre.upload("ruth", b"count\n")
    (problem,) = centre.work()
    assert "the same was submitted before" in problem["detail"]
    told = centre.ask("ruth", "GET", "/mine")
    assert [one["state"] for one in told.json()["under_way"]] == ["failed"]
    assert centre.upload("ruth", data="census").status_code == 422
    assert centre.upload("ruth", b"x" * 50_001).status_code == 413


def _zip(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def _link() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        entry = zipfile.ZipInfo("a.do")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return made.getvalue()


def _lying() -> bytes:
    """An archive that says of a large file that it is small."""
    made = bytearray(_zip(**{"a.do": b"*" * 40_000}))
    small = (5).to_bytes(4, "little")
    made[22:26] = small
    at = made.rindex(b"PK\x01\x02")
    made[at + 24 : at + 28] = small
    return bytes(made)


@for_all_rows(
    "content",
    [
        _zip(**{"../a.do": b"count"}),
        _zip(**{"/a.do": b"count"}),
        _zip(**{"x/../../a.do": b"count"}),
        _zip(**{"x\\a.do": b"count"}),
        _zip(**{"C:a.do": b"count"}),
        _zip(**{"a.do": b"count", "A.DO": b"list"}),
        _zip(**{"a.do": b"count", "a.do/b.txt": b"x"}),
        _zip(**{"a.do": b"count", "con.txt": b"x"}),
        _zip(**{"a.do": b"count", ".hidden": b"x"}),
        _zip(**{"a.do": b"count", "x\u202eb.txt": b"x"}),
        _zip(**{"a.do": b"count", "trail ": b"x"}),
        _zip(**{f"{n}.do": b"count" for n in range(9)}),
        _zip(**{"a.do": b"*" * 10_000_000}),
        _zip(**{"a.txt": b"x"}),
        _zip(**{"a.do": b"x", "b.do": b"x"}),
        _zip(**{"x/" * 9 + "a.do": b"x"}),
        _link(),
        _lying(),
        b"PK\x03\x04 broken",
        _zip(**{"a.do": b"count"})[:60],
    ],
    ids=range(20),
)
def test_archives_that_are_not_taken(content: bytes) -> None:
    with pytest.raises(ServiceError) as caught:
        unpacked(content, "up.zip", most_bytes=20_000, most_files=4)
    assert caught.value.code in ("invalid-input", "too-large")


@for_all_rows("name", ["../a.do", "", "a.exe", "a.do/", "con.do", "a\x00.do", ".do"])
def test_names_that_are_not_taken(name: str) -> None:
    with pytest.raises(ServiceError):
        unpacked(b"count\n", name, most_bytes=100, most_files=4)


def test_archives_with_several_programs_run_the_one_that_is_named(centre: ReviewedCentre) -> None:
    content = _zip(**{"main.do": b"tabulate sex\n", "sub/more.do": b"count\n"})
    assert centre.upload("ruth", content, "up.zip").status_code == 422
    assert centre.upload("ruth", content, "up.zip", main="main.do").status_code == 202
    assert centre.work() == []
    found = centre.ask("vera", "GET", "/1").json()
    assert [one["command"] for one in found["outputs"]] == ["fdztabulate sex"]


def test_settings_of_reviews(tmp_path: Path) -> None:
    right = {"data": {"panel": "panel.csv"}, "units": {"panel": "pid"}}
    found = ServiceSettings.of({"reviews": right}, tmp_path).reviews
    assert found is not None
    assert (found.folder, found.queue) == (tmp_path / "research", tmp_path / "reviews")
    wrong = {"data": {"x": "../service.secret"}, "units": {"y": "pid"}, "seconds": 0}
    with pytest.raises(SettingsError) as caught:
        ServiceSettings.of({"reviews": wrong}, tmp_path)
    places = {one.where for one in caught.value.problems}
    assert places == {"reviews.data.x", "reviews.units.y", "reviews.seconds"}


def test_a_service_without_a_queue_says_so(centre: ReviewedCentre) -> None:
    centre.service.reviews._settings = None
    for name, path in (("vera", ""), ("ruth", "/mine")):
        assert centre.ask(name, "GET", path).status_code == 404
    assert centre.upload("ruth").status_code == 404


def _somebody(name: str) -> Principal:
    return Principal(name=name, kind="session", grants=(Grant("reviewer"),))


def test_reviewers_are_told_nothing_of_their_own(centre: ReviewedCentre) -> None:
    number = centre.handed_in("ruth")
    assert [one.number for one in centre.service.reviews.rows(_somebody("vera"))] == [number]
    assert centre.ask("ruth", "GET", "").json()["submissions"] == []
    for name in ("ruth", "Ruth", "r\N{LATIN SMALL LETTER U WITH DIAERESIS}th"):
        assert centre.service.reviews.rows(_somebody(name)) == []
        for asked in (
            lambda who: centre.service.reviews.report(who, number),
            lambda who: centre.service.reviews.file(who, number, 0),
        ):
            assert code_of(asked, _somebody(name)) == "not-allowed"


def test_links_are_told_before_and_after_decisions(centre: ReviewedCentre) -> None:
    content = b"tabulate sex\ntabulate grp sex\nsummarize pay\n"
    number, desk = centre.handed_in(content=content), centre.service.reviews
    report = desk.report(_somebody("vera"), number)
    assert report.links == ()
    assert {at: len(told) for at, told in report.if_held.items()} == {1: 2, 2: 1, 3: 0}
    assert "the withheld output 1 can be computed from output 2" in report.if_held[1]
    # Not all is decided yet: it is taken, and told.
    hold = {1: OutputDecision(verdict=PartVerdict.hold, comment="one firm")}
    desk.decide(_somebody("vera"), number, hold, reason="seen", version=centre.version(number))
    assert list(desk.report(_somebody("vera"), number).links) == report.if_held[1]
    assert centre.ask("vera", "GET", f"/{number}").json()["links"] == report.if_held[1]


def test_files_are_given_as_they_were_sealed_or_not_at_all(centre: ReviewedCentre) -> None:
    number, desk = centre.handed_in(), centre.service.reviews
    report = desk.report(_somebody("vera"), number)
    assert report.ran_here
    names = [one.name for one in report.files]
    assert {"a.do", "a_FiRe.do", "a.log"} <= set(names)
    place = names.index("a.log")
    name, content = desk.file(_somebody("vera"), number, place)
    assert (name, content.decode()) == ("a.log", report.cleaned)
    assert hashlib.sha256(content).hexdigest() == report.files[place].sha256
    (path,) = (centre.folder / "reviews" / "store").glob("*/outputs/a.log")
    path.write_text(report.cleaned.replace("600", "601"))
    told = desk.report(_somebody("vera"), number)
    assert "a.log was changed" in told.damage[0]
    assert (dict(told.outputs), told.cleaned) == ({}, "")
    for other in (place, len(names), -1):
        with pytest.raises(ServiceError):
            desk.file(_somebody("vera"), number, other)
    path.unlink()
    assert "a.log is missing" in desk.report(_somebody("vera"), number).damage[0]
    assert centre.decide("vera", number, "accept", "accept", "accept").status_code == 503


LOG = b""". tabulate sex

        sex |      Freq.     Percent        Cum.
------------+-----------------------------------
          1 |        300       50.00       50.00
          2 |        298       49.67       99.67
          3 |          2        0.33      100.00
------------+-----------------------------------
      Total |        600      100.00

"""


def test_a_run_elsewhere_is_handed_in_with_its_log(centre: ReviewedCentre) -> None:
    files = {"work/a.do": b"tabulate sex\n", "work/a.log": LOG}
    more = {"file": "up.zip", "data": "", "log": "work/a.log"}
    assert centre.upload("ruth", _zip(**files), **more).status_code == 202
    assert centre.work() == []
    report = centre.service.reviews.report(_somebody("vera"), 1)
    assert not report.ran_here
    assert report.log == LOG.decode()
    assert "#" in report.outputs[1]
    assert "0.33" not in report.cleaned
    assert [one.rule for one in report.view.findings] == ["no-universe"]
    # and with other programs beside it
    files["work/more.do"] = b"count\n"
    more["main"] = "work/a.do"
    assert centre.upload("ruth", _zip(**files), **more).status_code == 202
    assert centre.work() == []
    assert "more.do" in str(centre.service.reviews.report(_somebody("vera"), 2).files)


@pytest.mark.parametrize(
    "more",
    [
        {"data": ""},
        {"data": "panel", "log": "a.log"},
        {"data": "", "log": "b.log"},
        {"data": "", "log": "a.do"},
    ],
)
def test_either_data_or_a_log_is_named(centre: ReviewedCentre, more: dict[str, str]) -> None:
    content = _zip(**{"a.do": b"count\n", "a.log": LOG})
    assert centre.upload("ruth", content, "up.zip", **more).status_code == 422
    assert centre.service.reviews.under_way(_somebody("ruth")) == []


def test_sessions_are_handed_in_with_all_their_outputs(
    centre: ReviewedCentre, tmp_path: Path
) -> None:
    """The folder of a session, which is repeated on the data of the centre if they are named."""
    session = fire.session("P7", data=centre.folder / "research" / "panel.csv", entity="pid")
    session.crosstab("grp", "sex")
    session.hist("pay", edges=[3_000, 3_400, 4_000])
    home = session.finalise(tmp_path / "mine")
    found = sorted(one for one in home.rglob("*") if one.is_file())
    files = {f"mine/{one.relative_to(home)}": one.read_bytes() for one in found}
    for data in ("panel", ""):
        more = {"file": "up.zip", "data": data, "project": "P7"}
        content = _zip(**files | ({} if data else {"mine/note.txt": b"x"}))
        assert centre.upload("ruth", content, **more).status_code == 202
        if not data:  # a file that the session did not write
            assert len(centre.work()) == 1
            continue
        assert centre.work() == []
    (row,) = centre.service.reviews.rows(_somebody("vera"))
    report = centre.service.reviews.report(_somebody("vera"), row.number)
    kinds = {Path(one.file).suffix for one in row.standing.parts}
    assert kinds == {".txt", ".svg"}
    outputs = (one.read_text() for one in found if one.suffix == ".txt")
    assert set(outputs) <= set(report.outputs.values())
    assert not [one for one in report.view.findings if one.severity == "error"]


def test_nothing_is_released_while_a_question_is_open(centre: ReviewedCentre) -> None:
    """Also not what was approved before somebody asked."""
    number = centre.handed_in()
    assert centre.decide("vera", number, "accept", "accept", "accept").status_code == 200
    for name in ("vera", "viktor"):
        assert centre.act(name, number, "approve").status_code == 200
    assert centre.act("viktor", number, "ask").json()["state"] == "approved"
    refused = centre.act("viktor", number, "release")
    assert refused.status_code == 409
    assert "has not answered yet" in refused.json()["detail"]
    centre.service.reviews.answer(_somebody("ruth"), number, text="of home")
    assert centre.act("viktor", number, "release").json()["state"] == "released"
