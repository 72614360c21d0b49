"""The columns of the data that a programme names: are they there, and of the right type?

In: a programme and the schemas of its sources. Out: every problem, placed at its key. Only
names and types of columns are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from discreet.errors import DiscreetError, Problem
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme, nearest
from discreet.release.source import Source, key_column
from discreet.release.suppression_entries import COUNT, RuleSetEntry
from discreet.release.variables import columns_of, used_variables

__all__ = ["check_columns"]

#: Name of column → its type.
Schema: TypeAlias = Mapping[str, Any]


def check_columns(programme: Programme, schemas: Mapping[str, Schema]) -> list[Problem]:
    """Columns that the programme names and the data lack, or that are of the wrong type.

    Args:
        programme: The programme.
        schemas: Name of source → name of column → type; a source that could not be opened
            is left out.
    """
    problems: list[Problem] = []
    for name, schema in schemas.items():
        source = programme.sources[name]
        tables = [table for table in programme.tables if programme.source_of(table) is source]
        for path, column in dict.fromkeys(_named_columns(programme, source, tables)):
            if column not in schema:
                hint = nearest(column, list(schema))
                what = f"{source.called} no column {column!r}"
                problems.append(programme.problem(path, what, hint))
        problems += _confidential_columns(programme, source, tables)
        problems += _unknown_variables(programme, schema, tables)
        problems += _number_problems(programme, schema, tables)
        problems += _filter_problems(programme, schema, tables)
        problems += _key_columns(programme, source, schemas)
    if len(schemas) == len(programme.sources):
        problems += _unknown_magnitudes(programme, schemas)
    return problems


def _named_columns(
    programme: Programme, source: Source, tables: Sequence[str]
) -> Iterator[tuple[KeyPath, str]]:
    keys = source.keys
    for key in ("column", "id", "by"):
        for column in _listed(getattr(keys, key)):
            yield (*source.keys_path, key), column
    for name in tables:
        table = programme.tables[name]
        for variable in used_variables(programme, name):
            yield from columns_of(programme, variable)
        if table.weight:
            yield programme.setting(name, "weight"), table.weight
        yield from _value_columns(programme, name)
        if table.suppressed and table.holdings:
            yield programme.setting(name, "holdings"), table.holdings


def _unknown_magnitudes(programme: Programme, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Noise for columns that no data have and no figure names."""
    named = {f.of for table in programme.tables.values() for f in table.figures.values()} - {None}
    if named - set(programme.magnitudes):
        return  # one of these is what was meant; reported with the figure
    columns = dict.fromkeys(column for schema in schemas.values() for column in schema)
    for column in programme.magnitudes:
        if column not in columns and column not in named:
            what = f"the data have no column {column!r}"
            yield programme.problem(("magnitudes", column), what, nearest(column, list(columns)))


def _listed(named: str | list[str] | None) -> list[str]:
    return [named] if isinstance(named, str) else named or []


def _value_columns(programme: Programme, table: str) -> Iterator[tuple[KeyPath, str]]:
    """The columns that are summed for the figures of a table."""
    for figure, entry in programme.tables[table].figures.items():
        if entry.of is not None:
            yield ("tables", table, "figures", figure, "of"), entry.of
    entry_of_table = programme.tables[table]
    if not entry_of_table.suppressed:
        return
    for value in entry_of_table.values:
        if value != COUNT:
            yield ("tables", table, "value"), value
    if entry_of_table.shadow is not None:
        yield ("tables", table, "shadow"), entry_of_table.shadow


