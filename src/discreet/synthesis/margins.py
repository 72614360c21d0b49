"""A log-linear model of protected tables: nothing of a record goes in.

In: protected tables of counts, or their cells as rows. Public. Out: the cells of the model that is
fitted to all of them by iterative proportional fitting (IPF), and records drawn from it. Tables
that contradict each other are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import Problem, TableError, raise_all
from discreet.microdata import Secret
from discreet.pretabular import DRAWS, Margin, check_agreement, draws, impossible, summed
from discreet.synthesis.measures import SynthesisMeasure, Verdict, distances, measure

#: Cells of the model, rounds of fitting, and the change at which it ends.
_MOST_CELLS, _ROUNDS, _STILL = 5_000_000, 500, 1e-9


def records_of(
    tables: Sequence[Margin], rules: Sequence[str], tolerance: float, records: int | None,
    secret: Secret,
) -> tuple[pl.DataFrame, list[SynthesisMeasure]]:  # fmt: skip
    """Records of the model that fits all tables, and how far they are from each."""
    total = check_agreement(tables, tolerance)
    size = max(round(total), 1) if records is None else records
    codes = {name: own for table in tables
             for name, own in zip(table.variables, table.codes, strict=True)}  # fmt: skip
    names, shape = list(codes), tuple(len(own) for own in codes.values())
    if np.prod([float(length) for length in shape]) > _MOST_CELLS:
        message = f"more than {_MOST_CELLS:,} combinations of codes"
        hint = "choose tables with fewer variables, or coarser codes"
        raise TableError(message, code="synthesise", where="tables", hint=hint)
    weights = np.ones(shape)
    if rules:
        weights[impossible(_rows(codes, np.arange(weights.size)), rules).reshape(shape)] = 0
    wanted = [summed(table, [name for name in names if name in table.variables])
              for table in tables]  # fmt: skip
    wanted = [one / one.sum() for one in wanted]
    away = [tuple(at for at, name in enumerate(names) if name not in table.variables)
            for table in tables]  # fmt: skip
    for _ in range(_ROUNDS):
        before = weights
        for target, axes in zip(wanted, away, strict=True):
            sums = weights.sum(axis=axes)
            ratio = np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
            weights = weights * np.expand_dims(ratio, axes)
        if float(np.abs(weights - before).max()) < _STILL:
            break
    fitted = weights.ravel() / max(float(weights.sum()), _STILL)
    # At equal steps through all cells, from a place that is drawn.
    begin = draws(pl.DataFrame({"number": [0]}), secret, "synthesise; tables")[0] / DRAWS
    last = int(np.flatnonzero(fitted)[-1]) if weights.any() else 0
    steps = np.searchsorted(np.cumsum(fitted) * size, np.arange(size) + begin, side="right")
    cells = np.minimum(steps, last)
    drawn = np.bincount(cells, minlength=len(fitted)).reshape(shape)
    measures, problems = [], []
    for table, target, axes in zip(tables, wanted, away, strict=True):
        model, _ = distances(target, fitted.reshape(shape).sum(axis=axes))
        mean, hellinger = distances(target, drawn.sum(axis=axes))
        verdict: Verdict = "good" if mean <= tolerance / 2 else "unclear"
        numbers = {"mean": mean, "hellinger": hellinger, "model": model}
        measures.append(measure("fit", verdict, table.name, **numbers))
        if model > tolerance:
            message = "the other tables and the impossible combinations leave no records for it"
            hint = "check the conditions, or raise the tolerance"
            problems.append(Problem(message, table.name, hint))
    raise_all(TableError, problems, code="synthesise")
    return _rows(codes, cells), measures


def _rows(codes: Mapping[str, tuple[str, ...]], cells: IntArray) -> pl.DataFrame:
    """Combinations of codes, by their place in the model."""
    at = np.unravel_index(cells, tuple(len(own) for own in codes.values()))
    return pl.DataFrame({
        name: pl.Series(own, dtype=pl.String).gather(part)
        for (name, own), part in zip(codes.items(), at, strict=True)
    })  # fmt: skip
