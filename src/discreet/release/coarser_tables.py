"""How less would be hidden: what a merge of categories or a coarser level saves. CONFIDENTIAL.

In: a `RecordTable`. Out: `Savings`: the table as it is, and what it would be with one change,
each judged by the same rules and protected anew; those that save most come first. Nothing is
changed: people decide what a category means. Numbers of cells may be shown in the house;
shares of values are those of hidden cells, and stand in reports only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.classifications import Classification, Coarser, levels_folded, merged
from discreet.confidential import without_values
from discreet.errors import DiscreetError
from discreet.record_batches import collected
from discreet.release.record_tables import RecordTable, read_columns
from discreet.rules import Primary
from discreet.tables import Table

if TYPE_CHECKING:
    import polars as pl

    from discreet.protection.suppression import SharedSuppression


@dataclass(frozen=True, kw_only=True)
class HiddenAmount:
    """Hidden cells and values of a table (confidential)."""

    cells: int  # cells that are not empty
    sensitive: int  # sensitive cells among them
    hidden: int  # hidden ones
    #: Sum of hidden absolute values over the largest absolute value of a cell, on the average of
    #: the values
    share: float

    @property
    def published(self) -> int:
        """Cells that are published."""
        return self.cells - self.hidden


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Saving of one change (confidential)."""

    variable: str  # the variable that is changed
    change: str  # the change in words
    codes: tuple[str, ...]  # the codes that are merged; none for a level
    after: HiddenAmount  # how much would be hidden
    saved: float  # by how much the share of hidden values would fall


@dataclass(frozen=True, kw_only=True, repr=False)
class Savings:
    """The changes of a table, those first that save most (confidential).

    Args:
        now: How much is hidden of the table as it is.
        ranked: The changes that save something.
        tried: How many changes were tried.
    """

    now: HiddenAmount
    ranked: tuple[Saving, ...]
    tried: int

    def text(self, *, shares: bool = False) -> str:
        """The list in words; shares of values are for reports in the house only."""
        lines = [_in_words("As it is", self.now, shares=shares)]
        lines += [
            _in_words(f"{rank}. {each.change}", each.after, shares=shares)
            for rank, each in enumerate(self.ranked, 1)
        ]
        if not self.ranked:
            lines.append(f"None of {self.tried} changes suppresses fewer cells.")
        return "\n".join(lines)

    def described(self, *, shares: bool = False) -> dict[str, Any]:
        """As plain values, for JSON."""
        ranked = [
            {"variable": item.variable, "change": item.change, "codes": list(item.codes)}
            | _described(item.after, shares=shares)
            for item in self.ranked
        ]
        return {"now": _described(self.now, shares=shares), "ranked": ranked, "tried": self.tried}

    def to_polars(self) -> pl.DataFrame:
        """The changes as a frame, CONFIDENTIAL: with shares of hidden values."""
        import polars as pl

        return pl.DataFrame(self.described(shares=True)["ranked"])

    def __repr__(self) -> str:
        return f"<Savings (confidential): {len(self.ranked)} changes>"


def _described(amount: HiddenAmount, *, shares: bool) -> dict[str, Any]:
    values = {**vars(amount), "published": amount.published}
    return values if shares else {key: each for key, each in values.items() if key != "share"}


def _in_words(change: str, amount: HiddenAmount, *, shares: bool) -> str:
    share = f", {amount.share:.2%} of the value" if shares else ""
    return (
        f"{change}: {amount.hidden:,} of {amount.cells:,} cells suppressed ({amount.sensitive:,} "
        f"sensitive){share}, {amount.published:,} published."
    )


@without_values
def hide_less(
    table: RecordTable,
    *,
    most: int = 10,
    done: tuple[tuple[Table, list[Primary]], SharedSuppression] | None = None,
    **options: Any,
) -> Savings:
    """Find out which merge of two categories, or which coarser level, would hide less.

    Pairs of categories with one parent are tried where both are hidden in the same cells,
    those with the most hidden there first; and every level of every hierarchy.

    Args:
        table: Records, and how they are tabulated and judged.
        most: How many merges are tried.
        done: What `judged` and `suppressed` gave for the table as it is, if that is known.
        options: ``method`` and the options of `discreet.suppress`, for each table.

    >>> import polars as pl
    >>> from discreet.release.record_tables import rules_from
    >>> firms = pl.DataFrame({"branch": [*"aaaabbcc"], "sales": [5, 5, 6, 6, 3, 4, 4, 5]})
    >>> how = {"by": ["branch"], "values": ["sales"], "rules": rules_from(["n=3"])}
    >>> print(hide_less(RecordTable(records=firms, **how), method="fast").text())
    As it is: 2 of 4 cells suppressed (2 sensitive), 2 published.
    1. branch: merge b and c: 0 of 3 cells suppressed (0 sensitive), 3 published.
    """
    records = collected(read_columns(table.records, []))
    whole = replace(table, records=records)
    if done is None:
        found = whole.judged()
        done = found, whole.suppressed(found, **options)
    (cells, primaries), shared = done
    now = _amount(cells, primaries, shared, table.values)
    hidden = _hidden_cells(shared)
    ranked, tried = [], 0
    for change in _changes(cells, hidden, most, table.values):
        coarser = change.applied(whole)
        try:
            found = coarser.judged()
            after = _amount(*found, coarser.suppressed(found, **options), table.values)
        except DiscreetError:  # cannot be protected, or rules name a code that is gone
            continue
        tried += 1
        saved = now.share - after.share
        if saved > 0:
            ranked.append(
                Saving(
                    variable=change.variable,
                    change=change.words,
                    codes=change.codes,
                    after=after,
                    saved=saved,
                )
            )
    ranked.sort(key=lambda each: (-each.saved, -each.after.published, each.change))
    return Savings(now=now, ranked=tuple(ranked), tried=tried)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Change:
    """A variable made coarser."""

    at: int
    variable: str
    words: str
    source: str
    coarser: Coarser
    codes: tuple[str, ...] = field(default=())

    def applied(self, table: RecordTable) -> RecordTable:
        """The table with the variable made coarser, in a column of its own."""
        import polars as pl

        from discreet.tables import code_texts

        tree, code_of = self.coarser
        column = f"{self.source} made coarser"
        codes = code_texts(table.records[self.source], self.source)
        records = table.records.with_columns(codes.replace(dict(code_of)).alias(column))
        by = list(table.by)
        by[self.at] = tree.replace(column=column)
        assert isinstance(records, pl.DataFrame)
        return replace(table, records=records, by=by)


