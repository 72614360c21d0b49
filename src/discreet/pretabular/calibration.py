"""Calibration: weights of a sample that meet published totals.

In: records of a sample with weights (CONFIDENTIAL) and published tables of counts. Out:
`ChangedRecords` with other weights. Records alike in all variables of the tables have one factor,
and sums are taken in order, so the order of records changes no digit. See
docs/methods/record-methods.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import MicrodataError, Problem, nearest, raise_all
from discreet.pretabular.changed_records import (
    ChangedRecords,
    InputRecords,
    coded,
    done,
    record_method,
)
from discreet.pretabular.margins import Margin, agreed, margins_of
from discreet.pretabular.settings import CalibrateSettings

#: Steps of the fit, the share of the total that may be missing at its end, and cells of totals.
_STEPS, _STILL, _MOST_CELLS = 200, 1e-10, 5_000
#: Lengths of a step, how far it leads down, and slopes of factors at their bounds.
_LENGTHS, _DOWN, _FLAT, _TINY = [0.5**half for half in range(20)], 1e-4, 0.01, 1e-12
#: Codes that one message names.
_NAMED = 3


@record_method(CalibrateSettings)
def calibrate(records: InputRecords, settings: CalibrateSettings) -> ChangedRecords:
    r"""Calibrate weights of a sample to published totals.

    Options are those of `CalibrateSettings`. Totals are a text or file of CSV, a frame of cells, a
    protected table or a list of them. They must be published: weighted tables repeat them.

    >>> sample = pl.DataFrame({"sex": ["m", "f", "f", "f"], "w": [10.0, 10, 10, 10]})
    >>> totals = "sex,value\nm,18\nf,27\n"
    >>> calibrate(sample, totals, weight="w", least=0).records["w"].to_list()
    [18.0, 9.0, 9.0, 9.0]
    """
    margins = agreed(margins_of(_totals(settings), settings.count, settings.tables),
                     settings.tolerance)  # fmt: skip
    variables = list(dict.fromkeys(name for margin in margins for name in margin.variables))
    known = records.frame.columns
    problems = [Problem(f"column {name!r} of the totals not found", name, nearest(name, known))
                for name in variables if name not in known]  # fmt: skip
    raise_all(MicrodataError, problems, code="calibrate")
    cells, codes = _combinations(records, variables)
    places = _places(codes, margins)
    starts = _weights(records, settings)
    order = {name: np.lexsort((weight, cells)) for name, weight in starts.items()}
    factors, measures = {}, {}
    for name, weight in starts.items():
        own = order[name]
        sums = np.add.reduceat(weight[own], np.searchsorted(cells[own], np.arange(len(codes))))
        factors[name], measures[name] = _factors(sums, margins, places, settings, name)
    weights = {name: pl.Series(name, starts[name] * factors[name][cells]) for name in starts}
    return done(
        "calibrate", records.with_values(weights),
        codes.with_columns(pl.Series(f"factor of {name}", one) for name, one in factors.items()),
        None, measures=measures,
        parameters=settings.model_dump(exclude={"totals"}),
        told={"names": "; ".join(" × ".join(one.variables) for one in margins)},
    )  # fmt: skip


def _totals(settings: CalibrateSettings) -> Any:
    """The stated totals; texts and files of CSV as rows of texts."""
    totals = settings.totals
    if isinstance(totals, Path):
        try:
            totals = totals.read_text("utf-8-sig")
        except (OSError, ValueError):
            message, hint = "the file cannot be read", "give a CSV file"
            raise MicrodataError(
                message, code="calibrate", where=f"totals: {totals}", hint=hint
            ) from None
    if not isinstance(totals, str):
        return totals
    separator = ";" if ";" in totals.partition("\n")[0] else ","
    try:
        return pl.read_csv(StringIO(totals), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError:
        raise MicrodataError("not a CSV table", code="calibrate", where="totals") from None


def _combinations(records: InputRecords, variables: Sequence[str]) -> tuple[IntArray, pl.DataFrame]:
    """The number of each record's combination of codes, and the combinations as texts."""
    texts = records.columns(variables).with_columns(pl.all().cast(pl.String))
    problems = [
        Problem(f"{texts[name].null_count():,} records have no value", name,
                "give missing values a code of their own, with a total")
        for name in variables if texts[name].null_count()
    ]  # fmt: skip
    if not texts.height:
        problems.append(Problem("no records", "records"))
    raise_all(MicrodataError, problems, code="calibrate")
    return coded(texts)


