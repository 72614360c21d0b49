"""What names tell of published tables is all there is, or a gap says that it is not.

The truth is the rank of cells as sets of records, worked out apart.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import discreet as dc
from discreet.disclosure import PublishedCells, published_axes, unexamined_names
from discreet.protection.suppression import Suppression
from discreet.tables import CellStatus, ProtectedTable, Provenance
from tests.disclosure.test_leaks import open_cells, people_of
from tests.disclosure.test_relations import VARIABLES, Spec, bands, incidence, population, tabulated

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
