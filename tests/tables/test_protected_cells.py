"""Protected tables against a plain list of their cells, in all forms that they are read in."""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.errors import TableError
from discreet.tables import (
    CellStatus,
    Dimension,
    ProtectedTable,
    Provenance,
    Withheld,
    figure_dimension,
    without_unpublished,
)
from discreet.tables.dimension import Figure
from discreet.tables.protected import WITHOUT_NUMBER, Note, single_figure
from tests.helpers.rows import for_all_rows

SEX = Classification(
    name="sex",
    codes=("Total", "m", "w"),
    parents=(-1, 0, 0),
    labels={"m": {"en": "male", "de": "männlich"}, "w": {"en": "female", "de": "weiblich"}},
)
AREA = Classification(
    name="area",
    codes=("Total", "N", "N1", "N2", "S", "S1"),
    parents=(-1, 0, 1, 1, 0, 4),
    labels={"N1": {"en": "town"}, "N2": {"en": "town"}, "S": {"en": "south"}},
)
#: The number of the level of a code: 0 for the finest, 1 for the total, 2 between them.
LEVEL = {"Total": 1, "N": 2, "S": 2, "persons": 1}
ABOVE = {"N1": "N", "N2": "N", "S1": "S", "N": "Total", "S": "Total"}
FIGURES = (
    Figure(name="persons", decimals=0),
    Figure(name="rent", kind="mean", decimals=2),
    Figure(name="income", kind="sum", decimals=1),
)
REASONS = (Note("few", {"en": "few cases"}), Note("large", {"en": "one is large"}))


