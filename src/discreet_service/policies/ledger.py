"""The ledger of universes: released ones, sums and differences that differ from a new one by few
units. CONFIDENTIAL. Sizes of differences carry noise of who is in them; none is few.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import BoolArray, GrowingRows, IntArray
from discreet.disclosure import (
    PRIMES,
    LedgerUniverse,
    ReleasedUniverses,
    conflicts_with,
    members_behind,
)
from discreet_service.policies.asked import AskedTable
from discreet_service.policies.document import DifferencePolicy, PolicyError
from discreet_service.policies.sketches import UniverseSketch

#: A difference of so many times the least one is near: staff is told of it.
NEAR = 3
#: So often universes are compared anew without those whose likeness is no matter.
_ROUNDS = 3
#: So many more universes are put on a shelf one by one; for more it is made anew.
_FEW_MORE = 30

#: Variable, level, codes, size of the level.
Condition = tuple[str, str, tuple[str, ...], int]


@dataclass(frozen=True, kw_only=True, slots=True)
class UniverseDefinition:
    """Whom a universe is about, by its filters.

    >>> men = UniverseDefinition(unit="person", conditions=(("sex", "sex", ("m",), 2),))
    >>> old = UniverseDefinition(
    ...     unit="person", conditions=(("age", "10", ("80",), 10), ("sex", "sex", ("m",), 2))
    ... )
    >>> old.refines(men), men.refines(old)
    (True, False)
    """

    unit: str  # What is counted
    conditions: tuple[Condition, ...]  # The filters, sorted

    @classmethod
    def of(cls, asked: AskedTable) -> UniverseDefinition:
        """That of a table."""
        conditions = sorted(
            (one.variable, one.level, one.codes or (), one.size) for one in asked.where
        )
        return cls(unit=asked.unit, conditions=tuple(conditions))

    @classmethod
    def of_text(cls, text: str) -> UniverseDefinition:
        """One that was kept."""
        unit, conditions = json.loads(text)
        conditions = tuple((one[0], one[1], tuple(one[2]), int(one[3])) for one in conditions)
        return cls(unit=unit, conditions=conditions)

    @property
    def text(self) -> str:
        """As it is kept."""
        return json.dumps([self.unit, self.conditions], ensure_ascii=False)

    @property
    def digest(self) -> str:
        """Its name in the ledger."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def words(self) -> str:
        """For staff."""
        each = [f"{name}={'|'.join(codes[:3])}" for name, _, codes, _ in self.conditions]
        return " & ".join(each) or "everybody"

    def refines(self, other: UniverseDefinition) -> bool:
        """Whether it is a part of another by its filters alone, as a row is of its total.

        Codes of two levels of one variable are one in the other or apart; those apart are many.
        """
        own = {name: (level, codes, size) for name, level, codes, size in self.conditions}
        for name, level, codes, size in other.conditions:
            if name not in own:
                return False
            mine = own[name]
            if mine[0] == level:
                if not set(mine[1]) <= set(codes):
                    return False
            elif mine[2] < size:
                return False
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class FewUnits:
    """A universe that differs by few units from others. CONFIDENTIAL but for its words."""

    others: tuple[str, ...]  # Those that it stands against, by their filters
    small: bool  # Whether by fewer than may be, with noise


_NONE = GrowingRows(np.zeros(0, dtype=np.int64))


