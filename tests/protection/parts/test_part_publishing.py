"""Suppressed parts in protected tables, and how many tables of a release stay complete."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import PartRules, Table, check_parts, suppress_parts
from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.protection.parts import measure_parts, release_shares
from discreet.tables import (
    Figure,
    ProtectedTable,
    Provenance,
    figure_dimension,
    without_unpublished,
)
from tests.helpers.protected_tables import protected_table

REGION = Classification.from_prefixes("region", ["N1", "N2", "S1", "S2"], [1, 2])
SEX = Classification.flat("sex", ["m", "w"])
CELLS = pl.DataFrame(
    {
        "region": ["Total", "N", "N1", "N2", "S", "S1", "S2"] * 2,
        "sex": ["Total"] * 7 + ["m"] * 7,
        "n": [90, 50, 49, 1, 40, 39, 1, 60, 30, 29, 1, 30, 29, 1],
    }
)
MADE = Provenance(version="0.1.0", method="cell-key")


def table(by: Any = (REGION, SEX), cells: pl.DataFrame = CELLS) -> Table:
    return Table.from_cells(cells, by=list(by), count="n", name="people")


def protected(of: Table) -> ProtectedTable:
    """The counts as they are, on the protected side."""
    trees = [own.classifications[0] for own in of.dimensions]
    return protected_table(trees, of.count, at=of.index, parts=of.parts)


def thinned(rules: PartRules | None = None) -> ProtectedTable:
    rules = rules or PartRules(max_share_small=0.4)
    return suppress_parts(protected(table()), check_parts(table(), rules))


def test_figures_of_suppressed_parts_are_gone_and_not_only_hidden() -> None:
    safe = thinned()
    assert safe.get("N1", "m") is None
    assert safe.get("N", "m") == 30
    assert 29 not in safe.value
    hidden = safe.to_polars(complete=True).filter(pl.col("status") == "suppressed")
    assert set(hidden["region"]) == {"N1", "N2", "S1", "S2"}
    assert hidden["value"].null_count() == hidden.height == 12


def test_zeros_on_suppressed_parts_are_suppressed_too() -> None:
    """N1 has no women: a cell that is not stored."""
    assert thinned().get("N1", "w") is None
    assert thinned().get("N", "w") == 0


def test_a_note_names_the_suppressed_parts() -> None:
    (note,) = [note for note in thinned().notes if note.kind == "suppressed-parts"]
    assert note.text("en") == (
        "Suppressed subtables, shown as “.”: region (level 2) × sex; region (level 2)."
    )
    assert note.text("de") == (
        "Gesperrte Tabellenteile, als „.“ ausgewiesen: region (Ebene 2) × sex; region (Ebene 2)."
    )


def test_many_suppressed_parts_are_named_by_the_coarsest() -> None:
    deep = Classification.from_prefixes("deep", ["aaaaa", "aaaab"], [1, 2, 3, 4, 5])
    codes = ["Total", "a", "aa", "aaa", "aaaa", "aaaaa"]
    cells = pl.DataFrame({"deep": codes * 2, "sex": ["Total"] * 6 + ["m"] * 6, "n": 3})
    of = table((deep, SEX), cells)
    safe = suppress_parts(protected(of), check_parts(of, PartRules(min_average_size=9)))
    assert safe.notes[-1].text() == (
        "Suppressed subtables, shown as “.”: grand total (each with all finer subtables)."
    )


def test_doing_it_twice_changes_nothing_more() -> None:
    decisions = check_parts(table(), PartRules(max_share_small=0.4))
    once = suppress_parts(protected(table()), decisions)
    twice = suppress_parts(once, decisions)
    assert twice.notes == once.notes
    assert twice.to_polars(complete=True).equals(once.to_polars(complete=True))


def test_a_table_that_passes_stays_as_it_is() -> None:
    safe = protected(table())
    assert suppress_parts(safe, check_parts(table(), PartRules(max_share_small=1))) is safe


def test_every_figure_of_a_suppressed_part_goes() -> None:
    figures = (Figure(name="people"), Figure(name="rent", kind="mean"), Figure(name="all"))
    of = table((REGION,), CELLS.filter(pl.col("sex") == "Total").drop("sex"))
    axis = figure_dimension(figures)
    several = ProtectedTable(
        dimensions=(*of.dimensions, axis),
        index=(np.repeat(of.index[0], 3), np.tile(np.arange(3, dtype=np.int32), len(of))),
        value=np.arange(3 * len(of), dtype=np.float64) + 1,
        status=np.zeros(3 * len(of), dtype=np.int8),
        provenance=MADE,
        figures=figures,
    )
    safe = suppress_parts(several, check_parts(of, PartRules(max_share_small=0.4)))
    for name in axis.codes:
        assert safe.get("N1", name) is None
        assert safe.get("N", name) is not None


def test_suppressed_codes_stay_listed_even_if_only_the_data_tell_them() -> None:
    found = replace(REGION, found="all")
    of = table((found, SEX))
    safe = suppress_parts(protected(of), check_parts(of, PartRules(max_share_small=0.4)))
    listed = without_unpublished(safe)
    assert listed.dimensions[0].codes == safe.dimensions[0].codes
    assert listed.get("N", "m") == 30
    assert listed.get("N1", "m") is None


# -- what does not fit --------------------------------------------------------------------


def test_decisions_on_another_table_or_that_leave_a_part_open_are_refused() -> None:
    rules = PartRules(max_share_small=0)
    other = table((SEX,), CELLS.filter(pl.col("region") == "Total").drop("region"))
    inner = CELLS.filter(pl.col("region").str.len_chars() == 2, pl.col("sex") == "m")
    decisions = check_parts(table(cells=inner), rules)
    for wrong in (check_parts(other, rules), decisions):
        with pytest.raises(SuppressionError, match="other variables or levels"):
            suppress_parts(protected(table()), wrong)
    assert suppress_parts(protected(table(cells=inner)), decisions).stored == 0
    with pytest.raises(SuppressionError, match="expected a ProtectedTable, got a Table"):
        suppress_parts(table(), decisions)  # type: ignore[arg-type]


# -- a whole release ------------------------------------------------------------------------


def test_shares_of_tables_shown_completely_are_told_per_level() -> None:
    """One of four tables is thinned on its finest level, and complete above."""
    complete = check_parts(table(), PartRules(max_share_small=1))
    partly = check_parts(table(), PartRules(max_share_small=0.4))
    (whole,) = release_shares([complete, complete, partly, complete])
    assert (whole.tables, whole.complete, whole.thinned, whole.blocked) == (4, 3, 1, 0)
    assert whole.share_complete == 0.75
    shares = release_shares([complete, complete, partly, complete], "region")
    assert [(share.names["de"], share.share_complete) for share in shares] == [
        ("region (Ebene 2)", 0.75),
        ("region (Ebene 1)", 1.0),
        ("Insgesamt", 1.0),
    ]
    assert [share.blocked for share in shares] == [1, 0, 0]
    assert release_shares([complete], "age") == ()


@pytest.mark.parametrize(
    "wrong", [None, ["people"], check_parts(table(), PartRules(min_cells=2, max_share_small=1))]
)
def test_shares_are_those_of_a_list_of_decisions(wrong: Any) -> None:
    with pytest.raises(SuppressionError, match="a list of PartDecisions"):
        release_shares(wrong)


def test_only_a_table_has_measures() -> None:
    with pytest.raises(SuppressionError, match="expected a Table, got a NoneType"):
        measure_parts(None)  # type: ignore[arg-type]
    assert measure_parts(table(), universe="none").equals(measure_parts(table()))
