"""Key figures that cannot be: every mistake is named, before anything is computed."""

import re
from typing import Any

import numpy as np
import pytest

from discreet import Classification, KeyFigure, derive
from discreet.arrays import CellIndex
from discreet.derived import components, share
from discreet.errors import DiscreetError, TableError
from discreet.tables import Figure, figure_dimension
from tests.helpers.ingredients import SEX, stated
from tests.helpers.rows import for_all_rows

NAN = float("nan")


@for_all_rows(
    ("wrong", "message"),
    [
        ({"kind": "median"}, "unknown kind of figure"),
        ({"name": ""}, "needs a name"),
        ({"part": ""}, "the numerator is missing"),
        ({"whole": ""}, "the denominator is missing"),
        ({"whole": None}, "name of an ingredient"),
        ({"of": "people"}, "needs part and whole"),
        ({"kind": "count"}, "has no part and whole"),
        ({"kind": "mean", "of": "rent"}, "leave one out"),
        ({"kind": "ratio", "over": ["sex"]}, "over does not apply to a ratio"),
        ({"base": {"year": "2015"}}, "base does not apply to a share"),
        ({"factor": 10}, "factor does not apply to a share"),
        ({"over": 7}, "list of variables"),
        ({"kind": "index", "base": {"year": 2015}}, "variables and their codes"),
        ({"kind": "ratio", "factor": 0}, "factor must be above 0"),
        ({"kind": "ratio", "factor": NAN}, "factor must be above 0"),
        ({"kind": "ratio", "factor": float("inf")}, "factor must be above 0"),
        ({"decimals": 16}, "from 0 to 15"),
        ({"decimals": 1.0}, "from 0 to 15"),
        ({"decimals": True}, "from 0 to 15"),
        ({"bracket_above": -0.1}, "at least 0"),
        ({"bracket_above": NAN}, "at least 0"),
        ({"titles": "Share"}, "texts by language"),
        ({"unit": {"en": 1}}, "texts by language"),
        ({"hidden": "yes"}, "true or false"),
    ],
)
def test_a_figure_that_cannot_be(wrong: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"name": "f", "kind": "share", "part": "a", "whole": "b"}
    with pytest.raises(TableError, match=message):
        KeyFigure(**{**fields, **wrong})


def test_all_mistakes_of_a_figure_are_listed() -> None:
    with pytest.raises(TableError) as caught:
        KeyFigure(name="f", kind="share", factor=2, decimals=-1, bracket_above=NAN)
    assert len(caught.value.problems) == 5


def test_all_mistakes_of_a_list_of_figures_are_listed() -> None:
    figures = [
        KeyFigure(name="vacancy", kind="share", part="vacent", whole="dwellings"),
        KeyFigure(name="vacancy", kind="share", part="vacant", over=["sex"]),
        KeyFigure(name="double", kind="ratio", part="vacancy", whole="dwellings"),
    ]
    with pytest.raises(TableError) as caught:
        derive({"vacant": stated({("N",): 1}), "dwellings": stated({("N",): 9})}, figures)
    found = [(problem.what, problem.hint) for problem in caught.value.problems]
    assert found == [
        ("2 figures share this name", ""),
        ("unknown ingredient 'vacent'", "closest match: 'vacant'"),
        (
            "unknown ingredient 'vacancy'",
            "key figures are derived from ingredients, not from other figures",
        ),
    ]


def test_a_table_needs_a_figure_that_is_shown() -> None:
    made = {"n": stated({("N",): 1})}
    with pytest.raises(TableError, match="all figures are hidden"):
        derive(made, [KeyFigure(name="n", kind="count", hidden=True)])
    with pytest.raises(TableError, match="no key figure given"):
        derive(made, [])


def test_unknown_variables_and_codes() -> None:
    figures = [
        KeyFigure(name="a", kind="share", part="n", over=["age"]),
        KeyFigure(name="b", kind="index", part="n", base={"region": "X"}),
    ]
    with pytest.raises(TableError) as caught:
        derive({"n": stated({("N",): 1})}, figures)
    assert [problem.what for problem in caught.value.problems] == [
        "variable 'age' not found in the table",
        "region has no code 'X'",
    ]


def test_what_is_no_ingredient_or_figure() -> None:
    made = stated({("N",): 1})
    figure = KeyFigure(name="n", kind="count")
    wrong: list[tuple[Any, Any, str]] = [
        ([made], [figure], "give ingredients by name"),
        ({"n": made.protected}, [figure], "expected an Ingredient, got a ProtectedTable"),
        ({"n": made}, figure, "a list of key figures"),
        ({"n": made}, "n", "a list of key figures"),
        ({"n": made}, ["n"], "expected a KeyFigure, got a str"),
    ]
    for ingredients, figures, message in wrong:
        with pytest.raises(TableError, match=message):
            derive(ingredients, figures)


@pytest.mark.parametrize("limit", [-0.1, NAN, "15 %", True])
def test_limits_are_numbers(limit: Any) -> None:
    with pytest.raises(TableError, match="at least 0"):
        share(stated({("N",): 1}), stated({("N",): 1}), bracket_above=limit)


