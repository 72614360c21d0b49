"""Invented, pronounceable names of places.

In: a stream of random bits. Out: as many different names as asked for. The parts
are made up; a likeness to a real place is chance.
"""

from __future__ import annotations

import numpy as np

from discreet.demo.draws import Stream

__all__ = ["place_names"]

_FIRST = """
    Ald Bel Bor Bra Cal Cor Dal Der Dro Eld Far Fen Gal Gor Hal Har Hol Ill Jor Kal Kel Kor Lam
    Lor Lun Mar Mel Mor Nal Nor Oll Orm Pel Por Quil Ras Rov Sal Ser Sol Tal Tar Tor Ul Val Ver
    Vol Wel Wil Yar Zel
"""
_MIDDLE = "a ada ami ane ari avo e edo elo emi eri evo i ila imo ine o oda olu ona u uli una y"
_LAST = """
    bar bek dan dor dra fall gard gen grav holm kai land lin lo mere mira mond nau nes nor quay
    ra rin ros sund tal thal vall var vik wyn zell
"""


def place_names(stream: Stream, number: int) -> list[str]:
    """Different names, in random order.

    >>> names = place_names(Stream(2026, 0), 500)
    >>> len(set(names)), all(name.isalpha() for name in names)
    (500, True)
    """
    # Parts may join to the same name in two ways: draw from the set of all names.
    every = sorted(
        {a + b + c for a in _FIRST.split() for b in _MIDDLE.split() for c in _LAST.split()}
    )
    chosen = stream.order(len(every))[:number]
    return np.array(every)[chosen].tolist()  # type: ignore[no-any-return]
