"""What is said with key figures: notes and provenance, taken over from ingredients. Public.

In: protected tables. Out: their notes, each once, and one provenance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from discreet._version import __version__
from discreet.derived.cells import Component
from discreet.tables import CellNote, Note, Provenance

__all__ = ["BRACKETS", "cell_notes", "notes", "provenance"]

BRACKETS = Note(
    "brackets",
    {
        "en": "Figures in parentheses are of limited value: the noise that the method can add may "
        "have changed them relatively strongly.",
        "de": "Werte in Klammern haben eingeschränkten Aussagewert: Die mögliche Überlagerung kann "
        "sie relativ stark verändert haben.",
    },
)


def notes(known: Mapping[str, Component], *, bracketed: bool) -> tuple[Note, ...]:
    """The notes of all ingredients, each once, and one on brackets if there are any."""
    found: list[Note] = []
    for component in known.values():
        found += [note for note in component.protected.notes if note not in found]
    if bracketed and all(note.kind != BRACKETS.kind for note in found):
        found.append(BRACKETS)
    return tuple(found)


def cell_notes(known: Mapping[str, Component], *, several: bool) -> tuple[CellNote, ...]:
    """The notes on cells of all ingredients, each once; for all figures of the cell."""
    found: list[CellNote] = []
    for component in known.values():
        for note in component.protected.cell_notes:
            extended = CellNote((*note.codes, None), note.note) if several else note
            if extended not in found:
                found.append(extended)
    return tuple(found)


def provenance(
    known: Mapping[str, Component],
    digests: Mapping[str, str],
    hidden: Collection[str] = (),
) -> Provenance:
    """One provenance for figures of several tables.

    Each digest is named once. Where several differ, they are named after the first of
    their ingredients that is shown, or numbered. A time is kept if all agree.

    Args:
        known: The ingredients.
        digests: Digests besides theirs.
        hidden: Ingredients whose names are not printed.
    """
    every = {name: component.protected.provenance for name, component in known.items()}
    methods = dict.fromkeys(origin.method for origin in every.values())
    grids = dict.fromkeys(origin.key_grid for origin in every.values() if origin.key_grid)
    times = {origin.time for origin in every.values()}
    named: dict[str, str] = {}
    for kind in dict.fromkeys(kind for origin in every.values() for kind in origin.digests):
        named.update(_named(kind, every, hidden))
    return Provenance(
        version=__version__,
        method=", ".join(methods),
        key_grid=", ".join(grids),
        digests={**named, **digests},
        time=times.pop() if len(times) == 1 else "",
    )


def _named(
    kind: str, every: Mapping[str, Provenance], hidden: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The digests of a kind, each once, under a name."""
    users: dict[str, list[str]] = {}
    for name, origin in every.items():
        if kind in origin.digests:
            users.setdefault(origin.digests[kind], []).append(name)
    for number, (digest, names) in enumerate(users.items(), 1):
        shown = [name for name in names if name not in hidden]
        if len(users) == 1:
            yield kind, digest
        else:
            yield f"{shown[0]}.{kind}" if shown else f"{kind} {number}", digest
