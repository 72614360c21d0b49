"""Exposure over all that was released, held against sums over crossings written out."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.assessment.attacks import exposure_of
from discreet_service.policies import AskedTable
from discreet_service.policies.asked import Box, LayerAxis, boxes_of
from discreet_service.policies.exposure import ReleasedLayers, read_shape, shape_text
from tests.helpers.rows import for_all_rows

SIZES = {"a": 2, "b": 3, "c": 4, "place": 5}
CODES = {name: tuple(f"{name}{at}" for at in range(size)) for name, size in SIZES.items()}


def table(*by: str, total: bool = True, **where: str | tuple[str, ...]) -> AskedTable:
    """A table over some variables, with filters of one code or several."""
    around = (None,) if total else ()
    return AskedTable(
        dataset="d",
        version="1",
        unit="u",
        by=tuple((*around, *axes(name)) for name in sorted(by)),
        where=tuple(
            axes(name)[0]._replace(codes=(codes,) if isinstance(codes, str) else codes)
            for name, codes in sorted(where.items())
        ),
        cells=0,
        digest="",
        apart={},
    )


def axes(*names: str) -> Box:
    """What spans the counts of some variables."""
    return tuple(LayerAxis(name, name, SIZES[name], None, name == "place") for name in names)


@for_all_rows("by", [(), ("a",), ("a", "b"), ("a", "b", "c"), ("c", "place")])
def test_one_table_has_the_exposure_of_the_library(by: tuple[str, ...]) -> None:
    sizes = [[SIZES[name]] for name in by]
    assert ReleasedLayers().most_exposed(table(*by)).exposure == pytest.approx(exposure_of(sizes))


def test_tables_add_up_and_repeats_add_nothing() -> None:
    released = ReleasedLayers()
    released.add(table("a", "b").shape)
    once = released.most_exposed(table("a", "b")).exposure
    assert once == pytest.approx(1.5 * 4 / 3)
    # New: c, and a x c.
    assert released.most_exposed(table("a", "c")).exposure == pytest.approx(once * 1.25 + 0.0, 0.2)
    expected = 1 + 1 / 2 + 1 / 3 + 1 / 6 + 1 / 4 + 1 / 8
    assert released.most_exposed(table("a", "c")).exposure == pytest.approx(expected)


@pytest.mark.parametrize("asked", [("a",), ("a", "b"), ("a", "b", "c"), ("c", "place")])
def test_what_is_used_is_what_the_rule_finds_in_tables_that_were_released(
    asked: tuple[str, ...],
) -> None:
    """Of a released table the most exposed counts are those that its axes span."""
    released = ReleasedLayers()
    assert released.exposures([(), axes("a"), axes("a", "place")]) == [0.0, 0.0, 0.0]
    for by in (("a", "b"), ("b", "place"), asked):
        released.add(table(*by).shape)
    spanned = [axes(*names) for k in range(len(asked) + 1)
               for names in itertools.combinations(asked, k)]  # fmt: skip
    used = released.exposures(spanned)
    assert max(used) == pytest.approx(released.most_exposed(table(*asked)).exposure)
    assert min(used) >= 1
    # Looking adds nothing.
    assert released.exposures(spanned) == used
    assert released.new_cells(table(*asked)) == 0


def test_filters_count_for_their_universe_and_for_all() -> None:
    released = ReleasedLayers()
    released.add(table("a", "b").shape)
    # Of all: a1 can be asked for as well.
    assert released.most_exposed(table("c", a="a0")).exposure == pytest.approx(
        1 + 1 / 2 + 1 / 3 + 1 / 6 + 1 / 8
    )
    # Another code tells nothing of a0.
    released.add(table("c", a="a1").shape)
    assert released.most_exposed(table(a="a0")).exposure == pytest.approx(
        max(1 + 1 / 3, 1 + 1 / 2 + 1 / 3 + 1 / 6 + 1 / 8)
    )


def test_places_are_told_apart() -> None:
    released = ReleasedLayers()
    released.add(table("a", place="place0").shape)
    assert released.most_exposed(table("b", place="place1")).exposure == pytest.approx(4 / 3)
    assert released.most_exposed(table("b", place="place0")).exposure == pytest.approx(
        1 + 1 / 2 + 1 / 3
    )
    # The worst place counts: the table of all places has place0 among its rows.
    assert released.most_exposed(table("b", "place")).exposure == pytest.approx(1 + 1 / 2 + 1 / 3)


def test_shapes_are_kept_whole() -> None:
    for each in (table("a", "place", b="b1"), table(), table("a", total=False)):
        assert read_shape(shape_text(each.shape)) == each.shape


@st.composite
def asked_tables(draw: st.DrawFn) -> AskedTable:
    names = draw(st.lists(st.sampled_from(sorted(SIZES)), max_size=3, unique=True))
    spanning = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    where = {
        name: tuple(sorted(draw(st.sets(st.sampled_from(CODES[name]), min_size=1, max_size=2))))
        for name in names
        if name not in spanning
    }
    return table(*spanning, total=draw(st.booleans()), **where)


def cells_of(box: Box) -> set[tuple[tuple[str, str], ...]]:
    """The cells of a box, one by one."""
    choices = [
        [(axis.variable, code) for code in (axis.codes or CODES[axis.variable])] for axis in box
    ]
    return set(itertools.product(*choices))


@given(st.lists(asked_tables(), min_size=1, max_size=5))
def test_new_cells_are_those_that_no_table_before_has(tables: list[AskedTable]) -> None:
    released, known = ReleasedLayers(), set[tuple[tuple[str, str], ...]]()
    for each in tables:
        own = set().union(*(cells_of(box) for box in boxes_of(each.shape)))
        assert released.new_cells(each) == len(own - known)
        known |= own
        released.add(each.shape)
        assert released.new_cells(each) == 0


def exposure_by_hand(tables: list[AskedTable]) -> float:
    """The largest exposure of a cell of the last table: each crossing of it that was released."""
    boxes = {box for each in tables for box in boxes_of(each.shape)}
    cells = {cell for box in boxes_of(tables[-1].shape) for cell in cells_of(box)}
    shown = {cell for box in boxes for cell in cells_of(box)}
    most = 0.0
    for cell in cells:
        given_codes = dict(cell)
        crossings = set[tuple[str, ...]]()
        for box in boxes:
            axes = {axis.variable: axis for axis in box}
            if all(
                name in axes and (axes[name].codes is None or code in (axes[name].codes or ()))
                for name, code in given_codes.items()
            ):
                rest = tuple(sorted(set(axes) - set(given_codes)))
                # Only crossings of which every cell was released add up to the count.
                wanted = itertools.product(*(CODES[name] for name in rest))
                whole = (
                    tuple(sorted([*cell, *zip(rest, codes, strict=True)])) in shown
                    for codes in wanted
                )
                if all(whole):
                    crossings.add(rest)
        most = max(
            most,
            math.fsum(1 / math.prod(SIZES[name] for name in rest) for rest in crossings),
        )
    return most


@given(st.lists(asked_tables(), min_size=1, max_size=4))
def test_exposure_is_never_below_what_can_be_added_up(tables: list[AskedTable]) -> None:
    released = ReleasedLayers()
    for each in tables[:-1]:
        released.add(each.shape)
    found = released.most_exposed(tables[-1]).exposure
    assert found >= exposure_by_hand(tables) - 1e-9


def test_the_order_of_tables_does_not_matter() -> None:
    generator = np.random.default_rng(3)
    tables = [table("a", "b"), table("b", "c"), table("c", a="a0"), table("a", place="place1")]
    last, found = table("a", "c"), set[float]()
    for _ in range(6):
        released = ReleasedLayers()
        for at in generator.permutation(len(tables)):
            released.add(tables[at].shape)
            released.most_exposed(last)
        found.add(round(released.most_exposed(last).exposure, 12))
    assert len(found) == 1


def test_counts_of_areas_have_limits_of_their_own() -> None:
    asked, levels = table("a", "b", "c", "place"), {"place": 2.0}
    found = ReleasedLayers().most_exposed(asked, 100.0, levels)
    assert (found.exposure, found.limit) == (pytest.approx(exposure_of([[2], [3], [4]])), 2.0)
    assert found.target == ("place place",)
    assert ReleasedLayers().most_exposed(asked, 100.0, {}).share > 1
    assert ReleasedLayers().most_exposed(table("a", "b"), 100.0, levels).share < 1


LEVELS = {
    "region": [("state", 4), ("district", 20), ("town", 60)],
    "to": [("state", 4), ("town", 60)],
    "age": [("five", 9), ("one", 40)],
    "sex": [("sex", 2)],
}


def _drawn(draw: random.Random, name: str, *, coded: bool) -> LayerAxis:
    level, size = draw.choice(LEVELS[name])
    number = draw.choice([1, 1, 1, 2, 3]) if size > 3 else 1
    codes = sorted(draw.sample([f"{level}{at}" for at in range(size)], number))
    return LayerAxis(name, level, size, tuple(codes) if coded else None, name in ("region", "to"))


def _asked(draw: random.Random) -> AskedTable:
    """A table of some levels and codes, with filters of one or several codes."""
    by, where = [], []
    for name in draw.sample(sorted(LEVELS), draw.randrange(1, 4)):
        axis = _drawn(draw, name, coded=draw.random() < 0.6)
        if axis.codes and draw.random() < 0.7:
            where.append(axis)
        else:
            other = _drawn(draw, name, coded=draw.random() < 0.3)
            several = other.level != axis.level and draw.random() < 0.3
            by.append((*((None,) * (draw.random() < 0.7)), axis, *((other,) * several)))
    return AskedTable(dataset="d", version="1", unit="u", by=tuple(by), where=tuple(where),
                      cells=1, digest=str(draw.random()), apart={})  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_few_of_the_releases_tell_as_much_as_all(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, quick, slow = random.Random(seed), ReleasedLayers(), ReleasedLayers()
    fewer = 0
    for _ in range(60):
        asked = _asked(draw)
        rows, found = quick._telling(asked), quick.most_exposed(asked)
        with monkeypatch.context() as patch:
            patch.setattr(ReleasedLayers, "_telling", lambda *_: None)
            assert slow.most_exposed(asked) == found
        fewer += rows is not None and len(rows) < len(quick)
        for released in (quick, slow):
            released.add(asked.shape)
    assert fewer > 20
