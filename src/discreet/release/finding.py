"""How the checks of a programme say what they found.

In: a `Programme` and a key. Out: problems with their key, so that a value that was
reported as wrong is not reported as missing too. Nothing here has seen data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from discreet.errors import DiscreetError, Problem
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme, nearest

__all__ = ["Found", "at", "file_there", "filter_parsed", "problems_of", "reported", "twice"]

Found = Iterator[tuple[KeyPath, Problem]]


def reported(programme: Programme, path: KeyPath) -> bool:
    """Whether the value at a key was wrong already, so that its absence is no news."""
    return any(path[: len(skipped)] == skipped for skipped in programme.skipped)


def at(programme: Programme, path: KeyPath, what: str, hint: str = "") -> tuple[KeyPath, Problem]:
    """Something wrong at a key, with the key."""
    return path, programme.problem(path, what, hint)


def problems_of(error: DiscreetError, programme: Programme, path: KeyPath) -> list[Problem]:
    """The problems of an error from another part, placed at a key of the programme."""
    return [
        programme.problem(
            path,
            f"{problem.where}: {problem.what}" if problem.where else problem.what,
            problem.hint,
        )
        for problem in error.problems
    ]


def twice(names: Sequence[str]) -> list[str]:
    """The names that stand more than once."""
    return sorted({name for name in names if list(names).count(name) > 1})


def file_there(programme: Programme, path: KeyPath, name: str, *, folder: bool = False) -> Found:
    """Whether a file that is named can be read."""
    place = programme.file(name)
    if not place.exists():
        beside = (
            sorted(item.name for item in place.parent.iterdir()) if place.parent.is_dir() else []
        )
        hint = nearest(place.name, beside)
        hint = hint if hint.startswith("did") else f"paths are relative to {programme.path.parent}"
        yield at(programme, path, f"there is no file {name!r}", hint)
    elif place.is_dir() and not folder:
        yield at(programme, path, f"{name!r} is a folder")
    elif not os.access(place, os.R_OK):
        yield at(programme, path, f"{name!r} cannot be read", "check its permissions")


def filter_parsed(
    programme: Programme, path: KeyPath, text: str
) -> tuple[frozenset[str], list[tuple[KeyPath, Problem]]]:
    """The columns that a filter names, and what is wrong with it."""
    if not text.strip():
        return frozenset(), []
    from discreet.tabulation.filters import parse_filter

    try:
        return frozenset(parse_filter(text).columns), []
    except DiscreetError as error:
        return frozenset(), [
            at(programme, path, f"{problem.what}: {text}", problem.hint)
            for problem in error.problems
        ]
