"""`SparseParts`: parts of answers hidden because they are too sparse (P7), judged by the perturbed
cells of everybody and by their own levels: in all tables that show them, or in none.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from discreet.arrays import BoolArray, PositionArray
from discreet.microdata import parse_filter
from discreet.protection.parts import SUPPRESSED_PARTS, note
from discreet.release import FigureEntry
from discreet.tables import CellStatus, Note, ProtectedTable
from discreet_service.datasets import CatalogueUnit, CatalogueVariable, DataVersion, common_parts
from discreet_service.last_used import LastUsed
from discreet_service.policies import Policies, SparsityPolicy, hidden_parts
from discreet_service.problems import ServiceError
from discreet_service.queries.canonical import CanonicalQuery, SpanningCodes
from discreet_service.queries.measures import COUNT_MEASURE, Measure, figure_entries
from discreet_service.queries.presentation import every_cell


def reached_levels(
    variables: Mapping[str, CatalogueVariable], name: str, level: int
) -> dict[str, int]:
    """Per variable of the same column, its deepest level of which some code can be added up.

    What is reached by way of a third variable counts. A level with nothing but the total is left
    out; the variable itself has its own level.

    >>> from discreet.classifications import Classification
    >>> made = {
    ...     name: CatalogueVariable(name=name, geography=False, tree=Classification.from_intervals(
    ...         name, bounds, column="age"))
    ...     for name, bounds in {"tens": [0, 10, 20], "fives": [0, 5, 10, 15, 20]}.items()
    ... }
    >>> reached_levels(made, "fives", 1), reached_levels(made, "tens", 1)
    ({'fives': 1, 'tens': 1}, {'tens': 1})
    """
    column = variables[name].tree.source
    others = {other: one for other, one in variables.items() if one.tree.source == column}
    levels, waiting = {name: level}, [name]
    while waiting and level and len(others) > 1:
        first = waiting.pop()
        for other, one in others.items():
            reached = _added_up(others[first], levels[first], one) if other != first else 0
            if reached > levels.get(other, 0):
                levels[other] = reached
                waiting.append(other)
    return levels


def _added_up(one: CatalogueVariable, level: int, other: CatalogueVariable) -> int:
    """The deepest level of another variable of which some code is made up of codes of a level."""
    parts = common_parts(one, other)
    if parts is None:  # nobody knows: all of it
        return other.finest
    own = one.on_level(level, parts[0])
    for number in range(other.finest, 0, -1):
        if _some_is_made_up(own, other.on_level(number, parts[1])):
            return number
    return 0


def _some_is_made_up(own: PositionArray, codes: PositionArray) -> bool:
    """Whether one of some codes, unless it is all there is, is made up of several others.

    A code that both have is one cell, which a table of either shows as what it is.
    """
    size = int(own.max(initial=-1)) + 1
    low, high = np.full(size, len(codes) + 1), np.full(size, -1)
    known = own >= 0
    np.minimum.at(low, own[known], codes[known])
    np.maximum.at(high, own[known], codes[known])
    whole = np.zeros(len(own), dtype=np.bool_)
    whole[known] = (low == high)[own[known]]
    wanted = np.unique(codes[codes >= 0])
    pairs = np.unique(np.stack([codes, own])[:, codes >= 0], axis=1)
    several = [code for code in wanted.tolist() if int((pairs[0] == code).sum()) > 1]
    broken = codes[(codes >= 0) & ~whole]
    return len(wanted) > 1 and bool(len(np.setdiff1d(several, broken)))


#: A variable that judges, and for each level of an answer, the level of it that stands for it.
_Axis = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class PartJudgement:
    """A table that judges the parts of an answer."""

    # Its variables: those for the variables that span the answer, and then those for what is
    # fixed. With each, for every level of the answer, the level that stands for it.
    stands: tuple[_Axis, ...]
    measure: Measure  # What is counted

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """Its variables with the deepest level of each, sorted by variable."""
        return tuple(sorted((name, max(levels)) for name, levels in self.stands))

    def query(self, asked: CanonicalQuery) -> CanonicalQuery:
        """The table as a query: of everybody, with all codes of all levels."""
        by = tuple(
            SpanningCodes(variable=name, levels=tuple(range(1, level + 1)), codes=None, total=True)
            for name, level in self.axes
        )
        return replace(asked, by=by, where=(), measures=(self.measure,))

    def for_answer(self, hidden: BoolArray) -> BoolArray:
        """Which parts of the answer are hidden, by those of this table; fixed ones come last."""
        names = [name for name, _ in self.axes]
        order = [names.index(name) for name, _ in self.stands]
        return hidden.transpose(order)[np.ix_(*(levels for _, levels in self.stands))]


def judgements_of(
    query: CanonicalQuery, measure: Measure, unit: CatalogueUnit
) -> Iterator[PartJudgement]:
    """The tables that judge an answer; a part is hidden if one of them says so."""
    entries = figure_entries((measure,), unit)
    based = _based(entries.values(), unit)
    yield from _judgements(query, unit, based, frozenset(), COUNT_MEASURE)
    columns = {one.tree.source for one in unit.variables.values()}
    for name, entry in entries.items():
        looked = parse_filter(entry.where).columns if entry.where else frozenset()
        if looked & columns:
            yield from _judgements(query, unit, based, looked & columns, COUNT_MEASURE)
        if looked - columns and entry.kind == "count":
            yield from _judgements(query, unit, based, frozenset(), Measure("figure", name))


def _based(entries: Iterable[FigureEntry], unit: CatalogueUnit) -> dict[str, int]:
    """Variables of which figures compare with one code, and the level of that."""
    found: dict[str, int] = {}
    for entry in entries:
        for name, code in (entry.base or {}).items():
            variable = unit.variables[name]
            at = variable.tree.index.get(code)
            level = variable.finest if at is None else int(variable.tree.levels[at])
            found[name] = max(found.get(name, 0), level)
    return found


def _judgements(
    query: CanonicalQuery,
    unit: CatalogueUnit,
    based: Mapping[str, int],
    columns: frozenset[str],
    measure: Measure,
) -> Iterator[PartJudgement]:
    """By all variables that stand for those of the answer."""
    asked = [(one.variable, tuple(range(max(one.levels) + 1))) for one in query.by]
    asked += [(one.variable, (one.level,)) for one in query.where]
    choices = []
    for name, levels in asked:
        least = based.get(name, 0)
        choices.append([*_standing(unit, name, [max(k, least) for k in levels], columns)])
    choices += [
        [(one.name, (one.finest,)) for one in _of_column(unit, column)]
        for column in sorted(columns - {unit.variables[name].tree.source for name, _ in asked})
    ]
    for stands in product(*choices):
        yield PartJudgement(stands=stands, measure=measure)


def _standing(
    unit: CatalogueUnit, name: str, levels: Sequence[int], columns: frozenset[str]
) -> Iterator[_Axis]:
    """The variables that stand for one: itself, and those of its column that it adds up to."""
    variable = unit.variables[name]
    # What merges classes of another variable hides nothing of that: it can be computed of it.
    same = _of_column(unit, variable.tree.source) + ([variable] if variable.merged else [])
    if variable.tree.source in columns:
        yield from ((one.name, (one.finest,) * len(levels)) for one in same)
        return
    reached = [reached_levels(unit.variables, name, level) for level in levels]
    for one in same:
        found = tuple(item.get(one.name, 0) for item in reached)
        if any(found):
            yield one.name, found


def _of_column(unit: CatalogueUnit, column: str) -> list[CatalogueVariable]:
    of_column = (one for one in unit.variables.values() if one.tree.source == column)
    return [one for one in of_column if not one.merged]


#: Gives the table of a query with its noise, made now or before.
NoisyTable = Callable[[DataVersion, CanonicalQuery], ProtectedTable]
#: Decisions that are remembered; each is a few bytes for each part of a table.
_REMEMBERED = 10_000
#: Parts that a note names; of more it names the coarsest.
_NAMED = 8
_LANGUAGES = ("en", "de")
_LEVEL = {"en": "level {}", "de": "Ebene {}"}
_GRAND_TOTAL = {"en": "grand total", "de": "Gesamtsumme"}


class SparseParts:
    """Hides sparse parts."""

    def __init__(self, policies: Policies, table_of: NoisyTable, *, most_cells: int) -> None:
        self._policies, self._table_of, self._most = policies, table_of, most_cells
        self._known = LastUsed[tuple[str, str], BoolArray](_REMEMBERED)

    def require(self, query: CanonicalQuery, version: DataVersion) -> None:
        """Raise an error if too much would have to be counted to judge a table."""
        if self._limits(query, version) is None:
            return
        size = sum(
            math.prod(1 + _codes(version, query.unit, *axis) for axis in judge)
            for judge in self._judges(query, version)
        )
        if size > self._most:
            message = f"the check of this table needs {size:,} cells; the limit is {self._most:,}"
            hint, most = "choose coarser levels, fewer variables or fewer filters", self._most
            raise ServiceError(message, "too-many-cells", "where", hint, limit=most, actual=size)

    def mark(self, query: CanonicalQuery, version: DataVersion) -> str:
        """Determinants of the hidden parts, for tags of answers; empty if none are hidden."""
        limits = self._limits(query, version)
        return "" if limits is None else _said(limits)

    def judged(self, version: DataVersion) -> tuple[int, int]:
        """Number of tables that judge answers of a version in this process and hide parts."""
        found = [
            bool(hidden.any())
            for (about, _), hidden in self._known.items()
            if about.partition("\n")[0] == version.fingerprint
        ]
        return len(found), sum(found)

    def thinned(
        self, table: ProtectedTable, query: CanonicalQuery, version: DataVersion
    ) -> ProtectedTable:
        """The answer without its sparse parts."""
        hidden = self.hidden(version, query)
        if hidden is None:
            return table
        variables = [version.units[query.unit].variables[one.variable] for one in query.by]
        # Cells that a table omits are zero, or have no value: hidden ones must not be told by that.
        index, value, status = every_cell(table)
        shown = [
            _depths(variable, dimension.codes)[at]
            for variable, dimension, at in zip(variables, table.spanning, index, strict=False)
        ]
        # Positions of figures are those of the measures, which stand in canonical order.
        figure = index[-1] if table.several_figures else np.zeros(len(value), dtype=np.int32)
        cells = hidden[(*shown, figure)]
        if not cells.any():
            return table
        # The names of hidden parts; if there are many, of the coarsest among them.
        places = np.unique(np.stack(shown, axis=1)[cells], axis=0).tolist() if shown else [()]
        parts = [tuple(part) for part in places]
        many, named = len(parts) > _NAMED, parts
        if many:

            def finer(part: tuple[int, ...], other: tuple[int, ...]) -> bool:
                return other != part and all(a <= b for a, b in zip(other, part, strict=True))

            named = [part for part in parts if not any(finer(part, other) for other in parts)]
        texts = {}
        for language in _LANGUAGES:
            names = [_name_of(variables, part, language) for part in named]
            texts[language] = note(names, language, finer=many)
        return dataclasses.replace(
            table,
            index=index,
            value=np.where(cells, 0, value).astype(value.dtype),
            status=np.where(cells, CellStatus.suppressed, status).astype(status.dtype),
            notes=(*table.notes, Note(SUPPRESSED_PARTS, texts)),
        )

    def hidden(self, version: DataVersion, query: CanonicalQuery) -> BoolArray | None:
        """Which parts of an answer are hidden: an axis for each variable, the last for measures.

        None if none are.
        """
        limits = self._limits(query, version)
        hidden = None if limits is None else self._of_answer(query, version, limits)
        return None if hidden is None or not hidden.any() else hidden

    def _limits(self, query: CanonicalQuery, version: DataVersion) -> SparsityPolicy | None:
        policy = self._policies.policy(query.dataset, query.version)
        alone = len(query.by) + len(query.where) == 2 and query.measures == (COUNT_MEASURE,)
        if policy.flows is not None and alone and query.flow(version.units[query.unit]):
            return None  # flows of few are hidden one by one
        return policy.sparsity if policy.sparsity.then == "hide" else None

    def _judges(
        self, query: CanonicalQuery, version: DataVersion
    ) -> frozenset[tuple[tuple[str, int], ...]]:
        """The tables that judge an answer, by their variables and levels, each once."""
        unit = version.units[query.unit]
        return frozenset(
            judgement.axes for measure in query.measures
            for judgement in judgements_of(query, measure, unit)
        )  # fmt: skip

    def _of_answer(
        self, query: CanonicalQuery, version: DataVersion, limits: SparsityPolicy
    ) -> BoolArray:
        """Which parts of an answer are hidden: an axis for each variable, the last for measures."""
        unit = version.units[query.unit]
        shape = [max(item.levels) + 1 for item in query.by]
        masks = []
        for measure in query.measures:
            hidden = np.zeros(shape, dtype=np.bool_)
            for one in judgements_of(query, measure, unit):
                # Which parts of a table that judges others are hidden; worked out once.
                judge = one.query(query)
                name = json.dumps([judge.unit, one.axes, one.measure.name])
                key = (f"{version.fingerprint}\n{_said(limits)}", name)
                found = self._known.get(key)
                if found is None:
                    found = self._decided(judge, version, limits)
                    self._known.put(key, found)
                hidden |= one.for_answer(found).reshape(shape)
            masks.append(hidden)
        return np.stack(masks, axis=-1)

    def _decided(
        self, judge: CanonicalQuery, version: DataVersion, limits: SparsityPolicy
    ) -> BoolArray:
        table = self._table_of(version, judge)
        shape = tuple(len(dimension) for dimension in table.spanning)
        counts, unknown = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
        # The grand total alone has no index, and is not listed where it is zero.
        index = table.index if shape else (np.zeros(table.stored, dtype=np.int32),)
        np.atleast_1d(counts)[index] = np.rint(table.value).astype(np.int64)
        np.atleast_1d(unknown)[index] = table.status == CellStatus.suppressed
        levels, tells = [], []
        for one, dimension in zip(judge.by, table.spanning, strict=True):
            variable = version.units[judge.unit].variables[one.variable]
            tells.append(not variable.geography)
            codes = [
                [dimension.index[variable.tree.codes[at]] for at in variable.cuts[level].tolist()]
                for level in (0, *one.levels)
            ]
            levels.append([np.array(code, dtype=np.int32) for code in codes])
        return hidden_parts(counts, levels, tells, limits, unknown)


def _codes(version: DataVersion, unit: str, variable: str, level: int) -> int:
    cuts = version.units[unit].variables[variable].cuts
    return len({at for cut in cuts[1 : level + 1] for at in cut.tolist()})


def _depths(variable: CatalogueVariable, codes: Sequence[str]) -> PositionArray:
    """Per code of an answer, the coarsest level on which it stands; 0 for the total."""
    tree = variable.tree
    return np.array([tree.levels[tree.index[code]] for code in codes], dtype=np.int32)


def _said(limits: SparsityPolicy) -> str:
    return json.dumps(limits.model_dump(), sort_keys=True)


def _name_of(variables: Sequence[CatalogueVariable], part: tuple[int, ...], language: str) -> str:
    names = []
    for variable, number in zip(variables, part, strict=True):
        if number == 0:
            continue
        name = variable.tree.title(language)
        if variable.finest > 1:
            level = variable.level(number).name
            name += f" ({_LEVEL[language].format(level) if level == str(number) else level})"
        names.append(name)
    return " × ".join(names) or _GRAND_TOTAL[language]