@dataclass(kw_only=True, repr=False)
class UniverseLedger:
    """The universes of one data version and unit. CONFIDENTIAL."""

    key: bytes  # What noise is drawn with. SECRET.
    _definitions: list[UniverseDefinition] = field(default_factory=list)
    _sketches: list[UniverseSketch] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _shelves: dict[int, ReleasedUniverses] = field(default_factory=dict)
    #: variable → the universes with a filter on it; and with each of its codes
    _filtered: dict[str, GrowingRows] = field(default_factory=dict)
    _by_code: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._sketches)

    def __repr__(self) -> str:
        return "<UniverseLedger>"

    def __contains__(self, definition: UniverseDefinition) -> bool:
        return not definition.conditions or definition.digest in self._known

    def add(self, definition: UniverseDefinition, sketch: UniverseSketch) -> None:
        """Note that tables about a universe were released; it can be compared with meanwhile."""
        if definition not in self:
            for variable, _, codes, _ in definition.conditions:
                filtered = self._filtered.get(variable, _NONE)
                self._filtered[variable] = filtered.joined([len(self)])
                for code in codes:
                    self._by_code.setdefault((variable, code), []).append(len(self))
            self._known.add(definition.digest)
            self._definitions.append(definition)
            self._sketches.append(sketch)

    def few(
        self, definition: UniverseDefinition, sketch: UniverseSketch, policy: DifferencePolicy
    ) -> list[FewUnits]:
        """Released universes, sums and differences of them that differ from a new one by few."""
        if not self._sketches:
            return []
        # Exact ones are no larger: the blur does not exceed the least difference.
        near, exact = NEAR * policy.least, policy.least + 2 * policy.blur
        conflicting: list[FewUnits] = []
        new, shelf = _on_shelf("new", sketch, near), self._shelf(near)
        for at in np.flatnonzero(shelf.counts == sketch.count).tolist():
            other, known = self._definitions[at], self._sketches[at]
            if (
                not _comparable(definition, other)
                and np.array_equal(_first(known.sums, sketch.size), _first(sketch.sums, known.size))
                and np.array_equal(known.marks, sketch.marks)
            ):
                conflicting.append(FewUnits(others=(other.words,), small=True))
        for conflict in conflicts_with(new, shelf, size=near, unions=False):
            place = int(conflict.earlier[0])
            if not _comparable(definition, self._definitions[place]):
                small = self._is_small(sketch, [(-1, place)], policy)
                conflicting.append(FewUnits(others=(self._definitions[place].words,), small=small))
        return conflicting + self._unions(definition, sketch, policy, exact)

    def _unions(
        self,
        definition: UniverseDefinition,
        sketch: UniverseSketch,
        policy: DifferencePolicy,
        size: int,
    ) -> list[FewUnits]:
        """Sums and differences of released ones.

        What is no matter could hide what is, so it is left out and all compared again.
        """
        conflicting: list[FewUnits] = []
        new, shelf = _on_shelf("new", sketch, size), self._shelf(size)
        apart = self._apart(sketch.related or {}, len(shelf))
        for _ in range(_ROUNDS):
            harmless: set[int] = set()
            for conflict in conflicts_with(new, shelf, size=size, apart=apart):
                if conflict.kind == "pairs":
                    conflicting.append(FewUnits(others=("too many pairs",), small=True))
                    continue
                places = [int(one) for one in conflict.earlier]
                if self._is_harmless(definition, conflict.kind, places):
                    harmless |= set(places)
                elif conflict.kind != "difference":
                    signs = _SIGNS[conflict.kind]
                    terms = [(signs[min(at, 1)], place) for at, place in enumerate(places)]
                    own = 1 if conflict.kind == "rest" else -1
                    small = self._is_small(sketch, terms, policy, own)
                    words = tuple(self._definitions[place].words for place in places)
                    conflicting.append(FewUnits(others=words, small=small))
            if not harmless or any(one.small for one in conflicting):
                break
            names = np.array([int(name) for name in shelf.names])
            kept = np.flatnonzero(~np.isin(names, list(harmless)))
            if not len(kept):
                break
            shelf, apart = shelf.taken(kept), apart[kept]
        return conflicting

    def _apart(self, related: Mapping[str, frozenset[str]], number: int) -> BoolArray:
        """Of the first universes, those of which a variable has none of the related codes.

        No record is in both.
        """
        apart = np.zeros(number, dtype=np.bool_)
        for variable, codes in related.items():
            foreign = np.zeros(number, dtype=np.bool_)
            filtered = self._filtered.get(variable, _NONE).rows
            foreign[filtered[filtered < number]] = True  # others may come meanwhile
            own = (self._by_code.get((variable, code), []) for code in codes)
            foreign[[at for each in own for at in each if at < number]] = False
            apart |= foreign
        return apart

    def _is_harmless(
        self, definition: UniverseDefinition, kind: str, places: Sequence[int]
    ) -> bool:
        """Whether a table shows the same by its rows and totals: parts of one whole."""
        each = [self._definitions[place] for place in places]
        if kind == "difference":
            return _comparable(definition, each[0])
        whole, parts = (definition, each) if kind == "sum" else (each[0], [definition, *each[1:]])
        return all(part.refines(whole) for part in parts)

    def _is_small(
        self,
        sketch: UniverseSketch,
        terms: Sequence[tuple[int, int]],
        policy: DifferencePolicy,
        own: int = 1,
    ) -> bool:
        """Whether a difference is too small, with noise of its own."""
        size = NEAR * policy.least
        primes = np.array(PRIMES, dtype=np.int64)[:, None]
        total = own * _first(sketch.sums, size)
        for sign, place in terms:
            total = total + sign * _first(self._sketches[place].sums, size)
        total %= primes
        behind = [members_behind(total[None, row], p)[0] for row, p in enumerate(PRIMES)]
        # The same units in whichever order they are subtracted.
        text = min(total.astype("<i8").tobytes(), (-total % primes).astype("<i8").tobytes())
        drawn = hmac.new(self.key, b"difference 1\n" + text, hashlib.sha256).digest()
        noise = int.from_bytes(drawn[:8], "big") % (2 * policy.blur + 1) - policy.blur
        return int(max(behind)) + noise < policy.least + policy.blur

    def _shelf(self, size: int) -> ReleasedUniverses:
        """The universes side by side, for differences of fewer units than a size."""
        shelf = self._shelves.get(size)
        if shelf is None or len(self) - len(shelf) > _FEW_MORE:
            each = enumerate([*self._sketches])
            shelf = ReleasedUniverses.of([_on_shelf(str(at), one, size) for at, one in each])
        for at, one in enumerate(self._sketches[len(shelf) :], len(shelf)):
            shelf = shelf.joined(_on_shelf(str(at), one, size))
        self._shelves[size] = shelf
        return shelf


#: The sign of the first released universe, and of all others.
_SIGNS = {"sum": (1, 1), "rest": (-1, 1)}


def _first(sums: IntArray, size: int) -> IntArray:
    return sums[:, : 2 * size - 1]


def _on_shelf(name: str, sketch: UniverseSketch, size: int) -> LedgerUniverse:
    if sketch.size < size:
        message = "sketches are too short for this policy"
        raise PolicyError(message, code="policy-ledger", where="differences.least")
    return LedgerUniverse(
        name=name, count=sketch.count, sums=_first(sketch.sums, size), marks=sketch.marks
    )


def _comparable(one: UniverseDefinition, other: UniverseDefinition) -> bool:
    return one.refines(other) or other.refines(one)
