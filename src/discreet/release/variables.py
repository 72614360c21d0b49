"""The classifications of a programme's variables.

In: the entries of [variables.*] and, where they ask for it, the codes found in
the data. Out: what `discreet.tabulation` takes as spanning variables. Only
codes are looked at, never how often they occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.classifications import MISSING, TOTAL, Classification, natural_order
from discreet.errors import DiscreetError, Problem, ProgrammeError
from discreet.release.document import VariableEntry
from discreet.release.finding import problems_of
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme, nearest

if TYPE_CHECKING:
    from discreet.tables.cells import Spanning

__all__ = [
    "columns_of",
    "fixed_classifications",
    "found_classifications",
    "official_rule",
    "spanning_variables",
    "total_codes",
    "used_variables",
]

_FIXED = ("hierarchy", "codes", "intervals")


def used_variables(programme: Programme, table: str) -> list[str]:
    """The entries of [variables.*] that a table uses, alternatives included."""
    used: list[str] = []
    for name in programme.tables[table].by or []:
        if name in programme.variables:
            used += [name, *(programme.variables[name].alternatives or [])]
    return list(dict.fromkeys(name for name in used if name in programme.variables))


def total_codes(programme: Programme, fixed: Mapping[str, Classification]) -> dict[str, str]:
    """The total code of every variable that the programme knows, used by a table or not.

    Args:
        programme: The programme.
        fixed: The classifications that need no data; a file may state a total.
    """
    columns = (name for table in programme.tables.values() for name in table.by or [])
    totals = dict.fromkeys(columns, TOTAL)
    totals |= {name: entry.total or TOTAL for name, entry in programme.variables.items()}
    totals |= {name: tree.total for name, tree in fixed.items()}
    alternatives = {
        name: totals[entry.alternatives[0]]
        for name, entry in programme.variables.items()
        if entry.alternatives
    }
    return totals | alternatives


def official_rule(
    programme: Programme, table: str, totals: Mapping[str, str], text: str
) -> str | None:
    """The rule for official figures, as it holds in one table.

    A variable that the table lacks counts as at its total. Where the table has another
    variable over the same column (age in other groups), that holds at its total only.

    Args:
        programme: The programme.
        table: Name of the table.
        totals: The total code of every variable.
        text: The rule as it is stated.
    """
    from discreet.tabulation.filters import parse_filter

    if not text:
        return None
    own = programme.tables[table].by or []
    named = {name.removesuffix(".level") for name in parse_filter(text).columns} - set(own)
    hidden = {column for name in named for column in _sources(programme, name)}
    tied = [name for name in own if hidden & _sources(programme, name)]
    conditions = [f"`{name}` == {totals[name]!r}" for name in tied]
    return " and ".join([f"({text})", *conditions]) if conditions else text


def _sources(programme: Programme, name: str) -> set[str]:
    """The columns of the data behind a variable."""
    entry = programme.variables.get(name)
    if entry is None:
        return {name}
    parts = entry.alternatives or [name]
    return {column for part in parts for _, column in columns_of(programme, part)}


def columns_of(programme: Programme, name: str) -> list[tuple[KeyPath, str]]:
    """The columns of the data that a variable needs, and the keys that name them."""
    entry = programme.variables[name]
    path: KeyPath = ("variables", name)
    if entry.alternatives:
        return []
    found: list[tuple[KeyPath, str]] = [
        ((*path, "levels", number), column) for number, column in enumerate(entry.levels or [])
    ]
    if entry.column is not None:
        found.append(((*path, "column"), entry.column))
    elif not entry.levels:
        found.append((path, name))
    return found


def fixed_classifications(
    programme: Programme,
) -> tuple[dict[str, Classification], list[Problem]]:
    """Those classifications that need no data, and what is wrong with the others."""
    trees: dict[str, Classification] = {}
    problems: list[Problem] = []
    for name, entry in programme.variables.items():
        kinds = entry.kinds
        if len(kinds) != 1 or kinds[0] not in _FIXED:
            continue
        path: KeyPath = ("variables", name, kinds[0])
        if kinds[0] == "hierarchy" and not programme.file(entry.hierarchy or "").is_file():
            continue  # reported by the checks of files
        try:
            trees[name] = _described(programme, name, _fixed(programme, name, entry))
        except DiscreetError as error:
            problems += problems_of(error, programme, path)
    return trees, problems


def spanning_variables(
    programme: Programme, names: Sequence[str], fixed: Mapping[str, Classification], records: Any
) -> dict[str, Spanning]:
    """For each name in a table's `by` what spans the table.

    Args:
        programme: The programme.
        names: Names of variables or columns.
        fixed: The classifications that need no data.
        records: The records (a narwhals frame), for the codes found in them.
    """
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
            spanning[name] = _side_by_side(name, entry, others)
        else:
            spanning[name] = trees[name]
    return spanning


def found_classifications(
    programme: Programme, names: Sequence[str], records: Any
) -> dict[str, Classification]:
    """Flat classifications of columns without an entry, over the values of all records.

    Tables that are made of several counts need the same codes in each of them.

    Args:
        programme: The programme.
        names: Names in tables' `by`; those that have an entry are left out.
        records: The records (a narwhals frame).
    """
    columns = [name for name in dict.fromkeys(names) if name not in programme.variables]
    codes = _codes(records, columns) if columns else {}
    return {name: Classification.flat(name, codes[name]).replace(found="all") for name in columns}


def _side_by_side(
    name: str, entry: VariableEntry, trees: Sequence[Classification]
) -> list[Classification]:
    """Breakdowns that do not nest; the first carries the name of the variable."""
    first = trees[0].replace(
        name=name, column=trees[0].source, titles=entry.label or trees[0].titles
    )
    return [first, *trees[1:]]


def _fixed(programme: Programme, name: str, entry: VariableEntry) -> Classification:
    total: dict[str, Any] = {} if entry.total is None else {"total": entry.total}
    if entry.hierarchy is not None:
        codelist = programme.file(entry.codelist) if entry.codelist else None
        path = programme.file(entry.hierarchy)
        return Classification.read(path, name=name, codelist=codelist, **total)
    if entry.intervals is not None:
        coarser = entry.coarser or ()
        return Classification.from_intervals(name, bounds=entry.intervals, parents=coarser, **total)
    return Classification.flat(name, entry.codes or [], **total)


def _found(programme: Programme, names: Sequence[str], records: Any) -> dict[str, Classification]:
    """The classifications that the data decide; one pass gives the codes of all columns."""
    entries = {name: programme.variables[name] for name in dict.fromkeys(names)}
    flat = {name: entry.column or name for name, entry in entries.items() if entry.levels is None}
    codes = _codes(records, list(dict.fromkeys(flat.values())))
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
        else:
            found = Classification.flat(name, codes[flat[name]], total=total)
        # What the data alone brought in is not listed unless it has a published figure.
        trees[name] = _described(programme, name, found.replace(found="all"))
    return trees


def _codes(records: Any, columns: Sequence[str]) -> dict[str, list[str]]:
    """The distinct codes of columns, in their natural order."""
    import narwhals as nw
    import polars as pl

    from discreet.tables.cells import code_texts

    wrapped = nw.from_native(records, pass_through=False)
    plans = [wrapped.select(nw.col(column)).unique() for column in columns]
    natives = [plan.to_native() for plan in plans]
    if natives and all(isinstance(native, pl.LazyFrame) for native in natives):
        frames = pl.collect_all(natives, engine="streaming")
    else:
        frames = [plan.lazy().collect(backend="polars").to_native() for plan in plans]
    codes = {}
    for column, frame in zip(columns, frames, strict=True):
        texts = code_texts(frame.get_column(column), column).drop_nulls().unique()
        codes[column] = natural_order(texts.to_list())
    return codes


def _described(programme: Programme, name: str, tree: Classification) -> Classification:
    """The tree with the column, labels and titles that the programme gives it."""
    entry = programme.variables[name]
    missing = entry.missing or tree.missing or MISSING
    unknown = [code for code in entry.labels if code not in tree.index and code != missing]
    if unknown:
        problems = [
            Problem(
                f"labels name the code {code!r}, which there is not", "", nearest(code, tree.codes)
            )
            for code in unknown
        ]
        raise ProgrammeError(problems[0].what, code="labels", where=name, problems=problems)
    levels = entry.levels or []
    column = entry.column or (levels[-1] if levels else None) or tree.column or name
    return tree.replace(
        column=None if column == tree.name else column,
        labels={**tree.labels, **entry.labels},
        titles=entry.label or tree.titles,
        missing=missing,
    )
