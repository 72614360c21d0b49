"""What a command is about: the observations of `if` and `in`, weights, groups, units. CONFIDENTIAL.

In: a session and a call. Out: a mask over the observations; `ChosenRecords`, a polars frame for
the safe commands, with labels as categories in the order of the values, in which a value that
few have is not named. Whom an observation is about goes with it unseen, so that changing or
dropping the variable changes no check. What is shown goes through `show`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.catalogue import facts_of
from discreet_fire.linked_tables import GroupsShown, OutputRecords, ShownTable, tables_of
from discreet_fire.runners.builtin.disclosure.dependence import depends_on_few_units
from discreet_fire.runners.builtin.disclosure.record_counts import failure
from discreet_fire.runners.builtin.disclosure.units import (
    OWNER,
    RECORD,
    all_but_few,
    asks_by_function,
    cases,
    cases_by_value,
    conflicts_with_earlier,
    few_differ,
    first_records,
    has_copies,
    hidden_column,
    named_units,
    owners,
    plain,
    read_sources,
    record_numbers,
)
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.expressions import evaluate, number_column, truth
from discreet_fire.runners.builtin.language.scope import Scope
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.names import scope_of
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.protocol import StatisticShown
from discreet_fire.statistics import Check, CheckVerdict, SafeResult, number_text, safe_statistic

_PLACE = re.compile(r"(-?\d+|f|l)(?:/(-?\d+|f|l))?\Z", re.IGNORECASE)


def selected(session: Session, call: CommandCall, scope: Scope | None = None) -> BoolArray:
    """Observations for which `if` holds and that are in the range of `in`.

    The expression of the command is evaluated in the scope, if given, afterwards: it may refer
    to what a pattern of `if` has matched.
    """
    rows = session.data.rows
    mask = np.ones(rows, dtype=np.bool_)
    if call.condition is not None:
        scope = scope or scope_of(session, call.groups)
        held = truth(call.condition, scope)
        use = scope.names.use
        use.few |= depends_on_few_units(session, call.condition, scope, held, held=True)
        session.trace.note_few(use.few)
        mask &= held
        least = session.limits.minimum
        if session.trace.few or any(cases(session, one) < least for one in (held, ~held)):
            session.trace.note_plain(plain(session, call.condition))
        if not session.trace.plain and (held.all() or not held.any()):
            use.few |= asks_by_function(call.condition)
            session.trace.note_few(use.few)
    if call.rows is not None:
        if call.groups is not None:
            raise DoError("in may not be combined with by", code=190)
        first, last = _range(call.rows, rows)
        session.trace.note_plain(False)
        session.trace.ordered()
        inside = np.zeros(rows, dtype=np.bool_)
        inside[first - 1 : last] = True
        mask &= inside
    return mask


def _range(text: str, rows: int) -> tuple[int, int]:
    match = required(_PLACE.match(text.replace(" ", "")), "invalid range of observations", code=198)
    places = [_place(part, rows) for part in (match[1], match[2] or match[1])]
    if not (1 <= places[0] <= places[1] <= rows):
        raise DoError("observation numbers out of range", code=198)
    return places[0], places[1]


def _place(text: str, rows: int) -> int:
    if text.lower() == "f":
        return 1
    if text.lower() == "l":
        return rows
    number = int(text)
    return number if number > 0 else rows + number + 1


def weights_of(
    session: Session, call: CommandCall, mask: BoolArray, default: str = ""
) -> FloatArray | None:
    """The weights of the chosen observations, or None if there are none.

    Missing and zero weights leave an observation out: `mask` is changed. What `[weight=…]` means
    for the command is its default.
    """
    if call.weight is None:
        return None
    kind = call.weight.kind if call.weight.kind != "weight" else default
    UnsupportedError.when(not kind, "[weight=…] without its kind")
    scope = scope_of(session)
    value = evaluate(call.weight.expression, scope)
    session.trace.touch(depends_on_few_units(session, call.weight.expression, scope, value, mask))
    weight = number_column(value, session.data.rows, "weights must be numeric")
    chosen = weight[mask & (weight < MISSING)]
    if kind != "iweight" and chosen.size and chosen.min() < 0:
        wrong = mask & (weight < 0)
        raise failure(session, wrong, "negative weights encountered", code=402)
    if kind == "fweight" and not (chosen == np.trunc(chosen)).all():
        wrong = mask & (weight < MISSING) & (weight != np.trunc(weight))
        raise failure(session, wrong, "may not use noninteger frequency weights", code=401)
    mask &= (weight < MISSING) & (weight != 0)
    return weight


def codes_of(session: Session, names: list[str]) -> tuple[Any, int]:
    """Groups of equal values, numbered in their order from 0."""
    rows = session.data.rows
    if not names or not rows:
        return np.zeros(rows, dtype=np.int64), int(rows > 0)
    order = session.data.order_of(names)
    ordered = [session.data.variables[name].values[order] for name in names]
    changed = np.zeros(rows, dtype=np.bool_)
    for values in ordered:
        changed[1:] |= values[1:] != values[:-1]
    codes = np.empty(rows, dtype=np.int64)
    codes[order] = np.cumsum(changed)
    return codes, int(changed.sum()) + 1


#: The name of values that few have, as in the safe commands.
_OTHER = "(other)"
#: A variable of more values is looked at by the safe commands themselves.
_FEW = 5


def labelled_groups(session: Session, name: str, column: pl.Series, who: Any) -> pl.Series:
    """A grouping variable as it is shown; `who` says whom each is about, -1 if not known."""
    named = _labelled(session, name, column)
    if len(column) == session.data.rows and name not in session.trace.made:
        return named
    return _together(named, who, session.limits.minimum)


def _labelled(session: Session, name: str, column: pl.Series) -> pl.Series:
    """A column with its value labels in place of numbers, in the order of the numbers."""
    label = session.data.variables[name].value_label
    texts = {} if label in session.trace.labels else session.data.value_labels.get(label, {})
    values = column.drop_nulls().unique().sort().to_list()
    if not texts or column.dtype == pl.String or any(value != int(value) for value in values):
        return column
    labels = [texts.get(float(value)) or number_text(int(value)) for value in values]
    if len(set(labels)) < len(labels):
        labels = [f"{label} ({int(value)})" for label, value in zip(labels, values, strict=True)]
    if len(set(labels)) < len(labels):
        return column
    return column.replace_strict(values, labels, return_dtype=pl.Enum(labels))


def _together(column: pl.Series, who: Any, minimum: int) -> pl.Series:
    """Put values of few cases together, and as many others that their number stays unknown."""
    values = column.drop_nulls().unique().sort()
    known = len(column) - column.null_count()
    if not len(values) or (len(values) > _FEW and len(values) * minimum > known):
        return column
    counted = cases_by_value(column, who)
    number = dict(zip(counted["value"].to_list(), counted["cases"].to_list(), strict=True))
    cases = [number[value] for value in values.to_list()]
    order = sorted(range(len(values)), key=lambda at: (cases[at], at))
    rare = [at for at in order if cases[at] < minimum]
    if not rare:
        return column
    left = order[len(rare) :]
    while left and (len(rare) < 2 or sum(cases[at] for at in rare) < minimum + len(rare) - 1):
        rare.append(left.pop(0))
    names = [one if isinstance(one, str) else number_text(one) for one in values.to_list()]
    kept = [names[at] for at in range(len(values)) if at not in set(rare)]
    shown = [_OTHER if at in set(rare) else names[at] for at in range(len(values))]
    kind = pl.Enum([*kept, _OTHER])
    return column.replace_strict(values, shown, default=None, return_dtype=kind)


#: Columns of the frame that no variable can be called.
ENTITY, WEIGHT, INSIDE = "who is it", "the weight", "inside"
#: How columns begin that say whose a copied value is.
_SOURCE = "whose is it "
_ROW = "row"
#: Most rows that frequency weights may stand for.
_MOST = 20_000_000
#: Errors of safe commands that are about the output, not about the program.
_WITHHELD = frozenset(("group", "table-size", "edges", "entity", "copies"))
_CODES = {"not-numeric": 109, "column-type": 109, "no-observations": 2000, "weights": 402}
_CODES |= {"factor-values": 452, "missing-column": 111, "two-groups": 420}
#: Errors of safe commands that the program alone causes; any other may tell of one value.
_OF_PROGRAM = frozenset(
    ("centile", "column-type", "columns", "correlate", "limits", "missing-column", "model",
     "no-observations", "not-numeric", "statistic", "table", "tabulate", "terms", "xtdescribe")
)  # fmt: skip


def keep_entity(session: Session) -> None:
    """Keep whom each observation is about, before the program can change it."""
    data, name = session.data, session.entity
    if name is not None and OWNER not in data.hidden and name in data.variables:
        data.hidden[OWNER] = data.variables[name]


def named_owners(session: Session) -> bool:
    """Whether it is known by an entity whom the observations are about."""
    return session.entity is not None and hidden_column(session.data, OWNER) is not None


@dataclass(frozen=True, repr=False)
class ChosenRecords:
    """The chosen observations (confidential): a frame of their variables, with the columns of whom
    they are about and of their weights; which of the data they are; what has to be said of them.

    `groups` span the output; missing values may be a group of their own.
    """

    frame: pl.DataFrame
    mask: BoolArray
    entity: str | None
    weights: str | None
    weight: FloatArray | None
    checks: tuple[Check, ...] = ()
    groups: tuple[str, ...] = ()
    missing: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments that all safe commands take."""
        return {"entity": self.entity} | ({"weights": self.weights} if self.weights else {})


