"""Tables of a session, taken together: what they give away, and what to hide besides. CONFIDENTIAL.

In: results of calls, and cells that are hidden besides. Out: sentences without a figure of the
data; or the cells of each output with which nothing follows any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import OutputCheckError, SuppressionError
from discreet_fire.findings import Finding
from discreet_fire.linked_tables import ShownCounts, linked_findings
from discreet_fire.linked_tables.advice import LEFT, cells_to_withhold
from discreet_fire.linked_tables.system import systems_of
from discreet_fire.research_session.calls import CallResult, LinkedCounts

#: What is hidden in one table can be told by another one; so often tables are looked at again.
_ROUNDS = 10

Hidden = Mapping[int, frozenset[int]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedOutput:
    """Counts of an output as they are shown now (confidential)."""

    output: int
    of: LinkedCounts
    counts: ShownCounts

    def places(self, cell: int) -> int:
        """The place of a cell in the table that is shown."""
        return self.of.places[cell] if self.of.places else cell


def counts_now(results: Mapping[int, CallResult], hidden: Hidden) -> Iterator[LinkedOutput]:
    """The counts of all outputs as they are shown now.

    Args:
        results: What calls gave, by the number of the output.
        hidden: Cells that are hidden besides, by the number of the output.
    """
    for output, result in results.items():
        gone = hidden.get(output, frozenset())
        for one in result.counts:
            if one.counts is None:
                continue
            size = one.counts.hidden.size
            mask = np.array([(one.places[at] if one.places else at) in gone for at in range(size)])
            both = one.counts.hidden | mask.reshape(one.counts.hidden.shape)
            yield LinkedOutput(output=output, of=one, counts=replace(one.counts, hidden=both))


def not_followed(results: Mapping[int, CallResult]) -> tuple[int, ...]:
    """Outputs whose counts cannot be held against others, such as weighted ones.

    Args:
        results: What calls gave, by the number of the output.
    """
    return tuple(
        output
        for output, result in results.items()
        if any(one.counts is None for one in result.counts)
    )


def linked_notes(
    results: Mapping[int, CallResult], minimum: int, hidden: Hidden | None = None
) -> tuple[Finding, ...]:
    """All that is found about the tables, also what was not looked at.

    Args:
        results: What calls gave, by the number of the output.
        minimum: Fewest cases that may stand behind a number.
        hidden: Cells that are hidden besides, by the number of the output.
    """
    tables = [one.counts for one in counts_now(results, hidden or {})]
    return linked_findings(tables, minimum=minimum)


def held_against(
    results: Mapping[int, CallResult], minimum: int, hidden: Hidden | None = None
) -> tuple[str, ...]:
    """What the tables give away, taken together, in sentences.

    Args:
        results: What calls gave, by the number of the output.
        minimum: Fewest cases that may stand behind a number.
        hidden: Cells that are hidden besides, by the number of the output.
    """
    return tuple(
        f"{one.what} ({one.hint})" if one.hint else one.what
        for one in linked_notes(results, minimum, hidden)
        if one.rule != LEFT
    )


def protected_together(
    results: Mapping[int, CallResult], hidden: Hidden, minimum: int
) -> dict[int, frozenset[int]]:
    """Cells to hide besides, so that nothing that is hidden follows; of outputs that change.

    Args:
        results: What calls gave, by the number of the output.
        hidden: Cells that are hidden besides already, by the number of the output.
        minimum: Fewest cases that may stand behind a number.
    """
    now = {output: set(cells) for output, cells in hidden.items()}
    for _ in range(_ROUNDS):
        frozen = {output: frozenset(cells) for output, cells in now.items()}
        if not held_against(results, minimum, frozen):
            return {at: one for at, one in frozen.items() if one != hidden.get(at, frozenset())}
        tables = list(counts_now(results, frozen))
        of = {id(one.counts): one for one in tables}
        for system in systems_of([one.counts for one in tables]):
            try:
                more = cells_to_withhold(system, minimum)
            except SuppressionError:
                continue
            for cell in more.tolist():
                table = of[id(system.tables[system.table(cell)])]
                now.setdefault(table.output, set()).add(table.places(system.place(cell)))
        if {at: frozenset(one) for at, one in now.items()} == frozen:
            break
    what = "no cells were found that protect these tables together"
    raise OutputCheckError(
        what, code="linked", hint="s.remove() one of them, or use coarser groups"
    )
