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
from discreet_fire.persons import plain_text
from discreet_fire.research_session.calls import (
    METHODS,
    CallResult,
    SessionCall,
)
from discreet_fire.research_session.outputs import SessionOutput, Style
from discreet_fire.research_session.session_check import SessionCheck, SessionEntry, SessionTables
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
        self._tables = SessionTables(limits=limits)
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
            columns = [name for name in data.columns if name != "const"]
            names = [self._plain(data[name], "formula") for name in columns]
            constant = "" if "const" in data.columns else " - 1"
            formula = f"{self._plain(formula, 'formula')} ~ {' + '.join(names)}{constant}"
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
        call = {"rows": self._plain(variable if column is None else column, "rows"), **options}
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
        of = self._tables.entries[self._known(output)].call.model_dump()
        return self._asked("figure", of=of, style=style, measure=measure)

    def _plain(self, value: Any, where: str) -> Any:
        """An argument with names, lists and plain numbers in place of columns and other kinds."""
        if isinstance(value, list | tuple):
            listed = [self._plain(one, where) for one in value]
            if all(isinstance(one, str | int | float) for one in listed):
                return listed
        if hasattr(value, "to_frame") and hasattr(value, "name"):
            known = self._data.frame.columns
            self._data, name = self._data.with_column(value)
            self._own |= {name} - {*known}
            return name
        if hasattr(value, "item") and not isinstance(value, str) and getattr(value, "ndim", 1) == 0:
            value = value.item()  # a number of numpy
        if not isinstance(value, str | bool | int | float | dict | None):
            hint = "write names of variables, numbers and texts"
            message = f"an argument cannot be a {type(value).__name__}"
            raise OutputCheckError(message, code="call", where=where, hint=hint)
        return value

    def _asked(self, method: str, **arguments: Any) -> SessionOutput:
        plain = {name: self._plain(value, name) for name, value in arguments.items()}
        usual = inspect.signature(METHODS[method]).parameters
        unusual = {
            name: plain[name]
            for name in sorted(plain, key=[*usual, *plain].index)
            if name not in usual or plain[name] != usual[name].default
        }
        call = SessionCall(method=method, arguments=unusual)
        number = self._last + 1
        if number > MOST_OUTPUTS:
            message, hint = f"a session has at most {MOST_OUTPUTS} outputs", "begin another one"
            raise OutputCheckError(message, code="session", hint=hint)
        result = self._tables.answered(number, call, self._data)
        if own := sorted(self._own.intersection(result.variables)):
            reason = f"created in the notebook, and not repeatable: {', '.join(own)}"
            check = Check(rule="own-variable", verdict=CheckVerdict.review, reason=reason)
            result = replace(result, checks=(check, *result.checks))
        entries, self._last = self._tables.entries, number
        told = {one for entry in entries.values() for one in entry.told}
        entry = SessionEntry(number=number, name=f"{method}-{number}", call=call, result=result)
        entries[number] = entry
        sentences = self._tables.told() if result.linked else ()
        if new := tuple(one for one in sentences if one not in told):
            # Say at once if a new table gives away, with others, what is hidden.
            entries[number] = replace(entry, told=new)
            warnings.warn(f"output {number}: {'; '.join(new)}", DisclosureWarning, stacklevel=3)
        return self.output(number)

    # --- outputs -------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[SessionOutput, ...]:
        """The outputs as they are now, in order."""
        language = self._tables.limits.language
        return tuple(one.shown(language) for one in self._tables.entries.values())

    def output(self, which: Which) -> SessionOutput:
        """One output as it is now."""
        return self._tables.entries[self._known(which)].shown(self._tables.limits.language)

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
        number = self._known(which)
        if any(
            one.name.casefold() == name.casefold() and one.number != number
            for one in self._tables.entries.values()
        ):
            raise OutputCheckError("another output has this name", code="name", where=name)
        return self._changed(number, name=name)

    def remove(self, which: Which) -> None:
        """Take an output out of the session; it is not handed in."""
        del self._tables.entries[self._known(which)]

    add_comments, add_exception = comment, request_exception
    rename_output, remove_output = rename, remove

    def _changed(self, which: Which, **parts: Any) -> SessionOutput:
        number = self._known(which)
        self._tables.entries[number] = replace(self._tables.entries[number], **parts)
        return self.output(number)

    def _known(self, which: Which) -> int:
        """The number of an output."""
        if isinstance(which, SessionOutput):
            which = which.number
        for one in self._tables.entries.values():
            names = (one.number, one.name, f"output_{one.number - 1}")  # the last as in acro
            if which in names and not isinstance(which, bool):
                return one.number
        listed = (f"{one.number} {one.name}" for one in self._tables.entries.values())
        message, hint = "output not found", f"outputs: {', '.join(listed)}"
        raise OutputCheckError(message, code="output", where=ascii(which)[:60], hint=hint)

    # --- handing in ----------------------------------------------------------------

    def check(self) -> SessionCheck:
        """Verdicts, reasons and underlying counts, as an officer will see them."""
        return self._tables.check()

    def protect(self) -> tuple[SessionOutput, ...]:
        """Hide what, with all tables taken together, would give hidden cells away.

        Returns:
            The outputs in which something was hidden besides.
        """
        changed, entries = self._tables.protected(), self._tables.entries
        for number, one in (entries | changed).items():  # nothing follows from them any more
            entries[number] = replace(one, told=())
        return tuple(map(self.output, changed))

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
            minimum=self._tables.limits.minimum,
            outputs=[
                HandedOutput(
                    number=output.number,
                    name=output.name,
                    call=entry.call,
                    hidden=sorted(entry.hidden),
                    variables=list(entry.result.variables),
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
                for entry, output in zip(self._tables.entries.values(), self.outputs, strict=True)
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
        if not self._tables.entries:
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
        return f"<ResearchSession {self.project}: {len(self._tables.entries)} outputs>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session holds records and does not leave the process")


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


@dataclass(frozen=True, kw_only=True, repr=False)
class RepeatedOutput:
    """One output that was repeated (confidential)."""

    handed: HandedOutput  # as it was handed in
    result: CallResult | None  # what the call gave here; None if it failed
    files: dict[str, str]  # what its files hold when they are made here
    failure: str  # why the call failed; empty if it did not


def repeated(
    handed: HandedSession, data: SessionData, limits: SafeLimits
) -> tuple[list[RepeatedOutput], SessionTables]:
    """All calls of a session repeated, and the tables that they give here (confidential)."""
    outputs: list[RepeatedOutput] = []
    tables = SessionTables(limits=limits)
    for one in handed.outputs:
        result, files, failure = None, {}, ""
        try:
            result = tables.answered(one.number, one.call, data)
            entry = SessionEntry(
                number=one.number,
                name=one.name,
                call=one.call,
                result=result,
                hidden=frozenset(one.hidden),
            )
            files = files_of(entry.shown(limits.language))
            tables.entries[one.number] = entry
        except DiscreetError as error:
            result, failure = None, f"{error.code}: {error.what}"
        except Exception as error:  # arguments that no session writes; a text may quote data
            result, failure = None, type(error).__name__
        outputs.append(RepeatedOutput(handed=one, result=result, files=files, failure=failure))
    return outputs, tables
