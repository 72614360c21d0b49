"""What a safe command is given: the chosen observations, their weights, whom they are about.

In: a session and a call. Out: `Chosen`, a polars frame for the safe commands. Whom an
observation is about goes with it unseen, so that changing or dropping the variable changes
no check. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from discreet.errors import DiscreetError
from discreet.output_checking.running.categories import grouping
from discreet.output_checking.running.differencing import conflicting
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.isolating import (
    all_but_few,
    cases,
    copies,
    differing_few,
    owners,
)
from discreet.output_checking.running.selecting import selected, weights_of
from discreet.output_checking.running.values import MISSING, Floats, Mask
from discreet.output_checking.running.witnessing import Told
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

__all__ = [
    "ENTITY",
    "INSIDE",
    "WEIGHT",
    "Chosen",
    "choose",
    "keep_entity",
    "numeric",
    "quoted",
    "safely",
    "show",
    "touched",
]

#: Columns of the frame that no variable can be called.
ENTITY, WEIGHT, INSIDE = "who is it", "the weight", "inside"
_ROW = "row"
_KEPT = "entity"
#: Most rows that frequency weights may stand for.
_MOST = 20_000_000
#: Errors of safe commands that are about the output, not about the program.
_WITHHELD = frozenset(("group", "table-size", "edges", "entity"))
_CODES = {"not-numeric": 109, "column-type": 109, "no-observations": 2000, "weights": 402}
_CODES |= {"factor-values": 452, "missing-column": 111}
#: Errors of safe commands that one value may cause.
_OF_VALUES = frozenset(
    ("value", "column-values", "factor-values", "factor-level", "weights", "records")
)

_Value = TypeVar("_Value")


def keep_entity(session: Session) -> None:
    """Keep whom each observation is about, before the program can change it."""
    data, name = session.data, session.entity
    if name is not None and _KEPT not in data.hidden and name in data.variables:
        data.hidden[_KEPT] = data.variables[name]


def named_owners(session: Session) -> bool:
    """Whether it is known by an entity whom the observations are about."""
    kept = session.data.hidden.get(_KEPT)
    return session.entity is not None and kept is not None and len(kept.values) == session.data.rows


@dataclass(frozen=True, repr=False)
class Chosen:
    """The chosen observations (confidential).

    Args:
        frame: Their variables.
        mask: Which observations of the data they are.
        entity: Column of whom they are about.
        weights: Column of weights.
        weight: The weights of the chosen observations, where there are any.
        checks: What has to be said about them.
        groups: Variables that span the output.
        missing: Whether missing values are a group of their own.
    """

    frame: pl.DataFrame
    mask: Mask
    entity: str | None
    weights: str | None
    weight: Floats | None
    checks: tuple[Check, ...] = ()
    groups: tuple[str, ...] = ()
    missing: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments that all safe commands take."""
        return {"entity": self.entity} | ({"weights": self.weights} if self.weights else {})


def choose(
    session: Session,
    call: Call,
    names: Sequence[str],
    *,
    groups: Sequence[str] = (),
    more: Mapping[str, Floats] | None = None,
    default: str = "",
    repeat: bool = True,
    mask: Mask | None = None,
) -> Chosen:
    """The observations that a call is about.

    Args:
        session: The session.
        call: The call.
        names: Variables of the frame.
        groups: Those among them whose value labels stand for values.
        more: Columns that are no variables.
        default: What `[weight=…]` means for the command.
        repeat: Whether frequency weights repeat observations; else they are a column.
        mask: The observations, instead of those of `if` and `in`.
    """
    rows = selected(session, call) if mask is None else mask.copy()
    weight = weights_of(session, call, rows, default)
    if weight is not None and differing_few(session, weight, rows):
        session.trace.touch()
    frame = pl.DataFrame({_ROW: np.ones(int(rows.sum()), dtype=np.int64)})
    if names:
        frame = session.data.frame(list(dict.fromkeys(names)), rows)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns(pl.col(name).replace("", None) for name in texts)
    codes = owners(session)
    for name in groups:
        frame = frame.with_columns(grouping(session, name, frame[name], codes[rows]))
    for name, values in (more or {}).items():
        column = np.where(values[rows] >= MISSING, np.nan, values[rows])
        frame = frame.with_columns(pl.Series(name, column, nan_to_null=True))
    entity, checks = None, []
    if named_owners(session) or copies(session):
        entity = ENTITY
        who = pl.Series(ENTITY, codes[rows])
        frame = frame.with_columns(who.set(who < 0, None))
    if session.entity is not None and not named_owners(session):
        reason = "nothing in the data says whom an observation is about; each counts as a case"
        checks.append(Check(rule="entity", verdict=Verdict.review, reason=reason))
    kind = "" if call.weight is None else call.weight.kind
    kind = default if kind == "weight" else kind
    of = None if weight is None else weight[rows]
    told = tuple(groups), call.has("missing")
    chosen = Chosen(frame, rows, entity, None, of, tuple(checks), *told)
    if weight is None:
        return chosen
    if kind == "fweight" and repeat:
        return _repeated(chosen)
    return replace(
        chosen, frame=frame.with_columns(pl.Series(WEIGHT, weight[rows])), weights=WEIGHT
    )


