"""Commands that stop a program unless the data are as expected: `assert`, `isid`, `confirm`.

In: calls. Out: nothing, or an error; it never says how many or which observations it is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking.running.combining import missing_values
from discreet.output_checking.running.dataset import NAME
from discreet.output_checking.running.egen_work import codes_of
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.evaluating import truth
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.failing import failure, repeated
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.values import number_of_text

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


@command("assert", summary="stop unless an expression holds everywhere", by=True,
         options="rc0", idle="fast")  # fmt: skip
def assertion(session: Session, call: Call) -> None:
    """`assert exp [if] [in]`."""
    mask = selected(session, call)
    held = truth(call.head, session.scope(call.groups))
    if session.data.rows == 0:
        held = np.asarray([truth_of_none(session, call.head)])
        mask = np.ones(1, dtype=np.bool_)
    if session.trace.touched:
        raise DoError("an assertion may not rest on single values of the data", code=198)
    if not held[mask].all() and not call.has("rc0"):
        if not session.data.rows:
            raise DoError("assertion is false", code=9)
        raise failure(session, mask & ~held, "assertion is false", code=9)


def truth_of_none(session: Session, expression: str) -> bool:
    """Whether an expression holds where there are no data."""
    from discreet.output_checking.running.single import one_value

    return one_value(session, expression) != 0


@command("isid", summary="stop unless variables identify the observations",
         options="Sort Missok")  # fmt: skip
def is_id(session: Session, call: Call) -> None:
    """`isid varlist [, sort missok]`."""
    data = session.data
    names = data.listed(call.head)
    if not names:
        raise DoError("varlist required", code=100)
    gaps = np.logical_or.reduce([missing_values(data.variables[one]) for one in names])
    if gaps.any() and not call.has("missok"):
        raise failure(session, gaps, "an identifier should never be missing", code=459)
    codes, count = codes_of(session, names)
    if count < data.rows:
        words = "variable" if len(names) == 1 else "variables"
        what = f"{words} {' '.join(names)} should identify each observation uniquely"
        raise failure(session, repeated(codes), what, code=459)
    if call.has("sort"):
        data.take(data.order_of(names))
        data.sorted_by = tuple(names)


@command("confirm", summary="stop unless names are what is expected", raw=True, group="program")
def confirm(session: Session, call: Call) -> None:
    """`confirm [new|numeric|string] variable x`, `confirm number 3`, `confirm file f` …"""
    before, _, options = call.text.partition(",")
    exact = "exact" in options
    session.trace.touch("shape" in session.trace.whole)
    words = words_of(before)
    kinds = [one for one in words[:2] if re.fullmatch(_KINDS, one)]
    rest = words[len(kinds) :]
    if not kinds:
        raise DoError("invalid syntax of confirm", code=198)
    last = kinds[-1]
    if last.startswith("v"):
        for name in rest or [""]:
            _variable(session, name, kinds[0] if len(kinds) > 1 else "", exact=exact)
    elif last == "file":
        exists = session.path_of(" ".join(rest)).exists()
        known = session.path_of(" ".join(rest)) in session.files
        if (exists or known) == (kinds[0] == "new"):
            code = 602 if kinds[0] == "new" else 601
            raise DoError("file already exists" if code == 602 else "file not found", code=code)
    elif last.startswith("n"):
        _number(rest, whole=kinds[0].startswith("int"))
    elif last.startswith("exi"):
        if not rest:
            raise DoError("nothing found where something expected", code=6)
    elif last.startswith("sca"):
        if not rest or rest[0] not in session.scalars:
            raise DoError("scalar not found", code=111)
    else:
        raise UnsupportedError(f"confirm {last}")


_KINDS = (
    r"new|num(eric)?|str(ing)?|v(a(r(i(a(b(le?)?)?)?)?)?)?|file|integer|number|exi(stence)?|"
    r"scalar|existing"
)


def _variable(session: Session, name: str, kind: str, *, exact: bool) -> None:
    if kind == "new":
        session.data.check_new(name)
        return
    if not name:
        raise DoError("varlist required", code=7)
    if exact and name not in session.data.variables:
        raise DoError(f"variable {name} not found", code=111)
    if not exact and not any(sign in name for sign in "*?~-") and not NAME.match(name):
        raise DoError(f"{name} invalid name", code=7)
    for one in session.data.listed(name):
        session.trace.touch(bool(kind) and one in session.trace.sized)
        text = session.data.variables[one].is_text
        if (kind.startswith("num") and text) or (kind.startswith("str") and not text):
            raise DoError(f"{one} is of another type", code=7)


def _number(words: list[str], *, whole: bool) -> None:
    value = number_of_text(words[0]) if len(words) == 1 else None
    if value is None or (whole and value != int(value)):
        raise DoError("a number was expected", code=7)
