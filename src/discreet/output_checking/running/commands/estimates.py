"""Results of models: `estimates`, `eststo`, `esttab`, `ereturn`, `matrix`.

In: calls. Out: models kept by name, tables of coefficients that were shown.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking.running.commands.models import noted
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.modelling import SAMPLE, Model
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.session import Result
from discreet.output_checking.running.single import one_value
from discreet.output_checking.running.values import Floats
from discreet.output_checking.safe.layout import Grid
from discreet.output_checking.safe.numbers import general

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_SHOWN = ("N", "r2", "r2_p", "ll", "N_clust")
_STORED = re.compile(r"e\((b|V)\)\Z")


@command(
    "estimates",
    summary="keep models by name: store, restore, drop, clear, dir, table",
    raw=True,
    group="models",
)
def estimates(session: Session, call: Call) -> None:
    """`estimates store name`, `restore`, `drop`, `clear`, `table [names]`."""
    words = call.text.split(",")[0].split()
    what, names = (words[0], words[1:]) if words else ("", [])
    if what in ("store", "sto"):
        if len(names) != 1:
            raise DoError("estimates store takes a name", code=198)
        _store(session, names[0])
    elif what in ("restore", "res"):
        _restore(session, names)
    elif what == "clear" or (what == "drop" and names == ["_all"]):
        session.estimates.clear()
    elif what == "drop":
        for name in names:
            session.estimates.pop(name, None)
    elif what in ("table", "tab"):
        _table(session, names, "estimates table")
    else:
        raise UnsupportedError(f"estimates {what}")


def _store(session: Session, name: str) -> None:
    if session.trace.touched:
        raise UnsupportedError("a name that holds single values of the data")
    if session.model is None:
        raise DoError("last estimates not found", code=301)
    key = f"sample of {name}"
    session.data.hidden[key] = session.data.hidden[SAMPLE]
    stored = dict(session.stored["e"])
    session.estimates[name] = (replace(session.model, key=key), stored)


def _restore(session: Session, names: list[str]) -> None:
    if len(names) != 1 or names[0] not in session.estimates:
        raise DoError("estimation result not found", code=111)
    model, stored = session.estimates[names[0]]
    session.model = model
    session.stored["e"] = dict(stored)


def _table(session: Session, names: list[str], command_name: str) -> None:
    """Coefficients and standard errors of models side by side."""
    wanted: dict[str, tuple[Model, dict[str, Result]]] = {}
    stored = list(session.estimates) if command_name == "esttab" else []
    for name in names or stored or ["."]:
        if name == ".":
            wanted |= _active(session)
        elif name in ("*", "_all"):
            wanted |= session.estimates
        elif name in session.estimates:
            wanted[name] = session.estimates[name]
        else:
            raise DoError("estimation result not found", code=111)
    if not wanted:
        raise DoError("no estimation results are stored", code=301)
    labels: dict[str, None] = {}
    for model, _ in wanted.values():
        labels |= dict.fromkeys(label for label in model.labels if label != "_cons")
    rows = []
    for label in [*labels, "_cons"]:
        pairs = [_pair(model, label) for model, _ in wanted.values()]
        rows.append((label, [general(value) if value is not None else "" for value, _ in pairs]))
        rows.append(
            ("", [f"({general(error)})" if error is not None else "" for _, error in pairs])
        )
    more = []
    for name in _SHOWN:
        cells = [stored.get(name) for _, stored in wanted.values()]
        if any(cell is not None and cell.safe for cell in cells):
            more.append((name, [_cell(cell) for cell in cells]))
    grid = Grid(stub="", heads=list(wanted), blocks=[rows, more] if more else [rows])
    session.show(noted(command_name, str(grid), {}))


def _active(session: Session) -> dict[str, tuple[Model, dict[str, Result]]]:
    """The last model, where there is one."""
    model: Model | None = session.model
    return {} if model is None else {"Active": (model, dict(session.stored["e"]))}


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    return general(float(result.value), 10) if result.safe else "."


def _pair(model: Model, label: str) -> tuple[float | None, float | None]:
    if model.values is None or label not in model.labels:
        return None, None
    return model.coefficient("b", label), model.coefficient("se", label)


@command("eststo", summary="keep the last model; also as a prefix", raw=True, group="models")
def eststo(session: Session, call: Call) -> None:
    """`eststo [name]`, `eststo clear`, `eststo: regress …`."""
    words = call.text.split(",")[0].split()
    if words == ["clear"]:
        session.estimates.clear()
        return
    _store(session, words[0] if words else f"est{len(session.estimates) + 1}")


@command("esttab", summary="table of stored models, as text in the log", raw=True, group="models")
def esttab(session: Session, call: Call) -> None:
    """`esttab [names]`; options change nothing of what is shown, `using` is not supported."""
    words = call.text.split(",")[0].split()
    if "using" in words:
        raise UnsupportedError("esttab using")
    if "," in call.text:
        session.note("(options of esttab do not change what is shown here)")
    _table(session, words, "esttab")


@command("ereturn sreturn", summary="results are not listed; noted", raw=True, group="refused")
def ereturn(session: Session, call: Call) -> None:
    """`ereturn list` is withheld."""
    if call.text.split(",")[0].split()[:1] not in (["list"], ["li"], ["l"]):
        raise UnsupportedError(f"{call.name}, but for list")
    session.withhold(f"{call.name} list", "refused", "stored results may be single values")


@command(
    "matrix",
    summary="matrices from e(b), e(V), numbers and other matrices; never listed",
    raw=True,
    group="program",
)
def matrix(session: Session, call: Call) -> None:
    r"""`matrix A = e(b)`, `= e(V)`, `= (1, 2 \ 3, 4)`, `= B`, `matrix drop A`."""
    words = call.text.split()
    if words[:1] in (["list"], ["li"], ["l"], ["dir"]):
        session.withhold("matrix list", "refused", "matrices may hold single values")
        return
    if words[:1] == ["drop"]:
        for name in words[1:]:
            session.matrices.pop(name, None)
        return
    text = re.sub(r"\A(?:def(?:ine|in|i)?|inp(?:ut|u)?)\s+", "", call.text.strip())
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise UnsupportedError("matrix, but for define, drop and list")
    stored = _STORED.match(value)
    if stored:
        session.trace.touch("e()" in session.trace.whole)
        if session.model is None:
            raise DoError("last estimates not found", code=301)
        values, covariance = session.model.fitted()
        session.matrices[name] = values[None, :] if stored[1] == "b" else covariance
    elif value in session.matrices:
        session.matrices[name] = session.matrices[value]
        session.trace.touched |= value in session.trace.matrices
    elif value.startswith("(") and value.endswith(")"):
        session.matrices[name] = _literal(session, value[1:-1])
    else:
        raise UnsupportedError("an expression of matrices")
    session.trace.mark(session.trace.matrices, name)


def _literal(session: Session, text: str) -> Floats:
    rows = [[one_value(session, cell) for cell in row.split(",")] for row in text.split("\\")]
    if len({len(row) for row in rows}) != 1 or any(isinstance(x, str) for r in rows for x in r):
        raise DoError("conformability error", code=503)
    return np.array(rows, dtype=np.float64)
