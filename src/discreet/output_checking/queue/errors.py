"""Errors of the review queue, in words of the officers.

In: what went wrong. Out: an `OutputCheckError` with a code.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import OutputCheckError

__all__ = ["intact", "queue_error", "translated"]


def queue_error(
    what: str, code: str = "queue", where: str = "", hint: str = ""
) -> OutputCheckError:
    """An error of the queue."""
    return OutputCheckError(what, code=code, where=where, hint=hint)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Say errors of the database and the disk in plain words.

    Args:
        where: The file or folder concerned.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _database_error(error, where) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(where) from None
        what = f"the queue cannot be read or written ({error.strerror})"
        raise queue_error(what, "queue-folder", where, "check the permissions") from None


@contextmanager
def intact(where: str) -> Iterator[None]:
    """Say in plain words that what was read is not what was written.

    Args:
        where: What is concerned.
    """
    try:
        yield
    except (ValueError, TypeError, KeyError):
        hint = "look at: discreet fire queue verify"
        raise queue_error("the record was changed", "queue-damaged", where, hint) from None


def _database_error(error: sqlite3.Error, where: str) -> OutputCheckError:
    text = str(error)
    if "full" in text:
        return _full(where)
    if "locked" in text or "busy" in text:
        hint = "try again; nothing was changed"
        return queue_error("others are writing to the queue just now", "queue-busy", where, hint)
    if "readonly" in text or "unable to open" in text:
        hint = "check the permissions of the folder and its files"
        return queue_error("the queue cannot be written", "queue-folder", where, hint)
    if "never changed" in text:
        return queue_error("the record of the queue is never changed", "queue-record", where)
    if isinstance(error, sqlite3.IntegrityError):
        return queue_error("the record of the queue does not fit", "queue-record", where)
    hint = "keep the file as it is, and restore the last backup beside it"
    return queue_error("the database of the queue is damaged", "queue-damaged", where, hint)


def _full(where: str) -> OutputCheckError:
    hint = "make room, and do it again; nothing was decided"
    return queue_error("the disk is full", "disk-full", where, hint)
