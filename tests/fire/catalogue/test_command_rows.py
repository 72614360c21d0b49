"""Every command stands in the catalogue once, with all that reading needs to know of it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from discreet_fire.catalogue.command_names import canonical
from discreet_fire.catalogue.commands import check_policy_names, command_table, read_commands
from discreet_fire.catalogue.execution import execution_rows
from discreet_fire.catalogue.policy import Policy
from discreet_fire.logs.rules import CleaningRules

DOCUMENT: dict[str, Any] = tomllib.loads(
    files("discreet_fire.catalogue").joinpath("commands.toml").read_text("utf-8")
)
TABLES = Policy.default()._tables
ROLES = {
    role: {name: "some" if words else "all" for name, words in table.items()}
    for role, table in (("shows", TABLES.shows), ("uses", TABLES.uses))
}
NAMES = {*TABLES.commands, *TABLES.words}


def parts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each row and class, and what holds them."""
    for kind in ("reading", "flow", "rewriting"):
        yield document[kind]
        yield from document[kind].values()
    yield from document["rows"]
    yield document["plain"]
    yield document


def test_a_field_that_is_left_out_is_an_error() -> None:
    document = copy.deepcopy(DOCUMENT)
    for part in list(parts(document)):
        for key in list(part):
            value = part.pop(key)
            with pytest.raises(ValueError):
                read_commands(document)
            part[key] = value
    assert read_commands(document) == command_table()


def test_a_field_that_is_not_understood_is_an_error() -> None:
    document = copy.deepcopy(DOCUMENT)
    for part in list(parts(document)):
        for key in [key for key, value in part.items() if isinstance(value, str | bool)]:
            if key in ("names", "stata", "users", "rare"):
                continue
            value, part[key] = part[key], "so so"
            with pytest.raises(ValueError):
                read_commands(document)
            part[key] = value


@pytest.mark.parametrize("at", range(len(DOCUMENT["rows"])))
def test_a_row_that_is_left_out_is_an_error(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    document = {**DOCUMENT, "rows": [*DOCUMENT["rows"]]}
    names = {name.lower() for name in document["rows"].pop(at)["names"].split()}
    document["also"] = {word: name for word, name in document["also"].items() if name not in names}

    def checked() -> None:
        table = read_commands(document)
        monkeypatch.setattr("discreet_fire.catalogue.commands.command_table", lambda: table)
        check_policy_names(NAMES, ROLES, TABLES.gather)

    with pytest.raises(ValueError):
        checked()


@pytest.mark.parametrize("origin", ["stata", "users", "rare"])
def test_a_name_that_is_left_out_is_an_error(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, *others = DOCUMENT[origin].split()
    table = read_commands({**DOCUMENT, origin: " ".join(others)})
    monkeypatch.setattr("discreet_fire.catalogue.commands.command_table", lambda: table)
    with pytest.raises(ValueError, match="differ in"):
        check_policy_names(NAMES, ROLES, TABLES.gather)


@pytest.mark.parametrize("name", ["regress", "levelsof", "DCdensity"])
def test_a_name_stands_once(name: str) -> None:
    for origin in ("stata", "users", "rare"):
        with pytest.raises(ValueError, match="two rows"):
            read_commands({**DOCUMENT, origin: f"{DOCUMENT[origin]} {name} {name}"})


@pytest.mark.parametrize("role", ["shows", "uses"])
def test_what_the_policy_leaves_out_is_an_error(role: str) -> None:
    for name in ROLES[role]:
        less = {one: how for one, how in ROLES[role].items() if one != name}
        with pytest.raises(ValueError, match=name):
            check_policy_names(NAMES, {**ROLES, role: less}, TABLES.gather)
    for name in TABLES.gather:
        with pytest.raises(ValueError):
            check_policy_names(NAMES, ROLES, TABLES.gather - {name})


def test_a_rule_that_the_policy_leaves_out_is_an_error() -> None:
    for name in sorted(NAMES)[::25]:
        with pytest.raises(ValueError, match="differ in"):
            check_policy_names(NAMES - {name}, ROLES, TABLES.gather)


def test_what_is_run_is_known() -> None:

    assert execution_rows().keys() - {"note"} <= command_table().rows.keys()
    assert canonical("note") == "notes"


def test_what_logs_withhold_is_known() -> None:
    names = {canonical(name) or name for name in CleaningRules.default().withheld}
    assert names <= command_table().rows.keys()
