"""A third party that has the data and a package makes the release that the office makes."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

import discreet as dc
from discreet.microdata import Secret
from discreet.release import protect, read_parameters
from discreet.release.packages import KeyPair, write_key_pair
from tests.helpers.made_elsewhere import without_package
from tests.helpers.programmes import Edit

KEY = bytes(range(32))
OFFICE = """\
[perturbation]
table = "ptable.json"
suppress_below = 3
[parts]
max_share_small = 0.4
min_cells = 4
"""
ELSEWHERE = """\
[parameters]
package = "census.dcparams"
key_file = "package.key"
verify_key = "office.pub"
"""


@pytest.fixture
def office(edited: Edit) -> Path:
    """The programme of the office, with a secret, thresholds for parts and official figures."""
    path = edited(
        ("[tables.T1]\n", '[release]\nsecret_file = "office.secret"\n\n[tables.T1]\n'),
        ('[perturbation]\ntable = "ptable.json"\n', OFFICE),
        ("[defaults]\n", "[defaults]\nofficial = \"sex == 'Total'\"\n"),
    )
    Secret.generate().write(path.parent / "office.secret")
    return path


@pytest.fixture
def signing(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return write_key_pair(tmp_path_factory.mktemp("signing") / "office")


def third_party(office: Path, signing: KeyPair, folder: Path, section: str = OFFICE) -> Path:
    """The folder of someone who has data, programme, package and the secret of digests."""
    folder.mkdir()
    parameters = read_parameters(office)
    dc.pack_parameters(
        parameters, folder / "census.dcparams",
        statistic="census", version="1", sign_key=signing.signing, key=KEY,
    )  # fmt: skip
    (folder / "package.key").write_text(KEY.hex())
    (folder / "package.key").chmod(0o600)
    shutil.copy(signing.public, folder / "office.pub")
    shutil.copy(office.parent / "office.secret", folder)
    shutil.copy(office.parent / "persons.parquet", folder)
    text = office.read_text("utf-8").replace(section, ELSEWHERE)
    text = text.replace("official = \"sex == 'Total'\"\n", "")
    programme = folder / office.name
    programme.write_text(text, "utf-8")
    return programme


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }


def test_results_made_elsewhere_are_the_same_to_the_byte(
    office: Path, signing: KeyPair, tmp_path: Path
) -> None:
    elsewhere = third_party(office, signing, tmp_path / "elsewhere")
    ours = protect(office, tmp_path / "ours")
    theirs = protect(elsewhere, tmp_path / "theirs")
    assert [table.digests for table in ours.tables] == [table.digests for table in theirs.tables]
    assert all(table.digests for table in ours.tables)
    released = files(tmp_path / "ours")
    assert {"T1.csv", "T2.de.html", "release.json", "decisions.json"} <= set(released)
    theirs_released = files(tmp_path / "theirs")
    assert without_package(released) == without_package(theirs_released)
    differing = {name for name in released if released[name] != theirs_released[name]}
    assert differing == {"release.json", "index.html", "index.de.html", "release.seal"}


def test_a_release_names_the_package_and_no_parameter(
    office: Path, signing: KeyPair, tmp_path: Path
) -> None:
    protect(third_party(office, signing, tmp_path / "elsewhere"), tmp_path / "out")
    listed = json.loads((tmp_path / "out" / "release.json").read_text("utf-8"))
    named = {"statistic": "census", "version": "1", "signer": signing.key_id}
    assert listed["parameters"] == named
    for word in ("dcparams", "package", "0.4"):
        assert word not in json.dumps(listed)
    for page in ("index.html", "index.de.html"):
        text = (tmp_path / "out" / page).read_text("utf-8")
        assert "census, version 1, sign" in text.replace("Version", "version")
        assert signing.key_id in text


def test_tables_without_a_variable_of_the_official_figures_get_noise_unless_its_total_is_stated(
    office: Path, signing: KeyPair, tmp_path: Path
) -> None:
    protect(office, tmp_path / "ours")
    ours = files(tmp_path / "ours")
    elsewhere = third_party(office, signing, tmp_path / "elsewhere")
    rule = "sex == 'Total' and occupation == 'Total'"
    parameters = dataclasses.replace(read_parameters(office), official=rule)
    dc.pack_parameters(
        parameters, elsewhere.parent / "census.dcparams", overwrite=True,
        statistic="census", version="1", sign_key=signing.signing, key=KEY,
    )  # fmt: skip
    summary = protect(elsewhere, tmp_path / "noisy")
    assert [each for each in summary.warnings if "occupation == 'Total'" in each]
    noisy = (tmp_path / "noisy" / "T1.csv").read_text("utf-8")
    assert "official" in ours["T1.csv"].decode()
    assert "official" not in noisy
    text = elsewhere.read_text("utf-8")
    stated = text.replace("[parameters]\n", '[parameters]\ntotals = { occupation = "Total" }\n')
    elsewhere.write_text(stated, "utf-8")
    summary = protect(elsewhere, tmp_path / "stated")
    assert not [each for each in summary.warnings if "occupation" in each]
    assert (tmp_path / "stated" / "T1.csv").read_bytes() == ours["T1.csv"]
