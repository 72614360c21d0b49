"""`FoldedRecords`: a store that also has a column for each coarser level. CONFIDENTIAL.

In: the records of a store, and classifications of its columns. Out: the same records with columns
that hold the codes of coarser levels, so that a table of states is not counted by municipality.
Such columns are worked out of others when they are first used, and held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from discreet.classifications import Classification
from discreet.classifications.coarser_trees import levels_folded
from discreet.microdata.stored_records import StoredRecords
from discreet.tables.table import code_texts

#: (variable, level) → the classification down to that level, of a column of its own.
FoldedTrees = Mapping[tuple[str, int], Classification]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FoldedRecords(StoredRecords):
    """The current version of a store, with coarser columns (confidential)."""

    # Column → the column that it is made of, and the code of each finest code
    coarser: Mapping[str, tuple[str, Mapping[str, str], str]] = field(default_factory=dict)
    _folded: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, stored: StoredRecords, trees: Iterable[Classification]
    ) -> tuple[FoldedRecords, FoldedTrees]:
        """A store with a column for each coarser level of some classifications."""
        coarser: dict[str, tuple[str, Mapping[str, str], str]] = {}
        found: dict[tuple[str, int], Classification] = {}
        for tree in trees:
            kind = stored.columns.get(tree.source, {}).get("kind", "plain")
            if tree.bounds is not None or tree.level_columns or kind == "plain":
                continue
            for number in range(1, tree.depth):
                name = f"{tree.source} on level {number} of {tree.name}"
                if name in stored.columns:
                    continue
                cut, code_of = levels_folded(tree, number)
                coarser[name] = (tree.source, code_of, tree.missing)
                found[tree.name, number] = cut.replace(column=name)
        given = {each.name: getattr(stored, each.name) for each in fields(StoredRecords)}
        return cls(**given, coarser=coarser), found

    @cached_property
    def _columns(self) -> Mapping[str, Mapping[str, Any]]:
        own = {
            name: {"kind": "coded" if self._kind(source) == "coded" else "nested"}
            for name, (source, *_) in self.coarser.items()
        }
        return {**super().columns, **own}

    def _kind(self, column: str) -> str:
        return str(super().columns[column]["kind"])

    @property
    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """What each column is."""
        return self._columns

    def values(self, name: str) -> pl.Series:
        """The value that each code of a column stands for."""
        return self._made(name)[0] if name in self.coarser else super().values(name)

    def codes(self, name: str) -> Any:
        """The codes of a column: one per record, or per area."""
        if name not in self.coarser:
            return super().codes(name)
        place = f"codes of {name}"
        if place not in self._folded:
            source, (_, lookup) = self.coarser[name][0], self._made(name)
            found = lookup if self._kind(source) == "sorted" else lookup[super().codes(source)]
            found.flags.writeable = False
            self._folded[place] = found
        return self._folded[place]

    def _made(self, name: str) -> tuple[pl.Series, Any]:
        """The codes of a coarser column, and which of them stands for each finer one."""
        if name not in self._folded:
            source, code_of, missing = self.coarser[name]
            texts = code_texts(super().values(source), source).fill_null(missing).to_list()
            codes = [code_of.get(text, text) for text in texts]
            listed = sorted(set(codes))
            place = {code: at for at, code in enumerate(listed)}
            width = 1 if len(listed) <= 2**8 else 2 if len(listed) <= 2**16 else 4
            lookup = np.array([place[code] for code in codes], dtype=f"u{width}")
            self._folded[name] = (pl.Series(name, listed, dtype=pl.String), lookup)
        made: tuple[pl.Series, Any] = self._folded[name]
        return made
