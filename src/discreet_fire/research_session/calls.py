"""Calls: what a researcher can ask of a session, each by its name and plain arguments.

In: records (CONFIDENTIAL), the rules, a call. Out: a `CallResult`: what may be shown, the counts
behind it, and evidence that stays inside. A call holds nothing but names, numbers and texts, so it
can be written down and repeated elsewhere on the same data.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.errors import OutputCheckError
from discreet.microdata import parse_filter
from discreet_fire import statistics as safe
from discreet_fire.linked_tables import (
    OutputRecords,
    ShownCounts,
    ShownSums,
    shown_counts,
    tables_of,
)
from discreet_fire.research_session.outputs import TOTAL, SessionTable, Style, picture
from discreet_fire.research_session.session_data import ModelFormula, SessionData, read_formula
from discreet_fire.statistics import MEASURES, Check, CheckVerdict, SafeLimits, SafeResult, survival

#: How the variables of an output are about units, as the ledger of releases asks.
About = Literal["cells", "each", "together", "model"]


class SessionCall(BaseModel):
    """A call of a session: its method and plain arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    method: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        whole = {name: _call_of(one) or repr(one) for name, one in self.arguments.items()}
        return f"{self.method}({', '.join(f'{name}={one}' for name, one in whole.items())})"


def _call_of(value: Any) -> SessionCall | None:
    try:
        return SessionCall.model_validate(value)
    except ValidationError:
        return None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedNumbers:
    """Counts or sums that an output shows (confidential): None if they cannot be followed.

    `places` says which cell of the shown table each cell is; None if they are the same.
    """

    numbers: ShownCounts | ShownSums | None
    places: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CallResult:
    """Result of a call (confidential but for the shown part)."""

    result: SafeResult  # of the safe statistic, with its evidence
    variables: tuple[str, ...]  # all that it is about, also those of conditions
    used: tuple[str, ...]  # those of which units have values
    about: About  # how these are about units
    groups: tuple[str, ...] = ()  # variables that span it
    table: SessionTable | None = None  # its table, as far as it may be shown; None for a model
    checks: tuple[Check, ...] = ()  # the rules that were held against it
    #: Its counts and sums, to be held against those of others
    linked: tuple[LinkedNumbers, ...] = ()
    style: Style | None = None  # how it is drawn; None if it is not
    measure: str | None = None  # which numbers are drawn
    missing: bool = False  # whether missing values are groups of their own
    where: str | None = None  # which records it is about

    def __repr__(self) -> str:
        return "<CallResult (confidential)>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("evidence is confidential and does not leave the process")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CallSetting:
    """Context of a call (confidential): records, rules, title and earlier models."""

    data: SessionData
    limits: SafeLimits
    title: str
    earlier: Sequence[SafeResult] = field(default=())

    def options(self, where: str | None) -> dict[str, Any]:
        """The arguments that all safe statistics take."""
        return {"limits": self.limits, "entity": self.data.entity, "where": where}

    def behind(self, names: Sequence[str], where: str | None, weights: str | None) -> OutputRecords:
        """The records behind an output, by its variables, those that span it first."""
        data, numbers, _ = self.data.taken(names, where, weights)
        whom = safe.take(data, [], entity=self.data.entity).entities
        owners = np.arange(data.height) if whom is None else np.unique(whom, return_inverse=True)[1]
        return OutputRecords(
            title=self.title,
            labels=data.select(list(dict.fromkeys(names))),
            numbers=numbers,
            owners=owners.astype(np.int64),
            weights=None if weights is None else data[weights].cast(pl.Float64).to_numpy(),
            digits=self.limits.digits,
        )

    def variables(self, names: Sequence[str | None], where: str | None) -> tuple[str, ...]:
        """All variables that an output is about; an error if variable not found."""
        listed = [name for name in names if name is not None]
        listed += sorted(parse_filter(where).columns) if where is not None else []
        variables = tuple(dict.fromkeys(listed))
        self.data.check(variables)
        return variables


