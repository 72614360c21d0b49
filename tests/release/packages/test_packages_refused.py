"""A package that was changed, cut, forged or opened with the wrong key is refused."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import PackageError
from discreet.protection.noise import PerturbationTable
from discreet.release.packages import (
    KeyPair,
    PackageKey,
    Parameters,
    container,
    describe_package,
    parameters_of,
    verify_package,
    write_key_pair,
)
from discreet.release.packages.keys import read_signing_key
from tests.helpers.rows import for_all_rows

KEY = bytes(range(32))
SECTIONS = {
    "figures": {"bracket_above": 0.17},
    "magnitudes": {"rent": {"strength": {"kind": "simple", "share": 0.1}}},
}
PTABLE = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
PARAMETERS = parameters_of(
    SECTIONS, PTABLE, {"rent": dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)}
)


@dataclass(frozen=True, repr=False)
class Desk:
    """A package, its parts in bytes, and the keys of the office and of someone else."""

    folder: Path
    office: KeyPair
    other: KeyPair
    package: Path
    data: bytes
    unsigned: bytes

    def file(self, data: bytes, name: str = "changed.dcparams") -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    folder = tmp_path_factory.mktemp("desk")
    office, other = (write_key_pair(folder / name) for name in ("office", "other"))
    made = []
    for sign_key in (office.signing, None):
        package = dc.pack_parameters(
            PARAMETERS, folder / "census.dcparams",
            statistic="census", version="3", sign_key=sign_key, key=KEY, overwrite=True,
        )  # fmt: skip
        made.append(package.read_bytes())
    package.write_bytes(made[0])
    return Desk(folder, office, other, package, *made)


def header_end(data: bytes) -> int:
    return 22 + int.from_bytes(data[10:14], "big")


def with_header(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same package with a changed header and lengths that fit."""
    end = header_end(data)
    header = json.loads(data[22:end])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    return data[:10] + struct.pack(">I", len(text)) + data[14:22] + text + data[end:]


def refusal(path: Path, **options: Any) -> PackageError:
    with pytest.raises(PackageError) as caught:
        dc.open_parameters(path, **{"key": KEY, "allow_unsigned": True, **options})
    return caught.value


# -- changed files -------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [True, False])
def test_a_flipped_byte_of_header_or_signature_is_refused(desk: Desk, signed: bool) -> None:
    data = desk.data if signed else desk.unsigned
    for at in (*range(header_end(data)), *range(len(data) - 64, len(data))):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        error = refusal(desk.file(bytes(flipped)))
        assert error.code.startswith("package-"), at


@pytest.mark.parametrize("length", [0, 1, 15])
def test_a_package_too_short_for_its_seal_is_refused(desk: Desk, length: int) -> None:
    """Without the seal nobody could tell whether it was changed."""
    end = header_end(desk.unsigned)
    data = bytearray(desk.unsigned[: end + length])
    data[14:22] = length.to_bytes(8, "big")
    assert refusal(desk.file(bytes(data))).code == "package-damaged"
    with pytest.raises(PackageError) as caught:
        container.parse(bytes(data), "here")
    assert caught.value.code == "package-damaged"


@given(at=st.integers(0), bits=st.integers(1, 255), signed=st.booleans())
def test_any_flipped_byte_is_refused(desk: Desk, at: int, bits: int, signed: bool) -> None:
    flipped = bytearray(desk.data if signed else desk.unsigned)
    flipped[at % len(flipped)] ^= bits
    refusal(desk.file(bytes(flipped)))


@given(length=st.integers(0))
def test_any_shortened_package_is_refused(desk: Desk, length: int) -> None:
    cut = desk.data[: length % len(desk.data)]
    error = refusal(desk.file(cut))
    assert error.code == ("package-file" if len(cut) < 8 else "package-damaged")


@given(more=st.binary(min_size=1, max_size=100))
def test_bytes_behind_a_package_are_refused(desk: Desk, more: bytes) -> None:
    assert refusal(desk.file(desk.data + more)).code == "package-damaged"


@given(data=st.binary(max_size=300))
def test_other_files_are_no_packages(desk: Desk, data: bytes) -> None:
    assume(not data.startswith(b"DCPARAMS"))
    path = desk.file(data)
    assert refusal(path).code == "package-file"
    assert refusal(desk.file(b"DCPARAMS" + data)).code in ("package-damaged", "package-version")


def test_a_package_of_a_later_format_says_so(desk: Desk) -> None:
    later = desk.data[:8] + b"\x00\x02" + desk.data[10:]
    error = refusal(desk.file(later))
    assert error.code == "package-version"
    assert "format version 2" in error.what


