"""The variables of a programme: their columns in the data, classifications and codes.

In: the entries of [variables.*], the schemas of the sources and, where a programme asks for
it, the codes found in the data. Out: spanning variables for `discreet.tabulation`, and every
problem, placed at its key. Only names and types of columns and the codes themselves are
looked at, never how often they occur.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from discreet.classifications import (
    MISSING,
    TOTAL,
    Classification,
    coarser_squares,
    levels_folded,
    natural_order,
)
from discreet.errors import DiscreetError, Problem, ProgrammeError, nearest
from discreet.files import toml_key, toml_value
from discreet.microdata import DatabaseTable, DistantCubes, StoredRecords, distant_records
from discreet.protection.problems import problems_of
from discreet.record_batches import collected
from discreet.release.programme.file import Programme, RecordSource, key_column
from discreet.release.programme.toml_lines import KeyPath

if TYPE_CHECKING:
    from discreet.tables import Dimension, Spanning

_FIXED = ("hierarchy", "codes", "intervals")


def used_variables(programme: Programme, table: str) -> list[str]:
    """The entries of [variables.*] that a table uses, alternatives included."""
    used: list[str] = []
    for name in programme.tables[table].by or []:
        if name in programme.variables:
            used += [name, *(programme.variables[name].alternatives or [])]
    return list(dict.fromkeys(name for name in used if name in programme.variables))


def total_codes(programme: Programme, fixed: Mapping[str, Classification]) -> dict[str, str]:
    """The total code of every variable that the programme knows, used by a table or not."""
    columns = [name for source in programme.sources for name in programme.spanning(source)]
    package = programme.document.parameters
    totals = {**((package and package.totals) or {}), **dict.fromkeys(columns, TOTAL)}
    totals |= {name: entry.total or TOTAL for name, entry in programme.variables.items()}
    totals |= {name: tree.total for name, tree in fixed.items()}
    alternatives = {
        name: totals[entry.alternatives[0]]
        for name, entry in programme.variables.items()
        if entry.alternatives
    }
    return totals | alternatives


def rule_where_known(text: str | None, names: Collection[str]) -> str:
    """A statistic's rule for official figures; empty where it names variables nobody knows.

    Without the rule all cells get noise. Taken to be at its total, a variable that merely has
    another name would publish the true values of all cells.

    >>> rule_where_known("sex == 'Total'", ["sex"]), rule_where_known("sex == 'Total'", ["gender"])
    ("sex == 'Total'", '')
    """
    from discreet.microdata import parse_filter

    stated = (text or "").strip()
    if not stated:
        return ""
    named = {name.removesuffix(".level") for name in parse_filter(stated).columns}
    return stated if named <= set(names) else ""


def official_rule(
    programme: Programme, table: str, totals: Mapping[str, str], text: str
) -> str | None:
    """The rule for official figures, as it holds in one table.

    A variable that the table lacks counts as at its total. Where the table has another
    variable over the same column (age in other groups), that holds at its total only.
    """
    from discreet.microdata import parse_filter

    if not text:
        return None
    own = programme.tables[table].by or []
    named = {name.removesuffix(".level") for name in parse_filter(text).columns} - set(own)
    hidden = {column for name in named for column in programme.columns_behind(name)}
    tied = [name for name in own if hidden & programme.columns_behind(name)]
    conditions = [f"`{name}` == {totals[name]!r}" for name in tied]
    return " and ".join([f"({text})", *conditions]) if conditions else text


def fixed_classifications(
    programme: Programme,
) -> tuple[dict[str, Classification], list[Problem]]:
    """Classifications that need no data, and problems of the others."""
    trees: dict[str, Classification] = {}
    problems: list[Problem] = []
    for name, entry in programme.variables.items():
        kinds = entry.kinds
        if len(kinds) != 1 or kinds[0] not in _FIXED:
            continue
        path: KeyPath = ("variables", name, kinds[0])
        if kinds[0] == "hierarchy" and not programme.file(entry.hierarchy or "").is_file():
            continue  # reported by the checks of files
        total: dict[str, Any] = {} if entry.total is None else {"total": entry.total}
        try:
            if entry.hierarchy is not None:
                tree = _hierarchy(programme, name)
                if entry.level is not None:
                    path = ("variables", name, "level")
                    tree = levels_folded(tree, _depth(tree, entry.level))[0]
            elif (bounds := entry.intervals) is not None:
                coarser = entry.coarser or ()
                tree = Classification.from_intervals(name, bounds=bounds, parents=coarser, **total)
            else:
                tree = Classification.flat(name, entry.codes or [], **total)
            trees[name] = _described(programme, name, tree)
        except DiscreetError as error:
            problems += problems_of(error, programme, path)
    return trees, problems


def _hierarchy(programme: Programme, name: str) -> Classification:
    """The classification of a hierarchy file, with all its levels."""
    entry = programme.variables[name]
    total: dict[str, Any] = {} if entry.total is None else {"total": entry.total}
    codelist = programme.file(entry.codelist) if entry.codelist else None
    place = programme.file(entry.hierarchy or "")
    return Classification.read(place, name=name, codelist=codelist, **total)


def _depth(tree: Classification, level: str | int) -> int:
    """The number of a level, given by name or number from 1."""
    names = tree.level_names
    if level in names:
        return names.index(str(level)) + 1
    if isinstance(level, int) and level <= tree.depth:
        return level
    hint = f"known: {', '.join([*names, *map(str, range(1, tree.depth + 1))])}"
    message = f"the hierarchy has no level {level!r}"
    raise ProgrammeError(message, code="level", where=tree.name, hint=hint)


def with_coarser_column(records: Any, programme: Programme, name: str) -> Any:
    """Records with the codes of a variable at the finest level that its tables show."""
    import narwhals as nw
    import polars as pl

    from discreet.tables import code_texts

    entry = programme.variables[name]
    coarser = entry.coarser_column(name)
    column = programme.stated_column(name)
    if coarser is None or column not in records.collect_schema():
        return records  # the checks of columns report one that is missing
    frame = nw.to_native(records)
    if not isinstance(frame, pl.LazyFrame | pl.DataFrame):
        message = f"level of {name} cannot be computed in a database"
        hint = f"add a column with codes of level {entry.level!r} to the records; remove level"
        raise ProgrammeError(message, code="level", where=name, hint=hint)
    if coarser in records.collect_schema():
        message = f"the data have a column {coarser!r} already"
        raise ProgrammeError(message, code="level", where=name, hint="rename it")
    code_of: Mapping[str, str] = {}
    if entry.hierarchy is not None:
        tree = _hierarchy(programme, name)
        code_of = levels_folded(tree, _depth(tree, entry.level or 1))[1]

    def shortened(series: pl.Series) -> pl.Series:
        codes = code_texts(series, column)
        if entry.prefixes is not None:
            return codes.str.slice(0, entry.prefixes[-1])
        if entry.squares is not None:
            return codes.replace(coarser_squares(codes.drop_nulls().unique(), entry.squares[-1]))
        return codes.replace(dict(code_of))

    made = pl.col(column).map_batches(shortened, return_dtype=pl.String, is_elementwise=True)
    return nw.from_native(frame.with_columns(made.alias(coarser)))


def spanning_variables(
    programme: Programme, names: Sequence[str], fixed: Mapping[str, Classification], records: Any
) -> dict[str, Spanning]:
    """For each name in a table's `by` what spans the table."""
    entries = {name: programme.variables.get(name) for name in dict.fromkeys(names)}
    wanted = [
        other
        for name, entry in entries.items()
        if entry is not None
        for other in entry.alternatives or [name]
        if other not in fixed
    ]
    trees = {**fixed, **_found(programme, wanted, records)}
    spanning: dict[str, Spanning] = {}
    for name, entry in entries.items():
        if entry is None:
            spanning[name] = name
        elif entry.alternatives:
            others = [trees[other] for other in entry.alternatives]
            # Breakdowns that do not nest; the first carries the name of the variable.
            title = entry.label or others[0].titles
            first = others[0].replace(name=name, column=others[0].source, titles=title)
            spanning[name] = [first, *others[1:]]
        else:
            spanning[name] = trees[name]
    return spanning