def _changes(
    table: Table, hidden: BoolArray, most: int, values: Sequence[str]
) -> Iterator[_Change]:
    """The levels that could go, and the merges that look best."""
    found: list[tuple[float, _Change]] = []
    value = np.max([np.abs(column) for column in _shares(table, values)], axis=0)
    for at, dimension in enumerate(table.dimensions):
        tree = dimension.classifications[0]
        if len(dimension.classifications) > 1 or tree.bounds is not None or tree.level_columns:
            continue
        own: dict[str, Any] = {"at": at, "variable": dimension.name, "source": tree.source}
        for depth in range(tree.depth - 1, 0, -1):
            words = f"{dimension.name}: {depth} of {tree.depth} levels"
            yield _Change(words=words, coarser=levels_folded(tree, depth), **own)
        for score, codes in _pairs(table, at, tree, hidden, value):
            first, second = codes
            coarser = merged(tree, codes, f"{first}+{second}")
            words = f"{dimension.name}: merge {first} and {second}"
            found.append((score, _Change(words=words, coarser=coarser, codes=codes, **own)))
    found.sort(key=lambda each: (-each[0], each[1].words))
    yield from (change for _, change in found[:most])


def _pairs(
    table: Table, at: int, tree: Classification, hidden: BoolArray, value: FloatArray
) -> Iterator[tuple[float, tuple[str, str]]]:
    """Pairs of finest codes with one parent, with what is hidden of both in the same cells."""
    others = [part for number, part in enumerate(table.index) if number != at]
    places = list(zip(*(part[hidden].tolist() for part in others), strict=True))
    places = places or [()] * int(hidden.sum())
    by_code: dict[int, dict[tuple[int, ...], float]] = {}
    codes = zip(table.index[at][hidden].tolist(), places, value[hidden].tolist(), strict=True)
    for code, place, amount in codes:
        by_code.setdefault(code, {})[place] = amount
    leaves = set(tree.leaves) - {tree.missing}
    listed = sorted(code for code in by_code if tree.codes[code] in leaves)
    for first, second in combinations(listed, 2):
        if tree.parents[first] != tree.parents[second]:
            continue
        both = by_code[first].keys() & by_code[second].keys()
        score = sum(by_code[first][place] + by_code[second][place] for place in both)
        name = f"{tree.codes[first]}+{tree.codes[second]}"
        if both and name not in tree.index:
            yield score, (tree.codes[first], tree.codes[second])


def _shares(table: Table, values: Sequence[str]) -> list[FloatArray]:
    """What is published of a table: sums, each as a share of its largest cell, or counts."""
    columns = [np.asarray(item, dtype=np.float64) for item in map(table.sums.get, values)]
    columns = columns or [table.count.astype(np.float64)]
    return [column / max(float(np.abs(column).max(initial=0)), 1e-300) for column in columns]


def _hidden_cells(shared: SharedSuppression) -> BoolArray:
    """The cells of the one table that are hidden."""
    one = next(iter(shared.by_value.values()))
    mask: BoolArray = one.members.hidden(one.pattern.hidden[: len(one.reason)], 0)
    return mask


def _amount(
    table: Table, primaries: Sequence[Primary], shared: SharedSuppression, values: Sequence[str]
) -> HiddenAmount:
    hidden = _hidden_cells(shared)
    shares = [float(np.abs(share[hidden]).sum()) for share in _shares(table, values)]
    return HiddenAmount(
        cells=int((table.count > 0).sum()),
        sensitive=int(np.any([primary.sensitive for primary in primaries], axis=0).sum()),
        hidden=int(hidden.sum()),
        share=float(np.mean(shares)),
    )