def choose(
    session: Session,
    call: CommandCall,
    names: Sequence[str],
    *,
    groups: Sequence[str] = (),
    more: Mapping[str, FloatArray] | None = None,
    default: str = "",
    repeat: bool = True,
    mask: BoolArray | None = None,
) -> ChosenRecords:
    """The observations that a call is about, or those of a mask, with some variables.

    Value labels stand for the values of `groups`; `more` columns are no variables. `[weight=…]`
    means the default. Frequency weights repeat observations, or are a column.
    """
    rows = selected(session, call) if mask is None else mask.copy()
    weight = weights_of(session, call, rows, default)
    if weight is not None and few_differ(session, weight, rows):
        session.trace.touch()
    frame = pl.DataFrame({_ROW: np.ones(int(rows.sum()), dtype=np.int64)})
    if names:
        frame = session.data.frame(list(dict.fromkeys(names)), rows)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns(pl.col(name).replace("", None) for name in texts)
    codes = owners(session)
    for name in groups:
        frame = frame.with_columns(labelled_groups(session, name, frame[name], codes[rows]))
    for name, values in (more or {}).items():
        column = np.where(values[rows] >= MISSING, np.nan, values[rows])
        frame = frame.with_columns(pl.Series(name, column, nan_to_null=True))
    entity, checks = None, []
    if named_owners(session) or has_copies(session):
        entity = ENTITY
        who = pl.Series(ENTITY, codes[rows])
        frame = frame.with_columns(who.set(who < 0, None))
    for number, source in enumerate(read_sources(session)):
        whose = pl.Series(f"{_SOURCE}{number}", source[rows])
        frame = frame.with_columns(whose.set(whose < 0, None))
    if session.entity is not None and not named_owners(session):
        reason = "nothing in the data says whom an observation is about; each counts as a case"
        checks.append(Check(rule="entity", verdict=CheckVerdict.review, reason=reason))
    kind = "" if call.weight is None else call.weight.kind
    kind = default if kind == "weight" else kind
    of = None if weight is None else weight[rows]
    grouping = tuple(groups), call.has("missing")
    chosen = ChosenRecords(frame, rows, entity, None, of, tuple(checks), *grouping)
    if weight is None:
        return chosen
    if kind == "fweight" and repeat:
        return _repeated(chosen)
    return replace(
        chosen, frame=frame.with_columns(pl.Series(WEIGHT, weight[rows])), weights=WEIGHT
    )


