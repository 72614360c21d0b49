"""Pictures of a perturbation table: stacked bars over the cell key, heat map, distributions.

In: a perturbation table. Out: a `Picture`: the tableau, the transition matrix as a heat map
with its values, or the distribution of the noise as one small picture for each row. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.assessment.evaluation import never_published
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.theme import (
    SHARE_CLASSES,
    ink_on,
    noise_colours,
    number,
    picture_of,
    share_class,
    sign,
    spec,
    tooltip,
    words,
)
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import Closed, PerturbationTable, moments


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
        """Published counts; the last row also represents all larger counts n."""
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
        bounds = [f"{Decimal(b) / self.scale:f}" for b in (segment.lower, segment.upper)]
        lower, upper = (
            number(text.rstrip("0").rstrip(".") if "." in text else text, language)
            for text in bounds
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
    counts = list(range(last + 1)) if last < most else [*range(most - 1), last]
    if wanted is not None:
        counts = sorted(set(wanted))
        strange = [count for count in counts if not 0 <= count <= last]
        problems = [Problem("row not found in the table", f"rows: {count}") for count in strange]
        if problems or not counts:
            raise PerturbationError(
                "these rows cannot be drawn",
                code="picture-rows",
                hint=(
                    "name original counts with a row in the table, or leave rows out to draw all"
                ),
                problems=problems or [Problem("rows is empty", "rows")],
            )
    rows = []
    for count, upper, noise in content.rows():
        if count in counts:
            parts = zip(noise, [0, *upper[:-1]], upper, strict=True)
            label = f"{count}+" if count == last and content.beyond == "last" else str(count)
            rows.append(DrawnRow(count, label, tuple(Segment(*part) for part in parts)))
    text, notes = words(language), named(ptable)
    if len(counts) <= last:
        notes.append(text["row_some"].format(shown=_runs(counts), last=last))
    if content.beyond != "last":
        first, length = content.beyond
        notes.append(text["beyond_block"].format(first=first, last=first + length - 1))
    elif counts[-1] == last:
        notes.append(text["beyond_last"].format(last=last))
    return DrawnRows(tuple(rows), content.scale, content.closed, tuple(notes))


def check_table(ptable: object) -> None:
    """Raise a clear error for anything but a table for counts."""
    if not isinstance(ptable, PerturbationTable):
        message, hint = "only perturbation tables for counts can be drawn", "a PerturbationTable"
        raise PerturbationError(message, code="picture-data", hint=f"give {hint}")


def named(ptable: PerturbationTable) -> list[str]:
    """Name and version of a table, if it has them.

    >>> named(PerturbationTable.from_rows({0: {0: 1}}, name="example"))
    ['example']
    """
    name = "" if ptable.name == "perturbation table" else ptable.name
    return [text for text in (name, ptable.version) if text]


def _runs(counts: list[int]) -> str:
    """Numbers as a reader lists them: 0–5, 8."""
    runs: list[list[int]] = []
    for count in counts:
        if runs and count == runs[-1][-1] + 1:
            runs[-1].append(count)
        else:
            runs.append([count])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


_MOST_ROWS = 40
_TABLEAU_WIDTH = 620
_EDGE = 0.4  # none around slivers, whose colour it would hide
_DIGIT = 7  # pixels that a digit of a label needs
_WIDE, _NARROW = 40, 30  # pixels of a cell; the narrow ones hold two digits and a decimal
_FEW_COLUMNS = 20
_MOST_PANELS = 12
_COLUMNS = 3
_MOST_LABELLED = 6  # noise up to which every bar has its number


def tableau(
    ptable: PerturbationTable, rows: Iterable[int] | None = None, *, language: str = "en"
) -> Picture:
    """Draw each row of a table as a bar from key 0 to key 1, coloured by noise. SECRET.

    Intervals are shown as they lie: permuted and split ones in their own places.

    Args:
        ptable: The perturbation table.
        rows: Original counts to show; None for all, or of a table with more than 40
            rows for the first 39 and the last.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> tableau(ptable, language="de").title
    'Überlagerung nach Originalwert und Cell-Key'
    """
    text = words(language)
    drawn = rows_of(ptable, rows, most=_MOST_ROWS, language=language)
    labels, colours = [row.label for row in drawn.rows], noise_colours(drawn.noise())
    records = []
    for row in drawn.rows:
        for part in row.segments:
            name, share = sign(part.noise), drawn.share(part.width)
            wide = share * _TABLEAU_WIDTH
            records.append(
                {
                    "label": row.label,
                    "noise": name,
                    "lower": drawn.share(part.lower),
                    "upper": drawn.share(part.upper),
                    "middle": drawn.share(part.lower + part.upper) / 2,
                    "inside": name if wide > _DIGIT * len(name) + 3 else "",
                    "edge": _EDGE if wide > 1.5 else 0,
                    "ink": ink_on(colours[part.noise]),
                    "interval": drawn.interval(part, language),
                    "share": number(f"{share:.6f}", language),
                    "published": row.published(part.noise),
                }
            )
    names = [sign(value) for value in reversed(colours)]
    body = spec(
        "tableau",
        language,
        width=_TABLEAU_WIDTH,
        step=26 if len(labels) <= 20 else 20,
        records=records,
        labels=labels,
        names=names,
        colours=list(reversed(colours.values())),
        columns=1 + len(names) // 24,
        # A line around each row, so that pale ends do not look like gaps.
        frames=[{"label": label, "lower": 0, "upper": 1} for label in labels],
        edge=_EDGE,
        tooltip=_shown(language, interval="interval" if drawn.scale > 2**16 else "keys"),
    )
    return picture_of("tableau", text["tableau"], body, drawn.notes, language)


def _shown(language: str, **more: str) -> list[dict[str, Any]]:
    """What the pointer shows: fields, each with the name of its title."""
    fields = {"label": "count", "noise": "noise", "published": "published", **more}
    text = words(language)
    return tooltip([(field, text[title]) for field, title in {**fields, "share": "share"}.items()])


def transition_heatmap(
    ptable: PerturbationTable, rows: Iterable[int] | None = None, *, language: str = "en"
) -> Picture:
    """Draw the probabilities of published counts, a row for each original. SECRET.

    Each cell holds its probability in per cent; cells without one cannot occur, and
    a frame marks the unchanged count.

    Args:
        ptable: The perturbation table.
        rows: Original counts to show; None for all, or of a table with more than 40
            rows for the first 39 and the last.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> transition_heatmap(ptable).title
    'Transition matrix: published by original count, in %'
    """
    text = words(language)
    drawn = rows_of(ptable, rows, most=_MOST_ROWS, language=language)
    ends = [upper for upper, _ in SHARE_CLASSES]
    classes = [text["class_first"].format(upper=ends[0])]
    classes += [
        text["class"].format(lower=ends[at - 1], upper=ends[at]) for at in range(1, len(ends))
    ]
    records = [
        {
            "label": row.label,
            "published": row.count + noise,
            "becomes": row.published(noise),
            "noise": sign(noise),
            "same": noise == 0,
            "class": classes[share_class(float(share))],
            "value": _percent(share, language),
            "share": number(f"{float(share):.6f}", language),
            "ink": ink_on(SHARE_CLASSES[share_class(float(share))][1]),
        }
        for row in drawn.rows
        for noise, share in row.shares(drawn.scale).items()
    ]
    occurring = [row.count + part.noise for row in drawn.rows for part in row.segments]
    targets = list(range(min(occurring), max(occurring) + 1))
    wide = len(targets) <= _FEW_COLUMNS
    fields = {"label": "count", "becomes": "published", "noise": "noise", "share": "share"}
    body = spec(  # a frame around the unchanged count is to be seen on any colour
        "transitions",
        language,
        across=_WIDE if wide else _NARROW,
        down=26 if wide else 22,
        size=11 if wide else 9.5,
        records=records,
        targets=targets,
        labels=[row.label for row in drawn.rows],
        classes=classes,
        colours=[colour for _, colour in SHARE_CLASSES],
        tooltip=tooltip([(field, text[title]) for field, title in fields.items()]),
    )
    missing = ", ".join(map(str, never_published(ptable)))  # not even a larger count leads there
    notes = [*drawn.notes, text["diagonal"]]
    notes += [text["never"].format(values=missing)] if missing else []
    return picture_of("transition_heatmap", text["heatmap"], body, notes, language)


def _percent(share: Fraction, language: str) -> str:
    """A probability in per cent with one decimal, or none for certainty.

    >>> [_percent(Fraction(share), "de") for share in ("0.125", "0.0001", "1")]
    ['12,5', '<0,1', '100']
    """
    if share == 1:
        return "100"
    tenths = round(share * 1000)
    return number(f"{tenths / 10:.1f}" if tenths else "<0.1", language)


def row_distributions(
    ptable: PerturbationTable, rows: Iterable[int] | None = None, *, language: str = "en"
) -> Picture:
    """Draw how probable each noise value is, row by row. SECRET.

    Args:
        ptable: The perturbation table.
        rows: Original counts to show; None for all from 1 on, or of a table with more
            than 12 such rows for the first 11 and the last.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> row_distributions(ptable, rows=[1]).title
    'Distribution of the noise by original count, in %'
    """
    check_table(ptable)
    if rows is None:  # all rows that hold noise, or the first and the last of many
        last = ptable.n_max
        counts = list(range(0 if ptable.changes_zeros or not last else 1, last + 1))
        rows = counts if len(counts) <= _MOST_PANELS else [*counts[: _MOST_PANELS - 1], last]
    drawn = rows_of(ptable, rows, most=_MOST_PANELS, language=language)
    shares = [share for row in drawn.rows for share in row.shares(drawn.scale).values()]
    highest = float(max(shares) * 100)
    reach = max(abs(value) for value in (*drawn.noise(), 1))
    noise = range(-reach, reach + 1)
    step = 1 if reach <= _MOST_LABELLED else -(-reach // 4)
    axes: dict[str, Any] = {  # the same for all rows, so that they can be compared
        "domain": [sign(value) for value in noise],
        "values": [sign(value) for value in noise if value % step == 0],
        "highest": highest * 1.15,
        "tooltip": _shown(language),
        "tops": [spec("tops")] if reach <= _MOST_LABELLED else [],
    }
    body = {
        "columns": min(_COLUMNS, len(drawn.rows)),
        "spacing": {"row": 16, "column": 20},
        "concat": [
            spec(
                "distribution",
                language,
                head=_panel_head(row, drawn.scale, language),
                records=_panel(row, drawn, language),
                **axes,
            )
            for row in drawn.rows
        ],
    }
    title = words(language)["distributions"]
    return picture_of("row_distributions", title, body, drawn.notes, language)


def _panel(row: DrawnRow, drawn: DrawnRows, language: str) -> list[dict[str, Any]]:
    colours = noise_colours(drawn.noise())
    return [
        {
            "label": row.label,
            "noise": sign(noise),
            "percent": round(float(share * 100), 7),
            "top": f"{round(share * 100)}" if share * 100 >= 1 else "<1",
            "share": number(f"{float(share):.6f}", language),
            "published": row.published(noise),
            "colour": colours[noise],
        }
        for noise, share in row.shares(drawn.scale).items()
    ]


def _panel_head(row: DrawnRow, scale: int, language: str) -> str:
    """Original count, variance and stay probability, as the heading of a row."""
    shares = row.shares(scale)
    _, variance = moments(shares)
    return words(language)["row_head"].format(
        label=row.label,
        variance=number(f"{float(variance):.2f}", language),
        stay=number(f"{float(shares.get(0, Fraction(0)) * 100):.1f}", language),
    )