def answered(call: SessionCall, setting: CallSetting) -> CallResult:
    """Work out a call."""
    method = METHODS.get(call.method)
    if method is None:
        hint = f"methods: {', '.join(METHODS)}"
        raise OutputCheckError("unknown method", code="call", where=call.method, hint=hint)
    try:
        inspect.signature(method).bind(setting, **call.arguments)
    except TypeError as error:
        raise OutputCheckError(str(error), code="call", where=call.method) from None
    answer = method(setting, **call.arguments)
    by_verdict = (  # the gravest come first, those that hold last
        [one for one in answer.result.checks if one.verdict is verdict]
        for verdict in (CheckVerdict.fail, CheckVerdict.review, CheckVerdict.passed)
    )
    return replace(
        answer,
        checks=answer.checks or tuple(one for part in by_verdict for one in part),
        missing=answer.missing or call.arguments.get("missing") is True,
        where=answer.where or call.arguments.get("where"),
    )


def named(value: str | Sequence[str] | None, where: str) -> list[str]:
    """One or several names of variables; blanks divide several in one text.

    >>> named("age  sex", "rows"), named(None, "rows")
    (['age', 'sex'], [])
    """
    listed = [] if value is None else value.split() if isinstance(value, str) else list(value)
    if not all(isinstance(one, str) for one in listed) or len(set(listed)) < len(listed):
        hint = "write s.crosstab('region', 'sex'): names, not columns"
        raise OutputCheckError("these are names of variables, each once", code="columns",
                               where=where, hint=hint)  # fmt: skip
    return listed


# Tables -------------------------------------------------------------------------------------------


def _crosstab(
    setting: CallSetting,
    rows: str | list[str],
    columns: str | list[str] | None = None,
    values: str | list[str] | None = None,
    weights: str | None = None,
    where: str | None = None,
    rounding: int | None = None,
    statistics: str = "mean",
    percent: str | None = None,
    missing: bool = False,
) -> CallResult:
    by, of = [*named(rows, "rows"), *named(columns, "columns")], named(values, "values")
    names = setting.variables([*by, *of, weights], where)
    if not 1 <= len(by) <= 3 or len(set(by)) < len(by):
        message = "a table is spanned by one to three different variables"
        raise OutputCheckError(message, code="crosstab", where=", ".join(by))
    if percent is not None and (values is not None or len(by) == 3 or percent not in _SHARES):
        message = "percentages are 'row', 'column' or 'cell', of counts by one or two variables"
        raise OutputCheckError(message, code="crosstab", where="percent")
    if rounding is not None and (of or weights is not None or percent is not None or len(by) > 2):
        message = "counts by one or two variables are rounded, without weights and percentages"
        raise OutputCheckError(message, code="crosstab", where="rounding")
    options = setting.options(where) | {"weights": weights, "missing": missing}
    if of:
        return _of_values(setting, by, of, statistics, names, options)
    if rounding is not None:  # nothing is hidden before
        options["limits"] = replace(setting.limits, minimum=1)
    if len(by) < 3:
        result = safe.tabulate(setting.data.frame, *by, **options)
    elif weights is None:
        result = safe.table(setting.data.frame, by, **options)
    else:
        message = "sums of weights are shown by one or two variables"
        raise OutputCheckError(message, code="crosstab", where="weights")
    answer = CallResult(result=result, variables=names, used=tuple(by), about="cells")
    if result.frame is None:
        return answer
    frame = _renamed(result.frame, by)
    if len(by) == 1:
        total = result.stored.get("N") if frame["n"].null_count() < frame.height else None
        kinds = {by[0]: pl.String, "n": pl.Float64}
        last = pl.DataFrame({by[0]: [TOTAL], "n": [total]}, schema=kinds)
        frame = pl.concat([frame.select(by[0], "n"), last])
    numbers = None
    if rounding is not None:
        # What is not shown as 0 has the fewest cases at least.
        least = 2 * setting.limits.minimum - 1
        if rounding < least:
            message = f"counts are rounded to multiples of {least} or more"
            raise OutputCheckError(message, code="crosstab", where="rounding")
        reason = (
            f"counts and totals are rounded to multiples of {rounding}; compare them with no others"
        )
        check = Check(rule="rounding", verdict=CheckVerdict.review, reason=reason)
        frame = frame.with_columns((pl.col("n") / rounding).round() * rounding)
        result = SafeResult(command=result.command, shown="", frame=frame, checks=[check])
    else:
        behind = setting.behind(by, where, weights)
        everybody = np.ones(len(behind.numbers), dtype=np.bool_)
        numbers = behind.counts(frame.select(*by, "n"), everybody)
    table = SessionTable.of(frame, by, ["n"])
    return replace(
        answer,
        result=result,
        groups=tuple(by),
        table=table if percent is None else table.with_shares(percent),
        linked=(LinkedNumbers(numbers=numbers),),
    )