def _places(codes: pl.DataFrame, margins: Sequence[Margin]) -> list[IntArray]:
    """The cell of each combination in each table; records and totals need each other."""
    places, problems = list[IntArray](), list[Problem]()
    for margin in margins:
        at = np.zeros(codes.height, dtype=np.int64)
        for name, own in zip(margin.variables, margin.codes, strict=True):
            known = dict(zip(own, range(len(own)), strict=True))
            there = codes[name].replace_strict(known, default=-1, return_dtype=pl.Int64)
            if missing := sorted(codes[name].filter(there < 0).unique()):
                what = f"records have codes without a total: {_listed(missing)}"
                hint = "state all totals, of codes as in the records"
                problems.append(Problem(what, f"totals: {name}", hint))
            at = at * len(own) + there.to_numpy()
        if problems:
            continue
        counts, used = margin.counts.ravel(), np.zeros(margin.counts.size, dtype=bool)
        used[at] = True
        for wrong, what in (
            ((counts > 0) & ~used, "totals without records"),
            ((counts == 0) & used, "records where the total is 0"),
        ):
            if wrong.any():
                cells = [_cell(margin, int(one)) for one in np.flatnonzero(wrong)]
                hint = "merge categories in the records and in the totals"
                problems.append(Problem(f"{what}: {_listed(cells)}", margin.name, hint))
        places.append(at)
    if sum(margin.counts.size for margin in margins) > _MOST_CELLS:
        hint = "merge categories, or use tables of fewer variables"
        problems.append(Problem(f"more than {_MOST_CELLS:,} totals", "totals", hint))
    raise_all(MicrodataError, list(dict.fromkeys(problems)), code="calibrate")
    return places


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _cell(margin: Margin, place: int) -> str:
    """A cell of a table in words."""
    at = np.unravel_index(place, margin.counts.shape)
    both = zip(margin.variables, margin.codes, at, strict=True)
    return ", ".join(f"{name}={own[part]}" for name, own, part in both)


def _weights(records: InputRecords, settings: CalibrateSettings) -> dict[str, FloatArray]:
    """The starting weights; 1 each if there are none."""
    known = records.frame.columns
    if not settings.weight:
        if "weight" in known:
            message, hint = "the records have a column of this name", 'weight = "weight"'
            raise MicrodataError(message, code="calibrate", where="weight", hint=hint)
        return {"weight": np.ones(len(records.frame))}
    chosen = {name: [own for own in known if own == name or fnmatchcase(own, name)]
              for name in settings.weight}  # fmt: skip
    problems = [Problem(f"column {name!r} not found", "weight", nearest(name, known))
                for name, own in chosen.items() if not own]  # fmt: skip
    raise_all(MicrodataError, problems, code="calibrate")
    names = list(dict.fromkeys(name for own in chosen.values() for name in own))
    weights = {}
    for column in records.columns(names):
        values = column.cast(pl.Float64, strict=False) if column.dtype.is_numeric() else None
        if values is None or values.null_count() or not (values.is_finite() & (values >= 0)).all():
            what, hint = (
                "weights must be numbers of 0 or more",
                "correct or leave out these records",
            )
            problems.append(Problem(what, column.name, hint))
        else:
            weights[column.name] = values.to_numpy()
    raise_all(MicrodataError, problems, code="calibrate")
    return weights


