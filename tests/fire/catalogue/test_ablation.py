"""Something is taken out of the catalogue: then it is not read at all, or nothing more is shown.

Each field of each row is set to each other value that it may have, each name, option, pattern
and rule is taken out. Where that is not an error by itself, programs run, are rewritten, and
their logs are cleaned: whatever was withheld, refused or reviewed before, must be so now.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from discreet_fire.catalogue import commands, execution
from discreet_fire.catalogue.commands import CommandTable, read_commands
from discreet_fire.catalogue.execution import CommandFacts, execution_rows, read_rows
from discreet_fire.catalogue.facts import check_facts, leaves
from discreet_fire.catalogue.policy import (
    Policy,
    PolicyTables,
    _PolicyReader,
    checked,
)
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.runners.builtin import interpreter, registry
from tests.fire.flow.test_following import REVIEWED, SMUGGLED, STOPPED
from tests.fire.runners.builtin.test_run_attacks import PLAIN, PROGRAMS
from tests.helpers.ablated_catalogue import Ablation, document, each_told, opened, told
from tests.helpers.run_data import Run

COMMANDS = document("commands.toml")
EXECUTION = document("execution.toml")
POLICY = document("policy.toml")
PARTS = {"reading": commands.ReadingFacts, "flow": commands.FlowFacts} | {
    "rewriting": commands.RewritingFacts
}


def every(found: list[Any], step: int) -> list[Any]:
    """All of them for the long tests, and one of some for each change."""
    long = pytest.mark.exhaustive
    return [
        one if at % step == 0 else pytest.param(one, marks=long) for at, one in enumerate(found)
    ]


# --- fields with a choice of values ------------------------------------------------------------


def other_values(kind: Any, value: Any) -> list[Any]:
    """What else a field may be."""
    choices = (True, False) if kind is bool else get_args(kind)
    return [one for one in choices if type(one) is type(value) and one != value]


def fields_of_commands() -> Iterator[Ablation]:
    """Each field of each class, and each class of each row."""
    for part, of in PARTS.items():
        for name, fields in COMMANDS[part].items():
            for key, kind in get_type_hints(of).items():
                for value in other_values(kind, fields[key]):
                    yield Ablation("commands.toml", (part, name, key), value)
    logs = get_args(get_type_hints(commands.CatalogueRow)["log"])
    for place in [("plain",), *(("rows", at) for at in range(len(COMMANDS["rows"])))]:
        row = COMMANDS["plain"] if place == ("plain",) else COMMANDS["rows"][place[1]]
        for part in ("reading", "flow", "rewriting", "log"):
            for value in logs if part == "log" else COMMANDS[part]:
                if value != row[part]:
                    yield Ablation("commands.toml", (*place, part), value)


def fields_of_execution() -> Iterator[Ablation]:
    """Each field of each row, and of each kind."""
    hints = get_type_hints(CommandFacts)
    kinds = [("kind", name) for name in EXECUTION["kind"]]
    for place in [*kinds, *(("command", at) for at in range(len(EXECUTION["command"])))]:
        row = EXECUTION[place[0]][place[1]]
        for part, fields in row.items():
            if part == "unseen":
                for effect in fields if fields != ["data"] else ():
                    less = [one for one in fields if one != effect] or ["nothing"]
                    if less != fields:
                        yield Ablation("execution.toml", (*place, part), less)
            if not isinstance(fields, dict):
                continue
            for key, kind in get_type_hints(hints[part]).items():
                for value in other_values(kind, fields[key]):
                    if kind is not str:
                        yield Ablation("execution.toml", (*place, part, key), value)


def read_anew(ablation: Ablation) -> object:
    """What the catalogue would be."""
    if ablation.file == "commands.toml":
        return read_commands(ablation.done(copy.deepcopy(COMMANDS)))
    changed = ablation.done(copy.deepcopy(EXECUTION))
    facts = changed.pop("facts")
    rows = read_rows(changed)
    check_facts(leaves(rows), facts)
    return rows


FIELDS = [*fields_of_commands(), *fields_of_execution()]


@pytest.mark.parametrize("start", every(list(range(0, 400, 20)), 5))
def test_a_field_of_another_value_is_an_error(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for ablation in FIELDS[start::400]:
        try:
            table = read_anew(ablation)
        except ValueError:
            continue
        # What no list tells again stands in the policy.
        assert isinstance(table, CommandTable), ablation.title
        with monkeypatch.context() as patch:
            patch.setattr(commands, "command_table", lambda table=table: table)
            patch.setattr(commands, "_alike", commands._alike.__wrapped__)
            with pytest.raises(ValueError):
                checked(Policy.default()._tables)


# --- what a row of the runner names -------------------------------------------------------------


def taken_from(row: CommandFacts) -> Iterator[CommandFacts]:
    """A row without one option, its weights, its statistic, or results that are not stored."""
    for option in row.options:
        rest = tuple(one for one in row.options if one is not option)
        yield dataclasses.replace(row, options=rest)
    for part, key in (("takes", "weights"), ("shows", "statistic"), ("stores", "unstored")):
        fields = getattr(row, part)
        if getattr(fields, key):
            yield dataclasses.replace(row, **{part: dataclasses.replace(fields, **{key: ""})})


FIGURE = re.compile(r"\d[\d.,]*")
#: Lines that use options, weights and results with a person alone in his club.
OWN = [
    "NAME wage hours if club == 1",
    "NAME wage [fweight=sex] if club == 1",
    "NAME club, missing nolabel",
    "NAME wage if pid == 17\ndisplay r(max)\ndisplay r(min)\ndisplay r(N)",
    "NAME wage, by(club)\nreturn list",
]


def run_log(text: str) -> list[str]:
    """The log of a program as far as it comes."""
    log: list[str] = []
    session = Run("", PLAIN, entity="pid")
    try:
        session.more(text)
    except Exception as error:
        log = [f"stopped: {type(error).__name__}"]
    return session.log + log


def with_command(name: str, least: int) -> list[str]:
    """The shortest attacks that use a command, and lines of our own."""
    word = re.compile(rf"(?<!\w){re.escape(name)}\b")
    found = sorted((text for text in PROGRAMS if word.search(text)), key=len)[:least]
    return found + [line.replace("NAME", name) for line in OWN]


@pytest.mark.parametrize(
    "name", every(sorted(one for one, row in execution_rows().items() if [*taken_from(row)]), 12)
)
def test_a_program_shows_no_more_without_a_part_of_a_row(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = dict(execution_rows())
    known = registry.find(name)
    assert known is not None
    programs = with_command(name, 4)
    before = [run_log(text) for text in programs]
    for row in taken_from(rows[name]):
        changed = {**rows, name: row}
        monkeypatch.setattr(execution, "execution_rows", lambda changed=changed: changed)
        monkeypatch.setitem(registry._KNOWN, name, registry.Command(row, known.run))
        for text, log in zip(programs, before, strict=True):
            shown = Counter(figure for line in log for figure in FIGURE.findall(line))
            after = run_log(text)
            more = Counter(figure for line in after for figure in FIGURE.findall(line)) - shown
            assert not more, (row, text, after)


def test_a_command_without_a_row_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in sorted(registry._KNOWN)[::10]:
        with monkeypatch.context() as patch:
            patch.delitem(registry._KNOWN, name)
            patch.setattr(interpreter, "find", lambda word: registry._KNOWN.get(word))
            assert run_log(f"{name} wage")[-1].startswith("stopped")


# --- the policy --------------------------------------------------------------------------------


def groups_less() -> Iterator[tuple[Ablation, str]]:
    """Each name, action and reason of the groups taken out, and a program that it is about."""
    groups = [
        (kind, at, one) for kind in ("group", "option") for at, one in enumerate(POLICY[kind])
    ]
    for kind, at, group in groups:
        for key in ("commands", "options"):
            for name in group.get(key, ()):
                words = f"{name} x\n{name}: list x\n{name}\n{name} x, {name}(1)\n"
                less = [one for one in group[key] if one != name]
                yield Ablation("policy.toml", (kind, at, key), less), words.lower()
        for key, values in CHANGES.items():
            for value in values if key in group else ():
                if value != group[key]:
                    yield Ablation("policy.toml", (kind, at, key), value), ""


CHANGES = {"action": ["allowed", "review", "refused"], "reason": [None], "safe": [None]}


def lists_less() -> Iterator[tuple[Ablation, str]]:
    """Each name of the other lists taken out, and a program that it is about."""
    lists = {("stored", kind): rules for kind, rules in POLICY["stored"].items()}
    for way, keys in {
        **lists,
        **{(one,): POLICY[one] for one in ("prefixes", "roles", "safe")},
    }.items():
        for key, names in keys.items():
            for name in names if isinstance(names, list) else ():
                less = [one for one in names if one != name]
                text = f"display {way[-1]}({name})\nbayes: regress y x\n{name}: regress y x\n"
                yield (
                    Ablation("policy.toml", (*way, key), less),
                    f"{text}{name.lower()} x[1] r(max)\n",
                )
            if key == "default":
                yield Ablation("policy.toml", (*way, key), None), f"display {way[-1]}(nosuch)\n"


LESS = [*groups_less(), *lists_less()]


@pytest.mark.parametrize("start", every(list(range(0, 40)), 40))
def test_a_rule_less_is_an_error_or_opens_nothing(start: int) -> None:
    known = Policy.default()
    for ablation, text in LESS[:: len(LESS) // 60] if start == 0 else LESS[start::40]:
        reader = _PolicyReader(PolicyTables(), "policy.toml")
        reader.read(ablation.done(copy.deepcopy(POLICY)))
        if reader.problems:
            continue
        try:
            policy = Policy(checked(reader.tables))
        except ValueError:
            continue
        before, after = rewrite(text, known), rewrite(text, policy)
        assert len(after.findings) >= len(before.findings), ablation.title
        assert after.text.count("FDZ:") >= before.text.count("FDZ:"), ablation.title


# --- names, forms of lines, other words ---------------------------------------------------------

LOGS = [
    ". fdzsummarize wage\n    Variable |        Obs        Mean    Std. Dev.\n"
    "        wage |         2      92017           1\n"
    "        wage |       120      2850.5      700\n"
    "          5% |     92,017\n",
    ". fdztabulate club\n                     |      Freq.     Percent\n"
    "               Klub 1 |          1        0.83\n"
    "               Klub 2 |        119       99.17\n",
    ". list wage\n     17. |  92017 |\n. return list\nr(max) = 92017\n. type d.txt\n92017\n",
    ". fdzxtsum wage\nVariable         |      Mean   Std. Dev. |     Observations\n"
    "wage     overall |  92017     1.0 |     N =         2\n",
]


def other_parts() -> Iterator[Ablation]:
    """Other words, forms of lines, and the shortest forms of names."""
    for word in COMMANDS["also"]:
        yield Ablation("commands.toml", ("also", word), None)
    for name, lines in COMMANDS["forms"].items():
        for at in range(len(lines)):
            less = [one for number, one in enumerate(lines) if number != at]
            yield Ablation("commands.toml", ("forms", name), less)
    for at, row in enumerate(COMMANDS["rows"]):
        longer = " ".join(name.upper() if row["origin"] == "stata" else name
                          for name in row["names"].split())  # fmt: skip
        if longer != row["names"] and row["origin"] == "stata":
            yield Ablation("commands.toml", ("rows", at, "names"), longer)
    for origin in ("stata", "users", "rare"):
        yield Ablation("commands.toml", (origin,), COMMANDS[origin].partition(" ")[2])
        yield Ablation("commands.toml", (origin,), "")


OTHER = list(other_parts())


def programs_with_words() -> list[str]:
    """Programs that were refused or reviewed, and one for each word that stands for a command."""
    words = [
        *COMMANDS["also"],
        *(name for row in COMMANDS["rows"] for name in row["names"].split()),
    ]
    short = sorted({re.sub(r"(?<=[A-Z])[a-z]+$", "", word).lower() for word in words})
    own = [f"{word} x r(max)\n{word}: list x\n{word} {{\nlist x\n}}\n" for word in short]
    return [*STOPPED, *REVIEWED, *SMUGGLED, *own]


@pytest.mark.parametrize(
    "some", [OTHER[:: len(OTHER) // 8], pytest.param(OTHER, marks=pytest.mark.exhaustive)],
    ids=["some", "all"],
)  # fmt: skip
def test_names_and_forms_less_open_nothing(some: list[Ablation]) -> None:
    programs = programs_with_words()
    before = told(programs, LOGS)
    assert not isinstance(before, str)
    for ablation, after in zip(some, each_told(some, programs, LOGS), strict=True):
        if isinstance(after, str):
            continue
        for text, one, other in zip([*programs, *LOGS], before, after, strict=True):
            assert not opened(one, other), (ablation.title, text)


def test_the_same_catalogue_says_the_same_in_a_process_of_its_own() -> None:
    programs = programs_with_words()
    assert next(each_told([None], programs, LOGS)) == told(programs, LOGS)
