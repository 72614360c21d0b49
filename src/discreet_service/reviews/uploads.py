"""Uploads: one do-file or a zip archive from anywhere, with names that are safe on every system and
contents of bounded size. Nothing of it is run or opened here.
"""

from __future__ import annotations

import io
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from discreet_fire.research_session import MANIFEST, SUMS
from discreet_service.problems import ServiceError

_LONGEST_NAME, _DEEPEST = 100, 6
_SUFFIX = ".do"
#: How names of logs end.
LOGS = (".log", ".smcl", ".txt")
#: Names that are devices on some systems.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_STRANGE = frozenset('<>:"|?*\\')
_PIECE = 2**16


@dataclass(frozen=True, kw_only=True, repr=False)
class UploadedProgram:
    """A program as it was handed in (confidential)."""

    files: Mapping[str, bytes]  # Contents by path, with slashes
    main: str  # Which of them is the program
    log: str = ""  # Which of them is the log of a run elsewhere; empty if it is to be run here
    # The folder of a session of the researcher; None if it is a program
    session: PurePosixPath | None = None

    @property
    def alone(self) -> bool:
        """Whether the program is one file."""
        return len(self.files) == (2 if self.log else 1)

    def write(self, folder: Path) -> Path:
        """Write it into a new folder; the path to hand on: the file itself if there is one only."""
        folder.mkdir(mode=0o700)
        for name, content in self.files.items():
            if name != self.log:
                _write(folder / name, content)
        if self.session is not None:
            return folder / self.session
        return folder / self.main if self.alone else folder

    def write_log(self, folder: Path) -> Path | None:
        """Write the log into a new folder; None if there is none."""
        if not self.log:
            return None
        path = folder / PurePosixPath(self.log).name
        _write(path, self.files[self.log])
        return path


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(content)


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Files of a folder as one archive, to be handed in as such.

    >>> unpacked(packed([("a.do", b"count")]), "up.zip", most_bytes=1_000, most_files=1).main
    'a.do'
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(_safe_name(name)), content)
    return made.getvalue()


def unpacked(
    content: bytes, name: str, main: str = "", log: str = "", *, most_bytes: int, most_files: int
) -> UploadedProgram:
    """The files of an upload; an error for anything that is not plain.

    >>> unpacked(b"count", "a.do", most_bytes=10, most_files=1).main
    'a.do'
    """
    if len(content) > most_bytes:
        raise _refused("larger than the limit", code="too-large")
    if content.startswith(b"PK\x03\x04"):
        files = _archive(content, most_bytes, most_files)
    else:
        files = {_safe_name(name): content}
    session = None if main or log else _session(files)
    if session is not None:
        return UploadedProgram(files=files, main=str(session / MANIFEST), session=session)
    programs = sorted(one for one in files if one.lower().endswith(_SUFFIX))
    if main and main not in programs:
        raise _refused("do-file not found in the archive", "main")
    if not main and len(programs) != 1:
        message = "several do-files in the archive" if programs else "no do-file in the archive"
        hint = (
            "state the do-file to run" if programs else "submit a .do file or a .zip file with one"
        )
        raise _refused(message, "main" if programs else "file", hint)
    if log and (log not in files or not log.lower().endswith(LOGS)):
        hint = f"logs need the suffix {' or '.join(LOGS)}"
        raise _refused("log not found in the archive", "log", hint)
    return UploadedProgram(files=files, main=main or programs[0], log=log)


def _session(files: Mapping[str, bytes]) -> PurePosixPath | None:
    """The folder that a session of a researcher handed in, if there is one."""
    folders = [PurePosixPath(one).parent for one in files if PurePosixPath(one).name == MANIFEST]
    whole = [one for one in folders if str(one / SUMS) in files]
    return whole[0] if len(whole) == 1 else None


def _archive(content: bytes, most_bytes: int, most_files: int) -> dict[str, bytes]:
    """The files of an archive, read no further than they may go."""
    files: dict[str, bytes] = {}
    seen: set[str] = set()
    left = most_bytes
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > 2 * most_files:
                raise _refused("too many files in the archive", code="too-large")
            for entry in entries:
                if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise _refused("the archive contains links or special files")
                if entry.flag_bits & 1:
                    raise _refused("the archive has a password")
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise _refused("unsupported compression of the archive")
                name = _safe_name(entry.filename.removesuffix("/"))
                if entry.is_dir():
                    continue
                # Refuse two names that are one on some systems, and a file where a folder is.
                folded = unicodedata.normalize("NFKC", name).casefold()
                parents = {folded.rsplit("/", n)[0] for n in range(1, folded.count("/") + 1)}
                if folded in seen or f"{folded}/" in seen or parents & seen:
                    raise _refused("two of its files have the same name")
                seen.add(folded)
                seen.update(f"{one}/" for one in parents)
                with archive.open(entry) as opened:
                    # What an entry holds, whatever it says of its size.
                    found = bytearray()
                    while piece := opened.read(_PIECE):
                        found += piece
                        if len(found) > left:
                            raise _refused("unpacked, larger than the limit", code="too-large")
                    files[name] = bytes(found)
                left -= len(files[name])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError):
        raise _refused("not a readable zip archive") from None
    except RuntimeError:
        raise _refused("the archive has a password") from None
    if len(files) > most_files:
        raise _refused("too many files in the archive", code="too-large")
    return files


def _safe_name(name: str) -> str:
    """A path within a folder, safe on every system."""
    plain = unicodedata.normalize("NFC", name)
    parts = plain.split("/")
    if (
        not plain
        or len(plain) > _LONGEST_NAME
        or len(parts) > _DEEPEST
        or not plain.isprintable()
        or bool(_STRANGE.intersection(plain))
        or any(
            not one or one.startswith(".") or one != one.strip(" .") or _DEVICE.fullmatch(one)
            for one in parts
        )
    ):
        hint = "use letters and digits, without links or parent folders"
        raise _refused("the archive contains an invalid file name", hint=hint)
    return plain


def _refused(
    what: str, where: str = "file", hint: str = "", code: str = "invalid-input"
) -> ServiceError:
    return ServiceError(what, code, where, hint)
