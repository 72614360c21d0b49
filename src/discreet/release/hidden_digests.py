"""What determines the bytes of a table with hidden cells, to be part of its digest.

In: the inputs of a release. Out: plain values for a keyed digest. A pattern depends on all
tables that share cells, on marks, and on what was published before. SECRET before it is keyed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from discreet.release.digests import file_digest
from discreet.release.groups import groups, place_of
from discreet.release.inputs import Inputs
from discreet.release.variables import used_variables

__all__ = ["described_variable", "group_digests", "hidden_entries"]

#: What of a table changes no cell of other tables.
_OWN = {"official", "parts", "figures", "workbook", "title", "universe", "notes", "formats"}


def hidden_entries(inputs: Inputs, name: str, group: str) -> list[Any]:
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


def group_digests(inputs: Inputs) -> dict[str, str]:
    """Per table with hidden cells, a digest of what all tables of its group ask for."""
    programme = inputs.programme
    found: dict[str, str] = {}
    for group in groups(programme):
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
        {each: described_variable(inputs, each) for each in used_variables(programme, name)},
        programme.source_of(name).name if len(programme.sources) > 1 else "",
        place_of(programme, programme.source_of(name).name).partition("\n")[2],
    ]


def _value(inputs: Inputs, value: str) -> dict[str, Any]:
    stated = inputs.programme.document.values.get(value)
    return {} if stated is None else stated.model_dump()


def described_variable(inputs: Inputs, name: str) -> list[Any]:
    """An entry of [variables.*] and what its files hold."""
    entry = inputs.programme.variables[name].model_dump(exclude={"hierarchy", "codelist"})
    tree = inputs.trees.get(name)
    if tree is None:
        return [entry]
    fields = [
        getattr(tree, field.name) for field in dataclasses.fields(tree) if field.name != "labels"
    ]
    labels = {code: dict(texts) for code, texts in tree.labels.items()}
    plain = [dict(value) if isinstance(value, Mapping) else value for value in fields]
    return [entry, plain, labels]
