"""What follows from figures of sets: against the rank of all of them, worked out apart."""

from __future__ import annotations

import itertools
from itertools import combinations

import numpy as np
import pytest

import discreet as dc
from discreet.disclosure import (
    PublishedCells,
    ShownSets,
    TooManySetsError,
    published_axes,
    unexamined_names,
)
from discreet.protection.suppression import Suppression
from discreet.tables import CellStatus, ProtectedTable, Provenance
from tests.disclosure.test_leaks import open_cells, people_of
from tests.disclosure.test_relations import VARIABLES, Spec, bands, incidence, population, tabulated


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shown sets over twelve atoms, and how many units each atom has."""
    rng = np.random.default_rng(seed)
    cases = rng.choice([1, 1, 1, 2, 5, 9], 12)
    return rng.random((int(rng.integers(6, 12)), 12)) < 0.45, cases


def of(sets: np.ndarray, cases: np.ndarray) -> ShownSets:
    atom_of = np.repeat(np.arange(len(cases)), cases)
    return ShownSets([np.flatnonzero(one) for one in sets], atom_of, np.arange(cases.sum()), 12)


def follows(sets: np.ndarray, one: np.ndarray) -> bool:
    rank = np.linalg.matrix_rank(sets.astype(float))
    return bool(np.linalg.matrix_rank(np.vstack([sets, one]).astype(float)) == rank)


@pytest.mark.parametrize("seed", range(30))
def test_small_groups_are_found_if_and_only_if_they_follow(seed: int) -> None:
    sets, cases = drawn(seed)
    shown = of(sets, cases)
    few = {tuple(np.flatnonzero(one).tolist()) for one in shown.few(3)}
    expected = set()
    for size in (1, 2):
        for atoms in itertools.combinations(range(12), size):
            one = np.isin(np.arange(12), atoms)
            if cases[one].sum() < 3 and follows(sets, one):
                expected.add(atoms)
    assert few == expected
    for atoms in few:
        figure = np.isin(np.arange(12), atoms)
        reason = shown.reason(figure)
        assert np.allclose(sum(by * sets[at] for at, by in reason), figure)


def test_the_seeds_have_groups_that_follow() -> None:
    assert sum(len(of(*drawn(seed)).few(3)) for seed in range(30)) > 30


def test_differences_between_units_are_figures_of_sums_only() -> None:
    sets = np.zeros((2, 12), dtype=bool)
    sets[0, [0, 3]] = sets[1, [0, 4]] = True
    cases = np.array([9] * 3 + [1] * 2 + [9] * 7)
    assert not len(of(sets, cases).few(3))
    (figure,) = of(sets, cases).few(3, signed=True)
    assert np.flatnonzero(figure).tolist() == [3, 4]


def test_one_unit_in_many_atoms_is_one_unit() -> None:
    owners = np.concatenate([np.arange(20), np.zeros(6, dtype=np.int64)])
    atom_of = np.concatenate([np.zeros(20, dtype=np.int64), np.arange(1, 7)])
    shown = ShownSets([range(7), [0]], atom_of, owners, 7)
    (figure,) = shown.few(3)
    assert np.flatnonzero(figure).tolist() == [1, 2, 3, 4, 5, 6]


def test_too_many_sets_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(*drawn(1)).eliminated
    with monkeypatch.context() as patch:
        patch.setattr("discreet.disclosure.shown_sets._STEPS", 1)
        assert not of(*drawn(1)).eliminated
    monkeypatch.setattr("discreet.disclosure.shown_sets._MOST", 1)
    with pytest.raises(TooManySetsError):
        of(*drawn(1)).few(3)


BANDS = {"narrow": bands("narrow", 10), "wide": bands("wide", 15)}


def published(table: dc.Table) -> ProtectedTable:
    """A table as it is."""
    return ProtectedTable(
        dimensions=table.dimensions,
        index=table.index,
        value=table.count,
        status=np.full(len(table), CellStatus.published, dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key"),
        name=table.name,
        parts=table.parts,
    )


def crossings(draw: np.random.Generator) -> list[Spec]:
    """Nearly all pairs of some variables, sometimes with three of them together."""
    names = draw.choice(VARIABLES, int(draw.integers(2, 5)), replace=False).tolist()
    sets = [list(pair) for pair in combinations(names, 2)]
    sets += [names[:3]] if draw.random() < 0.5 and len(names) > 2 else []
    sets = [own for own in sets if draw.random() < 0.9] or sets
    return [([BANDS.get(name, name) for name in own], None) for own in sets]


def free_cells(tables: list[ProtectedTable]) -> int:
    """How many cells are free, as far as names tell."""
    cells = PublishedCells("", published_axes(tables))
    for table in tables:
        cells.take(table)
    cells.complete()
    sizes = [len(layer) for layer in cells.layers.values()]
    first = dict(zip(cells.layers, np.cumsum([0, *sizes]).tolist(), strict=False))
    values = np.concatenate([layer.value for layer in cells.layers.values()])
    rows = [np.zeros((0, len(values)))]
    for step in cells.steps():
        row = np.zeros((len(step.coarse), len(values)))
        row[np.arange(len(row)), first[step.coarse.key] + np.arange(len(row))] = -1
        row[step.place, first[step.fine.key] + step.inside] = 1
        rows.append(row[step.number > 0])
    matrix = np.concatenate(rows)
    assert not (matrix @ values).any()
    return len(values) - int(np.linalg.matrix_rank(matrix))


def test_names_tell_all_that_adds_up_or_a_gap_says_so() -> None:
    seen = {"told": 0, "said": 0}
    for seed in range(40):
        people = population(seed, 3_000)
        tables = tabulated(people, crossings(np.random.default_rng(seed)))
        shown = [published(table) for table in tables]
        missed = free_cells(shown) > np.linalg.matrix_rank(incidence(people, tables))
        gaps = unexamined_names({"": shown})
        assert gaps or not missed, (seed, [table.name for table in tables])
        seen["told"] += not gaps
        seen["said"] += missed
    assert min(seen.values()) > 5, seen


@pytest.mark.parametrize(("seed", "sex"), [(0, []), (4, ["sex"])])
def test_audits_by_name_say_that_crossed_variables_go_together(seed: int, sex: list[str]) -> None:
    """State and district are crossed, but never together with work and sex."""
    people = people_of(seed)
    pairs = (["district", "state", *sex], ["district", "work", "sex"], ["state", "work", "sex"])
    tables = tabulated(people, [(by, None) for by in pairs])
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    safe = list(Suppression.of(list(zip(tables, judged, strict=True)), method="fast").tables)
    assert open_cells(people, tables, safe, judged) > 0
    assert dc.audit(safe, tables, judged, records=people).verdict == "open"
    audit = dc.audit(safe, tables, judged)
    assert audit.verdict == "not examined"
    assert [gap.name for gap in audit.judgement.gaps] == ["dependencies between district, state"]
    apart = [(["district", "work", "sex"], None), (["work", "sex"], None)]
    tables = tabulated(people, apart)
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    safe = list(Suppression.of(list(zip(tables, judged, strict=True)), method="fast").tables)
    assert dc.audit(safe, tables, judged).verdict == "safe"
