"""Links: whether what is released of a submission gives away what is held back of it.

In: a submission with decisions on its single outputs (CONFIDENTIAL). Out: sentences that name
outputs, without any figure. Where it cannot be told, outputs count as linked.

Three things give an output away: its figures stand in another one; the units behind one of its
figures are those of another output of the same variables, or what is left of, or makes up, two of
them or all categories of one; or another output tells of the same variables, and nobody has said
that this is no matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product
from typing import Self

import numpy as np

from discreet.arrays import IntArray
from discreet_fire.ledger import PRIMES, LedgerUniverse
from discreet_fire.queue.contents import universes_in
from discreet_fire.queue.database import queue_error
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.parts import OutputPart
from discreet_fire.queue.record import OutputDecision, PartVerdict, Standing

#: Figures that an output must have before a copy is known by them.
_LEAST_FIGURES = 3
_FIGURE = re.compile(r"(?<![\w.,])-?\d[\d.,]*")
#: Pairs of universes that are looked at; with more, it cannot be told in time.
_MOST_PAIRS = 100_000_000
#: Outputs times outputs, or universes: with more, nobody waits until each was tried.
_MOST_IF_HELD = 20_000
_PRIMES = np.array(PRIMES, dtype=np.int64)[:, None]


def check_links(queue: Queue, number: int, found: Standing) -> None:
    """Refuse decisions by which an output that is held back is given away."""
    sentences = links_of(queue, number, found)
    if sentences:
        hint = "hold these back, too, or accept linked ones as exceptions and say why"
        raise queue_error("; ".join(sentences[:5]), "linked", f"submission {number}", hint)


def links_of(queue: Queue, number: int, found: Standing) -> list[str]:
    """What gives away outputs that are held back, as sentences."""
    if not found.held:
        return []
    shown = _SubmissionShown.of(queue, number, found)
    return shown.links(found)


def links_if_held(queue: Queue, number: int, found: Standing) -> dict[int, list[str]]:
    """For each output, what would give it away if it alone were held back.

    Returns:
        Sentences by the number of the output; nothing of outputs of which there are too many.
    """
    shown = _SubmissionShown.of(queue, number, found)
    if len(found.parts) * max(len(found.parts), len(shown.universes)) > _MOST_IF_HELD:
        return {}
    held = OutputDecision(verdict=PartVerdict.hold)
    return {
        one.number: shown.links(replace(found, decisions={one.number: held})) for one in found.parts
    }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _SubmissionShown:
    """What a submission shows: the texts of its outputs, and their units (confidential)."""

    texts: Mapping[int, str]
    figures: Mapping[int, frozenset[str]]
    universes: Sequence[LedgerUniverse]

    @classmethod
    def of(cls, queue: Queue, number: int, found: Standing) -> Self:
        """What a submission shows."""
        home = queue.store(queue.told(number, "token")) / "outputs"
        read = {one.number: one.text(home) for one in found.parts}
        return cls(
            texts={at: _plain(text) for at, text in read.items()},
            figures={at: _figures(text) for at, text in read.items()},
            universes=universes_in(queue, number),
        )

    def links(self, found: Standing) -> list[str]:
        """What gives away outputs that are held back."""
        sentences = [*self._copies(found), *_sums(self.universes, found)]
        accepted = [one for one in found.shown if found.verdict(one) is PartVerdict.accept]
        sentences += [
            f"output {other.number} tells, or may tell, of the same variables as output "
            f"{held.number}, which is held back"
            for held in found.held
            for other in accepted
            if held.shares_names(other)
        ]
        return sentences

    def _copies(self, current: Standing) -> Iterator[str]:
        for held, other in product(current.held, current.shown):
            figures = self.figures[held.number]
            same = self.texts[held.number] == self.texts[other.number]
            many = len(figures) >= _LEAST_FIGURES
            if same or (many and figures <= self.figures[other.number]):
                yield (
                    f"the figures of output {held.number}, which is held back, stand in output "
                    f"{other.number}"
                )


# The same figures ---------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return " ".join(text.split())


def _figures(text: str) -> frozenset[str]:
    """The figures of an output, however they are grouped; zeros and ones tell nothing."""
    plain = (one.replace(",", "").rstrip(".") for one in _FIGURE.findall(text))
    return frozenset(one for one in plain if one.strip("-0.") not in ("", "1"))


# The same units -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _ShownUnits:
    """The units of a universe that is shown, or of several together (confidential)."""

    parts: tuple[OutputPart, ...]
    sums: IntArray

    def tells(self, held: OutputPart) -> bool:
        """Whether they are of all the variables that an output tells of."""
        if held.names is None or any(one.names is None for one in self.parts):
            return True
        return held.names <= frozenset().union(*(one.names or () for one in self.parts))


@dataclass(frozen=True, eq=False, repr=False)
class _ShownShelf:
    """Units that are shown, side by side, found by their first power sums (confidential)."""

    units: tuple[_ShownUnits, ...]

    @cached_property
    def keys(self) -> IntArray:
        """The first power sums of each, which tell sets apart."""
        return np.stack([one.sums[:, 1] for one in self.units])

    @cached_property
    def places(self) -> dict[tuple[int, ...], list[int]]:
        """Where units with these first power sums stand."""
        places: dict[tuple[int, ...], list[int]] = {}
        for at, key in enumerate(map(tuple, self.keys.tolist())):
            places.setdefault(key, []).append(at)
        return places

    @cached_property
    def packed(self) -> IntArray:
        """The keys as one number each, in order."""
        return np.sort(_packed(self.keys))

    def of(self, sums: IntArray) -> Iterator[_ShownUnits]:
        """Those that are these units."""
        for at in self.places.get(tuple(sums[:, 1].tolist()), ()):
            if (self.units[at].sums == sums).all():
                yield self.units[at]

    def ways(self, sums: IntArray) -> Iterator[_ShownUnits]:
        """How some units are shown: as they are, or as what is left of, or makes up, two."""
        yield from self.of(sums)
        for sign in (1, -1):  # what one has more than these units, and what it lacks
            rests = (sign * (self.keys - sums[:, 1])) % _PRIMES[:, 0]
            spots = np.searchsorted(self.packed, _packed(rests))
            known = self.packed[np.minimum(spots, len(self.packed) - 1)] == _packed(rests)
            for at in np.flatnonzero(known).tolist():
                one = self.units[at]
                for other in self.of((sign * (one.sums - sums)) % _PRIMES):
                    yield _ShownUnits(parts=(*one.parts, *other.parts), sums=sums)


def _packed(keys: IntArray) -> IntArray:
    return (keys[:, 0] << 31) | keys[:, 1]


def _sums(universes: Sequence[LedgerUniverse], current: Standing) -> list[str]:
    """Held universes that shown ones of the same variables give away."""
    shelf = _ShownShelf(tuple(_shown_units(universes, current)))
    sentences: list[str] = []
    for held in current.held if shelf.units else ():
        own = {one.sums.tobytes(): one.sums for one in universes if held.covers(one.table)}
        if len(own) * len(shelf.units) > _MOST_PAIRS:
            sentences.append(
                f"output {held.number}, which is held back, has too many cells to look at"
            )
            continue
        ways = (way for sums in own.values() for way in shelf.ways(sums % _PRIMES))
        first = next((way for way in ways if way.tells(held)), None)
        if first is not None:
            sentences.append(_told(held, first))
    return sentences


def _shown_units(universes: Sequence[LedgerUniverse], current: Standing) -> Iterator[_ShownUnits]:
    """Each universe of an output that is shown, and all categories of one table together."""
    unread = tuple(one for one in current.shown if one.names is None)
    for table, own in groupby(universes, key=lambda one: one.table):
        parts = tuple(one for one in current.shown if one.covers(table))
        known = any(one.covers(table) for one in current.parts)
        if not parts and (known or not unread):
            continue  # nobody is shown it, as far as can be told
        some = list(own)
        for one in some:
            yield _ShownUnits(parts=(parts or unread)[:1], sums=one.sums % _PRIMES)
        for _, spans in groupby(some, key=_span):
            group = list(spans)
            if len(group) > 1 and _span(group[0]):
                whole = np.sum([one.sums % _PRIMES for one in group], axis=0) % _PRIMES
                yield _ShownUnits(parts=(parts or unread)[:1], sums=whole)


def _span(universe: LedgerUniverse) -> tuple[str, ...]:
    """The variables whose categories a universe is one of."""
    return tuple(one.partition(" = ")[0] for one in universe.label.split(", ") if " = " in one)


def _told(held: OutputPart, ways: _ShownUnits) -> str:
    others = " and ".join(dict.fromkeys(str(one.number) for one in ways.parts))
    plural = "s" if " and " in others else ""
    return (
        f"output {held.number}, which is held back, can be worked out from output{plural} {others}"
    )
