"""`ResearchSession`: statistics in a notebook whose outputs can be handed in, and repeated.

In: records (CONFIDENTIAL), the rules of the centre, calls of a researcher; or what was asked for,
from a folder that anybody can have written. Out: `SessionOutput`s that show what may be shown, with
verdict and reason; findings on tables taken together, at once; a folder for the review queue; for
each output that was handed in whether its files are what the call gives here. True values stay in
this process.
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from discreet.errors import DisclosureWarning, DiscreetError, OutputCheckError
from discreet_fire.findings import Finding
from discreet_fire.persons import plain_text
from discreet_fire.research_session.calls import (
    METHODS,
    CallResult,
    CallSetting,
    SessionCall,
    answered,
)
from discreet_fire.research_session.outputs import SessionOutput, Style
from discreet_fire.research_session.session_check import SessionCheck, SessionTables
from discreet_fire.research_session.session_data import SessionData
from discreet_fire.research_session.submission_folder import (
    MOST_OUTPUTS,
    HandedCheck,
    HandedOutput,
    HandedSession,
    files_of,
    write_folder,
    write_sacro,
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
        self._tables = SessionTables(limits=limits, results={}, hidden={})
        self._own: set[str] = set()  # variables that are none of the data
        self._last = 0

    # --- statistics ----------------------------------------------------------------

    def crosstab(
        self,
        rows: Any,
        columns: Any = None,
        values: Any = None,
        **options: Any,
    ) -> SessionOutput:
        """Counts of values, or statistics of variables, by one to three variables.

        Variables are names or columns of the data, such as ``df.age``. Options are `statistics`,
        `percent`, `weights`, `where`, `missing` and `rounding`, by which counts are multiples of
        a number and none is hidden. The arguments of pandas are known, too.
        """
        return self._asked(
            "crosstab", rows=rows, columns=columns, values=values, **table_arguments(options)
        )

    def pivot_table(
        self, data: Any = None, values: Any = None, index: Any = None, columns: Any = None,
        aggfunc: Any = "mean", **pandas: Any,
    ) -> SessionOutput:  # fmt: skip
        """Statistics of variables by others, as pandas writes it; `data` is that of the session."""
        if values is None or (index is None and columns is None):
            hint = "s.pivot_table(df, values='wage', index='region', aggfunc='mean')"
            raise OutputCheckError("name values and what spans them", code="crosstab", hint=hint)
        rows, columns = (columns, None) if index is None else (index, columns)
        return self.crosstab(rows, columns, values, aggfunc=aggfunc, **pandas)

    def summary(self, variables: Any, **options: Any) -> SessionOutput:
        """Number of cases, mean and standard deviation of variables.

        Options are `by`, `detail`, `weights`, `where` and `missing`.
        """
        return self._asked("summary", variables=variables, **options)

    def ols(self, formula: Any, data: Any = None, **options: Any) -> SessionOutput:
        """Linear regression by least squares: of a formula, or of an outcome and columns."""
        return self._model("ols", formula, data, options)

    def logit(self, formula: Any, data: Any = None, **options: Any) -> SessionOutput:
        """Logistic regression; the arguments are those of `ols`."""
        return self._model("logit", formula, data, options)

    def probit(self, formula: Any, data: Any = None, **options: Any) -> SessionOutput:
        """Probit regression; the arguments are those of `ols`."""
        return self._model("probit", formula, data, options)

    def utest(self, formula: str, variable: Any, **options: Any) -> SessionOutput:
        """Whether the outcome of a formula is U-shaped in a variable; the square is added to it.

        Options are `interval` (two ends), `fieller`, `weights` and `where`.
        """
        return self._asked("utest", formula=formula, variable=variable, **options)

    def _model(
        self, method: str, formula: Any, data: Any, options: dict[str, Any]
    ) -> SessionOutput:
        """A model by a formula on the data of the session, or by columns of it."""
        if not isinstance(formula, str):
            names = [self._plain(data[name]) for name in data.columns if name != "const"]
            constant = "" if "const" in data.columns else " - 1"
            formula = f"{self._plain(formula)} ~ {' + '.join(names)}{constant}"
        return self._asked(method, formula=formula, **options)

    olsr, logitr, probitr = ols, logit, probit

    def survival(self, time: Any, event: Any, **options: Any) -> SessionOutput:
        """Survival as Kaplan and Meier estimate it, in classes of time.

        Options are `by`, `edges`, `width` and `where`.
        """
        return self._asked("survival", time=time, event=event, **options)

    def surv_func(
        self, time: Any, status: Any, output: str = "table", **options: Any
    ) -> SessionOutput:
        """`survival` by its name in acro; table and picture are one output."""
        return self.survival(time, status, **options)

    def hist(self, variable: Any, column: str | None = None, **options: Any) -> SessionOutput:
        """A histogram; classes of few cases are merged with their neighbours.

        Options are `edges`, `start`, `width` and `where`.
        """
        return self._asked("hist", variable=variable if column is None else column, **options)

    def pie(self, variable: Any, column: str | None = None, **options: Any) -> SessionOutput:
        """Counts of the values of a variable, as a pie chart."""
        call = {"rows": self._plain(variable if column is None else column), **options}
        of = {"method": "crosstab", "arguments": call}
        return self._asked("figure", of=of, style="pie")

    def custom_output(self, source: str | os.PathLike[str], comment: str = "") -> SessionOutput:
        """Hand in a file of text that was made otherwise; an officer has to look at it."""
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            message, hint = "not a text file", "save the numbers as .txt or .csv"
            raise OutputCheckError(message, code="custom", where=str(source), hint=hint) from None
        return self.comment(self._asked("custom", text=text), comment)

    def figure(
        self, output: Which, style: Style = "bar", *, measure: str | None = None
    ) -> SessionOutput:
        """A picture of a table; hidden cells have no mark."""
        of = self._calls[self._known(output).number].model_dump()
        return self._asked("figure", of=of, style=style, measure=measure)

    def _plain(self, value: Any) -> Any:
        """An argument in which names stand in place of columns."""
        if isinstance(value, list | tuple):
            return [self._plain(one) for one in value]
        if not (hasattr(value, "to_frame") and hasattr(value, "name")):
            return value
        known = self._data.frame.columns
        self._data, name = self._data.with_column(value)
        self._own |= {name} - {*known}
        return name

    def _asked(self, method: str, **arguments: Any) -> SessionOutput:
        arguments = {name: self._plain(value) for name, value in arguments.items()}
        call = SessionCall(method=method, arguments=_plain_arguments(method, arguments))
        number = self._last + 1
        if number > MOST_OUTPUTS:
            message, hint = f"a session has at most {MOST_OUTPUTS} outputs", "begin another one"
            raise OutputCheckError(message, code="session", hint=hint)
        setting = CallSetting(
            data=self._data,
            limits=self._limits,
            title=f"output {number}, {method}",
            earlier=[one.result for one in self._tables.results.values() if one.about == "model"],
        )
        result = answered(call, setting)
        if own := sorted(self._own.intersection(result.variables)):
            reason = f"created in the notebook, and not repeatable: {', '.join(own)}"
            check = Check(rule="own-variable", verdict=CheckVerdict.review, reason=reason)
            result = replace(result, checks=(check, *result.checks))
        shown = shown_output(call, result, number, f"{method}-{number}", self._limits)
        told = {
            check.reason
            for one in self._outputs.values()
            for check in one.checks
            if check.rule == "linked-tables"
        }
        self._last = number
        self._outputs[number], self._calls[number] = shown, call
        self._tables.results[number] = result
        sentences = self._tables.told() if result.linked else ()
        if new := [one for one in sentences if one not in told]:
            # Say at once if a new table gives away, with others, what is hidden.
            checks = [
                Check(rule="linked-tables", verdict=CheckVerdict.review, reason=one) for one in new
            ]
            self._outputs[number] = replace(shown, checks=(*checks, *shown.checks))
            warnings.warn(f"output {number}: {'; '.join(new)}", DisclosureWarning, stacklevel=3)
        return self._outputs[number]

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

    def enable_suppression(self) -> None:
        """Nothing: what tells of too few cases is hidden always."""

    def disable_suppression(self) -> None:
        """Warn that it stays hidden."""
        message = "results from too few cases stay suppressed; rounding=5 shows counts without gaps"
        warnings.warn(message, DisclosureWarning, stacklevel=2)

    def print_outputs(self) -> None:
        """Print all outputs."""
        print("\n\n".join(map(str, self.outputs)))

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
            message, hint = "not the name of an output", "letters, figures, blanks, - and _"
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
        for kept in (self._outputs, self._calls, self._tables.results, self._tables.hidden):
            kept.pop(number, None)

    add_comments, add_exception = comment, request_exception
    rename_output, remove_output = rename, remove

    def _changed(self, which: Which, **parts: Any) -> SessionOutput:
        output = self._known(which)
        self._outputs[output.number] = replace(output, **parts)
        return self._outputs[output.number]

    def _known(self, which: Which) -> SessionOutput:
        if isinstance(which, SessionOutput):
            which = which.number
        for one in self.outputs:
            names = (one.number, one.name, f"output_{one.number - 1}")  # the last as in acro
            if which in names and not isinstance(which, bool):
                return one
        hint = f"outputs: {', '.join(f'{one.number} {one.name}' for one in self.outputs)}"
        message = "output not found"
        raise OutputCheckError(message, code="output", where=ascii(which)[:60], hint=hint)

    # --- handing in ----------------------------------------------------------------

    def check(self) -> SessionCheck:
        """Verdicts, reasons and underlying counts, as an officer will see them."""
        return self._tables.check(self.outputs)

    def protect(self) -> tuple[SessionOutput, ...]:
        """Hide what, with all tables taken together, would give hidden cells away.

        Returns:
            The outputs in which something was hidden besides.
        """
        more = self._tables.protected()
        for number, places in more.items():
            self._tables.hidden[number] = places
            call, before = self._calls[number], self._outputs[number]
            result = self._tables.results[number]
            shown = shown_output(call, result, number, before.name, self._limits, places)
            self._outputs[number] = replace(
                shown, comment=before.comment, exception=before.exception
            )
        for number, one in self._outputs.items():  # nothing follows from them any more
            left = tuple(check for check in one.checks if check.rule != "linked-tables")
            self._outputs[number] = replace(one, checks=left)
        return tuple(self._outputs[number] for number in more)

    def finalise(self, folder: str | os.PathLike[str], form: str | None = None) -> Path:
        """Write all outputs as a submission that the review queue takes; with the form ``json``, as
        acro writes it.
        """
        if form == "json":
            return self.to_sacro(folder)
        if form is not None:
            message = "outputs are written in the form json, or in our own"
            raise OutputCheckError(message, code="form", where=form, hint="leave it out")
        self._refuse_linked()
        handed = HandedSession(
            project=self.project,
            entity=self._data.entity,
            minimum=self._limits.minimum,
            outputs=[
                HandedOutput(
                    number=number,
                    name=output.name,
                    call=self._calls[number],
                    hidden=sorted(self._tables.hidden.get(number, ())),
                    variables=list(self._tables.results[number].variables),
                    verdict=output.verdict.value,
                    summary=output.summary,
                    checks=[
                        HandedCheck(**one.to_dict())
                        for one in output.checks
                        if one.verdict is not CheckVerdict.passed
                    ],
                    comment=output.comment,
                    exception=output.exception,
                    files=list(files_of(output)),
                )
                for number, output in self._outputs.items()
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
            raise OutputCheckError("no output to submit", code="no-output")
        if sentences := self._tables.told():
            hint = "s.protect() suppresses the needed cells; or s.remove() one of the tables"
            raise OutputCheckError("; ".join(sentences), code="linked", hint=hint)

    def _repr_html_(self) -> str:
        """All outputs as notebooks show them."""
        return "".join(one._repr_html_() for one in self.outputs)

    def __str__(self) -> str:
        return "\n".join(f"[{one.number}] {one.name}: {one.summary}" for one in self.outputs)

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
    """The shown part of the result of a call."""
    table, checks = found.table, found.checks or tuple(found.result.checks)
    if table is not None and hidden:
        table = table.without(hidden)
        reason = "suppressed so that other tables do not disclose suppressed cells"
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


#: Statistics and percentages by their names in pandas.
_STATISTICS = {"std": "sd", "var": "variance", "count": "n", "size": "n"}
_PERCENT = {"index": "row", "columns": "column", "all": "cell", True: "cell", False: None}
#: Arguments of pandas that change nothing here: totals are shown, and axes keep their names.
_WITHOUT_EFFECT = frozenset(
    ("margins", "margins_name", "rownames", "colnames", "fill_value", "observed", "sort",
     "show_suppressed")
)  # fmt: skip


def table_arguments(pandas: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a table by those of ``pandas.crosstab`` and ``pivot_table``.

    >>> table_arguments({"aggfunc": ["mean", "std"], "margins": True, "dropna": False})
    {'statistics': ['mean', 'sd'], 'missing': True}
    """
    known: dict[str, Any] = {}
    own = inspect.signature(METHODS["crosstab"]).parameters
    for name, value in pandas.items():
        if name in own:
            known[name] = value
        elif name == "aggfunc":
            listed = value if isinstance(value, list | tuple) else [value]
            words = [str(getattr(one, "__name__", one)) for one in listed if one is not None]
            known |= {"statistics": [_STATISTICS.get(one, one) for one in words]} if words else {}
        elif name == "normalize" and value in _PERCENT:
            known["percent"] = _PERCENT[value]
        elif name == "dropna":
            known["missing"] = not value
        elif name not in _WITHOUT_EFFECT:
            raise OutputCheckError("unknown argument", code="call", where=name)
    return known


