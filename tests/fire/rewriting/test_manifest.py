"""The manifest says what was changed, and gives the original back byte by byte."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import Policy
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.rewriting.results import MARK, SubmittedProgram, read_manifest, restored, undo
from discreet_fire.rewriting.submission import rewrite_files
from discreet_fire.stata.parser import parse_do
from discreet_fire.texts import decode_source
from tests.helpers.do_files import Planted, planted_do_files
from tests.helpers.rows import for_all_rows

POLICY = Policy.default()


def made(data: bytes) -> tuple[dict[str, object], bytes]:
    """The manifest and the bytes of a rewritten file, without any file."""
    program = submitted(data)
    head = program.header("en")
    output = program.source.encoded(head + program.rewriting.text)
    return program.manifest(output, head, "en"), output


def submitted(data: bytes | str, name: str = "a.do", policy: Policy = POLICY) -> SubmittedProgram:
    source = decode_source(data.encode() if isinstance(data, str) else data, name)
    return SubmittedProgram(source=source, policy=policy, rewriting=rewrite(source.text))


@for_all_rows(
    "data",
    [
        "su löhne // Löhne\r\nlist x\r\n".encode("latin-1"),
        "su löhne // „Löhne“\nlist x".encode("cp1252"),
    ],
)
def test_the_original_comes_back(data: bytes) -> None:
    document, output = made(data)
    plain = read_manifest(json.dumps(document), "a_FiRe.json")
    assert restored(plain, output) == data


@given(planted_do_files(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_any_program_comes_back(planted: Planted, encoding: str) -> None:
    data = planted.text.encode(encoding)
    document, output = made(data)
    assert restored(document, output) == data


def test_it_holds_places_digests_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_bytes(b"gen x = 1\nsu x\nlist x\n")
    rewrite_files([tmp_path / "a.do"])
    document = json.loads((tmp_path / "a_FiRe.json").read_text("utf-8"))
    output = (tmp_path / "a_FiRe.do").read_bytes()
    assert document["source"]["sha256"] == hashlib.sha256(b"gen x = 1\nsu x\nlist x\n").hexdigest()
    assert document["output"]["sha256"] == hashlib.sha256(output).hexdigest()
    assert document["policy"] == POLICY.digest
    wrapped, refused = document["edits"]
    assert (wrapped["start"], wrapped["end"], wrapped["before"], wrapped["after"]) == (
        10, 12, "su", "fdzsummarize",
    )  # fmt: skip
    assert output.decode()[wrapped["output_start"] :].startswith("fdzsummarize x")
    assert (refused["action"], refused["line"], refused["command"]) == ("refused", 3, "list")
    assert document["findings"][0]["rule"] == "command"


def test_the_header_says_what_was_done_and_changes_nothing() -> None:
    text = "version 14\nsu x\nta y\nlist z\nlogit a b\nqui levelsof g\nmystery\n"
    done = rewrite(text)
    head = submitted(text).header("en")
    assert head.startswith(MARK)
    for words in (
        "made from a.do",
        POLICY.digest[:16],
        "summarize -> fdzsummarize (1)",
        "tabulate -> fdztabulate (1)",
        "logit -> fdzestimate logit (1)",
        "list (1)",
        "places to review: 1",
        "adopath",
    ):
        assert words in head
    assert {one.kind for one in parse_do(head).statements} == {"comment"}
    assert [one.text for one in parse_do(head + done.text).commands] == [
        one.text for one in parse_do(done.text).commands
    ]


def test_the_header_is_harmless_whatever_the_file_is_called() -> None:
    name = "a */ list /* `x' $y ; Löhne ///.do"
    head = submitted("su x\r\n", name).header("de")
    assert head.isascii()
    assert {one.kind for one in parse_do(head).statements} == {"comment"}
    assert "\n" not in head.replace("\r\n", "")


def test_the_header_may_set_the_path_of_the_safe_commands(tmp_path: Path) -> None:
    path = tmp_path / "centre.toml"
    path.write_text('[header]\nadopath = "Z:/fdz/ado"\n')
    head = submitted("su x", policy=Policy.read(path)).header("en")
    assert head.endswith('quietly adopath ++ "Z:/fdz/ado"\n')


@for_all_rows(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a manifest"),
        ('{"format": "other"}', "not a manifest"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_manifest_is_told(text: str, message: str) -> None:
    with pytest.raises(OutputCheckError, match=message):
        read_manifest(text, "a_FiRe.json")


def test_a_changed_file_is_not_undone() -> None:
    document, output = made(b"su x\n")
    with pytest.raises(OutputCheckError, match="changed after"):
        restored(document, output + b"list x\n")


@pytest.mark.parametrize("part", ["header", "edits", "source", "output"])
def test_a_damaged_manifest_is_told(part: str) -> None:
    document, output = made(b"su x\nlist y\n")
    document[part] = type(document[part])()
    with pytest.raises(OutputCheckError, match="manifest"):
        restored(document, output)


def test_undo_writes_a_missing_original_and_replaces_none(tmp_path: Path) -> None:
    original = tmp_path / "a.do"
    data = "su löhne\r\nlist x".encode("latin-1")
    original.write_bytes(data)
    rewrite_files([original])
    original.unlink()
    assert undo(tmp_path / "a_FiRe.json") == original
    assert original.read_bytes() == data
    assert undo(tmp_path / "a_FiRe.json") == original  # the same: nothing to do
    original.write_bytes(b"su other\n")
    with pytest.raises(OutputCheckError, match="differs"):
        undo(tmp_path / "a_FiRe.json")
    assert original.read_bytes() == b"su other\n"
