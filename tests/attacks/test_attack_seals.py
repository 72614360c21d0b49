"""Attack: someone who can write to a release folder changes it after the office made it.

Before, who edited one figure and its digest in release.json and in the memory of the release
left a folder that held together: the next run took the edited file for its own, and no reader
could tell.
"""

import dataclasses
import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.errors import DiscreetError, PublicationError
from discreet.release import audit_release, protect, verify_release
from discreet.release.packages import write_key_pair
from tests.helpers.firm_programmes import FIRST, LATER, write
from tests.helpers.programmes import replaced
from tests.helpers.states_left import states_left

BASE = """\
[data]
source = "persons.parquet"
[keys]
{keys}
{more}
[perturbation]
table = "ptable.json"
[tables.T1]
by = ["sex", "region"]
[tables.T2]
by = "region"
[defaults]
formats = ["csv", "json"]
"""
COLUMN = 'column = "record_key"'
MADE = 'id = "person_id"\nsecret_file = "secret.key"'
SIGN = '[release]\nsign = "office.key"'
SECRET = hashlib.sha256(b"office").hexdigest()
#: Ways to seal: how keys are made, what signs.
WAYS = {"keyed": (MADE, ""), "signed": (COLUMN, SIGN), "both": (MADE, SIGN)}


@dataclasses.dataclass
class House:
    """An office with its release, and an attacker who can write to the folder."""

    folder: Path
    keys: str
    more: str
    seed: int = 1

    @property
    def out(self) -> Path:
        return self.folder / "release"

    @property
    def programme(self) -> Path:
        return self.folder / "programme.toml"

    def write(self, *changes: tuple[str, str]) -> None:
        self.data()
        text = BASE.format(keys=self.keys, more=self.more)
        self.programme.write_text(replaced(text, *changes))

    def data(self, seed: int | None = None) -> None:
        self.seed = seed = self.seed if seed is None else seed
        draw = np.random.default_rng(seed)
        key = "person_key" if self.keys == MADE else "record_key"
        pl.DataFrame(
            {
                "person_id": np.arange(300),
                "sex": draw.choice(["m", "w"], 300),
                "region": draw.choice(["a", "b", "c"], 300),
                key: draw.integers(0, 10**15, 300),
            }
        ).write_parquet(self.folder / "persons.parquet")

    def run(self, **options: Any) -> dc.release.ReleaseSummary:  # type: ignore[name-defined]
        return protect(self.programme, self.out, **options)

    def content(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.out).as_posix(): path.read_bytes()
            for path in sorted(self.out.rglob("*"))
            if path.is_file()
        }

    def verified(self) -> Any:
        return verify_release(self.out, programme=self.programme)

    def read(self) -> Any:
        """As a reader checks it."""
        return verify_release(self.out, public_key=self.folder / "office.pub")

    def refused(self) -> PublicationError:
        before = self.content()
        with pytest.raises(PublicationError) as caught:
            self.run()
        assert caught.value.code == "release-seal"
        assert self.content() == before
        return caught.value


def made(folder: Path, way: str) -> House:
    house = House(folder, *WAYS[way])
    write_key_pair(folder / "office")
    (folder / "secret.key").write_text(SECRET)
    (folder / "secret.key").chmod(0o600)
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    dc.PerturbationTable.from_rows({0: {0: 1}, 1: noise}).write(folder / "ptable.json")
    house.write()
    return house


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, House]:
    """A release sealed in each way, to be copied."""
    houses = {way: made(tmp_path_factory.mktemp(way), way) for way in WAYS}
    for own in houses.values():
        own.run()
    return houses


def copied(house: House, folder: Path) -> House:
    shutil.copytree(house.folder, folder, dirs_exist_ok=True)
    return dataclasses.replace(house, folder=folder)


@pytest.fixture(params=["keyed", "signed"])
def house(request: pytest.FixtureRequest, releases: dict[str, House], tmp_path: Path) -> House:
    return copied(releases[request.param], tmp_path)


