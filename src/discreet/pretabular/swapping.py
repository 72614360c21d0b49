"""Swapping: of areas among similar households, of values of near rank, of codes among those alike.

In: records, CONFIDENTIAL. Out: `ChangedRecords`: the same ones, some with the areas of another
household, or with values of another record. See docs/methods/record-methods.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.errors import DiscreetWarning, MicrodataError, Problem, raise_all
from discreet.pretabular.changed_records import (
    DRAWS,
    ChangedRecords,
    InputRecords,
    check_codes,
    coded,
    done,
    draws,
    paired,
    places,
    places_within,
    record_method,
    strata,
)
from discreet.pretabular.settings import PermuteSettings, RankSwapSettings, SwapSettings


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
    records: InputRecords, household: str, areas: Sequence[str], risk: Sequence[str], k: int
) -> SwapRisk:
    """The risk of each household at each level, from the coarsest on."""
    at, households = coded(records.columns([household]))
    if (at < 0).any():
        raise MicrodataError("records lack a household", code="swap", where=household)
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


@record_method(SwapSettings)
def swap(records: InputRecords, settings: SwapSettings) -> ChangedRecords:
    """Let rare households, and as many others as the rate asks for, exchange their areas.

    Persons keep everything else, their record keys too; keys of households and buildings are to
    be inherited anew afterwards, with `discreet.inherit_record_keys`. Options are those of
    `SwapSettings`; `secret` makes the choice unpredictable.
    """
    held, moved, profiles = records.secret, settings.moved, settings.profiles
    household, areas, rate = settings.household, settings.areas, settings.rate
    alike = {name for profile in profiles for name in profile}
    check_codes(records, [household, *moved, *settings.risk, *alike])
    risks = swap_risk(records, household, areas, settings.risk, settings.k)
    for name in (*moved, *alike):
        codes = places(records.columns([name]))
        if (codes != codes[risks.first][risks.household]).any():
            message = "persons of one household have different values"
            hint = "areas and similar variables must be equal within a household"
            raise MicrodataError(message, code="swap", where=name, hint=hint)
    ids = records.columns([household])[risks.first]
    groups = [places(records.columns(one)[risks.first]) for one in profiles]
    pairing = _Pairing(risks, groups, draws(ids, held, "swap"))
    pairing.rare()
    wanted = round(len(risks.first) * rate / 2)
    if pairing.pairs > wanted:
        warnings.warn(
            "rare households exceed the swapping rate",
            DiscreetWarning, stacklevel=3,
        )  # fmt: skip
    pairing.others(wanted)
    rows = risks.first[pairing.partner[risks.household]]
    parameters = {
        "areas": moved, "risk": settings.risk, "similar": profiles, "k": settings.k, "rate": rate,
    }  # fmt: skip
    # Households with their partners; rare ones that stay are here with or without one.
    stays, matched = pairing.stays, ~pairing.free
    at = np.flatnonzero(matched | stays)
    partner = ids.to_series().gather(pairing.partner[at]).alias("partner")
    changes = ids[at].with_columns(
        partner.zip_with(pl.Series(matched[at]), partner.clear(len(at))),
        pl.Series("level", pairing.at_level[at] + 1),
        pl.Series("stays", stays[at]),
    )
    return done(
        "swap", records.with_taken(dict.fromkeys(moved, rows)), changes, held,
        measures=pairing.measures(areas), parameters=parameters,
        told={"names": ", ".join(moved)},
    )  # fmt: skip


class _Pairing:
    """Finds partners: who is alike, in another area; each household has one at most."""

    def __init__(self, risks: SwapRisk, groups: Sequence[IntArray], drawn: IntArray) -> None:
        self.risks, self.groups = risks, groups
        self.partner = np.arange(len(drawn))
        self.at_level = np.full(len(drawn), -1)
        share = (drawn + 1.0) / (DRAWS + 1)
        self.order = -np.log(share) / risks.risks[:, -1]  # who is rare comes first
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
        levels = self.risks.areas.shape[1]
        rows, at = np.arange(len(self.partner)), np.minimum(self.risks.level, levels - 1)
        same = self.risks.areas[rows, at] == self.risks.areas[self.partner, at]
        return np.asarray(same & (self.risks.level < levels))

    def rare(self) -> None:
        """Partners for all who are rare, from the coarsest level on."""
        for level in range(self.risks.areas.shape[1]):
            self._match(self.risks.level == level, level, len(self.partner))

    def others(self, wanted: int) -> None:
        """Partners for more households, from every smallest area its share."""
        level = self.risks.areas.shape[1] - 1
        area = self.risks.areas[:, level]
        tried = np.zeros(len(self.partner), dtype=bool)
        while self.pairs < wanted:
            left = np.flatnonzero(self.free & ~tried)
            if not left.size:
                return
            left = left[np.lexsort((self.order[left], area[left]))]
            rank = places_within(area[left])
            size = np.bincount(area[left])[area[left]]
            place = (rank + self.order[left] / (1 + self.order[left])) / size
            chosen = left[np.argsort(place, kind="stable")][: 2 * (wanted - self.pairs)]
            tried[chosen] = True
            marked = np.zeros(len(tried), dtype=bool)
            marked[chosen] = True
            self._match(marked, level, wanted)

    def _match(self, marked: BoolArray, level: int, most: int) -> None:
        area = self.risks.areas[:, level]
        searches = [(group, level == 0) for group in self.groups]
        if level:  # by each profile, first in the same area of the level above
            above = self.risks.areas[:, level - 1]
            whole = above.max(initial=0) + 1
            near = [(group * whole + above, True) for group in self.groups]
            searches = [pair for pairs in zip(near, searches, strict=True) for pair in pairs]
        for alike, inside in searches:
            mine = np.flatnonzero(marked & self.free)
            one, other = _apart(mine, alike, area, self.order)
            self._pair(one, other, level, most, inside=inside)
            mine = np.flatnonzero(marked & self.free)
            donors = np.flatnonzero(~marked & self.free)
            one, other = _with_donors(mine, donors, alike, area, self.order)
            self._pair(one, other, level, most, inside=inside)

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
            "rare": counts(self.risks.level),
            "without_partner": counts(self.risks.level[self.stays]),
            "pairs_beyond_the_area_above": self.outside,
        }


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
    group, place = group[by], places_within(group[by])
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
    donors = donors[usable]
    donors = donors[np.lexsort((order[donors], alike[donors]))]
    one, other = paired(alike[mine], alike[donors])
    return mine[one], donors[other]


@record_method(RankSwapSettings)
def rank_swap(records: InputRecords, settings: RankSwapSettings) -> ChangedRecords:
    """Let records exchange a value with another of nearly the same rank, each variable by itself.

    Options are those of `RankSwapSettings`; `id` names the columns that identify a record, `secret`
    makes the choice unpredictable.

    >>> people = pl.DataFrame({"id": range(100), "income": range(1000, 1100)})
    >>> made = rank_swap(people, "income", id="id", window=0.1,
    ...                  secret="a long and secret sentence").records
    >>> made["income"].sum() == people["income"].sum()
    True
    """
    held, names, layers = records.secret, settings.variables, settings.strata
    numbers = _exchanging(records, names, layers)
    problems = [
        Problem(f"a column of {kind} has no order", name, "rank swapping needs numbers")
        for name, kind in records.columns(names).schema.items()
        if not kind.is_numeric()
    ]
    raise_all(MicrodataError, problems, code="column-type")
    group = strata(records, layers)
    taken, log, measures = {}, [], {}
    for name in names:
        values = records.columns([name]).to_series()
        drawn = draws(numbers, held, f"rank swap {name}")
        ranked = values.cast(pl.Float64).fill_nan(None)
        order = np.lexsort((drawn, ranked.fill_null(0).to_numpy(), group))
        order = order[ranked.is_not_null().to_numpy()[order]]
        rows = np.arange(len(values))
        rows[order] = order[_near(group[order], drawn[order], settings.window)]
        taken[name] = rows
        log.append(_exchanged(numbers, name, values, rows))
        measures[name] = _kept(ranked, rows)
    parameters = {"variables": names, "window": settings.window, "strata": layers}
    return done(
        "rank_swap", records.with_taken(taken), pl.concat(log), held, measures=measures,
        parameters=parameters, told={"names": ", ".join(names)},
    )  # fmt: skip


@record_method(PermuteSettings)
def permute(records: InputRecords, settings: PermuteSettings) -> ChangedRecords:
    """Let a share of records exchange values with others that are alike.

    Tables of `variables` by `within` stay exact. Options are those of `PermuteSettings`; `id` names
    the columns that identify a record, `secret` makes the choice unpredictable.
    """
    held, names, alike = records.secret, settings.variables, settings.within
    numbers = _exchanging(records, names, alike)
    group, share = strata(records, alike), settings.share
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


def _exchanging(records: InputRecords, names: Sequence[str], alike: Sequence[str]) -> pl.DataFrame:
    """What identifies each record, after columns were looked up."""
    if set(names) & set(alike):
        message = "a swapped variable cannot be an identifier or a stratum"
        raise MicrodataError(message, code="swap", where="variables")
    records.columns([*names, *alike])
    return records.identifiers(names)


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