def found_classifications(
    programme: Programme, names: Sequence[str], records: Any
) -> dict[str, Classification]:
    """Flat classifications of columns without an entry, over the values of all records.

    Tables that are made of several counts need the same codes in each of them.
    """
    columns = [name for name in dict.fromkeys(names) if name not in programme.variables]
    codes = found_codes(records, columns) if columns else {}
    return {name: Classification.flat(name, codes[name]).replace(found="all") for name in columns}


def _found(programme: Programme, names: Sequence[str], records: Any) -> dict[str, Classification]:
    """The classifications that the data decide; one pass gives the codes of all columns."""
    entries = {name: programme.variables[name] for name in dict.fromkeys(names)}
    flat = {
        name: entry.merged_column(name) or entry.coarser_column(name) or entry.column or name
        for name, entry in entries.items()
        if entry.levels is None
    }
    codes = found_codes(records, list(dict.fromkeys(flat.values())))
    trees = {}
    for name, entry in entries.items():
        total = TOTAL if entry.total is None else entry.total
        if entry.levels is not None:
            found = Classification.from_levels(
                records, columns=entry.levels, name=name, total=total
            )
        elif entry.prefixes is not None:
            found = Classification.from_prefixes(
                name, codes[flat[name]], lengths=entry.prefixes, total=total
            )
        elif entry.at_least is not None:
            own = codes[flat[name]]
            from discreet.pretabular import MergedSquares

            merged = MergedSquares(
                sizes=tuple(entry.squares or ()),
                areas=None if entry.within is None else (),
                of_true_counts=False,
                tiers=(),
            )
            found = merged.classification(name, own, total=total)
        elif entry.squares is not None:
            own = codes[flat[name]]
            # Codes are published in the form that the data have.
            short = not any(code.startswith("CRS") for code in own)
            found = Classification.from_squares(
                name, own, sizes=entry.squares, total=total, short=short
            )
        else:
            found = Classification.flat(name, codes[flat[name]], total=total)
        # What the data alone brought in is not listed unless it has a published figure.
        trees[name] = _described(programme, name, found.replace(found="all"))
    return trees


