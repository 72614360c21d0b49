"""The Stata side, read with the lexer: there is no Stata here that could run it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.output_checking.stata import Kind, Statement, parse_do

STATA = Path(__file__).resolve().parents[2] / "stata"
ADO = sorted(STATA.glob("*.ado"))
COMMANDS = (
    "summarize tabstat tabulate regress codebook xtsum xtdescribe inspect utest parameters check"
)
NOT_RUN = "not yet run in stata"
#: Results of single records, and the secret parameters.
SECRET = re.compile(r"r\((min|max|p1|p99|range|sum|fn)\)|`fdz_(k|p)'|`critical'|`k'|`p'")
SHOWS = {"display", "return", "list", "browse", "matrix", "noisily", "print"}
#: Commands that show data and are never needed in a safe command.
FORBIDDEN = {"list", "browse", "edit", "inspect", "stem", "outsheet", "export", "shell", "log"}
#: Originals that run quietly.
QUIET = {"summarize", "tabulate", "xtsum", "levelsof", "count", "predict", "xtset", "replace"}


def commands(path: Path) -> list[Statement]:
    return list(parse_do(path.read_text()).commands)


def test_every_safe_command_has_its_file() -> None:
    assert {path.stem for path in ADO} >= {f"fdz{name}" for name in COMMANDS.split()}


@pytest.mark.parametrize("path", [*ADO, STATA / "certify.do"], ids=lambda path: path.name)
def test_files_are_balanced_and_marked(path: Path) -> None:
    text = path.read_text()
    parsed = parse_do(text)
    assert parsed.findings == ()
    assert NOT_RUN in text.lower()
    ends = [one for one in parsed.statements if one.text.strip() == "end"]
    starts = [one for one in parsed.commands if one.canonical == "program"]
    assert len(starts) == len(ends) > 0
    braces = [one.text.strip() for one in parsed.statements if one.kind is Kind.BRACE]
    opened = sum(one.opens for one in parsed.statements) + braces.count("{")
    assert opened == braces.count("}")


@pytest.mark.parametrize("path", ADO, ids=lambda path: path.name)
def test_the_program_has_the_name_of_its_file(path: Path) -> None:
    first = next(one for one in commands(path) if one.canonical == "program")
    assert re.match(rf"program\s+(define\s+)?{path.stem}\b", first.text)


@pytest.mark.parametrize("path", ADO, ids=lambda path: path.name)
def test_no_secret_is_shown(path: Path) -> None:
    shown = [one for one in commands(path) if one.canonical in SHOWS]
    leaks = [one.text for one in shown if SECRET.search(one.text)]
    assert leaks == []


@pytest.mark.parametrize("path", ADO, ids=lambda path: path.name)
def test_originals_run_quietly_and_nothing_forbidden_runs(path: Path) -> None:
    for one in commands(path):
        assert one.canonical not in FORBIDDEN, one.text
        if one.canonical in QUIET:
            prefixes = {word.canonical for word in one.prefixes}
            assert "quietly" in prefixes, one.text


def test_the_linter_finds_what_it_looks_for() -> None:
    planted = 'program bad\n    summarize x\n    display "largest: " r(max)\nend\n'
    found = parse_do(planted).commands
    assert any(one.canonical == "display" and SECRET.search(one.text) for one in found)
    loud = [one for one in found if one.canonical in QUIET and not one.prefixes]
    assert [one.text.strip() for one in loud] == ["summarize x"]


def test_every_command_of_the_certification_exists() -> None:
    text = (STATA / "certify.do").read_text()
    called = set(re.findall(r"^(fdz\w+)", text, re.MULTILINE)) - {"fdz_holds"}
    assert called <= {path.stem for path in ADO}
    assert {"fdzsummarize", "fdztabulate", "fdzregress", "fdzxtsum", "fdzcodebook"} <= called
    assert {"fdzrun", "fdzestimate"} <= called
    assert text.count("assert ") + text.count("fdz_holds,") >= 15


def test_names_of_withheld_rows_are_not_shown() -> None:
    """In the list of counts a name stands only where its row is open."""
    text = (STATA / "fdztabulate.ado").read_text()
    body = [one for one in commands(STATA / "fdztabulate.ado") if one.start > text.index("_rows\n")]
    named = [one for one in body if one.canonical == "display" and "`name'" in one.text]
    assert len(named) == 1
    inside = [one for one in body if one.start < named[0].start and one.depth < named[0].depth]
    assert inside[-1].text.startswith("if !`closed`i'' & `total' >= `minimum'")
    withheld = [one for one in body if "(withheld)" in one.text]
    assert [one.depth for one in withheld] == [1]
    assert not any("`i'" in one.text for one in withheld)


def test_the_certification_looks_at_names_and_at_commands_named_by_a_macro() -> None:
    text = (STATA / "certify.do").read_text()
    assert 'text("Rarest") absent(1)' in text
    assert 'text("(withheld)") absent(0)' in text
    for part in ("fdzrun `command'", "fdzestimate svy:", "[fweight=w]"):
        assert part in text