def test_unknown_options() -> None:
    with pytest.raises(TableError, match="list"):
        share(stated({("N",): 1}), stated({("N",): 1}), found_codes="drop")
    with pytest.raises(TypeError):
        share(stated({("N",): 1}), stated({("N",): 1}), brackets=0.1)


def test_spanning_variables_must_agree() -> None:
    people = stated({("N",): 1})
    for by, cell in (((SEX,), ("m",)), ((), ())):
        with pytest.raises(TableError, match="spanning variables differ"):
            share(people, stated({cell: 2}, by=by))
    total = Classification.flat("region", ["N"], total="All")
    with pytest.raises(TableError, match="another total"):
        share(people, stated({("N",): 2}, by=(total,)))
    moved = Classification(
        name="region", codes=("Total", "S", "N", "N1", "N2"), parents=(-1, 0, 1, 2, 2)
    )
    with pytest.raises(TableError, match="have other parents in"):
        share(people, stated({("N",): 2}, by=(moved,)))


def test_an_ingredient_is_a_single_figure() -> None:
    two = (Figure(name="a"), Figure(name="b"))
    (tree,) = figure_dimension(two).classifications
    with pytest.raises(TableError, match="single figure"):
        stated({("a",): 1}, by=(tree,), figures=two)


def test_a_mean_is_no_count() -> None:
    rent = stated({("N",): 7.5}, kind="mean")
    with pytest.raises(TableError, match="a mean cannot be shown as a count"):
        derive({"rent": rent}, [KeyFigure(name="rent", kind="count")])
    with pytest.raises(TableError, match="a count cannot be shown as a mean"):
        derive({"n": stated({("N",): 7})}, [KeyFigure(name="n", kind="mean")])
    with pytest.raises(TableError, match="a sum cannot be shown as a count"):
        derive({"rent": stated({("N",): 7}, kind="sum")}, [KeyFigure(name="rent", kind="count")])


def test_headings_have_a_language() -> None:
    with pytest.raises(TableError, match="texts by language"):
        share(stated({("N",): 1}), stated({("N",): 1}), titles="Share")


def test_a_variable_called_figure() -> None:
    tree = Classification.flat("figure", ["a"])
    figures = [KeyFigure(name=name, kind="count", of="n") for name in ("x", "y")]
    with pytest.raises(
        TableError, match="a table with several figures cannot have a spanning variable"
    ):
        derive({"n": stated({("a",): 1}, by=(tree,))}, figures)


@pytest.mark.parametrize(
    ("value", "deviation"), [(NAN, 1.0), (float("inf"), 1.0), (3.0, NAN), (3.0, -1.0)]
)
def test_ingredients_have_numbers(value: float, deviation: float) -> None:
    made = stated({("N",): value}, deviation=deviation)
    with pytest.raises(TableError, match="finite numbers") as caught:
        share(made, stated({("N",): 9}))
    assert "nan" not in str(caught.value)


def test_an_ingredient_has_all_cells_of_its_table() -> None:
    made = stated({("N",): 5, ("S",): 6})
    fewer = stated({("N",): 5})
    object.__setattr__(fewer, "protected", made.protected)
    with pytest.raises(
        TableError, match="the protected table has cells that are missing in the ingredient"
    ):
        share(fewer, made)


def test_shares_need_their_totals() -> None:
    """Cells made elsewhere, without the totals over sex: they are unknown, not zero."""
    inner = stated({("m",): 5}, by=(SEX,), parts=frozenset({(0,)}))
    with pytest.raises(TableError, match="lacks the totals"):
        share(inner, over=["sex"])
    assert share(inner, inner).parts == {(0,)}


def test_shares_of_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "SPREAD_LIMIT", 4)
    with pytest.raises(TableError, match="would have 5 cells"):
        share(stated({("Total",): 5}), over=["region"])


def test_errors_tell_nothing_confidential() -> None:
    made = stated(
        {("N",): 4711, ("S",): 8}, original={("N",): 4712}, deviation={("N",): NAN, ("S",): 1.25}
    )
    with pytest.raises(DiscreetError) as caught:
        share(made, made)
    assert not any(number in str(caught.value) for number in ("471", "1.25"))
    assert "471" not in re.sub("0x[0-9a-f]+", "", repr(made))


def test_grids_beyond_64_bits_are_found_by_their_cells() -> None:
    """Ten variables of 10,000 codes: 10^40 places, none of them is numbered through."""
    rng = np.random.default_rng(1)
    grid = CellIndex((10_000,) * 10)
    index = tuple(rng.integers(0, 10_000, 500).astype(np.int32) for _ in grid.sizes)
    known = components.CellPlaces(index, 500)
    order = rng.permutation(500)
    assert components.find(grid, known, known.chosen(order)).tolist() == order.tolist()
    missing = known.moved({0: 0})
    there = np.flatnonzero(index[0] == 0)
    assert set(np.flatnonzero(components.find(grid, known, missing) >= 0)) == set(there.tolist())
    both = components.joined(grid, [known, known.chosen(order[:50])])
    assert len(both) == 500
    assert np.lexsort(tuple(reversed(both.index))).tolist() == list(range(500))
