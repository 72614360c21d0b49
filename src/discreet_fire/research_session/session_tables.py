"""`SessionTable`: a table as far as it may be shown. It holds no hidden number.

In: the protected frame of a safe statistic. Out: the same as text, as HTML with headings that
screen readers know, as CSV and as a frame. Cells can be hidden besides, never the reverse.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire.statistics import count_text, general, legend

#: What stands for a hidden number: in texts, and in HTML.
POINT, HIDDEN = ".", "hidden"
#: What stands where there is no number, as for a mean of nobody.
NONE = "-"
TOTAL = "Total"


@dataclass(frozen=True, kw_only=True)
class SessionTable:
    """Numbers by up to three variables, the total of each last; hidden ones are None.

    >>> axes = (("sex", ("f", "m", "Total")),)
    >>> table = SessionTable(axes=axes, measures={"n": (5.0, None, None)})
    >>> print(table.text())
    sex       n
    f         5
    m         .
    Total     .
    . withheld for confidentiality
    """

    axes: tuple[tuple[str, tuple[str, ...]], ...]  # name and labels of each variable
    #: What is shown of each cell, and the numbers, the last variable running fastest
    measures: dict[str, tuple[float | None, ...]]
    #: Whether the last of several variables runs across; else measures do, and the cells along the
    #: last variable follow from each other, as those of survival do
    across: bool = True

    @classmethod
    def of(cls, frame: pl.DataFrame, axes: Sequence[str], measures: Sequence[str]) -> SessionTable:
        """From a frame with a row for each cell, in order."""
        labelled = tuple((name, tuple(dict.fromkeys(frame[name].to_list()))) for name in axes)
        if math.prod(len(labels) for _, labels in labelled) != frame.height:
            message, hint = "two rows of the table have the same label", f"no category is {TOTAL!r}"
            raise OutputCheckError(message, code="table", where=", ".join(axes), hint=hint)
        return cls(
            axes=labelled,
            measures={name: tuple(frame[name].cast(pl.Float64).to_list()) for name in measures},
        )

    @property
    def hidden(self) -> int:
        """How many cells have a hidden number."""
        return sum(None in cell for cell in zip(*self.measures.values(), strict=True))

    def together(self, places: Collection[int]) -> frozenset[int]:
        """Cells with all that have to be hidden with them."""
        if self.across:
            return frozenset(places)
        width = len(self.axes[-1][1])
        rows = {at // width for at in places}
        return frozenset(at for row in rows for at in range(row * width, (row + 1) * width))

    def without(self, places: Collection[int]) -> SessionTable:
        """The table with all numbers of some cells hidden."""
        left = replace(
            self,
            measures={
                name: tuple(None if at in places else x for at, x in enumerate(numbers))
                for name, numbers in self.measures.items()
            },
        )
        for name in self.measures:
            if name.endswith(" %"):  # of a total that is hidden now, too
                left = left.with_shares(name.removesuffix(" %"))
        return left

    def with_shares(self, of: str) -> SessionTable:
        """The table with percentages of counts that are shown both, and of no others."""
        width = len(self.axes[-1][1]) if len(self.axes) > 1 else 1
        numbers = self.measures["n"]
        shares: list[float | None] = []
        for at, x in enumerate(numbers):
            row, column = divmod(at, width)
            last = len(numbers) - 1
            base = {"row": row * width + width - 1, "column": last - width + 1 + column}
            whole = numbers[base.get(of, last)]
            if x is None or whole is None:
                shares.append(None)
            else:
                shares.append(100.0 * x / whole if whole else math.nan)
        return replace(self, measures={**self.measures, f"{of} %": tuple(shares)})

    def frame(self) -> pl.DataFrame:
        """A row for each cell; hidden numbers are null."""
        places = list(itertools.product(*(labels for _, labels in self.axes)))
        columns: dict[str, list[str] | list[float | None]] = {
            name: [place[at] for place in places] for at, (name, _) in enumerate(self.axes)
        }
        columns |= {name: list(numbers) for name, numbers in self.measures.items()}
        return pl.DataFrame(columns, schema_overrides=dict.fromkeys(self.measures, pl.Float64))

    def csv(self) -> str:
        """The same as CSV; a hidden number is an empty field."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        frame = self.frame()
        writer.writerow(frame.columns)
        for row in frame.rows():
            writer.writerow([_plain(one) for one in row])
        return stream.getvalue()

    def text(self, language: str = "en") -> str:
        """The table as text, with a line below that says so if something is hidden."""
        heads, rows = self._grid(POINT)
        lines = [[*stub, *cells] for stub, cells in rows]
        whole = [[one for head in heads for one in head], *lines]
        stubs = len(heads[0])
        wide = [max(len(line[at]) for line in whole) for at in range(len(whole[0]))]
        shown = []
        for line in whole:
            parts = [
                f"{one:<{width}}" if at < stubs else f"{one:>{max(width, 4)}}"
                for at, (one, width) in enumerate(zip(line, wide, strict=True))
            ]
            shown.append("  ".join(parts).rstrip())
        return "\n".join([*shown, *([legend(language)] if self.hidden else [])])

    def html(self, caption: str) -> str:
        """The table as HTML."""
        (stubs, columns), rows = self._grid(HIDDEN)
        head = "".join(f'<th scope="col">{escape(one)}</th>' for one in (*stubs, *columns))
        body = []
        for stub, cells in rows:
            line = "".join(f'<th scope="row">{escape(one)}</th>' for one in stub)
            line += "".join(
                f'<td class="hidden"><i>{HIDDEN}</i></td>'
                if one == HIDDEN
                else f'<td style="text-align: right">{escape(one)}</td>'
                for one in cells
            )
            body.append(f"<tr>{line}</tr>\n")
        return (
            f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{''.join(body)}</tbody>\n</table>\n"
        )

    def _grid(
        self, hidden: str
    ) -> tuple[tuple[list[str], list[str]], list[tuple[list[str], list[str]]]]:
        """Headings of stubs and columns, and rows: labels and texts of cells."""
        across = self.across and len(self.axes) > 1
        *down, last = self.axes if across else (*self.axes, ("", ("",)))
        columns = last[1]
        several = len(self.measures) > 1 and len(columns) > 1
        if len(columns) == 1:
            heads = list(self.measures)
        else:
            heads = [f"{last[0]} = {columns[0]}", *columns[1:]]
        stubs = [*(name for name, _ in down), *([""] if several else [])]
        rows = list(self._rows([labels for _, labels in down], len(columns), hidden))
        return (stubs, heads), rows

    def _rows(
        self, down: list[tuple[str, ...]], width: int, hidden: str
    ) -> Iterator[tuple[list[str], list[str]]]:
        for row, place in enumerate(itertools.product(*down)):
            cells = range(row * width, (row + 1) * width)
            if width == 1:
                texts = [number(name, of[row], hidden) for name, of in self.measures.items()]
                yield list(place), texts
                continue
            for at, (name, of) in enumerate(self.measures.items()):
                label = [name] if len(self.measures) > 1 else []
                stub = list(place) if not at else [""] * len(place)
                yield [*stub, *label], [number(name, of[cell], hidden) for cell in cells]


def number(name: str, value: float | None, hidden: str) -> str:
    """A number as it is shown: counts in full, percentages with two decimals.

    >>> number("n", 12345.0, "."), number("row %", 12.5, "."), number("mean", None, ".")
    ('12,345', '12.50', '.')
    """
    if value is None:
        return hidden
    if not math.isfinite(value):
        return NONE
    if name.endswith("%"):
        return f"{value:.2f}"
    return count_text(value) if name.split()[0] in ("n", "N") else general(value, 12)


def _plain(value: object) -> object:
    if isinstance(value, float):
        if not math.isfinite(value):
            return NONE
        return int(value) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return "" if value is None else value