def _repeated(chosen: ChosenRecords) -> ChosenRecords:
    """Each observation as often as its weight says; it stays one case."""
    assert chosen.weight is not None
    times = chosen.weight.astype(np.int64)
    if int(times.sum()) > _MOST:
        raise UnsupportedError("frequency weights that add up to so many observations")
    frame = chosen.frame
    if chosen.entity is None:
        frame = frame.with_columns(pl.Series(ENTITY, np.arange(frame.height, dtype=np.int64)))
    frame = frame[np.repeat(np.arange(frame.height), times)]
    return replace(chosen, frame=frame, entity=ENTITY)


def numeric(session: Session, names: Sequence[str]) -> list[str]:
    """The same names; an error if one is a text."""
    for name in names:
        DoError.when(session.data.variables[name].is_text, f"{name} is a string variable", code=109)
    return list(names)


def run_statistic(
    session: Session, command: str, *arguments: Any, of: str = "", **options: Any
) -> SafeResult | None:
    """The safe statistic of a command, as its row says; None if all of it is withheld.

    The command is called so in what is withheld; its statistic may be that `of` another one.
    """
    facts = facts_of(of or command)
    if facts is None or not facts.shows.statistic:
        raise UnsupportedError(f"a safe statistic for {command}")
    statistic = safe_statistic(facts.shows.statistic)
    try:
        result = statistic(*arguments, limits=session.limits, **options)
        for column in arguments[0].columns:
            if column.startswith(_SOURCE):
                how = {**options, "entity": column, "limits": session.limits}
                if statistic(*arguments, **how).shown != result.shown:
                    message = "values in it are copies of those of too few cases"
                    raise OutputCheckError(message, code="copies")
    except (DoError, UnsupportedError):
        raise
    except DiscreetError as error:
        if error.code in _WITHHELD:
            session.withhold(command, error.code, error.what)
            return None
        plain = session.trace.plain and session.data.rows
        if error.code == "no-observations" and not plain:
            session.withhold(command, "minimum", "it is about too few cases")
            return None
        stopped = DoError(error.what, code=_CODES.get(error.code, 198))
        stopped.redacted = error.code not in _OF_PROGRAM
        raise stopped from None
    return result


