"""Mistakes in figures, magnitudes, parts, notes and packages: all are listed, with line and key."""

from pathlib import Path

import pytest

from discreet.errors import ProgrammeError, TableError
from discreet.protection.noise import design_magnitude_perturbation
from discreet.release import check_release, open_inputs, protect, read_programme
from discreet.release.programme.file import _drop
from tests.helpers.programmes import replaced
from tests.helpers.rows import for_all_rows
from tests.release.conftest import FIGURES


def mistakes(path: Path, *changes: tuple[str, str], text: str = "") -> list[str]:
    text = text or path.read_text("utf-8")
    path.write_text(replaced(text, *changes, times=1), encoding="utf-8")
    with pytest.raises(ProgrammeError) as caught:
        check_release(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_programme_of_figures_in_order(figures: Path) -> None:
    read = read_programme(figures)
    assert list(read.tables["rents"].figures)[:3] == ["all", "rented", "vacant"]
    assert check_release(figures).magnitudes["rent"].epsilon == [1, 0.5]


ONE = [
    # figures
    ('kind = "mean", of = "rent", dec', 'kind = "means", of = "rent", dec', "rent.kind", "known: "),
    ('kind = "mean", of = "rent", dec', 'of = "rent", dec', "rent.kind", "kind is missing"),
    ('total = { kind = "sum", of = "rent" }', 'total = { kind = "sum" }', "total.of", "of is miss"),
    (
        'total = { kind = "sum", of = "rent"',
        'total = { kind = "sum", of = "rnt"',
        "total.of",
        "'rent'",
    ),
    (
        'part = "vacant", whole = "all", dec',
        'part = "vacnt", whole = "all", dec',
        "part",
        "'vacant'",
    ),
    (
        'part = "vacant", whole = "all", dec',
        'part = "growth", whole = "all", dec',
        "vacancy.part",
        "is derived from other figures",
    ),
    ('part = "all", over = ["year"]', 'part = "all"', "structure.whole", "needs whole or over"),
    (
        'over = ["year"]',
        'over = ["yeer"]',
        "structure.over",
        "'yeer' is not a spanning variable of the table",
    ),
    (
        'base = { year = "2015" }',
        'base = { yeer = "2015" }',
        "price.base",
        "'yeer' is not a spanning variable of the table",
    ),
    ('base = { year = "2015" }', 'base = { year = "2014" }', "price.base", "no code '2014'"),
    ('kind = "balance", part', 'kind = "balance", of = "rent", part', "surplus.of", "not allowed"),
    ('kind = "ratio", part', 'kind = "ratio", factor = "x", part', "density.factor", "a number"),
    ('of = "persons" }', 'of = "persons", bracket_above = -0.1 }', "bracket_above", "at least 0"),
    ("decimals = 2, unit", "decimals = -2, unit", "rent.decimals", "at least 0"),
    ("decimals = 2, unit", "decimals = 99, unit", "rent.decimals", "at most 15"),
    ("where = \"tenure == 'rented'\" }", 'where = "tenure ==" }', "rented.where", "the filter"),
    ("where = \"tenure == 'rented'\" }", 'where = "tenur == 1" }', "rented.where", "'tenur'"),
    ("bracket_above = 0.15", "bracket_above = -1", "figures.bracket_above", "at least 0"),
    ("bracket_above = 0.15", "bracket_abov = 1", "figures.bracket_abov", "'bracket_above'"),
    # magnitudes
    ('table = "rent.csv"\nof', 'table = "rnt.csv"\nof', "rent.table", "not found"),
    (
        'table = "rent.csv"\nof',
        "of",
        "magnitudes.rent.table",
        "table is missing",
    ),
    ("top = 2", "top = 3", "magnitudes.rent.epsilon", "expected 3 numbers"),
    ("top = 2", "top = 17", "magnitudes.rent.top", "at most 16"),
    ('of = "top"', 'of = "tops"', "magnitudes.rent.of", "known: top, mean, range, sum"),
    (
        'of = "top"',
        'of = "mean"',
        "magnitudes.rent.top",
        'this needs of = "top"',
    ),
    (
        "[1, 0.5]",
        "[0.5, 1]",
        "magnitudes.rent.epsilon",
        "epsilon must start with 1, not increase and stay above 0",
    ),
    ("share = 0.1", "share = -0.1", "magnitudes.persons", "share"),
    ("share = 0.1", "point = 3", "persons.strength.share", "share is missing"),
    ("share = 0.1", "share = 0.1, large = 1", "persons.strength.large", "this needs flex"),
    ('kind = "simple", share', "share", "persons.strength.kind", "kind is missing"),
    ("large = 0.03, ", "", "rent.strength.large", "large is missing"),
    ('publish = "means"', 'publish = "median"', "rent.publish", "known: means, sums"),
    ("[magnitudes.persons]", "[magnitudes.person]", "persons.of", "no noise for 'persons'"),
    # parts, notes and the rest
    ("min_average_size = 60", "min_average_siz = 60", "min_average_siz", "'min_average_size'"),
    ("min_average_size = 60", "min_average_size = -1", "parts.min_average_size", "at least 0"),
    ("min_average_size = 60", 'universe = "some"', "parts.universe", "known: all, none"),
    ("min_average_size = 60", "min_cells = 4", "tables.thinned.parts", "no threshold given"),
    (
        'cells = { region = "11" }',
        'cells = { regon = "11" }',
        "cells.regon",
        "is not a spanning variable of the table",
    ),
    ('cells = { region = "11" }', 'cells = { figure = "no" }', "cells.figure", "not found"),
    ('cells = { region = "11" }', "cells = { region = 11 }", "cells.region", "a text"),
    ('text = { en = "Boundary changed in 2015.", ', "text = { ", "notes[0].text", "English"),
    ('workbook = "tables.xlsx"', 'workbook = "out/tables.xlsx"', "workbook", "cannot be the name"),
    ('workbook = "tables.xlsx"', 'workbook = "plain.xlsx"', "workbook", "a table has this name"),
    ('formats = ["csv", "json"]', 'formats = ["jsonstat"]', "formats[0]", "json-stat"),
    ("[tables.plain]", "[quality]\ninternl = 'x'\n[tables.plain]", "quality.internl", "internal"),
    ("[tables.plain]", "[tables.quality]", "tables.quality", "is already in use"),
    ('cells = { region = "11" }', 'cells = { region = "99" }', "cells.region", "no code '99'"),
]


@for_all_rows(("old", "new", "key", "what"), ONE)
def test_one_mistake_is_named(figures: Path, old: str, new: str, key: str, what: str) -> None:
    found = mistakes(figures, (old, new), text=FIGURES)
    assert any(key in text and what in text for text in found), found
    assert len(found) <= 2, found


def test_all_mistakes_are_listed_at_once(figures: Path, tmp_path: Path) -> None:
    found = mistakes(
        figures,
        ('of = "rent", decimals', 'of = "rents", decimals'),
        ("top = 2", "top = 3"),
        ("min_average_size = 60", "min_average_size = -1"),
        ('cells = { region = "11" }', 'cells = { regon = "11" }'),
        ('whole = "all", decimals = 1', 'whole = "alle", decimals = 1'),
    )
    assert [text.partition(":")[0].partition(", ")[2] for text in found] == [
        "magnitudes.rent.epsilon",
        "tables.rents.figures.rent.of",
        "tables.rents.figures.vacancy.whole",
        "tables.rents.notes[0].cells.regon",
        "tables.thinned.parts.min_average_size",
    ]
    with pytest.raises(ProgrammeError):
        protect(figures, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_columns_that_the_data_lack(figures: Path) -> None:
    text = figures.read_text("utf-8").replace("persons", "person")
    figures.write_text(text, encoding="utf-8")
    found = mistakes(figures)
    assert any("the data have no column 'person'" in text for text in found)
    found = mistakes(
        figures,
        ('of = "person" }', 'of = "tenure" }'),
        ("[magnitudes.person]", "[magnitudes.tenure]"),
    )
    assert any("'tenure' is not a number" in text for text in found)


def test_noise_of_magnitudes_for_no_column(figures: Path) -> None:
    other = '[magnitudes.costs]\ntable = "rent.csv"\nstrength = { kind = "simple", share = 0.1 }\n'
    (found,) = mistakes(figures, ("[magnitudes.persons]", f"{other}[magnitudes.persons]"))
    assert "magnitudes.costs: the data have no column 'costs'" in found


def test_the_table_of_the_counts_is_none_for_magnitudes(figures: Path) -> None:
    found = mistakes(figures, ('table = "rent.csv"\nof', 'table = "ptable.json"\nof'))
    assert any("is the perturbation table of the counts" in text for text in found)


def test_a_part_larger_than_its_whole_is_named_with_its_line(figures: Path, tmp_path: Path) -> None:
    text = figures.read_text("utf-8")
    text = text.replace(
        'part = "vacant", whole = "all", dec', 'part = "all", whole = "rented", dec'
    )
    figures.write_text(text, encoding="utf-8")
    line = next(n for n, row in enumerate(text.split("\n"), 1) if row.startswith("vacancy"))
    with pytest.raises(
        TableError, match="the part of the share is larger than the whole"
    ) as caught:
        protect(figures, tmp_path / "out")
    assert f"figures.toml, line {line}, tables.rents.figures.vacancy" in str(caught.value)
    assert not list((tmp_path / "out").glob("*.csv"))


def test_doubtful_noise_is_worth_a_warning(figures: Path) -> None:
    said = open_inputs(figures).warnings
    assert [text.partition(":")[0] for text in said] == [
        "decimals of the weighted values of weighted disclose the number of records"
    ]
    text = figures.read_text("utf-8").replace(
        '[magnitudes.persons]\ntable = "rent.csv"',
        """\
[magnitudes.weight]
table = "rent.csv"
strength = { kind = "simple", share = 0.1 }

[magnitudes.persons]
table = "whole.csv\"""",
    )
    figures.write_text(text, encoding="utf-8")
    whole = design_magnitude_perturbation(2, 1, classes=(1, 2), step=1)
    whole.write(figures.with_name("whole.csv"))
    warnings = open_inputs(figures).warnings
    assert len(warnings) == 3
    assert "[magnitudes.persons] looks like a perturbation table for counts" in warnings[0]
    assert warnings[2] == "no table uses [magnitudes.weight]"


def test_no_figure_of_keys_or_of_nothing(figures: Path) -> None:
    text = figures.read_text("utf-8")
    keys = text.replace('"persons"', '"record_key"').replace(".persons]", ".record_key]")
    figures.write_text(keys, encoding="utf-8")
    assert any(
        "contains keys or identifiers and cannot be used in tables" in text
        for text in mistakes(figures)
    )
    hidden = text.replace('homes = { kind = "count" }', 'homes = { kind = "count", hidden = true }')
    hidden = hidden.replace('rent = { kind = "mean", of = "rent" }', "")
    figures.write_text(hidden, encoding="utf-8")
    assert any("all figures are hidden" in text for text in mistakes(figures))


def test_parameters_are_not_quoted(figures: Path) -> None:
    found = mistakes(figures, ("share = 0.1", "share = -0.123"), ("[1, 0.5]", "[1, 7.25]"))
    assert "0.123" not in "".join(found)
    assert "7.25" not in "".join(found)


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (("tables", "T1", "needed"), {"tables": {}, "x": 1}),
        (("tables", "T1", "codes", 0, "needed"), {"tables": {"T1": {}}, "x": 1}),
        (("needed",), {"tables": {"T1": {"codes": [{"a": 1}]}}, "x": 1}),
    ],
)
def test_what_lacks_a_key_is_left_out_so_that_checking_comes_to_an_end(path, left) -> None:
    raw = {"tables": {"T1": {"codes": [{"a": 1}]}}, "x": 1}
    _drop(raw, path)
    assert raw == left
