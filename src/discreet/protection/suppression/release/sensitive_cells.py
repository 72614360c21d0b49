"""What a programme says of cell suppression: what is wrong with it, and its rules, applied.

Problems come with their keys, before any data are seen; tables that may share cells come in groups.
From counts to sensitive cells: per value there is what `discreet.primary` finds, with errors placed
at the keys of the programme. CONFIDENTIAL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.errors import DiscreetError, ProgrammeError, nearest
from discreet.plugins import plugin, suffix_of
from discreet.protection.problems import (
    Found,
    file_problems,
    filter_parsed,
    missing_keys,
    named_twice,
    problems_of,
    warnings_about,
)
from discreet.protection.protocol import COUNT, Counts, Place, ProgrammeView, all_of
from discreet.rules import RuleSet, rule_filters, rule_problems
from discreet.tables import FIGURE

if TYPE_CHECKING:
    from discreet.rules import Marks, Primary
    from discreet.tables import Table

_WEIGHT = "weight"
_Item = TypeVar("_Item")


def check_suppression(programme: ProgrammeView, tables: Sequence[str]) -> Found:
    """Everything about [suppression], [rules.*] and the tables with hidden cells."""
    sound = set()
    for name, entry in programme.document.rules.items():
        problems = list(rule_problems(entry))
        sound |= set() if problems else {name}
        for key, problem in problems:
            path: Place = ("rules", name, key) if key else ("rules", name)
            unsaid = not key and any(lost[:2] == path for lost in programme.skipped)
            if not unsaid:
                yield programme.at(path, problem.what, problem.hint)
        for code in entry.codes:
            yield from _variables(programme, ("rules", name, "codes"), code.cells)
        for key, where in rule_filters(entry):  # they tell who asked for protection
            _, wrong = filter_parsed(programme, ("rules", name, key), where)
            yield from wrong
    for number, folder in enumerate(programme.suppression.earlier):
        yield from file_problems(programme, ("suppression", "earlier", number), folder, folder=True)
    for number, file in enumerate(programme.suppression.earlier_identity):
        yield from file_problems(programme, ("suppression", "earlier_identity", number), file)
    for name in tables:
        yield from _table(programme, name, programme.tables[name], sound)
    if programme.suppression.round_to is not None:
        yield from _rounded(programme, tables)


def _rounded(programme: ProgrammeView, tables: Sequence[str]) -> Found:
    """What does not go with rounding of what is shown."""
    stated = programme.suppression
    for key, wrong in (("intervals", stated.intervals), ("earlier", stated.earlier)):
        if wrong:
            message = "not available with rounded values, because it needs or discloses true values"
            yield programme.at(("suppression", key), message, "remove round_to")
    for name in tables:
        table = programme.tables[name]
        if len(table.values) > 1 or table.ratios:
            message = "tables with rounded values can publish one value, without ratios"
            yield programme.at(("tables", name, "value"), message, "use one table per value")


def _variables(programme: ProgrammeView, path: Place, named: Iterable[str]) -> Found:
    """Variables of rules that span no table: they would judge all cells, for a slip of the pen."""
    known = {variable for table in programme.tables.values() for variable in table.by or []}
    for variable in named:
        if variable not in known:
            message = f"no table has the spanning variable {variable!r}"
            yield programme.at(path, message, nearest(variable, sorted(known)))


def _table(programme: ProgrammeView, name: str, table: Any, sound: set[str]) -> Found:
    path: Place = ("tables", name)
    for doubled in named_twice(table.values):
        yield programme.at((*path, "value"), f"{doubled!r} is named twice")
    if _WEIGHT in table.values:
        message = f"a value column cannot be called {_WEIGHT!r}, the name of sums of weights"
        yield programme.at((*path, "value"), message, "rename the column")
    if len(table.values) > 1 and FIGURE in (table.by or []):
        message = f"a table with several values cannot have a variable called {FIGURE!r}"
        yield programme.at((*path, "by"), message, "rename the variable")
    known = list(programme.document.rules)
    if table.rules is None:
        if not programme.reported(programme.setting(name, "rules")):
            hint = f"known: {', '.join(known)}" if known else "add a section [rules.NAME]"
            yield programme.at((*path, "rules"), "rules is missing", hint)
    elif table.rules not in known:
        if not programme.reported(("rules", table.rules)):
            place = programme.setting(name, "rules")
            hint = nearest(table.rules, known) or "add a section [rules.NAME]"
            yield programme.at(place, f"rules {table.rules!r} not found", hint)
    elif table.rules in sound:
        yield from _fitting(programme, name, table, RuleSet(programme.document.rules[table.rules]))
    if table.shadow is not None and table.values == [COUNT]:
        yield programme.at((*path, "shadow"), "counts cannot have a shadow variable")
    yield from _ratios(programme, path, table)
    if table.known is not None:
        yield from file_problems(programme, (*path, "known"), table.known)
    for number, mark in enumerate(table.marks):
        yield from _mark(programme, (*path, "marks", number), table, mark)


def _ratios(programme: ProgrammeView, path: Place, table: Any) -> Found:
    """Means and ratios are made of two values that the table publishes."""
    for ratio, entry in table.ratios.items():
        place: Place = (*path, "ratios", ratio)
        yield from missing_keys(
            programme, place, entry, part='part = "turnover"', whole='whole = "count"'
        )
        for key in ("part", "whole"):
            if (value := getattr(entry, key)) is not None and value not in table.values:
                message = f"the table does not publish {value!r}"
                hint = "add it to value; otherwise the ratio discloses its suppressed cells"
                yield programme.at((*place, key), message, hint)
        if entry.part == entry.whole and entry.part is not None:
            yield programme.at(place, "part and whole are the same value")
        if ratio in (*table.values, _WEIGHT):
            yield programme.at(
                place, f"the table has a value with the name {ratio!r}", "rename the ratio"
            )


def _fitting(programme: ProgrammeView, name: str, table: Any, rules: RuleSet) -> Found:
    """Whether the rules can judge the table."""
    place = programme.setting(name, "rules")
    if table.values == [COUNT] and not rules.judges(counts=True):
        message = "none of these rules applies to counts"
        yield programme.at(place, message, "add a value column: value = …")
    if rules.holdings and not table.holdings:
        hint = 'add the column of the holding, such as holdings = "group"'
        yield programme.at(place, "a rule applies to holdings, but holdings is missing", hint)
    if (
        table.holdings
        and not rules.holdings
        and programme.setting(name, "holdings") == ("tables", name, "holdings")
    ):
        message = "no rule of this table applies to holdings"
        yield programme.at(("tables", name, "holdings"), message, 'per = "holding" in a rule')
    if table.holdings and table.weight and rules.holdings:
        message = "holdings cannot be identified in a weighted table"
        yield programme.at(
            programme.setting(name, "holdings"), message, "remove the weight or the rule"
        )


def _mark(programme: ProgrammeView, path: Place, table: Any, mark: Any) -> Found:
    if (mark.file is None) == (mark.cells is None):
        message = "a mark needs a file or cells"
        hint = 'marks = "manual.hst", or [[tables.NAME.marks]] with cells = { region = "01" }'
        yield programme.at(path, message, hint)
        return
    if mark.file is not None:
        yield from file_problems(programme, path, mark.file)
        if mark.decisions:
            yield programme.at(path, "a file of marks has its own statuses")
        return
    if mark.separator is not None:
        yield programme.at((*path, "separator"), "this needs a file")
    if not mark.decisions:
        hint = "known: unsafe, safe, protected, secondary; or cost = …"
        yield programme.at(path, "the mark lacks a status or a cost", f"status = … {hint}")
    for variable in mark.cells or {}:
        if variable not in (table.by or []):
            message = f"{variable!r} is not a spanning variable of the table"
            yield programme.at(path, message, nearest(variable, table.by or []))


def suppression_warnings(programme: ProgrammeView, tables: Sequence[str]) -> tuple[str, ...]:
    """Warnings about the section."""
    found = []
    secret = [programme.path] if programme.document.rules else []
    secret += [
        programme.file(mark.file)
        for name in tables
        for mark in programme.tables[name].marks
        if mark.file is not None
    ]
    found += [
        f"other users of this computer can read rules or marks; run: chmod 600 {path}"
        for path in dict.fromkeys(secret)
        if warnings_about(path)
    ]
    used = {programme.tables[name].rules for name in tables}
    found += [
        f"no table uses [rules.{name}]" for name in programme.document.rules if name not in used
    ]
    found += [
        f"no rule of [rules.{table.rules}] applies to counts: {name!r} publishes counts of all "
        "cells with published values"
        for name in tables
        for table in [programme.tables[name]]
        if COUNT in table.values and table.rules in programme.document.rules
        if not RuleSet(programme.document.rules[table.rules or ""]).judges(counts=True)
    ]
    values = {value for table in programme.tables.values() for value in table.value or []}
    found += [
        f"no table publishes [values.{name}]"
        for name in programme.document.values
        if name not in values
    ]
    told = {value for name in programme.tables for value in programme.tells(name)}
    found += [
        f"[relations] {relation.text} has no effect: fewer than two of its values are published"
        for relation in programme.stated_relations
        if len(told & set(relation.values)) < 2
    ]
    if programme.document.suppression is not None and not tables:
        found.append('[suppression] has no effect: no table has protect = "suppress"')
    return tuple(found)


def linked_tables(programme: ProgrammeView, tables: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Tables that may share cells: of the same records and weights, of a value or what adds up.

    Counts of units go with those of their parts.

    A table of several values joins the groups of all of them. Which cells are shared is
    known once the tables are there; tables of a group may turn out to have none in common.
    """
    users: dict[tuple[str, ...], list[str]] = {}
    for name in tables:
        entry = programme.tables[name]
        for value in entry.values:
            users.setdefault((programme.places[name], entry.weight or "", value), []).append(name)
    related = [names for _, names in programme.linked_by_relations(tables)]
    units = [
        [*users.get((unit, "", COUNT), ()), *users.get((parts, "", COUNT), ())]
        for unit, parts, _ in unit_links(programme)
    ]
    return tuple(tuple(group) for group in joined(tables, [*users.values(), *related, *units]))


