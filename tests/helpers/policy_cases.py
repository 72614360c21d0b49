"""A town, its policy and those who ask, for tests of policies and attacks on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.arrays import IntArray
from discreet.classifications import Classification
from discreet.disclosure import Axis
from discreet.protection.noise import PerturbationTable
from discreet.release.packages.keys import public_bytes
from discreet_service.database import ServiceDatabase
from discreet_service.permissions import Grant, Principal
from discreet_service.policies import (
    POLICY_FILE,
    AskedTable,
    LayerAxis,
    LayerFigures,
    Policies,
    PoliciesInForce,
    Shape,
    sign_policy,
)
from discreet_service.policies.asked import boxes_of
from discreet_service.policies.sketches import UniverseSketch
from tests.helpers.service_people import PeopleOfService

TEACHING = (0.02, 0.04, 0.085, 0.105, 0.5, 0.105, 0.085, 0.04, 0.02)
SIGNING = Ed25519PrivateKey.from_private_bytes(b"s" * 32)
ASKING = Principal(name="asker", kind="key", grants=(Grant("requester"),))
GRID = 10**15

POLICY = """
dataset = "town"
version = "1"
revision = 1
rules = ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"]

[size]
cells_instant = 10000
cells_job = 5000000
categories = 62000

[variables]
most = 4
depth = { district = 4, square = 2 }

[exposure]
everywhere = 6.4
levels = { district = 6.4, square = 6.4 }

[small_universes]
least = 50

[differences]
least = 10
blur = 2
most_universes = 10000

[custom_groups]
per_variable = 0
groups = []

[sparsity]
small = 3
share_small = 0.9
share_single = 0.9
least_cells = 10

[rates]
per_second = 1000.0
burst = 10000
cells_per_day = 10000000
dataset_alarm = 100000000

