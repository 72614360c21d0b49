"""A table with its hidden cells by kind, in rows and columns.

In: a table to publish, or the suppression that made it (the picture is SECRET then). Out: a
`Picture`. Values are those of published cells only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.assessment.pictures.cell_kinds import (
    KIND_STYLES,
    KINDS,
    CellKinds,
    ChosenCodes,
    choose,
    label_width,
    legend_beside,
    line_labels,
    named,
    place_of,
    printed_value,
    shortened_label,
)
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import hidden_words, words
from discreet.errors import PublicationError
from discreet.tables import Dimension, ProtectedTable

if TYPE_CHECKING:
    from discreet.protection.suppression import Suppression

_MOST_ROWS, _MOST_COLUMNS = 40, 24
_WIDEST = 1_000  # pixels of all columns
_WIDE_ENOUGH, _SPARE = 90, 8  # pixels: of a column for its label, and around a label
_WITHOUT_VALUE = ("zero", "primary", "secondary", "hidden", "none", "absent")


def hidden_cells(
    table: ProtectedTable | Suppression,
    *,
    rows: str | None = None,
    columns: str | None = None,
    at: Mapping[str, str] | None = None,
    under: Mapping[str, str] | None = None,
    which: str | None = None,
    figure: str | None = None,
    language: str = "en",
) -> Picture:
    """Draw a table, its hidden cells marked by colour and sign.

    Of a table to publish, the picture shows what the table tells: primary and secondary
    cells are told apart only if reasons are published. Of a `Suppression` they always are,
    and the picture is SECRET. Values of hidden cells are never shown.

    Args:
        table: The table, or what `Suppression.of` did.
        rows: The variable down the side; the first one if None.
        columns: The variable along the top; the next one if None.
        at: Codes of the other variables; their totals if not named.
        under: Code of a variable that is shown; only it and the codes below it are.
        which: Name of the table, if several were suppressed together.
        figure: Which figure, if the table has several; the first if None.
        language: "en" or "de".

    >>> from discreet.classifications import Classification
    >>> from discreet.publication.examples import census_example
    >>> hidden_cells(census_example())
    <Picture hidden_cells>
    """
    words(language)
    looked = CellKinds.of(table, which, figure)
    grid = _Grid.of(looked, (rows, columns), at or {}, under or {}, language)
    records = grid.records(language)
    text = looked.table
    title = text.title(language)
    warning = "confidential_cells" if looked.secret else ""
    kinds = {record["kind"] for record in records}
    body = {
        "hconcat": [_matrix(grid, records, language), legend_beside(kinds, language)],
        "spacing": 24,
    }
    notes = [looked.figure_note(language), *grid.notes(language)]
    description = composed(body, title=title, notes=notes, language=language, warning=warning)
    return Picture("hidden_cells", title, language, description, looked.secret)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Side:
    """The codes down the side or along the top."""

    place: int | None
    title: str
    chosen: ChosenCodes
    labels: list[str]
    steps: list[int]

    @classmethod
    def of(
        cls, dimension: Dimension | None, place: int | None, most: int, under: int, language: str
    ) -> _Side:
        """As many codes of a variable as fit."""
        if dimension is None:
            only = ChosenCodes(codes=np.zeros(1, dtype=np.int64), all=1)
            return cls(place=None, title="", chosen=only, labels=[" "], steps=[0])
        chosen = choose(dimension, most, under)
        levels = dimension.levels[chosen.codes]
        return cls(
            place=place,
            title=dimension.title(language),
            chosen=chosen,
            labels=named(dimension, chosen, language),
            steps=(levels - levels.min()).tolist(),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Grid:
    """The cells of a picture: two sides, and the codes of all other variables."""

    looked: CellKinds
    rows: _Side
    columns: _Side
    fixed: Mapping[int, int]

    @classmethod
    def of(
        cls,
        looked: CellKinds,
        asked: tuple[str | None, str | None],
        at: Mapping[str, str],
        under: Mapping[str, str],
        language: str,
    ) -> _Grid:
        dimensions = looked.dimensions
        places = {dimension.name: place for place, dimension in enumerate(dimensions)}
        for name in (*(item for item in asked if item is not None), *at, *under):
            if name not in places:
                raise _wrong(f"no variable {name!r} spans the table", ", ".join(places) or "none")
        shown = _shown(list(places), asked)
        for name in (*(set(at) & set(shown)), *(set(under) - set(shown))):
            hint = "at names codes of variables that are not shown, under of those that are"
            raise _wrong(f"{name!r} is in the wrong place", hint)
        fixed = {
            place: place_of(dimensions[place], at[name]) if name in at else 0
            for name, place in places.items()
            if name not in shown
        }
        most = (_MOST_ROWS, max(4, min(_MOST_COLUMNS, _WIDEST // _step(looked, language))))
        sides = []
        for side in range(2):
            place = places[shown[side]] if side < len(shown) else None
            dimension = None if place is None else dimensions[place]
            top = 0
            if dimension is not None and dimension.name in under:
                top = place_of(dimension, under[dimension.name])
            sides.append(_Side.of(dimension, place, most[side], top, language))
        return cls(looked=looked, rows=sides[0], columns=sides[1], fixed=fixed)

    def records(self, language: str) -> list[dict[str, Any]]:
        """One record for each cell of the picture."""
        table, text = self.looked.table, hidden_words(language)
        wide = len(self.columns.labels)
        index = self.looked.places(
            (self.rows.place, self.rows.chosen.codes),
            (self.columns.place, self.columns.chosen.codes),
            self.fixed,
        )
        kind, value = self.looked.filled(index)
        known = table.known(index, len(kind))
        decimals = table.figure_decimals(self.looked.figure)
        records = []
        for at in range(len(kind)):
            name = KINDS[kind[at]] if known[at] else "absent"
            look = KIND_STYLES[name]
            printed = ""
            if name not in _WITHOUT_VALUE:
                printed = printed_value(float(value[at]), language, decimals, name)
            records.append(
                {
                    "line": str(at // wide),
                    "row": self.rows.labels[at // wide],
                    "column": self.columns.labels[at % wide],
                    "kind": name,
                    "means": text[name],
                    "text": look.sign or printed,
                    "fill": look.fill,
                    "ink": look.ink,
                }
            )
        return records

    def notes(self, language: str) -> list[str]:
        """Which codes are shown, and which cells of the other variables."""
        dimensions, notes = self.looked.dimensions, []
        for place, code in self.fixed.items():
            label = dimensions[place].labels(language)[code]
            notes.append(f"{dimensions[place].title(language)}: {shortened_label(label)}")
        sides = (self.rows, self.columns)
        return [*notes, *(side.chosen.note(side.title, language) for side in sides)]


def _wrong(message: str, hint: str) -> PublicationError:
    return PublicationError(message, code="picture", where="hidden_cells", hint=hint)


def _shown(names: list[str], axes: tuple[str | None, str | None]) -> list[str]:
    """The variables in rows and in columns: those named, else the first ones."""
    rows, columns = axes
    if rows is not None and rows == columns:
        raise _wrong("rows and columns are the same variable", "name two")
    rest = [name for name in names if name not in (rows, columns)]
    if rows is None and rest:
        rows = rest.pop(0)
    if columns is None and rest:
        columns = rest.pop(0)
    return [name for name in (rows, columns) if name is not None]


def _step(looked: CellKinds, language: str) -> int:
    """Pixels of a column: enough for the longest value of the table."""
    longest = 3
    if looked.table.stored:
        value = np.asarray(looked.table.value, dtype=np.float64)
        decimals = looked.table.figure_decimals(looked.figure)
        ends = (float(value.min()), float(value.max()))
        longest = max(len(printed_value(end, language, 0, "bracketed")) for end in ends)
        longest += decimals + bool(decimals)
    return max(34, 7 * longest + 6)


def _matrix(grid: _Grid, records: list[dict[str, Any]], language: str) -> dict[str, Any]:
    text = hidden_words(language)
    columns = grid.columns.labels
    step, needed = _step(grid.looked, language), label_width(columns)
    if needed <= _WIDE_ENOUGH and needed * len(columns) <= _WIDEST:
        step = max(step, needed)
    turned = needed > step + _SPARE
    shown = [("row", grid.rows.title), ("column", grid.columns.title)]
    shown += [("means", text["kind"]), ("text", text["value"])]
    top = {
        "title": grid.columns.title or None,
        "orient": "top",
        "ticks": False,
        "domain": False,
        "labelAngle": -90 if turned else 0,
        "labelLimit": needed + 40,
        "labelOverlap": False,
        **({"labelAlign": "left"} if turned else {}),
    }
    places = [str(at) for at in range(len(grid.rows.labels))]
    labels = line_labels(places, grid.rows.labels, grid.rows.steps, grid.rows.title)
    along = {"field": "line", "type": "nominal", "sort": places, "axis": None}
    return {
        "width": {"step": step},
        "height": {"step": 24},
        "data": {"values": records},
        "encoding": {
            "x": {"field": "column", "type": "nominal", "sort": columns, "axis": top},
            "y": {**along, "scale": {"domain": places, "padding": 0}},
        },
        "layer": [*labels, *_squares(shown)],
    }


def _squares(shown: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "mark": {"type": "rect", "stroke": "#8a8a8a", "strokeWidth": 0.8},
            "encoding": {
                "fill": {"field": "fill", "type": "nominal", "scale": None},
                "tooltip": [{"field": field, "title": title} for field, title in shown if title],
            },
        },
        {
            "mark": {"type": "text", "fontSize": 11, "tooltip": False},
            "encoding": {
                "text": {"field": "text"},
                "color": {"field": "ink", "type": "nominal", "scale": None},
            },
        },
    ]