class Drawn:
    """A table, and what each of its cells is: status and number, by its codes."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.figures = FIGURES[: seed % 4]
        area = dataclasses.replace(AREA, found="all" if seed % 3 else "none")
        dimensions = [Dimension(classifications=(one,)) for one in (SEX, area)]
        if len(self.figures) > 1:
            dimensions.append(figure_dimension(self.figures))
        every = [*itertools.product(*(one.codes for one in dimensions))]
        parts = sorted({self.part(codes) for codes in every})
        # Of codes that are found, a level goes with the finer ones, as it is worked out from them.
        alike = {one: one.replace("2", "0") if seed % 3 else one for one in map(str, parts)}
        lost = {one for one in alike.values() if seed % 2 and draw.random() < 0.2}
        none = {one for one in alike.values() if draw.random() < 0.2}
        known = {one for one in parts if alike[str(one)] not in lost}
        hidden = {one for one in known if alike[str(one)] in none}
        self.cells: dict[tuple[str, ...], tuple[CellStatus, float | None]] = {}
        given, self.stored = {}, 0
        for codes in every:
            if self.part(codes) not in known:
                continue
            status = CellStatus(int(draw.choice([0, 0, 0, 0, 2, 3, 5, 6])))
            number = int(draw.choice([0, 0, 3, 8]))
            stated = codes[1] not in ("S", "S1") and draw.random() < 0.6
            if stated:
                given[codes] = status, number
            summed = self.figure(codes) is None or self.figure(codes).kind != "mean"
            absent = CellStatus.zero_or_changed_to_zero if summed else CellStatus.not_applicable
            if self.part(codes) in hidden:
                what = CellStatus.suppressed
            elif stated:
                zero = number == 0 and status not in WITHOUT_NUMBER
                what = CellStatus.zero_or_changed_to_zero if zero else status
                self.stored += what != absent
            else:
                what = absent
            shown = what not in WITHOUT_NUMBER
            self.cells[codes] = what, (number if stated else 0) if shown else None
        places = draw.permutation(len(given))
        rows = [list(given.items())[at] for at in places]
        blanks = [
            codes
            for codes, (what, number) in self.cells.items()
            if number is None and (codes in given or what == CellStatus.suppressed)
        ]
        self.withheld = [codes for codes in blanks if draw.random() < 0.7]
        self.reason = draw.integers(0, 3, len(self.withheld)).astype(np.int8)
        self.bounds = draw.choice([-np.inf, np.nan, 1.0, 2.5, np.inf], (2, len(self.withheld)))
        self.table = ProtectedTable(
            dimensions=tuple(dimensions),
            index=self.places(dimensions, [codes for codes, _ in rows]),
            value=np.array([number for _, (_, number) in rows]) * (1 if seed % 5 else 1.0),
            status=np.array([status for _, (status, _) in rows], dtype=np.int8),
            provenance=Provenance(version="0", method="test"),
            figures=self.figures,
            parts=frozenset(known) if seed % 2 else None,
            suppressed_parts=frozenset(hidden),
            withheld=Withheld(
                index=self.places(dimensions, self.withheld),
                reason=self.reason,
                reasons=REASONS,
                low=self.bounds[0],
                high=self.bounds[1],
                instead=True,
            ),
        )

    @staticmethod
    def part(codes: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(LEVEL.get(code, 0) for code in codes)

    def figure(self, codes: tuple[str, ...]) -> Figure | None:
        if len(self.figures) < 2:
            return self.figures[0] if self.figures else None
        return next(one for one in self.figures if one.name == codes[-1])

    @staticmethod
    def places(dimensions: Any, cells: list[tuple[str, ...]]) -> tuple[np.ndarray, ...]:
        rows = [
            [own.codes.index(code) for own, code in zip(dimensions, codes, strict=True)]
            for codes in cells
        ]
        columns = np.array(rows, dtype=np.int32).reshape(len(rows), len(dimensions)).T
        return tuple(columns)

    def note(self, codes: tuple[str, ...]) -> tuple[str | None, float | None, float | None]:
        """The reason and the bounds of a cell, as a frame has them beside hidden ones."""
        if codes not in self.withheld:
            return None, None, None
        at = self.withheld.index(codes)
        reason = None if self.reason[at] == 0 else REASONS[self.reason[at] - 1].kind
        low, high = (float(one) if math.isfinite(one) else None for one in self.bounds[:, at])
        return reason, low, high


@pytest.fixture(params=range(8))
def drawn(request: pytest.FixtureRequest) -> Drawn:
    return Drawn(request.param)


def test_every_cell_reads_as_it_is_listed(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    table = drawn.table
    names = [one.name for one in table.dimensions]
    frame = table.to_polars()
    assert frame.columns == [*names, "value", "status", "reason", "low", "high"]
    rows = frame.rows()
    assert [row[: len(names)] for row in rows] == list(drawn.cells)
    for row in rows:
        codes = row[: len(names)]
        status, number = drawn.cells[codes]
        assert row[len(names) :] == (number, status.name, *drawn.note(codes))
        assert table.get(*codes) == number
        assert table[codes] == number
        named = {name: code for name, code in zip(names, codes, strict=True) if code != "Total"}
        assert not named or table.get(**named) == number
        kind = float if table.value.dtype.kind == "f" else int
        assert not number or type(table.get(*codes)) is kind
    assert len(table) == table.stored == drawn.stored
    assert table.grid_size == math.prod(len(one.codes) for one in table.dimensions)
    stored = table.to_polars(complete=False)
    assert stored.height == drawn.stored
    assert set(stored.rows()) <= set(rows)
    for codes in itertools.product(*(one.codes for one in table.dimensions)):
        assert codes in drawn.cells or table.get(*codes) is None
    assert table.to_polars(complete=True).equals(frame)
    for limit, shown in ((table.grid_size, frame), (table.grid_size - 1, stored)):
        monkeypatch.setattr("discreet.tables.protected.COMPLETE_LIMIT", limit)
        assert table.to_polars().equals(shown)
    assert repr(table) == f"<ProtectedTable table: {' × '.join(names)}, {table.grid_size} cells>"
    assert table.to_pandas().columns.tolist() == frame.columns


def test_wide_and_labelled_frames_have_the_same_cells(drawn: Drawn) -> None:
    table = drawn.table
    for at, own in enumerate(table.dimensions):
        for labels in (None, "de") if own.name == "sex" else (None,):
            heads = own.codes if labels is None else own.labels(labels)
            wide = table.to_polars(wide=own.name, language=labels)
            others = [one.name for one in table.dimensions if one is not own]
            assert [one for one in wide.columns if not one.endswith("_label")] == [*others, *heads]
            for row in wide.to_dicts():
                for code, head in zip(own.codes, heads, strict=True):
                    codes = [row[name] for name in others]
                    codes.insert(at, code)
                    assert row[head] == drawn.cells.get(tuple(codes), (None, None))[1]
    labelled = table.to_polars(labels=True)
    german = table.to_polars(language="de")
    words = {"Total": "Total", "m": "male", "w": "female"}
    assert labelled["sex_label"].to_list() == [words[code] for code in labelled["sex"]]
    assert set(german["sex_label"]) <= {"Insgesamt", "männlich", "weiblich"}
    assert table.to_polars(labels="de").equals(german)
    assert table.to_polars(labels=True, language="de").equals(german)
    assert table.to_polars(labels=False, language="de").equals(table.to_polars())


def test_codes_without_figures_are_left_out_and_all_others_stay(drawn: Drawn) -> None:
    table, less = drawn.table, without_unpublished(drawn.table)
    figured = {
        codes[1]
        for codes, (status, number) in drawn.cells.items()
        if (number or number is None) and (codes in held(table) or status == CellStatus.suppressed)
    }
    figured |= {codes[1] for codes in held(table)}
    # Codes whose level may lie on suppressed parts are listed: that they are hidden is seen.
    levels = {part[1] for part in table.suppressed_parts}
    figured |= {code for code in AREA.codes if LEVEL.get(code, 0) in levels}
    figured |= {ABOVE[code] for code in figured if code in ABOVE}
    found = table.dimensions[1].found.any()
    listed = tuple(code for code in AREA.codes if not found or code in {"Total", *figured})
    assert less.dimensions[1].codes == listed
    assert [one.codes for one in less.dimensions[::2]] == [
        one.codes for one in table.dimensions[::2]
    ]
    rows = {row[: len(less.dimensions)]: row for row in less.to_polars().rows()}
    before = {row[: len(less.dimensions)]: row for row in table.to_polars().rows()}
    kept = {codes for codes in before if codes[1] in listed}
    assert rows == {codes: before[codes] for codes in kept}
    assert all(drawn.cells[codes][1] in (0, None) for codes in before.keys() - kept)


def held(table: ProtectedTable) -> set[tuple[str, ...]]:
    """The codes of stored cells."""
    return set(zip(*(
        [own.codes[at] for at in part.tolist()]
        for own, part in zip(table.dimensions, table.index, strict=True)
    ), strict=True))  # fmt: skip


def test_one_figure_of_several_has_the_same_numbers(drawn: Drawn) -> None:
    table = dataclasses.replace(drawn.table, parts=None, suppressed_parts=frozenset())
    assert [table.figure_decimals(at) for at in range(len(drawn.figures))] == [
        one.decimals for one in drawn.figures
    ]
    assert table.spanning == table.dimensions[:2]
    assert table.title("en") == "sex by area"
    assert table.title("de") == "sex nach area"
    headed = dataclasses.replace(table, titles={"de": "Personen"})
    assert headed.title("en") == headed.title("de") == "Personen"
    if len(drawn.figures) < 2:
        assert not table.several_figures
        return
    for at, figure in enumerate(drawn.figures):
        own = single_figure(table, at)
        assert own.decimals == own.figure_decimals() == figure.decimals
        assert own.figures == (figure,)
        assert own.withheld is None
        for codes in itertools.product(*(one.codes for one in table.spanning)):
            assert own.get(*codes) == table.get(*codes, figure.name)


def test_intervals_stand_in_the_place_of_cells_only_if_this_is_wanted(drawn: Drawn) -> None:
    table, marks = drawn.table, drawn.table.withheld
    assert marks is not None
    index = table.cells()[0]
    printed = marks.printed(table.dimensions, index, len(drawn.cells))
    assert printed is not None
    for column, bound in zip(printed, drawn.bounds, strict=True):
        of = dict(zip(drawn.withheld, bound.tolist(), strict=True))
        expected = [of.get(codes, math.nan) for codes in drawn.cells]
        assert np.array_equal(column, expected, equal_nan=True)
    for change in ({"instead": False}, {"low": None, "high": None}):
        other = dataclasses.replace(marks, **change)
        assert other.printed(table.dimensions, index, len(drawn.cells)) is None
    shown = np.ones(len(drawn.cells), dtype=np.bool_)
    beside = marks.beside(table.dimensions, index, shown)
    assert all(column.null_count() == len(shown) for column in beside.values())
    bare = dataclasses.replace(marks, low=None, high=None)
    assert bare.columns == ("reason",)
    assert marks.columns == ("reason", "low", "high")
    assert dataclasses.replace(table, withheld=bare).to_polars().columns[-1] != "high"
    assert len(marks) == len(drawn.withheld)
    assert repr(marks) == f"<Withheld: {len(drawn.withheld)} cells>"


def wrong_columns() -> Iterator[dict[str, Any]]:
    one, two = np.zeros(1), np.zeros(2)
    yield {"reason": two}
    yield {"index": (one, two)}
    yield {"low": two, "high": two}
    yield {"low": one}
    yield {"high": one}


@for_all_rows("change", list(wrong_columns()))
def test_columns_of_suppressed_cells_fit_together(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"index": (np.zeros(1),), "reason": np.zeros(1)}
    assert len(Withheld(**good)) == 1
    assert not Withheld(**good).instead
    with pytest.raises(TableError, match="differ in length"):
        Withheld(**{**good, **change})


def test_tables_that_do_not_fit_together_are_refused() -> None:
    table = Drawn(3).table
    one = np.zeros(1, dtype=np.int64)
    for change in (
        {"value": one},
        {"status": one},
        {"index": (one, one, one)},
        {"index": (one, *table.index[1:])},
    ):
        with pytest.raises(TableError, match="differ in length"):
            dataclasses.replace(table, **change)
    named = Dimension(classifications=table.dimensions[-1].classifications, name="other")
    for changed in (
        {"figures": FIGURES[:2]},
        {"figures": FIGURES[::-1]},
        {"dimensions": (*table.dimensions[:2], named)},
        {"dimensions": (), "index": (), "value": one, "status": one},
    ):
        with pytest.raises(TableError, match="must be that of the figures"):
            dataclasses.replace(table, **changed)
    assert dataclasses.replace(table, figures=FIGURES[:1]).spanning == table.dimensions


@for_all_rows(
    ("codes", "named", "message"),
    [
        (("m", "N"), {"sex": "m"}, "not both"),
        ((), {"size": "m"}, "variable 'size' not found"),
        ((), {"sex": "m"}, "several figures"),
        (("m", "N"), {}, "expected 3 codes, got 2"),
        ((), {}, "expected 3 codes, got 0"),
        (("m", "town", "rent"), {}, "several codes have the label 'town'"),
        (("f", "East", "rent"), {}, "2 codes do not exist"),
        (("total", "N", "rent"), {}, "closest match: 'Total'"),
    ],
)
def test_cells_that_are_not_named_clearly_are_refused(codes: Any, named: Any, message: str) -> None:
    with pytest.raises(TableError, match=message) as refusal:
        Drawn(3).table.get(*codes, **named)
    assert refusal.value.code == "cell"


def test_cells_are_named_by_labels_in_any_language_too() -> None:
    table = Drawn(4).table
    for labels, codes in (
        (("weiblich", "south"), ("w", "S")),
        (("male", "N1"), ("m", "N1")),
        (("Insgesamt", "N"), ("Total", "N")),
    ):
        assert table.get(*labels) == table.get(*codes)
        assert table[labels] == table[codes]
    with pytest.raises(TableError, match="two columns the same name"):
        table.to_polars(wide="area", labels=True)
    with pytest.raises(TableError, match="variable 'size' not found"):
        table.to_polars(wide="size")
    with pytest.raises(TableError, match="in 'de' and in 'en'"):
        table.to_polars(labels="de", language="en")
