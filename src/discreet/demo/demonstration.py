"""The demonstration: a synthetic census, and the protected release of its tables.

In: an output folder. Out: in `census/` invented records with programme, secret and
perturbation table (the confidential side); in `release/` the protected tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.demo.census import write_census
from discreet.demo.geography import Geography
from discreet.demo.programme import write_programme
from discreet.errors import PublicationError
from discreet.files import check_writable

if TYPE_CHECKING:
    from discreet.release import ReleaseSummary

__all__ = ["run"]

#: Called with the steps done, the steps to do, and what has just been done.
StepProgress = Callable[[int, int, str], None]


def run(
    out: str | os.PathLike[str],
    persons: int = 20_000,
    *,
    seed: int = 2026,
    progress: StepProgress | None = None,
) -> ReleaseSummary:
    """Make a synthetic census and protect a programme of nine tables over it.

    Args:
        out: Folder for everything; made if there is none.
        persons: Number of persons, 100 to 200 million.
        seed: The same persons and seed give the same files.
        progress: Called with the steps done, the steps to do, and a name.

    Returns:
        What the release consists of.

    >>> run("demo-output", persons=1)
    Traceback (most recent call last):
        ...
    discreet.errors.MicrodataError: [demo-size] persons: a synthetic census has 100 to
    200,000,000 persons
      Hint: 83,000,000 is the full size; 20,000 makes a quick demonstration
    """
    from discreet.release import protect

    Geography.of(persons, seed)  # refuses wrong sizes before any folder is made
    place = _folder(Path(out))
    census = _folder(place / "census")
    write_census(census, persons, seed, progress=_persons_step(progress))
    return protect(write_programme(census), place / "release", progress=progress)


def _persons_step(progress: StepProgress | None) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, persons: progress(done, persons, "persons")


def _folder(place: Path) -> Path:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PublicationError(
            f"the folder cannot be made ({error.strerror})",
            code="output-folder",
            where=str(place),
            hint="choose another place",
        ) from None
    check_writable(place)
    return place
