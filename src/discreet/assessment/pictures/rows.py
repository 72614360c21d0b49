"""The rows of a perturbation table, as pictures show them.

In: a perturbation table. Out: its rows with exact bounds, those that were asked
for or those that fit. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from discreet.assessment.pictures.words import number, words
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import Closed, PerturbationTable


@dataclass(frozen=True, slots=True, repr=False)
class Segment:
    """One interval of a row: lower and upper bound in units of the scale."""

    noise: int
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """Its width in units of the scale."""
        return self.upper - self.lower


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRow:
    """One row: the original count, its label and its intervals as they lie."""

    count: int
    label: str
    segments: tuple[Segment, ...]

    def published(self, noise: int) -> str:
        """What is published; the last row stands for all larger counts n too."""
        if not self.label.endswith("+"):
            return str(self.count + noise)
        return f"n {'+' if noise > 0 else '−'} {abs(noise)}" if noise else "n"

    def shares(self, scale: int) -> dict[int, Fraction]:
        """The probability of each noise value, exactly."""
        widths: dict[int, int] = {}
        for segment in self.segments:
            widths[segment.noise] = widths.get(segment.noise, 0) + segment.width
        return {noise: Fraction(width, scale) for noise, width in sorted(widths.items())}


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRows:
    """The rows to draw, and what the reader must know about the others."""

    rows: tuple[DrawnRow, ...]
    scale: int
    closed: Closed
    notes: tuple[str, ...]

    def noise(self) -> list[int]:
        """All noise values that occur, in order."""
        return sorted({part.noise for row in self.rows for part in row.segments})

    def share(self, width: int) -> float:
        """A width as a share of the key grid, fine enough to draw."""
        return round(width / self.scale, 9)

    def interval(self, segment: Segment, language: str) -> str:
        """The bounds of an interval as exact decimals, or its keys on a small grid."""
        if self.scale <= 2**16:
            return f"{segment.lower} … {segment.upper - 1}"
        lower, upper = (
            number(_plain(Decimal(bound) / self.scale), language)
            for bound in (segment.lower, segment.upper)
        )
        comma = ";" if language == "de" else ","
        return f"[{lower}{comma} {upper})" if self.closed == "left" else f"({lower}{comma} {upper}]"


def rows_of(
    ptable: PerturbationTable, wanted: Iterable[int] | None, *, most: int, language: str
) -> DrawnRows:
    """Read the rows of a table.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}, name="example")
    >>> rows_of(ptable, None, most=40, language="en").notes
    ('example', '1+: this row and all larger counts')
    """
    check_table(ptable)
    content, last = ptable.content, ptable.n_max
    counts = _counts(wanted, last, most)
    rows = []
    for count, upper, noise in content.rows():
        if count in counts:
            lower = [0, *upper[:-1]]
            parts = zip(noise, lower, upper, strict=True)
            label = f"{count}+" if count == last and content.beyond == "last" else str(count)
            rows.append(DrawnRow(count, label, tuple(Segment(*part) for part in parts)))
    return DrawnRows(tuple(rows), content.scale, content.closed, _notes(ptable, counts, language))


def check_table(ptable: object) -> None:
    """Raise a clear error for anything but a table for counts."""
    if not isinstance(ptable, PerturbationTable):
        raise PerturbationError(
            "only a perturbation table for counts can be drawn",
            code="picture-data",
            hint="give a PerturbationTable",
        )


def named(ptable: PerturbationTable) -> list[str]:
    """Name and version of a table, if it has them.

    >>> named(PerturbationTable.from_rows({0: {0: 1}}, name="example"))
    ['example']
    """
    name = "" if ptable.name == "perturbation table" else ptable.name
    return [text for text in (name, ptable.version) if text]


def _counts(wanted: Iterable[int] | None, last: int, most: int) -> list[int]:
    """The rows to draw, in order, each once."""
    if wanted is None:
        return list(range(last + 1)) if last < most else [*range(most - 1), last]
    counts = sorted(set(wanted))
    strange = [count for count in counts if not 0 <= count <= last]
    problems = [Problem("the table has no such row", f"rows: {count}") for count in strange]
    if not counts:
        problems = [Problem("no row is named", "rows")]
    if problems:
        raise PerturbationError(
            "these rows cannot be drawn",
            code="picture-rows",
            hint="name original counts that the table has rows for, or none for all",
            problems=problems,
        )
    return counts


def _notes(ptable: PerturbationTable, counts: list[int], language: str) -> tuple[str, ...]:
    """Name of the table, rows left out, and what larger counts use."""
    text, last, beyond = words(language), ptable.n_max, ptable.content.beyond
    notes = named(ptable)
    if len(counts) <= last:
        notes.append(text["row_some"].format(shown=_runs(counts), last=last))
    if beyond != "last":
        first, length = beyond
        notes.append(text["beyond_block"].format(first=first, last=first + length - 1))
    elif counts[-1] == last:
        notes.append(text["beyond_last"].format(last=last))
    return tuple(notes)


def _runs(counts: list[int]) -> str:
    """Numbers as a reader lists them: 0–5, 8.

    >>> _runs([0, 1, 2, 5])
    '0–2, 5'
    """
    runs: list[list[int]] = []
    for count in counts:
        if runs and count == runs[-1][-1] + 1:
            runs[-1].append(count)
        else:
            runs.append([count])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _plain(value: Decimal) -> str:
    """A decimal without exponent and trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