def _repeated(chosen: Chosen) -> Chosen:
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
        if session.data.variables[name].is_text:
            raise DoError(f"{name} is a string variable", code=109)
    return list(names)


def touched(session: Session, names: Sequence[str]) -> bool:
    """Whether a variable was made from single values that may not be shown."""
    return session.trace.rests(names)


def safely(session: Session, command: str, work: Callable[[], _Value]) -> _Value | None:
    """Run a safe command; None if all of its output is withheld.

    Raises:
        DoError: The program is wrong.
    """
    try:
        return work()
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
        stopped.untold = error.code in _OF_VALUES
        raise stopped from None


def show(session: Session, result: SafeResult, chosen: Chosen, names: Sequence[str]) -> bool:
    """Show a result, unless it is about variables made from single values.

    Returns:
        Whether it was shown.
    """
    session.trace.hidden = True
    if _too_few(session, result, chosen):
        reason = "it is about too few cases, or about all but a few"
        session.withhold(result.command.split()[0], "minimum", reason)
        return False
    if touched(session, names) or session.trace.touched:
        reason = "a variable was made from single values of the data, such as a maximum"
        session.withhold(result.command.split()[0], "single-value", reason)
        return False
    if conflicting(session, counted(chosen), names):
        reason = "it differs from an earlier output by a few cases"
        session.withhold(result.command.split()[0], "difference", reason)
        return False
    if chosen.checks:
        result = replace(result, checks=[*result.checks, *chosen.checks])
    session.trace.hidden = False
    session.show(result)
    _tell_whom(session, result, chosen, names)
    return True


def counted(chosen: Chosen) -> Mask:
    """The observations that an output is about; of a count all are given, with who is inside."""
    mask = chosen.mask
    if INSIDE in chosen.frame.columns:
        mask = mask.copy()
        mask[mask] = (chosen.frame[INSIDE] == 1).to_numpy()
    return mask


def _tell_whom(session: Session, result: SafeResult, chosen: Chosen, names: Sequence[str]) -> None:
    """Tell whom an output is about to whoever keeps a ledger of that.

    Also if the program runs quietly: `display` can show the result later.
    """
    if session.witness is None:
        return
    mask = counted(chosen)
    kept = session.data.hidden.get(_KEPT)
    units = None
    if kept is not None and len(kept.values) == session.data.rows:
        unknown = kept.values == "" if kept.is_text else kept.values >= MISSING
        whom = kept.values[mask].astype(object)
        whom[np.asarray(unknown, dtype=np.bool_)[mask]] = None
        units = whom.tolist()
    listed = [name for name in dict.fromkeys(names) if name in session.data.variables]
    frame = session.data.frame(listed, mask) if listed else pl.DataFrame()
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns(pl.col(name).replace("", None) for name in texts)
    command, groups = result.command, tuple(one for one in chosen.groups if one in listed)
    session.witness(Told(session.line, command, units, frame, groups, chosen.missing))


#: Models look themselves at what is left out.
_MODELS = frozenset(("regress", "logit", "probit", "logistic", "utest"))


def _too_few(session: Session, result: SafeResult, chosen: Chosen) -> bool:
    """Whether a condition chose too few cases, nobody included, or all but a few."""
    name, trace, mask = result.command.split()[0], session.trace, chosen.mask
    if trace.few:
        return True
    if name == "count":
        return False
    if (mask.all() or not trace.plain) and cases(session, mask) < session.limits.minimum:
        return True
    return name not in _MODELS and all_but_few(session, mask)


def quoted(session: Session, call: Call, *options: str, always: bool = False) -> bool:
    """Withhold an output that would quote a single value, as edges and levels are.

    Args:
        session: The session.
        call: The call.
        options: Options of which the output quotes the argument.
        always: Whether the output quotes more of the call than that.

    Returns:
        Whether it is withheld.
    """
    if not session.trace.touched or not (always or any(call.has(one) for one in options)):
        return False
    reason = "the command itself holds single values of the data"
    session.withhold(call.name, "single-value", reason)
    session.store("r", {})
    return True
