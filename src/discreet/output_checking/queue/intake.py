"""Files that are handed in: copied into the queue, and nothing else with them.

In: a do-file or a folder from a researcher. Out: a private copy. Links, special files,
names that hide something and files too large for programs are refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from discreet.errors import OutputCheckError, Problem
from discreet.output_checking.queue.errors import queue_error

__all__ = ["copied", "taken"]

#: Programs and logs are small; what is larger is data.
LARGEST_FILE = 50_000_000
MOST_FILES = 500
_PIECE = 1 << 20


def taken(source: Path, target: Path, main: str | None = None) -> Path:
    """Copy a do-file, or a folder with one, into the queue.

    Args:
        source: What was handed in.
        target: A new folder.
        main: Which do-file of a folder is to be run.

    Returns:
        The copy of the do-file.
    """
    if source.is_symlink():
        raise _refused([_problem(source, source, "links are not taken")])
    if not source.exists():
        raise queue_error("the file does not exist", "submission", str(source))
    target.mkdir(mode=0o700)
    if source.is_dir():
        return _folder(source, target, main)
    if source.suffix.lower() != ".do":
        hint = "hand in a file that ends in .do, or a folder"
        raise queue_error("this is not a do-file", "submission", str(source), hint)
    return copied(source, target / source.name)


def copied(source: Path, target: Path) -> Path:
    """Copy one ordinary file; an error if it is none, or too large.

    Args:
        source: What was handed in.
        target: The copy.
    """
    if (problem := _wrong(source, source.parent)) is not None:
        raise _refused([problem])
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(source, flags)
    except OSError as error:
        what = f"the file cannot be read ({error.strerror})"
        raise queue_error(what, "submission", source.name) from None
    with os.fdopen(handle, "rb") as opened, target.open("xb") as copy:
        status, left = os.fstat(opened.fileno()), LARGEST_FILE  # it may be another one by now
        while stat.S_ISREG(status.st_mode) and left >= 0 and (data := opened.read(_PIECE)):
            left -= copy.write(data)
        if not stat.S_ISREG(status.st_mode) or left < 0:
            what = "the file was changed while it was taken"
            raise queue_error(what, "submission", source.name, "hand it in again")
        copy.flush()
        os.fsync(copy.fileno())
    return target


def _folder(source: Path, target: Path, main: str | None) -> Path:
    files, problems, seen = [], [], 0
    for place, folders, names in os.walk(source):
        folders.sort()
        here = Path(place)
        inside = [here / name for name in sorted([*names, *folders])]
        problems += [one for path in inside if (one := _wrong(path, source)) is not None]
        files += [here / name for name in sorted(names)]
        seen += len(inside)
        if seen > MOST_FILES:
            what = f"the folder holds more than {MOST_FILES} files"
            raise queue_error(what, "submission", str(source), "hand in programs only")
    if problems:
        raise _refused(problems)
    programs = [path.relative_to(source) for path in files if path.suffix.lower() == ".do"]
    if main is not None and Path(main) not in programs:
        raise queue_error("there is no such do-file in the folder", "submission", main)
    if main is None and len(programs) != 1:
        what = "the folder holds several do-files" if programs else "the folder holds no do-file"
        hint = "say which is to be run, with --main" if programs else ""
        raise queue_error(what, "submission", str(source), hint)
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copied(path, copy)
    return target / (programs[0] if main is None else main)


def _wrong(path: Path, root: Path) -> Problem | None:
    """What speaks against taking a file or folder."""
    if not path.name.isprintable() or "\\" in path.name:
        return Problem("the name holds characters that hide or mislead", path.name.__repr__())
    try:
        status = path.lstat()
    except OSError as error:
        return _problem(path, root, f"the file cannot be read ({error.strerror})")
    if stat.S_ISLNK(status.st_mode):
        return _problem(path, root, "links are not taken")
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return _problem(path, root, "this is not an ordinary file")
    if status.st_size > LARGEST_FILE:
        return _problem(path, root, "the file is too large for a program or a log")
    return None


def _problem(path: Path, root: Path, what: str) -> Problem:
    name = path.name if path == root else str(path.relative_to(root))
    return Problem(what, name, "hand in ordinary files, and data with --data")


def _refused(problems: list[Problem]) -> OutputCheckError:
    if len(problems) == 1:
        one = problems[0]
        return queue_error(one.what, "submission", one.where, one.hint)
    return OutputCheckError("files that are not taken", code="submission", problems=problems)
