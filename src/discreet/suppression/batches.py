"""`run_batch`: a batch file (`.arb`) carried out.

In: a batch that names records or cells, rules, methods, outputs. Out: one `Suppression` for
each method that it asks for, and the tables to be published, written. SECRET and
CONFIDENTIAL but for those. What a batch asks for and is not done here is refused at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from discreet.errors import Problem, SuppressionError
from discreet.rules import Primary, primary
from discreet.suppression.formats import (
    Batch,
    BatchTable,
    Metadata,
    read_batch,
    read_hst,
    read_rda,
    read_records,
    read_tab,
)
from discreet.suppression.jj import write_jj
from discreet.suppression.methods import Method, Progress
from discreet.suppression.suppressing import Suppression
from discreet.tables import ProtectedTable, Table
from discreet.tabulation import tabulate

__all__ = ["run_batch"]

#: Contributions that rules may look at.
_CONTRIBUTIONS = 5
_WRITTEN = ("csv", "pivot", "codes", "jj")
Writer = Callable[[ProtectedTable, Path], Any]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Judged:
    """A table of a batch with its sensitive cells."""

    table: Table
    primary: Primary
    decimals: int


def run_batch(
    path: str | os.PathLike[str],
    *,
    write: Writer | None = None,
    progress: Progress | None = None,
) -> list[Suppression]:
    """Carry out a batch.

    Args:
        path: The batch file; paths in it are meant from its folder.
        write: Writes tables that may be published; the suffix of the file chooses the
            format. Without, only `.jj` files are written.
        progress: Is told what is being done.

    Returns:
        One suppression for each method asked for, in their order.

    >>> run_batch("none.arb")
    Traceback (most recent call last):
        ...
    discreet.errors.SuppressionError: [argus-file] none.arb: the file cannot be read
    """
    plan = read_batch(path)
    _refuse(plan)
    metadata = read_rda(plan.file(plan.metadata), of=plan.of)
    judged = _of_cells(plan, metadata) if plan.of == "cells" else _of_records(plan, metadata)
    done, last = [], {}
    for step in plan.protections:
        chosen = range(len(judged)) if step.table == 0 else [step.table - 1]
        result = Suppression.of(
            [(judged[at].table, judged[at].primary) for at in chosen],
            method=cast(Method, step.method),
            value=plan.tables[chosen[0]].response,
            decimals=judged[chosen[0]].decimals,
            cost=plan.tables[chosen[0]].cost,
            time_limit=None if step.minutes is None else 60 * step.minutes,
            progress=progress,
        )
        done.append(result)
        last.update({at: (result, number) for number, at in enumerate(chosen)})
    _write(plan, last, write)
    return done


def _refuse(plan: Batch) -> None:
    """One error with everything that is asked for and not done."""
    problems = []
    for number, table in enumerate(plan.tables, 1):
        asked = [rule.name for rule in table.rules if any(rule.numbers)]
        wrong = {
            "recodes": bool(table.recodes),
            "request rules": bool(table.requests),
            "rules on holdings": any(rule.per == "holding" for rule in table.rules),
            "weights": "WGT" in asked,
        }
        problems += [
            Problem(f"batches are run without {what}", f"table {number}", "use Python for it")
            for what, there in wrong.items()
            if there
        ]
    protected = {step.table for step in plan.protections}
    for output in plan.outputs:
        if output.form not in _WRITTEN:
            hint = f"forms: {', '.join(_WRITTEN)}"
            problems.append(Problem(f"the form {output.form!r} is not written", output.path, hint))
        if not {0, output.table} & protected:
            problems.append(Problem("the table is written, but not protected", output.path))
    if plan.of == "cells" and len(plan.tables) != 1:
        problems.append(Problem("a file of cells holds one table", plan.data))
    if problems:
        first = problems[0]
        raise SuppressionError(
            first.what, code="batch", where=first.where, hint=first.hint, problems=problems
        )


def _of_cells(plan: Batch, metadata: Metadata) -> list[_Judged]:
    """The table of a file of cells: judged by rules, or by its own status without any."""
    asked = plan.tables[0]
    again = plan.totals == "add"
    cells = read_tab(plan.file(plan.data), metadata, totals="add" if again else "given")
    names = tuple(dimension.name for dimension in cells.table.dimensions)
    if names != asked.variables or asked.response != cells.value:
        raise SuppressionError(
            "the batch asks for another table than the file of cells has",
            code="batch",
            where=plan.data,
            hint=f"it has {', '.join(names)} | {cells.value}",
        )
    found = cells.primary
    if asked.primary_rules or asked.apriori or found is None:
        found = _primary(plan, asked, cells.table)
    return [_Judged(table=cells.table, primary=found, decimals=cells.decimals)]


def _of_records(plan: Batch, metadata: Metadata) -> list[_Judged]:
    frame = read_records(plan.file(plan.data), metadata)
    judged = []
    for number, asked in enumerate(plan.tables, 1):
        by = [metadata.classification(name, frame[name].unique()) for name in asked.variables]
        names = dict.fromkeys(
            name for name in (asked.response, asked.shadow, asked.cost.of) if name in frame.columns
        )
        values = [str(name) for name in names]
        table = tabulate(
            frame,
            by=by,
            values=values,
            contributions=_CONTRIBUTIONS if values else 0,
            name=f"table-{number}",
        )
        decimals = 0 if asked.response is None else metadata.variable(asked.response).decimals
        found = _primary(plan, asked, table)
        judged.append(_Judged(table=table, primary=found, decimals=decimals))
    return judged


def _primary(plan: Batch, asked: BatchTable, table: Table) -> Primary:
    marks = [
        mark
        for file in asked.apriori
        for mark in read_hst(plan.file(file.path), asked.variables, separator=file.separator)
    ]
    ignore = any(file.ignore_errors for file in asked.apriori)
    shadow = asked.shadow if asked.shadow not in ("", asked.response) else None
    return primary(
        table,
        asked.primary_rules,
        value=asked.response,
        shadow=shadow if asked.response is not None else None,
        marks=marks,
        manual_range=asked.setting("MAN", 20.0),
        unmatched="ignore" if ignore else "refuse",
    )


def _write(plan: Batch, last: Mapping[int, tuple[Suppression, int]], write: Writer | None) -> None:
    """The outputs, each from the last method that protected its table."""
    for output in plan.outputs:
        done, number = last[output.table - 1]
        target = plan.file(output.path)
        if output.form == "jj":
            write_jj(done.problem.with_hidden(done.pattern.hidden), target)
        elif write is not None:
            write(done.tables[number], target)
