"""Every command, option, weight and function of the runner, against values from elsewhere.

The cases stand in `run_cases_*.py`. What they use is recorded while they run; a command, an
option, a kind of weights or a function that none of them uses makes a test here fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet_fire.runners.builtin import interpreter, macro_expansion
from discreet_fire.runners.builtin.commands import egen, files
from discreet_fire.runners.builtin.data import true_statistics
from discreet_fire.runners.builtin.data.true_statistics import STATISTICS
from discreet_fire.runners.builtin.language import expressions
from discreet_fire.runners.builtin.language.functions import function_names
from discreet_fire.runners.builtin.registry import commands, settle_options
from discreet_fire.runners.builtin.runner import run_do
from tests.helpers.run_cases.cases import FRAMES, Case, check
from tests.helpers.run_cases.egen import EGEN
from tests.helpers.run_cases.files import DISK
from tests.helpers.run_cases.functions import FUNCTIONS
from tests.helpers.run_cases.models import MODELS
from tests.helpers.run_cases.output import OUTPUT
from tests.helpers.run_cases.reshaping import RESHAPING
from tests.helpers.run_cases.texts import OTHERS
from tests.helpers.run_cases.variables import VARIABLES
from tests.helpers.run_data import Run

CASES = [*VARIABLES, *EGEN, *FUNCTIONS, *RESHAPING, *OTHERS, *OUTPUT, *MODELS]
KNOWN = commands()
NOT_RUN = [one.name for one in KNOWN if one.facts.section == "refused"]
#: What looking at a table gives that is not there, or has no such column.
NO_TABLE = (TypeError, pl.exceptions.ColumnNotFoundError)


def test_what_comes_out_is_what_should(used):
    assert used.wrong == {}


# --- nothing without a case -----------------------------------------------------------------


class Followed(dict):
    """A table of functions that remembers which were asked for."""

    def __init__(self, table, seen):
        super().__init__(table)
        self.seen = seen

    def get(self, name, default=None):
        self.seen.add(name)
        return super().get(name, default)


@dataclass
class Used:
    """What all the cases used."""

    options: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)
    case: object = None
    by: dict = field(default_factory=dict)
    commands: set = field(default_factory=set)
    functions: set = field(default_factory=set)
    egen: set = field(default_factory=set)
    macros: set = field(default_factory=set)
    collapsed: set = field(default_factory=set)
    wrong: dict = field(default_factory=dict)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """What the cases use, also those that are stopped by it, and which come out wrong."""
    found, patch = Used(), pytest.MonkeyPatch()

    def settled(known, call):
        settle_options(known, call)
        found.commands.add(known.name)
        for option in call.options:
            found.options.setdefault((known.name, option), []).append(found.case)
        if call.weight is not None:
            found.weights.setdefault((known.name, call.weight.kind), []).append(found.case)

    def searched(word):
        known = find(word)
        if known is not None:
            found.commands.add(known.name)
        return known

    def under(self, known, call, by):
        found.by.setdefault(known.name, []).append(found.case)
        return under_by(self, known, call, by)

    def function(name):
        found.functions.add(name)
        return function_of(name)

    find, under_by = interpreter.find, interpreter.Interpreter.under_by
    function_of = expressions.function_of
    patch.setattr(interpreter, "settle_options", settled)
    patch.setattr(files, "settle_options", settled)
    patch.setattr(interpreter, "find", searched)
    patch.setattr(interpreter.Interpreter, "under_by", under)
    patch.setattr(expressions, "function_of", function)
    patch.setattr(egen, "FUNCTIONS", Followed(egen.FUNCTIONS, found.egen))
    patch.setattr(macro_expansion, "EXTENDED", Followed(macro_expansion.EXTENDED, found.macros))
    patch.setattr(true_statistics, "STATISTICS", Followed(STATISTICS, found.collapsed))
    with patch.context():
        for case in [*CASES, *DISK]:
            found.case = case
            try:
                if hasattr(case, "content"):
                    case.check(tmp_path_factory.mktemp("disk"))
                else:
                    check(case)
            except (AssertionError, pytest.fail.Exception, DiscreetError, LookupError) as error:
                found.wrong[case.title] = repr(error)
    patch.undo()
    return found


OPTIONS = [
    (one.name, option.name) for one in KNOWN for option in one.facts.options if not option.effect
]
WEIGHTS = [(one.name, kind) for one in KNOWN for kind in sorted(one.facts.takes.weights.split())]


def test_every_option_has_a_case(used):
    assert sorted(set(OPTIONS) - used.options.keys()) == []


def test_every_kind_of_weights_has_a_case(used):
    assert sorted(set(WEIGHTS) - used.weights.keys()) == []


def fails(case, folder):
    """Whether a case is not what it should be."""
    try:
        case.check(folder) if hasattr(case, "content") else check(case)
    except (AssertionError, pytest.fail.Exception, DiscreetError, LookupError, *NO_TABLE):
        return True
    return False


def without(monkeypatch, name, forget):
    """Let a command forget something that it is given."""

    def settled(known, call):
        settle_options(known, call)
        if known.name == name:
            forget(call)

    monkeypatch.setattr(interpreter, "settle_options", settled)
    monkeypatch.setattr(files, "settle_options", settled)


@pytest.mark.exhaustive
def test_every_option_has_a_case_that_fails_without_it(used, monkeypatch, tmp_path):
    idle = []
    for name, option in OPTIONS:
        without(monkeypatch, name, lambda call, gone=option: call.options.pop(gone, None))
        if not any(fails(case, tmp_path) for case in used.options[name, option]):
            idle.append((name, option))
    assert idle == [], " ".join(map(str, idle))


def test_every_kind_of_weights_has_a_case_that_fails_without_them(used, monkeypatch, tmp_path):
    idle = []
    for name, kind in WEIGHTS:
        without(monkeypatch, name, lambda call: setattr(call, "weight", None))
        if not any(fails(case, tmp_path) for case in used.weights[name, kind]):
            idle.append((name, kind))
    assert idle == []


def test_every_command_under_by_has_a_case_that_fails_without_it(used, monkeypatch, tmp_path):
    names = [one.name for one in KNOWN if one.facts.takes.by]
    assert sorted(set(names) - used.by.keys()) == []
    monkeypatch.setattr(interpreter.Interpreter, "under_by", lambda *given: None)
    assert [name for name in names if not any(fails(one, tmp_path) for one in used.by[name])] == []


def test_every_command_has_a_case(used):
    others = (
        {one.name for one in KNOWN if one.facts.section == "refused"} | set(HARMLESS) | set(REFUSED)
    )
    assert sorted({one.name for one in KNOWN} - used.commands - others) == []


def test_every_function_has_a_case(used):
    assert sorted(set(function_names()) - used.functions) == []
    assert sorted(egen.FUNCTIONS.keys() - used.egen) == []
    assert sorted(STATISTICS.keys() - used.collapsed) == []
    assert sorted(macro_expansion.EXTENDED.keys() - used.macros) == []


# --- options and commands without effect ----------------------------------------------------

#: A call of each command that has options without effect, up to its options.
PLAIN = {
    "append": "append using f", "assert": "assert 1", "codebook": "codebook x",
    "collapse": "collapse x",
    "compress": "compress", "correlate": "correlate x y", "describe": "describe",
    "ds": "ds", "duplicates": "duplicates list", "histogram": "histogram y",
    "kdensity": "kdensity y", "logistic": "logistic h y", "logit": "logit h y", "mean": "mean x",
    "merge": "merge 1:1 id using f", "numlabel": "numlabel, add", "order": "order x",
    "probit": "probit h y", "recode": "recode g (1=2)",
    "regress": "regress x y", "save": "save q", "saveold": "saveold q", "sort": "sort g",
    "summarize": "summarize x", "tab1": "tab1 g", "tab2": "tab2 g h", "table": "table g",
    "tabstat": "tabstat x", "tabulate": "tabulate g", "tsset": "tsset id", "ttest": "ttest x == 1",
    "utest": "generate double x2 = x^2\nquietly regress id x x2\nutest x x2",
    "xtdescribe": "xtset id g\nxtdescribe", "xtset": "xtset id",
}  # fmt: skip
EFFECTLESS = [(one, option) for one in KNOWN for option in one.facts.options if option.effect]
SETTINGS = [option.name for one, option in EFFECTLESS if one.name == "set"]
WITHOUT_EFFECT = [(one, option) for one, option in EFFECTLESS if one.name != "set"]


def test_settings_without_effect_change_nothing():
    assert {"more", "matsize", "trace"} <= set(SETTINGS)
    lines = "".join(f"set {setting} off\nset {setting} 10\n" for setting in SETTINGS)
    assert Run(f"{lines}display 1", FRAMES["small"]).log == ["1"]


@pytest.mark.parametrize(
    ("command", "option"), WITHOUT_EFFECT, ids=lambda one: one.name
)  # fmt: skip
def test_options_without_effect_change_nothing_and_are_told(command, option):
    inside = "(1)" if option.argument else ""
    lines = f"preserve\nkeep id\nsave f\nrestore\n{PLAIN[command.name]}"
    before = Run(lines, FRAMES["people"])
    after = Run(f"{lines}, {option.name}{inside}", FRAMES["people"])
    told = f"(option {option.name} of {command.name} has no effect here)"
    rest = [line for line in after.log if line != told]
    assert rest == before.log
    assert (len(after.log) > len(rest)) == (option.effect == "layout")
    assert {name: after[name] for name in after.names} == {
        name: before[name] for name in before.names
    }
    assert {name: one.value for name, one in after.session.results.stored["r"].items()} == {
        name: one.value for name, one in before.session.results.stored["r"].items()
    }


HARMLESS = {
    "about": "", "adopath": "+ x", "beep": "", "cmdlog": "using x", "discard": "",
    "log": "using x.log",
    "mark": "m", "memory": "", "more": "", "note": "x: a", "notes": "", "pause": "on", "query": "",
    "sleep": "10", "sysdir": "", "timer": "on 1", "update": "", "version": "17", "which": "regress",
    "window": "x",
}  # fmt: skip
REFUSED = {
    "export": 'delimited using "q.csv"', "outsheet": "using q.csv", "outfile": "using q.txt",
    "xmlsave": "q", "ssc": "install x", "net": "install x", "adoupdate": "x",
}  # fmt: skip


def test_commands_without_effect_change_nothing(tmp_path):
    lines = "".join(f"{name} {more}\n" for name, more in HARMLESS.items())
    run = Run(f"{lines}display 1", FRAMES["small"], tmp_path)
    assert run.log == ["1"]
    assert run.names == ["id", "g", "x", "s"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [*NOT_RUN, *REFUSED])
def test_what_is_not_permitted_is_noted_and_the_run_goes_on(name, tmp_path):
    text = REFUSED.get(name) or ("list" if name in ("ereturn", "sreturn") else "x y")
    frame = FRAMES["people"]
    frame.write_parquet(tmp_path / "d.parquet")
    (tmp_path / "a.do").write_text(f"{name} {text}\ndisplay 7\n")
    result = run_do(tmp_path / "a.do", data=tmp_path / "d.parquet")
    assert result.error is None
    assert result.log.splitlines()[-2] == "7"
    assert result.verdict in ("fail", "review")
    assert result.findings
    assert {one.name for one in tmp_path.iterdir()} == {"a.do", "d.parquet"}
    shown = re.sub(r"(?m)^\. .*$", "", result.log)
    assert not set(map(str, frame["y"].to_list())) & set(shown.split())


@pytest.mark.parametrize(
    "line",
    ["xtreg x y, fe", "areg x y, absorb(g)", "margins", "bogus", "mata: 1", "capture reghdfe x y"],
)
def test_anything_else_stops_at_its_line(line):
    with pytest.raises(DiscreetError, match=r"line 3: not supported") as caught:
        Run(f"display 1\n\n{line}\ndisplay 2", FRAMES["people"])
    assert caught.value.line == 3


def test_an_option_that_is_not_known_stops_at_its_line():
    for command in KNOWN:
        if command.facts.takes.syntax != "own":
            case = Case(f"display 1\n{PLAIN.get(command.name, command.name + ' x')}, zzz",
                        {"unsupported": f"option zzz of {command.name}"}, "people")  # fmt: skip
            check(case)
