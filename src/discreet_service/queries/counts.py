"""From a canonical query to its protected table, as `discreet protect` makes it: the one table of a
programme. Here the service crosses the confidentiality line.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import narwhals as nw
import numpy as np

from discreet.arrays import BoolArray
from discreet.classifications import Classification
from discreet.confidential import without_values
from discreet.microdata import StoredRecords, distant_records, parse_filter
from discreet.protection.parts import PartRules, check_parts, joint_decisions, suppress_parts
from discreet.protection.protocol import Counts, all_of
from discreet.release import UNIVERSE, Inputs, TableEntry, annotated, release_context
from discreet.tables import Dimension, ProtectedTable, Table
from discreet.tabulation import Query
from discreet_service.datasets import ANSWER, CatalogueUnit, DataVersion
from discreet_service.problems import ServiceError
from discreet_service.queries.canonical import CanonicalQuery, FilterCodes
from discreet_service.queries.measures import figure_entries
from discreet_service.queries.presentation import selected, title_of, universe_of

#: The longest text that is handed on; the filter language reads at most 10,000 characters.
LONGEST_TEXT = 8_000


def filter_text(tree: Classification, leaves: BoolArray, kind: Any, *, ranges: bool = True) -> str:
    """The filter that lets records with some finest codes through.

    >>> sex = Classification.flat("sex", ["d", "m", "w"])
    >>> filter_text(sex, np.array([False, False, True, True]), nw.String())
    "((`sex` >= 'm' and `sex` <= 'w'))"
    """
    column = f"`{tree.source}`"
    chosen = [tree.codes[at] for at in np.flatnonzero(leaves)]
    parts = []
    if tree.missing in chosen:
        parts.append(f"{column} is null")
    if tree.bounds is not None:
        parts += interval_parts(tree, set(chosen), column)
    elif str(kind) == "Boolean":
        parts += [f"{column} == {code}" for code in chosen if code in ("true", "false")]
    else:
        number = hasattr(kind, "is_numeric") and bool(kind.is_numeric())
        parts += _code_parts(tree, set(chosen), column, number, ranges)
    if not parts:
        raise ServiceError("no record can have these codes", "invalid-query", tree.name)
    return f"({' or '.join(parts)})"


def interval_parts(tree: Classification, chosen: set[str], column: str) -> list[str]:
    """Conditions on a number for intervals: those that stand together are a range."""
    assert tree.bounds is not None
    intervals = [code for code in tree.leaves if code != tree.missing]
    parts = []
    for first, last in _runs([code in chosen for code in intervals]):
        low, high = tree.bounds[first], tree.bounds[last + 1]
        bounds = [f"{column} >= {_literal(low)}"] if math.isfinite(low) else []
        bounds += [f"{column} < {_literal(high)}"] if math.isfinite(high) else []
        parts.append(f"({' and '.join(bounds)})" if bounds else f"{column} is not null")
    return parts


def _literal(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _code_parts(
    tree: Classification, chosen: set[str], column: str, number: bool, ranges: bool
) -> Iterator[str]:
    """Conditions on codes: those that stand together in the order of the column are a range."""
    # One code stands together with no other.
    leaves = [*tree.leaves] if len(chosen) > 1 else [*chosen]
    if number:
        leaves = [code for code in leaves if code.isascii() and code.removeprefix("-").isdecimal()]
    order = sorted(leaves, key=int) if number else sorted(leaves)
    literal = str if number else _quoted
    for first, last in _runs([code in chosen for code in order]):
        if not (ranges or number) or last - first < 1:
            for code in order[first : last + 1]:
                yield f"{column} == {literal(code)}"
        else:
            low, high = literal(order[first]), literal(order[last])
            yield f"({column} >= {low} and {column} <= {high})"


def _quoted(code: str) -> str:
    """A code as a literal: nothing in it can end the text, and no blank stands in it."""
    escaped = "".join(
        letter if letter.isprintable() and letter not in "\\'\"`# " else (f"\\U{ord(letter):08x}")
        for letter in code
    )
    return f"'{escaped}'"


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    padded = np.concatenate([[False], np.asarray(marks, dtype=np.bool_), [False]]).astype(np.int8)
    change = np.diff(padded)
    starts, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1) - 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def joint_filter(texts: Sequence[str], schema: Any) -> str | nw.Expr | None:
    """All conditions at once: a text where it is short enough; None for no condition."""
    whole = all_of(*texts)
    if len(whole) <= LONGEST_TEXT:
        return whole or None
    expressions = [_expression(text, schema) for text in texts if text.strip()]
    return reduce(lambda one, other: one & other, expressions)


def _expression(text: str, schema: Any) -> nw.Expr:
    """The expression of a condition; long ones are read piece by piece."""
    if len(text) <= LONGEST_TEXT:
        return parse_filter(text).to_narwhals(schema)
    pieces, held = [], ""
    for part in text[1:-1].split(" or "):
        if held and len(held) + len(part) > LONGEST_TEXT:
            pieces.append(held)
            held = ""
        held = f"{held} or {part}" if held else part
    read = [parse_filter(piece).to_narwhals(schema) for piece in (*pieces, held)]
    return reduce(lambda one, other: one | other, read)


@without_values
def protected_answer(query: CanonicalQuery, version: DataVersion, digest: str) -> ProtectedTable:
    """Count, protect, and show what is asked for."""
    return _AnswerRun(query, answer_form(query, version)).answer(digest)


def filter_leaves(one: FilterCodes, unit: CatalogueUnit) -> BoolArray:
    """Per code of a variable, whether it is a finest one that a filter lets through."""
    variable = unit.variables[one.variable]
    return variable.leaves_within([variable.tree.index[code] for code in one.codes])


def filter_texts(query: CanonicalQuery, version: DataVersion) -> list[str]:
    """The filters of a query as texts."""
    unit, texts = version.units[query.unit], []
    for one in query.where:
        text: str | None = version.recent.get((query.unit, one))
        if text is None:
            tree = unit.variables[one.variable].tree
            text = record_condition(version, query.unit, tree, filter_leaves(one, unit))
            version.recent.put((query.unit, one), text)
        texts.append(text)
    return texts


def record_condition(
    version: DataVersion, unit: str, tree: Classification, leaves: BoolArray
) -> str:
    """The filter on records that lets some finest codes through."""
    records = version.records(unit)[0]
    held = distant_records(records)
    ranges = held is None or isinstance(held, StoredRecords)
    return filter_text(tree, leaves, version.schema(unit)[tree.source], ranges=ranges)


def answer_form(query: CanonicalQuery, version: DataVersion) -> AnswerForm:
    """The form of an answer, made now or before."""
    by = tuple((one.variable, one.levels) for one in query.by)
    key = (query.unit, by, tuple(one.variable for one in query.where), query.measures)
    form: AnswerForm | None = version.recent.get(key)
    if form is None:
        version.recent.put(key, form := AnswerForm(query, version))
    return form


@dataclass(frozen=True, repr=False, eq=False)
class AnswerForm:
    """What is the same for all answers that differ by codes alone. CONFIDENTIAL."""

    query: CanonicalQuery  # One of these
    version: DataVersion

    @cached_property
    def unit(self) -> CatalogueUnit:
        """What is counted."""
        return self.version.units[self.query.unit]

    @cached_property
    def usual(self) -> TableEntry:
        """The entry of a table of which nothing more is asked."""
        return self.version.entry(self.query.unit)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures as a programme names them."""
        return figure_entries(self.query.measures, self.unit)

    @cached_property
    def entry(self) -> TableEntry:
        """The entry that the answer would have in the programme, whomever it is about."""
        ends = self.query.flow(self.unit)
        return self.version.entry(
            self.query.unit,
            by=[one.variable for one in self.query.by] or None,
            title=title_of(self.query, self.unit),
            figures=self.figures,
            flows=None if ends is None else {"origin": ends[0], "destination": ends[1]},
        )

    @cached_property
    def inputs(self) -> Inputs:
        """Inputs for a programme with this table."""
        return self.version.asking(self.entry)

    @cached_property
    def within_filters(self) -> Inputs:
        """Inputs for the table that has the variables of filters, too."""
        by = [*(self.entry.by or ()), *(one.variable for one in self.query.where)]
        return self.version.asking(self.entry.model_copy(update={"by": by}))

    @cached_property
    def official(self) -> str:
        """The rule for official figures."""
        return self.inputs.official(ANSWER)

    @cached_property
    def thresholds(self) -> dict[str, Any] | None:
        """The thresholds for the parts of the table; None where parts stay."""
        return self.inputs.programme.thresholds(ANSWER)

    @cached_property
    def guarded(self) -> bool:
        """Whether its parts are held against all records."""
        return self.thresholds is not None and self.inputs.programme.held_against_all(ANSWER)

    @cached_property
    def trees(self) -> list[Classification]:
        """What spans the table: down to the deepest level that is shown, where nothing else asks.

        Rules for parts look at all levels, so that they judge a table alike however it is asked.
        """
        # Variables of which rules or figures name codes that are not shown.
        excluded = parse_filter(self.official).excluded() if self.official else ()
        named = {name for name, _ in excluded}
        named |= {name for entry in self.figures.values() for name in entry.base or {}}
        trees = []
        for one in self.query.by:
            whole = self.unit.variables[one.variable].tree
            coarser = self.unit.coarser.get((one.variable, max(one.levels)))
            free = one.variable not in named and self.thresholds is None
            trees.append(coarser if free and coarser is not None else whole)
        return trees


