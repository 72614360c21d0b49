"""Tables of a session, taken together: what they give away, and what to hide besides. CONFIDENTIAL.

In: results of calls, and cells that are hidden besides. Out: sentences without a figure of the
data; or the cells of each output with which nothing follows any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from discreet.errors import OutputCheckError
from discreet_fire.findings import Finding
from discreet_fire.linked_tables import (
    LEFT,
    ShownCounts,
    ShownSums,
    linked_findings,
    more_withheld,
    related_sums,
    sum_systems_of,
    systems_of,
)
from discreet_fire.research_session.calls import CallResult, LinkedNumbers
from discreet_fire.statistics import SafeLimits

#: What is hidden in one table can be told by another one; so often tables are looked at again.
_ROUNDS = 10

Hidden = Mapping[int, frozenset[int]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedOutput:
    """Counts or sums of an output as they are shown now (confidential)."""

    output: int
    of: LinkedNumbers
    numbers: ShownCounts | ShownSums

    @property
    def table(self) -> ShownCounts:
        """The cells and the records in them."""
        return self.numbers.place if isinstance(self.numbers, ShownSums) else self.numbers

    def place(self, cell: int) -> int:
        """The place of a cell in the table that is shown."""
        return cell if self.of.places is None else self.of.places[cell]


def numbers_now(results: Mapping[int, CallResult], hidden: Hidden) -> Iterator[LinkedOutput]:
    """The counts and sums of all outputs as they are shown now."""
    for output, result in results.items():
        for one in result.linked:
            if one.numbers is not None:
                shown = LinkedOutput(output=output, of=one, numbers=one.numbers)
                yield _without(shown, hidden.get(output, frozenset()))


def _without(shown: LinkedOutput, gone: frozenset[int]) -> LinkedOutput:
    """The same with some cells of the shown table hidden."""
    if not gone:
        return shown
    before = shown.table.hidden
    mask = np.array([shown.place(at) in gone for at in range(before.size)])
    table = replace(shown.table, hidden=before | mask.reshape(before.shape))
    if isinstance(shown.numbers, ShownSums):
        return replace(shown, numbers=replace(shown.numbers, place=table))
    return replace(shown, numbers=table)


def not_followed(results: Mapping[int, CallResult]) -> tuple[int, ...]:
    """Outputs whose numbers cannot be held against others, such as weighted means."""
    return tuple(
        output
        for output, result in results.items()
        if any(one.numbers is None for one in result.linked)
    )


def linked_notes(
    results: Mapping[int, CallResult], limits: SafeLimits, hidden: Hidden | None = None
) -> tuple[Finding, ...]:
    """All that is found about the tables, also what was not looked at."""
    shown = list(numbers_now(results, hidden or {}))
    if not any(one.table.withheld.any() for one in shown):
        return ()  # nothing is hidden that others could give away
    return linked_findings([one.numbers for one in shown], limits=limits)


def held_against(
    results: Mapping[int, CallResult], limits: SafeLimits, hidden: Hidden | None = None
) -> tuple[str, ...]:
    """What the tables give away, taken together, in sentences."""
    return tuple(
        f"{one.what} ({one.hint})" if one.hint else one.what
        for one in linked_notes(results, limits, hidden)
        if one.rule != LEFT
    )


def protected_together(
    results: Mapping[int, CallResult], hidden: Hidden, limits: SafeLimits
) -> dict[int, frozenset[int]]:
    """Cells to hide besides, so that nothing that is hidden follows; of outputs that change."""
    now = {output: set(cells) for output, cells in hidden.items()}
    for _ in range(_ROUNDS):
        frozen = {output: frozenset(cells) for output, cells in now.items()}
        if not held_against(results, limits, frozen):
            return {at: one for at, one in frozen.items() if one != hidden.get(at, frozenset())}
        for output, places in _more(list(numbers_now(results, frozen)), limits):
            table = results[output].table
            if table is None:
                message = f"output {output} has no cells that could be hidden"
                raise OutputCheckError(message, code="linked", hint="s.remove() one of the outputs")
            now.setdefault(output, set()).update(table.together(places))
        if {at: frozenset(one) for at, one in now.items()} == frozen:
            break
    hint = "s.remove() one of them, or use coarser groups"
    message = "no cells were found that protect these tables together"
    raise OutputCheckError(message, code="linked", hint=hint)


def _more(shown: list[LinkedOutput], limits: SafeLimits) -> Iterator[tuple[int, set[int]]]:
    """What to hide besides: the output, and places in its table."""
    of = {id(one.table): one for one in shown}
    counts = [one.numbers for one in shown if isinstance(one.numbers, ShownCounts)]
    sums = [one.numbers for one in shown if isinstance(one.numbers, ShownSums)]
    for system in chain(systems_of(counts, limits), sum_systems_of(sums, limits)):
        pattern = more_withheld(system)
        if pattern is None:
            continue
        for cell in np.flatnonzero(pattern.hidden(system) & ~system.hidden).tolist():
            table = of[id(system.tables[system.table(cell)])]
            yield table.output, {table.place(system.place(cell))}
    # Sums that add up are withheld in the same cells: each is then as uncertain as it is alone.
    for related in related_sums(sums):
        if any(related.opened()):
            hidden = np.any(related.hidden, axis=0)
            for one in chain.from_iterable(related.sums):
                table, more = of[id(one.place)], np.flatnonzero(hidden & ~one.place.hidden)
                yield table.output, {table.place(at) for at in more.tolist()}
