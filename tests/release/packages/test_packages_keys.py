"""Files of keys: what they hold, who may read them, and what they are good for."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from discreet.errors import DiscreetError, PackageError, RecordKeyError
from discreet.release.packages import KeyPair, PackageKey, write_key_pair
from discreet.release.packages.keys import read_signing_key, read_verify_key

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return write_key_pair(tmp_path_factory.mktemp("office") / "office")


def private(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "text",
    ["", "a sentence of words", KEY.hex()[:-1], KEY.hex() * 2, KEY[:31] + b"\xff"],
)
def test_a_key_file_holds_a_key_and_nothing_else(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(PackageError, match="64 hexadecimal digits") as caught:
        PackageKey.from_file(private(tmp_path / "package.key", text))
    assert "sentence" not in str(caught.value).replace("for sentences use passphrases", "")
    assert KEY.hex()[:8] not in str(caught.value)


@pytest.mark.parametrize("text", ["short", "one line is\nenough for it", b"\xff\xfe long enough"])
def test_a_passphrase_file_holds_one_long_line(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(PackageError) as caught:
        PackageKey.from_passphrase_file(private(tmp_path / "phrase", text))
    assert caught.value.code == "package-key"
    assert "enough" not in str(caught.value)


def test_files_of_keys_that_others_can_read_are_refused(office: KeyPair, tmp_path: Path) -> None:
    file = private(tmp_path / "package.key", KEY.hex())
    file.chmod(0o640)
    signing = private(tmp_path / "office.key", office.signing.read_text())
    signing.chmod(0o604)
    reads: list[Callable[[], object]] = [
        lambda: PackageKey.from_file(file),
        lambda: PackageKey.from_passphrase_file(file),
        lambda: read_signing_key(signing),
    ]
    for read in reads:
        with pytest.raises(
            RecordKeyError, match="other users of this computer can open the"
        ) as caught:
            read()
        assert caught.value.code == "secret-permissions"


def test_keys_come_from_files_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def working(key: PackageKey | None) -> object:
        assert key is not None
        return key.working_keys(b"", None)

    file = private(tmp_path / "package.key", KEY.hex() + "\n")
    assert working(PackageKey.of(file)) == working(PackageKey.of(KEY))
    monkeypatch.setenv("PACKAGE", "a long passphrase")
    phrase = private(tmp_path / "phrase", "a long passphrase\r\n")
    from_file = PackageKey.named(passphrase_file=phrase)
    assert working(from_file) == working(PackageKey.named(passphrase_env="PACKAGE"))
    assert PackageKey.named() is None
    with pytest.raises(PackageError, match="a package needs exactly one key"):
        PackageKey.named(key_file=file, passphrase_env="PACKAGE")
    with pytest.raises(PackageError, match="environment variable not found"):
        PackageKey.named(passphrase_env="NO_SUCH_NAME")


# -- keys that sign ------------------------------------------------------------------------


def test_a_pair_of_keys_is_never_replaced(tmp_path: Path) -> None:
    pair = write_key_pair(tmp_path / "office.key")
    assert [pair.signing.name, pair.public.name] == ["office.key", "office.pub"]
    assert pair.signing.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DiscreetError, match="the file exists already"):
        write_key_pair(tmp_path / "office")
    pair.public.unlink()
    with pytest.raises(DiscreetError, match="the file exists already"):
        write_key_pair(tmp_path / "office")
    pair.signing.rename(tmp_path / "kept")
    write_key_pair(tmp_path / "other")
    (tmp_path / "other.key").unlink()
    with pytest.raises(DiscreetError, match="the file exists already"):
        write_key_pair(tmp_path / "other")
    assert not (tmp_path / "other.key").exists()


def test_other_keys_cannot_sign(office: KeyPair, tmp_path: Path) -> None:
    elliptic = generate_private_key(SECP256R1())
    pem = (Encoding.PEM, PrivateFormat.PKCS8)
    own = read_signing_key(office.signing)
    locked = own.private_bytes(*pem, BestAvailableEncryption(b"words"))
    wrong = {
        "another kind": elliptic.private_bytes(*pem, NoEncryption()),
        "the file contains a public key, not a signing key": office.public.read_bytes(),
        "the file contains no signing key": b"a sentence",
        "locked with a passphrase": locked,
    }
    for message, text in wrong.items():
        with pytest.raises(PackageError, match=message):
            read_signing_key(private(tmp_path / "x.key", text))


def test_other_keys_cannot_verify(office: KeyPair, tmp_path: Path) -> None:
    elliptic = generate_private_key(SECP256R1()).public_key()
    public = elliptic.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    wrong = {
        "another kind": private(tmp_path / "x.pub", public),
        "the file contains no public key": office.signing,
        "No such file": tmp_path / "none.pub",
    }
    for message, path in wrong.items():
        with pytest.raises(PackageError, match=message):
            read_verify_key(path)
