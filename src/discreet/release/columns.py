"""The columns of the data that a programme names: are they there, and of the right type?

In: a programme and the schema of its data. Out: every problem, placed at its key. Only
names and types of columns are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.errors import DiscreetError, Problem
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme, nearest
from discreet.release.variables import columns_of, used_variables

__all__ = ["check_columns"]


def check_columns(programme: Programme, schema: Mapping[str, Any]) -> list[Problem]:
    """Columns that the programme names and the data lack, or that are of the wrong type."""
    problems: list[Problem] = []
    for path, column in dict.fromkeys(_named_columns(programme)):
        if column not in schema:
            hint = nearest(column, list(schema))
            problems.append(programme.problem(path, f"the data have no column {column!r}", hint))
    problems += _confidential_columns(programme)
    problems += _unknown_variables(programme, schema)
    problems += _number_problems(programme, schema)
    problems += _filter_problems(programme, schema)
    return problems


def _named_columns(programme: Programme) -> Iterator[tuple[KeyPath, str]]:
    keys = programme.keys
    if keys.column is not None:
        yield ("keys", "column"), keys.column
    for column in keys.id or []:
        yield ("keys", "id"), column
    for name, table in programme.tables.items():
        for variable in used_variables(programme, name):
            yield from columns_of(programme, variable)
        if table.weight:
            yield programme.setting(name, "weight"), table.weight
        yield from _value_columns(programme, name)


def _value_columns(programme: Programme, table: str) -> Iterator[tuple[KeyPath, str]]:
    """The columns that are summed for the figures of a table."""
    for figure, entry in programme.tables[table].figures.items():
        if entry.of is not None:
            yield ("tables", table, "figures", figure, "of"), entry.of


def _confidential_columns(programme: Programme) -> Iterator[Problem]:
    """Keys and identifiers choose the noise; no table is made of them."""
    keys = programme.keys
    own = {name for name in (keys.column, *(keys.id or [])) if name is not None}
    what = "column {!r} holds keys or identifiers; no table is made of it"
    for name, table in programme.tables.items():
        for number, variable in enumerate(table.by or []):
            if variable in own and variable not in programme.variables:
                path: KeyPath = ("tables", name, "by", number)
                yield programme.problem(path, what.format(variable), "")
        for variable in used_variables(programme, name):
            for path, column in columns_of(programme, variable):
                if column in own:
                    yield programme.problem(path, what.format(column), "")
        if table.weight in own:
            yield programme.problem(
                programme.setting(name, "weight"), what.format(table.weight), ""
            )
        for path, column in _value_columns(programme, name):
            if column in own:
                yield programme.problem(path, what.format(column), "")


def _unknown_variables(programme: Programme, schema: Mapping[str, Any]) -> Iterator[Problem]:
    for name, table in programme.tables.items():
        for number, variable in enumerate(table.by or []):
            if variable in programme.variables or variable in schema:
                continue
            if any(skipped == ("variables", variable) for skipped in programme.skipped):
                continue
            hint = nearest(variable, [*programme.variables, *schema])
            what = f"there is neither a variable nor a column {variable!r}"
            yield programme.problem(("tables", name, "by", number), what, hint)


def _number_problems(programme: Programme, schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Weights, value columns and columns cut into intervals hold numbers."""
    wanted: dict[KeyPath, str] = {}
    for name, table in programme.tables.items():
        if table.weight:
            wanted[programme.setting(name, "weight")] = table.weight
        wanted |= dict(_value_columns(programme, name))
        for variable in used_variables(programme, name):
            entry = programme.variables[variable]
            if entry.intervals is not None:
                wanted[("variables", variable, "intervals")] = entry.column or variable
    for path, column in wanted.items():
        if column in schema and not schema[column].is_numeric():
            what = f"column {column!r} is not a number but {schema[column]}"
            yield programme.problem(path, what)


def _filter_problems(programme: Programme, schema: Mapping[str, Any]) -> list[Problem]:
    from discreet.tabulation.filters import parse_filter

    problems: list[Problem] = []
    filters: dict[KeyPath, str] = {}
    for name, table in programme.tables.items():
        filters[programme.setting(name, "where")] = table.where or ""
        for figure, entry in table.figures.items():
            filters["tables", name, "figures", figure, "where"] = entry.where or ""
    for path, text in filters.items():
        if not text.strip():
            continue
        try:
            parsed = parse_filter(text)
        except DiscreetError:
            continue  # reported by the checks of the programme
        try:
            parsed.check(schema)
        except DiscreetError as error:
            problems += [
                programme.problem(path, f"{problem.what}: {text}", problem.hint)
                for problem in error.problems
            ]
    return problems