@pytest.fixture
def both(releases: dict[str, House], tmp_path: Path) -> House:
    return copied(releases["both"], tmp_path)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def edit_figure(out: Path, name: str = "T1.csv") -> None:
    """One figure in one format; every digest in the folder follows."""
    path = out / name
    before = path.read_bytes()
    lines = before.decode().splitlines()
    cells = lines[1].split(",")
    at = lines[0].split(",").index("value")
    cells[at] = str(int(cells[at]) + 7)
    path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    follow(out, digest(before), digest(path.read_bytes()))


def follow(out: Path, old: str, new: str) -> None:
    """Put a digest in the place of another in every list of the folder, and lists in lists."""
    lists = [
        out / "release.json",
        *sorted((out / ".discreet").glob("*.json")),
        out / "release.seal",
    ]
    for path in lists:
        if path.exists() and old in path.read_text():
            before = digest(path.read_bytes())
            path.write_text(path.read_text().replace(old, new))
            if path.name != "release.seal":
                follow(out, before, digest(path.read_bytes()))


# -- in order --------------------------------------------------------------------------------


def test_an_untouched_release_is_in_order(house: House) -> None:
    assert house.verified().in_order
    assert house.run().fresh == 0
    assert house.verified().in_order
    if house.more:
        assert house.read().in_order


def test_the_same_release_has_the_same_seal(both: House) -> None:
    before = both.content()
    both.run()
    assert both.content() == before
    other = protect(both.programme, both.folder / "again")
    seal = (both.folder / "again" / "release.seal").read_bytes()
    assert seal == before["release.seal"]
    assert other.seal == both.verified().seal


def test_readers_need_no_memory(both: House) -> None:
    shutil.rmtree(both.out / ".discreet")
    assert both.read().in_order
    assert any("the state of the release is missing" in text for text in both.verified().findings)


def test_nothing_secret_is_in_a_seal(both: House) -> None:
    key = (both.folder / "office.key").read_text()
    for data in both.content().values():
        assert SECRET[:16].encode() not in data
        assert key.splitlines()[1].encode() not in data
    assert SECRET[:16] not in repr(dc.release.open_inputs(both.programme).seals)


# -- changed files -----------------------------------------------------------------------------


def test_an_edited_figure_is_found(house: House) -> None:
    """The attack as it worked: all digests follow; no run and no reader noticed."""
    edit_figure(house.out)
    assert "T1.csv" in [problem.where for problem in house.refused().problems]
    assert not house.verified().in_order
    if house.more:
        assert not house.read().in_order


def test_accepted_changes_are_made_anew(house: House) -> None:
    before = house.content()
    edit_figure(house.out)
    edit_figure(house.out, "T2.csv")
    summary = house.run(accept_changes=True)
    assert house.content() == before
    assert any("rebuilt: T1.csv" in text for text in summary.warnings)
    assert house.verified().in_order
    assert house.run().warnings == ()


@pytest.mark.parametrize("name", ["T1.json", "T1.parquet", "release.json"])
def test_an_edited_memory_is_found(both: House, name: str) -> None:
    house, what = both, name
    path = house.out / ".discreet" / name
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        frame.with_columns(pl.col("value") + 3).write_parquet(path)
    else:
        path.write_text(path.read_text().replace('"planned":[', '"planned":["notes.txt",'))
    assert any(what in problem.where for problem in house.refused().problems)
    assert f".discreet/{name}" in house.verified().differences.changed
    before = set(house.content())
    house.run(accept_changes=True)
    assert house.verified().in_order
    assert set(house.content()) == before


def test_a_memory_under_another_name_is_found(house: House) -> None:
    memory = house.out / ".discreet"
    shutil.copy(memory / "T2.json", memory / "T1.json")
    shutil.copy(memory / "T2.parquet", memory / "T1.parquet")
    assert any("T1.json" in problem.where for problem in house.refused().problems)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"version": 1}'])
def test_a_memory_that_is_none_is_found(both: House, text: str) -> None:
    (both.out / ".discreet" / "T1.json").write_text(text)
    assert any("T1.json" in problem.where for problem in both.refused().problems)


