"""Sums of variables that add up: a withheld one follows from the others of its cell.

In: the sums that a program shows, with the values of records (CONFIDENTIAL). Out: which variables
are tied by a relation that holds in all records, and in which cells one sum of it is all that is
withheld. Where all are withheld in the same cells, each is as uncertain as it is alone; anything
else between that and an open cell is not examined, and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.tables import (
    COUNT,
    NEAR,
    ValueRelation,
    found_relations,
    near_relations,
    pairs_apart,
)
from discreet_fire.linked_tables.small_counts import ShownSums
from discreet_fire.linked_tables.system import same_values


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RelatedSums:
    """Sums of the same cells that a relation ties together (confidential)."""

    relation: ValueRelation
    #: For each variable all that shows its sums; empty where their cells are other ones
    sums: tuple[tuple[ShownSums, ...], ...]

    @property
    def hidden(self) -> list[BoolArray]:
        """For each variable the cells in which nothing shows its sum."""
        return [np.all([one.place.hidden for one in own], axis=0) for own in self.sums]

    @property
    def alike(self) -> bool:
        """Whether all are withheld in the same cells."""
        masks = self.hidden
        return bool(masks) and all((mask == masks[0]).all() for mask in masks)

    def opened(self) -> Iterator[tuple[int, int]]:
        """Withheld sums that are the only one of their relation in a cell: variable and cell."""
        masks = self.hidden
        number = np.sum(masks, axis=0) if masks else np.zeros(0)
        for at, (own, mask) in enumerate(zip(self.sums, masks, strict=True)):
            withheld = np.all([one.place.withheld for one in own], axis=0)
            for cell in np.flatnonzero(withheld & mask & (number == 1)).tolist():
                yield at, cell

    def __repr__(self) -> str:
        return f"<RelatedSums (confidential): {len(self.sums)}>"


def related_sums(tables: Sequence[ShownSums]) -> list[RelatedSums]:
    """Sums with relations between them, of which any is withheld."""
    groups = same_values([one for one in tables if not one.weighted])
    if len(groups) < 2 or not any(one.place.withheld.any() for own in groups for one in own):
        return []
    names = [f"{own[0].variable} {at}" for at, own in enumerate(groups)]
    known = [_values_of(own) for own in groups]
    common = reduce(np.intersect1d, [records for records, _ in known])
    columns = {
        name: values[np.searchsorted(records, common)]
        for name, (records, values) in zip(names, known, strict=True)
    }
    columns[COUNT] = np.ones(len(common))
    relations = found_relations(columns, repeated=True)
    relations += pairs_apart(near_relations(columns, NEAR), relations)
    related = []
    for relation in relations:
        own = [at for at, name in enumerate(names) if name in relation.values]
        if len(own) > 1 and any(one.place.withheld.any() for at in own for one in groups[at]):
            called = dict(zip(names, (each[0].variable for each in groups), strict=True))
            told = ValueRelation(
                tuple((called.get(name, name), factor) for name, factor in relation.coefs),
                each=relation.each,
                share=relation.share,
            )
            related += _in_cells(told, [groups[at] for at in own])
    return related


def _values_of(own: Sequence[ShownSums]) -> tuple[IntArray, FloatArray]:
    """The records of a variable, and the value of each."""
    records, first = np.unique(
        np.concatenate([one.place.records for one in own]), return_index=True
    )
    return records, np.concatenate([one.values for one in own])[first]


def _in_cells(relation: ValueRelation, groups: Sequence[Sequence[ShownSums]]) -> list[RelatedSums]:
    """The sums of a relation, cells by cells."""
    by_cells: dict[tuple[bytes, bytes], dict[int, list[ShownSums]]] = {}
    for at, own in enumerate(groups):
        for one in own:
            order = np.argsort(one.place.records, kind="stable")
            key = one.place.records[order].tobytes(), one.place.cells[order].tobytes()
            by_cells.setdefault(key, {}).setdefault(at, []).append(one)
    every, loose = [], False
    for found in by_cells.values():
        listed = tuple(tuple(own) for own in found.values())
        if len(listed) == len(groups):
            every.append(RelatedSums(relation=relation, sums=listed))
        else:
            loose |= any(one.place.withheld.any() for own in listed for one in own)
    return [*every, RelatedSums(relation=relation, sums=())] if loose or not every else every
