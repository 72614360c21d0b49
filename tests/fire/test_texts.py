"""Texts of programs and logs: encodings, line ends, files that are no text."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire.findings import Finding, Severity, gravest
from discreet_fire.texts import Lines, decode_source, read_source
from tests.helpers.rows import for_all_rows

GERMAN = "* Löhne über 1.000 €\r\nsu lohn\rtab x\n"


@for_all_rows(
    ("data", "encoding"),
    [
        (b"su x\n", "utf-8"),
        ("* Löhne\n".encode(), "utf-8"),
        (b"\xef\xbb\xbf" + "* Löhne\n".encode(), "utf-8"),
        ("* Löhne\n".encode("latin-1"), "latin-1"),
        (GERMAN.encode("cp1252"), "cp1252"),
        (b"\xff\xfe" + GERMAN.encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + GERMAN.encode("utf-16-be"), "utf-16-be"),
        (b"", "utf-8"),
    ],
)
def test_the_encoding_is_found_and_the_bytes_come_back(data: bytes, encoding: str) -> None:
    source = decode_source(data, "a.do")
    assert source.encoding == encoding
    assert source.encoded(source.text) == data
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    assert source.findings == ()


def test_line_ends_stay_as_they_are() -> None:
    source = decode_source(GERMAN.encode("cp1252"), "a.do")
    assert source.text == GERMAN
    assert [source.lines.place(GERMAN.index(word)) for word in ("*", "su", "tab")] == [
        (1, 1),
        (2, 1),
        (3, 1),
    ]


def test_mixed_encodings_are_a_finding_and_lose_nothing() -> None:
    data = "* Löhne\n".encode() + "* Löhne\n".encode("latin-1")
    source = decode_source(data, "a.do")
    assert [finding.rule for finding in source.findings] == ["mixed-encoding"]
    assert source.encoded(source.text) == data


def test_bytes_of_no_encoding_are_a_finding_and_lose_nothing() -> None:
    data = b"* \x81 \xfc\n"
    source = decode_source(data, "a.do")
    assert source.findings[0].rule == "unknown-encoding"
    assert source.encoded(source.text) == data


@for_all_rows(
    ("data", "words"),
    [
        (b"su x\x00", "zero bytes"),
        (bytes(range(1, 9)) * 20, "control characters"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"<stata_dta><header>", "Stata data set"),
        (b"\xff\xfea", "byte order mark"),
        (b"%PDF-1.7", "PDF"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(OutputCheckError, match=words) as caught:
        decode_source(data, "secret/a.do")
    assert caught.value.code == "output-check"
    assert caught.value.where == "a.do"


def test_a_single_control_character_is_a_finding() -> None:
    source = decode_source(b"su x\n\x1b[8mhidden\n", "a.do")
    assert [(finding.rule, finding.line) for finding in source.findings] == [
        ("control-character", 2)
    ]


def test_places_without_an_ordinary_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.do"
    os.mkfifo(pipe)
    for path, words in (
        (tmp_path / "no.do", "does not exist"),
        (tmp_path, "ordinary file"),
        (pipe, "ordinary file"),
    ):
        with pytest.raises(OutputCheckError, match=words):
            read_source(path)


def test_the_text_is_in_no_repr() -> None:
    source = decode_source(b"di 4711.25\n", "a.do")
    assert "4711" not in repr(source)


def test_a_letter_outside_the_encoding_is_a_clear_error() -> None:
    source = decode_source("* Löhne\n".encode("latin-1"), "a.do")
    with pytest.raises(OutputCheckError, match=r"latin-1") as caught:
        source.encoded("* Löhne\n* 5 €\n")
    assert caught.value.where == "a.do, line 2, column 5"


@given(st.binary(max_size=200))
def test_any_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        source = decode_source(data, "a.do")
    except OutputCheckError:
        return
    assert source.encoded(source.text) == data


@given(st.text(alphabet=st.sampled_from("ab\r\n"), max_size=40), st.integers(0, 40))
def test_places_agree_with_a_count_by_hand(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    line, column = Lines(text).place(offset)
    marked = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    if text[offset - 1 : offset + 1] == "\r\n" and 0 < offset < len(text):
        return  # inside a line end there is no place
    assert line == marked.count("\n") + 1
    assert column == len(marked) - marked.rfind("\n")


def test_the_gravest_finding() -> None:
    def finding(severity: Severity) -> Finding:
        return Finding(
            rule="r", severity=severity, what="w", line=1, column=1, start=0, end=0, hint="do it"
        )

    some = [finding(Severity.REVIEW), finding(Severity.ERROR), finding(Severity.INFO)]
    assert gravest(some) is Severity.ERROR
    assert str(some[0]) == "1:1 review [r] w\n  Hint: do it"
