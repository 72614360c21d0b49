"""Equality: the same records have the same noise, so figures that differ tell of who is apart.

Two universes that differ by few persons are asked for, by filters, by areas of two systems or by
rows of two groupings; where a cell of them is unequal, somebody who is apart has the attribute of
that cell. It is never wrong. What is true is looked up afterwards.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.release.cubes import build_store
from discreet_service.policies import sign_policy
from tests.helpers.running_service import RunningDemo
from tests.helpers.service_attacks import (
    DATA,
    AttackRate,
    asked,
    catalogue,
    cells,
    codes_on,
    real_keys,
)

#: Universes of fewer are not answered anyway.
_LARGE = 60
#: Who is apart, at most.
_FEW = 9
#: What an attacker would learn of somebody.
ATTRIBUTES = ("sex", "marital_status", "education", "legal_age", "nationality", "occupation")
#: So many conditions that are no areas leave room for an attribute, by the level of the areas.
_ROOM = {"municipality": 1, "district": 2, "post_area": 1, "post_district": 2}
#: A principal is stopped after so many near universes.
_BEFORE_STOPPED = 8


#: What variables are read from that are called otherwise.
_COLUMNS = {"age5": "age", "legal_age": "age", "state": "region"}


@dataclass(frozen=True, kw_only=True)
class FilterCondition:
    """A code of a variable of the catalogue, and who has it."""

    column: str  # What the variable is read from
    variable: str  # The variable
    level: str  # The level
    code: str  # The code
    members: NDArray[np.bool_]  # Who has it

    @property
    def asked(self) -> dict[str, Any]:
        """As a query says it."""
        return {"variable": self.variable, "level": self.level, "codes": [self.code]}


@dataclass(frozen=True, kw_only=True)
class NearUniverses:
    """Two universes that differ by few."""

    first: tuple[FilterCondition, ...]  # The conditions of the one
    second: tuple[FilterCondition, ...]  # Those of the other
    apart: NDArray[np.int64]  # Who is in one of them only

    @property
    def attribute(self) -> str:
        """What an attacker would learn of those apart; empty if nothing is left."""
        columns = {one.column for one in (*self.first, *self.second)}
        left = (each for each in ATTRIBUTES if _COLUMNS.get(each, each) not in columns)
        return next(left, "")

    def is_between(self, systems: Sequence[str]) -> bool:
        """Whether they are areas of two systems with the same conditions besides; or none said."""
        areas, rest = [], []
        for each in (self.first, self.second):
            areas += [one.variable for one in each if one.variable in systems]
            rest.append({(one.variable, one.level, one.code) for one in each
                         if one.variable not in systems})  # fmt: skip
        return not systems or (rest[0] == rest[1] and len({*areas}) == len(areas) == 2)


def conditions(
    demo: RunningDemo, frame: pl.DataFrame, dataset: str = "census"
) -> list[FilterCondition]:
    """Every code of every level of the catalogue, of no fewer than 60 persons."""
    found = []
    for name, about in catalogue(demo, dataset).items():
        for level in about["levels"]:
            codes = codes_on(demo, frame, name, level["number"], dataset)
            for code in sorted({*codes.to_list()}):
                members = (codes == code).to_numpy()
                if members.sum() >= _LARGE:
                    column = _COLUMNS.get(name, name)
                    found.append(
                        FilterCondition(
                            column=column, variable=name, level=level["name"], code=code,
                            members=members,
                        )
                    )  # fmt: skip
    return found


def _universes(
    single: Sequence[FilterCondition], systems: Sequence[str]
) -> Iterator[tuple[tuple[FilterCondition, ...], NDArray[np.bool_]]]:
    """Combinations of up to three conditions, each of another column, of no fewer than 60.

    With systems of areas: of an area, and one condition besides.
    """
    frequent: list[tuple[tuple[FilterCondition, ...], NDArray[np.bool_]]]
    frequent = [((one,), one.members) for one in single]
    for _ in range(2 if systems else 3):
        for chosen, members in frequent:
            areas = [one for one in chosen if one.variable in systems]
            if _leaves_room(chosen) and len(areas) == bool(systems):
                yield chosen, members
        more = []
        for chosen, members in frequent:
            last = single.index(chosen[-1])
            for one in single[last + 1 :]:
                if one.column not in {each.column for each in chosen}:
                    both = members & one.members
                    if both.sum() >= _LARGE:
                        more.append(((*chosen, one), both))
        frequent = more


def _leaves_room(chosen: Sequence[FilterCondition]) -> bool:
    """Whether the policy lets a table of an attribute be asked for besides."""
    areas = [one for one in chosen if one.level in _ROOM]
    return all(len(chosen) - len(areas) <= _ROOM[one.level] for one in areas)


def _is_part(one: Sequence[FilterCondition], other: Sequence[FilterCondition]) -> bool:
    """Whether a universe is a part of another by its codes alone, as a row is of a total."""
    return all(
        any(
            mine.variable == wide.variable and not (mine.members & ~wide.members).any()
            for mine in one
        )
        for wide in other
    )


def near_filters(
    demo: RunningDemo,
    frame: pl.DataFrame,
    most: int,
    *,
    dataset: str = "census",
    between: Sequence[str] = (),
    seed: int = 1,
) -> list[NearUniverses]:
    """Pairs of universes that differ by 1 to 9 persons, and contain none the other.

    With two systems of areas: an area of the one against one of the other, all else alike.
    """
    every = [*_universes(conditions(demo, frame, dataset), between)]
    packed = np.packbits(np.array([members for _, members in every]), axis=1)
    sizes = np.array([int(members.sum()) for _, members in every])
    order = np.argsort(sizes, kind="stable")
    packed, sizes = packed[order], sizes[order]
    pairs = []
    for at in range(len(order)):
        end = int(np.searchsorted(sizes, sizes[at] + _FEW, side="right"))
        apart = np.bitwise_count(packed[at] ^ packed[at + 1 : end]).sum(axis=1)
        near = np.flatnonzero((apart >= 1) & (apart <= _FEW)) + at + 1
        pairs += [(at, int(other)) for other in near]
    found = []
    for place in np.random.default_rng(seed).permutation(len(pairs)):
        (first, one), (second, other) = (every[int(order[at])] for at in pairs[int(place)])
        if not (_is_part(first, second) or _is_part(second, first)):
            apart = np.flatnonzero(one ^ other)
            pair = NearUniverses(first=first, second=second, apart=apart)
            found += [pair] if pair.attribute and pair.is_between(between) else []
        if len(found) == most:
            break
    return found


# -- by filters ------------------------------------------------------------------------------------


def _unequal(first: pl.DataFrame, second: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The cells that two tables show, and show differently."""
    both = first.join(second, on=[*names], suffix=" of the other")
    return both.filter(pl.col("value") != pl.col("value of the other"))