def test_missing_extra_and_changed_files_are_told_apart(house: House) -> None:
    (house.out / "T1.csv").rename(house.out / "T3.csv")
    shutil.copy(house.out / "T1.json", house.out / "T2.json")
    (house.out / ".discreet" / "T9.json").write_text("{}")
    found = house.verified().differences
    assert found.missing == ("T1.csv",)
    assert found.extra == (".discreet/T9.json", "T3.csv")
    assert found.changed == ("T2.json",)


def test_a_file_that_is_gone_is_written_again(house: House) -> None:
    before = house.content()
    (house.out / "T1.csv").unlink()
    assert house.verified().differences.missing == ("T1.csv",)
    house.run()
    assert house.content() == before


def test_a_link_in_place_of_a_file_is_a_change(house: House) -> None:
    copy = house.folder / "elsewhere.csv"
    shutil.copy(house.out / "T1.csv", copy)
    (house.out / "T1.csv").unlink()
    (house.out / "T1.csv").symlink_to(copy)
    assert house.verified().differences.changed == ("T1.csv",)
    house.refused()


# -- seals that are gone, made by others, or old -------------------------------------------------


def test_a_release_without_its_seal_is_refused(house: House) -> None:
    (house.out / "release.seal").unlink()
    assert house.refused().problems[0].what == "the signature file is missing"
    assert house.verified().findings == ("the release is not signed (release.seal)",)
    if house.more:
        assert not house.read().in_order


def strip(out: Path) -> None:
    """Take every trace of a seal away, as if the release was from before there were seals."""
    (out / "release.seal").unlink(missing_ok=True)
    for path in (out / ".discreet").glob("*.json"):
        memory = json.loads(path.read_text())
        memory.pop("seal", None)
        path.write_text(json.dumps(memory))


def test_a_release_without_any_trace_of_a_seal_is_refused(house: House) -> None:
    before = house.content()
    edit_figure(house.out)
    strip(house.out)
    error = house.refused()
    assert "the release is not signed" in error.what
    assert "--accept-changes" in error.hint
    house.run(accept_changes=True)
    assert house.content() == before


def test_a_release_without_memory_is_refused(house: House) -> None:
    before = house.content()
    shutil.rmtree(house.out / ".discreet")
    assert any("the state of" in p.what for p in house.refused().problems)
    assert house.run(accept_changes=True).fresh == 2
    assert house.content() == before
    shutil.rmtree(house.out / ".discreet")
    (house.out / "release.seal").unlink()
    with pytest.raises(PublicationError, match="files that are not part of this release"):
        house.run()


