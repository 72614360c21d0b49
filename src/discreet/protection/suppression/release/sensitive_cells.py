"""From counts to sensitive cells: the rules and marks of a programme, applied. CONFIDENTIAL.

Per value there is what `discreet.primary` finds, with errors placed at the keys of the programme.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError, ProgrammeError
from discreet.plugins import plugin, suffix_of
from discreet.protection.problems import problems_of
from discreet.protection.protocol import COUNT, Counts, Place, ProgrammeView, all_of
from discreet.rules import RuleSet

if TYPE_CHECKING:
    from discreet.rules import Marks, Primary
    from discreet.tables import Table


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
