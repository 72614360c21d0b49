"""What a release will consist of: its files, and a digest per table.

In: the inputs of a release. Out: file names, and keyed digests of everything that determines
the bytes of a table, so that nothing is made twice. The pattern of hidden cells depends on
all tables that share cells, on marks, and on what was published before. Digests are public;
what goes into them is SECRET before it is keyed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from discreet._version import __version__
from discreet.release.programme.file import Programme
from discreet.release.programme.groups import groups, place_of
from discreet.release.programme.variables import total_codes, used_variables
from discreet.release.report.summary import MANIFEST
from discreet.release.run.inputs import Inputs
from discreet.release.state.memory import file_digest

__all__ = [
    "DECISIONS",
    "RELEASE",
    "SUPPRESSION",
    "WORKBOOK",
    "OutputFile",
    "about_files",
    "decision_files",
    "described_variable",
    "group_digests",
    "hidden_entries",
    "outputs",
    "quality_files",
    "release_files",
    "report_files",
    "suppression_files",
    "table_digests",
    "table_files",
    "workbook_files",
    "workbook_tables",
]

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


#: Under this name a release remembers what is said about it as a whole.
RELEASE = "release"

#: The file of decisions about table parts.
DECISIONS = "decisions.json"

#: The public report on hidden cells.
SUPPRESSION = "suppression.json"

#: What of a source is told elsewhere, or does not matter: names and places.
_NO_CONTENT = {"name", "source", "database", "keys", "official"}

#: Keys of tables with hidden cells.
_HIDING = ("protect", "rules", "holdings", "value", "shadow", "marks")

#: The format of workbooks.
WORKBOOK = "xlsx"

_REPORT = "index"
_QUALITY = "quality"

#: Counts up when a release remembers its tables in another way.
_FORMAT = 2


class OutputFile(NamedTuple):
    """One file of a release."""

    file: str
    kind: str
    language: str


def outputs(name: str, formats: Sequence[str], languages: Sequence[str]) -> list[OutputFile]:
    """The files of a table: without a mark in the main language, else with it.

    >>> [output.file for output in outputs("T1", ["csv"], ["en", "de"])]
    ['T1.csv', 'T1.de.csv']
    """
    from discreet.publication import suffix_of

    found = []
    for kind in formats:
        for language in languages:
            middle = "" if language == languages[0] else f".{language}"
            found.append(OutputFile(f"{name}{middle}{suffix_of(kind)}", kind, language))
    return found


def table_files(programme: Programme, name: str) -> list[str]:
    """The files of one table."""
    formats = programme.tables[name].formats or []
    return [output.file for output in outputs(name, formats, programme.languages)]


def report_files(programme: Programme) -> list[str]:
    """The pages about the release, one per language."""
    return [output.file for output in outputs(_REPORT, ["html"], programme.languages)]


def workbook_files(programme: Programme) -> list[str]:
    """The workbooks with all tables, one per language; none if none is asked for."""
    name = programme.document.workbook
    if name is None:
        return []
    found = outputs(name.removesuffix(f".{WORKBOOK}"), [WORKBOOK], programme.languages)
    return [output.file for output in found]


def workbook_tables(programme: Programme) -> list[str]:
    """The tables of the workbook: all that do not say otherwise."""
    if programme.document.workbook is None:
        return []
    return [name for name, entry in programme.tables.items() if entry.workbook is not False]


def quality_files(programme: Programme) -> list[str]:
    """The public report on quality: pages, and the same for programs."""
    if not programme.document.quality.enabled or not programme.noisy:
        return []
    pages = [output.file for output in outputs(_QUALITY, ["html"], programme.languages)]
    return [*pages, f"{_QUALITY}.json"]


def suppression_files(programme: Programme) -> list[str]:
    """The public report on hidden cells, if there are any."""
    return [SUPPRESSION] if programme.suppressed else []


def decision_files(inputs: Inputs) -> list[str]:
    """The list of decisions about table parts, if there are rules for them."""
    ruled = any(inputs.thresholds(name) is not None for name in inputs.programme.tables)
    return [DECISIONS] if ruled else []


def about_files(inputs: Inputs) -> list[str]:
    """Everything that is said about the release as a whole, but for the list of files."""
    programme = inputs.programme
    return [
        *report_files(programme),
        *workbook_files(programme),
        *decision_files(inputs),
        *quality_files(programme),
        *suppression_files(programme),
    ]


def release_files(inputs: Inputs) -> list[str]:
    """Everything that will stand in the release folder."""
    programme = inputs.programme
    tables = [file for name in programme.tables for file in table_files(programme, name)]
    return [*tables, *about_files(inputs), MANIFEST]


def table_digests(inputs: Inputs) -> dict[str, str]:
    """Per table, a digest of everything that determines its bytes.

    Where files are is left out: what they hold is part of the digests. Each is keyed with
    the data of its own source, so that new records of other units change nothing.
    """
    programme = inputs.programme
    totals = total_codes(programme, inputs.trees)
    found: dict[str, str] = {}
    groups = group_digests(inputs)
    for source, key in inputs.release_keys.items():
        shared: dict[str, Any] = {
            "format": _FORMAT,
            "version": __version__,
            "data": programme.sources[source].records.model_dump(exclude=_NO_CONTENT),
            "keys": _keys(inputs, source),
            "languages": programme.languages,
            "date": programme.document.date,
        }
        own = [name for name in programme.tables if programme.source_of(name).name == source]
        for name in own:
            if programme.tables[name].suppressed:
                found[name] = key.digest([shared, name, hidden_entries(inputs, name, groups[name])])
                continue
            parameters = inputs.parameters.digests(key.value)
            noise = {**shared, "counts": parameters["perturbation"]}
            found[name] = key.digest([noise, name, _table(inputs, name, parameters, totals)])
    return {name: found[name] for name in programme.tables}


def _keys(inputs: Inputs, source: str) -> list[Any]:
    """How the records of a source get their keys."""
    keys = inputs.programme.sources[source].keys
    if keys.inherit is None:
        return [keys.column, keys.id, inputs.grid.size]
    return [keys.by, keys.orphans or "error", _keys(inputs, keys.inherit)]


def _table(
    inputs: Inputs, name: str, parameters: Mapping[str, str], totals: Mapping[str, str]
) -> list[Any]:
    """Everything that concerns one table and not all of them."""
    programme, official = inputs.programme, inputs.official(name)
    entry = programme.tables[name]
    columns = {figure.of for figure in entry.figures.values() if figure.of is not None}
    return [
        entry.model_dump(exclude={"official", "parts", "source", "workbook", *_HIDING}),
        {name: described_variable(inputs, name) for name in used_variables(programme, name)},
        [official, totals] if official else [],
        parameters["figures"] if entry.figures else "",
        {column: parameters[f"magnitudes.{column}"] for column in sorted(columns)},
        [inputs.thresholds(name), inputs.held_against_all(name)],
    ]
