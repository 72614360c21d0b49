"""Tables of a session, taken together, and the check before handing in. CONFIDENTIAL.

In: outputs and results of calls, and cells that are hidden besides. Out: what the tables give away,
in sentences without a figure of the data; the cells of each output with which nothing follows any
more; for each output verdict, reasons, and the cases behind the numbers that are shown. Of hidden
cells there is nothing but how many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import OutputCheckError
from discreet_fire.findings import Finding
from discreet_fire.linked_tables import (
    LEFT,
    ShownCounts,
    ShownSums,
    ShownTable,
    linked_findings,
    more_withheld,
    related_sums,
    sum_systems_of,
    systems_of,
)
from discreet_fire.research_session.calls import (
    CallResult,
    CallSetting,
    SessionCall,
    answered,
)
from discreet_fire.research_session.outputs import SessionOutput
from discreet_fire.research_session.session_data import SessionData
from discreet_fire.statistics import Check, CheckVerdict, SafeLimits

#: What is hidden in one table can be told by another one; so often tables are looked at again.
_ROUNDS = 10


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SessionEntry:
    """One output of a session with all that is behind it (confidential)."""

    number: int
    name: str
    call: SessionCall
    result: CallResult
    hidden: frozenset[int] = frozenset()  # cells that are hidden because of other outputs
    told: tuple[str, ...] = ()  # what it gives away together with those before
    comment: str = ""
    exception: str = ""

    def shown(self, language: str) -> SessionOutput:
        """What may be shown of it."""
        result, table, frame = self.result, self.result.table, self.result.result.frame
        review, fail = CheckVerdict.review, CheckVerdict.fail
        checks = [Check(rule="linked-tables", verdict=review, reason=one) for one in self.told]
        if table is not None and self.hidden:
            table = table.without(self.hidden)
            reason = "suppressed so that other tables do not disclose suppressed cells"
            checks.append(Check(rule="linked", verdict=fail, reason=reason))
        return SessionOutput(
            number=self.number,
            name=self.name,
            call=str(self.call),
            checks=(*checks, *result.checks),
            table=table,
            body="" if table is not None else result.result.shown,
            coefficients=frame.write_csv() if table is None and frame is not None else "",
            style=result.style if table is not None else None,
            measure=result.measure,
            language=language,
            comment=self.comment,
            exception=self.exception,
        )


class LinkedOutput(NamedTuple):
    """Counts or sums of an output as they are shown now (confidential)."""

    output: int
    numbers: ShownTable
    places: tuple[int, ...] | None  # which cell of the shown table each cell is

    def place(self, cell: int) -> int:
        """The place of a cell in the table that is shown."""
        cuts = self.numbers.table.cuts
        cell = cell if cuts is None else int(cuts.cell)
        return cell if self.places is None else self.places[cell]


@dataclass(frozen=True, kw_only=True)
class OutputSupport:
    """Evidence behind one output. CONFIDENTIAL: for the researcher and the officer."""

    number: int  # the output
    name: str  # what it is called
    summary: str  # verdict and reasons
    comment: str  # what the researcher says
    exception: str  # why an exception is asked for
    shown: int  # how many cells with a number are shown
    hidden: int  # how many are hidden
    #: Cases behind the smallest count that is shown and not zero; None if not known
    fewest: int | None
    observations: int | None  # records that it is about, where they are shown


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionCheck:
    """A researcher's own check. CONFIDENTIAL: for the researcher and the officer."""

    minimum: int  # fewest cases behind a number
    outputs: tuple[OutputSupport, ...]  # what stands behind each output
    linked: tuple[str, ...]  # what tables give away, taken together
    unfollowed: tuple[int, ...]  # outputs whose counts were not held against others

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "minimum": self.minimum,
            "outputs": [vars(one) for one in self.outputs],
            "linked": list(self.linked),
            "unfollowed": list(self.unfollowed),
        }

    @property
    def advice(self) -> tuple[str, ...]:
        """Remaining steps before submission."""
        todo = [
            f"[{one.number}] say why it may leave: s.comment({one.number}, …), or "
            f"s.request_exception({one.number}, …)"
            for one in self.outputs
            if not one.summary.startswith(CheckVerdict.passed.value)
            and not (one.comment or one.exception)
        ]
        if self.linked:
            todo.append("tables disclose suppressed cells: s.protect(), or s.remove() one")
        return tuple(todo)

    def __str__(self) -> str:
        lines = []
        for one in self.outputs:
            few = "" if one.fewest is None else f"; smallest shown count: {one.fewest} cases"
            lines.append(f"[{one.number}] {one.name}: {one.summary}{few}")
        lines += [f"together: {one}" for one in self.linked]
        lines += [f"[{at}] was not compared with other tables" for at in self.unfollowed]
        return "\n".join([*lines, *(f"to do: {one}" for one in self.advice)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The check as notebooks show it."""
        rows = "".join(
            f'<tr><th scope="row">{one.number}</th><td>{escape(one.name)}</td>'
            f"<td>{escape(one.summary)}</td><td>{one.shown}</td><td>{one.hidden}</td>"
            f"<td>{'' if one.fewest is None else one.fewest}</td></tr>\n"
            for one in self.outputs
        )
        heads = ("output", "name", "verdict", "shown cells", "suppressed cells", "smallest count")
        head = "".join(f'<th scope="col">{one}</th>' for one in heads)
        todo = "".join(f"<li>{escape(one)}</li>" for one in (*self.linked, *self.advice))
        return (
            "<table>\n<caption>Check before handing in</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
            + (f"<ul>{todo}</ul>\n" if todo else "")
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SessionTables:
    """All outputs of a session by their numbers, taken together (confidential)."""

    limits: SafeLimits
    entries: dict[int, SessionEntry] = field(default_factory=dict)

    def answered(self, number: int, call: SessionCall, data: SessionData) -> CallResult:
        """Work out a call after all others."""
        results = [one.result for one in self.entries.values()]
        earlier = [one.result for one in results if one.about == "model"]
        title = f"output {number}, {call.method}"
        return answered(
            call, CallSetting(data=data, limits=self.limits, title=title, earlier=earlier)
        )

    def now(self) -> Iterator[LinkedOutput]:
        """The counts and sums of all outputs as they are shown now."""
        for output, entry in self.entries.items():
            gone = entry.hidden
            for one in entry.result.linked:
                if one.numbers is None:
                    continue
                shown = LinkedOutput(output, one.numbers, one.places)
                before = one.numbers.table.hidden
                mask = np.array([shown.place(at) in gone for at in range(before.size)])
                if not mask.any():
                    yield shown
                elif one.numbers.table.cuts is None:  # of quantiles, all of one cell, none is left
                    hidden = before | mask.reshape(before.shape)
                    yield shown._replace(numbers=one.numbers.moved(hidden=hidden))

    @property
    def unfollowed(self) -> tuple[int, ...]:
        """Outputs whose numbers cannot be held against others, such as weighted means."""
        return tuple(
            output
            for output, entry in self.entries.items()
            if any(one.numbers is None for one in entry.result.linked)
        )

    def notes(self) -> tuple[Finding, ...]:
        """All that is found about the tables, also what was not looked at."""
        shown = [one.numbers for one in self.now()]
        if not any(one.table.withheld.any() for one in shown):
            return ()  # nothing is hidden that others could give away
        return linked_findings(shown, limits=self.limits)

    def told(self) -> tuple[str, ...]:
        """Disclosure by all tables together, in sentences."""
        return tuple(
            f"{one.what} ({one.hint})" if one.hint else one.what
            for one in self.notes()
            if one.rule != LEFT
        )

    def protected(self) -> dict[int, SessionEntry]:
        """Outputs that change, with cells hidden so that nothing that is hidden follows."""
        now = replace(self, entries=dict(self.entries))
        for _ in range(_ROUNDS):
            if not now.told():
                changed = now.entries.items()
                return {at: one for at, one in changed if one is not self.entries[at]}
            before = dict(now.entries)
            for output, places in _more(list(now.now()), self.limits):
                entry = now.entries[output]
                if entry.result.table is None:
                    message = f"output {output} has no cells that could be suppressed"
                    hint = "s.remove() one of the outputs"
                    raise OutputCheckError(message, code="linked", hint=hint)
                more = entry.result.table.together(places)
                if not more <= entry.hidden:
                    now.entries[output] = replace(entry, hidden=entry.hidden | more)
            if now.entries == before:
                break
        hint = "s.remove() one of them, or use coarser groups"
        message = "no cells were found that protect these tables together"
        raise OutputCheckError(message, code="linked", hint=hint)

    def check(self) -> SessionCheck:
        """Verdicts, reasons and underlying counts of the outputs."""
        few = defaultdict[int, list[int]](list)
        for one in self.now():
            table = one.numbers.table
            if table.cuts is None:
                few[one.output] += table.cases[~table.hidden & (table.cases > 0)].tolist()
        support = []
        for number, entry in self.entries.items():
            output = entry.shown(self.limits.language)
            cells = gone = 0
            if output.table is not None:
                cells, gone = len(output.table.frame()), output.table.hidden
            n = entry.result.result.stored.get("N")
            support.append(
                OutputSupport(
                    number=number,
                    name=output.name,
                    summary=output.summary,
                    comment=output.comment,
                    exception=output.exception,
                    shown=cells - gone,
                    hidden=gone,
                    fewest=min(few[number], default=None),
                    observations=None if n is None or n != int(n) else int(n),
                )
            )
        return SessionCheck(
            minimum=self.limits.minimum,
            outputs=tuple(support),
            linked=self.told(),
            unfollowed=self.unfollowed,
        )


def _more(shown: list[LinkedOutput], limits: SafeLimits) -> Iterator[tuple[int, set[int]]]:
    """What to hide besides: the output, and places in its table."""
    of = {id(one.numbers.table): one for one in shown}
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
        if related.opened():
            hidden = np.any(related.hidden, axis=0)
            for one in chain.from_iterable(related.sums):
                table, more = of[id(one.place)], np.flatnonzero(hidden & ~one.place.hidden.ravel())
                yield table.output, {table.place(at) for at in more.tolist()}
