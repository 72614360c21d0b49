"""The ledger of universes: differences of few are found, decided with noise, and kept sealed."""

import dataclasses
import itertools
import re

import numpy as np
import pytest

from discreet.arrays import UintArray
from discreet_service.policies import PolicyError
from discreet_service.policies.document import DifferencePolicy
from discreet_service.policies.ledger import UniverseDefinition, UniverseLedger
from discreet_service.policies.sketches import UniverseSketch
from tests.helpers.rows import for_all_rows

LIMITS = DifferencePolicy(least=10, blur=2, most_universes=100)
PLAIN = DifferencePolicy(least=10, blur=0, most_universes=100)
ALL = np.random.default_rng(5).integers(0, 2**63, 3000).astype(np.uint64)


def named(**codes: str) -> UniverseDefinition:
    conditions = tuple((name, name, (code,), 10) for name, code in sorted(codes.items()))
    return UniverseDefinition(unit="person", conditions=conditions)


def sketch(units: UintArray) -> UniverseSketch:
    return UniverseSketch.of(units, 30)


def ledger(
    *universes: tuple[UniverseDefinition, UintArray], key: bytes = b"k" * 32
) -> UniverseLedger:
    found = UniverseLedger(key=key)
    for definition, units in universes:
        found.add(definition, sketch(units))
    return found


def refuses(
    book: UniverseLedger, units: UintArray, policy: DifferencePolicy = LIMITS, **codes: str
) -> bool:
    return any(one.small for one in book.few(named(**codes), sketch(units), policy))


@for_all_rows("apart", range(0, 10))
def test_fewer_than_the_least_is_always_refused(apart: int) -> None:
    book = ledger((named(a="1"), ALL[:500]))
    assert refuses(book, ALL[: 500 + apart], b="1")


@pytest.mark.parametrize("apart", [14, 20, 100])
def test_more_than_the_least_and_the_blur_is_never_refused(apart: int) -> None:
    book = ledger((named(a="1"), ALL[:500]))
    assert not refuses(book, ALL[: 500 + apart], b="1")


def test_in_between_noise_decides_always_the_same_way() -> None:
    found = []
    for key in range(9):
        secret = bytes([key]) * 32
        book = ledger((named(a="1"), ALL[:500]), key=secret)
        turned = ledger((named(a="1"), ALL[:511]), key=secret)
        one, other = refuses(book, ALL[:511], b="1"), refuses(turned, ALL[:500], b="1")
        assert one == other == refuses(book, ALL[:511], c="7")
        found.append(one)
    assert 0.2 < np.mean(found) < 0.95


def test_parts_of_a_whole_by_their_filters_are_no_matter() -> None:
    book = ledger((named(a="1"), ALL[:500]))
    assert not refuses(book, ALL[:499], a="1", b="2")
    assert refuses(book, ALL[:499], b="2")
    # Men and women of a place are the place, up to who has no sex.
    book = ledger((named(a="1"), ALL[:500]), (named(a="1", s="m"), ALL[:250]))
    assert not refuses(book, ALL[250:499], a="1", s="f")


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_sums_and_rests_of_released_ones_are_found(parts: int) -> None:
    cuts = np.linspace(0, 1200, parts + 1).astype(int)
    pieces = [
        (named(p=str(at)), ALL[low:high]) for at, (low, high) in enumerate(itertools.pairwise(cuts))
    ]
    assert refuses(ledger(*pieces), ALL[:1203], q="1")
    whole = (named(q="1"), ALL[:1203])
    assert refuses(ledger(whole, *pieces[1:]), pieces[0][1], p="0")
    assert not refuses(ledger(*pieces), ALL[:1240], q="1")