def _key_columns(
    programme: Programme, source: Source, schemas: Mapping[str, Schema]
) -> Iterator[Problem]:
    """What keys that are made or inherited need of the records."""
    keys, schema = source.keys, schemas[source.name]
    if keys.column is not None or (keys.id is None and keys.inherit is None):
        return
    made = key_column(programme.sources, source.name)
    if made in schema:
        what = f"{source.called} a column {made!r} already"
        hint = f'use it as it is with column = "{made}", or rename it'
        way = "id" if keys.inherit is None else "inherit"
        yield programme.problem((*source.keys_path, way), what, hint)
    parts = schemas.get(keys.inherit or "")
    if parts is None:
        return
    other = programme.sources[keys.inherit or ""]
    for column in _listed(keys.by):
        path: KeyPath = (*source.keys_path, "by")
        if column not in parts:
            what = f"{other.called} no column {column!r}"
            yield programme.problem(path, what, nearest(column, list(parts)))
        elif column in schema and schema[column].is_integer() != parts[column].is_integer():
            what = f"{column!r} is {parts[column]} in the parts and {schema[column]} in the units"
            yield programme.problem(path, what, "convert both to whole numbers, or both to text")


def _confidential_columns(
    programme: Programme, source: Source, tables: Sequence[str]
) -> Iterator[Problem]:
    """Keys and identifiers choose the noise; no table is made of them."""
    keys = source.keys
    own = {*_listed(keys.column), *_listed(keys.id), *_listed(keys.by)}
    what = "column {!r} holds keys or identifiers; no table is made of it"
    for name in tables:
        table = programme.tables[name]
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


def _unknown_variables(
    programme: Programme, schema: Schema, tables: Sequence[str]
) -> Iterator[Problem]:
    for name in tables:
        table = programme.tables[name]
        for number, variable in enumerate(table.by or []):
            if variable in programme.variables or variable in schema:
                continue
            if any(skipped == ("variables", variable) for skipped in programme.skipped):
                continue
            hint = nearest(variable, [*programme.variables, *schema])
            what = f"there is neither a variable nor a column {variable!r}"
            yield programme.problem(("tables", name, "by", number), what, hint)


def _number_problems(
    programme: Programme, schema: Schema, tables: Sequence[str]
) -> Iterator[Problem]:
    """Weights, value columns and columns cut into intervals hold numbers."""
    wanted: dict[KeyPath, str] = {}
    for name in tables:
        table = programme.tables[name]
        if table.weight:
            wanted[programme.setting(name, "weight")] = table.weight
        for place, column in _value_columns(programme, name):
            wanted[*place, column] = column
        for variable in used_variables(programme, name):
            entry = programme.variables[variable]
            if entry.intervals is not None:
                wanted[("variables", variable, "intervals")] = entry.column or variable
    for path, column in wanted.items():
        if column in schema and not schema[column].is_numeric():
            what = f"column {column!r} is not a number but {schema[column]}"
            yield programme.problem(_stated(programme, path), what)


def _stated(programme: Programme, path: KeyPath) -> KeyPath:
    """The key that stands in the programme: a value may be one of several under its key."""
    return path if path in programme.index.lines else path[:-1]


def _filter_problems(programme: Programme, schema: Schema, tables: Sequence[str]) -> list[Problem]:
    from discreet.tabulation.filters import parse_filter

    problems: list[Problem] = []
    filters: dict[KeyPath, str] = {}
    for name in tables:
        table = programme.tables[name]
        filters[programme.setting(name, "where")] = table.where or ""
        for figure, entry in table.figures.items():
            filters["tables", name, "figures", figure, "where"] = entry.where or ""
        rules = programme.document.rules.get(table.rules or "") if table.suppressed else None
        for text in _request_filters(rules):
            filters["rules", table.rules or "", "request", text] = text
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
                programme.problem(_stated(programme, path), f"{problem.what}: {text}", problem.hint)
                for problem in error.problems
            ]
    return problems


def _request_filters(rules: RuleSetEntry | None) -> list[str]:
    """The filters of rules for those who asked for protection."""
    stated = None if rules is None else rules.request
    listed = stated if isinstance(stated, list) else [stated]
    found = [each.get("where") for each in listed if isinstance(each, dict)]
    return [text for text in found if isinstance(text, str)]
