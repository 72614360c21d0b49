"""Sequential trees (CART): each column is drawn from a leaf of a tree on the columns before it.

In: columns as whole numbers, CONFIDENTIAL, and a secret. Out: made-up columns. Splits compare
whole numbers, donors of a leaf are in the order of their values, draws belong to the number of a
made-up record: neither the order of records nor threads change a byte. docs/methods/
record-methods.md has the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, ByteArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.errors import MicrodataError
from discreet.microdata import Secret
from discreet.pretabular import DRAWS, draws, impossible
from discreet.synthesis.columns import (
    GROUPS,
    MISSING,
    NumberedColumn,
    apart,
    frame_of,
    group_begins,
    grouped,
)

#: Numbers are compared by rank among so many; a split explains at least this share of the variance.
_RANKS, _LEAST = 1_000, 1e-5
#: Digits by which codes are ordered, and draws of a record that break rules.
_DECIMALS, _ATTEMPTS = 9, 60


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ColumnTree:
    """Tree that a column is drawn from. CONFIDENTIAL."""

    begins: Sequence[IntArray]  # of each column before: where its groups begin
    ranks: Sequence[IntArray | None]  # of codes: their order by what they say of this column
    nodes: tuple[Any, Any, Any, Any]  # column and group to split at, node of lower and others
    donors: IntArray  # places, leaf by leaf in order
    first: IntArray  # of each node: its first donor, and behind all the end

    @classmethod
    def grown(
        cls, before: Sequence[NumberedColumn], own: NumberedColumn, rows: IntArray, leaf: int
    ) -> ColumnTree:
        """The tree of a column on those before it; rare codes are not learned."""
        places = own.places[rows]
        if own.codes is not None:
            rows = rows[~np.isin(places, own.rare)]
            places, score = own.places[rows], np.zeros(len(rows), dtype=np.int64)
            label = classes = np.unique(places, return_inverse=True)[1].astype(np.int64)
        else:
            there = places != MISSING
            places = np.where(there, np.clip(places, *own.ends), MISSING)
            label, ordered = 1 - there.astype(np.int64), np.sort(places[there])
            rank = np.searchsorted(ordered, places) + np.searchsorted(ordered, places, "right")
            rank = rank * _RANKS // (2 * max(len(ordered), 1))
            score = np.where(there, rank - _RANKS // 2, 0)
            classes = np.where(there, 1 + rank * 10 // (_RANKS + 1), 0)
        ranks = [None if one.codes is None else _order(one.places[rows], len(one.codes), classes)
                 for one in before]  # fmt: skip
        shown = [_ranked(one.places, rank) for one, rank in zip(before, ranks, strict=True)]
        begins = [group_begins(one) for one in shown]
        groups = _groups([one[rows] for one in shown], begins, len(rows))
        nodes, node = grow(groups, label, int(label.max()) + 1, score, own.codes is None, leaf)
        order = np.lexsort((places, node))
        first = np.searchsorted(node[order], np.arange(len(nodes[0]) + 1))
        return cls(begins=begins, ranks=ranks, nodes=nodes, donors=places[order], first=first)

    def drawn(
        self, before: Sequence[IntArray], own: NumberedColumn, share: FloatArray, up: BoolArray
    ) -> IntArray:
        """A place for each made-up record: that of a donor, rare numbers moved towards another."""
        shown = [_ranked(one, rank) for one, rank in zip(before, self.ranks, strict=True)]
        node = route(_groups(shown, self.begins, len(share)), *self.nodes)
        size = self.first[node + 1] - self.first[node]
        at = np.minimum((share * size).astype(np.int64), size - 1)
        value: IntArray = self.donors[self.first[node] + at]
        if own.codes is not None:
            return value
        # Values of few records move within half of the gap to their neighbours, at the ends to both
        # sides alike: means stay.
        part = share * size - at - 0.5
        gaps = []
        for step in (np.where(part < 0, -1, 1), np.where(part < 0, 1, -1)):
            there = (at + step >= 0) & (at + step < size)
            beside = self.donors[self.first[node] + np.where(there, at + step, at)]
            there &= beside != MISSING
            gaps.append(np.where(there, np.abs(beside - value), 0))
        gap = np.where(gaps[0] > 0, gaps[0], gaps[1])
        moved = np.clip(value + np.rint(part * gap).astype(np.int64), *own.ends)
        value = np.where(np.isin(value, own.rare), moved, value)
        return apart(value, own, up) if len(own.single) else value


def draw_columns(
    columns: Sequence[NumberedColumn], rows: IntArray, records: int, secret: Secret,
    *, leaf: int, keep_first: bool, rules: Sequence[str],
) -> list[IntArray]:  # fmt: skip
    """Made-up columns, learned from some rows; records that break a rule are drawn anew."""
    trees = [ColumnTree.grown(columns[:at], own, rows, leaf) for at, own in enumerate(columns)]
    numbers = np.arange(records)
    return drawn_records(
        trees, columns, [], numbers, secret, rules, step=records, keep_first=keep_first
    )


def drawn_records(
    trees: Sequence[ColumnTree], columns: Sequence[NumberedColumn], before: Sequence[IntArray],
    numbers: IntArray, secret: Secret, rules: Sequence[str],
    *, step: int, keep_first: bool = False, purpose: str = "synthesise",
) -> list[IntArray]:  # fmt: skip
    """Made-up columns of numbered records, given columns before; none breaks a rule.

    Draws belong to numbers; a record that breaks rules is drawn again, its number a step higher.
    """
    records = len(numbers)
    place = np.argsort(np.argsort(draws(
        pl.DataFrame({"number": np.arange(records)}), secret, "synthesise; order"
    ), kind="stable")) if keep_first else numbers  # fmt: skip

    def drawn(numbers: IntArray, given: Sequence[IntArray]) -> list[IntArray]:
        made: list[IntArray] = []
        keyed = pl.DataFrame({"number": numbers})
        for at, (tree, own) in enumerate(zip(trees, columns, strict=True)):
            share = draws(keyed, secret, f"{purpose}; {own.name}") / DRAWS
            if keep_first and at == 0:
                share = (place[numbers % records] + 0.5) / records
            up = draws(keyed, secret, f"{purpose}; {own.name}; up", 2) == 1
            made.append(tree.drawn([*given, *made], own, share, up))
        return made

    made = drawn(numbers, before)
    for attempt in range(1, _ATTEMPTS):
        wrong = np.flatnonzero(impossible(frame_of(columns, made), rules)) if rules else ()
        if not len(wrong):
            return made
        again = drawn(numbers[wrong] + attempt * step, [one[wrong] for one in before])
        for column, new in zip(made, again, strict=True):
            column[wrong] = new
    message = "records without impossible combinations are too rare"
    hint = "move the variables of the conditions to the front, or relax the conditions"
    raise MicrodataError(message, code="synthesise", where="structural_zeros", hint=hint)


def _order(places: IntArray, size: int, classes: IntArray) -> IntArray:
    """Codes by the first principal component of the shares of classes among their records."""
    here, width = places != MISSING, int(classes.max(initial=0)) + 1
    pairs = np.bincount(places[here] * width + classes[here], minlength=size * width)
    counts = pairs.reshape(size, width).astype(np.float64)
    weight = counts.sum(axis=1)
    shares = counts / np.maximum(weight, 1)[:, None] - counts.sum(axis=0) / max(weight.sum(), 1)
    spread = np.einsum("ik,i,il->kl", shares, weight, shares)
    main = np.linalg.eigh(spread)[1][:, -1]
    main = main * (1 if main[np.argmax(np.abs(main).round(_DECIMALS))] >= 0 else -1)
    score = np.einsum("ik,k->i", shares, main).round(_DECIMALS)
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(score, kind="stable")] = np.arange(size)
    return rank


def _ranked(places: IntArray, rank: IntArray | None) -> IntArray:
    if rank is None:
        return places
    return np.where(places == MISSING, MISSING, rank[np.maximum(places, 0)])


def _groups(shown: Sequence[IntArray], begins: Sequence[IntArray], size: int) -> ByteArray:
    groups = np.zeros((len(shown), size), dtype=np.uint8)
    for at, (one, own) in enumerate(zip(shown, begins, strict=True)):
        groups[at] = grouped(one, own)
    return groups


@compiled()
def grow(
    groups: ByteArray, label: IntArray, classes: int, score: IntArray, number: bool, leaf: int
) -> Any:
    """The nodes of a tree, and the leaf of each row.

    A split keeps what is left of the variance least: of the shares of labels (Gini), and of the
    scores of numbers. All sums are of whole numbers: the order of rows changes none.
    """
    width, rows = groups.shape
    most = 2 * (rows // leaf) + 3
    column, cut = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    low, high = np.zeros(most, np.int64), np.zeros(most, np.int64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    order, other, ranked = np.arange(rows), np.empty(rows, np.int64), np.empty(rows, np.int64)
    node, here, left = (
        np.zeros(rows, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
    )
    weights = np.ones(2)
    end[0], nodes, at = rows, 1, 0
    while at < nodes:
        size = end[at] - begin[at]
        own = order[begin[at] : end[at]]
        square, total, present = 0, 0, 0
        for row in own:
            square += 2 * here[label[row]] + 1
            here[label[row]] += 1
            total += score[row]
            present += number and label[row] == 0
        if at == 0:
            gini, variance = rows - square / rows, 0.0
            for row in own:
                variance += float(score[row]) * score[row]
            variance -= float(total) * total / max(present, 1)
            weights[0] = 1 / gini if gini > 0 else 0.0
            weights[1] = 1 / variance if variance > 0 else 0.0
        now = weights[0] * square / size + weights[1] * float(total) * total / max(present, 1)
        best, where, group = now + _LEAST, -1, 0
        for feature in range(width if size >= 2 * leaf else 0):
            head = np.zeros(GROUPS + 3, np.int64)
            for row in own:
                head[groups[feature, row] + 1] += 1
            head = np.cumsum(head)
            for row in own:
                ranked[head[groups[feature, row]]] = row
                head[groups[feature, row]] += 1
            below, above, sums, have = 0, square, 0, 0
            for step in range(size):
                row = ranked[step]
                mark = label[row]
                if (
                    leaf <= step <= size - leaf
                    and groups[feature, row] != groups[feature, ranked[step - 1]]
                ):
                    rest = float(total - sums)
                    kept = weights[0] * (below / step + above / (size - step)) + weights[1] * (
                        float(sums) * sums / max(have, 1) + rest * rest / max(present - have, 1)
                    )
                    if kept > best:
                        best, where, group = kept, feature, groups[feature, row]
                below += 2 * left[mark] + 1
                above -= 2 * (here[mark] - left[mark]) - 1
                left[mark] += 1
                sums += score[row]
                have += number and mark == 0
            for row in own:
                left[label[row]] = 0
        for row in own:
            here[label[row]] = 0
            node[row] = at
        if where >= 0:
            column[at], cut[at], low[at], high[at] = where, group, nodes, nodes + 1
            first, last = begin[at], end[at]
            for row in own:
                if groups[where, row] < group:
                    other[first] = row
                    first += 1
                else:
                    last -= 1
                    other[last] = row
            order[begin[at] : end[at]] = other[begin[at] : end[at]]
            begin[nodes], end[nodes], begin[nodes + 1], end[nodes + 1] = (
                begin[at],
                first,
                first,
                end[at],
            )
            nodes += 2
        at += 1
    return (column[:nodes], cut[:nodes], low[:nodes], high[:nodes]), node


@compiled()
def route(groups: ByteArray, column: IntArray, cut: IntArray, low: IntArray, high: IntArray) -> Any:
    """The leaf of each made-up record."""
    leaf = np.zeros(groups.shape[1], np.int64)
    for row in range(groups.shape[1]):
        at = 0
        while column[at] >= 0:
            at = low[at] if groups[column[at], row] < cut[at] else high[at]
        leaf[row] = at
    return leaf
