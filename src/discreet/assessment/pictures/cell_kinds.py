"""The kinds of cells of a table, how each looks, and which codes fit on a picture.

In: a table to publish, or the `Suppression` that made it. Out: positions, values and kinds of
cells; colour, sign and ink of each kind, to be told apart in grey as well; whole levels of
codes as far as there is room, with their labels. SECRET if made of a suppression, whose
sensitive cells are known then. No hidden value is known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray, PositionArray, SmallIntArray
from discreet.assessment.figure_pairs import published_at
from discreet.assessment.pictures.picture import (
    INK,
    MUTED,
    spec,
    words,
)
from discreet.assessment.words import number
from discreet.errors import PublicationError
from discreet.tables import WITHOUT_NUMBER, CellStatus, Dimension, Note, ProtectedTable, Withheld

if TYPE_CHECKING:
    from discreet.protection.suppression import Suppression

#: Pixels by which a label is set in for each level.
STEP = 12

_LONGEST = 46
# Pixels of a letter; in short labels capitals count more.
_SHORT, _WIDE_SIGN, _SIGN = 18, 6.6, 5.4


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenCodes:
    """Codes of a variable to be shown."""

    codes: IntArray  # their positions, in tree order
    all: int  # number of codes there are to choose from

    def note(self, title: str, language: str) -> str:
        """The number of codes shown of a variable; empty if all are shown."""
        if len(self.codes) == self.all:
            return ""
        shown, every = (number(count, language) for count in (len(self.codes), self.all))
        return words(language, "hidden")["some_codes"].format(title=title, shown=shown, all=every)


def choose(dimension: Dimension, most: int, under: int = 0) -> ChosenCodes:
    """The codes to show: as many whole levels as fit, or the first codes of the first level.

    None but the code at position `under`, and those below it, are shown.

    >>> from discreet.classifications import Classification
    >>> place = Classification.from_prefixes("place", ["11", "12", "21", "22"], [1, 2])
    >>> place = Dimension(classifications=(place,))
    >>> [place.codes[at] for at in choose(place, 5).codes]
    ['Total', '1', '2']
    >>> choose(place, 5, under=place.index["1"]).codes.tolist()
    [1, 2, 3]
    """
    below = np.zeros(len(dimension), dtype=np.bool_)
    below[under] = True
    for at in range(under + 1, len(dimension)):
        below[at] = below[dimension.parents[at]]
    codes = np.flatnonzero(below).astype(np.int64)
    levels = dimension.levels[codes]
    fitting = codes
    for level in sorted(set(levels.tolist()), reverse=True):
        fitting = codes[levels <= level]
        if len(fitting) <= most:
            break
    if len(fitting) < 2 <= len(codes) or len(fitting) > most:
        first = next((n for n in sorted(set(levels.tolist())) if (levels <= n).sum() > 1), 0)
        fitting = codes[levels <= first][:most]
    return ChosenCodes(codes=fitting, all=len(codes))


def named(dimension: Dimension, chosen: ChosenCodes, language: str) -> list[str]:
    """The labels of codes, shortened; equal ones with their codes.

    >>> from discreet.classifications import Classification
    >>> labels = {"1": {"en": "Other"}, "2": {"en": "Other"}}
    >>> place = Dimension(classifications=(Classification.flat("p", ["1", "2"], labels=labels),))
    >>> named(place, choose(place, 9), "en")
    ['Total', 'Other (1)', 'Other (2)']
    """
    labels = dimension.labels(language)
    short = [shortened_label(labels[at]) for at in chosen.codes]
    often = Counter(short)
    return [
        label if often[label] == 1 else f"{label} ({dimension.codes[at]})"
        for label, at in zip(short, chosen.codes, strict=True)
    ]


def shortened_label(label: str, longest: int = _LONGEST) -> str:
    """A label that fits: the end of a long one is left out.

    >>> shortened_label("Wholesale trade", 10)
    'Wholesale…'
    """
    if len(label) <= longest:
        return label
    return label[: longest - 1].rstrip() + "…"


def label_width(labels: Sequence[str], levels: Sequence[int] | None = None) -> int:
    """About how many pixels the longest label takes."""
    steps = levels or [0] * len(labels)
    widths = [
        min(len(label), _SHORT) * _WIDE_SIGN + max(len(label) - _SHORT, 0) * _SIGN + at * STEP
        for label, at in zip(labels, steps, strict=True)
    ]
    return round(max(widths, default=0)) + 10


class KindStyle(NamedTuple):
    """Style of a kind of cell; without a sign if its value is printed."""

    fill: str
    sign: str
    ink: str


#: Every sign is one of its own, and lightness alone orders primary, secondary and shown.
KIND_STYLES: Mapping[str, KindStyle] = {
    "primary": KindStyle("#12366b", "●", "#ffffff"),
    "secondary": KindStyle("#9cc3e6", "○", INK),
    "hidden": KindStyle("#6b6b6b", "■", "#ffffff"),
    "shown": KindStyle("#ffffff", "", INK),
    "bracketed": KindStyle("#ffffff", "", INK),
    "official": KindStyle("#ffffff", "", INK),
    "zero": KindStyle("#ffffff", "–", MUTED),
    "none": KindStyle("#ffffff", "x", MUTED),
    "absent": KindStyle("#e4e4e4", "", INK),
}

_SAMPLES: Mapping[str, str] = {"shown": "123", "bracketed": "(123)"}


def legend_beside(kinds: Iterable[str], language: str) -> dict[str, Any]:
    """Legend of colours and signs, one below the other."""
    text = words(language, "hidden")
    drawn = {"shown" if kind == "official" else kind for kind in kinds}
    listed = [kind for kind in KIND_STYLES if kind in drawn]
    records = [
        {
            "kind": kind,
            "fill": KIND_STYLES[kind].fill,
            "ink": KIND_STYLES[kind].ink,
            "sign": KIND_STYLES[kind].sign or _SAMPLES.get(kind, ""),
            "text": text[kind],
        }
        for kind in listed
    ]
    legend: dict[str, Any] = spec("legend", records=records, kinds=listed)
    return legend


def line_labels(
    places: Sequence[str],
    labels: Sequence[str],
    levels: Sequence[int],
    title: str = "",
    strong: Sequence[bool] = (),
) -> list[dict[str, Any]]:
    """Labels left of lines, set in by level, as texts of their own: axes would not set in."""
    width, bold = label_width(labels, levels), strong or [False] * len(places)
    records: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    for place, label, step, heavy in zip(places, labels, levels, bold, strict=True):
        own = {"line": place, "label": label, "step": step, "bold": heavy}
        records.setdefault((step, heavy), []).append(own)
    layers = [
        spec(
            "line_labels",
            records=values,
            x=step * STEP - width,
            weight="bold" if heavy else "normal",
        )
        for (step, heavy), values in sorted(records.items())
    ]
    return [*layers, *([spec("line_head", title=title, x=-width)] if title else [])]


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """The codes down the side of a picture, or along its top."""

    place: int | None = None  # which variable; None for none
    title: str = ""
    chosen: ChosenCodes = field(
        default_factory=lambda: ChosenCodes(codes=np.zeros(1, dtype=np.int64), all=1)
    )
    labels: Sequence[str] = (" ",)
    steps: Sequence[int] = (0,)  # how many steps each label is set in

    @classmethod
    def of(cls, dimension: Dimension, place: int, chosen: ChosenCodes, language: str) -> Side:
        """Codes of a variable."""
        levels = dimension.levels[chosen.codes]
        return cls(
            place=place,
            title=dimension.title(language),
            chosen=chosen,
            labels=named(dimension, chosen, language),
            steps=(levels - levels.min()).tolist(),
        )


#: What a cell can be; positions are its numbers.
KINDS = ("shown", "zero", "hidden", "bracketed", "official", "none", "primary", "secondary")
#: Those without a value, in the order in which they are drawn.
HIDDEN = ("primary", "secondary", "hidden")

_WITHOUT_VALUE = ("zero", *HIDDEN, "none", "absent")
_PRIMARY, _SECONDARY = KINDS.index("primary"), KINDS.index("secondary")
_SUPPRESSED = int(CellStatus.suppressed)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellKinds:
    """A table as far as a picture may know it."""

    table: ProtectedTable  # the table; why its cells are hidden is in it, if that may be known
    figure: int = 0  # which of its figures is looked at
    secret: bool = False  # whether more is known than the published table tells

    @classmethod
    def of(
        cls,
        table: ProtectedTable | Suppression,
        which: str | None = None,
        figure: str | None = None,
    ) -> CellKinds:
        """Look at a table, or at one of those that were suppressed together."""
        if isinstance(table, ProtectedTable):
            kinds = cls(table=table)
        else:
            from discreet.protection.suppression import Suppression

            if not isinstance(table, Suppression):
                raise _wrong(
                    "not a protected table or a suppression",
                    "table",
                    "give the result of discreet.suppress or Suppression.of",
                )
            names = [item.name for item in table.tables]
            if names.count(which or "") != 1 and not (which is None and len(names) == 1):
                message = f"there is not exactly one table {which!r}"
                message = "name one of the tables" if which is None else message
                raise _wrong(message, "which", f"tables: {', '.join(names)}")
            kinds = cls(table=_told(table, 0 if which is None else names.index(which)), secret=True)
        figures = [item.name for item in kinds.table.figures]
        if figure is not None and figure not in figures:
            hint = f"figures: {', '.join(figures)}" if figures else "the table has counts only"
            raise _wrong(f"figure {figure!r} not found", "figure", hint)
        return replace(kinds, figure=0 if figure is None else figures.index(figure))

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The spanning variables."""
        return self.table.spanning

    @property
    def told(self) -> bool:
        """Whether primary and secondary cells are told apart."""
        return self.table.withheld is not None and bool(self.table.withheld.reasons)

    @cached_property
    def cells(self) -> tuple[tuple[PositionArray, ...], npt.NDArray[Any], SmallIntArray]:
        """Positions, values and kinds of all cells that are not zero."""
        table = self.table
        index, value, status = table.cells(complete=bool(table.suppressed_parts))
        without = set(WITHOUT_NUMBER) - {CellStatus.suppressed}
        keep = ~np.isin(status, [CellStatus.zero_or_changed_to_zero, *without])
        if table.several_figures:
            keep &= index[-1] == self.figure
        index = tuple(part[keep] for part in index)
        kind = self.kinds(index, status[keep])
        return index[: len(self.dimensions)], value[keep], kind

    def kinds(self, index: tuple[PositionArray, ...], status: SmallIntArray) -> SmallIntArray:
        """The kind of cells of the table."""
        kind = status.astype(np.int8)
        withheld = self.table.withheld
        hidden = kind == _SUPPRESSED
        if withheld is not None and hidden.any():
            reason = withheld.beside(self.table.dimensions, index, ~hidden)["reason"]
            values = reason.is_not_null().to_numpy()
            second = (reason == "secondary").fill_null(False).to_numpy()
            kind[hidden & values] = _PRIMARY
            kind[hidden & second] = _SECONDARY
        return kind

    def shown(
        self, rows: Side, columns: Side, fixed: Mapping[int, int], language: str
    ) -> list[dict[str, Any]]:
        """Each cell of a picture, row by row: labels, kind, value and what is printed.

        What is not stored is zero, or as the table says; hidden cells have no value.
        """
        table = self.table
        codes = np.meshgrid(rows.chosen.codes, columns.chosen.codes, indexing="ij")
        down, along = (part.reshape(-1) for part in codes)
        size = len(down)
        sides = {rows.place: down, columns.place: along}
        others = dict(fixed)
        if table.several_figures:
            others[len(self.dimensions)] = self.figure
        index = tuple(
            sides.get(place, np.full(size, others.get(place, 0))).astype(np.int32)
            for place in range(len(table.dimensions))
        )
        value, status = published_at(table, index, size)
        known, kinds = table.known(index, size), self.kinds(index, status)
        decimals, wide = table.figure_decimals(self.figure), len(columns.labels)
        records: list[dict[str, Any]] = []
        for at, own in enumerate(value.astype(np.float64).tolist()):
            kind = KINDS[kinds[at]] if known[at] else "absent"
            has, sign = kind not in _WITHOUT_VALUE, KIND_STYLES[kind].sign
            records.append(
                {
                    "row": rows.labels[at // wide],
                    "column": columns.labels[at % wide],
                    "value": own if has else 0.0 if kind == "zero" else None,
                    "text": printed_value(own, language, decimals, kind) if has else sign,
                    "kind": kind,
                }
            )
        return records

    def side_notes(
        self, rows: Side, columns: Side, fixed: Mapping[int, int], language: str
    ) -> list[str]:
        """Which cells of the other variables are shown, and how many codes of these."""
        notes = []
        for place, dimension in enumerate(self.dimensions):
            if place not in (rows.place, columns.place):
                label = dimension.labels(language)[fixed.get(place, 0)]
                notes.append(f"{dimension.title(language)}: {shortened_label(label)}")
        return [*notes, *(side.chosen.note(side.title, language) for side in (rows, columns))]

    def figure_note(self, language: str) -> str:
        """Title and unit of the figure; empty for counts."""
        figures = self.table.figures
        if not figures:
            return ""
        figure = figures[self.figure]
        unit = figure.unit_text(language)
        return f"{figure.title(language)} ({unit})" if unit else figure.title(language)


def printed_value(value: float, language: str, decimals: int, kind: str) -> str:
    """A value as printed, in brackets where it is limited.

    >>> printed_value(-1234.5, "en", 1, "bracketed")
    '(−1,234.5)'
    """
    text = number(value, language, decimals).replace("-", "−")
    return f"({text})" if kind == "bracketed" else text


def place_of(dimension: Dimension, code: str) -> int:
    """The position of a code that someone named."""
    if code not in dimension.index:
        raise _wrong(f"code {code!r} not found", dimension.name, "name a code of the variable")
    return dimension.index[code]


def _wrong(message: str, where: str, hint: str) -> PublicationError:
    return PublicationError(message, code="picture", where=where, hint=hint)


def _told(done: Suppression, at: int) -> ProtectedTable:
    """A table that tells primary from secondary cells, whatever is published of that."""
    source, published = done.sources[at][0], done.tables[at]
    blank = done.members.hidden(done.pattern.hidden[: len(done.reason)], at)
    primary = done.members.hidden(done.reason > 0, at)
    notes: Mapping[str, str] = {}
    withheld = Withheld(
        index=tuple(part[blank] for part in source.index),
        reason=np.where(primary[blank], 1, 2).astype(np.int8),
        reasons=(Note("primary", notes), Note("secondary", notes)),
    )
    return replace(published, withheld=withheld)