def test_a_file_that_is_not_there_or_a_folder(desk: Desk) -> None:
    assert "No such file" in refusal(desk.folder / "none.dcparams").what
    assert "Is a directory" in refusal(desk.folder).what


def test_changed_words_are_seen_without_any_key(desk: Desk) -> None:
    changed = desk.file(with_header(desk.data, lambda header: header.update(version="4")))
    for look in (describe_package, verify_package):
        with pytest.raises(
            PackageError, match="the signature is not valid: the package is changed or damaged"
        ):
            look(changed)


# -- forged files --------------------------------------------------------------------------


def resigned(desk: Desk, data: bytes) -> bytes:
    """A package under another signature, which is valid in itself."""
    key = read_signing_key(desk.other.signing)
    theirs = container.public_bytes(key).hex()
    body = with_header(data, lambda header: header.update(signer=theirs))
    body = body[:-64] if len(data) == len(desk.data) else body
    return body + key.sign(container._PURPOSE + body)


def test_a_package_signed_by_someone_else_is_refused(desk: Desk) -> None:
    theirs = dc.pack_parameters(
        PARAMETERS, desk.folder / "theirs.dcparams",
        statistic="census", version="3", sign_key=desk.other.signing, key=KEY,
    )  # fmt: skip
    error = refusal(theirs, verify_key=desk.office.public)
    assert error.code == "package-signer"
    assert desk.other.key_id in error.what
    assert desk.office.key_id in error.hint


def test_a_signature_cannot_be_exchanged_without_the_key_of_the_package(desk: Desk) -> None:
    forged = desk.file(resigned(desk, desk.data))
    assert describe_package(forged).signature == "valid"
    assert refusal(forged).code == "package-key"


def test_a_signature_cannot_be_taken_off(desk: Desk) -> None:
    bare = with_header(desk.data, lambda header: header.update(signer=None))[:-64]
    assert refusal(desk.file(bare)).code == "package-key"
    assert refusal(desk.file(bare), verify_key=desk.office.public).code == "package-unsigned"


@for_all_rows(
    "change",
    [
        {"key": "passphrase"},
        {"cipher": "none"},
        {"scrypt": {"salt": "00" * 16, "n": 2**40, "r": 8, "p": 1}},
        {"scrypt": {"salt": "00" * 16, "n": 2**17, "r": 8, "p": 10**6}},
        {"scrypt": {"salt": "00" * 16, "n": 2**17, "r": 8, "p": 1}},
        {"nonce": ""},
    ],
)
def test_a_header_cannot_choose_how_much_work_opening_is(
    desk: Desk, change: dict[str, Any]
) -> None:
    forged = with_header(desk.unsigned, lambda header: header["encryption"].update(change))
    error = refusal(desk.file(forged), key=None, passphrase="a long passphrase")
    assert error.code == "package-damaged"


def sealed(plain: bytes, digest: str = "00" * 32, **header: Any) -> bytes:
    """A package made by someone who has the key, with any content."""
    settings: dict[str, Any] = {
        "statistic": "s", "version": "1", "kinds": PARAMETERS.kinds, "grid": 10**15, **header,
    }  # fmt: skip
    return container.seal(lambda _: (plain, digest), PackageKey.of(KEY), None, **settings)


GOOD = json.loads(container.to_bytes(PARAMETERS))


def changed(*path: str | int, to: Any) -> bytes:
    data = json.loads(json.dumps(GOOD))
    place = data
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    return json.dumps(data).encode()


@for_all_rows(
    "plain",
    [
        b"no JSON",
        b"[]",
        b"[" * 100_000,
        b'{"tables": {}}',
        changed("more", to=1),
        changed("sections", to=[]),
        changed("sections", "perturbation", to=5),
        changed("sections", "figures", "bracket", to=0.2),
        changed("sections", "figures", "bracket_above", to="much"),
        changed("sections", "magnitudes", to={}),
        changed("sections", "official", to="sex = 1"),
        changed("tables", "rows", to=[]),
        changed("tables", "format_version", to=99),
        changed("tables", to=None),
        changed("magnitude_tables", to=[1]),
        changed("magnitude_tables", "rent", to={}),
        changed("secret", to="short"),
        changed("secret", to="00"),
        changed("secret", to=7),
    ],
)
def test_content_of_another_form_is_refused(desk: Desk, plain: bytes) -> None:
    assert refusal(desk.file(sealed(plain))).code == "package-content"