def show(
    session: Session, result: SafeResult | None, chosen: ChosenRecords, names: Sequence[str]
) -> SafeResult | None:
    """Show a result, unless it is about few or about variables made from single values.

    None, of which no stored result may be shown either, stands for what is withheld.
    """
    if result is None:
        return None
    rule = reason = ""
    if _too_few(session, result, chosen):
        rule, reason = "minimum", "it is about too few cases, or about all but a few"
    elif session.trace.rests(names) or session.trace.touched:
        reason = "a variable was made from single values of the data, such as a maximum"
        rule = "single-value"
    elif conflicts_with_earlier(session, counted_records(chosen), names):
        rule, reason = "difference", "it differs from an earlier output by a few cases"
    if rule:
        session.withhold(result.command.split()[0], rule, reason)
        return None
    if chosen.checks:
        result = replace(result, checks=[*result.checks, *chosen.checks])
    session.show(result)
    _tell_whom(session, result, chosen, names)
    return result


def show_statistic(
    session: Session,
    command: str,
    chosen: ChosenRecords,
    names: Sequence[str],
    *arguments: Any,
    of: str = "",
    **options: Any,
) -> SafeResult | None:
    """Run the safe statistic of a command on chosen records, and show it.

    The command is called so in what is withheld; its statistic may be that `of` another one.
    """
    options = {**options, **chosen.options}
    result = run_statistic(session, command, chosen.frame, *arguments, of=of, **options)
    return show(session, result, chosen, names)


def counted_records(chosen: ChosenRecords) -> BoolArray:
    """The observations that an output is about; of a count all are given, with who is inside."""
    mask = chosen.mask
    if INSIDE in chosen.frame.columns:
        mask = mask.copy()
        mask[mask] = (chosen.frame[INSIDE] == 1).to_numpy()
    return mask