[patterns]
window_hours = 720
contact = "statistics@example.org"
partitions = { alert = 3, stop = 10, together = 20 }
crossings = { alert = 500, stop = 1000, together = 2000 }
near = { alert = 3, stop = 20, together = 40 }
spellings = { alert = 10, stop = 50, together = 100 }
"""


def teaching_table() -> PerturbationTable:
    """Noise of variance 2.25; counts below 4 stay."""
    reach, rows = len(TEACHING) // 2, []
    for count in range(3 * reach + 2):
        row = np.zeros(len(TEACHING))
        row[reach] = 1
        rows.append(np.round(np.cumsum(row if count < reach else TEACHING), 12))
    return PerturbationTable.from_cumulative(np.vstack(rows), noise=range(-reach, reach + 1))


PTABLE = teaching_table()

Filters = Mapping[str, int | tuple[int, ...]]


@dataclass
class Town:
    """Persons with codes 0, 1, … of each variable, and record keys.

    Args:
        columns: variable → code of each person.
        geography: Variables that tell where.
        seed: Of the record keys.
    """

    columns: dict[str, IntArray]
    geography: tuple[str, ...] = ("district", "square")
    seed: int = 1
    asked_for: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = len(next(iter(self.columns.values())))
        generator = np.random.default_rng(self.seed)
        self.keys = generator.integers(0, GRID, self.size)
        self.units = generator.integers(0, 2**63, self.size).astype(np.uint64)

    @classmethod
    def drawn(cls, size: int, seed: int, /, **codes: int) -> Town:
        """A town whose variables are independent, each code as likely as the others."""
        generator = np.random.default_rng(seed)
        columns = {name: generator.integers(0, number, size) for name, number in codes.items()}
        return cls(columns=columns, seed=seed)

    def codes(self, name: str) -> int:
        return int(self.columns[name].max()) + 1

    def chosen(self, where: Filters) -> np.ndarray:
        kept = np.ones(self.size, dtype=np.bool_)
        for name, codes in where.items():
            kept &= np.isin(self.columns[name], np.atleast_1d(codes))
        return kept

    def count(self, where: Filters) -> int:
        """The perturbed count."""
        kept = self.chosen(where)
        number, key = int(kept.sum()), int(self.keys[kept].sum() % GRID)
        noise = PTABLE.lookup(np.array([number]), np.array([key]), GRID)
        return number + int(noise[0])

    def table(self, by: tuple[str, ...], where: Filters) -> IntArray:
        """Perturbed inner cells."""
        kept = self.chosen(where)
        shape = tuple(self.codes(name) for name in by)
        cell = np.zeros(int(kept.sum()), dtype=np.int64)
        for name, size in zip(by, shape, strict=True):
            cell = cell * size + self.columns[name][kept]
        cells = int(np.prod(shape)) if shape else 1
        number = np.bincount(cell, minlength=cells).astype(np.int64)
        key = np.zeros(cells, dtype=np.int64)
        # Sums of keys modulo the grid, in halves that do not overflow.
        low = np.bincount(cell, weights=self.keys[kept] % 10**7, minlength=cells).astype(np.int64)
        high = np.bincount(cell, weights=self.keys[kept] // 10**7, minlength=cells).astype(np.int64)
        key = ((high % 10**8) * 10**7 + low) % GRID
        return (number + PTABLE.lookup(number, key, GRID)).reshape(shape)

    def asked(
        self, by: tuple[str, ...] = (), where: Filters | None = None, spelling: str = ""
    ) -> AskedTable:
        """A table in the form of policies."""
        filters = where or {}
        every = {
            name: LayerAxis(name, name, self.codes(name), None, name in self.geography)
            for name in (*by, *filters)
        }
        codes = {name: tuple(sorted(map(str, np.atleast_1d(own)))) for name, own in filters.items()}
        conditions = tuple(every[name]._replace(codes=codes[name]) for name in sorted(filters))
        variables = tuple((None, every[name]) for name in sorted(by))
        return AskedTable(
            dataset="town",
            version="1",
            unit="person",
            by=variables,
            where=conditions,
            cells=int(np.prod([1 + every[name].size for name in by])),
            digest=f"{sorted(by)} {[(one.variable, one.codes) for one in conditions]}",
            apart={(name, name): frozenset() for name in every},
            spelling=spelling,
        )

    def evidence(self, by: tuple[str, ...] = (), where: Filters | None = None) -> TownEvidence:
        return TownEvidence(self, tuple(sorted(by)), where or {})


@dataclass
class TownEvidence:
    """What the records of a town tell."""

    town: Town
    by: tuple[str, ...]
    where: Filters

    def universe_count(self) -> int:
        return self.town.count(self.where)

    def universe_sketch(self, size: int) -> UniverseSketch:
        return UniverseSketch.of(self.town.units[self.town.chosen(self.where)], size)

    def published_counts(self) -> IntArray:
        return self.town.table(self.by, self.where)

    def axis(self, variable: str) -> Axis:
        codes = [str(code) for code in range(self.town.codes(variable))]
        return Axis(variable, Classification.flat(variable, codes, total="T"))

    def whole(self, shape: Shape) -> Shape:
        return tuple(tuple(axis and axis._replace(codes=None) for axis in one) for one in shape)

    def layer_figures(self, shape: Shape, *, every: bool) -> Iterator[LayerFigures]:
        for box in boxes_of(shape):
            figures = self.town.table(tuple(axis.variable for axis in box), {}).ravel()
            yield LayerFigures(
                box=box,
                levels=(1,) * len(box),
                cells=np.arange(figures.size),
                figures=figures.astype(np.float64),
                noisy=figures != 0,
            )


@dataclass
class PolicedTown:
    """A town that answers what its policy allows."""

    town: Town
    policies: Policies
    people: PeopleOfService
    waited: list[float]

    def ask(
        self,
        by: tuple[str, ...] = (),
        where: Filters | None = None,
        who: Principal = ASKING,
        spelling: str = "",
    ) -> bool:
        """Whether a table is answered."""
        asked = self.town.asked(by, where, spelling)
        return self.policies.decide(asked, who, self.town.evidence(by, where)).allowed


def signed_file(folder: Path, text: str = POLICY, key: Ed25519PrivateKey = SIGNING) -> Path:
    """A signed policy in the folder of a data version."""
    place = folder / "town" / "1" / POLICY_FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")
    sign_policy(place, key)
    return place


def policed(
    town: Town,
    database: ServiceDatabase,
    folder: Path,
    change: Callable[[str], str] = str,
) -> PolicedTown:
    """A town under a policy."""
    people, waited = PeopleOfService.of(database), list[float]()
    signed_file(folder, change(POLICY))
    in_force = PoliciesInForce(
        database,
        people.trail,
        people.approvals,
        folder=folder,
        signers=lambda: [public_bytes(SIGNING)],
        clock=people.clock,
    )
    policies = Policies(database, in_force, key=b"p" * 32, clock=people.clock, wait=waited.append)
    return PolicedTown(town=town, policies=policies, people=people, waited=waited)
