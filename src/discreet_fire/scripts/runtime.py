"""What rewritten Python scripts call: safe stand-ins for functions of pandas and statsmodels.

In: what the original function got. Out: a `SafeResult`, whose text is what may be shown.
What has no safe form raises `PermissionError`, without any figure in it.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np
import polars as pl

from discreet_fire import statistics
from discreet_fire.statistics import SafeResult

_GROUP = "group"
_STATISTICS = {"mean": "mean", "std": "sd", "var": "variance", "sum": "sum", "count": "n"}


def refused(name: str = "this", *_: Any, **__: Any) -> NoReturn:
    """Stop where the original did what is not permitted.

    >>> refused("os.system")
    Traceback (most recent call last):
        ...
    PermissionError: FDZ: os.system is not permitted in remote execution
    """
    known = name if isinstance(name, str) and re.fullmatch(r"[\w.: ]{1,80}", name) else "this"
    raise PermissionError(f"FDZ: {known} is not permitted in remote execution")


def _stop(held: object, name: str) -> None:
    if held:
        refused(name)


def describe(thing: Any, *_: Any, **__: Any) -> SafeResult:
    """Number, mean and deviation, for ``describe()``.

    >>> import pandas as pd
    >>> result = describe(pd.DataFrame({"x": [float(v) for v in range(40)]}))
    >>> result.stored["N"], "max" in result.stored
    (40.0, False)
    """
    frame = _frame(thing)
    names = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    _stop(not names, "describe without numeric columns")
    return statistics.summarize(frame, names)


def info(thing: Any, *_: Any, **__: Any) -> SafeResult:
    """The variables with their types, for ``info()``."""
    frame = _frame(thing)
    return statistics.codebook(frame, frame.columns)


def value_counts(thing: Any, *rest: Any, **options: Any) -> SafeResult:
    """A frequency table, for ``value_counts()``; of two columns a cross table.

    Options are those of pandas but for classes; shares are not given apart from counts.
    """
    if rest or set(options) - {"subset", "normalize", "sort", "ascending", "dropna"}:
        refused("value_counts with these options")
    subset = options.get("subset")
    frame = _frame(thing if subset is None else thing[subset])
    _stop(not 1 <= len(frame.columns) <= 2, "value_counts of more than two columns")
    return statistics.tabulate(frame, *frame.columns, missing=not options.get("dropna", True))


def crosstab(index: Any, columns: Any, *rest: Any, **options: Any) -> SafeResult:
    """A cross table of two columns, for ``pandas.crosstab``.

    Options are margins and `dropna`; others change what is counted and are not possible.
    """
    if rest or set(options) - {"margins", "dropna"} or not hasattr(index, "name"):
        refused("crosstab with these options")
    first, second = _series(index), _series(columns)
    second = second.rename(f"{second.name}_2") if second.name == first.name else second
    _stop(len(first) != len(second), "crosstab of columns of different length")
    if hasattr(index, "index") and not index.index.equals(columns.index):
        refused("crosstab of columns of different frames")
    missing = not options.get("dropna", True)
    return statistics.tabulate(
        pl.DataFrame([first, second]), first.name, second.name, missing=missing
    )


def corr(thing: Any, *rest: Any, **options: Any) -> SafeResult:
    """Correlations, for ``corr()``."""
    _stop(set(options) - {"numeric_only"} or len(rest) > 1, "corr with these options")
    if rest:
        _stop(not thing.index.equals(rest[0].index), "corr of columns of different frames")
        first, second = _series(thing), _series(rest[0])
        frame = pl.DataFrame([first, second.rename(f"{second.name}_2")])
    else:
        frame = _frame(thing)
    names = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    return statistics.pwcorr(frame, names)


def histogram(thing: Any, *rest: Any, **options: Any) -> SafeResult:
    """A histogram as text, for ``hist()``; its edges are fixed by the safe command.

    Edges, or how many, are not taken, since they could be values; nor are groups, weights, ranges.
    """
    edges = not rest or isinstance(rest[0], int | list | tuple | range | np.ndarray)
    if len(rest) > 1 or not edges or {"by", "weights", "range"} & set(options):
        refused("hist with these options")
    column = options.get("column")
    frame = _frame(thing if column is None else thing[column])
    _stop(len(frame.columns) != 1, "hist of several columns")
    return statistics.histogram(frame, frame.columns[0])


def statistic(thing: Any, which: str, *rest: Any, **options: Any) -> SafeResult:
    """One statistic of columns, by groups if the original had them.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"g": ["a", "b"] * 20, "x": [float(v) for v in range(40)]})
    >>> "19" in statistic(frame.groupby("g")["x"], "mean").shown
    True
    """
    if rest or set(options) - {"numeric_only"} or which not in _STATISTICS:
        refused(f"{which} with these options")
    by = None
    if hasattr(thing, "ngroup"):
        frame, by = _grouped(thing)
    else:
        frame = _frame(thing)
    names = [n for n, kind in frame.schema.items() if kind.is_numeric() and n != by]
    _stop(not names, f"{which} without numeric columns")
    return statistics.tabstat(frame, names, statistics=_STATISTICS[which], by=by)


def summary(fitted: Any, *_: Any, **__: Any) -> SafeResult:
    """The table of coefficients, for ``summary()`` of a model of statsmodels.

    The model is fitted again by the safe command, from the same matrices.
    """
    model = getattr(fitted, "model", None)
    kind = type(model).__name__
    if model is None:
        refused("summary of this object")
    if kind not in ("OLS", "WLS", "Logit", "Probit") or not hasattr(model, "exog_names"):
        refused("summary of this kind of model")
    covariance = str(getattr(fitted, "cov_type", "nonrobust"))
    if covariance not in ("nonrobust", "HC1") or (covariance == "HC1" and kind != "OLS"):
        refused("summary with this kind of standard errors")
    _stop(type(fitted).__name__.startswith(("Regularized", "L1")), "summary of a penalised model")
    _stop(getattr(model, "offset", None) is not None, "summary of a model with an offset")
    frame, terms, constant = _design(model)
    options: dict[str, Any] = {"constant": constant}
    if kind == "OLS":
        return statistics.regress(frame, "y", terms, robust=covariance == "HC1", **options)
    if kind == "WLS":
        return statistics.regress(frame.with_columns(w_=pl.Series(model.weights)), "y", terms,
                            weights="w_", **options)  # fmt: skip
    return (statistics.logit if kind == "Logit" else statistics.probit)(
        frame, "y", terms, **options
    )


def _design(model: Any) -> tuple[pl.DataFrame, list[str], bool]:
    """Outcome and regressors of a model, each by a name the safe command takes."""
    columns: dict[str, Any] = {"y": model.endog}
    constant = False
    for position, written in enumerate(model.exog_names):
        values = model.exog[:, position]
        if bool((values == 1).all()):
            constant = True
            continue
        name = re.sub(r"\W+", "_", str(written)).strip("_")[:28] or f"x{position}"
        name = name if name[0].isalpha() else f"x_{name}"
        while name in columns:
            name = f"{name}_{position}"
        columns[name] = values
    return pl.DataFrame(columns), [name for name in columns if name != "y"], constant


def _grouped(groups: Any) -> tuple[pl.DataFrame, str]:
    """The columns of a grouping of pandas, and the name of the groups."""
    _stop(not getattr(groups, "as_index", True), "groupby without as_index")
    index = groups.size().index
    labels = [" ".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in index]
    codes = groups.ngroup()
    _stop(not labels or len(labels) != int(codes.max()) + 1, "groups without cases")
    _stop(len(set(labels)) != len(labels), "groups whose names look the same")
    frame = _frame(getattr(groups, "_selected_obj", groups.obj))
    keys = getattr(groups, "keys", None)
    named = {str(key) for key in (keys if isinstance(keys, list) else [keys])}
    frame = frame.drop([name for name in frame.columns if name in named])
    group = _GROUP
    while group in frame.columns:
        group += "_"
    of = [labels[code] if code >= 0 else None for code in codes.to_list()]
    return frame.with_columns(pl.Series(group, of, dtype=pl.String)), group


def _frame(thing: Any) -> pl.DataFrame:
    """A frame of polars from a frame or a column of polars or pandas."""
    if isinstance(thing, pl.DataFrame):
        return thing
    if isinstance(thing, pl.Series) or not hasattr(thing, "columns"):
        return _series(thing).to_frame()
    parts = [_series(thing.iloc[:, place]) for place in range(len(thing.columns))]
    _stop(len({part.name for part in parts}) != len(parts), "a frame with two columns of one name")
    return pl.DataFrame(parts)


def _series(thing: Any) -> pl.Series:
    """A column of polars from one of pandas."""
    if isinstance(thing, pl.Series):
        return thing
    _stop(not hasattr(thing, "dtype") or not hasattr(thing, "to_list"), "an object of this type")
    title = getattr(thing, "name", None)
    name = "x" if title is None or title == "" else str(title)
    gone = thing.isna().to_list()
    values = [None if no else value for value, no in zip(thing.to_list(), gone, strict=True)]
    if thing.dtype.kind not in "biuf":
        return pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
    return pl.Series(name, values, strict=False)
