"""A table before and after protection, cell by cell, with what it cost: `TableComparison`.

In: a `Table` and the `ProtectedTable` made of it. Out: true figures beside published ones, and
measures of what protection did to them. CONFIDENTIAL, all of it: it is shown where that is asked
for by name, and nothing else prints, pickles or publishes it.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.arrays import CellIndex, IntArray, PositionArray, quotient
from discreet.assessment.release_quality.pairs import Pairs, places_in, published_at
from discreet.assessment.release_quality.tallies import (
    DEVIATION_CLASSES,
    Noise,
    count_statistics,
    deviations,
)
from discreet.assessment.words import number, percent, words_of
from discreet.confidential import Unpicklable, without_values
from discreet.errors import TableError
from discreet.tables import WITHOUT_NUMBER, CellStatus, Figure, ProtectedTable, Table, sort_cells

if TYPE_CHECKING:
    import polars as pl

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
        self._figures: Mapping[str, _Cells] = _compared(table, protected)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures compared; "count" for a table of counts."""
        return tuple(self._figures)

    def measures(self, figure: str | None = None) -> dict[str, float]:
        """What protection did to a figure, by name of the measure. CONFIDENTIAL.

        Cells without records are left out, except `zeros_changed`, their number where
        something else than zero is published. Counts have shares of cells by size of the
        change; other figures have shares by relative deviation.

        Args:
            figure: Name of the figure; the first if None.
        """
        cells = self._named(figure)
        pairs, status = cells.pairs(), cells.status
        filled = cells.true != 0
        hidden = int(np.count_nonzero(filled & np.isin(status, WITHOUT_NUMBER)))
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
        shows = pl.Series(~np.isin(cells.status, WITHOUT_NUMBER))
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
            raise TableError(f"there is no figure {name!r}", code="compare", hint=hint)
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
        return "".join(self._pieces())

    @cached_property
    def _text(self) -> Mapping[str, str]:
        return words_of("beside", self.language)

    def _pieces(self) -> Iterator[str]:
        style = files("discreet.assessment").joinpath("comparison.css").read_text("utf-8")
        yield f'<style>{style}</style>\n<div class="discreet-beside" lang="{self.language}">\n'
        yield f'<p class="warning">{html.escape(self._text["warning"])}</p>\n'
        title = self.comparison._protected.title(self.language)
        yield f"<h4>{html.escape(title)}</h4>\n"
        for name in self.comparison.figures:
            if len(self.comparison.figures) > 1:
                yield f"<h5>{html.escape(name)}</h5>\n"
            yield _listed((), self.comparison.told(name, self.language))
            yield from self._cells(name)
        yield "</div>\n"

    def _cells(self, figure: str) -> Iterator[str]:
        """The cells of one figure, those that changed most first where not all fit."""
        import polars as pl

        frame = self.comparison.to_polars(figure, labels=True, language=self.language)
        every = frame.height
        if every > self.cells:
            frame = frame.sort(pl.col("difference").abs(), descending=True, nulls_last=True)
            frame = frame.head(self.cells)
        dimensions = self.comparison._table.dimensions
        heads = [d.title(self.language) for d in dimensions]
        heads += [self._text[name] for name in ("true", "protected", "difference")]
        rows = []
        for row in frame.iter_rows(named=True):
            labels = [row[f"{d.name}_label"] for d in dimensions]
            texts = [number(row["true"], self.language)]
            hidden = row["protected"] is None
            texts.append("." if hidden else number(row["protected"], self.language))
            texts.append("" if hidden else _signed(row["difference"], self.language))
            rows.append([*labels, *texts])
        yield _listed(heads, rows, len(dimensions))
        if every > len(rows):
            sentence = self._text["first_of"].format(
                cells=number(len(rows), self.language), all=number(every, self.language)
            )
            yield f"<p>{html.escape(sentence)}</p>\n"


def _signed(value: float, language: str) -> str:
    text = number(value, language).replace("-", "−")
    return f"+{text}" if value > 0 else text


def _listed(heads: Sequence[str], rows: Sequence[Sequence[str]], labels: int = 1) -> str:
    """Rows as an HTML table, the first columns of which are labels."""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    lines = [
        "".join(
            f'<th scope="row">{html.escape(text)}</th>'
            if at < labels
            else f"<td>{html.escape(text)}</td>"
            for at, text in enumerate(row)
        )
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    top = f"<thead><tr>{head}</tr></thead>\n" if heads else ""
    return f'<div class="scroll"><table>\n{top}<tbody>\n{body}</tbody></table></div>\n'


@without_values
def compare_tables(table: Table, protected: ProtectedTable) -> TableComparison:
    """Set a table beside what was made of it; see `discreet.compare`. CONFIDENTIAL."""
    return TableComparison(table, protected)


def _compared(table: Table, protected: ProtectedTable) -> dict[str, _Cells]:
    """Per figure, its cells before and after."""
    figures = protected.figures or (Figure(name="count"),)
    true = {figure.name: _true(table, figure) for figure in figures}
    places = places_in(table.dimensions, table.index, protected.spanning, table.name)
    return {
        figure.name: _figure_cells(table, protected, true[figure.name], places, at)
        for at, figure in enumerate(figures)
    }


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
        f"the table does not tell what {figure.name!r} ({figure.kind}) was before protection",
        code="compare",
        where=table.name,
        hint="compare the counts, sums or means that key figures are made of",
    )


def _figure_cells(
    table: Table,
    protected: ProtectedTable,
    true: npt.NDArray[Any],
    places: tuple[npt.NDArray[np.bool_] | None, tuple[PositionArray, ...]],
    number: int,
) -> _Cells:
    """The cells of one figure that have records, or show a number."""
    listed, index = places
    if protected.several_figures:
        index = (*index, np.full(len(table), number, dtype=np.int32))
    value, status = published_at(protected, index, len(table))
    if listed is not None:  # a code left out has nothing but zeros
        value = np.where(listed, value, 0)
        status[~listed] = CellStatus.zero_or_changed_to_zero
    extra = _beside(table, protected, number)
    joined = [
        np.concatenate([own, more[extra.rows]])
        for own, more in zip(table.index, extra.places, strict=True)
    ]
    order = sort_cells(table.dimensions, joined)
    return _Cells(
        places=tuple(part[order] for part in joined),
        true=np.concatenate([true, np.zeros(len(extra.rows), dtype=true.dtype)])[order],
        value=np.concatenate([value, protected.value[extra.stored]])[order],
        status=np.concatenate([status, protected.status[extra.stored]])[order].astype(np.int8),
    )


class _Beside(NamedTuple):
    """Cells that are published and have no records: all places, which rows, which stored cells."""

    places: tuple[PositionArray, ...]
    rows: IntArray
    stored: IntArray


def _beside(table: Table, protected: ProtectedTable, number: int) -> _Beside:
    own = np.arange(protected.stored)
    if protected.several_figures:
        own = np.flatnonzero(protected.index[-1] == number)
    index = tuple(
        np.array([ours.index[code] for code in theirs.codes], dtype=np.int32)[part[own]]
        for ours, theirs, part in zip(
            table.dimensions, protected.spanning, protected.index, strict=False
        )
    )
    grid = CellIndex.of(table.dimensions)
    at = grid.find(table.index, index, (len(table), len(own)))
    rows = np.flatnonzero(at < 0)
    return _Beside(index, rows, own[rows])