def _tell_whom(
    session: Session, result: SafeResult, chosen: ChosenRecords, names: Sequence[str]
) -> None:
    """Tell whom an output is about to whoever keeps a ledger of that.

    Also if the program runs quietly: `display` can show the result later.
    """
    if session.log.witness is None:
        return
    mask = counted_records(chosen)
    units = named_units(session, mask)
    listed = [name for name in dict.fromkeys(names) if name in session.data.variables]
    frame = session.data.frame(listed, mask) if listed else pl.DataFrame()
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns(pl.col(name).replace("", None) for name in texts)
    name, *words = result.command.split(",")[0].rpartition(": ")[2].split()
    facts = facts_of(name)
    universes = None if facts is None else facts.shows.universes
    how = "unfollowed" if facts is None else facts.shows.groups
    session.log.witness(
        StatisticShown(
            line=session.log.line,
            command=name,
            universes="model" if universes is None or universes == "none" else universes,
            units=units,
            numbers=record_numbers(session, mask),
            first=first_records(session),
            frame=frame,
            groups=tuple(one for one in chosen.groups if one in listed),
            categories=frozenset(
                part.partition(".")[2] for word in words for part in word.split("#") if "." in part
            ),
            missing=chosen.missing,
            tables=_shown_tables(session, result, chosen, how),
        )
    )


def _shown_tables(
    session: Session, result: SafeResult, chosen: ChosenRecords, how: GroupsShown
) -> tuple[ShownTable | None, ...]:
    """What an output shows over groups, with the records behind it."""
    if hidden_column(session.data, RECORD) is None:
        return () if how == "nothing" else (None,)
    mask, inside, weights = counted_records(chosen), chosen.frame, chosen.weight
    if ENTITY in inside.columns and inside.height != int(chosen.mask.sum()):
        # Frequency weights have repeated the records; each is one, and counts for several.
        inside = _once(inside, chosen)
    if INSIDE in inside.columns:
        inside = inside.filter(pl.col(INSIDE) == 1)
        weights = None if weights is None else weights[mask[chosen.mask]]
    title = f"line {session.log.line}, {result.command.partition(',')[0]}"
    records = OutputRecords(
        title=title,
        labels=inside.select(
            ~cs.by_name(ENTITY, WEIGHT, INSIDE, _ROW, require_all=False) & ~cs.starts_with(_SOURCE)
        ),
        numbers=record_numbers(session, mask),
        owners=owners(session)[mask],
        weights=weights,
        digits=session.limits.digits,
    )
    return tables_of(how, records, result.frame, result.stored)


def _once(repeated: pl.DataFrame, chosen: ChosenRecords) -> pl.DataFrame:
    """Each record once, where frequency weights have repeated it."""
    assert chosen.weight is not None
    times = chosen.weight.astype(np.int64)
    return repeated[np.cumsum(times) - times]


def _too_few(session: Session, result: SafeResult, chosen: ChosenRecords) -> bool:
    """Whether a condition chose too few cases, nobody included, or all but a few."""
    facts = facts_of(result.command.split()[0])
    sample = "checked" if facts is None else facts.shows.sample
    trace, mask = session.trace, chosen.mask
    if trace.few:
        return True
    if sample == "counted":
        return False
    if (mask.all() or not trace.plain) and cases(session, mask) < session.limits.minimum:
        return True
    return sample != "model" and all_but_few(session, mask)


def quotes_single_values(
    session: Session, call: CommandCall, *options: str, always: bool = False
) -> bool:
    """Withhold an output that would quote a single value, as edges and levels are.

    That is where one of the options is given, of which the output quotes the argument, or
    `always`, where it quotes more of the call; whether it is withheld.
    """
    if not session.trace.touched or not (always or any(call.has(one) for one in options)):
        return False
    reason = "the command itself holds single values of the data"
    session.withhold(call.name, "single-value", reason)
    session.store("r", {})
    return True
