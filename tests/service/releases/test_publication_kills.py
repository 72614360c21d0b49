"""A publication that is killed at any line: done or not begun, with one entry or none."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

import discreet as dc
from discreet.microdata import Secret
from discreet.release.state.seal import SEAL, read_seal
from discreet_service.audit.trail import AuditKind
from discreet_service.problems import ServiceError
from discreet_service.releases import publications
from discreet_service.releases.drafts import RELEASE
from discreet_service.service import Service
from tests.helpers.killed_publications import (
    NAME,
    agreed,
    opened,
    proposed,
    published,
    seen_later,
    settled,
    state,
)
from tests.helpers.places import ROOT
from tests.helpers.states_left import states_left

PROGRAMME = b'dataset = "census"\n[tables.people]\nby = ["region"]\n'
DRAFT = "d" * 32
OTHER = "f" * 32


@pytest.fixture(scope="module")
def template(
    office: Path, made_release: Path, verify_key: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A service with a release, and a draft that is to take its place. Do not change it."""
    folder = tmp_path_factory.mktemp("killed") / "template"
    folder.mkdir()
    Secret.generate().write(folder / "service.secret")
    shutil.copy(verify_key, folder / "office.pub")
    shutil.copytree(made_release, folder / "releases" / NAME)
    service = opened(folder)
    record = service.publications._drafts.put(PROGRAMME, "anna")
    place = folder / "programmes" / record.id / "drafts" / DRAFT
    text = (office / "programme.toml").read_text("utf-8")
    other = office / "other.toml"
    start = text.index("[tables.legal_ages]")
    other.write_text(text[:start].replace("2026-", "2027-", 1), "utf-8")
    dc.protect(other, place / RELEASE)
    (place / "draft.json").write_text(json.dumps({"draft": DRAFT, "version": "1"}), "utf-8")
    service.trail.head()
    service.close()
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "service"))


@pytest.fixture(scope="module")
def seals(template: Path) -> tuple[str, str]:
    """Those of the release and of the draft."""
    (draft,) = template.glob(f"programmes/*/drafts/{DRAFT}/{RELEASE}")
    found = [read_seal(place / SEAL) for place in (template / "releases" / NAME, draft)]
    assert all(found)
    old, new = (each.identity for each in found if each is not None)
    assert old != new
    return old, new


def kills(template: Path, step: int) -> list[dict[str, Any]]:
    """Kill a publication at some lines, and say what there was before and after settling."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_publications", str(template), str(step)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def left_by_kills(
    folder: Path, act: Callable[[Service], None], *, every: int = 1
) -> list[list[dict[str, Any]]]:
    """What there is, before and after settling, if the process is killed at any line.

    Of all that files went through, each or each nth is looked at.
    """
    service = opened(folder)
    service.start()
    service.releases.releases()

    def of_publications(frame: FrameType) -> bool:
        return frame.f_code.co_filename == publications.__file__

    left = states_left(
        lambda: act(service), folder, folder.parent / "left", of=of_publications, event="line"
    )
    service.close()
    assert left.halts > 20
    return [seen_later(each) for each in left.folders[::every]]


def check(seen: list[dict[str, Any]], seals: tuple[str, str], *, at_once: bool = True) -> None:
    """What must hold wherever it was killed."""
    old, new = seals
    killed, settled, again = seen
    assert killed["whole"], seen
    assert killed["undone"] == 0, seen
    # What can be seen was written down, and there is a release at any moment.
    assert killed["there"] == killed["served"], seen
    assert killed["served"] in ((old, new) if at_once else (old, new, None)), seen
    if killed["served"] == new:
        assert killed["published"] == 1, seen
    # What was written down is done, what was not is not.
    assert settled["served"] == settled["there"] == (new if killed["published"] else old), seen
    assert settled["published"] == killed["published"] <= 1, seen
    assert settled["undone"] == 0, seen
    assert settled["whole"], seen
    assert (settled["begun"], settled["left"]) == (0, []), seen
    assert again == settled, seen


@pytest.fixture(params=["at once", "slowly"])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a system call exchanges two folders, or it is done step by step."""
    if request.param == "slowly":
        monkeypatch.setattr(publications, "sys", SimpleNamespace(platform="other"))
    return bool(request.param == "at once")


