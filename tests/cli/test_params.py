"""Packages of parameters from the command line: made, shown, verified, refused."""

import json
from pathlib import Path

import pytest
from typer.testing import Result

import discreet as dc
from discreet.release import read_parameters
from tests.helpers.command import run as discreet
from tests.helpers.noise_tables import ptable

PARAMETERS = """\
[perturbation]
table = "ptable.json"
suppress_below = 7
[keys]
id = "person_id"
secret_file = "secret.key"
grid = "10^15"
[magnitudes.rent]
table = "rent.csv"
small_table = "small.csv"
top = 2
epsilon = [1, 0.5]
strength = { kind = "simple", share = 0.123 }
publish = "means"
[figures]
bracket_above = 0.19
[defaults]
official = "sex == 'Total'"
"""


def run(*words: str | Path) -> Result:
    return discreet("params", *words)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The office: tables, parameters, keys."""
    monkeypatch.chdir(tmp_path)
    ptable.write("ptable.json")
    dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=2).write("rent.csv")
    dc.design_magnitude_perturbation(1, 0.5, classes=(1,), step=2).write("small.csv")
    Path("parameters.toml").write_text(PARAMETERS)
    for file in ("secret.key", "package.key"):
        assert discreet("keys", "secret", file).exit_code == 0
    assert run("keys", "office").exit_code == 0
    return tmp_path


def pack(*more: str, source: str = "parameters.toml", signed: bool = True) -> Result:
    words = [source, "--out", "census.dcparams", "--statistic", "census-2026", "--version", "3"]
    signing = ["--sign-key", "office.key"] if signed else []
    opening = [] if any("passphrase" in word for word in more) else ["--key-file", "package.key"]
    return run("pack", *words, *signing, *opening, *more)


def test_an_office_packs_and_a_third_party_opens(folder: Path) -> None:
    result = pack("--json")
    assert result.exit_code == 0, result.output
    described = json.loads(result.stdout)
    assert described["statistic"] == "census-2026"
    assert described["kinds"] == ["counts", "magnitudes", "figures", "exempt cells"]
    opened = dc.open_parameters(
        described["file"], key=Path("package.key"), verify_key=Path("office.pub")
    )
    office = read_parameters("parameters.toml")
    assert opened.digests(b"key") == office.digests(b"key")
    assert opened.magnitudes["rent"].table.kinds == ("all", "small")
    assert opened.secret is None
    assert opened.official == "sex == 'Total'"


def test_showing_needs_no_key_and_tells_no_parameter(folder: Path) -> None:
    pack()
    Path("package.key").unlink()
    text = run("show", "census.dcparams")
    assert text.exit_code == 0
    told = json.loads(run("show", "census.dcparams", "--json").stdout)
    for output in (text.stdout, json.dumps(told)):
        for value in ("0.123", "0.19", "suppress", "rent", "person_id", "0.5", "secret"):
            assert value not in output
    assert "census-2026" in text.stdout
    assert "AES-256-GCM, opened with a key file" in text.stdout
    assert told["key_grid"] == 10**15


def test_verifying_says_how_far_it_went(folder: Path) -> None:
    pack()
    plain = run("verify", "census.dcparams")
    assert plain.exit_code == 0
    assert "the signature is valid, but the signer was not checked; add" in plain.stderr
    words = ["--verify-key", "office.pub", "--key-file", "package.key", "--json"]
    whole = json.loads(run("verify", "census.dcparams", *words).stdout)
    assert (whole["signature"], whole["trusted"], whole["opened"]) == ("valid", True, True)


def test_a_forged_package_is_exit_code_two(folder: Path) -> None:
    pack()
    assert run("keys", "other").exit_code == 0
    other = run("verify", "census.dcparams", "--verify-key", "other.pub", "--json")
    assert other.exit_code == 2
    assert json.loads(other.stdout)["error"]["code"] == "package-signer"
    data = bytearray(Path("census.dcparams").read_bytes())
    data[-1000] ^= 1
    Path("census.dcparams").write_bytes(data)
    for word in ("verify", "show"):
        changed = run(word, "census.dcparams")
        assert changed.exit_code == 2
        assert "the signature is not valid: the package is changed or damaged" in changed.stderr


def test_passphrases(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKAGE", "a long passphrase")
    assert pack("--passphrase-env", "PACKAGE").exit_code == 0
    file = Path("phrase")
    file.write_text("a long passphrase\n")
    file.chmod(0o600)
    good = run("verify", "census.dcparams", "--passphrase-file", "phrase")
    assert "opened with a passphrase (scrypt)" in good.stdout
    file.write_text("a wrong passphrase\n")
    bad = run("verify", "census.dcparams", "--passphrase-file", "phrase")
    assert bad.exit_code == 2
    assert "the key is wrong" in bad.stderr
    assert "wrong passphrase" not in bad.stderr


def test_the_secret_is_packed_only_when_asked_for(folder: Path) -> None:
    result = pack("--with-secret", "--json")
    assert "the package contains the secret of the record keys: anyone who" in result.stderr
    assert "secret of the record keys" in json.loads(result.stdout)["kinds"]
    opened = dc.open_parameters("census.dcparams", key="package.key")
    assert opened.secret is not None


def test_leaving_the_signature_out_must_be_said(folder: Path) -> None:
    assert pack(signed=False).exit_code == 2
    assert pack("--unsigned").exit_code == 2
    assert pack("--unsigned", signed=False).exit_code == 0
    assert run("verify", "census.dcparams").exit_code == 2
    assert "signature   none" in run("show", "census.dcparams").stdout


def test_every_mistake_is_listed_with_its_line(folder: Path) -> None:
    wrong = (
        PARAMETERS.replace("ptable.json", "ptabel.json")
        .replace("epsilon = [1, 0.5]", "epsilon = [1]")
        .replace("bracket_above = 0.19", "bracket_above = -0.19")
    )
    Path("wrong.toml").write_text(wrong)
    result = pack("--json", source="wrong.toml")
    assert result.exit_code == 2
    problems = json.loads(result.stdout)["error"]["problems"]
    lines = {problem["where"].partition(",")[0] for problem in problems}
    assert lines >= {"line 2", "line 12", "line 16"}
    assert "0.19" not in result.output
    assert not Path("census.dcparams").exists()


def test_a_package_is_not_packed_again(folder: Path) -> None:
    text = '[parameters]\npackage = "census.dcparams"\nkey_file = "package.key"\n'
    pack()
    Path("theirs.toml").write_text(text)
    result = pack("--json", source="theirs.toml")
    assert result.exit_code == 2
    assert "the parameters come from a package" in result.stdout


def test_an_existing_package_is_kept_unless_told_otherwise(folder: Path) -> None:
    pack()
    again = pack()
    assert again.exit_code == 2
    assert "the file exists already" in again.stderr
    assert "--overwrite" in again.stderr
    assert pack("--overwrite").exit_code == 0


def test_a_table_that_looks_like_one_for_counts_is_worth_a_warning(folder: Path) -> None:
    whole = dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=1)
    whole.write("rent.csv")
    Path("parameters.toml").write_text(PARAMETERS.replace('small_table = "small.csv"\n', ""))
    result = pack()
    assert result.exit_code == 0, result.output
    assert "[magnitudes.rent] looks like a perturbation table for counts" in result.stderr


def test_a_file_without_parameters(folder: Path) -> None:
    Path("empty.toml").write_text("[keys]\ncolumn = 'k'\n")
    result = pack("--with-secret", source="empty.toml")
    assert result.exit_code == 2
    assert "[perturbation] is missing" in result.stderr
    assert "secret_file and secret_env" in result.stderr


def test_a_table_that_others_can_read_is_worth_a_warning(folder: Path) -> None:
    assert "warning" not in pack().stderr
    Path("rent.csv").chmod(0o644)
    result = pack("--overwrite")
    assert result.exit_code == 0
    assert "other users of this computer can read the perturbation table" in result.stderr


def test_a_key_that_others_can_read_is_refused(folder: Path) -> None:
    Path("package.key").chmod(0o644)
    result = pack()
    assert result.exit_code == 2
    assert "other users of this computer can open the key file" in result.stderr
    assert not Path("census.dcparams").exists()
