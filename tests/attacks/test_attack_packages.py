"""Attack: another package of parameters is put in the place of the one that was meant.

Who can open the packages of an office has their key, and can make packages too; who can write
to the folder can put an older one there. Before, a programme took any package that its key
opened: one of another statistic, an older version, one that nobody signed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError, PackageError
from discreet.release import protect
from discreet.release.packages import KeyPair, parameters_of, verify_package, write_key_pair

KEY = bytes(range(32))
NOISE: Mapping[int, float] = {-1: 0.25, 0: 0.5, 1: 0.25}
PROGRAMME = """\
[data]
source = "persons.parquet"
[keys]
column = "record_key"
[parameters]
package = "census.dcparams"
key_file = "package.key"
{more}
[tables.T1]
by = "sex"
[defaults]
formats = ["csv"]
"""


class Desk:
    """A programme that uses a package, and ways to put others in its place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "release"
        self.office = write_key_pair(folder / "office")
        draw = np.random.default_rng(16)
        keys = draw.integers(0, 10**15, 400)
        records = pl.DataFrame({"sex": draw.choice(["m", "w"], 400), "record_key": keys})
        records.write_parquet(folder / "persons.parquet")
        (folder / "package.key").write_text(KEY.hex())
        (folder / "package.key").chmod(0o600)

    def pack(
        self,
        statistic: str = "census",
        version: str = "3",
        signed: KeyPair | None = None,
        noise: Mapping[int, float] = NOISE,
    ) -> Path:
        """Put a package in its place; not signed unless a key is named."""
        ptable = dc.PerturbationTable.from_rows({0: {0: 1}, 1: noise})
        return dc.pack_parameters(
            parameters_of({}, ptable), self.folder / "census.dcparams",
            statistic=statistic, version=version, key=KEY, overwrite=True,
            sign_key=None if signed is None else signed.signing,
        )  # fmt: skip

    def run(self, *more: str) -> dict[str, Any]:
        """Carry out the programme; gives what release.json says."""
        programme = self.folder / "programme.toml"
        programme.write_text(PROGRAMME.format(more="\n".join(more)))
        protect(programme, self.out)
        found: dict[str, Any] = json.loads((self.out / "release.json").read_text())
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_package_that_nobody_signed_is_refused(desk: Desk) -> None:
    desk.pack()
    with pytest.raises(DiscreetError, match="the package is not signed"):
        desk.run()
    assert not desk.out.exists()
    assert desk.run("allow_unsigned = true")["parameters"]["signer"] is None
    package = desk.folder / "census.dcparams"
    with pytest.raises(PackageError, match="not signed"):
        dc.open_parameters(package, key=KEY)
    with pytest.raises(PackageError, match="not signed"):
        verify_package(package, key=KEY)
    assert dc.open_parameters(package, key=KEY, allow_unsigned=True).signer == ""


@pytest.mark.parametrize(
    ("pin", "code"),
    [
        ('statistic = "survey"', "the package has another statistic"),
        ('version = "4"', "the package has another version"),
        ('signer = "0000-1111-2222-3333-4444-5555-6666-7777"', "signed with another key"),
    ],
)
def test_another_package_than_the_pinned_one_is_refused(desk: Desk, pin: str, code: str) -> None:
    desk.pack(signed=desk.office)
    with pytest.raises(DiscreetError, match=code):
        desk.run(pin)
    assert not desk.out.exists()


def test_the_pinned_package_is_used_and_named(desk: Desk) -> None:
    desk.pack(signed=desk.office)
    pins = ['statistic = "census"', 'version = "3"', f'signer = "{desk.office.key_id}"']
    named = {"statistic": "census", "version": "3", "signer": desk.office.key_id}
    assert desk.run(*pins)["parameters"] == named
    page = (desk.out / "index.html").read_text()
    assert f"census, version 3, signed with key {desk.office.key_id}" in page


def test_a_stranger_signs_a_package_of_his_own(desk: Desk) -> None:
    stranger = write_key_pair(desk.folder / "stranger")
    desk.pack(signed=stranger, noise={0: 1})
    for pin in (f'signer = "{desk.office.key_id}"', 'verify_key = "office.pub"'):
        with pytest.raises(DiscreetError, match="signed with another key"):
            desk.run(pin)


def test_whose_signature_it_is_was_not_checked(desk: Desk) -> None:
    desk.pack(signed=desk.office)
    desk.run()
    programme = desk.folder / "programme.toml"
    assert any("signer" in text for text in protect(programme, desk.out).warnings)
    desk.run('verify_key = "office.pub"')
    assert protect(programme, desk.out).warnings == ()


def test_an_older_package_is_put_back(desk: Desk) -> None:
    """Version 3 has more noise than version 2, which the attacker has worked out."""
    verify = 'verify_key = "office.pub"'
    desk.pack(version="2", signed=desk.office, noise={0: 1})
    older = (desk.folder / "census.dcparams").read_bytes()
    assert desk.run(verify)["parameters"]["version"] == "2"
    desk.pack(version="10", signed=desk.office)
    assert desk.run(verify)["parameters"]["version"] == "10"
    figures = (desk.out / "T1.csv").read_bytes()
    (desk.folder / "census.dcparams").write_bytes(older)
    with pytest.raises(PackageError, match="'2' is older"):
        desk.run(verify)
    assert (desk.out / "T1.csv").read_bytes() == figures
    assert desk.run(verify, "allow_older = true")["parameters"]["version"] == "2"


def test_a_version_without_an_order_counts_as_older(desk: Desk) -> None:
    desk.pack(version="3", signed=desk.office)
    desk.run()
    desk.pack(version="final", signed=desk.office)
    with pytest.raises(PackageError, match="is older, or not known to be newer"):
        desk.run()


def test_a_package_of_another_statistic_is_put_in_its_place(desk: Desk) -> None:
    desk.pack(signed=desk.office)
    desk.run()
    desk.pack(statistic="survey", signed=desk.office)
    with pytest.raises(PackageError, match=r"'survey'.*'census'"):
        desk.run()
    assert desk.run('statistic = "survey"')["parameters"]["statistic"] == "survey"


def test_another_signer_than_last_time(desk: Desk) -> None:
    desk.pack(signed=desk.office)
    desk.run()
    stranger = write_key_pair(desk.folder / "stranger")
    desk.pack(version="4", signed=stranger)
    with pytest.raises(PackageError, match="signed the package"):
        desk.run()
    desk.pack(version="4")
    with pytest.raises(PackageError, match="the package is not signed"):
        desk.run("allow_unsigned = true")


@pytest.mark.parametrize("signed", ['verify_key = "office.pub"', 'signer = "{}"'])
def test_unsigned_and_signed_at_once_is_a_mistake(desk: Desk, signed: str) -> None:
    desk.pack(signed=desk.office)
    with pytest.raises(
        DiscreetError, match="a signer is stated: an unsigned package is not allowed"
    ):
        desk.run("allow_unsigned = true", signed.format(desk.office.key_id))


def test_a_signer_that_is_no_short_name(desk: Desk) -> None:
    desk.pack(signed=desk.office)
    with pytest.raises(DiscreetError, match=r"parameters\.signer"):
        desk.run('signer = "office"')