@dataclass(frozen=True, repr=False)
class _AnswerRun:
    """The steps of one answer. CONFIDENTIAL."""

    query: CanonicalQuery
    form: AnswerForm

    @cached_property
    def conditions(self) -> list[str]:
        return filter_texts(self.query, self.form.version)

    def answer(self, digest: str) -> ProtectedTable:
        counts, form, query = self.counts(), self.form, self.query
        inputs, placed = form.within_filters if self.extra else form.inputs, self.placed(counts)
        context = release_context({}, printed={ANSWER: {}})
        group = next(inputs.programme.method(ANSWER).protect(inputs, {ANSWER: placed}, context))
        made = group.tables[ANSWER].table
        table = self.thinned(_without(made, len(form.trees), [at for _, at in self.extra]), counts)
        said = annotated(form.inputs.programme, ANSWER, table, (), {"query": digest})
        usual = form.usual.universe or ({"en": form.usual.where} if form.usual.where else {})
        return selected(said, query, form.unit).described_as(
            name=f"{query.dataset}-{query.unit}-{digest[:12]}",
            universe=universe_of(query, form.unit, usual),
        )

    def counts(self) -> dict[str, Table]:
        """The counts behind the table: those of its figures, and of all records for its parts."""
        needs = dict(self.form.inputs.programme.method(ANSWER).needs(self.form.inputs, ANSWER))
        schema = self.form.version.schema(self.query.unit)
        queries = [
            Query(
                by=self.form.trees,
                where=joint_filter([key, *self.narrowed()], schema),
                weight=self.form.entry.weight or None,
                values=sorted(columns),
                contributions=dict(columns),
                name=ANSWER,
            )
            for key, columns in needs.items()
        ]
        wants_all = self.form.guarded and (self.conditions or UNIVERSE not in needs)
        if wants_all:
            weight = self.form.entry.weight or None
            queries.append(Query(by=self.form.trees, weight=weight, name=ANSWER))
        tables = self.form.version.counted(self.query.unit, queries)
        told = all_of(*self.conditions)
        counts = {
            key: dataclasses.replace(table, where=all_of(key, told))
            for key, table in zip(needs, tables, strict=False)
        }
        return {**counts, _EVERY: tables[-1]} if wants_all else counts

    def narrowed(self) -> list[str]:
        """The filters; without rules for parts also what is shown, where it is few places."""
        texts = list(self.conditions)
        if self.form.thresholds is not None:
            return texts
        for one in self.query.by:
            entries = self.form.figures.values()
            compared = any(
                one.variable in {*(entry.over or ()), *(entry.base or {})} for entry in entries
            )
            if one.codes is None or one.total or compared:
                continue
            variable = self.form.unit.variables[one.variable]
            tree = variable.tree
            leaves = variable.leaves_within([tree.index[code] for code in one.codes])
            texts.append(record_condition(self.form.version, self.query.unit, tree, leaves))
        return texts

    @cached_property
    def extra(self) -> list[tuple[Dimension, int]]:
        """The variables of filters with their codes, where the table is a part of a larger one.

        A filter on one code is a cell of a larger table: what is official there is official
        here. One on several codes is none.
        """
        alone = all(len(one.codes) == 1 for one in self.query.where)
        official = bool(self.form.official)
        return [self._path(one) for one in self.query.where] if official and alone else []

    def placed(self, counts: Mapping[str, Table]) -> Counts:
        """The counts as cells of the table that has the filters' variables, too."""
        own = {key: table for key, table in counts.items() if key != _EVERY}
        if not self.extra:
            return own
        return {
            key: dataclasses.replace(
                table,
                dimensions=(*table.dimensions, *(dimension for dimension, _ in self.extra)),
                index=(
                    *table.index,
                    *(np.full(len(table), at, dtype=np.int32) for _, at in self.extra),
                ),
                where=key,
                added_up=False,  # what lies above the codes of filters is not there
            )
            for key, table in own.items()
        }

    def _path(self, one: FilterCodes) -> tuple[Dimension, int]:
        """A filter's variable with its code, those above it, and those that rules name."""
        tree = self.form.unit.variables[one.variable].tree
        rule = parse_filter(self.form.official)
        named = [value for name, value in rule.excluded() if name == one.variable]
        keep = np.zeros(len(tree), dtype=np.bool_)
        keep[0] = True
        for code in (*one.codes, *named):
            at = tree.index.get(code, 0)
            while at > 0:
                keep[at] = True
                at = tree.parents[at]
        cut = (tree if tree.bounds is None else tree.replace(bounds=None)).restricted(keep)
        return Dimension(classifications=(cut,)), cut.index[one.codes[0]]

    def thinned(self, table: ProtectedTable, counts: Mapping[str, Table]) -> ProtectedTable:
        thresholds = self.form.thresholds
        if thresholds is None:
            return table
        rules, method = PartRules(**thresholds), self.form.inputs.programme.method(ANSWER)
        every: Any = counts.get(_EVERY, counts.get(UNIVERSE)) if self.form.guarded else "none"
        decided = [
            check_parts(
                dataclasses.replace(each, name=table.name),
                rules,
                universe=every if each.where else None,
                deviation=partial(method.quality, self.form.inputs),
                areas=self.form.inputs.programme.part_areas(ANSWER),
            )
            for key, each in counts.items()
            if key != _EVERY
        ]
        return suppress_parts(table, joint_decisions(decided))


#: The count of all records, beside those that a filter of a programme names.
_EVERY = "\0every"


def _without(table: ProtectedTable, width: int, codes: Sequence[int]) -> ProtectedTable:
    """The table without the variables of filters, which stand after those that span it."""
    if not codes:
        return table
    on_code = np.ones(table.stored, dtype=np.bool_)
    for at, code in enumerate(codes, width):  # rules for zeros fill the whole grid
        on_code &= table.index[at] == code
    kept = [*range(width), *range(width + len(codes), len(table.dimensions))]
    return dataclasses.replace(
        table,
        dimensions=tuple(table.dimensions[at] for at in kept),
        index=tuple(table.index[at][on_code] for at in kept),
        value=table.value[on_code],
        status=table.status[on_code],
        parts=None,
    )
