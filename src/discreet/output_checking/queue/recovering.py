"""Opening a queue after an interruption: what was begun is completed or taken back.

In: the folder of a queue. Out: an open `Queue` without half releases. Decisions need nothing
of this: each is one transaction, on the disk before the officer is told.
"""

from __future__ import annotations

import os
import shutil

from discreet.output_checking.queue.deciding import standing_of
from discreet.output_checking.queue.errors import intact, translated
from discreet.output_checking.queue.folder import Queue, left_over
from discreet.output_checking.queue.releasing import (
    clear,
    folder_problem,
    pending_folder,
    target_of,
)
from discreet.output_checking.queue.states import State

__all__ = ["open_queue", "recover"]


def open_queue(folder: str | os.PathLike[str]) -> Queue:
    """Open a queue, and put right what an interruption left.

    Args:
        folder: Where it is.
    """
    queue = Queue.open(folder)
    try:
        with translated(str(folder)), intact(str(folder)):
            recover(queue)
    except BaseException:
        queue.close()
        raise
    return queue


def recover(queue: Queue) -> list[int]:
    """Complete or take back interrupted releases, unless somebody is at work.

    Args:
        queue: The queue.

    Returns:
        The submissions concerned.
    """
    if not queue.interrupted():
        return []
    with queue.alone() as alone:
        if not alone:
            return []
        queue.sweep()
        rows = queue.connection.execute(
            "SELECT DISTINCT submission FROM events WHERE kind = 'intent' ORDER BY submission"
        ).fetchall()
        found = [number for (number,) in rows if _settled(queue, number)]
        for path in left_over(queue.folder / "released"):
            shutil.rmtree(path)
        return found


def _settled(queue: Queue, number: int) -> bool:
    """Whether there was a release to settle."""
    with queue.writing():
        found = standing_of(queue, number)
        if found.state is not State.releasing:
            return False
        target = target_of(queue, found)
        pending = pending_folder(target)
        if not target.parent.is_dir():
            return False  # the place is not there just now, such as a drive
        if target.exists() and folder_problem(target, found.intent, found.record):
            return False  # somebody changed it: `verify` tells, and a person decides
        if target.exists():
            kind, reason = "released", "completed after an interruption"
        elif pending.exists():
            clear(target)
            kind, reason = "withdrawn", "interrupted; nothing was released"
        else:
            kind, reason = "released", "interrupted; the folder was there, and was taken away"
        queue.append(kind, person=found.releaser, reason=reason, submission=number)
    shutil.rmtree(pending, ignore_errors=True)
    return True
