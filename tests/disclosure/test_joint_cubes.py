"""Readers of A x B, A x C and B x C, who know that no combination of all three is negative."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.disclosure.cores import LinkedTable, cores_of, cyclic_cores, layers_of
from discreet.errors import SuppressionError
from discreet.protection.suppression import build_problem, find_pattern
from discreet.protection.suppression.proof import certificate
from discreet.tables import ProtectedTable, Table
from tests.disclosure.test_outside_readers import careless, sensitive_among
from tests.helpers.atoms_apart import alike_system, cells_of
from tests.helpers.attacker_apart import Demand
from tests.helpers.protected_tables import with_hidden
from tests.helpers.reader_of_records import AtomReader, codes_of, known_cells


def records(seed: int, number: int = 150) -> pl.DataFrame:
    """Persons whose three variables depend on each other: b and c mostly are what a is."""
    draw = np.random.default_rng(seed)
    columns = {"a": draw.integers(0, 5, number)}
    for name in ("b", "c"):
        far = draw.random(number) < 0.1
        columns[name] = np.where(
            far, (columns["a"] + draw.integers(1, 5, number)) % 5, columns["a"]
        )
    return pl.DataFrame({name: [f"{name}{x}" for x in part] for name, part in columns.items()})


def linked(persons: pl.DataFrame, **options: Any) -> list[Table]:
    return [dc.tabulate(persons, [*pair], **options) for pair in combinations("abc", 2)]


def sensitive_cells(table: Table) -> np.ndarray:
    return (table.count > 0) & (table.count < 3)


def by_relations_only(tables: list[Table]) -> list[ProtectedTable]:
    """What was published before joint cubes were examined."""
    sources = [(table, sensitive_cells(table)) for table in tables]
    problem, members = build_problem(sources)
    return with_hidden(tables, members, find_pattern(problem, "fast").hidden)


def exact(tables: list[Table], safe: list[ProtectedTable]) -> set[tuple[str, ...]]:
    """Sensitive cells that a reader of all combinations computes, written apart."""
    codes = [[f"{name}{x}" for x in range(5)] for name in "abc"]
    kinds = pl.DataFrame(list(product(*codes)), schema=[*"abc"], orient="row")
    return known_cells(kinds, tables, safe, [sensitive_cells(table) for table in tables])


@pytest.mark.parametrize("seeds", [[4], pytest.param(range(3), marks=pytest.mark.exhaustive)])
def test_no_cell_that_a_joint_cube_opens_is_called_safe(seeds: range) -> None:
    """Row by row as an integer program over a x b x c finds them, whatever tables hide."""
    opened = 0
    for seed in seeds:
        tables = linked(records(seed))
        before = by_relations_only(tables)
        found = dc.audit(before, tables, [sensitive_cells(table) for table in tables])
        expected = exact(tables, before)
        named = {tuple(sorted(name.split(", "))) for name in found.exact}
        assert named == expected
        assert found.verdict == ("open" if expected else "safe")
        opened += len(expected)
        after = dc.suppress([(table, sensitive_cells(table)) for table in tables], method="fast")
        assert not exact(tables, after)
        assert dc.audit(after, tables, [sensitive_cells(table) for table in tables]).safe
    assert opened or 4 not in seeds


def test_what_is_too_large_is_not_examined_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "MOST_ATOMS", 3)
    tables = linked(records(1))
    sources = [(table, sensitive_cells(table)) for table in tables]
    with pytest.raises(SuppressionError) as refused:
        dc.suppress(sources, method="fast")
    assert refused.value.code == "not-examined"
    assert 'accept = ["joint cube of a, b, c"]' in str(refused.value)
    safe = dc.suppress(sources, method="fast", accept=["joint cube of a, b, c"])
    judged = [sensitive for _, sensitive in sources]
    found = dc.audit(safe, tables, judged)
    assert (found.verdict, found.safe) == ("not examined", False)
    assert found.described()["not_examined"][0]["name"] == "joint cube of a, b, c"
    assert "Not examined: joint cube of a, b, c (" in found.text()
    accepted = dc.audit(safe, tables, judged, accept=["joint cube of a, b, c"])
    assert accepted.safe
    assert "Not examined, accepted: joint cube of a, b, c" in accepted.text()


def test_trees_of_tables_have_no_core_and_nothing_to_examine() -> None:
    persons = records(2)
    cases: dict[str, list[list[str]]] = {
        "chain": [["a", "b"], ["b", "c"]],
        "star": [["a", "b"], ["a", "c"]],
        "whole": [["a", "b", "c"], ["a", "b"], ["a", "c"], ["b", "c"]],
    }
    for name, listed in cases.items():
        tables = [dc.tabulate(persons, by) for by in listed]
        cells = [np.arange(len(table)) for table in tables]
        assert not cyclic_cores(layers_of(tables, cells)), name
    tables = linked(persons)
    (core,) = cyclic_cores(layers_of(tables, [np.arange(len(table)) for table in tables]))
    assert core.about == "a, b, c"
    joint = core.combinations(10**6)
    assert not isinstance(joint, int)
    pairs = [set(zip(persons[a], persons[b], strict=True)) for a, b in combinations("abc", 2)]
    possible = [
        (a, b, c)
        for a, b, c in product(*(sorted(set(persons[name])) for name in "abc"))
        if (a, b) in pairs[0] and (a, c) in pairs[1] and (b, c) in pairs[2]
    ]
    assert joint.number == len(possible)


def test_a_filter_is_a_variable_of_its_own() -> None:
    """b by c of some persons only: those of no filter are combinations of their own."""
    persons = records(3).with_columns(age=pl.int_range(pl.len()) % 2)
    tables = [
        dc.tabulate(persons, ["a", "b"]),
        dc.tabulate(persons, ["a"], where="age == 1"),
        dc.tabulate(persons, ["b"], where="age == 1"),
    ]
    (core,) = cyclic_cores(layers_of(tables, [np.arange(len(table)) for table in tables]))
    assert core.about == "a, b"
    joint = core.combinations(10**6)
    assert not isinstance(joint, int)
    everybody = persons.select("a", "b").unique()
    some = persons.filter(pl.col("age") == 1)
    both = everybody.filter(
        pl.col("a").is_in(some["a"].unique().to_list())
        & pl.col("b").is_in(some["b"].unique().to_list())
    )
    assert joint.number == len(everybody) + len(both)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_open_that_a_joint_cube_bounds_within_their_levels(seed: int) -> None:
    """No combination of three columns is negative, and nothing else is known of them."""
    drawn = alike_system(seed)
    judged = [dc.primary(own, [dc.rules.PPercent(10)], value="pay") for own in drawn.tables]
    safe = careless(drawn, judged, seed)
    names, sums, shown = cells_of(drawn, safe)
    true = {name: value for name, _, value in zip(*cells_of(drawn), strict=True)}
    hidden = np.isnan(shown)
    reader = AtomReader(
        sums, np.where(hidden, 1, shown), np.where(hidden, np.inf, shown), whole=False
    )
    asked = {
        (at, *codes): levels
        for at, (table, own) in enumerate(zip(drawn.tables, judged, strict=True))
        for codes, sensitive, *levels in zip(
            codes_of(table), own.sensitive, own.lower, own.upper, own.sliding, strict=True
        )
        if sensitive
    }
    expected = {
        name
        for at, name in enumerate(names)
        if name in asked and not Demand(true[name], *asked[name]).met_by(*reader.interval(at))
    }
    audit = dc.audit(safe, drawn.tables, judged, coalition=0, records=drawn.people)
    assert sensitive_among(drawn, judged, audit, audit.certificate.unprotected) == expected
    told = audit.described()
    assert told["cells"] == sum(map(len, drawn.tables))
    assert told["sensitive"] == len(asked)
    assert told["hidden"] == told["secondaries"] + told["sensitive"] == hidden.sum()


@pytest.mark.parametrize("seed", range(3))
def test_layers_of_a_core_hold_what_is_hidden_or_not_zero(seed: int) -> None:
    draw, tables = np.random.default_rng(seed), linked(records(seed))
    number = draw.permutation(sum(map(len, tables)))
    value, hidden = draw.integers(0, 3, number.size), draw.random(number.size) < 0.3
    number[draw.random(number.size) < 0.2] = -1
    ends = np.cumsum([len(table) for table in tables])[:-1]
    members = [LinkedTable(*own, None) for own in zip(tables, np.split(number, ends), strict=True)]
    (core,) = cores_of(value, np.zeros(number.size), hidden, members)
    inner = {
        cell
        for own in members
        for cell, *codes in zip(own.cells, *own.table.index, strict=True)
        if min(codes) > 0 and cell >= 0 and (hidden[cell] or value[cell])
    }
    assert {cell for layer in core.layers for cell in layer.cells} == inner
