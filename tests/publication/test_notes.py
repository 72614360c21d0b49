"""How far published figures add up, said with the published figures."""

import dataclasses

import numpy as np

from discreet.classifications import Classification
from discreet.publication import non_additivity, printed_notes
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, Dimension, Note

SHOWN = CellStatus.published


def test_the_published_example_of_the_census():
    """Sex by five age classes: 371; row sums 372, column sums 369, inner cells 368."""
    table = census_example()
    figures = table.to_polars()["value"].to_numpy().reshape(3, 6)
    assert figures[0].tolist() == [371, 47, 56, 71, 86, 109]
    assert figures[1].tolist() == [175, 20, 31, 32, 40, 50]
    assert figures[2].tolist() == [197, 25, 25, 40, 45, 60]
    note = non_additivity(table)
    assert note is not None
    english = "Total 371; its parts add up to 372 (Sex), 369 (Age class), 368 (interior cells)."
    german = (
        "Insgesamt 371; die Teile ergeben zusammen 372 (Geschlecht), 369 (Altersklasse), "
        "368 (Innenfelder)."
    )
    assert note.text("en") == english
    assert note.text("de") == german


def test_nothing_is_said_where_everything_adds_up(make_table, sex):
    cells = {("Total",): (5, SHOWN), ("m",): (2, SHOWN), ("w",): (3, SHOWN)}
    assert non_additivity(make_table([sex], cells)) is None


def test_only_sums_that_differ_are_named(make_table, region):
    cells = {
        ("Total",): (10, SHOWN),
        ("N",): (6, SHOWN),
        ("N1",): (4, SHOWN),
        ("N2",): (3, SHOWN),
        ("S",): (4, SHOWN),
    }
    note = non_additivity(make_table([region], cells))
    assert note is not None
    # N + S = 10 agrees; N1 + N2 + S = 11 does not: S ends above the second level.
    assert note.text() == "Total 10; its parts add up to 11 (Region, level 2)."


def test_levels_are_called_by_their_names(make_table, region):
    german = {"State": {"de": "Land"}, "District": {"de": "Kreis"}}
    named = region.replace(level_names=("State", "District"), level_titles=german)
    cells = {("Total",): (10, SHOWN), ("N",): (6, SHOWN), ("N1",): (6, SHOWN), ("S",): (3, SHOWN)}
    note = non_additivity(make_table([named], cells))
    assert note is not None
    assert "9 (Region, State), 9 (Region, District)" in note.text()
    assert "9 (Region, Land), 9 (Region, Kreis)" in note.text("de")


def test_a_part_with_a_suppressed_cell_has_no_sum(make_table, sex):
    hidden = (0, CellStatus.suppressed)
    cells = {("Total",): (9, SHOWN), ("m",): hidden, ("w",): (3, SHOWN)}
    assert non_additivity(make_table([sex], cells)) is None
    cells = {("Total",): hidden, ("m",): (1, SHOWN), ("w",): (3, SHOWN)}
    assert non_additivity(make_table([sex], cells)) is None


def test_sums_of_weighted_figures_are_compared_as_printed(make_table, sex):
    general = (Note("non-additivity", {"en": "Parts may differ."}),)
    cells = {("Total",): (10.26, SHOWN), ("m",): (5.1, SHOWN), ("w",): (5.2, SHOWN)}
    table = make_table([sex], cells, decimals=1, notes=general)
    assert non_additivity(table) is None
    finer = non_additivity(dataclasses.replace(table, decimals=2))
    assert finer is not None
    assert finer.text("de") == "Insgesamt 10,26; die Teile ergeben zusammen 10,30 (Geschlecht)."


def test_shares_need_not_add_up(make_table, sex):
    cells = {("Total",): (40.5, SHOWN), ("m",): (41.2, SHOWN), ("w",): (39.9, SHOWN)}
    assert non_additivity(make_table([sex], cells)) is None


def test_breakdowns_that_do_not_nest_are_added_apart(make_table):
    fives = Classification.flat("five", ["0-4", "5+"])
    legal = Classification.flat("legal", ["minor", "adult"])
    table = make_table([fives], {("Total",): (10, SHOWN), ("0-4",): (3, SHOWN)})
    both = Dimension(classifications=(fives, legal), name="age")
    value = np.array([10, 4, 5, 6, 4])
    wide = dataclasses.replace(
        table,
        dimensions=(both,),
        index=(np.arange(5, dtype=np.int32),),
        value=value,
        status=np.zeros(5, np.int8),
    )
    note = non_additivity(wide)
    assert note is not None
    assert note.text() == "Total 10; its parts add up to 9 (five)."


def test_own_notes_come_first():
    kinds = [note.kind for note in printed_notes(census_example())]
    assert kinds == ["non-additivity", "non-additivity-figures"]