def _factors(
    sums: FloatArray, margins: Sequence[Margin], places: Sequence[IntArray],
    settings: CalibrateSettings, name: str,
) -> tuple[FloatArray, dict[str, float]]:  # fmt: skip
    """The factor of each combination, and how the factors are distributed.

    Weights come near the starting ones, scaled to the total, in the chosen distance (Deville and
    Särndal 1992): Newton's method on the equations of the totals, factors kept within bounds.
    """
    totals = np.concatenate([margin.counts.ravel() for margin in margins])
    sizes = [margin.counts.size for margin in margins]
    first = np.cumsum([0, *sizes[:-1]])
    whole, present = float(margins[0].counts.sum()), float(sums.sum())
    if not present:
        raise MicrodataError("all weights are 0", code="calibrate", where=name)
    start, low, high = sums * (whole / present), settings.least, settings.most
    at = np.concatenate([own + begin for own, begin in zip(places, first, strict=True)])

    raking, size = settings.distance == "raking", (len(places), len(start))
    ends = (np.log(max(low, _TINY)), np.log(high)) if raking else (low - 1, high - 1)

    def fitted(multipliers: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Factors, their slopes, what is missing in totals, and the convex dual function."""
        steep = multipliers[at].reshape(size).sum(axis=0)
        inner = np.clip(steep, *ends)
        g = np.exp(inner) if raking else 1 + inner
        slope = np.where(inner == steep, g if raking else 1, _FLAT)
        area = (g if raking else inner + inner**2 / 2) + g * (steep - inner)
        missing: FloatArray = totals - np.bincount(at, np.tile(start * g, len(places)), len(totals))
        return g, start * slope, missing, float(start @ area - totals @ multipliers)

    multipliers = np.zeros(len(totals))
    g, slope, missing, dual = fitted(multipliers)
    for _ in range(_STEPS):
        if np.abs(missing).max() <= _STILL * whole:
            break
        matrix = np.zeros((len(totals), len(totals)))
        for one, row, height in zip(places, first, sizes, strict=True):
            for two, column, width in zip(places, first, sizes, strict=True):
                crossed = np.bincount(one * width + two, slope, height * width)
                matrix[row : row + height, column : column + width] = crossed.reshape(height, width)
        step = np.linalg.lstsq(matrix, missing, rcond=1e-12)[0]
        for length in _LENGTHS:
            g, slope, left, value = fitted(multipliers + length * step)
            near = np.abs(left).max() < np.abs(missing).max() / 2
            if near or value < dual - _DOWN * length * float(missing @ step):
                break
        multipliers, missing, dual = multipliers + length * step, left, value
    if np.abs(missing).max() > _STILL * whole:
        worst = int(np.abs(missing).argmax())
        table = int(np.searchsorted(first, worst, side="right")) - 1
        cell = _cell(margins[table], worst - int(first[table]))
        message = f"no factors from {low:g} to {high:g} meet all totals; furthest: {cell}"
        hint = "lower least, raise most, merge categories, or use fewer tables"
        raise MicrodataError(message, code="calibrate", where=name, hint=hint)
    # Last digits of a solution depend on the processor.
    return g.round(12) * (whole / present), _distribution(g, start)


def _distribution(g: FloatArray, start: FloatArray) -> dict[str, float]:
    """How the factors are distributed over weighted records, their mean being 1."""
    order = np.argsort(g, kind="stable")
    share = np.cumsum(start[order]) / start.sum()
    quantiles = {name: float(g[order][np.searchsorted(share, level)])
                 for name, level in (("p05", 0.05), ("median", 0.5), ("p95", 0.95))}  # fmt: skip
    spread = float(np.sqrt((start * np.square(g - 1)).sum() / start.sum()))
    used = g[start > 0]
    return {"least": float(used.min()), **quantiles, "most": float(used.max()), "spread": spread}