def test_a_seal_by_others_is_refused(both: House, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The attacker makes a release of edited data, with keys of his own."""
    other = made(tmp_path_factory.mktemp("attacker"), "both")
    (other.folder / "secret.key").chmod(0o600)
    (other.folder / "secret.key").write_text(digest(b"attacker"))
    other.data(seed=2)
    other.run()
    shutil.rmtree(both.out)
    shutil.copytree(other.out, both.out)
    both.refused()
    assert both.read().findings[0].startswith("the release is signed with another key")
    assert "another secret" in both.verified().findings[0]
    assert not verify_release(both.out).in_order
    assert both.read().checked == ""


def test_a_seal_without_one_of_its_halves_is_refused(both: House) -> None:
    path = both.out / "release.seal"
    for half in ("keyed", "signature"):
        text = path.read_text()
        seal = json.loads(text)
        path.write_text(json.dumps({**seal, half: None}, indent=2) + "\n")
        both.refused()
        assert not both.verified().in_order
        assert both.read().in_order is (half == "keyed")
        path.write_text(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("{", '{\n  "format": "discreet-release-seal",', 1),
        lambda text: text.replace('"T1.csv"', '"../T1.csv"'),
        lambda text: text + "\n",
        lambda text: "",
        lambda text: "[" * 100_000,
    ],
)
def test_a_seal_in_another_form_is_damaged(both: House, change: Callable[[str], str]) -> None:
    path = both.out / "release.seal"
    path.write_text(change(path.read_text()))
    assert both.read().findings == ("the signature file is damaged (release.seal)",)
    both.refused()


def test_an_older_release_is_put_back(house: House) -> None:
    """All of it is the office's: only what is known beside the folder tells."""
    old = house.folder / "old"
    shutil.copytree(house.out, old)
    first = house.verified().seal
    house.data(seed=3)
    newer = house.run().seal
    now = house.content()
    shutil.rmtree(house.out)
    shutil.copytree(old, house.out)
    assert any("an older release" in text for text in house.verified().findings)
    if house.more:
        public = house.folder / "office.pub"
        assert verify_release(house.out, public_key=public, seal=first).in_order
        found = verify_release(house.out, public_key=public, seal=newer)
        assert not found.in_order
        assert found.findings == ("the release has another fingerprint",)
    house.run()
    assert house.content() == now


def test_an_old_seal_with_old_files_is_not_the_memory(house: House) -> None:
    """Files and seal of the first release, and the memory of the second."""
    old = house.content()
    house.data(seed=3)
    house.run()
    new = house.content()
    for name, data in old.items():
        if not name.startswith(".discreet"):
            (house.out / name).write_bytes(data)
    assert not house.verified().in_order
    house.run()
    assert house.content() == new


def test_a_programme_without_keys_does_not_take_over_a_sealed_release(house: House) -> None:
    house.keys, house.more = COLUMN, ""
    house.write()
    error = house.refused()
    assert "the programme has no key" in error.what
    assert not house.verified().in_order
    house.run(accept_changes=True)
    assert not (house.out / "release.seal").exists()
    assert house.run().warnings == ()


def test_another_key_of_the_office_is_accepted_only_by_name(house: House) -> None:
    (house.folder / "secret.key").unlink()
    (house.folder / "secret.key").write_text(digest(b"new"))
    (house.folder / "secret.key").chmod(0o600)
    for name in ("office.key", "office.pub"):
        (house.folder / name).unlink()
    write_key_pair(house.folder / "office")
    house.refused()
    house.run(accept_changes=True)
    assert house.verified().in_order


# -- releases that were not sealed ---------------------------------------------------------------


def test_a_release_that_nobody_seals_works_as_before(tmp_path: Path) -> None:
    house = made(tmp_path, "keyed")
    house.keys = COLUMN
    house.write()
    house.run()
    assert not (house.out / "release.seal").exists()
    (house.out / "T1.csv").write_text("edited")
    assert house.run().fresh == 0
    assert not house.verified().in_order
    house.more = SIGN
    house.write()
    assert "the release is not signed" in house.refused().what
    house.run(accept_changes=True)
    assert house.verified().in_order


# -- interrupted runs ------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.release import protect
left = int(sys.argv[3])
def count(kind):
    real = getattr(Path, kind)
    def wrapped(self, *args, **kwargs):
        global left
        if str(sys.argv[2]) in str(self):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return real(self, *args, **kwargs)
    setattr(Path, kind, wrapped)
for kind in ("replace", "unlink"):
    count(kind)
protect(sys.argv[1], sys.argv[2])
"""


def killed(house: House, after: int) -> bool:
    """Whether a run was killed after so many files were moved or removed."""
    run = [sys.executable, "-c", KILLED, str(house.programme), str(house.out), str(after)]
    code = subprocess.run(run, check=False).returncode
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.fixture
def changed(both: House) -> dict[str, bytes]:
    """A release whose data and tables are others now; what the next run is to make of it."""
    shutil.copytree(both.out, both.folder / "first")
    both.data(seed=5)
    both.write(("[tables.T2]", "[tables.T4]"))
    return files_of(protect(both.programme, both.folder / "fresh").out)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_killed_run_is_no_attack(both: House, changed: dict[str, bytes]) -> None:
    """The next one goes on: to the same bytes as one that was not ended."""
    assert killed(both, 28)
    both.run()
    assert both.verified().in_order
    assert files_of(both.out) == changed


@pytest.mark.exhaustive
def test_what_a_kill_at_each_step_leaves_is_no_attack(
    both: House, changed: dict[str, bytes]
) -> None:
    """Wherever a run ends, the next one goes on; and the one after that, if the next ends, too."""

    def of_files(frame: FrameType) -> bool:
        name = frame.f_code.co_filename
        return any(part in name for part in ("pathlib", "shutil.py", "discreet/files.py"))

    def back_to(folder: Path) -> None:
        shutil.rmtree(both.out, ignore_errors=True)
        shutil.copytree(folder, both.out)

    def left_by(number: int) -> list[Path]:
        return states_left(both.run, both.out, both.folder / f"{number}", of=of_files).folders

    once = left_by(0)
    assert len(once) > 40
    # Of the moments at which it ends, some; of those at which the next one ends then, as many.
    twice = []
    for number in range(9, len(once), 64):
        back_to(once[number])
        twice += left_by(number)[number % 8 :: 8]
    for folder in (once + twice)[::10]:
        back_to(folder)
        both.run()
        assert both.verified().in_order, folder
        assert files_of(both.out) == changed


# -- releases that others build on ---------------------------------------------------------------


def firms(folder: Path) -> tuple[Path, Path]:
    """A signed release of firms with hidden cells, and a later programme that builds on it."""
    write_key_pair(folder / "office")
    signed = SIGN + "\n\n[suppression]"
    first = FIRST.replace("[suppression]", signed)
    protect(write(folder, "first.toml", first), folder / "first")
    return folder / "first", write(folder, "later.toml", LATER.replace("[suppression]", signed))


def test_an_earlier_release_that_was_changed_is_refused(tmp_path: Path) -> None:
    """What it says of its cells decides which cells are hidden now."""
    first, later = firms(tmp_path)
    assert not any("seal" in text for text in protect(later, tmp_path / "out").warnings)
    path = first / ".discreet" / "sizes.json"
    path.write_text(path.read_text().replace('"tells":["turnover"', '"tells":["profit"'))
    with pytest.raises(DiscreetError, match="changed since signing"):
        protect(later, tmp_path / "other")
    (first / "release.seal").unlink()
    summary = protect(later, tmp_path / "other")
    assert any("earlier release first is not signed" in text for text in summary.warnings)


def test_an_audit_looks_at_the_seal(tmp_path: Path) -> None:
    first, _ = firms(tmp_path)
    programme = tmp_path / "first.toml"
    assert audit_release(programme, first).safe
    (first / "index.html").write_text("another page")
    found = audit_release(programme, first)
    assert not found.safe
    assert found.findings == ("index.html: the file was changed",)


# -- the command -----------------------------------------------------------------------------------


def test_the_command(both: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(both.folder)
    run = CliRunner().invoke
    assert run(app, ["verify", "release", "--public-key", "office.pub"]).exit_code == 0
    done = run(app, ["verify", "release", "--programme", "programme.toml", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["in_order"] is True
    bare = run(app, ["verify", "release"])
    assert bare.exit_code == 1
    assert "the signer was not checked: add the public key of the office" in bare.stdout
    edit_figure(both.out)
    changed = run(app, ["verify", "release", "--public-key", "office.pub"])
    assert changed.exit_code == 1
    assert "NOT VALID" in changed.stdout
    assert run(app, ["verify", "nowhere"]).exit_code == 2
    assert run(app, ["verify", "release", "--public-key", "secret.key"]).exit_code == 2
    two = ["verify", "release", "--public-key", "office.pub", "--programme", "programme.toml"]
    assert run(app, two).exit_code == 2
    assert run(app, ["protect", "programme.toml", "--out", "release"]).exit_code == 2
    accepted = ["protect", "programme.toml", "--out", "release", "--accept-changes"]
    assert run(app, accepted).exit_code == 0


def test_a_key_that_cannot_sign_is_a_mistake_in_the_programme(tmp_path: Path) -> None:
    house = made(tmp_path, "signed")
    for name, what in (
        ("office.pub", "a public key"),
        ("none.key", "not found"),
        ("secret.key", ""),
    ):
        house.write(('"office.key"', f'"{name}"'))
        with pytest.raises(DiscreetError, match=rf"release\.sign.*{what}"):
            house.run()
    assert not house.out.exists()
    (house.folder / "office.key").chmod(0o644)
    house.write()
    with pytest.raises(
        DiscreetError, match="other users of this computer can open the signing key"
    ):
        house.run()