def table_units(programme: ProgrammeView, tables: Iterable[str]) -> dict[str, str]:
    """Units of the records of tables, if there are several kinds; empty for the main ones."""
    places = {name: programme.places[name] for name in tables}
    if len(set(places.values())) < 2:
        return dict.fromkeys(places, "")
    first: dict[str, str] = {}
    for name, source in programme.sources.items():
        first.setdefault(programme.place_of(name), "" if source.main else name)
    return {name: first[place] for name, place in places.items()}


def unit_links(programme: ProgrammeView) -> list[tuple[str, str, tuple[str, ...]]]:
    """Links of units to their parts: both records and the columns of the unit."""
    return [
        (programme.place_of(name), programme.place_of(parts), by)
        for name, source in programme.sources.items()
        if source.consists_of is not None
        for parts, by in [source.consists_of]
        if parts in programme.sources and programme.place_of(name) != programme.place_of(parts)
    ]


def joined(items: Sequence[_Item], ties: Iterable[Sequence[_Item]]) -> list[list[_Item]]:
    """Items in groups: those that ties hold together, directly or by others between them.

    >>> joined("abcd", ["ad", "db"])
    [['a', 'b', 'd'], ['c']]
    """
    label = {item: item for item in items}
    for tie in ties:
        for other in tie[1:]:
            old, new = label[other], label[tie[0]]
            label = {item: new if own == old else own for item, own in label.items()}
    return [[item for item in items if label[item] == own] for own in dict.fromkeys(label.values())]


