"""Random releases, and averaging over them written apart: dense least squares over all figures.

Nothing of discreet's attacks is used. A cell is a set of combinations of the finest codes; equal
sets count once, figures without noise are substituted.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import discreet as dc
from discreet.protection.noise import PerturbationTable
from discreet.tables import CellStatus, ProtectedTable, Table

SIZES = {"region": 12, "sex": 2, "work": 4, "age": 5}


class Release(NamedTuple):
    """Tables of some persons with noise, and what they were made of."""

    records: pl.DataFrame
    ptable: PerturbationTable
    true: list[Table]
    safe: list[ProtectedTable]


class Figures(NamedTuple):
    """Every figure of a release once: the combinations that it counts, and what it shows."""

    sets: np.ndarray  # cells by combinations of the finest codes
    shown: np.ndarray
    exact: np.ndarray  # official, without noise
    true: np.ndarray


def random_release(seed: int) -> Release:
    """One to four tables that meet; in some a few cells are official, in some suppressed."""
    draw = np.random.default_rng(seed)
    size = int(draw.choice([150, 1_000, 20_000]))
    codes = {name: draw.integers(0, number, size) for name, number in SIZES.items()}
    codes["work"] *= draw.random(size) < 0.8
    region = dc.Classification.from_prefixes(
        "region", [f"{at // 4}{at % 4}" for at in range(12)], lengths=(1, 2)
    )
    records = pl.DataFrame(codes).with_columns(
        region=pl.Series([f"{at // 4}{at % 4}" for at in codes["region"]]),
        record_key=pl.Series(draw.integers(0, 10**15, size)),
    )
    forbidden = (1, 2) if draw.random() < 0.5 else ()
    ptable = dc.design_perturbation(max_noise=4, variance=2.25, forbidden=forbidden)
    true, safe = [], []
    for _ in range(int(draw.integers(1, 5))):
        names = draw.permutation(list(SIZES))[: draw.integers(2, 4)].tolist()
        by = [region if name == "region" else name for name in names]
        true.append(dc.tabulate(records, by=by, record_key="record_key"))
        safe.append(dc.perturb(true[-1], ptable))
    if draw.random() < 0.5:
        safe = [_changed(table, records, draw) for table in safe]
    return Release(records, ptable, true, safe)


def people_of(persons: int) -> pl.DataFrame:
    """Persons in areas of uneven size, by age and work: many cells, some of them small."""
    draw = np.random.default_rng(1)
    area = (draw.integers(0, max(persons // 240, 2), persons) * draw.random(persons)).astype(int)
    codes = {name: draw.integers(0, size, persons) for name, size in (("age", 6), ("work", 5))}
    return pl.DataFrame({"area": area, **codes, "record_key": draw.integers(0, 10**15, persons)})


def _changed(
    table: ProtectedTable, records: pl.DataFrame, draw: np.random.Generator
) -> ProtectedTable:
    """The same with some cells suppressed, and some without noise."""
    true = _sets([table]).astype(int) @ _combinations(records)
    value, status = table.value.copy(), table.status.copy()
    number = _numbers(table)
    for at in np.flatnonzero(draw.random(len(value)) < 0.06).tolist():
        if draw.random() < 0.5:
            value[at], status[at] = true[number[at]], CellStatus.official
        else:
            value[at], status[at] = 0, CellStatus.suppressed
    return replace(table, value=value, status=status)


def _numbers(table: ProtectedTable) -> np.ndarray:
    """The number of each stored cell among all combinations of codes."""
    sizes = [len(dimension) for dimension in table.dimensions]
    return np.ravel_multi_index(tuple(part.astype(int) for part in table.index), sizes)


def _combinations(records: pl.DataFrame) -> np.ndarray:
    """The number of records of each combination of finest codes."""
    leaf = records["region"].str.slice(0, 1).cast(pl.Int64) * 4
    leaf += records["region"].str.slice(1, 1).cast(pl.Int64)
    places = [leaf.to_numpy(), *(records[name].to_numpy() for name in list(SIZES)[1:])]
    number = np.ravel_multi_index(tuple(places), list(SIZES.values()))
    return np.bincount(number, minlength=int(np.prod(list(SIZES.values()))))


def _sets(tables: Sequence[ProtectedTable]) -> np.ndarray:
    """For all codes of all tables crossed, the combinations of finest codes in each cell."""
    blocks = []
    for table in tables:
        within = {name: np.ones((1, size), dtype=bool) for name, size in SIZES.items()}
        for dimension in table.dimensions:
            leaf = np.arange(SIZES[dimension.name])
            texts = [f"{at // 4}{at % 4}" if dimension.name == "region" else str(at) for at in leaf]
            within[dimension.name] = np.array([
                [code == dimension.total or text.startswith(code) for text in texts]
                for code in dimension.codes
            ])  # fmt: skip
        order = [*(d.name for d in table.dimensions), *(n for n in SIZES
                 if n not in {d.name for d in table.dimensions})]  # fmt: skip
        block = reduce(np.kron, [within[name] for name in order]).astype(bool)
        back = np.arange(block.shape[1]).reshape([SIZES[name] for name in order])
        back = back.transpose([order.index(name) for name in SIZES]).ravel()
        blocks.append(block[:, back])
    return np.concatenate(blocks)


def figures_of(release: Release) -> Figures:
    """Every figure once; what one table hides and another shows is shown."""
    sets = _sets(release.safe)
    shown, exact, there = [], [], []
    for table in release.safe:
        sizes = [len(dimension) for dimension in table.dimensions]
        columns = np.zeros((3, int(np.prod(sizes))))
        columns[2] = 1
        number = _numbers(table)
        columns[0, number] = table.value
        columns[1, number] = table.status == CellStatus.official
        columns[2, number] = table.status != CellStatus.suppressed
        for column, own in zip((shown, exact, there), columns, strict=True):
            column.append(own)
    value, official, seen = (np.concatenate(own) for own in (shown, exact, there))
    kept = seen > 0
    # What one table shows without noise is known, whatever noise another adds.
    order = np.argsort(-official[kept], kind="stable")
    cells, first = np.unique(sets[kept][order], axis=0, return_index=True)
    at = order[first]
    true = cells.astype(int) @ _combinations(release.records)
    return Figures(cells, value[kept][at], official[kept][at] > 0, true)


def share_apart(figures: Figures) -> tuple[float, float]:
    """How many noisy figures are true as published, and by the better one of two dense ways."""
    noisy = ~figures.exact & (figures.shown != 0)
    published = float((figures.shown == figures.true)[noisy].mean())
    return published, max(_dense(figures, zeros=zeros)[noisy].mean() for zeros in (False, True))


def _dense(figures: Figures, *, zeros: bool) -> np.ndarray:
    """Which figures least squares find; zeros are true ones, or figures like all others."""
    sets, known = figures.sets, figures.exact.copy()
    if not zeros:
        empty = sets[figures.shown == 0].any(axis=0)
        sets = sets & ~empty
        known |= figures.shown == 0
    pairs = np.column_stack([sets, figures.shown])
    _, once = np.unique(pairs, axis=0, return_index=True)
    noisy = np.array([at for at in once.tolist() if not known[at] and sets[at].any()])
    exact = sets[known & sets.any(axis=1)].astype(float)
    start, free = np.zeros(sets.shape[1]), np.eye(sets.shape[1])
    if len(exact):
        start = np.linalg.lstsq(exact, figures.shown[known & sets.any(axis=1)], rcond=None)[0]
        free = scipy.linalg.null_space(exact)
    own = sets[noisy].astype(float)
    moves = np.linalg.lstsq(own @ free, figures.shown[noisy] - own @ start, rcond=None)[0]
    return np.rint(sets @ (start + free @ moves)) == figures.true


def share_attacked(release: Release) -> tuple[float, float]:
    """The same by `discreet attack`."""
    report = dc.attack({"": release.safe}, truth={"": release.true}, ptable=release.ptable)
    layers = [layer for one in report.universes for layer in one.layers]
    weights = [layer.cells for layer in layers]
    published = np.average([layer.unchanged or 0.0 for layer in layers], weights=weights)
    return float(published), float(np.average([x.found or 0.0 for x in layers], weights=weights))


def share_sparse(safe: ProtectedTable, true: Table) -> tuple[float, float, int]:
    """Of one table without trees: least squares to machine precision over all that it shows.

    Zeros are true. Gives how many noisy figures are true as published, by least squares, and their
    number.
    """
    sizes = [len(dimension) for dimension in safe.dimensions]
    shown = safe.value != 0
    index = [part[shown].astype(np.int64) for part in safe.index]
    inner = np.flatnonzero(np.all([part > 0 for part in index], axis=0))
    cells = np.ravel_multi_index(tuple(index), sizes)
    rows, columns = [], []
    for mask in range(2 ** len(sizes)):
        part = [own[inner] * (mask >> at & 1) for at, own in enumerate(index)]
        number = np.ravel_multi_index(tuple(part), sizes)
        order = np.argsort(cells)
        place = np.searchsorted(cells[order], number)
        inside = place < len(cells)
        inside[inside] &= cells[order][place[inside]] == number[inside]
        rows.append(order[place[inside]])
        columns.append(np.flatnonzero(inside))
    row, column = np.concatenate(rows), np.concatenate(columns)
    sums = scipy.sparse.csr_array(
        (np.ones(len(row)), (row, column)), shape=(len(cells), len(inner))
    )
    # Cells of one set with one figure carry the same noise: the finest of them counts.
    hashed = np.random.default_rng(0).integers(1, 2**62, len(inner))
    total = np.zeros(len(cells), dtype=np.int64)
    np.add.at(total, row, hashed[column])
    _, once = np.unique(np.column_stack([total, safe.value[shown]]), axis=0, return_index=True)
    figure = safe.value[shown].astype(float)
    solution = scipy.sparse.linalg.lsmr(
        sums[once], figure[once], atol=1e-13, btol=1e-13, maxiter=20_000
    )[0]
    known = dict(zip(
        np.ravel_multi_index(tuple(p.astype(np.int64) for p in true.index), sizes).tolist(),
        true.count.tolist(), strict=True,
    ))  # fmt: skip
    truth = np.array([known.get(at, 0) for at in cells.tolist()])
    found = np.rint(sums @ solution) == truth
    return float((figure == truth).mean()), float(found.mean()), len(cells)
