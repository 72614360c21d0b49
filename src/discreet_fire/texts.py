"""Programs and logs as texts that can be given back byte by byte.

In: the bytes of a file. Out: its text with encoding, byte order mark and digest; line
ends stay as they are. Files that are no text are refused. The text is CONFIDENTIAL: it
is in no repr and in no message.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from discreet.errors import OutputCheckError
from discreet_fire.findings import Finding, Severity

__all__ = ["Lines", "SourceText", "decode_source", "read_source"]

#: First bytes of files that are no text, with what they are.
_SIGNATURES = {
    b"PK\x03\x04": "a zip archive or an Office document",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"<stata_dta>": "a Stata data set",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"{\\rtf": "a document in rich text format",
}
#: Byte order marks, with the encoding of what follows.
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
#: Control characters that have no place in a text; tab, line ends, form feed and the
#: end mark of DOS have.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f\x7f]")
_FEW_CONTROLS = 8
_SHARE_OF_CONTROLS = 0.01
#: Bytes that Windows-1252 gives no character.
_NO_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_ABOVE_LATIN = re.compile(rb"[\x80-\x9f]")
#: A letter of two bytes as UTF-8 writes it, of the kind that European texts use.
_UTF8_LETTER = re.compile(rb"[\xc3-\xc5][\x80-\xbf]|\xe2[\x80-\x82][\x80-\xbf]")
_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    r"""Start positions of the lines of a text; ``\n``, ``\r\n`` and ``\r`` end a line.

    >>> Lines("one\r\ntwo").place(6)
    (2, 2)
    """

    __slots__ = ("starts",)

    def __init__(self, text: str) -> None:
        self.starts = [0, *[end.end() for end in _LINE_END.finditer(text)]]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        line = bisect_right(self.starts, max(offset, 0))
        return line, max(offset, 0) - self.starts[line - 1] + 1

    def finding(
        self, rule: str, severity: Severity, what: str, start: int, end: int, hint: str = ""
    ) -> Finding:
        """A finding about a passage of the text."""
        line, column = self.place(start)
        return Finding(
            rule=rule,
            severity=severity,
            what=what,
            line=line,
            column=column,
            start=start,
            end=end,
            hint=hint,
        )


@dataclass(frozen=True)
class SourceText:
    """The text of a file, and how to give it back."""

    path: Path  # where it was read, or its name
    text: str = field(repr=False)  # the characters without byte order mark; line ends as they were
    encoding: str  # name of the encoding, for Python
    bom: bytes  # the byte order mark, if there was one
    sha256: str  # digest of the bytes
    findings: tuple[Finding, ...] = ()  # what is doubtful about the encoding

    @cached_property
    def lines(self) -> Lines:
        """Start positions of the lines."""
        return Lines(self.text)

    def encoded(self, text: str) -> bytes:
        r"""Another text in the encoding of this one, with its byte order mark.

        >>> source = decode_source("* Löhne".encode("latin-1"), "a.do")
        >>> source.encoding, source.encoded("* Löhne!")
        ('latin-1', b'* L\xf6hne!')
        """
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            line, column = Lines(text).place(error.start)
            raise OutputCheckError(
                f"a character does not exist in the encoding of the file ({self.encoding})",
                code="output-check",
                where=f"{self.path.name}, line {line}, column {column}",
                hint="write it in letters of the original's encoding, or convert the original",
            ) from None


def read_source(path: str | os.PathLike[str]) -> SourceText:
    """Read a program or a log."""
    place = Path(path)
    if not place.exists():
        raise _error("the file does not exist", place)
    if not place.is_file():
        raise _error("not an ordinary file", place)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise _error(f"the file cannot be read ({error.strerror})", place) from None
    return decode_source(data, place)


def decode_source(data: bytes, name: str | os.PathLike[str]) -> SourceText:
    r"""The text in some bytes, such that the same bytes can be made of it.

    UTF-8 is taken where the bytes allow it, otherwise a single-byte encoding, which loses
    nothing: Windows-1252 if a byte needs it, or Latin-1. Bytes of both kinds are a finding.

    >>> decode_source(b"su x\r\n", "a.do").text
    'su x\r\n'
    >>> decode_source(b"\x00\x01", "a.do")
    Traceback (most recent call last):
        ...
    discreet.errors.OutputCheckError: [output-check] a.do: not a text: it contains zero bytes
    """
    path = Path(name)
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            raise _error(f"this is {kind}, not a text", path)
    bom = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    body = data[len(bom) :]
    encoding = _encoding(body, _MARKS.get(bom, "utf-8"), path)
    text = body.decode(encoding)
    controls = _check_controls(text, path)
    source = SourceText(path, text, encoding, bom, hashlib.sha256(data).hexdigest())
    doubts = _doubts(source, body)
    if controls is not None:
        message = "a control character that can hide text on a screen"
        span = controls.span()
        doubts.append(source.lines.finding("control-character", Severity.REVIEW, message, *span))
    return replace(source, findings=tuple(doubts)) if doubts else source


def _encoding(body: bytes, expected: str, path: Path) -> str:
    """The encoding that reads every byte and gives the same bytes back."""
    try:
        body.decode(expected)
    except UnicodeDecodeError:
        if expected != "utf-8":
            raise _error(
                f"the byte order mark says {expected.upper()}, the bytes say otherwise", path
            ) from None
        if _ABOVE_LATIN.search(body) and not _NO_WINDOWS.search(body):
            return "cp1252"
        return "latin-1"
    return expected


def _check_controls(text: str, path: Path) -> re.Match[str] | None:
    """The first control character; an error where there are too many for a text."""
    if "\x00" in text:
        raise _error("not a text: it contains zero bytes", path)
    first = _CONTROLS.search(text)
    if first is not None:
        count = sum(1 for _ in _CONTROLS.finditer(text))
        if count > max(_FEW_CONTROLS, _SHARE_OF_CONTROLS * len(text)):
            raise _error("not a text: it contains too many control characters", path)
    return first


def _doubts(source: SourceText, body: bytes) -> list[Finding]:
    """What speaks against the single-byte encoding that was taken."""
    if source.encoding not in ("latin-1", "cp1252"):
        return []
    if (letter := _UTF8_LETTER.search(body)) is not None or source.bom:
        start = 0 if letter is None else letter.start()
        message = "the file mixes UTF-8 and a single-byte encoding; it was read byte by byte"
        hint = "check letters outside ASCII; nothing else is changed"
        span = (start, start + 1)
        return [source.lines.finding("mixed-encoding", Severity.REVIEW, message, *span, hint)]
    if source.encoding == "latin-1" and (odd := _ABOVE_LATIN.search(body)) is not None:
        message = "bytes outside every supported encoding; they were left unchanged"
        return [source.lines.finding("unknown-encoding", Severity.REVIEW, message, *odd.span())]
    return []


def _error(message: str, path: Path) -> OutputCheckError:
    hint = "give a do-file, a log or another text file"
    return OutputCheckError(message, code="output-check", where=path.name, hint=hint)


def words(text: str) -> frozenset[str]:
    """The words of a text, for lists of names.

    >>> sorted(words("b a"))
    ['a', 'b']
    """
    return frozenset(text.split())


def place_of(file: str, line: int) -> str:
    """Name of a place; with the file only if the program calls it.

    >>> place_of("", 3), place_of("sub/tables.do", 3)
    ('line 3', 'sub/tables.do, line 3')
    """
    return f"{file}, line {line}" if file else f"line {line}"
