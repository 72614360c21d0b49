"""Commands that show statistics, all by way of the safe ones of `discreet_fire.statistics`.

In: calls. Out: safe results in the log, and whom each is about for the ledger. Whom a record is
about goes with it unseen, so that changing or dropping the variable changes no check. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from discreet.arrays import BoolArray
from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.catalogue import StatisticRow, statistic_rows
from discreet_fire.linked_tables import OutputRecords, kinds_left, tables_of
from discreet_fire.runners.builtin.commands import command, refuse_single, selected
from discreet_fire.runners.builtin.session import (
    LastModel,
    Session,
    all_but_few,
    cases,
    cases_by_value,
    conflicts_with_earlier,
    few,
    read_sources,
)
from discreet_fire.runners.builtin.syntax import CommandCall, DoError, UnsupportedError, required
from discreet_fire.runners.protocol import StatisticShown
from discreet_fire.statistics import (
    OTHER,
    Check,
    CheckVerdict,
    SafeLimits,
    SafeResult,
    closed,
    counts_to_hide,
    number_text,
    safe_statistic,
)
from discreet_fire.texts import place_of

#: Columns of the frame that no variable can be called.
_ENTITY, _INSIDE, _ROW = "who is it", "counted", "row"
#: How columns begin that say whose a copied value is.
_SOURCE = "whose is it "
#: A variable of more values is looked at by the safe commands themselves.
_FEW_VALUES = 5
#: Errors of safe commands that are about the output, not about the program.
_WITHHELD = frozenset(("group", "table-size", "edges", "entity", "copies"))
_CODES = {"not-numeric": 109, "column-type": 109, "no-observations": 2000}
_CODES |= {"factor-values": 452, "missing-column": 111}
#: Errors of safe commands that the program alone causes; any other may tell of one value.
_OF_PROGRAM = frozenset(
    ("column-type", "columns", "limits", "missing-column", "model", "not-numeric", "statistic",
     "table", "tabulate", "terms", "xtdescribe")
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class ChosenRecords:
    """The chosen records (confidential), with some variables."""

    names: tuple[str, ...]
    frame: pl.DataFrame  # their variables, and a column of whom they are about
    mask: BoolArray  # which of the data they are
    entity: str | None  # the column of whom they are about
    groups: tuple[str, ...]  # variables that span the output
    missing: bool  # whether missing values are a group of their own

    @property
    def counted(self) -> BoolArray:
        """Records behind an output; for a count all records, with a mask."""
        mask = self.mask.copy()
        if _INSIDE in self.frame.columns:
            mask[mask] = (self.frame[_INSIDE] == 1).to_numpy()
        return mask


def choose(
    session: Session,
    call: CommandCall,
    names: Iterable[str],
    *,
    groups: Sequence[str] = (),
    mask: BoolArray | None = None,
) -> ChosenRecords:
    """The records that a call is about, or those of a mask; value labels stand for the values of
    `groups`.
    """
    data, rows = session.data, selected(session, call) if mask is None else mask
    names = tuple(dict.fromkeys(names))
    frame = _with_gaps(data.frame(names, rows))
    if not names:
        frame = pl.DataFrame({_ROW: np.ones(int(rows.sum()), dtype=np.int64)})
    for name in groups:
        frame = frame.with_columns(_group_labels(session, name, frame[name], rows))
    columns = {f"{_SOURCE}{at}": one for at, one in enumerate(read_sources(session))}
    if data.named or len(np.unique(data.records)) < data.rows:
        columns[_ENTITY] = data.units
    for name, units in columns.items():
        whom = pl.Series(name, units[rows])
        frame = frame.with_columns(whom.set(whom < 0, None))
    entity = _ENTITY if _ENTITY in columns else None
    return ChosenRecords(names, frame, rows, entity, tuple(groups), "missing" in call.options)


def _with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with null for empty texts."""
    return frame.with_columns(pl.col(pl.String).replace("", None))


