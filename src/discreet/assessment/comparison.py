"""Two perturbation tables, or a table and what was made of it, side by side: `compare`.

In: two perturbation tables; or a `Table` and its `ProtectedTable`. Out: `Comparison`, SECRET like
the tables, computed exactly before it becomes floats; or `TableComparison`, CONFIDENTIAL: it is
shown where that is asked for by name, and nothing else prints, pickles or publishes it.
"""

from __future__ import annotations

import html
import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, PositionArray, quotient
from discreet.assessment.figure_pairs import (
    DEVIATION_CLASSES,
    Noise,
    Pairs,
    count_statistics,
    deviations,
    places_in,
    published_or_zero,
)
from discreet.assessment.probabilities import NoiseChances
from discreet.assessment.words import number, percent, words_of
from discreet.confidential import SecretValues, Unpicklable, without_values
from discreet.disclosure import code_positions
from discreet.errors import TableError
from discreet.protection.noise import PerturbationTable, moments
from discreet.tables import CellStatus, Figure, ProtectedTable, Table, lacks_number, sort_cells

if TYPE_CHECKING:
    import polars as pl

_NoiseUnits = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Comparison(SecretValues):
    """Comparison of two perturbation tables. SECRET."""

    #: Per original count i: `largest` and `distance` (the largest difference of a probability, and
    #: the total variation distance), `mean` and `variance` (second less first), `same_keys` (share
    #: of keys with the same noise)
    rows: pl.DataFrame
    same_distribution: bool  # whether all probabilities are equal
    same_noise: bool  # whether every key gets the same noise
    largest: float  # the largest difference of any probability
    #: The last row of either table; shorter ones use their own rule beyond it
    n_max: tuple[int, int]
    grids: tuple[int | None, int | None]  # the key grid each can be used with; None for any

    def text(self, language: str = "en") -> str:
        """The main differences in plain words. SECRET."""
        words = words_of("comparison", language)
        if self.same_noise:
            word = words["same"]
        elif self.same_distribution:
            keys = min(self.rows["same_keys"].to_list())
            word = words["moved"].format(keys=percent(keys, language))
        else:
            worst = self.rows.sort(["largest", "i"], descending=[True, False]).row(0, named=True)
            word = words["other"].format(
                largest=percent(worst["largest"], language),
                row=worst["i"],
                mean=_span(self.rows["mean"], language),
                variance=_span(self.rows["variance"], language),
            )
        if self.grids[0] != self.grids[1]:
            shown = [words["any"] if grid is None else str(grid) for grid in self.grids]
            word += " " + words["grids"].format(first=shown[0], second=shown[1])
        return word

    def described(self) -> dict[str, Any]:
        """The comparison for programs. SECRET."""
        left = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "rows"}
        return {**left, "rows": self.rows.to_dicts()}


@overload
def compare(first: PerturbationTable, second: PerturbationTable) -> Comparison: ...


@overload
def compare(first: Table, second: ProtectedTable) -> TableComparison: ...


def compare(
    first: PerturbationTable | Table, second: PerturbationTable | ProtectedTable
) -> Comparison | TableComparison:
    """Set a table beside what was made of it, or compare two perturbation tables row by row.

    What comes out is CONFIDENTIAL (of perturbation tables: SECRET). It prints as its name only;
    `show()` shows true beside published figures in a notebook, `measures()` and `text()` give the
    measures, `to_polars()` the cells.

    Args:
        first: A `Table`; or a perturbation table.
        second: The `ProtectedTable` made of it; or another perturbation table, of any format
            and key grid.

    >>> import polars as pl
    >>> from discreet.protection.noise import perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [5, 3, 2], "key": [0.8, 0.5, 0.9]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> comparison = compare(table, perturb(table, ptable))
    >>> comparison, comparison.measures()["at_most_1"]
    (<TableComparison table (confidential): 3 cells>, 1.0)
    >>> other = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.3, 0: 0.4, 1: 0.3}})
    >>> round(compare(ptable, other).largest, 9), compare(ptable, ptable).same_noise
    (0.1, True)
    """
    if isinstance(first, PerturbationTable) and isinstance(second, PerturbationTable):
        return _row_by_row(first, second)
    if isinstance(first, Table) and isinstance(second, ProtectedTable):
        return compare_tables(first, second)
    raise TableError(
        f"a {type(first).__name__} and a {type(second).__name__} cannot be compared",
        code="compare",
        hint="give a Table and its ProtectedTable, in this order",
    )


