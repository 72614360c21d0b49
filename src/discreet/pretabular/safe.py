"""SAFE: every combination of codes occurs not at all, or at least three times.

In: records, CONFIDENTIAL, and the control tables that are to change least. Out: `ChangedRecords`:
some records have another combination, a few are left out or stand there twice. The new counts
come from `safe_counts`; see docs/methods/safe.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, IntArray, starts
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.keygrid import KeyGrid
from discreet.microdata import Secret, check_identifiers, filter_failed, parse_filter
from discreet.pretabular.changed_records import (
    ChangedRecords,
    HeldRecords,
    check_codes,
    done,
    draws,
    places,
    record_method,
)
from discreet.pretabular.safe_counts import safe_counts
from discreet.pretabular.settings import KEY, SafeSettings

_MOST_FILLED = 1_000_000


@dataclass(frozen=True, kw_only=True, repr=False)
class _Combinations:
    """The combinations of codes, in their order, and how often each occurs. CONFIDENTIAL."""

    names: Sequence[str]  # the variables
    code: Sequence[IntArray]  # per variable, the code of each combination
    stratum: IntArray  # the stratum of each combination
    count: IntArray  # how many records have it
    of: IntArray  # the combination of each record
    first: Sequence[IntArray]  # per variable, the first record that has each code
    values: pl.DataFrame  # the variables as the records have them

    @classmethod
    def found(
        cls, records: HeldRecords, names: Sequence[str], strata: Sequence[str],
        zeros: Sequence[str], *, fill: bool,
    ) -> _Combinations:  # fmt: skip
        """Those that occur; to be filled, all that codes and structural zeros allow."""
        length = len(records.frame)
        layers = [places(records.columns([name])) for name in strata]
        parts = [_numbered(layers, length), *(places(records.columns([name])) for name in names)]
        index = CellIndex(tuple(int(part.max(initial=-1)) + 1 for part in parts))
        if fill and index.size > _MOST_FILLED:
            raise MicrodataError(
                f"{index.size:,} combinations are too many to be filled",
                code="safe", where="fill", hint="recode variables, or leave out fill",
            )  # fmt: skip
        if fill:
            of, code = index.numbers(parts), [part.astype(np.int64) for part in index.every()]
        else:
            _, where, of = np.unique(index.joined(parts)[0], return_index=True, return_inverse=True)
            code = [part[where] for part in parts]
        combinations = cls(
            names=names, code=code[1:], stratum=code[0], of=of,
            count=np.bincount(of, minlength=len(code[0])),
            first=[np.unique(part, return_index=True)[1] for part in parts[1:]],
            values=records.columns(names),
        )  # fmt: skip
        return combinations.without(_forbidden(combinations, zeros)) if zeros else combinations

    def without(self, chosen: BoolArray) -> _Combinations:
        """Those that are not chosen, of which none occurs."""
        kept = np.flatnonzero(~chosen)
        number = np.cumsum(~chosen) - 1
        return _Combinations(
            names=self.names, code=[part[kept] for part in self.code], of=number[self.of],
            stratum=self.stratum[kept], count=self.count[kept],
            first=self.first, values=self.values,
        )  # fmt: skip

    def rows(self) -> pl.DataFrame:
        """The values of each combination."""
        taken = zip(self.names, self.first, self.code, strict=True)
        return pl.DataFrame([self.values[name].gather(at[code]) for name, at, code in taken])

    def cells(self, names: Sequence[str], chosen: IntArray | None = None) -> IntArray:
        """Numbers of the cells of a table of these variables, for some combinations."""
        size = len(self.count) if chosen is None else len(chosen)
        parts = [self.code[self.names.index(name)] for name in names]
        return _numbered([part if chosen is None else part[chosen] for part in parts], size)


def _numbered(parts: Sequence[IntArray], length: int) -> IntArray:
    """The number of each combination of codes among those that occur."""
    if not parts:
        return np.zeros(length, dtype=np.int64)
    index = CellIndex(tuple(int(part.max(initial=-1)) + 1 for part in parts))
    return np.unique(index.joined(parts)[0], return_inverse=True)[1]


@record_method(SafeSettings)
def safe(records: HeldRecords, settings: SafeSettings) -> ChangedRecords:
    """Let every combination of codes occur not at all, or `at_least` times (SAFE).

    Control tables change as little as possible: the largest error of a cell first, then the
    change of the combinations. As few records as possible change; they keep their identifiers,
    record keys and all other columns. What is missing is a code of its own.

    Options are those of `SafeSettings`; `secret` makes the choice unpredictable. `id` names the
    columns that identify a record; without, all columns together do. In the last one, copies have
    whole numbers beyond a power of ten, or "+1", "+2", …

    >>> people = pl.DataFrame({"sex": list("mmmmfffff"), "job": list("aaabbbbba")})
    >>> controls, secret = [["sex"], ["job"]], "a long and secret sentence"
    >>> made = safe(people, variables=["sex", "job"], controls=controls, secret=secret)
    >>> made.records.group_by("sex", "job").len().sort("sex", "job").rows()
    [('f', 'b', 5), ('m', 'a', 4)]
    """
    held, ids, variables, tables = (
        records.secret,
        records.ids,
        settings.variables,
        settings.controls,
    )
    strata, zeros, record_key = settings.by, settings.structural_zeros, settings.record_key
    key = record_key if record_key in records.frame.columns or record_key != KEY else None
    _check(records, ids, strata, variables, key)
    combinations = _Combinations.found(records, variables, strata, zeros, fill=settings.fill)
    new, measures = _counts(combinations, tables, settings.at_least, held, settings.exact_up_to)
    numbers = records.columns(ids) if ids else _content(records)
    built = _Rebuilt(combinations, new, draws(numbers, held, "safe"), tables)
    changed = built.records(records, ids, key, KeyGrid.of(settings.grid), numbers, held)
    return done(
        "safe", changed, built.changes(records, ids), held, measures=measures | built.measures(),
        parameters={"variables": list(variables), "controls": tables, "by": strata,
                    "at_least": settings.at_least, "structural_zeros": zeros,
                    "fill": settings.fill},
        told={"names": ", ".join(variables), "at_least": settings.at_least},
    )  # fmt: skip


def _check(
    records: HeldRecords, ids: Sequence[str], strata: Sequence[str], variables: Sequence[str],
    key: str | None,
) -> None:  # fmt: skip
    problems = []
    if {*variables, *strata} & {*ids, key}:
        message = "variables are neither identifier, record key nor stratum"
        problems.append(Problem(message, "variables"))
    raise_all(MicrodataError, problems, code="safe")
    check_codes(records, [*variables, *strata])
    if ids:
        check_identifiers(records.frame, ids)
        last = records.columns(ids[-1:]).dtypes[0]
        if not last.is_integer() and last != pl.String:
            problems.append(Problem("copies need whole numbers or texts", ids[-1]))
    if key is not None and not records.columns([key]).dtypes[0].is_integer():
        problems.append(Problem("record keys are whole numbers", key, "import_record_keys"))
    raise_all(MicrodataError, problems, code="safe")


def _content(records: HeldRecords) -> pl.DataFrame:
    """All that a record holds, as texts, where nothing identifies it."""
    whole = records.columns(records.frame.columns)
    flat = [name for name, kind in whole.schema.items() if not kind.is_nested()]
    texts = whole.select(flat).with_columns(pl.all().cast(pl.String))
    return texts.with_columns((pl.lit("=") + pl.all()).name.keep().fill_null("missing"))


def _forbidden(combinations: _Combinations, texts: Sequence[str]) -> BoolArray:
    """Which combinations are structural zeros; an error if one occurs."""
    rows = nw.from_native(combinations.rows(), eager_only=True)
    mask = np.zeros(len(rows), dtype=np.bool_)
    for text in texts:
        condition = parse_filter(text)
        condition.check(rows.schema)
        try:
            chosen = rows.select(condition.to_narwhals(rows.schema)).to_native().to_series()
        except Exception as error:
            raise filter_failed(error) from None
        mask |= chosen.fill_null(value=False).to_numpy()
        if combinations.count[mask].any():
            raise MicrodataError(
                "there are records that cannot be", code="safe", where=text,
                hint="correct them, or leave the condition out",
            )  # fmt: skip
    return mask


def _counts(
    combinations: _Combinations, tables: Sequence[Sequence[str]], at_least: int, held: Secret,
    exact_up_to: int,
) -> tuple[IntArray, dict[str, Any]]:  # fmt: skip
    """New counts, stratum by stratum, and how far control tables are off."""
    count, stratum = combinations.count, combinations.stratum
    numbers = pl.DataFrame({"combination": np.arange(len(count))})
    order = np.lexsort((draws(numbers, held, "safe; combinations"), stratum))
    seed = int.from_bytes(held.derive("safe; search")[:8], "big")
    new, results = count.copy(), []
    for part in np.split(order, starts(np.bincount(stratum))[1:-1]):
        cells = [combinations.cells(names, part) for names in [*tables, []]]
        exact = len(count) <= exact_up_to
        results.append(safe_counts(count[part], cells, at_least, seed=seed, exact=exact))
        new[part] = results[-1].count
    below = (count > 0) & (count < at_least)
    return new, {
        "combinations": int((count > 0).sum()), "below": int(below.sum()),
        "combinations_after": int((new > 0).sum()),
        "controls": [_off(combinations, names, new - count) for names in tables],
        "largest_error": max(one.error for one in results),
        "least_possible_error": max(one.least_error for one in results),
        "change": int(np.abs(new - count).sum()),
        "least_possible_change": sum(one.least_change for one in results),
    }  # fmt: skip


def _off(combinations: _Combinations, names: Sequence[str], change: IntArray) -> dict[str, Any]:
    """How far a control table is off."""
    cells = combinations.cells(names) + combinations.stratum * len(change)
    numbers = np.unique(cells, return_inverse=True)[1]
    off = np.abs(np.bincount(numbers, weights=change))
    return {
        "variables": list(names), "cells": len(off), "as_before": int((off == 0).sum()),
        "mean_error": float(off.mean()) if len(off) else 0.0,
        "largest_error": int(off.max(initial=0)),
    }  # fmt: skip


class _Rebuilt:
    """Which record goes where: from combinations with too many to those with too few.

    Records move to where they keep most: all variables but one, then a control table, then the
    stratum. Who finds no place is left out; what then is missing are copies.
    """

    def __init__(
        self, combinations: _Combinations, new: IntArray, drawn: IntArray,
        tables: Sequence[Sequence[str]],
    ) -> None:  # fmt: skip
        self.combinations, of = combinations, combinations.of
        count = combinations.count
        self._order = np.lexsort((drawn, of))
        self._begin = starts(count)
        rank = np.empty(len(of), dtype=np.int64)
        rank[self._order] = np.arange(len(of)) - self._begin[of[self._order]]
        leaving = np.flatnonzero(rank >= new[of])
        leaving = leaving[np.argsort(drawn[leaving], kind="stable")]
        wanted = np.repeat(np.arange(len(count)), np.maximum(new - count, 0))
        self.target = of.copy()
        for names in self._kept(tables):
            both = np.concatenate([of[leaving], wanted])
            same = combinations.cells(names, both) + combinations.stratum[both] * (len(both) + 1)
            one, other = _paired(same[: len(leaving)], same[len(leaving) :])
            self.target[leaving[one]] = wanted[other]
            leaving, wanted = np.delete(leaving, one), np.delete(wanted, other)
        self.removed = np.sort(leaving)
        self.moved = np.flatnonzero(self.target != of)
        copied, number = self._copied(wanted)
        order = np.lexsort((number, drawn[copied]))
        self.copied, self.copy_target, self.copy = copied[order], wanted[order], number[order]
        self.new_ids: pl.Series | None = None

    def _kept(self, tables: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
        names = self.combinations.names
        yield from ([one for one in names if one != left] for left in reversed(names))
        yield from sorted(tables, key=len, reverse=True)
        yield []

    def _copied(self, wanted: IntArray) -> tuple[IntArray, IntArray]:
        """A record for each copy: one of its combination, or of its stratum if that has none."""
        count, stratum = self.combinations.count, self.combinations.stratum
        whole = np.bincount(stratum, weights=count).astype(np.int64)
        own = count[wanted] > 0
        number = _places_within(wanted)
        number[~own] = _places_within(stratum[wanted[~own]])
        # Combinations are in the order of strata, and records in that of combinations.
        begin = np.where(own, self._begin[wanted], starts(whole)[stratum[wanted]])
        size = np.where(own, count[wanted], whole[stratum[wanted]])
        return self._order[begin + number % size], number

    def records(
        self, records: HeldRecords, ids: Sequence[str], key: str | None, grid: KeyGrid,
        numbers: pl.DataFrame, held: Secret,
    ) -> Any:  # fmt: skip
        """The records as they are now; copies come last."""
        stay = np.delete(np.arange(len(self.target)), self.removed)
        source = np.concatenate([stay, self.copied])
        target = np.concatenate([self.target[stay], self.copy_target])
        same = target == self.combinations.of[source]
        parts = zip(
            self.combinations.names, self.combinations.first, self.combinations.code, strict=True
        )
        rows = {name: np.where(same, source, first[code[target]]) for name, first, code in parts}
        if not self.removed.size and not self.copied.size:
            return records.with_taken(rows)
        last = {}
        if ids:
            self.new_ids = _new_ids(records.columns(ids[-1:]).to_series(), len(self.copied))
            last[ids[-1]] = self.new_ids
        if key is not None:
            named = numbers[self.copied].with_columns(pl.Series("\0copy", self.copy))
            keys = draws(named, held, "safe; record keys", grid.size)
            last[key] = pl.Series(keys)
        return records.with_taken(rows, source, last)

    def changes(self, records: HeldRecords, ids: Sequence[str]) -> pl.DataFrame:
        """Which records were moved, removed and copied, from and to which combination."""
        rows = self.combinations.rows().select(pl.all().cast(pl.String).fill_null(""))
        texts = rows.select(pl.concat_str(pl.all(), separator="/")).to_series()
        at = np.concatenate([self.moved, self.removed, self.copied])
        after = np.concatenate([self.target[self.moved], self.combinations.of[self.removed],
                                self.copy_target])  # fmt: skip
        sizes = {"moved": self.moved, "removed": self.removed, "copied": self.copied}
        words = [word for word, part in sizes.items() for _ in range(len(part))]
        gone = pl.Series(words, dtype=pl.String) == "removed"
        logged = [
            *(records.columns(ids)[at].get_columns() if ids else []),
            pl.Series("change", words, dtype=pl.String),
            texts.gather(self.combinations.of[at]).alias("before"),
            texts.gather(after).zip_with(~gone, texts.clear(len(at))).alias("after"),
        ]
        if ids:
            fresh = [] if self.new_ids is None else self.new_ids.cast(pl.String).to_list()
            blank = [None] * (len(at) - len(fresh))
            logged.append(pl.Series("copy", [*blank, *fresh], dtype=pl.String))
        return pl.DataFrame(logged)

    def measures(self) -> dict[str, int]:
        before = len(self.target)
        after = before - len(self.removed) + len(self.copied)
        return {"records": before, "records_after": after, "moved": len(self.moved),
                "removed": len(self.removed), "copied": len(self.copied)}  # fmt: skip


def _paired(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
    """Places of entries of both that are paired: the first of each number, the second, …"""
    step = max(len(one), len(other)) + 1
    both = np.unique(np.concatenate([one, other]), return_inverse=True)[1] * step
    here, there = both[: len(one)], both[len(one) :]
    return np.intersect1d(
        here + _places_within(one), there + _places_within(other),
        assume_unique=True, return_indices=True,
    )[1:]  # fmt: skip


def _places_within(groups: IntArray) -> IntArray:
    """The place of each entry among those of its group."""
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    place = np.empty(len(groups), dtype=np.int64)
    place[order] = np.arange(len(groups)) - np.repeat(starts(sizes)[:-1], sizes)
    return place


def _new_ids(old: pl.Series, size: int) -> pl.Series:
    """Identifiers of copies: no record has them, and they are seen to be new."""
    if old.dtype == pl.String:
        if old.str.starts_with("+").any():
            message = "identifiers begin with a plus sign, as those of copies do"
            raise MicrodataError(message, code="safe", where=old.name)
        return pl.Series([f"+{at}" for at in range(1, size + 1)], dtype=pl.String)
    highest: Any = max(old.max() or 0, 0)
    new = pl.Series(np.arange(1, size + 1) + 10 ** len(str(highest)))
    try:
        return new.cast(old.dtype)
    except pl.exceptions.InvalidOperationError:
        message, hint = "identifiers of copies do not fit into the column", "make it 64 bits wide"
        raise MicrodataError(message, code="safe", where=old.name, hint=hint) from None
