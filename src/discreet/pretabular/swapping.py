"""Swapping: of areas among similar households, of values of near rank, of codes among those alike.

In: records, CONFIDENTIAL. Out: `ChangedRecords`: the same ones, some with the areas of another
household, or with values of another record. See docs/methods/swapping.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.confidential import without_values
from discreet.errors import DiscreetWarning, MicrodataError, Problem, raise_all
from discreet.microdata import Secret, check_identifiers, name_list
from discreet.pretabular.changed_records import (
    DRAWS,
    ChangedRecords,
    HeldRecords,
    check_codes,
    coded,
    done,
    draws,
    places,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class SwapRisk:
    """Which households are rare where they live. CONFIDENTIAL."""

    household: IntArray  # the household of each record, numbered in the order of their identifiers
    first: IntArray  # the first record of each household
    #: Of each household and level of area: 1 / the fewest persons that are like one of its own in
    #: the variables of risk
    risks: FloatArray
    level: IntArray  # the first level at which these are fewer than k; the number of levels if none
    areas: IntArray  # the area of each household at each level, numbered within the whole


def swap_risk(
    records: HeldRecords, household: str, areas: Sequence[str], risk: Sequence[str], k: int
) -> SwapRisk:
    """The risk of each household at each level, from the coarsest on."""
    at, households = coded(records.columns([household]))
    if (at < 0).any():
        raise MicrodataError("records have no household", code="swap", where=household)
    first = np.empty(households.height, dtype=np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]
    risks = np.empty((households.height, len(areas)))
    prefixes = np.empty((households.height, len(areas)), dtype=np.int64)
    like = places(records.columns(risk))
    prefix = np.zeros(len(at), dtype=np.int64)
    for level, name in enumerate(areas):
        part = places(records.columns([name]))
        prefix = np.unique(prefix * (part.max(initial=0) + 1) + part, return_inverse=True)[1]
        both = prefix * (like.max(initial=0) + 1) + like
        _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
        fewest = np.full(households.height, len(at), dtype=np.int64)
        np.minimum.at(fewest, at, counts[inverse])
        risks[:, level] = 1 / fewest
        prefixes[:, level] = prefix[first]
    rare = np.column_stack([np.rint(1 / risks) < k, np.ones(households.height, dtype=bool)])
    return SwapRisk(
        household=at, first=first, risks=risks, level=np.argmax(rare, axis=1), areas=prefixes
    )


@without_values
def swap(
    source: Any,
    *,
    household: str,
    areas: Sequence[str],
    risk: Sequence[str],
    similar: Sequence[str | Sequence[str]],
    k: int,
    rate: float,
    secret: Secret | bytes | str | Path,
    same: Sequence[str] = (),
    carry_along: Sequence[str] = (),
    **reading: Any,
) -> ChangedRecords:
    """Let rare households, and as many others as the rate asks for, exchange their areas.

    Persons keep everything else, their record keys too; keys of households and buildings are to
    be inherited anew afterwards, with `discreet.inherit_record_keys`.

    Args:
        source: Records of persons: polars, pandas, pyarrow, DuckDB, or a path.
        household: Column that identifies the household.
        areas: Columns of areas, the coarsest first.
        risk: Variables by which a person is rare in an area.
        similar: Variables in which partners are alike; where some of the entries are lists, each
            entry is a profile, and later ones are tried when earlier ones find no partner.
        k: Who is like fewer than k persons of an area, with oneself, is swapped out of it.
        rate: Share of households that are swapped at least.
        secret: What makes the choice unpredictable.
        same: Variables in which partners are alike in every profile: classes of weights, kinds
            of households and institutions.
        carry_along: Columns of places that go with the areas.
        reading: How a file is to be read, as `discreet.read_microdata` takes it.
    """
    held, records = Secret.of(secret), HeldRecords(source, reading)
    profiles = _profiles(similar, same)
    moved = [*name_list(areas, "areas"), *carry_along]
    _check(household, moved, risk, profiles, k, rate)
    alike = {name for one in profiles for name in one}
    check_codes(records, [household, *moved, *risk, *alike])
    risks = swap_risk(records, household, areas, risk, k)
    _check_households(records, risks, [*moved, *alike])
    ids = records.columns([household])[risks.first]
    groups = [places(records.columns(one)[risks.first]) for one in profiles]
    pairing = _Pairing(risks, groups, draws(ids, held, "swap"))
    pairing.rare()
    wanted = round(len(risks.first) * rate / 2)
    if pairing.pairs > wanted:
        warnings.warn(
            "more households are swapped because they are rare than the rate asks for",
            DiscreetWarning, stacklevel=3,
        )  # fmt: skip
    pairing.others(wanted)
    rows = risks.first[pairing.partner[risks.household]]
    parameters = {"areas": moved, "risk": list(risk), "similar": profiles, "k": k, "rate": rate}
    return done(
        "swap", records.with_taken(dict.fromkeys(moved, rows)), _changes(ids, pairing), held,
        measures=pairing.measures(areas), parameters=parameters,
        told={"names": ", ".join(moved)},
    )  # fmt: skip


def _profiles(similar: Sequence[str | Sequence[str]], same: Sequence[str]) -> list[list[str]]:
    """The variables of each profile; a list of names only is one."""
    together = [one for one in similar if isinstance(one, str)]
    profiles = [[one] if isinstance(one, str) else list(one) for one in similar]
    if len(together) == len(similar):
        profiles = [together]
    return [[*dict.fromkeys([*one, *same])] for one in profiles]


def _check_households(records: HeldRecords, risks: SwapRisk, names: Sequence[str]) -> None:
    for name in names:
        codes = places(records.columns([name]))
        if (codes != codes[risks.first][risks.household]).any():
            raise MicrodataError(
                "persons of one household differ",
                code="swap",
                where=name,
                hint="areas and similar variables are those of the whole household",
            )


def _check(
    household: str, moved: Sequence[str], risk: Sequence[str], profiles: Sequence[Sequence[str]],
    k: int, rate: float,
) -> None:  # fmt: skip
    problems = []
    used = {household, *risk, *(name for one in profiles for name in one)}
    if not risk or not profiles or not all(profiles):
        problems.append(Problem("name one or more variables", "risk, similar"))
    if len(set(moved)) != len(moved) or used & set(moved):
        problems.append(Problem("areas are each named once, and nothing else", "areas"))
    if not 0 <= rate <= 1:
        problems.append(Problem("the rate is a share of households", "rate"))
    if k < 0:
        problems.append(Problem("k is a number of persons", "k"))
    raise_all(MicrodataError, problems, code="swap")


class _Pairing:
    """Finds partners: who is alike, in another area; each household has one at most."""

    def __init__(self, found: SwapRisk, groups: Sequence[IntArray], drawn: IntArray) -> None:
        self.found, self.groups = found, groups
        self.partner = np.arange(len(drawn))
        self.at_level = np.full(len(drawn), -1)
        share = (drawn + 1.0) / (DRAWS + 1)
        self.order = -np.log(share) / found.risks[:, -1]  # who is rare comes first
        self.outside = 0

    @property
    def free(self) -> BoolArray:
        return self.at_level < 0

    @property
    def pairs(self) -> int:
        return int((~self.free).sum()) // 2

    @property
    def stays(self) -> BoolArray:
        """Rare households that keep the area in which they are rare.

        Some of them have a partner: they served as donors, on a finer level of the same area.
        """
        levels = self.found.areas.shape[1]
        rows, at = np.arange(len(self.partner)), np.minimum(self.found.level, levels - 1)
        same = self.found.areas[rows, at] == self.found.areas[self.partner, at]
        return np.asarray(same & (self.found.level < levels))

    def rare(self) -> None:
        """Partners for all who are rare, from the coarsest level on."""
        for level in range(self.found.areas.shape[1]):
            self._match(self.found.level == level, level, len(self.partner))

    def others(self, wanted: int) -> None:
        """Partners for more households, from every smallest area its share."""
        level = self.found.areas.shape[1] - 1
        area = self.found.areas[:, level]
        tried = np.zeros(len(self.partner), dtype=bool)
        while self.pairs < wanted:
            left = np.flatnonzero(self.free & ~tried)
            if not left.size:
                return
            left = left[np.lexsort((self.order[left], area[left]))]
            rank = _within(area[left])
            size = np.bincount(area[left])[area[left]]
            place = (rank + self.order[left] / (1 + self.order[left])) / size
            chosen = left[np.argsort(place, kind="stable")][: 2 * (wanted - self.pairs)]
            tried[chosen] = True
            marked = np.zeros(len(tried), dtype=bool)
            marked[chosen] = True
            self._match(marked, level, wanted)

    def _match(self, marked: BoolArray, level: int, most: int) -> None:
        area = self.found.areas[:, level]
        for alike, inside in self._searches(level):
            mine = np.flatnonzero(marked & self.free)
            one, other = _apart(mine, alike, area, self.order)
            self._pair(one, other, level, most, inside=inside)
            mine = np.flatnonzero(marked & self.free)
            donors = np.flatnonzero(~marked & self.free)
            one, other = _with_donors(mine, donors, alike, area, self.order)
            self._pair(one, other, level, most, inside=inside)

    def _searches(self, level: int) -> Iterator[tuple[IntArray, bool]]:
        """Who may be partners: by each profile, first in the same area of the level above."""
        for group in self.groups:
            if level:
                above = self.found.areas[:, level - 1]
                yield group * (above.max(initial=0) + 1) + above, True
            yield group, level == 0

    def _pair(self, one: IntArray, other: IntArray, level: int, most: int, *, inside: bool) -> None:
        keep = np.argsort(np.minimum(self.order[one], self.order[other]), kind="stable")
        keep = keep[: max(most - self.pairs, 0)]
        one, other = one[keep], other[keep]
        self.partner[one], self.partner[other] = other, one
        self.at_level[one] = self.at_level[other] = level
        self.outside += 0 if inside else len(one)

    def measures(self, areas: Sequence[str]) -> dict[str, Any]:
        def counts(level: IntArray) -> dict[str, int]:
            return {name: int((level == at).sum()) for at, name in enumerate(areas)}

        return {
            "households": len(self.partner),
            "swapped": int((~self.free).sum()),
            "rare": counts(self.found.level),
            "without_partner": counts(self.found.level[self.stays]),
            "pairs_beyond_the_area_above": self.outside,
        }


def _within(sorted_groups: IntArray) -> IntArray:
    """The place of each entry within its run."""
    at = np.arange(len(sorted_groups))
    begins = np.r_[True, sorted_groups[1:] != sorted_groups[:-1]][: len(at)]
    return at - np.maximum.accumulate(np.where(begins, at, 0))


def _apart(
    mine: IntArray, alike: IntArray, area: IntArray, order: FloatArray
) -> tuple[IntArray, IntArray]:
    """Pairs among some, of one group and different areas: as many as there can be.

    In a group, sorted by area with the largest first, each is paired with the one half the
    group further on; an area larger than half the group is paired with all others.
    """
    if mine.size < 2:
        return mine[:0], mine[:0]
    _, group, sizes = np.unique(alike[mine], return_inverse=True, return_counts=True)
    _, cell, counts = np.unique(
        group * (area.max() + 1) + area[mine], return_inverse=True, return_counts=True
    )
    by = np.lexsort((order[mine], cell, -counts[cell], group))
    group, place = group[by], _within(group[by])
    begins = np.flatnonzero(place == 0)
    shift = np.maximum((sizes + 1) // 2, counts[cell[by[begins]]])
    pairs = np.flatnonzero(place < (sizes - shift)[group])
    return mine[by[pairs]], mine[by[pairs + shift[group[pairs]]]]


def _with_donors(
    mine: IntArray, donors: IntArray, alike: IntArray, area: IntArray, order: FloatArray
) -> tuple[IntArray, IntArray]:
    """Pairs of those who are left, all of one area in each group, with donors of others."""
    if not mine.size or not donors.size:
        return mine[:0], mine[:0]
    mine = mine[np.lexsort((order[mine], alike[mine]))]
    groups, begins = np.unique(alike[mine], return_index=True)
    at = np.minimum(np.searchsorted(groups, alike[donors]), len(groups) - 1)
    usable = (groups[at] == alike[donors]) & (area[mine[begins]][at] != area[donors])
    donors, at = donors[usable], at[usable]
    by = np.lexsort((order[donors], at))
    donors, at = donors[by], at[by]
    step = len(mine) + len(donors) + 1
    asking = np.searchsorted(groups, alike[mine]) * step + _within(alike[mine])
    _, here, there = np.intersect1d(
        asking, at * step + _within(at), assume_unique=True, return_indices=True
    )
    return mine[here], donors[there]


def _changes(ids: pl.DataFrame, pairing: _Pairing) -> pl.DataFrame:
    """Households with their partners; rare ones that stay are here with or without one."""
    stays = pairing.stays
    rows = np.flatnonzero(~pairing.free | stays)
    partner = ids.to_series().gather(pairing.partner[rows]).alias("partner")
    return ids[rows].with_columns(
        partner.zip_with(pl.Series(~pairing.free[rows]), partner.clear(len(rows))),
        pl.Series("level", pairing.at_level[rows] + 1),
        pl.Series("stays", stays[rows]),
    )


@without_values
def rank_swap(
    source: Any,
    variables: str | Sequence[str],
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    window: float,
    secret: Secret | bytes | str | Path,
    strata: str | Sequence[str] = (),
    **reading: Any,
) -> ChangedRecords:
    """Let records exchange a value with another of nearly the same rank, each variable by itself.

    Args:
        source: Records: polars, pandas, pyarrow, DuckDB, or a path.
        variables: Columns of numbers.
        id: Column, or columns, that identify a record.
        window: How far apart partners stand in order, as a share of the values of their stratum.
        secret: What makes the choice unpredictable.
        strata: Variables in which partners are alike.
        reading: How a file is to be read, as `discreet.read_microdata` takes it.

    >>> people = pl.DataFrame({"id": range(100), "income": range(1000, 1100)})
    >>> made = rank_swap(people, "income", id="id", window=0.1,
    ...                  secret="a long and secret sentence").records
    >>> made["income"].sum() == people["income"].sum()
    True
    """
    held, records = Secret.of(secret), HeldRecords(source, reading)
    names, ids = name_list(variables, "variables"), name_list(id, "id")
    layers = name_list(strata, "strata") if strata else []
    _check_exchange(records, names, ids, layers, window, "window")
    problems = [
        Problem(f"a column of {kind} has no ranks", name, "rank swapping is for numbers")
        for name, kind in records.columns(names).schema.items()
        if not kind.is_numeric()
    ]
    raise_all(MicrodataError, problems, code="column-type")
    numbers, group = records.columns(ids), _groups(records, layers)
    taken, log, measures = {}, [], {}
    for name in names:
        values = records.columns([name]).to_series()
        drawn = draws(numbers, held, f"rank swap {name}")
        ranked = values.cast(pl.Float64).fill_nan(None)
        order = np.lexsort((drawn, ranked.fill_null(0).to_numpy(), group))
        order = order[ranked.is_not_null().to_numpy()[order]]
        rows = np.arange(len(values))
        rows[order] = order[_near(group[order], drawn[order], window)]
        taken[name] = rows
        log.append(_exchanged(numbers, name, values, rows))
        measures[name] = _kept(ranked, rows)
    settings = {"variables": names, "window": window, "strata": layers}
    return done(
        "rank_swap", records.with_taken(taken), pl.concat(log), held, measures=measures,
        parameters=settings, told={"names": ", ".join(names)},
    )  # fmt: skip


@without_values
def permute(
    source: Any,
    variables: str | Sequence[str],
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    share: float,
    secret: Secret | bytes | str | Path,
    within: str | Sequence[str] = (),
    **reading: Any,
) -> ChangedRecords:
    """Let a share of records exchange values with others that are alike.

    Tables of `variables` by `within` stay exact.

    Args:
        source: Records: polars, pandas, pyarrow, DuckDB, or a path.
        variables: Columns whose values move together.
        id: Column, or columns, that identify a record.
        share: Share of the records that take part, each drawn by itself.
        secret: What makes the choice unpredictable.
        within: Variables in which those who exchange are alike.
        reading: How a file is to be read, as `discreet.read_microdata` takes it.
    """
    held, records = Secret.of(secret), HeldRecords(source, reading)
    names, ids = name_list(variables, "variables"), name_list(id, "id")
    alike = name_list(within, "within") if within else []
    _check_exchange(records, names, ids, alike, share, "share")
    numbers, group = records.columns(ids), _groups(records, alike)
    purpose = f"permute {'/'.join(names)}"
    chosen = np.flatnonzero(draws(numbers, held, purpose) < round(share * DRAWS))
    drawn = draws(numbers[chosen], held, f"{purpose}; order")
    chosen = chosen[np.lexsort((drawn, group[chosen]))]
    begins = np.flatnonzero(np.diff(group[chosen], prepend=-1))
    following = np.arange(1, len(chosen) + 1)
    following[np.append(begins[1:], len(chosen))[: len(begins)] - 1] = begins
    rows = np.arange(len(group))
    rows[chosen] = chosen[following]
    columns = records.columns(names)
    log = [_exchanged(numbers, name, columns[name], rows) for name in names]
    return done(
        "permute", records.with_taken(dict.fromkeys(names, rows)), pl.concat(log), held,
        measures={"taking part": len(chosen), "alone": int((rows[chosen] == chosen).sum())},
        parameters={"variables": names, "share": share, "within": alike},
        told={"names": ", ".join(names)},
    )  # fmt: skip


def _check_exchange(
    records: HeldRecords, names: Sequence[str], ids: Sequence[str], alike: Sequence[str],
    share: float, word: str,
) -> None:  # fmt: skip
    problems = []
    if set(names) & {*ids, *alike}:
        problems.append(Problem("what moves is neither identifier nor stratum", "variables"))
    if not 0 < share <= 1:
        problems.append(Problem("this is a share above 0, 1 at most", word))
    raise_all(MicrodataError, problems, code="swap")
    records.columns([*names, *alike])
    check_identifiers(records.frame, ids)


def _groups(records: HeldRecords, alike: Sequence[str]) -> IntArray:
    if not alike:
        return np.zeros(len(records.frame), dtype=np.int64)
    check_codes(records, alike)
    return places(records.columns(alike))


@compiled()
def _near(group: IntArray, drawn: IntArray, window: float) -> IntArray:
    """The partner of each place in order, itself if it finds none: one at most `window` away."""
    number = len(group)
    partner = np.arange(number)
    free = np.arange(number + 1)  # the next place from here on that has no partner
    begin = 0
    while begin < number:
        end = begin
        while end < number and group[end] == group[begin]:
            end += 1
        most = max(1, int(window * (end - begin)))
        for place in range(begin, end):
            if free[place] != place:
                continue
            free[place] = place + 1
            last = min(end - 1, place + most)
            if last == place:
                continue
            other = place + 1 + drawn[place] % (last - place)
            for start in (other, place + 1):
                other = start
                while free[other] != other:
                    free[other] = free[free[other]]
                    other = free[other]
                if other <= last:
                    partner[place], partner[other] = other, place
                    free[other] = other + 1
                    break
        begin = end
    return partner


def _exchanged(ids: pl.DataFrame, name: str, values: pl.Series, rows: IntArray) -> pl.DataFrame:
    """Who has the value of whom; values alike are no change."""
    moved = np.flatnonzero(rows != np.arange(len(rows)))
    texts = values.cast(pl.String)
    before, after = texts.gather(moved), texts.gather(rows[moved])
    log = ids[moved].with_columns(
        pl.lit(name).alias("variable"), before.alias("before"), after.alias("after")
    )
    return log.filter(before.ne_missing(after))


def _kept(values: pl.Series, rows: IntArray) -> dict[str, float | int | None]:
    """How many values moved, how far on average in standard deviations, and what stayed alike."""
    pair = pl.DataFrame({"before": values, "after": values.gather(rows)}).drop_nulls()
    spread = float(pair["before"].std() or 0)  # type: ignore[arg-type]
    apart = float((pair["after"] - pair["before"]).abs().mean() or 0)  # type: ignore[arg-type]
    return {
        "moved": int((pair["after"] != pair["before"]).sum()),
        "mean_distance": apart / spread if spread else 0.0,
        "correlation": pair.select(pl.corr("before", "after")).item() if spread else None,
    }
