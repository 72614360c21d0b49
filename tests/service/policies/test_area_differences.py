"""Areas of two systems that hold nearly the same people: all of them are found."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_service.policies import PolicyError
from discreet_service.policies.areas import AreaLevel, area_differences


def level(system: str, name: str, codes: list[int | None]) -> AreaLevel:
    labels = sorted({code for code in codes if code is not None})
    found = [-1 if code is None else labels.index(code) for code in codes]
    return AreaLevel(system=system, name=name, labels=tuple(map(str, labels)),
                     codes=np.array(found, dtype=np.int64))  # fmt: skip


Pair = tuple[tuple[str, str], tuple[str, str]]


def by_hand(levels: list[AreaLevel], least: int) -> dict[Pair, int]:
    """Every pair of areas of two systems, as sets of records."""
    areas = {
        (each.title, label, each.system): {int(at) for at in np.flatnonzero(each.codes == number)}
        for each in levels
        for number, label in enumerate(each.labels)
    }
    found = {}
    for one, first in areas.items():
        for other, second in areas.items():
            apart = len(first ^ second)
            if one[2] < other[2] and 0 < apart < least and first & second:
                found[one[:2], other[:2]] = apart
    return found


@st.composite
def systems(draw: st.DrawFn) -> list[AreaLevel]:
    """A system of two nested levels, one that covers only some, and a third."""
    size = draw(st.integers(1, 40))
    code = st.integers(0, 3)
    fine = draw(st.lists(code, min_size=size, max_size=size))
    square = draw(st.lists(st.none() | code, min_size=size, max_size=size))
    third = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    return [
        level("a", "fine", fine),
        level("a", "coarse", [each // 2 for each in fine]),
        level("b", "square", square),
        level("c", "zone", third),
    ]


@given(systems(), st.integers(2, 8))
def test_all_pairs_are_found_and_no_others(levels: list[AreaLevel], least: int) -> None:
    report = area_differences(levels, least=least)
    found = {
        ((one.first, one.first_code), (one.second, one.second_code)): one.records
        for one in report.differences
    }
    assert found == by_hand(levels, least)
    for each in levels:
        sizes = np.bincount(each.codes[each.codes >= 0], minlength=len(each.labels))
        small = {each.labels[at] for at in np.flatnonzero((sizes > 0) & (sizes < least))}
        assert small == {code for title, code in report.small if title == each.title}


@given(systems(), st.integers(2, 8))
def test_no_pair_is_left_without_the_areas_to_merge(levels: list[AreaLevel], least: int) -> None:
    report = area_differences(levels, least=least)
    pairs = [
        {(one.first, one.first_code), (one.second, one.second_code)} for one in report.differences
    ]
    number = Counter(itertools.chain.from_iterable(pairs))
    assert report.levels == Counter(title for pair in pairs for title, _ in pair)
    merged = [number[area] for area in report.merges]
    assert merged == sorted(merged, reverse=True)
    assert merged[:1] == [many for _, many in number.most_common(1)]
    for area in report.merges:  # none of them in vain
        left = [pair for pair in pairs if area not in pair]
        assert len(left) < len(pairs)
        pairs = left
    assert pairs == []


@given(systems())
def test_classes_within_areas_are_those_of_both(levels: list[AreaLevel]) -> None:
    _, coarse, square, zone = levels
    for place in (square, zone):
        own = coarse.within(place)
        assert own.title == f"a coarse by {place.title}"
        for code, area, both in zip(coarse.codes, place.codes, own.codes, strict=True):
            assert (both < 0) == (area < 0)
            if area >= 0:
                assert own.labels[both] == f"{place.labels[area]}, {coarse.labels[code]}"
    report = area_differences(levels, least=5)
    assert report.atoms == len(set(zip(*(one.codes.tolist() for one in levels), strict=True)))
    assert area_differences([], least=5).atoms == 0
    pairs = [(each[0], each[1], each[2], each[3]) for each in report.document()["differences"]]
    assert pairs == [(one.first, one.first_code, one.second, one.second_code)
                     for one in report.differences]  # fmt: skip


def test_levels_of_one_classification_are_nested_and_no_matter() -> None:
    fine = [0] * 30 + [1] * 3 + [2] * 30
    levels = [level("a", "fine", fine), level("a", "coarse", [0] * 33 + [1] * 30)]
    assert area_differences(levels, least=10).differences == ()


def test_a_report_names_remedies_and_shows_nothing_by_itself() -> None:
    town = level("town", "t", [0] * 52 + [1] * 48)
    grid = level("grid", "1km", [0] * 50 + [1] * 50)
    report = area_differences([town, grid], least=10)
    assert report.levels == {"town t": 2, "grid 1km": 2}
    assert report.document()["differences"][0][-1] == 2
    assert "2" not in repr(report) + repr(report.differences[0]).split("0")[0]


def test_input_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PolicyError, match="different records"):
        area_differences([level("a", "x", [1]), level("b", "y", [1, 2])], least=5)
    with pytest.raises(PolicyError, match="twice"):
        area_differences([level("a", "x", [1]), level("a", "x", [1])], least=5)
    with pytest.raises(PolicyError, match="at least"):
        area_differences([level("a", "x", [1])], least=1)
