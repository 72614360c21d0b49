"""The records of a source (CONFIDENTIAL): variables whose codes hold every record and were all
stated beforehand; problems that name no code which only records told.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from discreet.classifications import Classification
from discreet.errors import DiscreetError, Problem, nearest
from discreet.microdata import DatabaseTable, StoredRecords, distant_records, parse_filter
from discreet.record_batches import collected
from discreet.release import Inputs, found_codes, spanning_variables
from discreet.tables import COLUMNS, FIGURE, code_texts
from discreet_service.datasets.variables import CatalogueVariable

#: Names that columns of every file have.
_TAKEN = (*COLUMNS, FIGURE, "value", "status", "symbol", "note")


class SourceColumns:
    """The columns of a source. CONFIDENTIAL."""

    def __init__(
        self, inputs: Inputs, source: str, public: Collection[str], problems: list[Problem]
    ) -> None:
        self.inputs, self.public, self.problems = inputs, public, problems
        self.records = inputs.records[source]

    def note(self, what: str, where: str, hint: str = "") -> None:
        """Note a problem."""
        self.problems.append(Problem(what, where, hint))

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Its columns and their types."""
        return dict(self.records.collect_schema())

    @cached_property
    def confidential(self) -> frozenset[str]:
        """Columns of keys and identifiers."""
        found: set[str] = set()
        for source in self.inputs.programme.sources.values():
            for named in (source.keys.column, source.keys.id, source.keys.by):
                found |= {named} if isinstance(named, str) else set(named or ())
        held = distant_records(self.records)
        key = held.record_key if isinstance(held, StoredRecords) else None
        return frozenset(found | ({key} if key else set()))

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers, and no keys."""
        if column not in self.schema or column in self.confidential:
            return False
        return bool(self.schema[column].is_numeric())

    def values(self, column: str) -> pl.Series:
        """The distinct values of a column, missing ones included."""
        held = distant_records(self.records)
        if isinstance(held, StoredRecords) and held.columns[column]["kind"] != "plain":
            return held.values(column)
        if isinstance(held, DatabaseTable):
            return held.distinct(column)
        return collected(self.records.lazy().select(column).unique())[column]

    def check_filter(self, text: str, where: str) -> None:
        """Note problems of a filter on its records."""
        try:
            parse_filter(text).check(self.schema)
        except DiscreetError as error:
            for problem in error.problems:
                self.note(problem.what, where, problem.hint)

    def has(self, variable: str) -> bool:
        """Whether the records have the columns of a variable, and they hold no keys."""
        programme, columns = self.inputs.programme, {variable}
        if variable in programme.variables:
            columns = {column for _, column in programme.columns_of(variable)}
        return bool(columns) and columns <= set(self.schema) - self.confidential

    @cached_property
    def merged(self) -> dict[str, tuple[str, ...]]:
        """Per variable with break points, the groupings of its classes."""
        stated = self.inputs.programme.document.variables
        return {name: (*entry.merged(name),) for name, entry in stated.items() if entry.breaks}

    def _found_tree(self, variable: str) -> Classification:
        """The classification of a variable whose codes are public, though the data tell them."""
        programme = self.inputs.programme
        if variable not in programme.variables:
            return Classification.flat(variable, found_codes(self.records, [variable])[variable])
        found = spanning_variables(programme, [variable], self.inputs.trees, self.records)[variable]
        assert isinstance(found, Classification)
        return found.replace(found="none")

    def variables(
        self, wanted: Sequence[str] | None, geography: Collection[str], where: str
    ) -> dict[str, CatalogueVariable]:
        """The variables that can be asked for: those wanted, or all that are fit."""
        programme = self.inputs.programme
        if wanted is None:
            every = [name for name, entry in programme.variables.items() if not entry.alternatives]
            known = {*self.inputs.trees, *self.public}
            named = [name for name in every if self.has(name) and name in known]
        else:
            merged = (one for name in wanted for one in self.merged.get(name, ()))
            named = list(dict.fromkeys([*wanted, *merged]))
        variables = {}
        for name in named:
            base = next((one for one, own in self.merged.items() if name in own), "")
            place = where if wanted is None else f"{where}[{list(wanted).index(base or name)}]"
            tree = self._tree(name, place)
            if tree is not None:
                joined = tuple(
                    each
                    for each, entry in programme.variables.items()
                    if name in (entry.alternatives or ())
                )
                variables[name] = CatalogueVariable(
                    name=name, tree=tree, geography=name in geography, joined=joined, merged=base
                )
        return variables

    def _tree(self, name: str, where: str) -> Classification | None:
        """The classification of a variable; None, and a problem, where it would tell of data."""
        programme, stated = self.inputs.programme, self.inputs.trees.get(name)
        entry = programme.variables.get(name)
        message = hint = ""
        if name in _TAKEN:
            message = f"a variable cannot be called {name!r}"
        elif entry is not None and entry.alternatives:
            message, hint = f"{name!r} has several classifications", "name each classification"
        elif not self.has(name):
            message = f"the records have no column for {name!r}"
            hint = nearest(name, list(programme.variables))
        elif stated is None and name not in self.public:
            message = f"the list of codes of {name!r} would disclose that they occur"
            hint = "add them to the programme, or declare them public: public_codes"
        if message:
            self.note(message, where, hint)
            return None
        tree = stated or self._found_tree(name)
        if tree.level_columns and tree.column is None:
            message = f"no single column has the codes of {name!r}"
            self.note(message, where, "add such a column, and declare it with column =")
            return None
        values = self.values(tree.source)
        if values.dtype.is_float():
            values = values.fill_nan(None)
        if values.null_count() and tree.missing not in tree.index:
            if name not in self.public:
                message = f"some records lack {name!r}, and missing values have no code"
                hint = "list the code with the others, or declare it public: public_codes"
                self.note(message, where, hint)
                return None
            tree = tree.with_missing()
        if not _holds_all(tree, values.drop_nulls()):
            message = f"some records have values outside the codes of {name!r}"
            hint = "to list them, run: discreet protect PROGRAMME --check"
            self.note(message, where, hint)
            return None
        return tree.replace(found="none")


def _holds_all(tree: Classification, values: pl.Series) -> bool:
    if tree.bounds is None:
        known = set(tree.leaves)
        return all(text in known for text in code_texts(values, tree.source).to_list())
    if not values.dtype.is_numeric():
        return False
    if not len(values):
        return True
    low, high = values.cast(pl.Float64).min(), values.cast(pl.Float64).max()
    assert isinstance(low, float)
    assert isinstance(high, float)
    return low >= tree.bounds[0] and (high < tree.bounds[-1] or tree.bounds[-1] == float("inf"))
