"""Links: whether what is released of a submission gives away what is held back of it.

In: a submission with decisions on its single outputs (CONFIDENTIAL). Out: sentences that name
outputs, without any figure. Where it cannot be told, outputs count as linked.

Three things give an output away: its figures stand in another one; the records behind one of its
figures are those of other outputs of the same variables, put together and taken from each other;
or another output tells of the same variables, and nobody has said that this is no matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Self

import numpy as np

from discreet.arrays import IntArray
from discreet.disclosure import ShownSets, TooManySetsError
from discreet_fire.linked_tables import ShownCounts
from discreet_fire.queue.contents import all_tables
from discreet_fire.queue.database import queue_error
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.parts import OutputPart
from discreet_fire.queue.record import OutputDecision, PartVerdict, Standing

#: Figures that an output must have before a copy is known by them.
_LEAST_FIGURES = 3
_FIGURE = re.compile(r"(?<![\w.,])-?\d[\d.,]*")
#: Outputs times outputs, or cells: with more, nobody waits until each was tried.
_MOST_IF_HELD = 20_000


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
    cells = sum(one.hidden.size for one in shown.tables)
    if len(found.parts) * max(len(found.parts), cells) > _MOST_IF_HELD:
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
    tables: Sequence[ShownCounts]

    @classmethod
    def of(cls, queue: Queue, number: int, found: Standing) -> Self:
        """What a submission shows."""
        home = queue.store(queue.told(number, "token")) / "outputs"
        read = {one.number: one.text(home) for one in found.parts}
        return cls(
            texts={at: _plain(text) for at, text in read.items()},
            figures={at: _figures(text) for at, text in read.items()},
            tables=all_tables(queue, number),
        )

    def links(self, found: Standing) -> list[str]:
        """What gives away outputs that are held back."""
        sentences = [*self._copies(found), *_sums(self.tables, found)]
        accepted = [one for one in found.shown if found.verdict(one) is PartVerdict.accept]
        sentences += [
            f"output {other.number} may use the same variables as the withheld output {held.number}"
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
                    f"output {other.number} shows the values of the withheld output {held.number}"
                )


# The same figures ---------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return " ".join(text.split())


def _figures(text: str) -> frozenset[str]:
    """The figures of an output, however they are grouped; zeros and ones tell nothing."""
    plain = (one.replace(",", "").rstrip(".") for one in _FIGURE.findall(text))
    return frozenset(one for one in plain if one.strip("-0.") not in ("", "1"))


# The same records ---------------------------------------------------------------------------------


def _sums(tables: Sequence[ShownCounts], current: Standing) -> Iterator[str]:
    """Held outputs that shown ones of the same variables give away."""
    cells = _OutputCells.of(tables, current)
    for held in current.held:
        name = f"the withheld output {held.number}"
        try:
            others = cells.givers(held)
        except TooManySetsError:
            yield f"{name} has too many cells to examine"
            continue
        if others:
            plural = "s" if len(others) > 1 else ""
            yield f"{name} can be computed from output{plural} {' and '.join(map(str, others))}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _OutputCells:
    """The cells of all outputs, as unions of records of the same cells (confidential)."""

    cells: Mapping[str, list[IntArray]]  # of each output, by its number; "" for those of none
    atom_of: IntArray
    current: Standing

    @classmethod
    def of(cls, tables: Sequence[ShownCounts], current: Standing) -> Self:
        nothing = np.zeros(0, dtype=np.int64)
        every = np.unique(np.concatenate([nothing, *(one.records for one in tables)]))
        signature = np.zeros(len(every), dtype=np.uint64)
        drawn = np.random.default_rng(1)
        sets: list[tuple[str, IntArray]] = []
        for table in tables:
            for records in table.members():
                place = np.searchsorted(every, records)
                signature[place] ^= drawn.integers(1, 2**63, dtype=np.uint64)
                sets.append((table.name, place))
        atom_of = np.unique(signature, return_inverse=True)[1].ravel().astype(np.int64)
        cells: dict[str, list[IntArray]] = {}
        for name, place in sets:
            numbers = [str(one.number) for one in current.parts if one.covers(name)] or [""]
            for number in numbers:
                cells.setdefault(number, []).append(np.unique(atom_of[place]))
        return cls(cells=cells, atom_of=atom_of, current=current)

    def givers(self, held: OutputPart) -> list[int]:
        """The shown outputs of the variables of a held one that give it away, all together."""
        own = self.cells.get(str(held.number), [])
        others = [one for one in self.current.shown if held.shares_names(one)]
        if not own or not _tell(others, held):
            return []
        numbers = [(one.number, str(one.number)) for one in others]
        if any(one.names is None for one in others):  # nobody knows whose these are
            numbers.append((0, ""))
        members = [(at, one) for at, name in numbers for one in self.cells.get(name, [])]
        wanted = np.zeros((len(own), int(self.atom_of.max(initial=-1)) + 1), dtype=np.bool_)
        for at, atoms in enumerate(own):
            wanted[at, atoms] = True
        if not members:
            return []
        owners = np.arange(len(self.atom_of))
        sets = ShownSets([one for _, one in members], self.atom_of, owners, wanted.shape[1])
        known = np.flatnonzero(sets.follows(wanted))
        used = {members[at][0] for at, _ in sets.reason(wanted[known[0]])} if len(known) else set()
        return sorted(used - {0}) or sorted({one.number for one in others} if used else set())


def _tell(others: Sequence[OutputPart], held: OutputPart) -> bool:
    """Whether some outputs tell of all the variables that an output tells of."""
    if held.names is None or any(one.names is None for one in others):
        return True
    return held.names <= frozenset().union(*(one.names or () for one in others))
