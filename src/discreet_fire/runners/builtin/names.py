"""Where names in expressions come from in a session, and single values. CONFIDENTIAL.

In: a session. Out: variables, scalars, stored results, coefficients, shifted variables, and one
value where one is wanted (in macros, scalars, conditions, `display`). The session's trace
learns whenever a value of the data that may not be shown is used. No result of an earlier
command is left where Stata would replace it; a result that Stata has and the runner has not
stops the run instead of standing for a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet_fire.catalogue import CommandFacts, facts_of
from discreet_fire.runners.builtin.disclosure.dependence import (
    copied_to_many,
    dominated,
    groups_of_enough,
)
from discreet_fire.runners.builtin.disclosure.units import cases, few, near
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, present
from discreet_fire.runners.builtin.language.expressions import evaluate
from discreet_fire.runners.builtin.language.scope import ByGroups, ExpressionUse, Scope, Value
from discreet_fire.runners.builtin.language.values import MISSING, is_text, shown_default
from discreet_fire.runners.builtin.state.parts import StoredResult
from discreet_fire.runners.builtin.state.session import Session


def settle_results(
    session: Session, facts: CommandFacts, before: dict[str, dict[str, StoredResult]]
) -> None:
    """Note which command the stored results are of; before it, they were those of `before`."""
    if facts.stores.replaced == "e":
        session.results.model = None
        session.store("e", {})
    if facts.stores.replaced == "r" and session.results.stored["r"] is before["r"]:
        session.store("r", {})
    for kind in ("r", "e"):
        if session.results.stored[kind] is not before[kind]:
            session.results.origin[kind] = facts.name


def refuse_unsupported_result(session: Session, kind: str, name: str) -> None:
    """Stop where a result is not stored that would be a number in Stata."""
    command = session.results.origin.get(kind, "")
    facts = facts_of(command)
    pattern = facts.stores.unstored if facts is not None else ""
    UnsupportedError.when(pattern and re.fullmatch(pattern, name), f"{kind}({name}) of {command}")


_OPERATOR = re.compile(r"([LFDSlfds])(\d*)")
_SYSTEM: dict[str, float | str] = {
    "pi": float(np.pi),
    "maxbyte": 100.0,
    "maxint": 32_740.0,
    "maxlong": 2_147_483_620.0,
    "stata_version": 17.0,
    "version": 17.0,
    "os": "Unix",
    "dirsep": "/",
    "current_date": "",
    "current_time": "",
    "username": "",
    "hostname": "",
    "pwd": ".",
    "level": 95.0,
    "linesize": 80.0,
    "matsize": 11_000.0,
    "epsdouble": 2.0**-52,
    "epsfloat": 2.0**-23,
    "mindouble": -1.7976931348623157e308,
    "maxdouble": 8.9884656743115e307,
}


class SessionNames:
    """Names in the expressions of a session; what expressions use is noted.

    With `scalar` one value is wanted, so that using a variable shows a single value. `others` are
    variables that have other values here than in the data.
    """

    def __init__(
        self,
        session: Session,
        *,
        scalar: bool,
        use: ExpressionUse | None = None,
        others: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.session = session
        self.scalar_wanted = scalar
        self.use = ExpressionUse() if use is None else use
        self.others = others

    def altered(self, name: str, values: Any) -> SessionNames:
        """The same with other values of a variable, to see what depends on it."""
        others = {**self.others, name: values}
        return SessionNames(self.session, scalar=self.scalar_wanted, others=others)

    def column(self, name: str) -> Any:
        """The values of a variable, or None."""
        variable = self.session.data.find(name)
        if variable is None:
            return None
        if variable not in self.session.trace.own:
            self.use.columns.add(variable)
        if variable in self.others:
            return self.others[variable]
        trace = self.session.trace
        trace.touch(self.scalar_wanted or variable in trace.variables)
        values = self.session.data.variables[variable].values
        if self.scalar_wanted and not len(values):
            return MISSING
        return values

    def scalar(self, name: str) -> float | str | None:
        """The value of a scalar, or None."""
        known = self.session.results.scalars
        if name not in known:
            matches = [one for one in known if one.startswith(name)]
            if len(matches) != 1:
                return None
            name = matches[0]
        trace = self.session.trace
        trace.touch(name in trace.scalars or "scalars" in trace.whole)
        return known[name]

    def result(self, kind: str, name: str) -> float | str | None:
        """A stored result or system value, or None."""
        name = name.strip()
        if kind == "c":
            return self._system(name)
        self.session.trace.touch(f"{kind}()" in self.session.trace.whole)
        result = self.session.results.stored[kind].get(name)
        if result is None and kind == "e" and name == "sample":
            sample: float | str | None = self._sample()
            return sample
        if result is None:
            refuse_unsupported_result(self.session, kind, name)
            return None
        if not result.safe:
            self.session.trace.touch()
        return result.value

    def _system(self, name: str) -> float | str | None:
        trace = self.session.trace
        if name == "rc":
            trace.touch(trace.code)
            return float(self.session.results.code)
        if name == "N":
            self.counted()
            return float(self.session.data.rows)
        if name == "k":
            trace.touch("shape" in trace.whole)
            return float(len(self.session.data.variables))
        return _SYSTEM.get(name)

    def _sample(self) -> Any:
        sample = getattr(self.session.results.model, "sample", None)
        return None if sample is None else np.asarray(sample, dtype=np.float64)

    def element(self, name: str, text: str, at: tuple[float, ...]) -> float:
        """An element of a matrix, or `_b[…]`, `_se[…]`."""
        if name in ("_b", "_se", "_coef"):
            self.session.trace.touch("e()" in self.session.trace.whole)
            model = present(self.session.results.model, "last estimates not found", code=301)
            part = "se" if name == "_se" else "b"
            return float(model.coefficient(part, text.strip()))
        matrix = present(self.session.results.matrices.get(name), f"{name} not found", code=111)
        trace = self.session.trace
        trace.touch(name in trace.matrices or "scalars" in trace.whole)
        values = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        row, column = (*at, 1.0)[:2] if len(at) == 1 and values.shape[1] == 1 else (1.0, *at)[-2:]
        if not (1 <= row <= values.shape[0] and 1 <= column <= values.shape[1]):
            return MISSING
        return float(values[int(row) - 1, int(column) - 1])

    def counted(self) -> None:
        """Where one value is wanted, a small number of observations may not be shown."""
        data, trace = self.session.data, self.session.trace
        everyone = np.ones(data.rows, dtype=np.bool_)
        small = bool(data.variables) and cases(self.session, everyone) < self.session.limits.minimum
        trace.touch(trace.rests(()) or (self.scalar_wanted and small))

    def ordered(self) -> None:
        """The order of observations that are sorted by single values may not be shown."""
        self.session.trace.ordered()

    def may_fail(self) -> None:
        """What `capture` stores then hangs on values, too."""
        self.session.trace.doubt()

    def told_apart(self, held: Any, gaps: Any) -> None:
        """Note a comparison that holds for a few only, or for all but a few."""
        rows = self.session.data.rows
        if self.scalar_wanted or np.ndim(held) == 0 or len(held) != rows:
            return
        trace, chosen = self.session.trace, held != 0
        self.use.few |= few(self.session, chosen)
        self.use.rest |= few(self.session, ~chosen)
        if np.ndim(gaps) and (chosen.all() or not chosen.any()) and near(self.session, gaps):
            self.use.few = True
        trace.note_few(self.use.few)

    def referred(self, rows: Any, inside: Any) -> None:
        """Note from which observations values are taken: one for many is a single value."""
        self.ordered()
        self.use.taken.append((rows, inside))
        self.session.trace.touch(bool(self.session.trace.copied))
        if self.session.data.rows and copied_to_many(self.session, rows, inside):
            self.session.trace.touch()

    def added(self, values: Any, groups: ByGroups | None) -> None:
        """Note what a running sum adds up: one may make up nearly all of it."""
        self.ordered()
        self.session.trace.touch(bool(self.session.trace.copied))
        rows = self.session.data.rows
        group = np.zeros(rows, dtype=np.int64)
        if groups is not None:
            group = np.repeat(np.arange(groups.sizes.size, dtype=np.int64), groups.sizes)
        column = np.broadcast_to(np.asarray(values, dtype=np.float64), (rows,))
        whole, first = groups_of_enough(self.session, group)
        flags = bool(np.isin(column, (0.0, 1.0)).all())
        parts = [whole] if flags else [whole, first]
        if any(dominated(self.session, column, one) for one in parts):
            self.session.trace.touch()

    def shifted(self, operators: str, name: str) -> Any:
        """A variable under time-series operators: `L.x`, `D.x`, `L2.D.x`."""
        values = present(self.column(name), f"{name} not found", code=111)
        self.session.trace.touch(bool(self.session.trace.copied))
        if not isinstance(values, np.ndarray):
            return values  # one value is wanted, and there are no observations
        DoError.when(values.dtype == object, "type mismatch", code=109)
        for letter, number in reversed(_OPERATOR.findall(operators)):
            values = self._one_shift(values, letter.upper(), int(number or 1))
        return values

    def _one_shift(self, values: FloatArray, letter: str, steps: int) -> FloatArray:
        if letter in "LF":
            return _at_rows(values, shifted_rows(self.session, -steps if letter == "L" else steps))
        if letter == "D":
            for _ in range(steps):
                values = _less(values, _at_rows(values, shifted_rows(self.session, -1)))
            return values
        if letter == "S":
            return _less(values, _at_rows(values, shifted_rows(self.session, -steps)))
        raise UnsupportedError(f"time-series operator {letter}")


def _at_rows(values: FloatArray, rows: Any) -> FloatArray:
    return np.where(rows >= 0, values[np.maximum(rows, 0)], MISSING)


def _less(values: FloatArray, other: FloatArray) -> FloatArray:
    missing = (values >= MISSING) | (other >= MISSING)
    return np.where(
        missing, MISSING, np.where(missing, 0.0, values) - np.where(missing, 0.0, other)
    )


def shifted_rows(session: Session, steps: int) -> Any:
    """Per observation, the row of the same panel so many time units later; -1 if none."""
    panel, time = session.data.panel
    DoError.when(not time, "time variable not set; use tsset or xtset", code=111)
    data = session.data
    times = np.asarray(data.named(time).values, dtype=np.float64)
    units = (
        np.unique(data.named(panel).values, return_inverse=True)[1]
        if panel
        else np.zeros(data.rows, dtype=np.int64)
    )
    order = np.lexsort((times, units))
    rows = np.full(data.rows, -1, dtype=np.int64)
    if not data.rows:
        return rows
    known = times < MISSING
    least = float(times[known].min()) if known.any() else 0.0
    width = (float(times[known].max()) - least + 1 if known.any() else 1.0) + 2 * abs(steps)
    key = units * width + np.where(known, times - least, 0.0)
    sought = key + steps
    at = np.searchsorted(key[order], sought)
    at = np.minimum(at, data.rows - 1)
    hit = order[at]
    inside = (times - least + steps >= 0) & known
    same = (key[hit] == sought) & (units[hit] == units) & inside & known[hit]
    rows[same] = hit[same]
    return rows


def scope_of(
    session: Session,
    groups: ByGroups | None = None,
    *,
    scalar: bool = False,
    use: ExpressionUse | None = None,
    others: Mapping[str, Any] = MappingProxyType({}),
) -> Scope:
    """What expressions of a session are evaluated in, under `by` in groups.

    Where one value is wanted (`scalar`), a variable gives its first value, and using one is
    remembered as a touch of the data. For `use` and `others` see `SessionNames`.
    """
    names = SessionNames(session, scalar=scalar, use=use, others=others)
    return Scope(names, session.data.rows, groups, session.options.draw)


def one_value(session: Session, expression: str) -> float | str:
    """One value: of the first observation where the expression depends on them."""
    value: Value = evaluate(expression, scope_of(session, scalar=True))
    if isinstance(value, float | str | int):
        return value if isinstance(value, str) else float(value)
    if not len(value):
        return "" if is_text(value) else 2.0**1023
    return str(value[0]) if is_text(value) else float(value[0])


def one_number(session: Session, expression: str) -> float:
    """One number; an error if the expression is a text."""
    value = one_value(session, expression)
    if isinstance(value, str):
        raise DoError("type mismatch", code=109)
    return value


def macro_text(value: float | str) -> str:
    """A value as the text of a macro.

    >>> macro_text(3.0), macro_text(0.1), macro_text("a")
    ('3', '.1', 'a')
    """
    if isinstance(value, str):
        return value
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return shown_default(value, 18)