def found_codes(records: Any, columns: Sequence[str]) -> dict[str, list[str]]:
    """The distinct codes of columns, in their natural order."""
    import narwhals as nw
    import polars as pl

    from discreet.tables import code_texts

    distant = distant_records(records)
    if isinstance(distant, DistantCubes):
        from discreet.tabulation import codes_in_cubes

        return {name: natural_order(codes_in_cubes(distant, name)) for name in columns}
    if isinstance(distant, StoredRecords):
        listed = [distant.values(name) for name in columns]
    elif isinstance(distant, DatabaseTable):
        listed = [distant.distinct(name) for name in columns]
    else:
        wrapped = nw.from_native(records, pass_through=False)
        plans = [wrapped.select(nw.col(column)).unique() for column in columns]
        natives = [plan.to_native() for plan in plans]
        if natives and all(isinstance(native, pl.LazyFrame) for native in natives):
            frames = pl.collect_all(natives, engine="streaming")
        else:
            frames = [collected(plan) for plan in plans]
        listed = [frame.to_series() for frame in frames]
    return {
        name: natural_order(code_texts(values, name).drop_nulls().unique().to_list())
        for name, values in zip(columns, listed, strict=True)
    }


def _described(programme: Programme, name: str, tree: Classification) -> Classification:
    """The tree with the column, labels and titles that the programme gives it."""
    entry = programme.variables[name]
    missing = entry.missing or tree.missing or MISSING
    unknown = [code for code in entry.labels if code not in tree.index and code != missing]
    levels = [*tree.level_names, *map(str, range(1, tree.depth + 1))]
    problems = [
        Problem(f"labels contain the unknown code {code!r}", "", nearest(code, tree.codes))
        for code in unknown
    ]
    problems += [
        Problem(f"level_titles contain the unknown level {level!r}", "", nearest(level, levels))
        for level in entry.level_titles
        if level not in levels
    ]
    if problems:
        raise ProgrammeError(problems[0].what, code="labels", where=name, problems=problems)
    columns = entry.levels or []
    column = entry.merged_column(name) or entry.coarser_column(name) or entry.column
    column = column or (columns[-1] if columns else None) or tree.column or name
    return tree.replace(
        column=None if column == tree.name else column,
        labels={**tree.labels, **entry.labels},
        titles=entry.label or tree.titles,
        level_titles={**tree.level_titles, **entry.level_titles},
        missing=missing,
    )