def _group_labels(session: Session, name: str, column: pl.Series, rows: BoolArray) -> pl.Series:
    """A grouping variable as it is shown: with value labels; values of few cases put together
    where a condition chose them, or the program made the variable.
    """
    variable = session.data.variables[name]
    texts = session.data.value_labels.get(variable.value_label, {})
    values = column.drop_nulls().unique().sort().to_list()
    if texts and not variable.is_text and all(value == int(value) for value in values):
        labels = [texts.get(float(value)) or number_text(int(value)) for value in values]
        if len(set(labels)) < len(labels):
            labels = [f"{one} ({int(value)})" for one, value in zip(labels, values, strict=True)]
        if len(set(labels)) == len(labels):
            column = column.replace_strict(values, labels, return_dtype=pl.Enum(labels))
    if rows.all() and not variable.derived:
        return column
    return _rare_together(column, session.data.units[rows], session.limits)


def _rare_together(column: pl.Series, units: Any, limits: SafeLimits) -> pl.Series:
    """Put values of few cases together, and as many others that their number stays unknown."""
    values = column.drop_nulls().unique().sort()
    known = len(column) - column.null_count()
    if not len(values) or (len(values) > _FEW_VALUES and len(values) * limits.minimum > known):
        return column
    counted = cases_by_value(column, units)
    number = dict(zip(counted["value"].to_list(), counted["cases"].to_list(), strict=True))
    counts = [max(number[value], 1) for value in values.to_list()]
    rare = counts_to_hide(counts, frozenset(), 0, limits)[0]
    if not rare:
        return column
    names = [one if isinstance(one, str) else number_text(one) for one in values.to_list()]
    shown = [OTHER if at in rare else name for at, name in enumerate(names)]
    kinds = [name for name in shown if name != OTHER]
    return column.replace_strict(values, shown, default=None, return_dtype=pl.Enum([*kinds, OTHER]))


# --- working a statistic out, and showing it ---------------------------------------------------


def show_statistic(
    session: Session, name: str, chosen: ChosenRecords, *arguments: Any, **options: Any
) -> SafeResult | None:
    """Work out a safe statistic and show it; None if it is withheld.

    What is about a few, or about variables made from single values, is not even worked out:
    whether that fails would tell of them.
    """
    data, row = session.data, statistic_rows()[name]
    known = [data.variables[one] for one in chosen.names]
    rule = reason = ""
    if session.touched or data.doubted or any(one.single for one in known):
        rule, reason = "single-value", "it rests on single values of the data, such as a maximum"
    elif _too_few(session, row.sample, chosen.mask):
        rule, reason = "minimum", "too few cases, or all but a few"
    if rule:
        session.withhold(name, rule, reason)
        return None
    options = {"entity": chosen.entity, "limits": session.limits, **options}
    shown_as = options.pop("shown_as", "")
    statistic = safe_statistic(row.statistic)
    try:
        result = statistic(chosen.frame, *arguments, **options)
        for column in chosen.frame.columns:
            if column.startswith(_SOURCE):
                other = statistic(chosen.frame, *arguments, **{**options, "entity": column})
                if other.shown != result.shown:
                    message = "values in it are copies of those of too few cases"
                    raise OutputCheckError(message, code="copies")
    except DiscreetError as error:
        if error.code in _WITHHELD:
            session.withhold(name, error.code, error.what)
            return None
        nobody = error.code == "no-observations"
        if nobody and not (session.plain and data.rows):
            session.withhold(name, "minimum", "it is about too few cases")
            return None
        hidden = error.code not in _OF_PROGRAM and not nobody
        raise DoError(error.what, _CODES.get(error.code) or 198, redacted=hidden) from None
    if name == "regress":
        session.fitted.append(result)
    result = replace(result, command=shown_as or result.command)
    if conflicts_with_earlier(session, chosen.counted, chosen.names):
        session.withhold(name, "difference", "it differs from an earlier output by a few cases")
        return None
    for reason in _doubts(session, options["entity"]):
        check = Check(rule="entity", verdict=CheckVerdict.review, reason=reason)
        result = replace(result, checks=[*result.checks, check])
    session.show(result)
    if session.witness is not None:
        session.witness(_whom(session, row, result, chosen))
    return result