def _plain_arguments(method: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are not as usual, with lists and plain numbers in place of other kinds."""
    plain_arguments = {}
    usual = inspect.signature(METHODS[method]).parameters
    for name in sorted(arguments, key=[*usual, *arguments].index):
        value = arguments[name]
        if isinstance(value, tuple | list):
            value = list(value)
        if hasattr(value, "item") and not isinstance(value, str) and getattr(value, "ndim", 1) == 0:
            value = value.item()  # a number of numpy
        plain = isinstance(value, str | bool | int | float | list | dict | None)
        items = value if isinstance(value, list) else []
        if not plain or not all(isinstance(one, str | int | float) for one in items):
            hint = "write names of variables, numbers and texts"
            message = f"an argument cannot be a {type(value).__name__}"
            raise OutputCheckError(message, code="call", where=name, hint=hint)
        if name not in usual or value != usual[name].default:
            plain_arguments[name] = value
    return plain_arguments


@dataclass(frozen=True, kw_only=True, repr=False)
class RepeatedOutput:
    """One output that was repeated (confidential)."""

    handed: HandedOutput  # as it was handed in
    result: CallResult | None  # what the call gave here; None if it failed
    files: dict[str, str]  # what its files hold when they are made here
    failure: str  # why the call failed; empty if it did not


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionRepetition:
    """A session that was repeated (confidential)."""

    outputs: tuple[RepeatedOutput, ...]
    linked: tuple[Finding, ...]  # what its tables give away, taken together
    unfollowed: tuple[int, ...]  # outputs whose counts were not held against others


def repeated(handed: HandedSession, data: SessionData, limits: SafeLimits) -> SessionRepetition:
    """Repeat all calls of a session."""
    outputs: list[RepeatedOutput] = []
    hidden = {one.number: frozenset(one.hidden) for one in handed.outputs}
    tables = SessionTables(limits=limits, results={}, hidden=hidden)
    for one in handed.outputs:
        known = tables.results.values()
        earlier = [result.result for result in known if result.about == "model"]
        title = f"output {one.number}, {one.call.method}"
        setting = CallSetting(data=data, limits=limits, title=title, earlier=earlier)
        result, files, failure = None, {}, ""
        try:
            result = answered(one.call, setting)
            about = one.number, one.name, limits, hidden[one.number]
            files = files_of(shown_output(one.call, result, *about))
            tables.results[one.number] = result
        except DiscreetError as error:
            result, failure = None, f"{error.code}: {error.what}"
        except Exception as error:  # arguments that no session writes; a text may quote data
            result, failure = None, type(error).__name__
        outputs.append(RepeatedOutput(handed=one, result=result, files=files, failure=failure))
    linked, left = tables.notes(), tables.unfollowed
    return SessionRepetition(outputs=tuple(outputs), linked=linked, unfollowed=left)
