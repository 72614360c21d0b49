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
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.selecting import selected, weights_of
from discreet.output_checking.running.values import MISSING, Floats, Mask
from discreet.output_checking.safe.numbers import number_text
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
    "entity_codes",
    "few_rows",
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

_Value = TypeVar("_Value")


def keep_entity(session: Session) -> None:
    """Keep whom each observation is about, before the program can change it."""
    data, name = session.data, session.entity
    if name is not None and _KEPT not in data.hidden and name in data.variables:
        data.hidden[_KEPT] = data.variables[name]


def entity_codes(session: Session) -> Any:
    """For each observation whom it is about, as whole numbers, -1 where that is not known."""
    if session.entity is None:
        return None
    keep_entity(session)
    kept = session.data.hidden.get(_KEPT)
    if kept is None or len(kept.values) != session.data.rows:
        return None
    unknown = kept.values == "" if kept.is_text else kept.values >= MISSING
    values = kept.values.astype(str) if kept.is_text else kept.values
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    codes[np.asarray(unknown, dtype=np.bool_)] = -1
    return codes


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
    """

    frame: pl.DataFrame
    mask: Mask
    entity: str | None
    weights: str | None
    weight: Floats | None
    checks: tuple[Check, ...] = ()

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
    frame = pl.DataFrame({_ROW: np.ones(int(rows.sum()), dtype=np.int64)})
    if names:
        frame = session.data.frame(list(dict.fromkeys(names)), rows)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns(pl.col(name).replace("", None) for name in texts)
    for name in groups:
        frame = frame.with_columns(labelled(session, name, frame[name]))
    for name, values in (more or {}).items():
        column = np.where(values[rows] >= MISSING, np.nan, values[rows])
        frame = frame.with_columns(pl.Series(name, column, nan_to_null=True))
    entity, checks = None, []
    codes = entity_codes(session)
    if codes is not None:
        entity = ENTITY
        who = pl.Series(ENTITY, codes[rows])
        frame = frame.with_columns(who.set(who < 0, None))
    elif session.entity is not None:
        reason = "nothing in the data says whom an observation is about; each counts as a case"
        checks.append(Check(rule="entity", verdict=Verdict.review, reason=reason))
    kind = "" if call.weight is None else call.weight.kind
    kind = default if kind == "weight" else kind
    if weight is None:
        return Chosen(frame, rows, entity, None, None, tuple(checks))
    chosen = Chosen(frame, rows, entity, None, weight[rows], tuple(checks))
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


def labelled(session: Session, name: str, column: pl.Series) -> pl.Series:
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


def numeric(session: Session, names: Sequence[str]) -> list[str]:
    """The same names; an error if one is a text."""
    for name in names:
        if session.data.variables[name].is_text:
            raise DoError(f"{name} is a string variable", code=109)
    return list(names)


def touched(session: Session, names: Sequence[str]) -> bool:
    """Whether a variable was made from single values that may not be shown."""
    return any(name in session.trace.variables for name in names)


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
        raise DoError(error.what, code=_CODES.get(error.code, 198)) from None


def show(session: Session, result: SafeResult, chosen: Chosen, names: Sequence[str]) -> bool:
    """Show a result, unless it is about variables made from single values.

    Returns:
        Whether it was shown.
    """
    if touched(session, names):
        reason = "a variable was made from single values of the data, such as a maximum"
        session.withhold(result.command.split()[0], "single-value", reason)
        return False
    if chosen.checks:
        result = replace(result, checks=[*result.checks, *chosen.checks])
    session.show(result)
    _tell_whom(session, result, chosen, names)
    return True


def _tell_whom(session: Session, result: SafeResult, chosen: Chosen, names: Sequence[str]) -> None:
    """Tell whom an output is about to whoever keeps a ledger of that."""
    if session.witness is None or session.quiet:
        return
    kept = session.data.hidden.get(_KEPT)
    known = kept is not None and len(kept.values) == session.data.rows
    units = kept.values[chosen.mask].tolist() if kept is not None and known else None
    listed = [name for name in dict.fromkeys(names) if name in session.data.variables]
    frame = session.data.frame(listed, chosen.mask) if listed else pl.DataFrame()
    session.witness(session.line, result.command, units, frame)


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


def few_rows(session: Session) -> bool:
    """Whether the data holds so few cases that their number is not shown."""
    codes = entity_codes(session)
    cases = session.data.rows if codes is None else len(np.unique(codes))
    return 0 < cases < session.limits.minimum
