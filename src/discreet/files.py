"""Files: written whole or not at all, and files of secrets.

In: a path, and what to write. Out: the file, written under a temporary name in its own
folder, flushed to disk and renamed, so that an interrupted run leaves the old file or
none. Files of secrets are readable by their owner only and never replaced. SECRET: no
content of such a file is ever quoted. Texts that packages bring along are read here as well.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from json.encoder import encode_basestring
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any

from discreet.errors import PublicationError, RecordKeyError

TEMPORARY_SUFFIX = ".discreet-tmp"


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Give a temporary path that becomes `path` when the block ends well."""
    target = Path(path)
    try:
        with told_if_full(target):
            handle, name = tempfile.mkstemp(
                prefix=f".{target.name}.", suffix=TEMPORARY_SUFFIX, dir=target.parent
            )
    except OSError:
        check_writable(target.parent)  # says what is wrong with the folder
        raise
    os.close(handle)
    temporary = Path(name)
    try:
        with told_if_full(target):
            yield temporary
            if not private:
                umask = os.umask(0)
                os.umask(umask)
                temporary.chmod(0o666 & ~umask)
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write a text file atomically, in UTF-8 with unix line ends."""
    with atomic_path(path, private=private) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def json_text(content: Any, step: str = "  ", line: str = "\n") -> str:
    """Indented JSON as `json.dumps` makes it, but not out of one list of all its pieces.

    >>> content = {"a": [1, {}, None], "b": {"ä": 0.5}}
    >>> json_text(content) == json.dumps(content, ensure_ascii=False, indent=2)
    True
    """
    inner = line + step
    if isinstance(content, str):
        return encode_basestring(content)
    if type(content) is int:
        return str(content)
    if isinstance(content, dict) and content:
        items = [
            f"{encode_basestring(name)}: {json_text(item, step, inner)}"
            for name, item in content.items()
        ]
        return f"{{{inner}{(',' + inner).join(items)}{line}}}"
    if isinstance(content, list | tuple) and content:
        items = [json_text(item, step, inner) for item in content]
        return f"[{inner}{(',' + inner).join(items)}{line}]"
    return json.dumps(content)


def write_together(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write many files that nobody reads before all are there; all reach the disk together."""
    check_writable(folder)
    with told_if_full(folder):
        for name, content in files:
            (folder / name).write_bytes(content)
        if hasattr(os, "sync"):  # else the system does it in its own time
            os.sync()


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise a clear error unless files can be created in `folder`."""
    place = Path(folder)
    if not place.is_dir():
        message = "the output folder does not exist" if not place.exists() else "not a folder"
        hint = "create it, or choose another place"
        raise PublicationError(message, code="output-folder", where=str(place), hint=hint)
    try:
        # Without a name where the system can: nothing is left behind if the process is killed.
        with tempfile.TemporaryFile(dir=place, suffix=TEMPORARY_SUFFIX):
            pass
    except OSError as error:
        if _means_full(error):
            raise _disk_full(place) from None
        message = f"cannot write here ({error.strerror})"
        hint = "check the permissions and the free space"
        raise PublicationError(message, code="output-folder", where=str(place), hint=hint) from None


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        with told_if_full(folder):
            folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        message = f"the folder cannot be created ({error.strerror})"
        hint = "choose another place, or check the permissions"
        raise PublicationError(
            message, code="output-folder", where=str(folder), hint=hint
        ) from None


@contextmanager
def told_if_full(place: Path) -> Iterator[None]:
    """Say that the disk is full where the system, or an engine, fails for that."""
    try:
        yield
    except Exception as error:
        if _means_full(error):
            raise _disk_full(place) from None
        raise


def _means_full(error: Exception) -> bool:
    """Whether the disk is full; engines tell it in words, without a number."""
    if isinstance(error, PublicationError):
        return False
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the last: beyond what a file may hold
    told = any(f"os error {number})" in str(error) for number in full)
    return told or getattr(error, "errno", None) in full


def _disk_full(place: Path) -> PublicationError:
    message = "the disk is full; the file was not written"
    hint = "free disk space and run again"
    return PublicationError(message, code="disk-full", where=str(place), hint=hint)


_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_ALL = stat.S_IWOTH


def read_private(path: str | os.PathLike[str], name: str = "secret file") -> bytes:
    """The content of a file that only its owner can open or replace."""
    place = Path(path)
    _check_folders(place, name)
    try:
        with place.open("rb") as file:
            _check_mode(os.fstat(file.fileno()), place, name)
            return file.read()
    except OSError as error:
        raise _unusable(place, f"the {name} cannot be read ({error.strerror})") from None


def write_private(path: str | os.PathLike[str], text: str) -> None:
    """Write a file for its owner only.

    An existing file is never replaced: what was made with it could not be made again.
    """
    place = Path(path)
    check_writable(place.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # two runs at once: one of them fails
    try:
        handle = os.open(place, flags, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            place.unlink(missing_ok=True)  # half a secret is none
            raise
    except FileExistsError:
        raise _unusable(
            place, "the file exists already", "choose another name; secrets are never replaced"
        ) from None
    except OSError as error:
        if _means_full(error):
            raise _disk_full(place) from None
        raise _unusable(place, f"no file can be written ({error.strerror})") from None


def _check_mode(status: os.stat_result, place: Path, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(place, "not a file")
    if os.name == "posix" and status.st_mode & _OTHERS:
        message = f"other users of this computer can open the {name}"
        hint = f"chmod 600 {place}"
        raise RecordKeyError(message, code="secret-permissions", where=str(place), hint=hint)


def _check_folders(place: Path, name: str) -> None:
    """Refuse folders in which anyone could put another file, or link, in this one's place."""
    if os.name != "posix":
        return
    for folder in {place.absolute().parent, place.resolve().parent}:
        if not folder.is_dir():
            continue  # a missing file is reported when it is opened
        mode = folder.stat().st_mode
        if mode & _WRITABLE_BY_ALL and not mode & stat.S_ISVTX:
            message = f"every user of this computer can replace the {name}"
            hint = f"chmod o-w {folder}, or move the file to a folder of your own"
            raise RecordKeyError(message, code="secret-permissions", where=str(folder), hint=hint)