def equality_of_filters(
    demo: RunningDemo, pairs: Sequence[NearUniverses], frame: pl.DataFrame, dataset: str = "census"
) -> tuple[AttackRate, AttackRate]:
    """Pairs of filters, each pair by two principals: those that both are answered; that tell."""
    answered = proven = 0
    keys: list[str] = []
    for pair in pairs:
        if not keys:
            keys = real_keys(demo, "requester", 2) * _BEFORE_STOPPED
        attribute = pair.attribute
        told = [
            asked(demo, keys.pop(), dataset, by=[attribute], where=[one.asked for one in each])
            for each in (pair.first, pair.second)
        ]
        if {each.status for each in told} != {200}:
            continue
        answered += 1
        unequal = _unequal(cells(told[0]), cells(told[1]), [attribute]).filter(
            pl.col(attribute) != "Total"
        )
        codes = codes_on(demo, frame, attribute, _finest(demo, attribute, dataset), dataset)
        there = {*codes.gather(pair.apart).to_list()}
        assert {*unequal[attribute]} <= there, "an unequal figure proved what is not so"
        proven += bool(unequal.height)
    what = f"equality over filters that differ by 1–{_FEW}"
    return (
        AttackRate(attack=what, success="both are answered", hits=answered, tried=len(pairs)),
        AttackRate(attack=what, success="an attribute of those apart is proven",
                   hits=proven, tried=len(pairs)),
    )  # fmt: skip


def _finest(demo: RunningDemo, variable: str, dataset: str) -> int:
    return max(int(each["number"]) for each in catalogue(demo, dataset)[variable]["levels"])


# -- by areas --------------------------------------------------------------------------------------

PLACES = "datasets/places-1"
#: Levels of post areas, beside those of regions.
POST = {"state": "post_state", "district": "post_district", "municipality": "post_area"}
_OFFICIAL = "grid_cell == 'Total'"


def with_places(
    policy: str, *, heeded: bool, moved: int = 60, seed: int = 5
) -> Callable[[Path], None]:
    """What gives a demonstration a second data set, with areas of two systems.

    Post areas follow municipalities but for some households, whose post comes from the next place;
    post districts follow districts in the same way. An office that heeds its report on areas has a
    policy without their levels.
    """

    def change(folder: Path) -> None:
        place = folder / PLACES
        kept_out = shutil.ignore_patterns("*.store", "quality")
        shutil.copytree(folder / DATA, place, ignore=kept_out)
        records = pl.read_parquet(place / "persons.parquet")
        towns = records["municipality"].cast(pl.String).to_numpy()
        order = np.unique(towns)
        homes = records["household_id"].unique().sort().to_numpy()
        away = np.random.default_rng(seed).choice(homes, moved, replace=False)
        following = order[(np.searchsorted(order, towns) + 1) % len(order)]
        post = np.where(np.isin(records["household_id"], away), following, towns)
        records.with_columns(post=pl.Series([f"P{code}" for code in post])).write_parquet(
            place / "persons.parquet"
        )
        _describe(place, policy, () if heeded else POST.items())
        sign_policy(place / "POLICY.toml", folder / "office.key")
        build_store(place / "programme.toml", place / "persons.store", source="persons")

    return change


