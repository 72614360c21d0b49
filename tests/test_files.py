"""Files appear whole or not at all; files of secrets are for their owner only."""

import errno
import os
import stat
from pathlib import Path

import pytest

from discreet import files
from discreet.errors import PublicationError, RecordKeyError
from discreet.files import (
    atomic_path,
    check_writable,
    read_private,
    texts_of,
    write_private,
    write_text,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> int:
    old = os.umask(0o027)
    yield 0o027
    os.umask(old)


def test_a_file_appears_when_all_of_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
        assert temporary.parent == tmp_path
    assert path.read_text() == "half"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_text(path, "old")

    def interrupted() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_published_files_have_the_mode_of_others_and_private_ones_their_own(
    tmp_path: Path, umask: int
) -> None:
    write_text(tmp_path / "public", "x")
    write_text(tmp_path / "private", "x", private=True)
    assert mode(tmp_path / "public") == 0o666 & ~umask
    assert mode(tmp_path / "private") == 0o600
    os.umask(0o027)
    write_text(tmp_path / "again", "x")
    assert os.umask(0o027) == 0o027, "the mask of the process is as it was"


def test_text_is_utf_8_with_the_line_ends_given(tmp_path: Path) -> None:
    write_text(tmp_path / "text", "ä\nb\r\n")
    assert (tmp_path / "text").read_bytes() == "ä\nb\r\n".encode()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "no space"),
        OSError(errno.EDQUOT, "quota"),
        RuntimeError(f"polars: (os error {errno.ENOSPC})"),
    ],
)
def test_a_full_disk_is_told(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(PublicationError) as caught, atomic_path(tmp_path / "a"):
        raise error
    assert caught.value.code == "disk-full"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EACCES, "denied"),
        ValueError("other"),
        PublicationError("x", code="y", hint=f"os error {errno.ENOSPC})"),
    ],
)
def test_other_errors_stay_what_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, atomic_path(tmp_path / "a"):
        raise error
    assert caught.value is error


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place, words in (
        (tmp_path / "none", "does not exist"),
        (tmp_path / "file", "not a folder"),
    ):
        with pytest.raises(PublicationError, match=words) as caught:
            check_writable(place)
        assert caught.value.code == "output-folder"
    check_writable(tmp_path)


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, "disk-full"), (errno.EROFS, "output-folder")]
)
def test_a_folder_that_takes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def refused(*given: object, **words: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", refused)
    with pytest.raises(PublicationError) as caught:
        check_writable(tmp_path)
    assert caught.value.code == code


def test_a_secret_is_written_once_and_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_private(path, "0123")
    assert mode(path) == 0o600
    assert read_private(path) == b"0123"
    with pytest.raises(RecordKeyError, match="the file exists already") as caught:
        write_private(path, "4567")
    assert caught.value.code == "secret"
    assert path.read_bytes() == b"0123"
    with pytest.raises(PublicationError, match="does not exist"):
        write_private(tmp_path / "none" / "secret", "x")


@pytest.mark.parametrize("bits", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601])
def test_a_secret_that_others_can_open_is_refused(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "secret"
    write_private(path, "0123")
    path.chmod(bits)
    with pytest.raises(RecordKeyError, match="other users of this computer can open the") as caught:
        read_private(path)
    assert caught.value.code == "secret-permissions"


def test_a_secret_is_a_file_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(RecordKeyError, match="cannot be read"):
        read_private(tmp_path / "none")
    with pytest.raises(RecordKeyError, match="the key file cannot be read"):
        read_private(tmp_path / "no folder" / "none", "key file")
    with pytest.raises(RecordKeyError, match="not a file"):
        read_private("/dev/null")


@pytest.mark.parametrize(("bits", "refused"), [(0o777, True), (0o1777, False), (0o775, False)])
def test_a_folder_where_everyone_can_exchange_files(
    tmp_path: Path, bits: int, refused: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_private(folder / "secret", "0123")
    (tmp_path / "link").symlink_to(folder / "secret")
    folder.chmod(bits)
    for path in (folder / "secret", tmp_path / "link"):
        if not refused:
            assert read_private(path) == b"0123"
            continue
        with pytest.raises(
            RecordKeyError, match="every user of this computer can replace the"
        ) as caught:
            read_private(path)
        assert caught.value.code == "secret-permissions"


@pytest.mark.parametrize(
    "text",
    [
        'one.en = "a {x}"',
        'one = {en = "a {x}", de = "ein {y}"}',
        'one = {en = "", de = "", fr = ""}',
    ],
)
def test_texts_say_the_same_in_two_languages(text, tmp_path, monkeypatch):
    (tmp_path / "words.toml").write_text(f"[part]\n{text}\n", "utf-8")
    monkeypatch.setattr("discreet.files.files", lambda package: tmp_path)
    with pytest.raises(ValueError, match=r"wordless: part\.one"):
        texts_of("wordless", "part", "en")