_SHARES = ("row", "column", "cell")
_LONGEST_TEXT = 50_000


def _renamed(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The frame of a table with its variables under their own names."""
    clash = [name for name in by if name in frame.columns[len(by) :]]
    if clash:
        message = "a number of the table has the same name as the variable"
        raise OutputCheckError(message, code="columns", where=clash[0], hint="rename the variable")
    return frame.rename(dict(zip(frame.columns[: len(by)], by, strict=True)))


def _of_values(
    setting: CallSetting, by: list[str], values: list[str], statistics: str | list[str],
    names: tuple[str, ...], options: dict[str, Any],
) -> CallResult:  # fmt: skip
    """Statistics of variables by groups, with the numbers of cases."""
    wanted = ["n", *(one for one in named(statistics, "statistics") if one not in ("n", "count"))]
    result = safe.table(setting.data.frame, by, values, statistics=wanted, **options)
    assert result.frame is not None
    frame = _renamed(result.frame, by)
    measures = frame.columns[len(by) :]
    for name in values:  # where nobody is counted there is nothing to hide
        own = [one for one in measures if one.endswith(f" {name}") and one != f"n {name}"]
        nobody = pl.col(f"n {name}") == 0
        frame = frame.with_columns(
            pl.when(nobody).then(float("nan")).otherwise(pl.col(one)).alias(one) for one in own
        )
    table = SessionTable.of(frame, by, measures)
    behind = setting.behind([*by, *values], options["where"], options["weights"])
    linked = tables_of("cells", behind, frame, result.stored)
    return CallResult(
        result=result,
        variables=names,
        used=(*by, *values),
        about="each",
        groups=tuple(by),
        table=table,
        linked=tuple(LinkedNumbers(numbers=one) for one in linked),
    )


_PERCENTILES = ["p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"]


def _summary(
    setting: CallSetting,
    variables: str | list[str],
    by: str | list[str] | None = None,
    detail: bool = False,
    weights: str | None = None,
    where: str | None = None,
    missing: bool = False,
) -> CallResult:
    values, groups = named(variables, "variables"), named(by, "by")
    names = setting.variables([*values, *groups, weights], where)
    options = setting.options(where) | {"weights": weights}
    wanted = ["mean", "sd", *(_PERCENTILES if detail else [])]
    if groups:
        return _of_values(setting, groups, values, wanted, names, options | {"missing": missing})
    result = safe.summarize(setting.data.frame, values, detail=detail, **options)
    assert result.frame is not None
    table = SessionTable.of(result.frame, ["variable"], ["n", *wanted])
    frame = result.frame.select("variable", "n", *wanted)
    behind = setting.behind(values, where, weights)
    linked = [
        LinkedNumbers(numbers=one, places=(at,))
        for at, name in enumerate(values)
        for one in tables_of("variables", behind, frame.filter(variable=name), {})
    ]
    return CallResult(
        result=result,
        variables=names,
        used=tuple(values),
        about="each",
        table=table,
        linked=tuple(linked),
    )


# Models -------------------------------------------------------------------------------------------


def _model(statistic: str) -> Callable[..., CallResult]:
    def fitted(
        setting: CallSetting,
        formula: str,
        robust: bool = False,
        cluster: str | None = None,
        weights: str | None = None,
        where: str | None = None,
    ) -> CallResult:
        read = read_formula(formula, setting.data.texts)
        return _of_model(
            setting, statistic, read, [list(read.terms)],
            robust=robust, cluster=cluster, weights=weights, where=where,
        )  # fmt: skip

    return fitted


def _utest(
    setting: CallSetting,
    formula: str,
    variable: str,
    interval: list[float | None] | None = None,
    fieller: bool = False,
    weights: str | None = None,
    where: str | None = None,
) -> CallResult:
    read = read_formula(formula, setting.data.texts)
    if variable not in read.terms or variable in read.made:
        raise OutputCheckError(
            "the test is of a number on the right of ~",
            code="formula",
            where=str(variable),
            hint="s.utest('wage ~ age + C(sex)', 'age')",
        )
    squares = (f"I({variable} ** 2)", f"np.square({variable})", f"I({variable} * {variable})")
    controls = [
        term for term in read.terms if term != variable and read.made.get(term) not in squares
    ]
    return _of_model(
        setting, "utest", read, [variable, controls],
        interval=interval, fieller=fieller, weights=weights, where=where,
    )  # fmt: skip


def _of_model(
    setting: CallSetting,
    statistic: str,
    read: ModelFormula,
    terms: Sequence[str | list[str]],
    *,
    weights: str | None,
    where: str | None,
    cluster: str | None = None,
    **how: Any,
) -> CallResult:
    """A safe statistic of a model, with the terms as it takes them."""
    names = setting.variables([*read.sources, cluster, weights], where)
    setting = replace(setting, data=setting.data.with_made(read.made))
    result = getattr(safe, statistic)(
        setting.data.frame,
        read.outcome,
        *terms,
        cluster=cluster,
        weights=weights,
        constant=read.constant,
        earlier=list(setting.earlier),
        **how,
        **setting.options(where),
    )
    return CallResult(
        result=result,
        variables=names,
        used=read.sources,
        about="model",
        groups=tuple(
            part.partition(".")[2]
            for term in read.terms
            for part in term.split("#")
            if part.startswith("i.")
        ),
        linked=_sample(setting, [read.outcome, *read.names], where, weights, result),
    )


def _sample(
    setting: CallSetting,
    used: list[str],
    where: str | None,
    weights: str | None,
    result: SafeResult,
) -> tuple[LinkedNumbers, ...]:
    """The number of records that have all variables, which a model shows."""
    if weights is not None or "N" not in result.stored:
        return ()
    behind = setting.behind(used, where, None)
    return tuple(
        LinkedNumbers(numbers=one) for one in tables_of("sample", behind, None, result.stored)
    )


def _survival(
    setting: CallSetting,
    time: str,
    event: str,
    by: str | None = None,
    edges: list[float] | None = None,
    width: float | None = None,
    where: str | None = None,
) -> CallResult:
    names = setting.variables([time, event, by], where)
    options = setting.options(where)
    result = survival(setting.data.frame, time, event, by=by, edges=edges, width=width, **options)
    axes = [*([by] if by is not None else []), time]
    answer = CallResult(
        result=result,
        variables=names,
        used=(time, event, *axes[:-1]),
        about="together",
        groups=tuple(axes[:-1]),
        measure="survival",
    )
    if result.frame is None:
        return answer
    table = replace(SessionTable.of(result.frame, axes, MEASURES), across=False)
    # Events and those who left, in each class of time.
    behind = setting.behind([*axes, event], where, None)
    classes = result.evidence["classes"]
    inside = classes >= 0
    steps = list(dict.fromkeys(result.frame[time].to_list()))
    own = f"class of {time}"
    labels = behind.labels.filter(pl.Series(inside)).select(
        *axes[:-1],
        pl.Series(own, [steps[at] for at in classes[inside].tolist()]),
        pl.when(pl.col(event) > 0).then(pl.lit("events")).otherwise(pl.lit("left")).alias(event),
    )
    shown = pl.concat(
        result.frame.select(
            *axes[:-1], pl.col(time).alias(own), pl.lit(one).alias(event), pl.col(one).alias("n")
        )
        for one in ("events", "left")
    )
    rows = {cell: at for at, cell in enumerate(result.frame.select(axes).rows())}
    whom = behind.numbers[inside], behind.owners[inside]
    counts = shown_counts(setting.title, shown, labels, *whom)
    places: tuple[int, ...] | None = None
    if counts is not None:
        cells = itertools.product(*((*axis.labels, None) for axis in counts.axes))
        places = tuple(rows.get(cell[:-1], -1) for cell in cells)
    linked = (LinkedNumbers(numbers=counts, places=places),)
    return replace(answer, table=table, linked=linked, style="step")


# Pictures -----------------------------------------------------------------------------------------


def _hist(
    setting: CallSetting,
    variable: str,
    edges: list[float] | None = None,
    start: float | None = None,
    width: float | None = None,
    where: str | None = None,
) -> CallResult:
    names = setting.variables([variable], where)
    result = safe.histogram(
        setting.data.frame,
        variable,
        edges=edges,
        start=start,
        width=width,
        **setting.options(where),
    )
    table = None
    if result.frame is not None:
        labels = [line.partition(" |")[0].strip() for line in result.shown.splitlines()[2:]]
        sizes = tuple(float(one) for one in result.frame["n"].to_list())
        table = SessionTable(axes=((variable, tuple(labels)),), measures={"n": sizes})
    return CallResult(
        result=result,
        variables=names,
        used=(variable,),
        about="together",
        table=table,
        linked=_sample(setting, [variable], where, None, result),
        style="bar",
    )


def _figure(
    setting: CallSetting,
    of: dict[str, Any],
    style: Style = "bar",
    measure: str | None = None,
) -> CallResult:
    call = _call_of(of)
    if call is None:
        raise OutputCheckError("a figure is of an output of the session", code="figure")
    if style not in ("bar", "line", "pie"):
        raise OutputCheckError("a figure has bars, lines or the parts of a pie", code="figure",
                               where=str(style), hint="style='bar', 'line' or 'pie'")  # fmt: skip
    source = answered(call, setting)
    if source.table is None:
        raise OutputCheckError("only tables have a picture", code="figure")
    if style == "pie":
        picture(source.table, style, setting.title, measure)  # an error if it has none
    return replace(source, style=style, measure=measure)


def _custom(setting: CallSetting, text: str) -> CallResult:
    """A text of the researcher's own, which no rule knows."""
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_TEXT:
        message = f"an own output is a text of up to {_LONGEST_TEXT} characters"
        raise OutputCheckError(
            message, code="custom", hint="save numbers as text, not as a picture"
        )
    reason = "made outside of the safe calls: no rule was applied to it"
    check = Check(rule="custom", verdict=CheckVerdict.review, reason=reason)
    result = SafeResult(command="custom", shown=text, checks=(check,))
    return CallResult(result=result, variables=(), used=(), about="cells")


METHODS: Mapping[str, Callable[..., CallResult]] = {
    "crosstab": _crosstab,
    "summary": _summary,
    "ols": _model("regress"),
    "logit": _model("logit"),
    "probit": _model("probit"),
    "utest": _utest,
    "survival": _survival,
    "hist": _hist,
    "figure": _figure,
    "custom": _custom,
}