def _too_few(session: Session, sample: str, mask: BoolArray) -> bool:
    """Whether a condition chose too few cases, nobody included, or all but a few."""
    if session.few or sample == "counted":
        return session.few
    if (mask.all() or not session.plain) and cases(session, mask) < session.limits.minimum:
        return True
    return sample != "model" and all_but_few(session, mask)


def _doubts(session: Session, entity: str | None) -> Iterator[str]:
    """What an officer has to know of whom the cases are."""
    if session.entity is not None and not session.data.named:
        yield "the data have no entity; each observation counts as a case"
    if session.entity is not None and entity not in (None, _ENTITY, session.entity):
        yield "cases are counted as units of the panel, which are not those that are protected"


def _whom(
    session: Session, row: StatisticRow, result: SafeResult, chosen: ChosenRecords
) -> StatisticShown:
    """Whom an output is about, for a ledger; also of what runs quietly."""
    data, mask, inside = session.data, chosen.counted, chosen.frame
    if _INSIDE in inside.columns:
        inside = inside.filter(pl.col(_INSIDE) == 1)
    ours = cs.by_name(_ENTITY, _INSIDE, _ROW, require_all=False) | cs.starts_with(_SOURCE)
    command = result.command.split(",")[0]
    records = OutputRecords(
        title=f"{place_of(session.program, session.line)}, {command}",
        labels=inside.select(~ours),
        numbers=data.records[mask],
        owners=data.units[mask],
        weights=None,
        digits=session.limits.digits,
    )
    words = command.replace("#", " ").split()
    return StatisticShown(
        line=session.line,
        file=session.program,
        command=command.rpartition(": ")[2].split()[0],
        universes=row.universes,
        units=session.named_units(mask),
        numbers=data.records[mask],
        first=next(iter(session.history.files.values()), (0, 0))[1],
        frame=_with_gaps(data.frame(chosen.names, mask)),
        groups=chosen.groups,
        categories=frozenset(word.partition(".")[2] for word in words if "." in word),
        missing=chosen.missing,
        tables=tables_of(row.groups, records, result.frame, result.stored),
        left=kinds_left(() if result.frame is None else result.frame.columns),
    )


# --- the commands -------------------------------------------------------------------------------


def _named(session: Session, call: CommandCall, *, every: bool = False) -> list[str]:
    """The variables of a call; all of them if none is named and that is meant."""
    DoError.when(not call.head and not every, "varlist required", 100)
    return session.data.listed(call.head or "_all")


def _numeric(session: Session, names: Sequence[str]) -> list[str]:
    """The same names; an error if one is a text."""
    for name in names:
        DoError.when(session.data.variables[name].is_text, f"{name} is a string variable", 109)
    return list(names)


def critical_limits(session: Session, call: CommandCall) -> SafeLimits:
    """The rules for one call: those of the session, with the p of its option `critical()`."""
    if "critical" not in call.options:
        return session.limits
    p = call.number("critical", 0.0)
    DoError.when(not 0 < p <= 100, "critical() takes a number above 0, up to 100")
    return session.limits.critical(p)


@command("summarize", "Detail CRItical()", by=True)
def summarize(session: Session, call: CommandCall) -> None:
    """`summarize [varlist] [if] [, detail]`: cases, mean, standard deviation; percentiles."""
    names, by = _named(session, call, every=True), list(call.by)
    if not call.head:
        names = [name for name in names if not session.data.variables[name].is_text]
    DoError.when(not names, "no numeric variables", 111)
    chosen = choose(session, call, [*_numeric(session, names), *by], groups=by)
    detail = "detail" in call.options
    show_statistic(session, "summarize", chosen, names, by=by or None, detail=detail)


_STATISTICS = {"N": "n", "Var": "variance", "v": "variance", "me": "mean"}


