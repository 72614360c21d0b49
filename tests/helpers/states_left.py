"""What a process leaves in a folder if it is killed: all that its files went through.

A kill with SIGKILL runs no line of whoever is killed: what is left is what the files hold, and the
system lets go of its locks. So one run that is halted before each of its calls (or lines), with
a copy of the folder whenever something in it is another than before, leaves all that kills at
those calls leave, each once; nobody has to be started anew for it.

In: a folder and an act. Out: copies of the folder, in the order of time.
"""

import builtins
import hashlib
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal


@dataclass
class StatesLeft:
    """What was found.

    Args:
        folders: Copies of the folder, each another one than that before.
        halts: So many calls or lines were looked at.
    """

    folders: list[Path] = field(default_factory=list)
    halts: int = 0


#: What belongs to these changes no file.
_IN_MEMORY = (str, bytes, int, float, list, dict, tuple, set, frozenset, type, re.Pattern, re.Match)


def _in_memory(call: object) -> bool:
    owner = getattr(call, "__self__", None)
    return owner is builtins or isinstance(owner, _IN_MEMORY)


def _print_of(folder: Path) -> bytes:
    """What is the same only if all names, rights and contents are."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(f"{path}\0{path.lstat().st_mode}\0".encode())
        if path.is_file():
            content = path.read_bytes()
            found.update(b"%d\0" % len(content) + content)
    return found.digest()


def states_left(
    act: Callable[[], Any],
    folder: Path,
    kept: Path,
    *,
    of: Callable[[FrameType], bool],
    event: Literal["c_call", "line"] = "c_call",
) -> StatesLeft:
    """Act once; what there is in a folder before each call out of Python, or each line, and after.

    Args:
        act: What is done, in this thread.
        folder: Where it is done.
        kept: Where copies of the folder go.
        of: Whether calls and lines of a frame count.
        event: Before what it is halted.
    """
    found, last = StatesLeft(), b""

    def look() -> None:
        nonlocal last
        found.halts += 1
        now = _print_of(folder)
        if now != last:
            last = now
            copy = kept / f"{len(found.folders):04}"
            found.folders.append(Path(shutil.copytree(folder, copy, symlinks=True)))

    def halted(frame: FrameType, what: str, call: object) -> Any:
        if not of(frame):
            return None
        if what == event and not (event == "c_call" and _in_memory(call)):
            look()
        return halted

    begin = sys.setprofile if event == "c_call" else sys.settrace
    before = sys.getprofile() if event == "c_call" else sys.gettrace()
    begin(halted)
    try:
        act()
    finally:
        begin(before)
    look()
    return found
