"""`ResearchSession`: statistics in a notebook whose outputs can be handed in.

In: records (CONFIDENTIAL), the rules of the centre, calls of a researcher. Out: `SessionOutput`s
that show what may be shown, with verdict and reason; findings on tables taken together, at once;
a folder for the review queue. True values stay in this process.
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from discreet.errors import DisclosureWarning, OutputCheckError
from discreet_fire.persons import plain_text
from discreet_fire.research_session.calls import (
    METHODS,
    CallResult,
    CallSetting,
    SessionCall,
    answered,
)
from discreet_fire.research_session.linked_outputs import held_against, protected_together
from discreet_fire.research_session.outputs import SessionOutput, listed
from discreet_fire.research_session.pictures import Style
from discreet_fire.research_session.sacro_results import write_sacro
from discreet_fire.research_session.session_check import SessionCheck, check_of
from discreet_fire.research_session.session_data import SessionData
from discreet_fire.research_session.submission_folder import (
    MOST_OUTPUTS,
    HandedOutput,
    HandedSession,
    write_folder,
)
from discreet_fire.statistics import Check, CheckVerdict, SafeLimits, limits_of

#: What outputs may be called: names of files everywhere.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 _-]{0,58}[A-Za-z0-9])?")

Which = SessionOutput | int | str


def session(
    project: str,
    *,
    data: Any,
    entity: str | None = None,
    limits: SafeLimits | str | os.PathLike[str] | None = None,
) -> ResearchSession:
    """Begin a session.

    >>> import polars as pl
    >>> s = session("P17", data=pl.DataFrame({"region": ["n"] * 6 + ["s"] * 5 + ["w"] * 2}))
    >>> s.crosstab("region").verdict.value
    'fail'
    """
    if isinstance(limits, str | os.PathLike):
        limits = SafeLimits.read(limits)
    return ResearchSession(project, SessionData.of(data, entity), limits_of(limits))


class ResearchSession:
    """A session of a researcher (holds confidential records; shows what may be shown)."""

    def __init__(self, project: str, data: SessionData, limits: SafeLimits) -> None:
        self.project = plain_text(project, "project")
        if not self.project:
            raise OutputCheckError("a project has a name", code="session", where="project")
        self._data = data
        self._limits = limits
        self._outputs: dict[int, SessionOutput] = {}
        self._calls: dict[int, SessionCall] = {}
        self._results: dict[int, CallResult] = {}
        self._hidden: dict[int, frozenset[int]] = {}
        self._last = 0

    # --- statistics ----------------------------------------------------------------

    def crosstab(
        self,
        rows: str | Sequence[str],
        columns: str | Sequence[str] | None = None,
        *,
        values: str | None = None,
        statistics: str | Sequence[str] = "mean",
        percent: str | None = None,
        weights: str | None = None,
        where: str | None = None,
        missing: bool = False,
    ) -> SessionOutput:
        """How often values occur, or statistics of a variable, by one to three variables."""
        return self._asked(
            "crosstab", rows=rows, columns=columns, values=values, statistics=statistics,
            percent=percent, weights=weights, where=where, missing=missing,
        )  # fmt: skip

    def summary(
        self,
        variables: str | Sequence[str],
        *,
        by: str | Sequence[str] | None = None,
        detail: bool = False,
        weights: str | None = None,
        where: str | None = None,
        missing: bool = False,
    ) -> SessionOutput:
        """Number of cases, mean and standard deviation of variables."""
        return self._asked(
            "summary", variables=variables, by=by, detail=detail, weights=weights, where=where,
            missing=missing,
        )  # fmt: skip

    def ols(self, formula: str, **options: Any) -> SessionOutput:
        """Linear regression by least squares."""
        return self._asked("ols", formula=formula, **options)

    def logit(self, formula: str, **options: Any) -> SessionOutput:
        """Logistic regression; the arguments are those of `ols`."""
        return self._asked("logit", formula=formula, **options)

    def probit(self, formula: str, **options: Any) -> SessionOutput:
        """Probit regression; the arguments are those of `ols`."""
        return self._asked("probit", formula=formula, **options)

    def survival(
        self,
        time: str,
        event: str,
        *,
        by: str | None = None,
        edges: Sequence[float] | None = None,
        width: float | None = None,
        where: str | None = None,
    ) -> SessionOutput:
        """Survival as Kaplan and Meier estimate it, in classes of time."""
        return self._asked(
            "survival", time=time, event=event, by=by, edges=edges, width=width, where=where
        )

    def hist(
        self,
        variable: str,
        *,
        edges: Sequence[float] | None = None,
        start: float | None = None,
        width: float | None = None,
        where: str | None = None,
    ) -> SessionOutput:
        """A histogram; classes of few cases are merged with their neighbours."""
        return self._asked(
            "hist", variable=variable, edges=edges, start=start, width=width, where=where
        )

    def figure(
        self, output: Which, style: Style = "bar", *, measure: str | None = None
    ) -> SessionOutput:
        """A picture of a table; hidden cells have no mark."""
        of = self._calls[self._known(output).number].to_dict()
        return self._asked("figure", of=of, style=style, measure=measure)

    def _asked(self, method: str, **arguments: Any) -> SessionOutput:
        call = SessionCall(method=method, arguments=_plain_arguments(method, arguments))
        number = self._last + 1
        if number > MOST_OUTPUTS:
            message, hint = f"a session has at most {MOST_OUTPUTS} outputs", "begin another one"
            raise OutputCheckError(message, code="session", hint=hint)
        setting = CallSetting(
            data=self._data,
            limits=self._limits,
            title=f"output {number}, {method}",
            earlier=[one.result for one in self._results.values() if one.about == "model"],
        )
        result = answered(call, setting)
        shown = shown_output(call, result, number, f"{method}-{number}", self._limits)
        self._last = number
        self._outputs[number], self._calls[number] = shown, call
        self._results[number], self._hidden[number] = result, frozenset()
        self._warn(number)
        return self._outputs[number]

    def _warn(self, number: int) -> None:
        """Say at once if a new table gives away, with others, what is hidden."""
        if not self._results[number].linked:
            return
        sentences = held_against(self._results, self._limits, self._hidden)
        new = [one for one in sentences if one not in {check.reason for check in self._old(number)}]
        if not new:
            return
        checks = [
            Check(rule="linked-tables", verdict=CheckVerdict.review, reason=one) for one in new
        ]
        shown = self._outputs[number]
        self._outputs[number] = replace(shown, checks=(*checks, *shown.checks))
        warnings.warn(f"output {number}: {'; '.join(new)}", DisclosureWarning, stacklevel=4)

    def _old(self, number: int) -> list[Check]:
        return [
            check
            for other, one in self._outputs.items()
            for check in one.checks
            if other != number and check.rule == "linked-tables"
        ]

    # --- outputs -------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[SessionOutput, ...]:
        """The outputs as they are now, in order."""
        return tuple(self._outputs.values())

    def output(self, which: Which) -> SessionOutput:
        """One output as it is now."""
        return self._known(which)

    def comment(self, which: Which, text: str) -> SessionOutput:
        """Say something about an output to the officer."""
        return self._changed(which, comment=plain_text(text, "comment"))

    def request_exception(self, which: Which, reason: str) -> SessionOutput:
        """Ask the officer to accept an output although a rule speaks against it.

        What is hidden stays hidden; the officer decides, and can repeat the call with other
        rules.
        """
        text = plain_text(reason, "reason")
        if not text:
            raise OutputCheckError("an exception needs a reason", code="reason", hint="say why")
        return self._changed(which, exception=text)

    def rename(self, which: Which, name: str) -> SessionOutput:
        """Give an output another name; the file of it is called so."""
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            message, hint = "this is no name of an output", "letters, figures, blanks, - and _"
            raise OutputCheckError(message, code="name", where=ascii(name)[:60], hint=hint)
        output = self._known(which)
        if any(
            one.name.casefold() == name.casefold() and one.number != output.number
            for one in self.outputs
        ):
            raise OutputCheckError("another output has this name", code="name", where=name)
        return self._changed(output.number, name=name)

    def remove(self, which: Which) -> None:
        """Take an output out of the session; it is not handed in."""
        number = self._known(which).number
        for kept in (self._outputs, self._calls, self._results, self._hidden):
            kept.pop(number)

    def _changed(self, which: Which, **parts: Any) -> SessionOutput:
        output = self._known(which)
        self._outputs[output.number] = replace(output, **parts)
        return self._outputs[output.number]

    def _known(self, which: Which) -> SessionOutput:
        if isinstance(which, SessionOutput):
            which = which.number
        for one in self.outputs:
            if which in (one.number, one.name) and not isinstance(which, bool):
                return one
        hint = f"outputs: {', '.join(f'{one.number} {one.name}' for one in self.outputs)}"
        message = "there is no such output"
        raise OutputCheckError(message, code="output", where=ascii(which)[:60], hint=hint)

    # --- handing in ----------------------------------------------------------------

    def check(self) -> SessionCheck:
        """What an officer will see: verdicts, reasons, and the counts behind what is shown."""
        return check_of(self.outputs, self._results, self._hidden, self._limits)

    def protect(self) -> tuple[SessionOutput, ...]:
        """Hide what, with all tables taken together, would give hidden cells away.

        Returns:
            The outputs in which something was hidden besides.
        """
        more = protected_together(self._results, self._hidden, self._limits)
        for number, places in more.items():
            self._hidden[number] = places
            call, result, before = self._calls[number], self._results[number], self._outputs[number]
            shown = shown_output(call, result, number, before.name, self._limits, places)
            self._outputs[number] = replace(
                shown, comment=before.comment, exception=before.exception
            )
        for number, one in self._outputs.items():  # nothing follows from them any more
            left = tuple(check for check in one.checks if check.rule != "linked-tables")
            self._outputs[number] = replace(one, checks=left)
        return tuple(self._outputs[number] for number in more)

    def finalise(self, folder: str | os.PathLike[str]) -> Path:
        """Write all outputs as a submission that the review queue takes."""
        self._refuse_linked()
        handed = HandedSession(
            project=self.project,
            entity=self._data.entity,
            minimum=self._limits.minimum,
            outputs=[
                HandedOutput.of(
                    self._outputs[number],
                    self._calls[number],
                    self._hidden[number],
                    self._results[number].variables,
                )
                for number in self._outputs
            ],
        )
        return write_folder(Path(folder), handed, self.outputs, self.check())

    def to_sacro(self, folder: str | os.PathLike[str]) -> Path:
        """Write all outputs in the form of SACRO (``results.json``), for its viewer and for
        acro.
        """
        self._refuse_linked()
        return write_sacro(self.outputs, Path(folder))

    def _refuse_linked(self) -> None:
        """Refuse to write nothing, or tables that give away what is hidden."""
        if not self._outputs:
            raise OutputCheckError("there is no output to hand in", code="no-output")
        sentences = held_against(self._results, self._limits, self._hidden)
        if sentences:
            hint = "s.protect() hides what is needed, or s.remove() one of the tables"
            raise OutputCheckError("; ".join(sentences), code="linked", hint=hint)

    def _repr_html_(self) -> str:
        """All outputs as notebooks show them."""
        return "".join(one._repr_html_() for one in self.outputs)

    def __str__(self) -> str:
        return listed(self.outputs)

    def __repr__(self) -> str:
        return f"<ResearchSession {self.project}: {len(self._outputs)} outputs>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session holds records and does not leave the process")


def shown_output(
    call: SessionCall,
    found: CallResult,
    number: int,
    name: str,
    limits: SafeLimits,
    hidden: frozenset[int] = frozenset(),
) -> SessionOutput:
    """What is shown of the result of a call."""
    table, checks = found.table, found.checks or tuple(found.result.checks)
    if table is not None and hidden:
        table = table.without(hidden)
        reason = "hidden so that other tables do not give hidden cells away"
        checks = (Check(rule="linked", verdict=CheckVerdict.fail, reason=reason), *checks)
    frame = found.result.frame
    return SessionOutput(
        number=number,
        name=name,
        call=str(call),
        checks=checks,
        table=table,
        body="" if table is not None else found.result.shown,
        coefficients=frame.write_csv() if table is None and frame is not None else "",
        style=found.style if table is not None else None,
        measure=found.measure,
        language=limits.language,
    )


def _plain_arguments(method: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are not as usual, with lists and plain numbers in place of other kinds."""
    plain_arguments = {}
    usual = inspect.signature(METHODS[method]).parameters
    for name, value in arguments.items():
        if isinstance(value, tuple | list):
            value = list(value)
        if hasattr(value, "item") and not isinstance(value, str) and getattr(value, "ndim", 1) == 0:
            value = value.item()  # a number of numpy
        plain = isinstance(value, str | bool | int | float | list | dict | None)
        if not plain or (isinstance(value, list) and not all(map(_is_plain, value))):
            hint = "write names of variables, numbers and texts"
            message = f"an argument cannot be a {type(value).__name__}"
            raise OutputCheckError(message, code="call", where=name, hint=hint)
        if name not in usual or value != usual[name].default:
            plain_arguments[name] = value
    return plain_arguments


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)