def column_of(value: str, weight: str | None) -> str | None:
    """Name of a value for the methods of suppression; None for counts."""
    if value != COUNT:
        return value
    return "weight" if weight else None


def wanted_values(programme: ProgrammeView, entry: Any) -> dict[str, int]:
    """The columns to be summed for a suppressed table, and how many contributions of each."""
    contributions = rules_of(programme, entry).contributions
    columns = [value for value in entry.values if value != COUNT]
    columns += [entry.shadow] if entry.shadow is not None else []
    cost = programme.suppression.cost.of
    columns += [cost] if cost not in ("value", "count", "unity", "distance") else []
    columns += unpublished_values(programme, entry)
    return dict.fromkeys(columns, contributions)


def unpublished_values(programme: ProgrammeView, entry: Any) -> list[str]:
    """Columns that nobody publishes, but that add up with others to values of the table."""
    values = {value for name in programme.tables for value in programme.tells(name)}
    return list(
        dict.fromkeys(
            value
            for each in programme.stated_relations
            if len(values & set(each.values)) > 1 and set(entry.values) & set(each.values)
            for value in each.values
            if value not in values and value != COUNT
        )
    )


def rules_of(programme: ProgrammeView, entry: Any) -> RuleSet:
    """The rules of a table."""
    return RuleSet(programme.document.rules[entry.rules or ""])