def _row_by_row(first: PerturbationTable, second: PerturbationTable) -> Comparison:
    import polars as pl

    tables = [ptable.with_closed("left") for ptable in (first, second)]
    scale = math.lcm(*(table.content.scale for table in tables))
    counts = np.arange(max(table.n_max for table in tables) + 1, dtype=np.int64)
    laid_out: list[list[_NoiseUnits]] = []  # (upper bound, noise) of the row of each count
    shares: list[list[dict[int, Fraction]]] = []  # and the share of each noise
    for table in tables:
        factor = scale // table.content.scale
        stated = [
            [(bound * factor, noise) for bound, noise in zip(upper, values, strict=True)]
            for _, upper, values in table.content.rows()
        ]
        used = NoiseChances.of(table).rows_of(counts).tolist()
        laid_out.append([stated[row] for row in used])
        exact = dict(table.content.shares())
        shares.append([exact[row] for row in used])
    rows, largest, same_noise = [], Fraction(0), True
    for count, (ours, theirs, before, after) in enumerate(zip(*laid_out, *shares, strict=True)):
        changes = [abs(after.get(at, 0) - before.get(at, 0)) for at in {*before, *after}]
        largest = max(largest, *changes)
        (mean, variance), (new_mean, new_variance) = moments(before), moments(after)
        same_keys = _same_keys(ours, theirs)
        same_noise = same_noise and same_keys == scale
        rows.append(
            {
                "i": count,
                "largest": float(max(changes)),
                "distance": float(sum(changes) / 2),
                "mean": float(new_mean - mean),
                "variance": float(new_variance - variance),
                "same_keys": same_keys / scale,
            }
        )
    grids = [None if table.key_grid is None else table.key_grid.size for table in (first, second)]
    return Comparison(
        rows=pl.DataFrame(rows),
        same_distribution=largest == 0,
        same_noise=same_noise,
        largest=float(largest),
        n_max=(first.n_max, second.n_max),
        grids=(grids[0], grids[1]),
    )


def _same_keys(ours: _NoiseUnits, theirs: _NoiseUnits) -> int:
    """The number of keys with the same noise, from one bound of either row to the next."""
    bounds = sorted({bound for bound, _ in (*ours, *theirs)})
    noise = ([row[bisect_left(row, (bound,))][1] for bound in bounds] for row in (ours, theirs))
    widths = (above - below for below, above in pairwise([0, *bounds]))
    return sum(width for width, one, other in zip(widths, *noise, strict=True) if one == other)


def _span(values: Any, language: str) -> str:
    low, high = min(values.to_list()), max(values.to_list())
    texts = [number(value, language, 4) for value in (low, high)]
    return f"{texts[0]} … {texts[1]}"


#: Cells that are shown at most, unless more are asked for.
MOST_CELLS = 200

#: Measures that are numbers of cells, and those that are figures; all others are shares.
_CELLS = ("cells", "hidden", "official", "changed_to_zero", "zeros_changed")
_PLAIN = ("mean_absolute_deviation", "mean_deviation")


class _Cells(NamedTuple):
    """One figure: places of its cells, and what was and is there."""

    places: tuple[PositionArray, ...]
    true: npt.NDArray[Any]
    value: npt.NDArray[Any]
    status: npt.NDArray[np.int8]

    def pairs(self) -> Pairs:
        """The same as the measures of a release take it."""
        part = np.zeros(len(self.true), dtype=np.int64)
        return Pairs(original=self.true, value=self.value, status=self.status, part=part)


