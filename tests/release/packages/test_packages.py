"""A package of parameters holds what an office uses, shows nothing of it, and gives it back."""

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import PackageError, PublicationError, RecordKeyError
from discreet.protection.noise import MagnitudePerturbationTable, PerturbationTable
from discreet.release.packages import (
    KeyPair,
    PackageKey,
    Parameters,
    describe_package,
    parameters_of,
    verify_package,
    write_key_pair,
)
from tests.helpers.package_parameters import (
    DIGEST_KEY,
    FINE,
    MAGNITUDES,
    NOISE,
    PTABLE,
    SECRET,
    SECTIONS,
)

KEY = bytes(range(32))
PASSPHRASE = "zwölf Boxkämpfer jagen"


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    return parameters_of(SECTIONS, PTABLE, {"rent": MAGNITUDES})


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return write_key_pair(tmp_path_factory.mktemp("office") / "office")


def packed(parameters: Parameters, path: Path, office: KeyPair, **options: Any) -> Path:
    settings: dict[str, Any] = {
        "statistic": "census-2026",
        "version": "3",
        "sign_key": office.signing,
        "key": KEY,
        "overwrite": True,
        **options,
    }
    return dc.pack_parameters(parameters, path / "census.dcparams", **settings)


# -- what goes in comes out --------------------------------------------------------------


def test_a_package_gives_the_same_parameters_back(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    package = packed(parameters, tmp_path, office)
    opened = dc.open_parameters(package, key=KEY, verify_key=office.public)
    assert (opened.statistic, opened.version) == ("census-2026", "3")
    assert opened.perturbation_table == PTABLE
    assert opened.perturbation_table.name == "counts 2026"
    assert opened.magnitudes["rent"].table == MAGNITUDES
    assert opened.sections() == parameters.sections()
    assert opened.rules.suppress_below == 10
    assert opened.figures.bracket_above == 0.17
    assert opened.thresholds == {"max_share_small": 0.4, "min_cells": 10}
    assert opened.official == "sex == 'Total'"
    assert opened.keys.id == ["person_id"]
    assert opened.grid.size == 10**15
    assert opened.digests(DIGEST_KEY) == parameters.digests(DIGEST_KEY)
    assert opened.secret is None


@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_table_keeps_its_step_and_side(closed: Any, office: KeyPair, tmp_path: Path) -> None:
    """Noise of whole units on a grid of halves would be another table in whole units."""
    coarse = dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=1)
    (part,) = coarse.parts
    content = replace(part.content, noise=part.content.noise * 4)
    stretched = MagnitudePerturbationTable((replace(part, step=4, content=content),), "rent")
    table = stretched.with_closed(closed)
    sections = {"magnitudes": {"rent": {"strength": {"kind": "simple", "share": 0.1}}}}
    package = packed(parameters_of(sections, PTABLE, {"rent": table}), tmp_path, office)
    opened = dc.open_parameters(package, key=KEY).magnitudes["rent"].table
    assert opened == table
    assert opened.step() == 4
    assert opened.name == "rent"


def test_tables_of_small_grids_are_packed_too(office: KeyPair, tmp_path: Path) -> None:
    found = parameters_of({"keys": {"grid": 4096}}, FINE)
    opened = dc.open_parameters(packed(found, tmp_path, office), key=KEY)
    assert opened.perturbation_table == FINE
    assert opened.grid.size == 4096


