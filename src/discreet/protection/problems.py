"""Problems of a programme, placed at their keys, and warnings about its files.

In: a programme and a key, or the path of a file. Out: problems with their key, so that a
value that was reported as wrong is not reported as missing too; a warning about a secret
file that others can read. Nothing here has seen data.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from discreet.errors import DiscreetError, Problem, nearest
from discreet.protection.protocol import FileView, Place, Placed

if TYPE_CHECKING:
    from discreet.microdata import Secret

_Thing = TypeVar("_Thing")
FileT = TypeVar("FileT", bound=FileView)


class StatesSecret(Protocol):
    """A section that may state a secret, in a file or in a variable of the environment."""

    @property
    def secret_file(self) -> str | None:
        """The file."""

    @property
    def secret_env(self) -> str | None:
        """The variable."""


Found = Iterator[Placed]


def problems_of(error: DiscreetError, programme: FileView, path: Place) -> list[Problem]:
    """The problems of an error from another part, placed at a key of the programme."""
    return [
        programme.problem(
            path,
            f"{problem.where}: {problem.what}" if problem.where else problem.what,
            problem.hint,
        )
        for problem in error.problems
    ]


def named_twice(names: Sequence[str]) -> list[str]:
    """The names that stand more than once."""
    return sorted({name for name in names if list(names).count(name) > 1})


def file_problems(programme: FileView, path: Place, name: str, *, folder: bool = False) -> Found:
    """Whether a file that is named can be read."""
    place = programme.file(name)
    if not place.exists():
        beside = (
            sorted(item.name for item in place.parent.iterdir()) if place.parent.is_dir() else []
        )
        hint = nearest(place.name, beside)
        hint = (
            hint if hint.startswith("closest") else f"paths are relative to {programme.path.parent}"
        )
        yield programme.at(path, f"file {name!r} not found", hint)
    elif place.is_dir() and not folder:
        yield programme.at(path, f"{name!r} is a folder")
    elif not os.access(place, os.R_OK):
        yield programme.at(path, f"{name!r} cannot be read", "check its permissions")


def unset_variable(programme: FileView, path: Place, name: str | None) -> Found:
    """Whether an environment variable that is named is empty."""
    if name is not None and not os.environ.get(name):
        yield programme.at(path, f"the environment variable {name} is not set")


def stated_secret_problems(programme: FileView, path: Place, entry: StatesSecret) -> Found:
    """Whether the file or the variable of a secret is there; an entry states one of them."""
    if entry.secret_file and entry.secret_env:
        message = "secret_file and secret_env exclude each other"
        yield programme.at((*path, "secret_env"), message)
    if entry.secret_file is not None:
        yield from file_problems(programme, (*path, "secret_file"), entry.secret_file)
    yield from unset_variable(programme, (*path, "secret_env"), entry.secret_env)


def missing_keys(programme: FileView, path: Place, entry: object, **hints: str) -> Found:
    """Keys that an entry lacks, each given with its hint."""
    for key, hint in hints.items():
        if getattr(entry, key) is None:
            yield programme.at((*path, key), f"{key} is missing", hint)


def filter_parsed(
    programme: FileView, path: Place, text: str
) -> tuple[frozenset[str], list[Placed]]:
    """The columns that a filter names, and what is wrong with it."""
    if not text.strip():
        return frozenset(), []
    from discreet.microdata import parse_filter

    try:
        return frozenset(parse_filter(text).columns), []
    except DiscreetError as error:
        return frozenset(), [
            programme.at(path, f"{problem.what}: {text}", problem.hint)
            for problem in error.problems
        ]


def not_yet_known(known: list[Problem], found: list[Problem]) -> list[Problem]:
    """Problems at places where none was known yet: one mistake is reported once."""
    places = {problem.where for problem in known}
    return [problem for problem in found if problem.where not in places]


@dataclass
class Opener(Generic[FileT]):
    """Opens one thing after another and collects what is wrong with each."""

    programme: FileT
    problems: list[Problem]

    @contextmanager
    def placed(self, *path: str | int) -> Iterator[None]:
        """Collect what is wrong with the work inside, placed at a key."""
        try:
            yield
        except DiscreetError as error:
            self.problems += not_yet_known(self.problems, problems_of(error, self.programme, path))

    def attempt(self, path: Place, read: Callable[[FileT], _Thing | None]) -> _Thing | None:
        """Result of `read`; None, and problems at the key, if it fails."""
        things: list[_Thing | None] = []
        with self.placed(*path):
            things.append(read(self.programme))
        return things[0] if things else None

    def secret(self, path: Place, entry: StatesSecret) -> Secret | None:
        """The secret that a section states; None if it states none, or one that is not there."""
        from discreet.microdata import Secret

        secret = None
        with self.placed(*path, "secret_file" if entry.secret_file else "secret_env"):
            if entry.secret_env is not None and os.environ.get(entry.secret_env):
                secret = Secret.from_env(entry.secret_env)
            elif (place := present(self.programme, entry.secret_file)) is not None:
                secret = Secret.from_file(place)
        return secret


def present(programme: FileView, name: str | None) -> Path | None:
    """A named file, unless it is missing (which the checks have reported)."""
    if name is None:
        return None
    path = programme.file(name)
    return path if path.is_file() else None


_READABLE = stat.S_IRGRP | stat.S_IROTH


def warnings_about(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """A warning if others on this computer can read a perturbation table.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     before = warnings_about(file.name)
    ...     Path(file.name).chmod(0o644)
    ...     before, warnings_about(file.name)[0].partition(";")[0]
    ((), 'other users of this computer can read the perturbation table')
    """
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except OSError:
        return ()  # whoever reads the file says why it cannot be read
    if os.name != "posix" or not mode & _READABLE:
        return ()
    return (
        "other users of this computer can read the perturbation table; unless it is public, "
        f"run: chmod 600 {place}",
    )
