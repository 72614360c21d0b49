"""A secret stays secret: on paper, in memory dumps of programs, on disk."""

import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from discreet.errors import RecordKeyError
from discreet.microdata import Secret
from tests.helpers.rows import for_all_rows

SENTENCE = "a long and secret sentence"


def same(one: Secret, other: Secret) -> bool:
    return one.derive("test") == other.derive("test")


def test_nothing_shows_the_secret() -> None:
    secret = Secret.of(SENTENCE)
    assert repr(secret) == str(secret) == f"{secret}" == "<Secret>"
    assert not hasattr(secret, "__dict__")


def test_every_generated_secret_is_new() -> None:
    assert not same(Secret.generate(), Secret.generate())


def test_text_file_environment_and_bytes_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Secret.generate()
    file = tmp_path / "secret.key"
    secret.write(file)
    monkeypatch.setenv("CENSUS_SECRET", file.read_text())
    assert same(Secret.from_file(file), secret)
    assert same(Secret.of(file), secret)
    assert same(Secret.of(file.read_text()), secret)
    assert same(Secret.of(bytes.fromhex(file.read_text())), secret)
    assert same(Secret.from_env("CENSUS_SECRET"), secret)
    assert same(Secret.of(SENTENCE), Secret.of(SENTENCE.encode()))


def test_a_written_secret_is_private_and_never_replaced(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    secret = Secret.generate()
    secret.write(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(RecordKeyError, match="the file exists already"):
        Secret.generate().write(file)
    assert same(Secret.from_file(file), secret)


def test_raw_bytes_in_a_file_are_taken_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "raw.key"
    raw = b"\x80\xff" + sha256(b"raw").digest()
    file.write_bytes(raw)
    file.chmod(0o600)
    assert same(Secret.from_file(file), Secret(raw))


def test_purposes_have_unrelated_keys() -> None:
    secret = Secret.of(SENTENCE)
    assert secret.derive("one") != secret.derive("two")


@for_all_rows("short", [b"", b"fifteen bytes..", "too little", "", "ab" * 15, "abc" * 7])
def test_short_secrets_are_refused_without_repeating_them(short: str | bytes) -> None:
    with pytest.raises(RecordKeyError) as caught:
        Secret.of(short)
    assert caught.value.code == "secret-short"
    text = short.decode() if isinstance(short, bytes) else short
    assert not text or text not in str(caught.value)


def test_other_things_are_no_secret() -> None:
    with pytest.raises(RecordKeyError, match="a int cannot be a secret"):
        Secret.of(12345678901234567890)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666])
def test_files_open_to_others_are_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "secret.key"
    file.write_text(SENTENCE)
    file.chmod(mode)
    with pytest.raises(RecordKeyError, match="chmod 600") as caught:
        Secret.from_file(file)
    assert caught.value.code == "secret-permissions"
    file.chmod(0o400)
    assert same(Secret.from_file(file), Secret.of(SENTENCE))


def test_folders_open_to_all_are_refused_even_behind_a_link(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    file = shared / "secret.key"
    file.write_text(SENTENCE)
    file.chmod(0o600)
    shared.chmod(0o777)
    link = tmp_path / "link.key"
    link.symlink_to(file)
    for place in (file, link):
        with pytest.raises(RecordKeyError, match="can replace"):
            Secret.from_file(place)
    shared.chmod(0o755)
    assert same(Secret.from_file(link), Secret.of(SENTENCE))


def test_missing_sources_say_where_they_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(RecordKeyError, match=r"no-such\.key"):
        Secret.from_file(tmp_path / "no-such.key")
    with pytest.raises(RecordKeyError):
        Secret.from_file(tmp_path)
    assert "CENSUS_SECRET" not in os.environ
    with pytest.raises(RecordKeyError, match="CENSUS_SECRET"):
        Secret.from_env("CENSUS_SECRET")


WEAK = {
    "aaaaaaaaaaaaaaaa": "a secret needs at least",  # 8 bytes, as hexadecimal digits
    "1234567890123456": "a secret needs at least",
    "zzzzzzzzzzzzzzzzzzzz": "fewer than 6 different",
    "00" * 16: "fewer than 6 different",
    "deadbeef" * 4: "fewer than 6 different",
    "12345678901234567890123456789012": "fewer than 6 different",
    "abcdefghijklmnopqrstuvwxyz": "its characters are consecutive",
    "000102030405060708090a0b0c0d0e0f": "its characters are consecutive",
    "passwordpassword": "it is repetitive",
    "Zensus2022Zensus2022": "it is repetitive",
    "qwertyuiopasdfgh": "it consists of common words",
    "Passwort-Geheimnis": "it consists of common words",
}


@pytest.mark.parametrize("weak", WEAK)
def test_secrets_that_can_be_guessed_are_refused_with_the_reason(weak: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    file.write_text(weak)
    file.chmod(0o600)
    for given in (weak, file):
        with pytest.raises(RecordKeyError, match=WEAK[weak]) as caught:
            Secret.of(given)
        assert caught.value.code in ("secret-weak", "secret-short")
        assert weak not in str(caught.value)


@for_all_rows(
    "good",
    [
        SENTENCE,
        "an example, no secret",
        "correct horse battery staple",
        "the secret of these tests",
        "Ein Satz, den nur das Amt kennt",
        "pi is 3.1415926535897932",
        "Tr0ub4dor&3 und noch was",
    ],
)
def test_sentences_are_secrets(good: str) -> None:
    assert Secret.of(good)


def test_random_bytes_are_never_refused() -> None:
    for number in range(400):
        seed = sha256(number.to_bytes(4, "big")).digest()
        assert Secret(seed), Secret(seed[:16])
