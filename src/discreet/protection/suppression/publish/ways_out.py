"""Ways out of refusals: what would protect cells that no pattern protects. CONFIDENTIAL.

Zeros as partners, leaving a table out, and merges of two neighbouring codes in all tables are
tried, and what helps is offered. Of merged counts the verdicts are those of the rule; of values, a
cell counts as sensitive if a part of it is, with the levels of its parts together, which is never
less than rules of sums ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from discreet.arrays import CellIndex, IntArray
from discreet.classifications import merged
from discreet.disclosure import LinkedRecords, Partitions
from discreet.errors import DiscreetError, SuppressionError
from discreet.microdata import parse_filter, read_microdata
from discreet.protection.suppression.problem.system import LEVELS, Findings
from discreet.protection.suppression.publish.options import HOPELESS, with_hint
from discreet.rules import SEVERAL
from discreet.tables import CellStatus, ProtectedTable, Table

if TYPE_CHECKING:
    from discreet.rules import Primary

#: With more tables than these, leaving one out is not tried.
_MOST = 12
#: So many merges of codes are tried, and so many of those that help are offered; no merge of
#: tables with more cells.
_MERGES, _OFFERS, _CELLS = 12, 3, 20_000
#: What SDMX calls cells of rules that no merge of two safe cells offends: few units, one that
#: dominates the others, or that others could estimate.
_GENTLE = {"A", "O", "T", "M"}

#: Tables with what was found in them for each of their values.
Sources: TypeAlias = Sequence[tuple[Table, Any]]


def with_ways_out(
    error: SuppressionError,
    sources: Sources,
    chosen: Mapping[str, Any],
    again: Callable[[Sources, str, Any], Sequence[ProtectedTable]],
) -> SuppressionError:
    """The error with what helps: zeros as partners, leaving out a table, or merging two codes.

    Args:
        error: The refusal; others come back as they are.
        sources: The tables, with what was found in each.
        chosen: The options of `suppress`.
        again: Protects tables with these zeros and records.
    """
    if error.code not in HOPELESS or not 1 < len(sources) <= _MOST:
        return error
    zeros, records = chosen.get("zero_cells", "auto"), chosen.get("records")
    tries: list[tuple[str, Sources, str]] = []
    if zeros == "fixed":
        tries.append(('allow suppressed zeros (zero_cells = "partners")', sources, "partners"))
    for table, _ in sources:
        rest = [one for one in sources if one[0] is not table]
        tries.append((f"remove the table {table.name}", rest, zeros))
    helps: list[str] = []
    for offer, own, zero_cells in tries:
        with suppress(SuppressionError):
            again(own, zero_cells, records)
            helps.append(offer)
    # What is published already keeps its codes. A merge costs the cells that are published no
    # longer, hidden or merged.
    many = sum(len(table) for table, _ in sources) > _CELLS
    tied = chosen.get("earlier") or chosen.get("same") or isinstance(records, LinkedRecords)
    merges = () if many or tied else merges_of(sources)
    costs = []
    for merge in sorted(merges, key=lambda one: (-one.near, one.lost, one.words))[:_MERGES]:
        with suppress(DiscreetError):
            carried = [merge.of_table(table, asked) for table, asked in sources]
            coarser = [pair for pair in carried if pair is not None]
            if len(coarser) == len(carried):
                counted = merge.of_records(records, [table for table, _ in coarser])
                safe = again(coarser, zeros, counted)
                hidden = sum(int((own.status == CellStatus.suppressed).sum()) for own in safe)
                costs.append((hidden + merge.lost, merge.words))
    helps += [f"{words} in all tables" for _, words in sorted(costs)[:_OFFERS]]
    if helps:
        return with_hint(error, f"one of these changes is enough: {'; '.join(helps)}")
    return with_hint(
        error,
        "removing one table or merging two categories is not enough: merge more categories, or "
        "publish fewer levels",
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class CodeMerge:
    """Two neighbouring codes of a variable as one code."""

    variable: str
    source: str  # the column of the records
    codes: tuple[str, str]
    lost: int  # cells that would be published no longer for themselves
    near: int  # sensitive cells that would be part of others

    @property
    def into(self) -> str:
        """The code in place of both."""
        return "+".join(self.codes)

    @property
    def words(self) -> str:
        """The merge in words."""
        return f"merge {self.codes[0]} and {self.codes[1]} of {self.variable}"

    def of_records(self, records: Any, tables: Sequence[Table]) -> Any:
        """The records with the codes merged, as merged tables are counted from them."""
        if records is None:
            return None
        known = isinstance(records, Partitions)
        base = records.records if known else read_microdata(records)
        texts = nw.col(self.source).cast(nw.String)
        codes = nw.when(texts.is_in(self.codes)).then(nw.lit(self.into)).otherwise(texts)
        base = base.with_columns(codes.alias(_column(self.source)))
        if not known:
            return base
        return Partitions(base, tables, records.weight, records.coincidences)

    def of_table(self, table: Table, asked: Mapping[Any, Any]) -> tuple[Table, Any] | None:
        """A table with what was found for its values; None where that cannot be carried over."""
        names = [dimension.name for dimension in table.dimensions]
        if self.variable not in names:
            return table, asked
        at = names.index(self.variable)
        own = table.dimensions[at]
        tree, _ = merged(own.classifications[0], self.codes, self.into)
        # The records have the merged codes in a column of their own.
        tree = tree.replace(column=_column(self.source))
        dimensions = list(table.dimensions)
        dimensions[at] = replace(own, classifications=(tree,))
        to = [tree.index[self.into if code in self.codes else code] for code in own.codes]
        index = list(table.index)
        index[at] = np.array(to, dtype=np.int32)[index[at]]
        grid = CellIndex.of(dimensions)
        _, first, place = np.unique(
            grid.numbers(index, len(table)), return_index=True, return_inverse=True
        )
        place = place.reshape(-1).astype(np.int64)
        coarser = Table(
            dimensions=tuple(dimensions),
            index=tuple(part[first] for part in index),
            count=_sums(table.count, place),
            weight=None if table.weight is None else _sums(table.weight, place),
            sums={name: _sums(part, place) for name, part in table.sums.items()},
            only={name: _only(part, table.count, place) for name, part in table.only.items()},
            where=table.where,
            name=table.name,
            parts=table.parts,
        )
        carried = {v: _judged(found, table, coarser, place) for v, found in asked.items()}
        lost = any(found is None for found in carried.values())
        return None if lost else (coarser, carried)


def merges_of(sources: Sequence[tuple[Table, Any]]) -> Iterator[CodeMerge]:
    """The merges of two neighbouring codes that concern sensitive cells, in no order."""
    filtered = set[str]()
    for table, _ in sources:
        if table.where:
            filtered |= set(parse_filter(table.where).columns)
    trees: dict[str, Any] = {}
    for dimension in (own for table, _ in sources for own in table.dimensions):
        tree, *others = dimension.classifications
        kind = tree.codes, tree.parents, tree.source
        plain = not (others or tree.bounds or tree.level_columns or tree.source in filtered)
        same = trees.setdefault(dimension.name, (kind, tree))[0] == kind
        trees[dimension.name] = (kind if plain and same else None, tree)
    for name, (kind, tree) in trees.items():
        siblings: dict[int, list[str]] = {}  # pairs of finest codes with one parent are merged
        for code in tree.leaves if kind is not None else ():
            if code != tree.missing:
                siblings.setdefault(tree.parents[tree.index[code]], []).append(code)
        for codes in chain.from_iterable(map(pairwise, siblings.values())):
            if "+".join(codes) in tree.index:
                continue
            lost = near = 0
            for table, asked in sources:
                for at, dimension in enumerate(table.dimensions):
                    if dimension.name == name:
                        places = [dimension.index[code] for code in codes]
                        inside = np.isin(table.index[at], places)
                        masks = [getattr(found, "sensitive", found) for found in asked.values()]
                        near += int((np.any(masks, axis=0) & inside).sum())
                        rest = [part[inside] for n, part in enumerate(table.index) if n != at]
                        cells = np.stack([*rest, np.zeros_like(table.index[at][inside])], axis=1)
                        lost += len(cells) - len(np.unique(cells, axis=0))
            if near:
                yield CodeMerge(
                    variable=name, source=tree.source, codes=codes, lost=lost, near=near
                )


def _column(source: str) -> str:
    return f"{source} with merged codes"


def _sums(part: Any, place: IntArray) -> Any:
    """The sums of the parts of each cell; of masks, whether any part is marked."""
    whole = np.zeros(int(place.max(initial=-1)) + 1, dtype=part.dtype)
    np.add.at(whole, place, part)
    return whole


def _only(numbers: IntArray, count: IntArray, place: IntArray) -> IntArray:
    """The only contributor of each cell: that of its only part with records, if it has one."""
    alone = _sums((count > 0).astype(np.int64), place) == 1
    whole = np.full(len(alone), SEVERAL, dtype=np.int64)
    whole[place[count > 0]] = numbers[count > 0]
    return np.where(alone, whole, SEVERAL)


def _judged(found: Any, table: Table, coarser: Table, place: IntArray) -> Any:
    """What was found in a table, for the merged one; None where that is not known."""
    if isinstance(found, np.ndarray):
        return _sums(found, place)
    if not hasattr(found, "at_most") or not hasattr(found, "verdict"):
        return None
    primary: Primary = found
    several = np.bincount(place) > 1
    joint = several[place]
    marked = np.isfinite(primary.low) | np.isfinite(primary.high) | primary.fixed
    if (marked & joint).any() or set(primary.rule_status) - _GENTLE:
        return None
    summed = ("sensitive", "fixed", "secondary", "opens", "waived", "cost", *LEVELS)
    whole: dict[str, Any] = {name: _sums(getattr(primary, name), place) for name in summed}
    for name in ("low", "high", "at_most", "at_least", "reason"):
        part = getattr(primary, name)
        whole[name] = np.empty(len(several), dtype=part.dtype)
        whole[name][place] = part
    limits = np.unique(primary.at_most[primary.sensitive])
    if np.isfinite(limits).any():
        if len(limits) > 1 or primary.value is not None:
            return None  # several rules, or of a part of the table: they are not known here
        few = (coarser.count > 0) & (coarser.count <= limits[0])
        whole["sensitive"] &= few | ~several
        for name, is_few, is_not in (
            ("at_most", limits[0], np.inf),
            ("at_least", -np.inf, limits[0] + 1),
        ):
            fresh = np.where(whole["sensitive"], is_few, is_not)
            whole[name] = np.where(several, fresh, whole[name])
    elif np.isfinite(primary.at_least[joint]).any() and primary.value is not None:
        return None
    whole["reason"][place[primary.sensitive]] = primary.reason[primary.sensitive]
    for name in ("reason", *LEVELS):
        whole[name] = np.where(whole["sensitive"], whole[name], 0).astype(whole[name].dtype)
    for name in ("secondary", "waived"):
        whole[name] &= ~whole["sensitive"]
    only = _only(primary.contributor, table.count, place)
    told = {"value": primary.value, "weighted": primary.weighted}
    return Findings(contributor=only, **told, **whole)
