"""`SessionOutput`, `SessionTable`: what a researcher sees of an output. They hold no hidden value.

In: protected tables, texts and checks of a safe statistic. Out: the same in a notebook, as text, as
CSV, as HTML with headings that screen readers know, and as a picture (SVG: bars, lines, steps of
survival, pies), with the verdict and its reasons first. All that is drawn stands in the table.
Cells can be hidden besides, never the reverse. Outputs can be pickled and passed on.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire.statistics import (
    Check,
    CheckVerdict,
    count_text,
    general,
    legend,
    round_step,
    worst,
)

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
        """Number of cells with a hidden number."""
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
        """As CSV; a hidden number is an empty field."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        frame = self.frame()
        writer.writerow(frame.columns)
        for row in frame.rows():
            writer.writerow([_plain(one) for one in row])
        return stream.getvalue()

    def text(self, language: str = "en") -> str:
        """The table as text, with a line below that says so if something is hidden."""
        stubs, heads, rows = self._grid(POINT)
        whole = [[*stubs, *heads], *([*stub, *cells] for stub, cells in rows)]
        wide = [max(len(line[at]) for line in whole) for at in range(len(whole[0]))]
        shown = []
        for line in whole:
            parts = [
                f"{one:<{width}}" if at < len(stubs) else f"{one:>{max(width, 4)}}"
                for at, (one, width) in enumerate(zip(line, wide, strict=True))
            ]
            shown.append("  ".join(parts).rstrip())
        return "\n".join([*shown, *([legend(language)] if self.hidden else [])])

    def html(self, caption: str) -> str:
        """The table as HTML."""
        stubs, columns, rows = self._grid(HIDDEN)
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

    def _grid(self, hidden: str) -> tuple[list[str], list[str], list[tuple[list[str], list[str]]]]:
        """Headings of stubs and of columns, and rows: labels and texts of cells."""
        across = self.across and len(self.axes) > 1
        *down, (last, columns) = self.axes if across else (*self.axes, ("", ("",)))
        width, several = len(columns), len(self.measures) > 1
        stubs, rows = [name for name, _ in down], []
        if width == 1:
            heads = list(self.measures)
        else:
            heads = [f"{last} = {columns[0]}", *columns[1:]]
            stubs += [""] * several
        for row, place in enumerate(itertools.product(*(labels for _, labels in down))):
            if width == 1:
                texts = [number(name, of[row], hidden) for name, of in self.measures.items()]
                rows.append((list(place), texts))
                continue
            cells = slice(row * width, (row + 1) * width)
            for at, (name, of) in enumerate(self.measures.items()):
                stub = [*(place if not at else [""] * len(place)), *([name] if several else [])]
                rows.append((stub, [number(name, x, hidden) for x in of[cells]]))
        return stubs, heads, rows


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


#: How a table is drawn.
Style = Literal["bar", "line", "step", "pie"]
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 360, 70, 40, 90
#: Colours that differ in brightness, too, with 3:1 and more against white.
_COLOURS = ("#1b4f8a", "#b45f06", "#2e7d32", "#7b1fa2", "#5d4037", "#00695c")
_MOST_MARKS, _MOST_SERIES = 60, 6


def picture(table: SessionTable, style: Style, title: str, measure: str | None = None) -> str:
    """An SVG of a table."""
    names = list(table.measures)
    chosen = names[-1] if measure is None else measure
    if chosen not in names:
        hint = f"numbers of the table: {', '.join(names)}"
        raise OutputCheckError("values not found", code="figure", where=chosen, hint=hint)
    if not table.axes:
        raise OutputCheckError("a single number has no picture", code="figure")
    # The first variable runs along the bottom, of steps the last one, which is time; no totals.
    places = itertools.product(*(labels for _, labels in table.axes))
    numbers = dict(zip(places, table.measures[chosen], strict=True))
    axes = [axis for axis, _ in table.axes]
    inner = [[one for one in labels if one != TOTAL] for _, labels in table.axes]
    bottom = len(axes) - 1 if style == "step" else 0
    labels = inner[bottom]
    others = [at for at in range(len(axes)) if at != bottom]
    series = []
    for place in itertools.product(*(inner[at] for at in others)):
        name = ", ".join(f"{axes[at]} = {one}" for at, one in zip(others, place, strict=True))
        cells = [(*place[:bottom], label, *place[bottom:]) for label in labels]
        series.append((name, [numbers[cell] for cell in cells]))
    if len(labels) * len(series) > _MOST_MARKS * _MOST_SERIES or len(series) > _MOST_SERIES:
        message, hint = "the table is too large for a picture", "use coarser groups"
        raise OutputCheckError(message, code="figure", hint=hint)
    # All that is drawn, in words.
    words = []
    for name, values in series:
        pairs = zip(labels, values, strict=True)
        own = ", ".join(f"{label}: {number(chosen, one, 'hidden')}" for label, one in pairs)
        words.append(f"{name}: {own}" if name else own)
    marks = _slices(labels, series) if style == "pie" else _marks(labels, series, chosen, style)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n<title>{escape(title)}</title>\n'
        f"<desc>{escape(f'{chosen}. ' + '; '.join(words))}</desc>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>\n'
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>\n'
        + "\n".join(marks)
        + "\n</svg>\n"
    )