@dataclass(frozen=True)
class PrimaryJudge:
    """Applies rules and marks to the tables of a programme. CONFIDENTIAL results."""

    programme: ProgrammeView

    def primaries(
        self, name: str, entry: Any, counts: Counts, holdings: Mapping[str, Table] | None
    ) -> list[Primary]:
        """Sensitive cells of a table of the programme, for each of its values."""
        try:
            marks = self.marks(name, entry)
        except DiscreetError as error:
            raise self._placed(error, ("tables", name, "marks")) from None
        try:
            every = {value: self._with_known(marks, entry, value) for value in entry.values}
        except DiscreetError as error:
            raise self._placed(error, ("tables", name, "known")) from None
        try:
            return [self.judged(entry, v, counts, holdings, own) for v, own in every.items()]
        except DiscreetError as error:
            own = error.code == "marks" and entry.marks
            key: Place = ("tables", name, "marks") if own else ("tables", name)
            raise self._placed(error, key) from None

    def judged(
        self,
        entry: Any,
        value: str,
        counts: Counts,
        holdings: Mapping[str, Table] | None,
        marks: Marks | None = None,
    ) -> Primary:
        """Sensitive cells of one value of a table, by rules and marks."""
        rules = rules_of(self.programme, entry)
        column = None if value == COUNT else value
        found = rules.judged(
            {each: counts[where] for where, each in needed(rules, entry.where).items()},
            value=column,
            marks=marks,
            holdings=holdings,
            shadow=entry.shadow if column is not None else None,
            unit=10.0 ** -self.decimals(value, entry.weight),
            unmatched=self.programme.suppression.unmatched,
        )
        return dataclasses.replace(found, value=column_of(value, entry.weight))

    def decimals(self, value: str, weight: str | None) -> int:
        """Digits after the decimal point of a value; counts have none, sums of weights may."""
        stated = self.programme.document.values.get(value)
        return 0 if stated is None or column_of(value, weight) is None else stated.decimals

    def marks(self, name: str, entry: Any) -> Marks:
        """The marks of a table, from files and from the programme."""
        from discreet.rules import Mark, Marks

        found: list[Mark] = []
        for number, stated in enumerate(entry.marks):
            if stated.file is not None:
                path = self.programme.file(stated.file)
                read = plugin("marks", suffix_of(path), "hst")
                found += read(path, entry.by or [], separator=stated.separator)
                continue
            where = self.programme.problem(("tables", name, "marks", number), "").where
            found.append(Mark(cells=stated.cells or {}, where=where, **stated.decisions))
        return Marks(found, f"tables.{name}.marks")

    def _with_known(self, marks: Marks, entry: Any, value: str) -> Marks:
        """The marks, and what the public knows of cells beforehand."""
        if entry.known is None:
            return marks
        from discreet.rules import Marks, read_bounds

        own = None if value == COUNT else value
        path = self.programme.file(entry.known)
        return Marks([*marks, *read_bounds(path, entry.by or [], value=own)], marks.source)

    def _placed(self, error: DiscreetError, key: Place) -> ProgrammeError:
        """The error, with the key of the programme that it belongs to."""
        problems = problems_of(error, self.programme, key)
        single = len(problems) == 1
        return ProgrammeError(
            problems[0].what if single else error.what,
            code=error.code,
            where=f"{self.programme.path}, {problems[0].where}" if single else str(key[1]),
            hint=problems[0].hint if single else error.hint,
            problems=() if single else problems,
        )


def strictest(found: Sequence[Primary]) -> Primary:
    """Strictest verdicts of several sets of rules on the cells of one table."""
    sensitive = np.any([item.sensitive for item in found], axis=0)
    levels: dict[str, Any] = {
        name: np.max([getattr(item, name) for item in found], axis=0)
        for name in ("lower", "upper", "sliding", "at_least")
    }
    reason = np.zeros(len(sensitive), dtype=np.int8)
    for item in found:
        reason = np.where((reason == 0) & item.sensitive, item.reason, reason)
    return dataclasses.replace(
        found[0],
        verdict=sensitive.astype(np.int8),
        reason=reason.astype(np.int8),
        rules=np.concatenate([item.rules for item in found]),
        rule_status=tuple(code for each in found for code in each.rule_status),
        at_most=np.min([item.at_most for item in found], axis=0),
        opens=np.any([item.opens for item in found], axis=0),
        **levels,
    )


def counted_holdings(
    records: Any, spanning: Sequence[Any], entry: Any, rules: RuleSet, name: str
) -> Mapping[str, Table] | None:
    """The holdings of a table, if its rules look at them; and those of each filter of rules."""
    if not rules.holdings or not entry.holdings:
        return None
    from discreet.rules import count_holdings

    values = [value for value in entry.values if value != COUNT]
    shadow = [entry.shadow] if entry.shadow is not None else []
    counted: dict[str, Any] = {
        "holding": entry.holdings,
        "values": list(dict.fromkeys([*values, *shadow])),
        "contributions": rules.contributions,
        "where": entry.where or None,
        "name": name,
    }
    return {
        item: count_holdings(records, list(spanning), having=item or None, **counted)
        for item in ("", *rules.filters)
    }


def needed(rules: RuleSet, where: str | None) -> Mapping[str, str]:
    """The filters whose counts a table needs, by themselves: its own, and those of its rules."""
    return {all_of(where, item): item for item in ("", *rules.filters)}