def test_a_passphrase_is_the_same_however_it_is_typed(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    package = packed(parameters, tmp_path, office, key=None, passphrase=PASSPHRASE)
    decomposed = PASSPHRASE.replace("ö", "o\u0308").replace("ä", "a\u0308")
    assert decomposed != PASSPHRASE
    opened = dc.open_parameters(package, passphrase=decomposed)
    assert opened.digest(DIGEST_KEY) == parameters.digest(DIGEST_KEY)


def test_the_secret_of_record_keys_is_handed_on_only_if_asked_for(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    package = packed(replace(parameters, secret=SECRET), tmp_path, office)
    opened = dc.open_parameters(package, key=KEY)
    assert opened.secret is not None
    assert opened.secret.derive("test") == SECRET.derive("test")
    assert "secret of the record keys" in describe_package(package).header.kinds
    assert "secret of the record keys" not in parameters.kinds


def test_packages_of_one_key_carry_the_same_digest(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    first = describe_package(packed(parameters, tmp_path, office)).header
    second = describe_package(packed(parameters, tmp_path, office, version="4")).header
    assert first.digest == second.digest
    assert first.encryption.nonce != second.encryption.nonce
    other = describe_package(packed(parameters, tmp_path, office, key=bytes(32))).header
    assert other.digest != first.digest


# -- nothing is shown ----------------------------------------------------------------------


def test_nothing_shows_parameters_or_keys(parameters: Parameters) -> None:
    shown = replace(parameters, statistic="census", version="3")
    assert repr(shown) == str(shown) == "<Parameters of census, version 3: secret>"
    assert repr(parameters.magnitudes["rent"]) == "<Magnitude: secret>"
    key = PackageKey.of(KEY)
    assert repr(key) == str(key) == "<PackageKey: key file>"
    assert repr(key.working_keys(b"", None)) == "<WorkingKeys>"
    assert not hasattr(key, "__dict__")
    with pytest.raises(RecordKeyError, match="cannot be pickled"):
        key.__reduce__()


def test_what_stands_openly_in_a_package(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    package = packed(parameters, tmp_path, office)
    described = describe_package(package).described()
    digest = described.pop("digest")
    assert described == {
        "file": str(package),
        "format_version": 1,
        "statistic": "census-2026",
        "version": "3",
        "made_with": dc.__version__,
        "kinds": ["counts", "magnitudes", "parts", "figures", "exempt cells"],
        "key_grid": 10**15,
        "encryption": "AES-256-GCM",
        "opened_with": "key-file",
        "signer": office.key_id,
        "signature": "valid",
        "trusted": False,
        "opened": False,
    }
    assert digest not in (parameters.digest(KEY), parameters.digest(b""))


def test_the_open_bytes_are_those_of_the_header(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    data = packed(parameters, tmp_path, office).read_bytes()
    header = data[22 : 22 + int.from_bytes(data[10:14], "big")]
    assert set(json.loads(header)) == {
        "statistic", "version", "made_with", "kinds", "grid", "digest", "encryption", "signer",
    }  # fmt: skip
    for word in (b"rent", b"0.17", b"suppress", b"person_id", b"Total", KEY):
        assert word not in data


def test_the_length_of_a_package_tells_nothing_of_its_tables(
    office: KeyPair, tmp_path: Path
) -> None:
    large = PerturbationTable.from_rows({0: {0: 1}, **dict.fromkeys(range(1, 100), NOISE)})
    lengths = {
        packed(parameters_of({}, table), tmp_path, office).stat().st_size
        for table in (PTABLE, large)
    }
    assert len(lengths) == 1


def test_a_package_is_private_and_replaced_at_once(
    parameters: Parameters, office: KeyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = packed(parameters, tmp_path, office)
    assert stat.S_IMODE(package.stat().st_mode) == 0o600
    before = package.read_bytes()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        packed(parameters, tmp_path, office, version="4")
    assert package.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [package.name]


def test_a_package_is_not_replaced_unasked(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    before = packed(parameters, tmp_path, office, overwrite=False).read_bytes()
    with pytest.raises(PackageError, match="the file exists already"):
        packed(parameters, tmp_path, office, overwrite=False, version="4")
    assert (tmp_path / "census.dcparams").read_bytes() == before


def test_a_public_key_neither_signs_nor_opens(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    for mistake in ({"sign_key": office.public}, {"key": office.public}):
        with pytest.raises(PackageError, match="the file contains a public key, not a signing key"):
            packed(parameters, tmp_path, office, **mistake)
    assert list(tmp_path.iterdir()) == []


# -- verifying -----------------------------------------------------------------------------


def test_everyone_can_verify_without_opening(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    package = packed(parameters, tmp_path, office)
    verified = verify_package(package, verify_key=office.public)
    assert (verified.signature, verified.trusted, verified.opened) == ("valid", True, False)
    assert office.key_id in verified.text()
    opened = verify_package(package, key=KEY)
    assert (opened.trusted, opened.opened) == (False, True)
    assert "not compared with a known key" in opened.text()


def test_an_unsigned_package_is_verified_by_opening_it(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    package = packed(parameters, tmp_path, office, sign_key=None)
    assert describe_package(package).described()["signature"] == "none"
    with pytest.raises(PackageError, match="the package is not signed: a check needs its key"):
        verify_package(package)
    with pytest.raises(
        PackageError, match="the package is not signed: anyone who can open packages"
    ):
        verify_package(package, key=KEY)
    assert verify_package(package, key=KEY, allow_unsigned=True).opened
    with pytest.raises(PackageError, match="the package is not signed"):
        dc.open_parameters(package, key=KEY, verify_key=office.public)


# -- packages that cannot be made ----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": ""}, "statistic: must be one line"),
        ({"version": "3\n4"}, "version: must be one line"),
        ({"version": 3}, "version: must be one line"),
        ({"passphrase": PASSPHRASE}, "a package needs a key or a passphrase"),
        ({"key": None}, "a package needs a key or a passphrase"),
        ({"key": None, "passphrase": "too short"}, "at least 12 characters"),
        ({"key": bytes(16)}, "a package key needs 32 bytes"),
    ],
)
def test_a_package_that_cannot_be_made(
    options: dict[str, Any], message: str, parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    with pytest.raises(PackageError, match=message):
        packed(parameters, tmp_path, office, **options)
    assert list(tmp_path.iterdir()) == []


def test_only_names_of_packages_are_written_to(
    parameters: Parameters, office: KeyPair, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "statistic": "s", "version": "1", "sign_key": office.signing, "key": KEY,
    }  # fmt: skip
    with pytest.raises(PackageError, match=r"the name of a package must end with \.dcparams"):
        dc.pack_parameters(parameters, tmp_path / "programme.toml", **settings)
    with pytest.raises(PublicationError, match="folder does not exist"):
        dc.pack_parameters(parameters, tmp_path / "no" / "x.dcparams", **settings)