class TableComparison(Unpicklable):
    """True and published figures of one table side by side. CONFIDENTIAL.

    Args:
        table: The true table.
        protected: What was made of it.
    """

    def __init__(self, table: Table, protected: ProtectedTable) -> None:
        self._table, self._protected = table, protected
        figures = protected.figures or (Figure(name="count"),)
        true = [_true(table, figure) for figure in figures]
        places = places_in(table.dimensions, table.index, protected.spanning, table.name)
        self._figures = {
            figure.name: _figure_cells(table, protected, true[at], places, at)
            for at, figure in enumerate(figures)
        }

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures compared; "count" for a table of counts."""
        return tuple(self._figures)

    def measures(self, figure: str | None = None) -> dict[str, float]:
        """Measures of the change that protection caused, by name. CONFIDENTIAL.

        Cells without records are left out, except `zeros_changed`, their number where
        something else than zero is published. Counts have shares of cells by size of the
        change; other figures have shares by relative deviation.

        Args:
            figure: Name of the figure; the first if None.
        """
        cells = self._named(figure)
        pairs, status = cells.pairs(), cells.status
        filled = cells.true != 0
        hidden = int(np.count_nonzero(filled & lacks_number(status)))
        measures: dict[str, float] = {}
        if pairs.whole:
            statistics = count_statistics(pairs)
            measures |= Noise.of(statistics.noise, statistics.others).described()
            measures["hidden"] = hidden
            measures["official"] = int(np.count_nonzero(filled & (status == CellStatus.official)))
            measures["changed_to_zero"] = int(statistics.others[:, 4].sum())
            measures["zeros_changed"] = statistics.zeros_changed
            return measures
        rows = deviations(pairs)
        assessed = int(rows[:, 2].sum())
        measures |= {"cells": assessed, "hidden": hidden}
        for at, bound in enumerate(DEVIATION_CLASSES):
            within = int(rows[rows[:, 1] <= at, 2].sum())
            measures[f"within_{100 * bound:.0f}_percent"] = within / assessed if assessed else 0.0
        return measures

    def text(self, language: str = "en") -> str:
        """The measures of all figures, one per line. CONFIDENTIAL."""
        lines = []
        for name in self.figures:
            lines += [name, *(f"  {label}: {value}" for label, value in self.told(name, language))]
        return "\n".join(lines)

    def to_polars(
        self, figure: str | None = None, *, labels: bool = False, language: str = "en"
    ) -> pl.DataFrame:
        """The cells: codes, "true", "protected", "difference", "status". CONFIDENTIAL.

        Cells that have no records and are published as zero are left out.

        Args:
            figure: Name of the figure; the first if None.
            labels: Whether a column of labels stands beside each column of codes.
            language: Language of the labels.
        """
        import polars as pl

        cells = self._named(figure)
        columns: dict[str, Any] = {}
        for dimension, part in zip(self._table.dimensions, cells.places, strict=True):
            columns[dimension.name] = pl.Series(dimension.codes, dtype=pl.String).gather(part)
            if labels:
                texts = pl.Series(dimension.labels(language), dtype=pl.String)
                columns[f"{dimension.name}_label"] = texts.gather(part)
        shows = pl.Series(~lacks_number(cells.status))
        numbers = pl.DataFrame({"true": cells.true, "protected": cells.value}).select(
            "true", pl.when(shows).then("protected").alias("protected")
        )
        differing = numbers.select(difference=pl.col("protected") - pl.col("true"))
        names = pl.Series([member.name for member in CellStatus], dtype=pl.String)
        return pl.DataFrame(columns).hstack(
            [*numbers, *differing, names.gather(cells.status.astype(np.int64)).alias("status")]
        )

    def show(self, *, language: str = "en", cells: int = MOST_CELLS) -> ShownComparison:
        """Show measures and cells in a notebook, true values included. CONFIDENTIAL.

        What a notebook shows, it saves: clear its output before it leaves the house.

        Args:
            language: "en" or "de".
            cells: How many cells are shown at most; those that changed most come first.
        """
        words_of("beside", language)
        return ShownComparison(self, language, cells)

    def _named(self, figure: str | None) -> _Cells:
        name = self.figures[0] if figure is None else figure
        if name not in self._figures:
            hint = f"figures: {', '.join(self.figures)}"
            raise TableError(f"figure {name!r} not found", code="compare", hint=hint)
        return self._figures[name]

    def told(
        self, figure: str, language: str, leave_out: Collection[str] = ()
    ) -> list[tuple[str, str]]:
        """The measures of a figure in words: what each is called, and what it is. CONFIDENTIAL.

        Args:
            figure: Name of the figure.
            language: "en" or "de".
            leave_out: Measures that are of no use, such as "hidden" where nothing is.
        """
        text = words_of("beside", language)
        lines = []
        for name, value in self.measures(figure).items():
            if name in leave_out:
                continue
            shown = percent(value, language)
            if name in (*_CELLS, *_PLAIN):
                shown = number(value, language, 3 if name in _PLAIN else 0)
            lines.append((text[name], shown.replace("-", "−")))
        return lines

    def __len__(self) -> int:
        return len(self._figures[self.figures[0]].true)

    def __repr__(self) -> str:
        return f"<TableComparison {self._table.name} (confidential): {len(self):,} cells>"


@dataclass(frozen=True, repr=False, eq=False)
class ShownComparison(Unpicklable):
    """A comparison to be looked at: notebooks show its true values. CONFIDENTIAL."""

    comparison: TableComparison
    language: str
    cells: int

    def __repr__(self) -> str:
        return repr(self.comparison)

    def _repr_html_(self) -> str:
        import polars as pl

        text, language = words_of("beside", self.language), self.language
        comparison, escape = self.comparison, html.escape
        dimensions = comparison._table.dimensions
        style = files("discreet.assessment").joinpath("comparison.css").read_text("utf-8")
        pieces = [
            f'<style>{style}</style>\n<div class="discreet-beside" lang="{language}">\n',
            f'<p class="warning">{escape(text["warning"])}</p>\n',
            f"<h4>{escape(comparison._protected.title(language))}</h4>\n",
        ]
        heads = [dimension.title(language) for dimension in dimensions]
        heads += [text[name] for name in ("true", "protected", "difference")]
        for name in comparison.figures:
            if len(comparison.figures) > 1:
                pieces.append(f"<h5>{escape(name)}</h5>\n")
            pieces.append(_listed((), comparison.told(name, language)))
            frame = comparison.to_polars(name, labels=True, language=language)
            every = frame.height
            if every > self.cells:  # those that changed most first
                frame = frame.sort(pl.col("difference").abs(), descending=True, nulls_last=True)
                frame = frame.head(self.cells)
            rows = []
            for row in frame.iter_rows(named=True):
                hidden, change = row["protected"] is None, row["difference"]
                shown = [".", ""]
                if not hidden:
                    signed = number(change, language).replace("-", "−")
                    shown = [number(row["protected"], language), "+" * (change > 0) + signed]
                labels = [row[f"{dimension.name}_label"] for dimension in dimensions]
                rows.append([*labels, number(row["true"], language), *shown])
            pieces.append(_listed(heads, rows, len(dimensions)))
            if every > len(rows):
                counts = {"cells": number(len(rows), language), "all": number(every, language)}
                pieces.append(f"<p>{escape(text['first_of'].format(**counts))}</p>\n")
        return "".join([*pieces, "</div>\n"])


def _listed(heads: Sequence[str], rows: Sequence[Sequence[str]], labels: int = 1) -> str:
    """Rows as an HTML table, the first columns of which are labels."""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    body = ""
    for row in rows:
        cells = [f'<th scope="row">{html.escape(text)}</th>' for text in row[:labels]]
        cells += [f"<td>{html.escape(text)}</td>" for text in row[labels:]]
        body += f"<tr>{''.join(cells)}</tr>\n"
    top = f"<thead><tr>{head}</tr></thead>\n" if heads else ""
    return f'<div class="scroll"><table>\n{top}<tbody>\n{body}</tbody></table></div>\n'


@without_values
def compare_tables(table: Table, protected: ProtectedTable) -> TableComparison:
    """Set a table beside what was made of it; see `discreet.compare`. CONFIDENTIAL."""
    return TableComparison(table, protected)


def _true(table: Table, figure: Figure) -> npt.NDArray[Any]:
    """What a figure was before protection."""
    if figure.kind == "count":
        return table.count if table.weight is None else table.weight
    if figure.kind == "sum" and figure.name in table.sums:
        return table.sums[figure.name]
    parts = table.contributions.get(figure.name)
    if figure.kind == "mean" and parts is not None:
        return quotient(parts.total, parts.count if parts.weight is None else parts.weight)
    raise TableError(
        f"the table does not contain the original values of {figure.name!r} ({figure.kind})",
        code="compare",
        where=table.name,
        hint="compare the counts, sums or means behind the key figures",
    )


def _figure_cells(
    table: Table,
    protected: ProtectedTable,
    true: npt.NDArray[Any],
    places: tuple[BoolArray, tuple[PositionArray, ...]],
    number: int,
) -> _Cells:
    """The cells of one figure that have records, or show a number."""
    listed, index = places
    if protected.several_figures:
        index = (*index, np.full(len(table), number, dtype=np.int32))
    value, status = published_or_zero(protected, index, listed)
    # Cells that are published and have no records.
    own = np.arange(protected.stored)
    if protected.several_figures:
        own = np.flatnonzero(protected.index[-1] == number)
    shown = [part[own] for part in protected.index[: len(protected.spanning)]]
    extra = code_positions(table.dimensions, protected.spanning, shown)
    at = CellIndex.of(table.dimensions).find(table.index, extra, (len(table), len(own)))
    rows = np.flatnonzero(at < 0)
    stored = own[rows]
    pairs = zip(table.index, extra, strict=True)
    joined = [np.concatenate([ours, theirs[rows]]) for ours, theirs in pairs]
    order = sort_cells(table.dimensions, joined)
    return _Cells(
        places=tuple(part[order] for part in joined),
        true=np.concatenate([true, np.zeros(len(rows), dtype=true.dtype)])[order],
        value=np.concatenate([value, protected.value[stored]])[order],
        status=np.concatenate([status, protected.status[stored]])[order].astype(np.int8),
    )
