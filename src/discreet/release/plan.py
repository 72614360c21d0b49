"""What a release will consist of: its files, and a digest per table.

In: the inputs of a release. Out: file names, and keyed digests of everything
that determines the bytes of a table, so that nothing is made twice. Public.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from discreet._version import __version__
from discreet.release.digests import ReleaseKey
from discreet.release.inputs import Inputs
from discreet.release.programme import Programme
from discreet.release.summary import MANIFEST
from discreet.release.variables import total_codes, used_variables

__all__ = [
    "Output",
    "outputs",
    "release_files",
    "report_files",
    "table_digests",
    "table_files",
]

_REPORT = "index"


class Output(NamedTuple):
    """One file of a release."""

    file: str
    kind: str
    language: str


def outputs(name: str, formats: Sequence[str], languages: Sequence[str]) -> list[Output]:
    """The files of a table: without a mark in the main language, else with it.

    >>> [output.file for output in outputs("T1", ["csv"], ["en", "de"])]
    ['T1.csv', 'T1.de.csv']
    """
    found = []
    for kind in formats:
        for language in languages:
            middle = "" if language == languages[0] else f".{language}"
            found.append(Output(f"{name}{middle}.{kind}", kind, language))
    return found


def table_files(programme: Programme, name: str) -> list[str]:
    """The files of one table."""
    formats = programme.tables[name].formats or []
    return [output.file for output in outputs(name, formats, programme.languages)]


def report_files(programme: Programme) -> list[str]:
    """The pages about the release, one per language."""
    return [output.file for output in outputs(_REPORT, ["html"], programme.languages)]


def release_files(programme: Programme) -> list[str]:
    """Everything that will stand in the release folder."""
    tables = [file for name in programme.tables for file in table_files(programme, name)]
    return [*tables, *report_files(programme), MANIFEST]


def table_digests(inputs: Inputs, key: ReleaseKey) -> dict[str, str]:
    """Per table, a digest of everything that determines its bytes."""
    programme = inputs.programme
    shared = {
        "version": __version__,
        "data": programme.data.model_dump(),
        "keys": [programme.keys.column, programme.keys.id, programme.keys.grid.size],
        "rules": programme.perturbation.model_dump(exclude={"table", "format"}),
        "perturbation_table": inputs.perturbation_table.digest(key.value),
        "languages": programme.languages,
        "date": programme.document.date,
    }
    totals = total_codes(programme, inputs.trees)
    digests = {}
    for name, entry in programme.tables.items():
        variables = {
            variable: _variable(inputs, variable) for variable in used_variables(programme, name)
        }
        digests[name] = key.digest(
            [shared, name, entry.model_dump(), variables, totals if entry.official else {}]
        )
    return digests


def _variable(inputs: Inputs, name: str) -> list[Any]:
    """An entry and what its files hold."""
    tree = inputs.trees.get(name)
    if tree is None:
        return [inputs.programme.variables[name].model_dump()]
    fields = [
        getattr(tree, field.name) for field in dataclasses.fields(tree) if field.name != "labels"
    ]
    labels = {code: dict(texts) for code, texts in tree.labels.items()}
    plain = [dict(value) if isinstance(value, Mapping) else value for value in fields]
    return [inputs.programme.variables[name].model_dump(), plain, labels]
