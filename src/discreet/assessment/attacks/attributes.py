"""Attributes: rows with one category only, which tell that of everybody in them.

In: published cells, with true counts for assessment. Out: `GroupDisclosures`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.disclosure import PublishedCells


@dataclass(frozen=True, kw_only=True)
class GroupDisclosures:
    """Rows whose figures are all zero but one."""

    layer: str  # the layer, and the variable whose category is told
    rows: int  # number of rows that are not empty
    single: int  # number of those with one figure that is not zero
    #: Number of these in which the records really are of one category; None if the true counts are
    #: not known. CONFIDENTIAL
    true: int | None = None
    persons: int | None = None  # number of records in those. CONFIDENTIAL


def group_disclosures(system: PublishedCells) -> list[GroupDisclosures]:
    """The rows of all layers that tell a category, layers with most of them first."""
    disclosures = []
    for step in system.steps():
        filled = step.sums((step.fine.value > 0) | ~step.fine.shown)
        rows = (filled > 0) & (step.number + step.unlisted > 1)
        single = rows & (filled == 1)
        if not single.any():
            continue
        true = persons = None
        if step.fine.true is not None and step.coarse.true is not None:
            ids, count = step.fine.true
            largest = np.zeros(len(step.coarse), dtype=np.int64)
            at = step.fine.at(ids)
            whole = np.where(at >= 0, step.whole[at], -1)
            np.maximum.at(largest, whole[whole >= 0], count[whole >= 0])
            all_of_it = step.coarse.truth(step.coarse.ids)
            one = single & (largest == all_of_it) & (all_of_it > 0)
            true, persons = int(one.sum()), int(all_of_it[one].sum())
        added = sorted(set(step.fine.key) - set(step.coarse.key))
        variables = " x ".join(system.axes[axis].variable for axis, _ in added)
        title = f"{system.title(step.coarse.key)}: {variables}"
        disclosures.append(
            GroupDisclosures(
                layer=title, rows=int(rows.sum()), single=int(single.sum()),
                true=true, persons=persons,
            )
        )  # fmt: skip
    return sorted(disclosures, key=lambda each: (-each.single, each.layer))