#: Name of column → its type.
Schema: TypeAlias = Mapping[str, Any]


def check_columns(programme: Programme, schemas: Mapping[str, Schema]) -> list[Problem]:
    """Columns that the programme names and the data lack, or that are of the wrong type."""
    problems: list[Problem] = []
    for name, schema in schemas.items():
        source = programme.sources[name]
        tables = [table for table in programme.tables if programme.source_of(table) is source]
        problems += _column_problems(programme, source, schema, tables)
        problems += _filter_problems(programme, schema, tables)
        problems += _key_columns(programme, source, schemas)
    # Noise for columns that no data have and no figure names.
    named = {f.of for table in programme.tables.values() for f in table.figures.values()} - {None}
    columns = dict.fromkeys(column for schema in schemas.values() for column in schema)
    noisy = [] if len(schemas) < len(programme.sources) else list(programme.magnitudes)
    for column in noisy if named <= set(noisy) else ():  # else one of these is what was meant
        if column not in columns and column not in named:
            message, hint = f"the data have no column {column!r}", nearest(column, list(columns))
            problems.append(programme.problem(("magnitudes", column), message, hint))
    return problems


class _NamedColumn(NamedTuple):
    """A column that a programme names, where, and what for: numbers are summed, cut or weigh."""

    path: KeyPath
    column: str
    use: Literal["code", "number", "other", "variable"]  # the last: a variable without an entry


def _named_columns(programme: Programme, name: str) -> Iterator[_NamedColumn]:
    """The columns that a table needs."""
    from discreet.microdata import parse_filter

    table = programme.tables[name]
    for number, variable in enumerate(table.by or []):
        lost = ("variables", variable) in programme.skipped
        if variable not in programme.variables and not lost:
            yield _NamedColumn(("tables", name, "by", number), variable, "variable")
    for variable in used_variables(programme, name):
        for path, column in programme.columns_of(variable):
            yield _NamedColumn(path, column, "code")
            if programme.variables[variable].intervals is not None:
                yield _NamedColumn(("variables", variable, "intervals"), column, "number")
    if table.weight:
        yield _NamedColumn(programme.setting(name, "weight"), table.weight, "number")
    for figure, entry in table.figures.items():
        if entry.of is not None:
            yield _NamedColumn(("tables", name, "figures", figure, "of"), entry.of, "number")
    # The columns of variables of the official figures that span no table of the source: variables
    # of other records would count as at their total everywhere.
    official = set[str]()
    with suppress(DiscreetError):  # reported by the checks of tables; or no rule given
        official = set(parse_filter(table.official or "").columns)
    official = {column.removesuffix(".level") for column in official}
    official -= programme.spanning(programme.source_of(name).name)
    for column in set().union(*(programme.columns_behind(each) for each in official)):
        yield _NamedColumn(programme.setting(name, "official"), column, "other")
    own = programme.method(name)
    for place, column, numeric in own.columns(programme, name) if programme.understood(own) else ():
        yield _NamedColumn(place, column, "number" if numeric else "other")


