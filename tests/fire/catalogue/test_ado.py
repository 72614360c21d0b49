"""The Stata side, read with the lexer: there is no Stata here that could run it."""

import re
from pathlib import Path

import polars as pl
import pytest

from discreet_fire.catalogue.policy import SAFE, Policy, known_commands
from discreet_fire.catalogue.rules import Action
from discreet_fire.runners.builtin.runner import BUILTIN
from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import DoStatement, Kind
from discreet_fire.statistics import SafeLimits, summarize
from tests.helpers.places import ROOT

STATA = ROOT / "stata"
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


def commands(path: Path) -> list[DoStatement]:
    return list(parse_do(path.read_text()).commands)


def test_every_safe_command_has_its_file() -> None:
    assert {path.stem for path in ADO} >= {f"fdz{name}" for name in COMMANDS.split()}


def safe_commands() -> list[str]:
    return sorted(Policy.default().safe_names - {"quietly"})


@pytest.mark.parametrize("safe", safe_commands())
def test_a_safe_command_takes_the_options_of_the_small_stata(safe: str) -> None:
    text = re.sub(r"///\s*\n", " ", (STATA / f"{safe}.ado").read_text())
    known = BUILTIN.commands.get(safe.removeprefix(SAFE))
    if known is None:
        assert safe in ("fdzrun", "fdzestimate", "fdzttest")
        return
    syntax = re.search(r"^    syntax (?P<before>.*?)\[,(?P<options>.*)\]", text, re.MULTILINE)
    assert syntax is not None
    taken = {
        name.lower(): (_shortest(name), bool(brackets))
        for name, brackets in re.findall(r"([A-Za-z]\w*)(\([^)]*\))?", syntax["options"])
    }
    assert "*" in syntax["options"] or known.options.keys() <= taken.keys()
    # What the runner takes, the safe command takes too, as short and with or without brackets.
    for name in known.options.keys() & taken.keys():
        least, brackets = known.options[name]
        assert taken[name][0] <= least, name
        assert taken[name][1] == brackets, name
    assert not known.by or re.search(rf"^program {safe}, .*byable", text, re.MULTILINE)


def _shortest(option: str) -> int:
    """How many letters the shortest form of an option has: capitals, or all of them."""
    return max([at for at, sign in enumerate(option, 1) if sign.isupper()], default=len(option))


@pytest.mark.parametrize("path", ADO, ids=lambda path: path.stem)
def test_what_has_a_file_is_known_by_its_row(path: Path) -> None:
    """A safe command stands for one that the policy wraps or refuses; parts may not be called."""
    policy = Policy.default()
    assert path.stem in known_commands()
    action = policy.verdict(path.stem).action
    parts = ("fdzparameters", "fdzcheck")
    assert action is (Action.REFUSED if path.stem in parts else Action.ALLOWED)
    refused = policy.verdict(path.stem.removeprefix(SAFE)).action is Action.REFUSED
    assert (path.stem in policy.safe_names) == (path.stem not in parts and not refused)


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
def test_no_secret_is_shown_and_nothing_of_originals_is_left(path: Path) -> None:
    """They run quietly; `r(min)` of a quiet summarize would be there for a later display."""
    found = commands(path)
    first = next(one for one in found if one.canonical == "program")
    assert re.match(rf"program\s+(define\s+)?{path.stem}\b", first.text)
    assert path.stem in ("fdzrun", "fdzinspect") or re.search(r", (rclass|eclass)\b", first.text)
    shown = [one for one in found if one.canonical in SHOWS]
    assert [one.text for one in shown if SECRET.search(one.text)] == []
    for one in found:
        assert one.canonical not in FORBIDDEN, one.text
        quiet = "quietly" in {word.canonical for word in one.prefixes}
        assert quiet or one.canonical not in QUIET, one.text
        # An option of a variable without one would stop the command.
        assert not re.search(r"\bentity\(`entity'\)", one.text) or one.text.startswith("local")


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
    for part in ('text("Rarest") absent(1)', 'text("(withheld)") absent(0)', "fdzrun `command'",
                 "fdzestimate svy:", "[fweight=w]"):  # fmt: skip
        assert part in text


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


def test_what_the_certification_says_of_critical_holds_here() -> None:
    """The same firms and rules with the runner of this project."""
    assert "certify_rules" in (STATA / "certify.do").read_text()
    rules = SafeLimits(k=85)
    floor = SafeLimits(k=85, critical_least=5)
    firms = {"even": (100, 30, 13, 12), "uneven": (100, 60, 10, 5), "steep": (100, 60, 2, 1)}
    shown = [
        ("even", rules), ("even", rules.critical(30)), ("uneven", rules),
        ("uneven", rules.critical(1)), ("uneven", floor.critical(6)), ("steep", floor.critical(1)),
    ]  # fmt: skip
    found = [
        summarize(pl.DataFrame({"x": [float(one) for one in firms[name]]}), "x", limits=limits)
        for name, limits in shown
    ]
    assert ["75" in one.shown for one in found] == [True, False, False, False, True, False]


def test_what_is_handed_to_the_caller_is_no_expression() -> None:
    """`c_local` takes what stands there as it is."""
    handed = [one.text for path in ADO for one in commands(path) if one.text.startswith("c_local")]
    assert len(handed) == 9
    assert not any("=" in text for text in handed)


def test_three_cases_have_no_deviation_beside_their_mean() -> None:
    text = (STATA / "fdzcheck.ado").read_text()
    assert "local spread = `ok' & `n' > max(`minimum', 2)" in text
    for name in ("summarize", "tabstat", "codebook", "xtsum"):
        assert "fdz_spread" in (STATA / f"fdz{name}.ado").read_text()


@pytest.mark.parametrize("path", ADO, ids=lambda path: path.stem)
def test_the_certificate_runs_every_safe_command(path: Path) -> None:
    """Parts of them run with those that use them."""
    named = (STATA / "certify.do").read_text()
    users = [each.stem for each in ADO if re.search(rf"\b{path.stem}\b", each.read_text())]
    assert any(re.search(rf"^\s*(capture )?{one}\b", named, re.MULTILINE) for one in users)
    assert path.stem in ("fdzparameters", "fdzcheck") or path.stem in users
    assert path.stem in named or path.stem in ("fdzparameters", "fdzcheck")
