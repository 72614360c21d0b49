"""`SessionCheck`: a researcher's own check before handing in, with the supporting counts.

In: outputs and evidence of a session (CONFIDENTIAL). Out: for each output verdict, reasons, and the
cases behind the numbers that are shown. Of hidden cells there is nothing but how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet_fire.research_session.calls import CallResult
from discreet_fire.research_session.linked_outputs import held_against, not_followed, numbers_now
from discreet_fire.research_session.outputs import SessionOutput
from discreet_fire.statistics import CheckVerdict, SafeLimits


@dataclass(frozen=True, kw_only=True)
class OutputSupport:
    """What stands behind one output. CONFIDENTIAL: for the researcher and the officer."""

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
        """What is left to do before handing in."""
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
        lines += [f"[{at}] was not held against other tables" for at in self.unfollowed]
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


def check_of(
    outputs: Sequence[SessionOutput],
    results: Mapping[int, CallResult],
    hidden: Mapping[int, frozenset[int]],
    limits: SafeLimits,
) -> SessionCheck:
    """Check a session."""
    few: dict[int, int] = {}
    for one in numbers_now(results, hidden):
        shown = one.table.cases[~one.table.hidden]
        for n in shown[shown > 0].tolist():
            few[one.output] = min(n, few.get(one.output, n))
    return SessionCheck(
        minimum=limits.minimum,
        outputs=tuple(_support(one, results[one.number], few.get(one.number)) for one in outputs),
        linked=held_against(results, limits, hidden),
        unfollowed=not_followed(results),
    )


def _support(output: SessionOutput, result: CallResult, fewest: int | None) -> OutputSupport:
    cells = 0 if output.table is None else len(next(iter(output.table.measures.values()), ()))
    gone = 0 if output.table is None else output.table.hidden
    return OutputSupport(
        number=output.number,
        name=output.name,
        summary=output.summary,
        comment=output.comment,
        exception=output.exception,
        shown=cells - gone,
        hidden=gone,
        fewest=fewest,
        observations=_observations(result),
    )


def _observations(result: CallResult) -> int | None:
    number = result.result.stored.get("N")
    return None if number is None or number != int(number) else int(number)