def _unusable(
    place: Path, what: str, hint: str = "check the path and its permissions"
) -> RecordKeyError:
    return RecordKeyError(what, code="secret", where=str(place), hint=hint)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _words_of(package: str) -> dict[str, Any]:
    return tomllib.loads(files(package).joinpath("words.toml").read_text("utf-8"))


@cache
def texts_of(package: str, section: str, language: str) -> Mapping[str, str]:
    """The texts of one section of a package's `words.toml`, by name.

    Raises:
        ValueError: A text lacks a language, or is filled in differently in each.

    >>> texts_of("discreet.protection.parts", "reasons", "de")["empty-cells"]
    'zu viele leere Felder'
    """
    texts = _words_of(package).get(section, {})
    for name, text in texts.items():
        if set(text) != {"en", "de"}:
            raise ValueError(f"{package}: {section}.{name} is in English and German")
        if _filled_in(text["en"]) != _filled_in(text["de"]):
            raise ValueError(f"{package}: {section}.{name} is filled in alike in each language")
    return MappingProxyType({name: text[language] for name, text in texts.items()})


def _filled_in(text: str) -> list[str]:
    return sorted(field for _, field, _, _ in Formatter().parse(text) if field is not None)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """A name as a key of TOML.

    >>> toml_key("income"), toml_key("Straße 1")
    ('income', '"Straße 1"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """A value as TOML has it, in one line; texts as JSON has them too.

    >>> toml_value({"by": ["a", "b"], "below": float("inf"), "complete": False})
    '{ by = ["a", "b"], below = inf, complete = false }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)


def kept_on_disk(path: Path) -> None:
    """Make sure that what was written to a file or folder survives a power cut."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock_taken(descriptor: int) -> bool:
    """Whether nobody else holds an open file, and this process does now; who dies lets go."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
