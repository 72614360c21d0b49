"""What holds for key figures of any table."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet import KeyFigure, derive
from discreet.protection.noise import Ingredient
from discreet.tables import ProtectedTable
from tests.helpers.ingredients import REGION, SEX, stated

SIZES = (5, 3)

FIGURES = [
    KeyFigure(name="n", kind="count", of="part", bracket_above=0.2),
    KeyFigure(name="share", kind="share", part="part", whole="whole", decimals=15),
    KeyFigure(name="sexes", kind="share", part="part", over=["sex"]),
    KeyFigure(name="all", kind="share", part="part", whole="whole", over=["sex", "region"]),
    KeyFigure(name="ratio", kind="ratio", part="part", whole="whole", factor=3),
    KeyFigure(name="mean", kind="mean", part="part", whole="whole"),
    KeyFigure(name="rate", kind="per_thousand", part="part", whole="whole"),
    KeyFigure(name="change", kind="change", part="part", whole="whole"),
    KeyFigure(name="since", kind="change", part="whole", base={"region": "N"}),
    KeyFigure(name="index", kind="index", part="part", base={"region": "S", "sex": "m"}),
    KeyFigure(name="saldo", kind="balance", part="part", whole="whole"),
]


def ingredient(places: list[tuple[int, int]], rows: list[dict[str, Any]]) -> Ingredient:
    codes = [(REGION.codes[region], SEX.codes[sex]) for region, sex in places]
    columns = {
        name: {code: row[name] for code, row in zip(codes, rows, strict=True)}
        for name in ("value", "original", "deviation")
    }
    hidden = [code for code, row in zip(codes, rows, strict=True) if row["hidden"]]
    values = columns.pop("value")
    return stated(values, by=(REGION, SEX), suppressed=hidden, **columns)


ROWS = st.fixed_dictionaries(
    {
        "value": st.integers(0, 60),
        "original": st.integers(0, 60),
        "deviation": st.sampled_from([0.0, 0.5, 1.5, 3.0]),
        "hidden": st.sampled_from([False, False, False, True]),
    }
)


def contained(name: str, made: Ingredient) -> Ingredient:
    """With originals of which shares can be made: the part below its total and the whole."""
    least = {"part": np.where(made.index[1] == 0, 60, 0), "whole": 200}[name]
    return replace(made, original=least + made.original)


@st.composite
def ingredients(draw: st.DrawFn, shares: bool = True) -> dict[str, Ingredient]:
    made = {}
    for name in ("part", "whole"):
        cell = st.tuples(st.integers(0, 4), st.integers(0, 2))
        places = draw(st.lists(cell, unique=True, max_size=15))
        made[name] = ingredient(places, [draw(ROWS) for _ in places])
    return {name: contained(name, part) for name, part in made.items()} if shares else made


def frames(table: ProtectedTable) -> dict[tuple[str, ...], tuple[float | None, str]]:
    rows = table.to_polars(complete=True).iter_rows()
    return {row[:-2]: (row[-2], row[-1]) for row in rows}


@given(ingredients())
def test_figures_are_plausible(made: dict[str, Ingredient]) -> None:
    for (*_, name), (value, state) in frames(derive(made, FIGURES)).items():
        if value is None:
            assert state in ("suppressed", "not_applicable")
        elif name in ("share", "sexes", "all"):
            assert 0 <= value <= 100
        elif name in ("change", "since"):
            assert value >= -100
        elif name != "saldo":
            assert value >= 0
        if name in ("n", "saldo"):
            assert state != "not_applicable"


@given(ingredients(shares=False))
def test_balances_have_the_sign_of_the_original(made: dict[str, Ingredient]) -> None:
    """What is printed as zero is taken for zero here, too."""
    found = frames(derive(made, [figure for figure in FIGURES if figure.kind != "share"]))
    true = {
        name: dict(
            zip(
                map(tuple, np.transpose(part.index).tolist()),
                np.where(part.value == 0, 0.0, part.original),
                strict=True,
            )
        )
        for name, part in made.items()
    }
    for (region, sex, name), (value, _) in found.items():
        place = (REGION.index[region], SEX.index[sex])
        sign = np.sign(true["part"].get(place, 0.0) - true["whole"].get(place, 0.0))
        if name == "saldo" and value is not None:
            assert np.sign(value) in (0, sign)


@given(ingredients())
def test_figures_with_a_suppressed_ingredient_are_suppressed(made: dict[str, Ingredient]) -> None:
    found = frames(derive(made, FIGURES))
    for name, part in made.items():
        for at in np.flatnonzero(part.suppressed):
            codes = (REGION.codes[part.index[0][at]], SEX.codes[part.index[1][at]])
            for figure in FIGURES:
                if name in figure.ingredients[:1] or (not figure.over and name == figure.whole):
                    assert found[(*codes, figure.name)] == (None, "suppressed")
            if name == "part" and codes[1] == "Total":  # nor any share of this total
                inner = [found[codes[0], sex, "sexes"] for sex in ("m", "w")]
                assert inner == [(None, "suppressed")] * 2


@given(ingredients(), st.integers(0, 2**32 - 1))
def test_originals_decide_nothing_but_signs(made: dict[str, Ingredient], seed: int) -> None:
    """Other originals, without balances: the same to the last bit."""
    rng = np.random.default_rng(seed)
    other = {
        name: contained(name, replace(part, original=rng.integers(0, 60, len(part)) * 1.0))
        for name, part in made.items()
    }
    without = [figure for figure in FIGURES if figure.kind != "balance"]
    assert same(derive(made, without), derive(other, without))
    # With balances: the originals of what is printed as zero do not matter,
    zeros = {
        name: replace(part, original=np.where(part.value == 0, other[name].original, part.original))
        for name, part in made.items()
    }
    assert same(derive(made, FIGURES), derive(zeros, FIGURES))
    # and originals twice as large have the same signs.
    doubled = {name: replace(part, original=2 * part.original) for name, part in made.items()}
    assert same(derive(made, FIGURES), derive(doubled, FIGURES))


@given(ingredients(), st.sampled_from([2, 4, 8]))
def test_quotients_do_not_depend_on_the_unit(made: dict[str, Ingredient], times: int) -> None:
    scaled = {
        name: replace(
            part,
            value=part.value * times,
            deviation=part.deviation * times,
            protected=replace(part.protected, value=part.protected.value * times),
        )
        for name, part in made.items()
    }
    quotients = [figure for figure in FIGURES if figure.kind not in ("count", "balance")]
    assert same(derive(made, quotients), derive(scaled, quotients))


@given(ingredients(), st.randoms(use_true_random=False))
def test_the_order_of_cells_does_not_matter(made: dict[str, Ingredient], order: Any) -> None:
    turned = {}
    for name, part in made.items():
        at = np.array(order.sample(range(len(part)), len(part)), dtype=np.int64)
        turned[name] = replace(
            part,
            index=tuple(axis[at] for axis in part.index),
            value=part.value[at],
            original=part.original[at],
            deviation=part.deviation[at],
            suppressed=part.suppressed[at],
        )
    assert same(derive(made, FIGURES), derive(turned, FIGURES))


def same(one: ProtectedTable, other: ProtectedTable) -> bool:
    """Equal to the last bit, cell by cell."""
    return (
        all(np.array_equal(a, b) for a, b in zip(one.index, other.index, strict=True))
        and one.value.tobytes() == other.value.tobytes()
        and np.array_equal(one.status, other.status)
    )