END = 10**15
STILL = {"upper": [END], "noise": [0]}
#: A part that says nothing wrong, and what is wrong with it in one place only.
SOUND = {"kind": "all", "classes": [0, 1, 2], "step": 2, "closed": "left", "rows": [STILL] * 3}
UNSOUND: dict[str, dict[str, Any]] = {
    "a class that is no whole number": {"classes": [0, 1, 2.0]},
    "a class that is no number": {"classes": [0, True, 2]},
    "a step that is no whole number": {"step": 2.0},
    "no step": {"step": 0},
    "fewer classes than rows": {"classes": [0, 1]},
    "more classes than rows": {"classes": [0, 1, 2, 3]},
    "no row for no contribution": {"classes": [1, 2, 3]},
    "classes that fall": {"classes": [0, 2, 1]},
    "the same class twice": {"classes": [0, 1, 1]},
    "noise where nothing is": {"rows": [{"upper": [END], "noise": [1]}, STILL, STILL]},
    "intervals closed on no side": {"closed": "open"},
    **{
        what: {"rows": [STILL, {"upper": upper, "noise": noise}, STILL]}
        for what, upper, noise in (
            ("an empty row", [], []),
            ("fewer bounds than noise", [END], [0, 1]),
            ("a bound that is no whole number", [0.5 * END, END], [0, 1]),
            ("a bound that is no number", [True, END], [0, 1]),
            ("noise that is no whole number", [END], [0.5]),
            ("a bound below the grid", [-5, END], [0, 1]),
            ("bounds that fall", [END, 5, END], [0, 1, 0]),
            ("a bound twice", [5, 5, END], [0, 1, 0]),
            ("bounds that end before the grid", [END - 1], [0]),
            ("bounds that end behind the grid", [END + 1], [0]),
            ("noise that changes the sign", [END], [-3]),
        )
    },
}


def held(**change: Any) -> Parameters:
    """What a package with one part holds; made by someone who has all keys."""
    part = {**SOUND, **change}
    content = changed("magnitude_tables", "rent", "parts", to=[part])
    return container.from_bytes(content, where="forged", statistic="s", version="1")


def test_a_part_without_fault_is_read() -> None:
    edge = {"upper": [0, END], "noise": [-2, 2]}
    assert held().kinds == PARAMETERS.kinds
    assert held(closed="right", rows=[STILL, edge, STILL]).kinds == PARAMETERS.kinds


@for_all_rows("what", UNSOUND)
def test_unsound_rows_of_magnitudes_are_refused_whoever_made_them(what: str) -> None:
    """The digest in the header is no help: a forger who has the key writes the right one."""
    with pytest.raises(PackageError, match="unknown form of the package content"):
        held(**UNSOUND[what])


@pytest.mark.parametrize("header", [{}, {"kinds": ["counts"]}, {"grid": 4096}])
def test_a_header_that_does_not_tell_the_truth_is_refused(
    desk: Desk, header: dict[str, Any]
) -> None:
    keys = PackageKey.of(KEY).working_keys(b"", None)
    digest = PARAMETERS.digest(keys.digest)
    plain = container.to_bytes(PARAMETERS)
    honest = desk.file(sealed(plain, digest))
    assert dc.open_parameters(honest, key=KEY, allow_unsigned=True).kinds == PARAMETERS.kinds
    lying = sealed(plain, digest, **header) if header else sealed(plain)
    assert "the package contradicts its description" in refusal(desk.file(lying)).what


# -- wrong keys ----------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [True, False])
def test_another_key_does_not_open(desk: Desk, signed: bool) -> None:
    package = desk.file(desk.data if signed else desk.unsigned)
    error = refusal(package, key=bytes(32))
    assert error.code == "package-key"
    assert "cannot be opened: the key is wrong" in error.what


def test_another_passphrase_does_not_open(desk: Desk) -> None:
    package = dc.pack_parameters(
        PARAMETERS, desk.folder / "phrase.dcparams",
        statistic="census", version="3", sign_key=None, passphrase="a long passphrase",
    )  # fmt: skip
    error = refusal(package, key=None, passphrase="a wrong passphrase")
    assert error.code == "package-key"
    assert "wrong passphrase" not in str(error)
    assert "needs a passphrase, not a key file" in refusal(package).what


def test_a_passphrase_does_not_open_what_a_key_file_opens(desk: Desk) -> None:
    error = refusal(desk.package, key=None, passphrase="a long passphrase")
    assert "needs a key file, not a passphrase" in error.what
