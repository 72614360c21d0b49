"""What determines the pattern of hidden cells of a table. SECRET before it is keyed.

In: the inputs of a release. Out: per table all that tables which share cells ask for, with
rules and marks, and what was published before: the pattern depends on all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.protection.protocol import Determinants
from discreet.release.inputs import Inputs
from discreet.release.methods.suppression.checks import linked_tables
from discreet.release.programme.universes import place_of
from discreet.release.programme.variables import used_variables
from discreet.release.state.memory import file_digest

#: What of a table changes no cell of other tables.
_OWN = {"official", "parts", "figures", "workbook", "title", "universe", "notes", "formats"}


def determinants_of(inputs: Inputs, tables: Sequence[str]) -> Mapping[str, Determinants]:
    """Per table with hidden cells: its group, rules, marks, the past.

    Args:
        inputs: The inputs of the release.
        tables: The tables.
    """
    group = _group_digests(inputs, tables)
    return {
        name: Determinants(shared={}, own=_entries(inputs, name, group[name]), whole=True)
        for name in tables
    }


def _entries(inputs: Inputs, name: str, group: str) -> list[Any]:
    """Everything that concerns a table with hidden cells: its group, rules, marks, the past.

    Args:
        inputs: The inputs of the release.
        name: Name of the table.
        group: The digest of its group.
    """
    programme = inputs.programme
    entry = programme.tables[name]
    return [
        entry.model_dump(include={"title", "universe", "notes", "formats", "complete"}),
        programme.suppression.model_dump(exclude={"earlier"}),
        [before.entry for before in inputs.earlier],
        group,
        {value: _value(inputs, value) for value in entry.values},
    ]


def _group_digests(inputs: Inputs, tables: Sequence[str]) -> dict[str, str]:
    """Per table with hidden cells, a digest of what all tables of its group ask for."""
    programme = inputs.programme
    found: dict[str, str] = {}
    for group in linked_tables(programme, tables):
        key = inputs.release_keys[programme.source_of(group[0]).name]
        digest = key.digest({name: _member(inputs, name) for name in group})
        found |= dict.fromkeys(group, digest)
    return found


def _member(inputs: Inputs, name: str) -> list[Any]:
    """What a table of the group asks for."""
    programme = inputs.programme
    entry = programme.tables[name]
    files = [programme.file(mark.file) for mark in entry.marks if mark.file is not None]
    rules = programme.document.rules.get(entry.rules or "")
    return [
        entry.model_dump(exclude={*_OWN, "complete", "source"}),
        [file_digest(path) for path in files],
        None if rules is None else rules.model_dump(),
        {value: _value(inputs, value).get("decimals", 0) for value in entry.values},
        {each: inputs.described_variable(each) for each in used_variables(programme, name)},
        programme.source_of(name).name if len(programme.sources) > 1 else "",
        place_of(programme, programme.source_of(name).name).partition("\n")[2],
    ]


def _value(inputs: Inputs, value: str) -> dict[str, Any]:
    stated = inputs.programme.document.values.get(value)
    return {} if stated is None else stated.model_dump()
