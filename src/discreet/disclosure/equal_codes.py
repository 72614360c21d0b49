"""Codes that mean the same although variables have different names. CONFIDENTIAL.

In: records, and tables of them. Out: pairs of codes, as `linked_cells` takes them, so that a cell
with two names is one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.disclosure.named_cells import VariableCode
from discreet.disclosure.partitions import Partitions
from discreet.errors import DiscreetError
from discreet.tables import Table


def same_codes(records: Any, tables: Sequence[Table]) -> dict[VariableCode, VariableCode]:
    """Variables and codes of tables → those of another name with the same records.

    Only codes that have the same records throughout are found, not those of which a filter or a
    part does. Where the records lack a column that tables have, nothing is known.

    >>> import polars as pl
    >>> from discreet import tabulate
    >>> people = pl.DataFrame({"town": ["a", "b", "b"], "place": ["1", "2", "2"]})
    >>> same_codes(people, [tabulate(people, by=[name]) for name in people.columns])
    {('place', '1'): ('town', 'a'), ('place', '2'): ('town', 'b')}
    """
    if len({own.name for table in tables for own in table.dimensions}) < 2:
        return {}
    try:
        known = Partitions(records, tables)
    except DiscreetError:  # cubes hold what they were asked for only
        return {}
    same: dict[VariableCode, VariableCode] = {}
    names: dict[int, str] = {}
    trees = [(own.name, tree) for table in known.tables for own in table.dimensions
             for tree in own.classifications]  # fmt: skip
    for name, tree, level in ((*own, at) for own in trees for at in range(1, own[1].depth + 1)):
        b = known.of_level(tree, level)
        if b is None or names.get(b) == name:
            continue
        others = (a for a, other in names.items() if other != name)
        a = next((a for a in others if a == b or {(a, b), (b, a)} <= known.up.keys()), None)
        names.setdefault(b, name)
        if a is not None:
            codes = np.unique(known.partitions[b].codes)
            texts = known.partitions[b].label, known.partitions[a].label
            for x, y in zip(codes, known.code(b, codes, a), strict=True):
                if x < len(tree) and 0 <= y < len(texts[1]) - 1:  # the last are other codes
                    same[name, texts[0][x]] = names[a], texts[1][y]
    return same