@pytest.mark.exhaustive
def test_killed_publications_are_completed_or_not_begun(
    template: Path, seals: tuple[str, str]
) -> None:
    """Killed indeed: some lines far apart, of which one is before and one after the entry."""
    found = kills(template, 25)
    for each in found:
        check(each["seen"], seals)
    assert {each["seen"][0]["published"] for each in found if each["killed"]} == {0, 1}


def test_what_kills_at_some_lines_leave(folder: Path, seals: tuple[str, str]) -> None:
    found = left_by_kills(folder, published, every=23)
    for seen in found:
        check(seen, seals)
    assert {each[0]["published"] for each in found} == {0, 1}


@pytest.mark.exhaustive
def test_what_kills_at_every_line_leave(
    folder: Path, seals: tuple[str, str], at_once: bool
) -> None:
    found = left_by_kills(folder, published)
    for seen in found:
        check(seen, seals, at_once=at_once)
    seen = [each[0] for each in found]
    # Each of the steps was cut off at least once.
    assert any(one["published"] == 0 and not one["left"] for one in seen)
    assert any(one["begun"] and one["left"] for one in seen)  # files follow what is written down
    assert any(one["begun"] and one["there"] == seals[0] for one in seen)
    assert any(one["begun"] and one["there"] == seals[1] for one in seen)
    assert any(not one["begun"] and one["there"] == seals[1] for one in seen)
    assert at_once or any(one["there"] is None for one in seen)