@command("tabstat", "Statistics() by() Missing CRItical()", by=True)
def tabstat(session: Session, call: CommandCall) -> None:
    """`tabstat varlist [if] [, statistics() by()]`: statistics by groups, in one table."""
    names = _numeric(session, _named(session, call))
    own = session.data.listed(call.options.get("by") or "")
    by = list(dict.fromkeys([*call.by, *own]))
    UnsupportedError.when(len(by) > 1, "tabstat by several variables")
    chosen = choose(session, call, [*names, *by], groups=by)
    words = (call.options.get("statistics") or "mean").split()
    how: dict[str, Any] = {"by": by[0] if by else None}
    how["missing"] = chosen.missing or bool(call.by)
    how["statistics"] = [_STATISTICS.get(word, word) for word in words]
    show_statistic(session, "tabstat", chosen, names, **how)


@command("tabulate", "Missing noLabel Row COlumn CEll CHi2 CRItical()", by=True)
def tabulate(session: Session, call: CommandCall) -> None:
    """`tabulate a [b] [if] [, missing row column cell chi2]`: frequencies."""
    names = _named(session, call)
    DoError.when(len(names) > 2, "too many variables specified", 103)
    percent = [word for word in ("row", "column", "cell") if word in call.options]
    chi2 = "chi2" in call.options
    alone = len(names) == 1 and (percent or chi2)
    DoError.when(alone, "row, column, cell and chi2 are for two variables")
    if call.by:
        wanted = list(dict.fromkeys([*call.by, *names]))
        UnsupportedError.when(len(wanted) > 3, "by with so large a table")
        session.write(f"(by {' '.join(call.by)}: one table for all groups)")
        chosen = choose(session, call, wanted, groups=wanted)
        show_statistic(session, "table", chosen, wanted, missing=chosen.missing)
        return
    chosen = choose(session, call, names, groups=[] if "nolabel" in call.options else names)
    how: dict[str, Any] = {"missing": chosen.missing, "percent": percent, "chi2": chi2}
    show_statistic(session, "tabulate", chosen, *names, **how)


@command("count", by=True)
def count(session: Session, call: CommandCall) -> None:
    """`count [if]`: the number of records; withheld where it is of few, or of all but few."""
    DoError.when(call.head, "varlist not allowed", 101)
    if call.by:  # the groups together, so that one does not give another away
        chosen = choose(session, call, call.by, groups=call.by)
        show_statistic(session, "table", chosen, list(call.by))
        return
    rows = selected(session, call)
    certain = not session.touched and not session.data.doubted
    asks_few = not session.plain and cases(session, rows) < session.limits.minimum
    if certain and (not session.data.rows or asks_few):
        check = Check(rule="minimum", verdict=CheckVerdict.fail, reason="too few cases")
        text = closed(["  ."], True, session.limits.language)
        session.show(SafeResult(command="count", shown=text, checks=[check]))
        return
    chosen = choose(session, replace(call, condition=None), [])
    inside = pl.Series(_INSIDE, rows.astype(np.float64))
    chosen = replace(chosen, frame=chosen.frame.with_columns(inside))
    how: dict[str, Any] = {"shown_as": "count"}
    if call.condition:
        how = {"shown_as": "count if …", "where": f"{_INSIDE} == 1"}
    show_statistic(session, "count", chosen, **how)


@command("codebook", "CRItical()")
def codebook(session: Session, call: CommandCall) -> None:
    """`codebook [varlist] [if]`: kind of values, missing ones, frequencies or percentiles."""
    names = _named(session, call, every=True)
    show_statistic(session, "codebook", choose(session, call, names), names)


@command("xtsum", "CRItical()", reads_all=True)
def xtsum(session: Session, call: CommandCall) -> None:
    """`xtsum [varlist] [if]`: deviations overall, between panel units, within them."""
    panel = session.data.panel[0]
    DoError.when(not panel, "panel variable not set; use xtset", 459)
    names = [one for one in _named(session, call, every=True) if one != panel]
    chosen = choose(session, call, [panel, *_numeric(session, names)])
    show_statistic(session, "xtsum", chosen, names, entity=panel)


