"""Text files that describe classifications, read as lines.

In: a path. Out: its text, or an error that names the byte or the form that does
not belong there. A further suffix ``.gz`` means compressed.
"""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ClassificationError
from discreet.files import write_text

_UTF16 = "a text in UTF-16"

#: First bytes of files that are no text, with what they are.
_SIGNATURES = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
}


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file and how to name places in it."""

    path: Path
    text: str

    @property
    def stem(self) -> str:
        """The name of the file up to its first dot."""
        return self.path.name.split(".")[0]

    def place(self, line: int) -> str:
        """The file and a line, counted from 1, for messages."""
        return f"{self.path.name}, line {line}"

    def lines(self) -> list[tuple[int, str]]:
        """The lines that are not blank, with their numbers."""
        parts = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return [(number, line) for number, line in enumerate(parts, 1) if line.strip()]


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that tells the format, in lower case, without ``.gz``.

    >>> suffix_of("region.HRC"), suffix_of("sex.csv.gz")
    ('.hrc', '.csv')
    """
    name = Path(path)
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    return name.suffix.lower()


def check_suffix(path: Path, suffixes: tuple[str, ...]) -> str:
    """The suffix of a path; an error if it is none of these."""
    suffix = suffix_of(path)
    if suffix not in suffixes:
        message = f"unknown suffix {suffix!r} of a classification file"
        raise file_error(message, path, hint=f"known suffixes: {', '.join(suffixes)}")
    return suffix


def file_error(what: str, path: Path, *, where: str = "", hint: str = "") -> ClassificationError:
    """An error about a file, or about a place in it."""
    return ClassificationError(
        what, code="classification-file", where=where or path.name, hint=hint
    )


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> TextFile:
    """Read a text file; a byte order mark is taken off."""
    source = Path(path)
    text = _decoded(_bytes(source), encoding, source).removeprefix("\ufeff")
    if not text.strip():
        raise file_error("the file is empty", source)
    return TextFile(source, text)


def _bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix.lower() == ".gz" else raw
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise file_error("not a complete gzip file", path) from None
    except OSError as error:
        message = f"the file cannot be read ({error.strerror or 'unknown reason'})"
        hint = "check the path and the permissions"
        raise file_error(message, path, where=str(path), hint=hint) from None


def _decoded(raw: bytes, encoding: str, path: Path) -> str:
    try:
        text = raw.decode(encoding)
    except LookupError:
        raise file_error(
            f"unknown encoding {encoding!r}", path, hint='for example "utf-8" or "cp1252"'
        ) from None
    except UnicodeDecodeError as error:
        _check_signature(raw, encoding, path)
        line = raw.count(b"\n", 0, error.start) + 1
        raise file_error(
            f"byte 0x{raw[error.start]:02x} at position {error.start} is not {encoding}",
            path,
            where=f"{path.name}, line {line}",
            hint='name the encoding, such as encoding="cp1252" or "latin-1"',
        ) from None
    if "\x00" in text:
        _check_signature(raw, encoding, path)
        raise file_error("not a text file: it contains zero bytes", path)
    return text


def _check_signature(raw: bytes, encoding: str, path: Path) -> None:
    """Say what a file is that is not the text it should be, where its first bytes tell."""
    for signature, form in _SIGNATURES.items():
        if raw.startswith(signature):
            hint = "correct the suffix, or export the file as text (UTF-8)"
            if form == _UTF16:
                hint = 'read it with encoding="utf-16", or save it as UTF-8'
            message = f"not a text in {encoding} but {form}"
            raise file_error(message, path, hint=hint) from None


def save_text(path: Path, text: str) -> None:
    """Write a text atomically; refuse texts that UTF-8 cannot hold."""
    if "\x00" in text:
        raise file_error("a code or label contains a zero byte", path, hint="write .json instead")
    try:
        write_text(path, text)
    except UnicodeEncodeError:
        raise file_error("a code or label cannot be written in UTF-8", path) from None
