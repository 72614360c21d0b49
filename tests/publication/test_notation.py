"""The signs of the German census, and how numbers are printed."""

import dataclasses
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import PublicationError
from discreet.publication import legend, write
from discreet.publication.cells import ListedCells
from discreet.publication.examples import census_example
from discreet.publication.notation import (
    check_values,
    exact_text,
    number_text,
    signs_of,
    symbols,
)
from discreet.publication.vocabulary import LANGUAGES, words
from discreet.publication.writers.csv import values_column
from discreet.tables import CellStatus
from tests.helpers.rows import for_all_rows


def test_signs_of_the_census():
    value = np.array([0, 0, 1_034, 206, 12])
    status = np.array([1, 2, 0, 3, 4], dtype=np.int8)
    assert symbols(value, status, 0, "de").tolist() == ["–", ".", "1\u202f034", "(206)", "12*"]
    assert symbols(value, status, 0).tolist() == ["–", ".", "1034", "(206)", "12*"]


def test_a_zero_looks_the_same_whatever_its_status():
    value = np.zeros(4, dtype=np.int64)
    status = np.array([0, 1, 3, 4], dtype=np.int8)
    assert set(symbols(value, status, 0)) == {"–"}


@for_all_rows(
    ("value", "decimals", "plain", "english", "german"),
    [
        (1234567, 0, "1234567", "1,234,567", "1\u202f234\u202f567"),
        (1234567, 2, "1234567", "1,234,567", "1\u202f234\u202f567"),
        (0.5, 0, "1", "1", "1"),
        (2.5, 0, "3", "3", "3"),
        (-0.4, 0, "0", "0", "0"),
        (-1234.25, 1, "-1234.3", "\u22121,234.3", "\u22121\u202f234,3"),
        (2.675, 2, "2.68", "2.68", "2,68"),
        (1e16, 0, "10000000000000000", "10,000,000,000,000,000", None),
    ],
)
def test_numbers_in_both_languages(value, decimals, plain, english, german):
    assert number_text(value, decimals) == plain
    assert number_text(value, decimals, "en") == english
    if german is not None:
        assert number_text(value, decimals, "de") == german


@given(st.integers(-(10**12), 10**12), st.integers(0, 6), st.integers(0, 6))
def test_numbers_are_rounded_as_they_are_written(digits, places, decimals):
    """Halves of what is written go away from zero, whatever the float behind it."""
    value = float(Decimal(digits).scaleb(-places))
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert number_text(value, decimals) == f"{exact if exact else abs(exact):f}"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_columns_of_values_have_all_digits_and_no_exponent(values):
    table = census_example()
    cells = ListedCells((), np.array(values), np.zeros(len(values), dtype=np.int8))
    assert values_column(table, cells).to_list() == [exact_text(value) for value in values]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_text_has_all_digits_and_no_exponent(value):
    text = exact_text(value)
    assert float(text) == value
    assert "e" not in text.lower()


def test_the_legend_names_the_signs_that_stand_in_the_table(mixed, make_table, sex):
    assert [sign.symbol for sign in legend(mixed)] == ["–", ".", "( )", "*"]
    small = make_table([sex], {("Total",): (0.2, CellStatus.published)})
    assert [sign.symbol for sign in legend(small, "de")] == ["–", "0"]
    assert legend(small, "de")[0].meaning == "genau null oder auf null geändert"


def test_a_table_without_signs_has_no_legend(make_table, sex):
    whole = make_table([sex], {(c,): (7, CellStatus.published) for c in ("Total", "m", "w")})
    assert legend(whole) == ()
    assert [sign.symbol for sign in legend()] == ["–", ".", "( )", "x", "*", "/", "0"]


def one_figure(rents, at, **fields):
    """The cells with a number of one figure, or of all if it is None."""
    states = (CellStatus.zero_or_changed_to_zero, CellStatus.not_applicable)
    chosen = ~np.isin(rents.status, states)
    chosen &= at is None or rents.index[-1] == at
    figures = rents.figures if at is None else (rents.figures[at],)
    return dataclasses.replace(
        rents,
        dimensions=rents.dimensions if at is None else rents.spanning,
        index=tuple(part[chosen] for part in (rents.index if at is None else rents.index[:2])),
        value=rents.value[chosen],
        status=rents.status[chosen],
        figures=figures,
        cell_notes=(),
        **fields,
    )


@pytest.mark.parametrize("hidden", [frozenset(), frozenset({(0, 0)})], ids=["whole", "a part less"])
@pytest.mark.parametrize("at", [None, 0, 1, 2, 3])
def test_the_legend_names_the_signs_of_the_whole_grid(rents, at, hidden):
    table = one_figure(rents, at, suppressed_parts=hidden if at is not None else frozenset())
    shown = {CellStatus(status) for status in np.unique(table.cells(True)[2]).tolist()}
    signs = [sign.symbol for status, sign in signs_of(table, "en").items() if status in shown]
    assert signs
    assert [sign.symbol for sign in legend(table)][: len(signs)] == signs


def test_both_languages_say_everything():
    assert LANGUAGES == ("en", "de")
    for language in LANGUAGES:
        assert vars(words(language)).keys() == vars(words("en")).keys()
        assert all(vars(words(language)).values())
    with pytest.raises(PublicationError, match="languages: en, de"):
        words("fr")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_numbers_are_refused(make_table, sex, value):
    table = make_table([sex], {("m",): (value, CellStatus.published)})
    with pytest.raises(PublicationError, match="1 cells have a value that is not a finite number"):
        check_values(table)


def test_decimals_have_bounds(make_table, sex):
    table = make_table([sex], {("m",): (1.5, CellStatus.published)}, decimals=16)
    with pytest.raises(PublicationError, match="0 to 15 decimals"):
        check_values(table)


@pytest.mark.parametrize("kind", ["csv", "html", "xlsx", "px", "json", "json-stat", "sdmx-csv"])
def test_an_imprecise_figure_is_a_slash_and_no_number(make_table, sex, tmp_path, kind):
    cells = {("Total",): (70, CellStatus.published), ("m",): (6_431, CellStatus.imprecise)}
    table = make_table([sex], cells)
    assert table.get("m") is None
    assert [sign.symbol for sign in legend(table)] == ["–", "/"]
    path = write(table, tmp_path / "t", format=kind)
    content = path.read_bytes()
    assert b"6431" not in content
    if kind in ("csv", "html", "px"):
        assert b"/" in content
    if kind in ("csv", "json", "json-stat"):
        assert b"imprecise" in content
