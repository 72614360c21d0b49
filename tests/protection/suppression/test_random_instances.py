"""Random tables of every kind, by every method, against an attacker written apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression
from tests.helpers.attacker_apart import Cell
from tests.helpers.random_tables import KINDS, Case, make

METHODS = ("fast", "auto", "optimal", "modular", "hypercube")


def outcomes(case: Case, methods: Sequence[str] = METHODS) -> dict[str, Suppression] | None:
    """What each method makes of a case; None if all say that nothing can protect it."""
    found: dict[str, Suppression] = {}
    refused = {}
    for method in methods:
        try:
            found[method] = case.protected(method)
        except SuppressionError as error:
            refused[method] = error.code
    if not refused:
        return found
    assert refused == dict.fromkeys(methods, "infeasible")
    assert case.attacker(case.may_be_hidden()).open_cells(case.demands())
    return None


def compare(found: dict[str, Suppression]) -> None:
    """Costs and bounds of the methods."""
    assert len({done.pattern.problem for done in found.values()}) == 1
    bound = found["auto"].pattern.bound
    assert bound is not None
    if "optimal" in found:
        best = found["optimal"].pattern
        guarded = any("alone make up suppressed" in note for note in best.notes)
        assert bound <= best.cost
        assert guarded or (best.optimal and best.cost == best.bound)
        bound = best.bound
        assert bound is not None
    for done in found.values():
        assert done.pattern.cost >= bound
        assert done.pattern.complete


def attack(case: Case, done: Suppression) -> None:
    """No reader of the published tables comes too close to a sensitive cell."""
    reader = case.reader(list(done.tables))
    assert reader.open_cells(case.demands()) == []
    if case.options["singletons"]:
        everything = case.attacker(case.may_be_hidden())
        for pair in case.lone_sums():
            if spread(everything, pair) >= 1:
                assert spread(reader, pair) >= 0.99


def spread(attacker: Any, cells: dict[Cell, int]) -> float:
    """Over how many units a sum of cells can lie."""
    unknown = {cell: coef for cell, coef in cells.items() if cell in attacker.blanks}
    return attacker.farthest(unknown, 1) - attacker.farthest(unknown, -1) if unknown else 0.0


def check(kind: str, seed: int, size: str = "small", methods: Sequence[str] = METHODS) -> None:
    case = make(kind, seed, size)
    found = outcomes(case, methods)
    if found is None:
        return
    compare(found)
    for done in found.values():
        attack(case, done)


#: Kinds that take long: `make test-more` has them.
SLOW = ("singletons", "zeros", "linked")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SLOW])
def test_no_sensitive_cell_is_open_in_one(kind: str) -> None:
    check(kind, 101)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_no_sensitive_cell_is_open(kind: str) -> None:
    for seed in range(2):
        check(kind, seed)
    # In three dimensions proving the optimum can take a minute.
    methods = [method for method in METHODS if kind != "three-way" or method != "optimal"]
    check(kind, 0, "medium", methods)


# -- the cheapest pattern by trying all ---------------------------------------------


def test_the_attacker_finds_what_is_open() -> None:
    """Without the secondaries of a pattern, or with one of them shown, cells are open."""
    opened, seeds = 0, 3
    for seed in range(seeds):
        case = make("hierarchical", seed)
        demands = case.demands()
        try:
            reader = case.reader(list(case.protected("optimal").tables))
        except SuppressionError:
            continue
        second = set(reader.blanks) - set(demands)
        for cell in sorted(second, key=str)[:3]:
            less = case.attacker(set(reader.blanks) - {cell})
            # An optimal pattern needs every secondary that costs anything.
            opened += bool(less.open_cells(demands))
    assert opened >= 2