@command("xtdescribe", "Patterns() CRItical()", reads_all=True)
def xtdescribe(session: Session, call: CommandCall) -> None:
    """`xtdescribe [if] [, patterns()]`: patterns of participation in a panel."""
    panel, time = session.data.panel
    DoError.when(not (panel and time), "panel and time variable not set; use xtset", 459)
    how = {"entity": panel, "time": time, "patterns": int(call.number("patterns", 9))}
    show_statistic(session, "xtdescribe", choose(session, call, [panel, time]), **how)


@command("regress", "Robust CLuster() vce() noConstant Level() CRItical()")
def regress(session: Session, call: CommandCall) -> None:
    """`regress y [terms] [if] [, robust vce(cluster x) noconstant]`: linear regression."""
    terms, names = _terms(session, call.head)
    DoError.when(not terms or "." in terms[0] or "#" in terms[0], "invalid outcome")
    kind, _, clusters = (call.options.get("vce") or "").partition(" ")
    UnsupportedError.when(kind not in ("", "ols", "robust", "cluster"), f"vce({kind})")
    by = session.data.listed(clusters if kind == "cluster" else call.options.get("cluster") or "")
    DoError.when(len(by) > 1, "one variable makes clusters")
    robust = "robust" in call.options or kind == "robust"
    session.model = None
    chosen = choose(session, call, [*names, *by])
    options: dict[str, Any] = {"robust": robust, "earlier": session.fitted[-50:]}
    options["constant"] = "noconstant" not in call.options
    options["level"] = call.number("level", 95.0)
    options["cluster"] = by[0] if by else None
    shown = show_statistic(session, "regress", chosen, terms[0], terms[1:], **options)
    if shown is not None:
        sample = chosen.mask.copy()
        for name in names:
            sample &= ~session.data.variables[name].missing
        units, plain = session.data.units, not (robust or by)
        session.model = LastModel(tuple(terms), tuple(names), sample, units, plain)


def _terms(session: Session, text: str) -> tuple[list[str], list[str]]:
    """The terms of a model, with full names, and the variables in them."""
    terms, names = list[str](), list[str]()
    for word in re.findall(r"(?:\([^()]*\)|[^\s()])+", text):
        if "." not in word and "#" not in word:
            listed = _numeric(session, session.data.listed(word))
            terms += listed
            names += listed
            continue
        pieces = re.split(r"(#+)", word)
        for at in range(0, len(pieces), 2):
            prefix, dot, name = pieces[at].rpartition(".")
            UnsupportedError.when(
                re.fullmatch(r"(?:c\.)?(?:[LFDSlfds]\d*)+", prefix), f"the operator {prefix}."
            )
            full = session.data.full(name)
            names.append(full)
            pieces[at] = f"{prefix}{dot}{full}"
        terms.append("".join(pieces))
    return terms, list(dict.fromkeys(names))


@command("utest", "MIN() MAX() Fieller Level() CRItical()", reads_all=True)
def utest(session: Session, call: CommandCall) -> None:
    """`utest x x2`, after `regress y x x2 …`: test for a U shape."""
    names, model = session.data.listed(call.head), session.model
    refuse_single(session.data, [*names, *(() if model is None else model.names)], "utest")
    model = required(model, "utest needs the results of regress", 301)
    DoError.when(model.units is not session.data.units, "the data changed since regress", 301)
    DoError.when(len(names) != 2, "utest takes a variable and its square", 102)
    UnsupportedError.when(not model.plain, "utest after other standard errors")
    first, second = (session.data.variables[one].values[model.sample] for one in names)
    unlike = model.sample.copy()
    unlike[unlike] = ~np.isclose(second, first * first, rtol=1e-6)
    if unlike.any() and not few(session, unlike):  # it takes the square of the first itself
        raise UnsupportedError("utest with a second variable that is not the square of the first")
    outcome, *others = model.terms
    controls = [word for word in others if word not in names]
    chosen = choose(session, call, model.names, mask=model.sample)
    ends = tuple(call.number(end, 0.0) if end in call.options else None for end in ("min", "max"))
    how: dict[str, Any] = {"interval": ends, "fieller": "fieller" in call.options}
    how["level"] = call.number("level", 95.0)
    show_statistic(session, "utest", chosen, outcome, names[0], controls, **how)