def _describe(place: Path, policy: str, levels: Iterable[tuple[str, str]]) -> None:
    """Programme, catalogue and policy of the data set of places."""
    tree = json.loads((place / "region.json").read_text("utf-8"))
    tree |= {"name": "post", "column": "post", "titles": {"en": "Post", "de": "Post"}}
    tree["levels"] = [*POST.values()]
    tree["codes"] = [
        [*(f"P{each}" if each[:1].isdigit() else each for each in row[:2]), *row[2:]]
        for row in tree["codes"]
    ]
    (place / "post.json").write_text(json.dumps(tree), "utf-8")
    programme = (place / "programme.toml").read_text("utf-8")
    programme = programme.replace(_OFFICIAL, f"{_OFFICIAL} and post == 'Total'")
    programme = programme.replace(
        "[variables.sex]", '[variables.post]\nhierarchy = "post.json"\n\n[variables.sex]'
    )
    programme += '\n[tables.post]\nby = ["post", "sex"]\n'
    (place / "programme.toml").write_text(programme, "utf-8")
    census = (place / "DATASET.toml").read_text("utf-8")
    text = census[: census.index("[units.household]")].replace('"census"', '"places"')
    text = text.replace('"2022-1"', '"1"').replace('["region", "state"]', '["region", "post"]')
    (place / "DATASET.toml").write_text(text, "utf-8")
    policy = policy.replace('dataset = "census"', 'dataset = "places"').replace('"2022-1"', '"1"')
    for level, post in levels:
        policy = re.sub(rf"\b{level} = ([0-9.]+)", rf"{level} = \1, {post} = \1", policy)
    (place / "POLICY.toml").write_text(policy, "utf-8")


def publish_places(demo: RunningDemo) -> None:
    """Publish the data set of places, as staff does."""
    told = demo.ask("POST", "/api/v1/datasets/places/versions/1:publish", key="producer")
    assert told.status == 200, told.text


# -- by rows ---------------------------------------------------------------------------------------

#: Rows that differ by few have so many persons in common, at least.
_COMMON = 20
Spanning = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class RowPair:
    """Rows of two tables that differ by few."""

    first: tuple[str, ...]  # The codes of the one
    second: tuple[str, ...]  # Those of the other
    apart: NDArray[np.int64]  # Who is in one of them only


def _rows(
    demo: RunningDemo, frame: pl.DataFrame, by: Spanning, dataset: str
) -> list[tuple[str, ...]]:
    """For each person the row of a table that it is in."""
    about = catalogue(demo, dataset)
    columns = []
    for name, wanted in by:
        (number,) = [one["number"] for one in about[name]["levels"] if one["name"] == wanted]
        columns.append(codes_on(demo, frame, name, number, dataset).to_list())
    return [*zip(*columns, strict=True)]


def near_rows(
    demo: RunningDemo, frame: pl.DataFrame, one: Spanning, other: Spanning, dataset: str = "census"
) -> list[RowPair]:
    """Rows of two tables that differ by 1 to 9 persons, and have 20 in common."""
    first, second = (_rows(demo, frame, by, dataset) for by in (one, other))
    sizes, others, shared = (
        Counter(first),
        Counter(second),
        Counter(zip(first, second, strict=True)),
    )
    found = []
    for (mine, theirs), common in sorted(shared.items()):
        if common >= _COMMON and 1 <= sizes[mine] + others[theirs] - 2 * common <= _FEW:
            apart = [
                at for at, (a, b) in enumerate(zip(first, second, strict=True))
                if (a == mine) != (b == theirs)
            ]  # fmt: skip
            found.append(RowPair(first=mine, second=theirs, apart=np.array(apart)))
    return found


def equality_of_rows(
    demo: RunningDemo,
    frame: pl.DataFrame,
    one: Spanning,
    other: Spanning,
    *,
    dataset: str = "census",
    what: str,
) -> AttackRate:
    """Rows of two tables that differ by few: an attribute of those apart is proven."""
    hits = tried = 0
    pairs = near_rows(demo, frame, one, other, dataset)
    for attribute in ("sex", "marital_status", "education"):
        codes = codes_on(demo, frame, attribute, 1, dataset)
        told = [
            asked(demo, key, dataset, totals="none", by=[
                *({"variable": name, "level": level} for name, level in by),
                {"variable": attribute, "level": 1},
            ])
            for key, by in zip(real_keys(demo, "requester", 2), (one, other), strict=True)
        ]  # fmt: skip
        tables = [
            {} if each.status != 200 else {
                (*(row[name] for name, _ in by), row[attribute]): row["value"]
                for row in cells(each).iter_rows(named=True)
            }
            for each, by in zip(told, (one, other), strict=True)
        ]  # fmt: skip
        for pair in pairs:
            figures = {
                code: (tables[0].get((*pair.first, code)), tables[1].get((*pair.second, code)))
                for code in {*codes.to_list()}
            }
            unequal = {code for code, (a, b) in figures.items() if None not in (a, b) and a != b}
            there = {*codes.gather(pair.apart).to_list()}
            assert unequal <= there, "an unequal figure proved what is not so"
            hits += bool(unequal)
            tried += 1
    return AttackRate(
        attack=what, success="an attribute of those apart is proven", hits=hits, tried=tried
    )