_Series = Sequence[tuple[str, Sequence[float | None]]]


_STEPS = (1, 2, 2.5, 5, 10)


def _marks(labels: Sequence[str], series: _Series, measure: str, style: Style) -> Iterator[str]:
    """Axes; bars, or curves in which hidden numbers leave gaps; and the key of several series."""
    known = [x for _, numbers in series for x in numbers if x is not None and math.isfinite(x)]
    top = round_step(max(known), _STEPS) if max(known, default=0) > 0 else 0.0
    low = -round_step(-min(known), _STEPS) if min(known, default=0) < 0 else 0.0
    scale = (_HEIGHT - _TOP - _BOTTOM) / ((top - low) or 1.0)
    right, count = _WIDTH - 20, len(labels)

    def height(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (value - low) * scale, 2)

    def middle(at: int) -> float:
        return round(_LEFT + (at + 0.5) * (right - _LEFT) / count, 2)

    for at in range(5):
        value = low + (top - low) * at / 4
        y = height(value)
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}" stroke="#ccc"/>'
        text = number("mean", value, "")
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 6}">{escape(measure)}</text>'
    for at in range(0, count, max(1, count // 20)):
        x, y = middle(at), _HEIGHT - _BOTTOM + 14
        shown = labels[at] if len(labels[at]) <= 14 else labels[at][:13] + "…"
        turned = f' transform="rotate(30 {x} {y})"' if count > 6 else ""
        anchor = "start" if turned else "middle"
        yield f'<text x="{x}" y="{y}" text-anchor="{anchor}"{turned}>{escape(shown)}</text>'
    wide = (right - _LEFT) / max(count, 1) * 0.8 / len(series)
    for place, (_, numbers) in enumerate(series):
        colour, path, gap = _COLOURS[place], "", True
        for at, one in enumerate(numbers):
            if one is None or not math.isfinite(one):
                gap = True
            elif style == "bar":
                x = round(middle(at) + (place - len(series) / 2) * wide, 2)
                y, base = sorted((height(one), height(0.0)))
                size = f'width="{wide:.2f}" height="{base - y:.2f}"'
                yield f'<rect x="{x}" y="{y}" {size} fill="{colour}"/>'
            else:
                x, y = middle(at), height(one)
                path += f"M{x} {y}" if gap else f"H{x}V{y}" if style == "step" else f"L{x} {y}"
                path += "m-2 0h4m-2 0" if style == "line" else ""
                gap = False
        if style != "bar":
            dashes = ("none", "6 3", "2 3")[place % 3]
            yield (
                f'<path d="{path}" fill="none" stroke="{colour}" '
                f'stroke-width="2" stroke-dasharray="{dashes}"/>'
            )
    for at, (name, _) in enumerate(series if len(series) > 1 else ()):
        x, y = _LEFT + (at % 3) * 185, _HEIGHT - 24 + (at // 3) * 16
        yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{_COLOURS[at]}"/>'
        yield f'<text x="{x + 15}" y="{y}">{escape(name[:28])}</text>'


def _slices(labels: Sequence[str], series: _Series) -> Iterator[str]:
    """The parts of a pie; hidden numbers have none, and the others are parts of their sum."""
    parts = [(label, x) for label, x in zip(labels, series[0][1], strict=True) if x]
    whole = sum(x for _, x in parts)
    if len(series) > 1 or len(parts) > len(_COLOURS) or min((x for _, x in parts), default=0) < 0:
        message = f"a pie is of one variable with up to {len(_COLOURS)} values"
        raise OutputCheckError(message, code="figure", hint="style='bar'")
    middle, radius, turn = (_LEFT + 130, _HEIGHT / 2 + 10), 120, 0.0
    for at, (label, x) in enumerate(parts):
        start, turn = turn, turn + x / whole
        if x == whole:
            yield f'<circle cx="{middle[0]}" cy="{middle[1]}" r="{radius}" fill="{_COLOURS[at]}"/>'
        else:
            (a, b), (c, d) = (
                (middle[0] + radius * math.sin(angle), middle[1] - radius * math.cos(angle))
                for angle in (2 * math.pi * start, 2 * math.pi * turn)
            )
            arc = f"A{radius} {radius} 0 {int(turn - start > 0.5)} 1 {c:.2f} {d:.2f}"
            path = f"M{middle[0]} {middle[1]}L{a:.2f} {b:.2f}{arc}Z"
            yield f'<path d="{path}" fill="{_COLOURS[at]}" stroke="#fff"/>'
        y = _TOP + 20 + 20 * at
        yield f'<rect x="380" y="{y - 9}" width="10" height="10" fill="{_COLOURS[at]}"/>'
        yield f'<text x="396" y="{y}">{escape(label[:28])}: {number("n", x, "")}</text>'


#: What verdicts are called, and how they look.
_WORDS = {
    CheckVerdict.passed: ("pass", "#1b5e20"),
    CheckVerdict.review: ("review", "#7a4b00"),
    CheckVerdict.fail: ("fail", "#8b1a1a"),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionOutput:
    """One output of a session."""

    number: int  # its number, from 1
    name: str  # what the researcher calls it
    call: str  # how it was asked for
    checks: tuple[Check, ...]  # the rules that were held against it
    table: SessionTable | None = None  # its table as far as it is shown; None for a model
    body: str = ""  # the text of what is no table
    coefficients: str = ""  # the table of a model, as CSV
    style: Style | None = None  # how it is drawn; None if it is not
    measure: str | None = None  # which numbers are drawn
    language: str = "en"  # of the line that says that something is hidden
    comment: str = ""  # what the researcher says of it
    exception: str = ""  # why the researcher asks for an exception; empty if not

    @property
    def verdict(self) -> CheckVerdict:
        """The worst that any check found."""
        return worst(self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is no pass, in words."""
        reasons = (
            f"{one.reason}{f' ({one.where})' if one.where else ''}"
            for one in self.checks
            if one.verdict is not CheckVerdict.passed
        )
        return tuple(dict.fromkeys(reasons))

    @property
    def summary(self) -> str:
        """Verdict and reasons on one line."""
        why = "; ".join(self.reasons)
        hidden = 0 if self.table is None else self.table.hidden
        if hidden:
            cells = "1 cell is suppressed" if hidden == 1 else f"{hidden} cells are suppressed"
            return f"{self.verdict.value}: {cells}: {why}" if why else f"review: {cells}"
        if self.verdict is CheckVerdict.fail and self.table is None:
            return f"fail: withheld: {why}"
        return f"{self.verdict.value}: {why}" if why else self.verdict.value

    @property
    def text(self) -> str:
        """The output as text."""
        return self.body if self.table is None else self.table.text(self.language)

    @property
    def svg(self) -> str:
        """Its picture; empty if it has none."""
        if self.style is None or self.table is None:
            return ""
        return picture(self.table, self.style, self.name, self.measure)

    @property
    def frame(self) -> pl.DataFrame | None:
        """The numbers as a polars frame; hidden ones are null."""
        if self.table is not None:
            return self.table.frame()
        return pl.read_csv(self.coefficients.encode()) if self.coefficients else None

    def to_pandas(self) -> Any:
        """The numbers as a pandas frame, if pandas is installed."""
        frame = self.frame
        return None if frame is None else frame.to_pandas()

    def __str__(self) -> str:
        remarks = [f"comment: {self.comment}"] if self.comment else []
        remarks += [f"exception asked for: {self.exception}"] if self.exception else []
        head = f"[{self.number}] {self.name}: {self.call}"
        return "\n".join([head, self.summary, *remarks, "", self.text])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The output as notebooks show it."""
        word, colour = _WORDS[self.verdict]
        reasons = "".join(f"<li>{escape(one)}</li>" for one in self.reasons)
        remarks = "".join(
            f"<p>{label}: {escape(text)}</p>\n"
            for label, text in (("Comment", self.comment), ("Exception asked for", self.exception))
            if text
        )
        if self.table is None:
            shown = f'<pre style="overflow-x: auto">{escape(self.body)}</pre>\n'
        else:
            shown = self.table.html(self.name)
        return (
            f'<div class="discreet-output" style="border-left: 4px solid {colour}; '
            f'padding-left: 8px">\n<p><b>[{self.number}] {escape(self.name)}</b> '
            f"<code>{escape(self.call)}</code></p>\n"
            f'<p><b style="color: {colour}">{word}</b></p>\n'
            + (f"<ul>{reasons}</ul>\n" if reasons else "")
            + f"{self.svg}{shown}{remarks}</div>\n"
        )
