"""Key figures are computed from protected figures, and stay plausible."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from discreet import Classification, KeyFigure, PerturbationTable, derive, tabulate
from discreet.derived import balance, index_figure, mean, per_thousand, rate_of_change, ratio, share
from discreet.derived.formulas import rounded
from discreet.errors import TableError
from discreet.protection.noise import count_ingredient
from discreet.tables import CellStatus
from tests.helpers.ingredients import REGION, SEX, cells, stated, states

# -- formulas ---------------------------------------------------------------------


def test_each_kind_has_its_formula() -> None:
    part, whole = stated({("N",): 30}), stated({("N",): 80})
    exact = {"bracket_above": None}
    assert share(part, whole, **exact).get("N") == 37.5
    assert ratio(part, whole, **exact).get("N") == 0.38
    assert ratio(part, whole, factor=4, decimals=1, **exact).get("N") == 1.5
    assert per_thousand(part, whole, **exact).get("N") == 375.0
    assert mean(part, whole, decimals=3, **exact).get("N") == 0.375
    assert rate_of_change(part, whole, **exact).get("N") == -62.5
    assert rate_of_change(whole, part, **exact).get("N") == 166.7
    assert index_figure(whole, part, **exact).get("N") == 266.7
    assert balance(part, whole, **exact).get("N") == -50


def test_protected_values_decide_not_originals() -> None:
    part = stated({("N",): 30}, original={("N",): 33})
    whole = stated({("N",): 80}, original={("N",): 75})
    assert share(part, whole).get("N") == 37.5
    assert balance(part, whole).get("N") == -50


def test_shares_of_a_total_over_variables() -> None:
    """Each sex's share in the region, and each region's share in the country."""
    people = stated(
        {("Total", "Total"): 100, ("Total", "m"): 40, ("S", "Total"): 50, ("S", "m"): 30},
        by=(REGION, SEX),
    )
    by_sex = share(people, over=["sex"])
    assert by_sex.get("S", "m") == 60.0
    assert by_sex.get("Total", "m") == 40.0
    assert by_sex.get("S", "Total") == 100.0
    assert share(people, over=["region"]).get("S", "m") == 75.0
    assert share(people, over=["region", "sex"]).get("S", "m") == 30.0


def test_a_share_over_variables_may_be_one_of_another_figure() -> None:
    vacant = stated({("S", "m"): 30}, by=(REGION, SEX))
    all_of = stated({("S", "Total"): 120}, by=(REGION, SEX))
    assert share(vacant, all_of, over=["sex"]).get("S", "m") == 25.0


def test_index_and_change_to_a_base() -> None:
    year = Classification.flat("year", ["2015", "2020"])
    price = stated({("2015",): 80, ("2020",): 100}, by=(year,))
    assert index_figure(price, base={"year": "2015"}).get("2020") == 125.0
    assert index_figure(price, base={"year": "2015"}).get("2015") == 100.0
    assert rate_of_change(price, base={"year": "2015"}).get("2020") == 25.0


def test_an_ingredient_can_be_shown_as_it_is() -> None:
    official = stated({("Total",): 1000, ("N",): 20}, official=[("Total",)])
    shown = derive({"people": official}, [KeyFigure(name="people", kind="count")])
    assert shown.value.dtype.kind == "i"
    assert shown.value.tolist() == [1000, 20]
    assert shown.status.tolist() == [CellStatus.official, CellStatus.published]
    rent = stated({("N",): 7.126}, kind="mean", deviation=0.1)
    (figure,) = derive({"rent": rent}, [KeyFigure(name="rent", kind="mean")]).figures
    assert (figure.kind, figure.decimals) == ("mean", 2)


def test_several_figures_stand_side_by_side() -> None:
    ingredients = {
        "dwellings": stated({("Total",): 50, ("N",): 20}),
        "vacant": stated({("Total",): 25}),
    }
    figures = [
        KeyFigure(name="dwellings", kind="count", titles={"en": "Dwellings"}),
        KeyFigure(name="vacant", kind="count", hidden=True),
        KeyFigure(name="vacancy", kind="share", part="vacant", whole="dwellings"),
    ]
    table = derive(ingredients, figures, name="homes", titles={"en": "Homes"})
    assert [figure.name for figure in table.figures] == ["dwellings", "vacancy"]
    assert table.dimensions[-1].codes == ("dwellings", "vacancy")
    assert table.get("Total", "dwellings") == 50
    assert table.get("Total", "vacancy") == 50.0
    assert table.get("N", "vacancy") == 0
    assert table.get("S", "vacancy") is None  # no dwellings: nothing to share
    assert table.get("S", "dwellings") == 0
    assert (table.name, table.title()) == ("homes", "Homes")
    assert table.figures[1].unit_text("de") == "%"


def test_a_table_without_variables_has_figures_too() -> None:
    part, whole = stated({(): 25}, by=()), stated({(): 200}, by=())
    assert share(part, whole).get() == 12.5
    nothing = stated({}, by=())
    assert share(nothing, whole).get() == 0
    assert share(part, nothing).get() is None


# -- plausibility ------------------------------------------------------------------


def test_shares_stay_between_0_and_100() -> None:
    part = stated({("N",): 12, ("S",): -2}, original={("N",): 10})
    whole = stated({("N",): 10, ("S",): 10})
    assert share(part, whole).get("N") == 100.0
    assert share(part, whole).get("S") == 0
    assert ratio(part, whole).get("N") == 1.2


def test_what_is_no_part_has_no_share() -> None:
    part, whole = stated({("N",): 12}), stated({("N",): 10})
    with pytest.raises(
        TableError, match="the part of the share is larger than the whole"
    ) as refused:
        share(part, whole)
    assert refused.value.hint == 'check part and whole, or use kind="ratio" with factor=100'
    assert ratio(part, whole, factor=100).get("N") == 120
    assert share(stated({("N",): 12}), stated({("N",): 0})).get("N") is None  # nothing to see


def test_rates_fall_by_100_at_most() -> None:
    table = rate_of_change(stated({("N",): -5}), stated({("N",): 10, ("S",): 10}))
    assert table.get("N") == -100.0
    assert table.get("S") == -100.0


def test_counts_are_never_negative() -> None:
    table = derive({"n": stated({("N",): -1})}, [KeyFigure(name="n", kind="count")])
    assert table.get("N") == 0


@pytest.mark.parametrize(
    ("original", "protected", "shown"),
    [
        ((10, 8), (11, 7), 4),  # the sign is right
        ((10, 11), (11, 10), 0),  # truly −1, would be +1
        ((10, 10), (11, 10), 0),  # truly 0
        ((10, 8), (9, 9), 0),  # the noise has made it 0
        ((1, 0), (0, 3), 0),  # truly +1, would be −3
        ((2, 5), (0, 4), -4),
    ],
)
def test_balances_keep_their_sign(
    original: tuple[int, int], protected: tuple[int, int], shown: int
) -> None:
    gains, losses = (
        stated({("N",): value}, original={("N",): true})
        for value, true in zip(protected, original, strict=True)
    )
    assert balance(gains, losses).get("N") == shown


def test_nothing_can_be_divided_by_zero() -> None:
    part, whole = stated({("N",): 5, ("S",): 0}), stated({("N",): 0, ("S",): 5})
    for table in (share(part, whole), ratio(part, whole), rate_of_change(part, whole)):
        assert states(table)["N",] == "not_applicable"
        assert table.get("N") is None
    assert share(part, whole).get("S") == 0


def test_what_is_measured_against_a_negative_sum_has_no_number() -> None:
    profit, loss = stated({("N",): 5}), stated({("N",): -5})
    assert share(profit, loss).get("N") is None
    assert rate_of_change(profit, loss).get("N") is None
    assert ratio(profit, loss).get("N") == -1.0


def test_a_mean_without_a_number_leaves_none() -> None:
    """Where no dwellings are left after noise, there is no rent to compare with."""
    rent = stated({("N",): 8.0}, kind="mean")
    income = stated({("N",): 2000.0, ("S",): 3000.0}, kind="mean")
    table = share(rent, income)
    assert table.get("N") == 0.4
    assert table.get("S") is None
    zero_rent = stated({("S",): 0.0}, kind="mean")
    assert share(zero_rent, income).get("S") == 0


# -- zeros -------------------------------------------------------------------------


def test_original_and_changed_zeros_give_the_same_table() -> None:
    """Whatever the figure: with a stored zero or without, above or below the line."""
    values = {("Total", "Total"): 90, ("Total", "m"): 40, ("S", "Total"): 30, ("S", "w"): 12}
    changed = {**values, ("N", "Total"): 0, ("N", "m"): 0, ("S", "m"): 0, ("Total", "w"): 0}
    figures = [
        KeyFigure(name="n", kind="count", of="a", bracket_above=0.1),
        KeyFigure(name="sexes", kind="share", part="a", over=["sex"]),
        KeyFigure(name="index", kind="index", part="a", base={"region": "S"}),
        KeyFigure(name="ratio", kind="ratio", part="a", whole="b"),
        KeyFigure(name="turned", kind="ratio", part="b", whole="a"),
        KeyFigure(name="saldo", kind="balance", part="b", whole="a"),
    ]
    other = stated({("S", "Total"): 20, ("N", "m"): 7, ("S", "m"): 5}, by=(REGION, SEX))
    true = {**dict.fromkeys(changed, 0.0), **values}
    plain, with_zeros = (
        derive({"a": stated(cells, by=(REGION, SEX), original=true), "b": other}, figures)
        for cells in (values, changed)
    )
    assert plain.stored == with_zeros.stored
    for sparse in (True, False):
        assert plain.to_polars(complete=sparse).equals(with_zeros.to_polars(complete=sparse))
    assert plain.get("S", "m", "sexes") == 0  # 0 of 30
    assert plain.get("N", "m", "sexes") is None  # of 0


def test_zero_shares_of_codes_found_in_the_data_do_not_list_them() -> None:
    country = Classification.flat("country", ["A", "B"]).replace(found="all")
    people = stated({("Total",): 9, ("A",): 9, ("B",): 0}, by=(country,))
    listed = share(people, over=["country"])
    assert listed.dimensions[0].codes == ("Total", "A", "B")
    hidden = share(people, over=["country"], found_codes="hide")
    assert hidden.dimensions[0].codes == ("Total", "A")
    assert hidden.to_polars()["value"].to_list() == [100.0, 100.0]


def test_codes_that_suppressed_parts_list_keep_their_zero_shares() -> None:
    country = Classification.flat("country", ["A", "B"]).replace(found="all")
    people = stated(
        {("Total", "Total"): 9, ("A", "Total"): 9, ("B", "m"): 0},
        by=(country, SEX),
        suppressed_parts=frozenset({(0, 0)}),
    )
    table = share(people, over=["country"], found_codes="hide")
    assert table.dimensions[0].codes == ("Total", "A", "B")
    assert table.get("B", "Total") == 0


# -- suppression -------------------------------------------------------------------


def test_a_suppressed_ingredient_suppresses_the_figure() -> None:
    part = stated({("N",): 5, ("S",): 5}, suppressed=[("N",)])
    whole = stated({("N",): 9, ("S",): 9, ("Total",): 20}, suppressed=[("S",)])
    for table in (share(part, whole), balance(part, whole), rate_of_change(part, whole)):
        found = states(table)
        assert found["N",] == found["S",] == "suppressed"
    assert states(share(part, whole))["Total",] == "zero_or_changed_to_zero"


def test_suppressed_parts_are_suppressed_for_every_figure() -> None:
    inner = frozenset({(0,)})
    part = stated({("Total",): 50, ("N1",): 5, ("S",): 5}, suppressed_parts=inner)
    whole = stated({("Total",): 80, ("N",): 20, ("N1",): 9})
    names = ["whole", "share"]
    figures = [
        KeyFigure(name="whole", kind="count"),
        KeyFigure(name="share", kind="share", part="part", whole="whole"),
    ]
    table = derive({"part": part, "whole": whole}, figures)
    assert table.suppressed_parts == {(0, 0), (0, 1)}
    found = states(table)
    assert {found[code, name] for code in ("N1", "N2", "S") for name in names} == {"suppressed"}
    assert table.get("Total", "share") == 62.5
    assert table.get("N", "whole") == 20
    assert share(part, whole).suppressed_parts == inner


def test_a_share_of_a_suppressed_total_is_suppressed() -> None:
    """The totals over sex are suppressed as a part; the inner cells are not."""
    margin = frozenset({(0, 1), (2, 1), (1, 1)})
    people = stated({("S", "Total"): 50, ("S", "m"): 30}, by=(REGION, SEX), suppressed_parts=margin)
    assert states(share(people, over=["sex"]))["S", "m"] == "suppressed"


def test_a_total_of_zero_on_a_suppressed_part_is_suppressed() -> None:
    """The total does not occur and would be zero, but that is not published."""
    margin = frozenset({(0, 1), (2, 1), (1, 1)})
    homes = stated({("N", "m"): 50}, by=(REGION, SEX), suppressed_parts=margin)
    vacant = stated({("S", "m"): 30}, by=(REGION, SEX))
    assert states(share(vacant, homes, over=["sex"]))["S", "m"] == "suppressed"


def test_what_is_suppressed_later_is_suppressed_too() -> None:
    """Either in the ingredient or, as for table parts, in the table it stands beside."""
    people = stated({("Total",): 20, ("S",): 5})
    hidden = replace(people, suppressed=np.array([False, True]))
    beside = replace(
        people, protected=replace(people.protected, suppressed_parts=frozenset({(0,)}))
    )
    for made in (hidden, beside):
        assert states(share(made, over=["region"]))["S",] == "suppressed"
        assert states(share(made, over=["region"]))["Total",] == "published"


# -- notes and origin --------------------------------------------------------------


def test_notes_and_provenance_come_from_the_ingredients() -> None:
    from discreet.tables import Provenance

    count = stated({("N",): 100}, universe={"en": "Dwellings"})
    origin = Provenance(version="0", method="magnitudes", key_grid="10^15", digests={"data": "e"})
    rent = stated({("N",): 50}, provenance=origin, universe={"en": "Dwellings"})
    table = ratio(rent, count, digests={"programme": "p"})
    assert [note.kind for note in table.notes] == ["non-additivity"]
    assert table.provenance.method == "magnitudes, cell-key"
    assert table.provenance.key_grid == "10^15"
    assert table.provenance.digests == {"part.data": "e", "whole.data": "d", "programme": "p"}
    assert share(count, count).provenance.digests == {"data": "d"}
    figures = [
        KeyFigure(name="ratio", kind="ratio", part="part", whole="whole"),
        KeyFigure(name="part", kind="sum", of="part", hidden=True),
    ]
    table = derive({"part": rent, "whole": count}, figures)
    assert table.provenance.digests == {"data 1": "e", "whole.data": "d"}
    assert table.universe == {"en": "Dwellings"}


# -- rounding ----------------------------------------------------------------------


def test_halves_go_away_from_zero_as_written() -> None:
    value = np.array([2.675, 1.005, 0.125, -0.125, 0.5, 2.5, -1e-9, 0.0])
    assert rounded(value, 2).tolist() == [2.68, 1.01, 0.13, -0.13, 0.5, 2.5, 0.0, 0.0]
    assert rounded(value, 0).tolist() == [3, 1, 0, 0, 1, 3, 0, 0]
    assert rounded(np.array([0.49999999999999994, 4.5e15 + 0.5, 1e300]), 0).tolist() == [
        0, 4500000000000001, 1e300,
    ]  # fmt: skip


def test_figures_are_rounded_unless_asked_otherwise() -> None:
    """All digits of 1/3 would say that the whole is a multiple of 3."""
    part, whole = stated({("N",): 1}), stated({("N",): 3})
    assert share(part, whole).get("N") == 33.3
    assert share(part, whole, decimals=0).get("N") == 33
    assert rate_of_change(part, whole).get("N") == -66.7
    assert ratio(part, whole).get("N") == 0.33


# -- from records ------------------------------------------------------------------


def test_key_figures_of_records_with_different_filters() -> None:
    """Codes found in the data: the filter leaves one of them out."""
    rng = np.random.default_rng(7)
    people = pl.DataFrame(
        {
            "region": rng.choice(["a", "b", "c"], 600),
            "age": rng.integers(0, 90, 600),
            "record_key": rng.integers(0, 10**15, 600),
        }
    ).filter((pl.col("region") != "c") | (pl.col("age") < 65))
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    all_of, old = (
        count_ingredient(tabulate(people, ["region"], record_key="record_key", where=where), ptable)
        for where in ("", "age >= 65")
    )
    assert old.dimensions[0].codes == ("Total", "a", "b")
    table = share(old, all_of, bracket_above=None)
    assert table.dimensions[0].codes == ("Total", "a", "b", "c")
    expected = {
        code: round(100 * (old.protected.get(code) or 0) / (all_of.protected.get(code) or 0), 1)
        for code in old.dimensions[0].codes
    } | {"c": 0}
    assert {code[0]: value for code, value in cells(table).items()} == pytest.approx(expected)
    assert table.get("c") == 0


def test_code_lists_that_were_stated_must_agree() -> None:
    other = Classification.flat("region", ["N", "S"])
    with pytest.raises(TableError, match="region has other codes in"):
        share(stated({("N",): 1}), stated({("N",): 2}, by=(other,)))
