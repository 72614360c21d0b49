"""`quantiles`: medians and other quantiles of a number, from protected counts of its classes.

In: a `ProtectedTable` of counts that is spanned by classes of a number. Out: a `ProtectedTable` of
quantiles without that variable. Public on both sides: a quantile is a function of protected counts,
so it tells nothing that these do not tell. A cell with N protected counts in all, of which F lie in
classes below that of the quantile and x in it, has the quantile low + width · (p·N − F) / x. Cells
of the same records have the same counts in every table, and so the same quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import ValidationError

from discreet.arrays import BoolArray, FloatArray, IntArray, PositionArray
from discreet.derived.derivation import BRACKETS
from discreet.derived.formulas import rounded
from discreet.derived.settings import QuantileRules
from discreet.errors import TableError, raise_all
from discreet.files import texts_of
from discreet.settings import setting_problems
from discreet.tables import (
    CellStatus,
    Dimension,
    Figure,
    Note,
    Parts,
    ProtectedTable,
    Withheld,
    figure_dimension,
    lacks_number,
    parts_with_figures,
)

#: The standard deviation of the noise of counts.
Deviation = Callable[[IntArray], FloatArray]
#: A margin holds for 95 of 100 counts.
_WITHIN_MARGIN = 1.96
_LANGUAGES = ("en", "de")


def quantiles(
    table: ProtectedTable,
    of: str,
    shares: float | Sequence[float] = (0.5,),
    *,
    breaks: Sequence[float] | None = None,
    deviation: Deviation | None = None,
    name: str | None = None,
    titles: Mapping[str, str] | None = None,
    **options: Any,
) -> ProtectedTable:
    """Medians and other quantiles of a number, from protected counts of its classes.

    Within a class, values count as spread evenly. A quantile in an open class shows its bound, such
    as ≥ 75; one with too few counts on either side shows "/"; one of hidden classes is hidden, too.

    Args:
        table: A protected table of counts, spanned by the classes.
        of: The variable of the classes.
        shares: Shares of the records below each quantile, rising; 0.5 is the median.
        breaks: Lower bounds of the classes, and the upper bound of the last unless that is open;
            those of the classification if None.
        deviation: Standard deviation of the noise of counts; from the margin that the table
            states if None, and without one nothing is bracketed.
        name: Name of the table; that of the counts if None.
        titles: language → heading; made of those of the counts if None.
        options: `minimum`, `decimals` and `bracket_above`, as for `QuantileRules`.

    >>> from discreet.derived.examples import ages
    >>> quantiles(ages, "age", [0.25, 0.5]).to_polars().rows()
    [('q25', 19.0, 'published'), ('median', 42.0, 'published')]
    """
    try:
        rules = QuantileRules.model_validate({"shares": shares, **options})
    except ValidationError as error:
        problems = setting_problems(error, known=list(QuantileRules.model_fields))
        raise_all(TableError, problems, code="quantiles", many="{} problems with quantiles")
        raise
    classes = _ValueClasses.of(table, of, breaks)
    rest = [at for at in range(len(table.dimensions)) if at != classes.axis]
    groups, counts, unknown = classes.counted(table, rest)
    if deviation is None:
        margin = (table.margin or 0) / _WITHIN_MARGIN
        deviations = np.full(counts.shape, margin)
    else:
        whole = np.rint(counts).astype(np.int64)
        deviations = np.asarray(deviation(whole.ravel()), dtype=np.float64).reshape(counts.shape)
    decimals = classes.decimals if rules.decimals is None else rules.decimals
    every = [float(share) for share in rules.shares or (0.5,)]
    figures = tuple(_figure(share, decimals) for share in every)
    columns = [_column(classes, counts, deviations, unknown, share, rules) for share in every]
    value, status, low, high = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    index = [np.tile(part, len(figures)) for part in groups]
    dimensions = tuple(table.dimensions[at] for at in rest)
    parts, hidden = classes.parts(table, rest)
    if len(figures) > 1:
        dimensions = (*dimensions, figure_dimension(figures))
        index.append(np.repeat(np.arange(len(figures)), len(counts)).astype(np.int32))
        parts = None if parts is None else parts_with_figures(parts, dimensions)
        hidden = parts_with_figures(hidden, dimensions)
    opened = ~np.isnan(low)
    withheld = Withheld(
        index=tuple(part[opened] for part in index),
        reason=np.zeros(int(opened.sum()), dtype=np.int8),
        low=low[opened],
        high=high[opened],
        instead=True,
    )
    variable = table.dimensions[classes.axis]
    facts = {"minimum": rules.minimum, "decimals": decimals}
    notes = [_note("quantiles", **facts)] + [_note("open class")] * bool(opened.any())
    notes += [BRACKETS] * bool((status == CellStatus.bracketed).any())
    return ProtectedTable(
        dimensions=dimensions,
        index=tuple(index),
        value=rounded(value, decimals),
        status=status,
        provenance=table.provenance,
        notes=tuple(notes),
        name=name or table.name,
        titles=_titles(table, variable) if titles is None else titles,
        universe=table.universe,
        decimals=decimals,
        parts=parts,
        suppressed_parts=hidden,
        figures=figures,
        withheld=withheld if len(withheld) else None,
        imprint=table.imprint,
    )


@dataclass(frozen=True, eq=False)
class _ValueClasses:
    """The classes of a number among the variables of a table."""

    axis: int  # where the variable stands
    positions: PositionArray  # the positions of the codes of its classes, in order
    bounds: FloatArray  # one more than there are classes

    @classmethod
    def of(cls, table: ProtectedTable, of: str, breaks: Sequence[float] | None) -> _ValueClasses:
        """The classes; an error if a table has none, or is no table of counts."""
        names = [dimension.name for dimension in table.spanning]
        if of not in names:
            raise _refused(f"{of!r} is not a spanning variable of the table",
                           "of", f"by: {', '.join(names)}")  # fmt: skip
        if len(table.figures) > 1 or any(figure.kind != "count" for figure in table.figures):
            raise _refused("quantiles need a table of counts alone", "table", "remove its figures")
        dimension = table.dimensions[names.index(of)]
        tree = dimension.classifications[0]
        leaves = [code for code in tree.leaves if code not in (tree.missing, tree.total)]
        bounds = list(tree.bounds or ()) if breaks is None else [float(item) for item in breaks]
        if breaks is not None and len(bounds) == len(leaves):
            bounds.append(math.inf)
        if len(dimension.classifications) > 1 or not bounds:
            raise _refused(f"{of!r} has no classes of a number", "of",
                           "add breaks, or classify it by intervals")  # fmt: skip
        if len(bounds) != len(leaves) + 1:
            raise _refused(f"{len(bounds)} breaks do not fit the {len(leaves)} classes of {of!r}",
                           "breaks", "name all lower bounds, in their order")  # fmt: skip
        if any(not low < high for low, high in pairwise(bounds)):
            raise _refused("the numbers must increase", "breaks")
        places = [dimension.index[code] for code in leaves]
        return cls(
            axis=names.index(of),
            positions=np.array(places, dtype=np.int32),
            bounds=np.array(bounds, dtype=np.float64),
        )

    @property
    def decimals(self) -> int:
        """Digits that show about a tenth of the narrowest class."""
        widths = np.diff(self.bounds)
        narrow = float(widths[np.isfinite(widths)].min(initial=math.inf))
        return max(0, math.ceil(1 - math.log10(narrow))) if math.isfinite(narrow) else 0

    def counted(
        self, table: ProtectedTable, rest: Sequence[int]
    ) -> tuple[list[PositionArray], FloatArray, BoolArray]:
        """The cells of the other variables, their counts per class, and which lack one."""
        place = np.full(len(table.dimensions[self.axis]), -1, dtype=np.int64)
        place[self.positions] = np.arange(len(self.positions))
        own = place[table.index[self.axis]]
        inside = own >= 0
        others = np.stack([table.index[at][inside] for at in rest]) if rest else None
        if others is None:
            groups, which = np.zeros((0, 1), dtype=np.int32), np.zeros(int(inside.sum()), dtype=int)
        else:
            groups, which = np.unique(others, axis=1, return_inverse=True)
        counts = np.zeros((groups.shape[1], len(self.positions)))
        unknown = np.zeros(groups.shape[1], dtype=np.bool_)
        counts[which.ravel(), own[inside]] = np.maximum(table.value[inside], 0)
        unknown[which.ravel()[lacks_number(table.status[inside])]] = True
        return [part.astype(np.int32) for part in groups], counts, unknown

    def parts(self, table: ProtectedTable, rest: Sequence[int]) -> tuple[Parts | None, Parts]:
        """The parts that have classes, and those whose classes are hidden."""

        def without(parts: Parts) -> Parts:  # finest codes are on level 0
            return frozenset(tuple(p[at] for at in rest) for p in parts if p[self.axis] == 0)

        shown = None if table.parts is None else without(table.parts)
        return shown, without(table.suppressed_parts)


def _column(
    classes: _ValueClasses,
    counts: FloatArray,
    deviations: FloatArray,
    unknown: BoolArray,
    share: float,
    rules: QuantileRules,
) -> tuple[FloatArray, Any, FloatArray, FloatArray]:
    """One quantile of every cell: value, status, and the bounds of those in open classes."""
    rows = np.arange(len(counts))
    upto = np.cumsum(counts, axis=1)
    total = upto[:, -1]
    wanted = share * total
    at = (upto < wanted[:, None]).sum(axis=1)
    inside = counts[rows, at]
    part = np.divide(wanted - (upto[rows, at] - inside), inside, out=np.zeros(len(rows)),
                     where=inside > 0)  # fmt: skip
    low, high = classes.bounds[at], classes.bounds[at + 1]
    opened = np.isinf(low) | np.isinf(high)
    floor = np.where(opened, 0.0, low)
    width = np.where(opened, 0.0, high) - floor
    value = floor + width * part
    # By how far noise may move the place of the quantile in its class.
    weight = np.where(np.arange(counts.shape[1])[None, :] < at[:, None], 1.0 - share, share)
    weight[rows, at] = part - share
    spread = np.sqrt(((weight * deviations) ** 2).sum(axis=1))
    error = np.divide(width * spread, inside * np.abs(value), out=np.full(len(rows), np.inf),
                      where=(inside > 0) & (value != 0))  # fmt: skip
    status = np.full(len(rows), CellStatus.published, dtype=np.int8)
    status[(error > rules.bracket_above) & (spread > 0)] = CellStatus.bracketed
    few = np.minimum(wanted, total - wanted) < rules.minimum
    status[few | opened] = CellStatus.imprecise
    status[total == 0] = CellStatus.not_applicable
    status[unknown] = CellStatus.suppressed
    bounded = opened & ~few & ~unknown & (total > 0)
    return value, status, np.where(bounded, low, np.nan), np.where(bounded, high, np.nan)


def _figure(share: float, decimals: int) -> Figure:
    named = "median" if share == 0.5 else "quantile"
    titles = {}
    for language in _LANGUAGES:
        percent = f"{100 * share:g}".replace(".", "," if language == "de" else ".")
        titles[language] = texts_of(_PACKAGE, "quantile", language)[named].format(percent)
    name = named if named == "median" else f"q{100 * share:g}"
    return Figure(name=name, kind="quantile", titles=titles, decimals=decimals)


def _titles(table: ProtectedTable, variable: Dimension) -> dict[str, str]:
    rest = [dimension for dimension in table.spanning if dimension.name != variable.name]
    titles = {}
    for language in _LANGUAGES:
        words = texts_of(_PACKAGE, "quantile", language)
        titles[language] = words["title"].format(variable.title(language))
        if rest:
            names = ", ".join(dimension.title(language) for dimension in rest)
            titles[language] += words["by"].format(names)
    return titles


_PACKAGE = "discreet.derived"


def _note(kind: str, **facts: Any) -> Note:
    texts = {item: texts_of(_PACKAGE, "quantile", item)[kind].format(**facts)
             for item in _LANGUAGES}  # fmt: skip
    return Note(kind.replace(" ", "-"), texts)


def _refused(what: str, where: str, hint: str = "") -> TableError:
    return TableError(what, code="quantiles", where=where, hint=hint)