def _column_problems(
    programme: Programme, source: RecordSource, schema: Schema, tables: Sequence[str]
) -> Iterator[Problem]:
    """Columns that are not there, tables of what chooses the noise, and texts to be summed."""
    keys = {key: getattr(source.keys, key) for key in ("column", "id", "by")}
    named = [
        _NamedColumn((*source.keys_path, key), column, "other")
        for key, columns in keys.items()
        for column in _listed(columns)
    ]
    confidential = {item.column for item in named}
    named += [item for table in tables for item in _named_columns(programme, table)]
    made = {entry.merged_column(name) for name, entry in programme.variables.items()}
    for path, column, use in dict.fromkeys(item for item in named if item.column not in made):
        if column in confidential and use != "other":
            message = f"column {column!r} contains keys or identifiers and cannot be used in tables"
            yield programme.problem(path, message, "use another column")
        if column in schema and use == "number" and not schema[column].is_numeric():
            message = f"column {column!r} is not a number but {schema[column]}"
            hint = "convert the column to numbers first"
            if str(schema[column]) == "String":
                hint = f'add types = {{ {toml_key(column)} = "number" }} to the source'
            yield programme.problem(path, message, hint)
        elif column not in schema and use == "variable":
            message = f"no variable or column {column!r}"
            yield programme.problem(path, message, nearest(column, [*programme.variables, *schema]))
        elif column not in schema and path[-1] != "intervals":
            if use == "code" and _has_other_codes(programme, schema, path):
                continue
            message = f"{source.called} no column {column!r}"
            yield programme.problem(path, message, nearest(column, list(schema)))


def _has_other_codes(programme: Programme, schema: Schema, path: KeyPath) -> bool:
    """Whether a variable cut at a level needs no such column: one problem names both columns.

    Stores and partial aggregates have the codes of the level alone; where the codes of the
    data are missing too, these are reported.
    """
    *columns, (last, coarser) = programme.columns_of(str(path[1]))
    if last[-1] != "level":
        return False
    return columns[-1][1] not in schema if path == last else coarser in schema


def _listed(named: str | list[str] | None) -> list[str]:
    return [named] if isinstance(named, str) else named or []


def _key_columns(
    programme: Programme, source: RecordSource, schemas: Mapping[str, Schema]
) -> Iterator[Problem]:
    """What keys that are made or inherited need of the records."""
    keys, schema = source.keys, schemas[source.name]
    entry = programme.document.sources.get(source.name)
    if entry is not None and (stated := entry.consists_of) is not None:
        for name in (source.name, stated.source):
            for column in stated.by if name in schemas else ():
                if column not in schemas[name]:
                    message = f"{programme.sources[name].called} no column {column!r}"
                    hint = nearest(column, list(schemas[name]))
                    yield programme.problem((*source.path, "consists_of", "by"), message, hint)
    if keys.column is not None or (keys.id is None and keys.inherit is None):
        return
    made = key_column(programme.sources, source.name)
    new = [made]
    if keys.unit is not None:
        from discreet.microdata import sum_column

        new.append(sum_column(made))
    for name in new:
        if name in schema:
            message = f"{source.called} a column {name!r} already"
            hint = f'use it with column = "{made}", or rename it'
            way = "id" if keys.inherit is None else "inherit"
            yield programme.problem((*source.keys_path, way), message, hint)
    parts = schemas.get(keys.inherit or "")
    if parts is None:
        return
    other = programme.sources[keys.inherit or ""]
    for column in _listed(keys.by):
        path: KeyPath = (*source.keys_path, "by")
        if column not in parts:
            message = f"{other.called} no column {column!r}"
            yield programme.problem(path, message, nearest(column, list(parts)))
        elif column in schema and schema[column].is_integer() != parts[column].is_integer():
            message = (
                f"{column!r} is {parts[column]} in the parts and {schema[column]} in the units"
            )
            yield programme.problem(path, message, "convert both to whole numbers, or both to text")