@pytest.mark.exhaustive
@pytest.mark.parametrize("lost", ["nothing", "the files beside"])
def test_what_kills_at_every_line_of_settling_leave(
    folder: Path, seals: tuple[str, str], at_once: bool, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(folder, monkeypatch)
    if lost != "nothing":
        shutil.rmtree(folder / "releases" / f".{NAME}.new")
    found = left_by_kills(folder, settled)
    for seen in found:
        check(seen, seals, at_once=at_once)
        assert seen[0]["published"] == 1
    assert {each[0]["begun"] for each in found} == {0, 1}


# -- without a kill ------------------------------------------------------------------


def begin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a publication, and end after it is written down."""

    def broken(*_: object) -> None:
        raise OSError(5, "no such luck")

    service = opened(folder)
    with monkeypatch.context() as patch:
        patch.setattr(publications, "switch", broken)
        with pytest.raises(
            ServiceError, match="the publication is logged, but the files cannot be moved"
        ) as caught:
            published(service)
    assert caught.value.code == "data-not-ready"
    service.close()


def test_what_cannot_be_put_in_its_place_is_put_there_later(
    folder: Path, seals: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(folder, monkeypatch)
    assert state(folder)["served"] == seals[0]
    service = opened(folder)
    assert service.publications.settle() == [NAME]
    assert service.releases.release(NAME).identity == seals[1]
    assert service.publications.settle() == []
    assert service.publications.origin(NAME, seals[1])["version"] == "1"
    assert service.publications.origin(NAME, seals[0]) == {}
    service.close()


def test_until_an_embargo_ends_readers_have_what_it_is_to_replace(
    office: Path, folder: Path, seals: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (drafts,) = folder.glob("programmes/*/drafts")
    start = (text := (office / "programme.toml").read_text("utf-8")).index("[tables.legal_ages]")
    embargo = '[publication]\nembargo = "2100-12-15T09:30+01:00"'
    waiting = office / "waiting.toml"
    waiting.write_text(text[:start].replace("[publication]", embargo, 1), "utf-8")
    dc.protect(waiting, drafts / OTHER / RELEASE)
    (drafts / OTHER / "draft.json").write_text(json.dumps({"draft": OTHER, "version": "2"}))
    service, kept = opened(folder), publications.Publications._keep_earlier
    monkeypatch.setattr(publications.Publications, "_keep_earlier", None)
    with pytest.raises(TypeError):  # it ends before the old one is kept
        agreed(service, proposed(service, at=1))
    monkeypatch.setattr(publications.Publications, "_keep_earlier", kept)
    service.publications.settle()
    later = opened(folder)
    for one in (service, later):
        assert one.publications.settle() == []
        assert one.releases.release(NAME).identity == seals[0]
        assert one.releases.table(f"{NAME}.population")
        assert "embargo" in next(iter(one.releases.refused().values()))
    now = [service.clock()]
    monkeypatch.setattr(later.releases, "_clock", lambda: now[0])
    now[0] = int(later.releases.release(NAME).public_from) + 10**14
    later.releases.look_again()
    assert later.releases.release(NAME).embargo
    later.publications.settle()
    assert not [*(folder / "releases").glob(".*.earlier")]
    later.close()
    service.close()


def test_files_that_are_lost_are_made_anew_of_the_draft(
    folder: Path, seals: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(folder, monkeypatch)
    path = folder / "releases" / f".{NAME}.new" / "release.json"
    path.write_bytes(path.read_bytes() + b" ")
    service = opened(folder)
    settled(service)
    assert service.releases.release(NAME).identity == seals[1]
    service.close()


@pytest.mark.parametrize("way", ["draft lost", "replaced by hand"])
def test_what_cannot_be_completed_is_taken_back(
    folder: Path, seals: tuple[str, str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    begin(folder, monkeypatch)
    if way == "draft lost":
        shutil.rmtree(folder / "releases" / f".{NAME}.new")
        shutil.rmtree(folder / "programmes")
    else:
        shutil.rmtree(folder / "releases" / NAME)
        (folder / "releases" / NAME).mkdir()
        (folder / "releases" / NAME / "by-hand").write_text("mine", "utf-8")
    service = opened(folder)
    assert service.publications.settle() == [NAME]
    (entry,) = service.trail.search(kind=AuditKind.publication_undone).rows
    assert (entry.about, json.loads(entry.facts)["digest"]) == (NAME, seals[1])
    service.close()
    after = state(folder)
    assert (after["published"], after["undone"], after["begun"], after["left"]) == (1, 1, 0, [])
    if way == "draft lost":
        assert after["served"] == seals[0]
    else:
        assert (folder / "releases" / NAME / "by-hand").read_text("utf-8") == "mine"


def test_nobody_publishes_over_what_they_have_not_seen(
    folder: Path, seals: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who publishes after another was killed is told that the release is another one."""
    begin(folder, monkeypatch)
    service = opened(folder)
    with pytest.raises(ServiceError) as caught:
        published(service)
    assert caught.value.code == "changed-meanwhile"
    settled(service)
    assert service.releases.release(NAME).identity == seals[1]
    service.close()


def test_a_name_that_another_has_just_taken_is_not_overwritten(folder: Path) -> None:
    """Both saw that nothing is published under the name; the second one is told."""
    service = opened(folder)
    (record,) = service.publications._drafts.every()
    place = folder / "programmes" / record.id / "drafts"
    other = Path(shutil.copytree(place / DRAFT, place / OTHER)) / "draft.json"
    other.write_text(other.read_text("utf-8").replace(DRAFT, OTHER), "utf-8")
    first, second = (proposed(service, "fresh", at) for at in (0, 1))
    agreed(service, first)
    with pytest.raises(ServiceError) as caught:
        agreed(service, second)
    assert caught.value.code == "changed-meanwhile"
    kind = AuditKind.release_published
    assert [each.about for each in service.trail.search(kind=kind).rows] == ["fresh"]
    service.close()


def test_two_do_not_publish_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publications, "_PATIENCE", 0.1)
    one, other = opened(folder), opened(folder)
    (folder / "releases" / ".left.new").mkdir()
    with one.publications._alone(0):
        with pytest.raises(ServiceError) as caught:
            published(other)
        assert caught.value.code == "overloaded"
        assert other.publications.settle() == []
        assert (folder / "releases" / ".left.new").exists()
    assert other.publications.settle() == [NAME]
    assert not (folder / "releases" / ".left.new").exists()
    assert state(folder)["published"] == 1
    one.close()
    other.close()