def test_universes_apart_by_their_codes_are_told_apart_without_a_search() -> None:
    """With one code for each unit the verdicts are the same as those of the search by marks."""
    draw = np.random.default_rng(8)
    codes = {name: draw.integers(0, most, len(ALL)) for name, most in (("t", 6), ("s", 2))}
    codes["q"] = codes["t"] // 3 + (draw.random(len(ALL)) < 0.002)
    chosen = [
        {name: int(draw.integers(0, codes[name].max() + 1)) for name in names}
        for names in [("t",), ("q",), ("s",), ("t", "s"), ("q", "s")] * 8
    ]
    book, verdicts = ledger(), list[bool]()
    for one in chosen:
        inside = np.all([codes[name] == code for name, code in one.items()], axis=0)
        definition = named(**{name: str(code) for name, code in one.items()})
        if definition in book:
            continue
        own = sketch(ALL[inside])
        related = {name: frozenset({str(code)}) for name, code in one.items()}
        found = [
            any(few.small for few in book.few(definition, each, PLAIN))
            for each in (own, dataclasses.replace(own, related=related))
        ]
        assert found[0] == found[1]
        verdicts.append(found[0])
        book.add(definition, own)
    assert {*verdicts} == {True, False}


def test_what_is_no_matter_hides_nothing() -> None:
    """A released part that is nearly the same does not keep a sum from being found."""
    pieces = [(named(p="0"), ALL[:300]), (named(p="1"), ALL[300:600])]
    book = ledger((named(a="1"), ALL[:602]), *pieces)
    assert refuses(book, ALL[:601], a="1", b="1")


def test_staff_is_told_of_near_ones() -> None:
    book = ledger((named(a="1"), ALL[:500]))
    near = book.few(named(b="1"), sketch(ALL[:520]), LIMITS)
    assert [one.small for one in near] == [False]
    assert not book.few(named(b="1"), sketch(ALL[:530]), LIMITS)
    assert not refuses(ledger(), ALL[:100], a="1")


def test_without_blur_the_least_is_exact() -> None:
    book = ledger((named(a="1"), ALL[:500]))
    assert refuses(book, ALL[:509], PLAIN, b="1")
    assert not refuses(book, ALL[:510], PLAIN, b="1")


def test_sketches_are_sealed_and_belong_to_their_place() -> None:
    key, own = b"x" * 32, sketch(ALL[:500])
    sealed = own.sealed(key, b"town|1|a")
    opened = UniverseSketch.opened(sealed, key, b"town|1|a")
    assert opened.count == 500
    assert np.array_equal(opened.sums, own.sums)
    assert np.array_equal(opened.marks, own.marks)
    assert sealed != own.sealed(key, b"town|1|a")
    changed = sealed[:40] + bytes([sealed[40] ^ 1]) + sealed[41:]
    for damaged, about in ((changed, b"town|1|a"), (sealed, b"town|1|b"), (b"", b"town|1|a")):
        with pytest.raises(PolicyError, match="changed"):
            UniverseSketch.opened(damaged, key, about)
    shown = repr(own) + repr(ledger((named(a="1"), ALL[:500])))
    assert "500" not in re.sub("0x[0-9a-f]+", "", shown)  # where it lies in memory is no figure


def test_sketches_that_are_too_short_refuse() -> None:
    book = ledger((named(a="1"), ALL[:500]))
    with pytest.raises(PolicyError, match="too short"):
        book.few(named(b="1"), sketch(ALL[:400]), LIMITS.model_copy(update={"least": 16}))


def test_levels_of_one_variable_are_nested() -> None:
    county = UniverseDefinition(unit="p", conditions=(("place", "county", ("1",), 10),))
    town = UniverseDefinition(unit="p", conditions=(("place", "town", ("17",), 100),))
    men = UniverseDefinition(
        unit="p", conditions=(("place", "county", ("1",), 10), ("sex", "sex", ("m",), 2))
    )
    assert town.refines(county)
    assert not county.refines(town)
    assert not town.refines(men)
    assert not men.refines(town)
    assert UniverseDefinition.of_text(men.text) == men