def _filter_problems(programme: Programme, schema: Schema, tables: Sequence[str]) -> list[Problem]:
    from discreet.microdata import parse_filter

    problems: list[Problem] = []
    filters: dict[KeyPath, str] = {}
    for name in tables:
        table = programme.tables[name]
        filters[programme.setting(name, "where")] = table.where or ""
        for figure, entry in table.figures.items():
            filters["tables", name, "figures", figure, "where"] = entry.where or ""
        own = programme.method(name)
        if programme.understood(own):
            filters |= dict(own.filters(programme, name))
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
            # A filter may be one of several under its key.
            place = path if path in programme.index.lines else path[:-1]
            problems += [
                programme.problem(place, f"{problem.what}: {text}", problem.hint)
                for problem in error.problems
            ]
    return problems


def check_codes(programme: Programme, trees: Mapping[str, Classification]) -> list[Problem]:
    """Every code and every level that a variable does not have."""
    problems = [*_other_totals(programme, trees)]
    for path, name, code in _named(programme):
        variable, level = name.removesuffix(".level"), name.endswith(".level")
        entry = programme.variables.get(variable)
        alternatives = entry.alternatives if entry is not None else None
        own = [trees[part] for part in alternatives or [variable] if part in trees]
        if len(own) < len(alternatives or [variable]) or (alternatives and level):
            continue  # the data decide
        known = [known for tree in own for known in (*tree.codes, tree.missing or MISSING)]
        if level:
            known = [*own[0].level_names, *map(str, range(1, own[0].depth + 1))]
        if code not in known:
            message = f"{variable} has no {'level' if level else 'code'} {code!r}"
            problems.append(programme.problem(path, message, nearest(code, known)))
    return problems


def _other_totals(programme: Programme, trees: Mapping[str, Classification]) -> Iterator[Problem]:
    """Alternatives whose total is not called as that of the first one: a table has one total."""
    totals = {name: entry.total or TOTAL for name, entry in programme.variables.items()}
    totals |= {name: tree.total for name, tree in trees.items()}
    for name, entry in programme.variables.items():
        others = [other for other in entry.alternatives or [] if other in totals]
        for number, other in enumerate(others):
            if totals[other] != totals[others[0]]:
                message = (
                    f"alternatives need the same total: {other!r} has {totals[other]!r}, "
                    f"{others[0]!r} has {totals[others[0]]!r}"
                )
                hint = (
                    f"add total = {toml_value(totals[others[0]])} to [variables.{toml_key(other)}]"
                )
                place: KeyPath = ("variables", name, "alternatives", number)
                yield programme.problem(place, message, hint)


def codes_at(dimension: Dimension, level: str) -> list[str]:
    """The codes of a level, by its name or its number from 1.

    Raises:
        ProgrammeError: If the variable has no such level.
    """
    codes = [
        code
        for tree in dimension.classifications
        for code, depth in zip(tree.codes, tree.levels.tolist(), strict=True)
        if depth and level in (str(depth), *tree.level_names[depth - 1 : depth])
    ]
    if not codes:
        message = f"{dimension.name} has no level {level!r}"
        raise ProgrammeError(message, code="programme", where=f"{dimension.name}.level")
    return [code for code in dict.fromkeys(codes) if code in dimension.index]


def _named(programme: Programme) -> Iterator[tuple[KeyPath, str, str]]:
    """Where a code or level is named, its variable, and it."""
    for name, table in programme.tables.items():
        named: list[tuple[KeyPath, Mapping[str, str]]] = [
            (("figures", figure, "base"), entry.base or {})
            for figure, entry in table.figures.items()
        ]
        named += [(("notes", at, "cells"), note.cells) for at, note in enumerate(table.notes)]
        for place, codes in named:
            for variable, code in codes.items():
                if variable.removesuffix(".level") in (table.by or []):
                    yield ("tables", name, *place, variable), variable, code
