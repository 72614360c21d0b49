"""Errors that say something about records: of a few they are not told. CONFIDENTIAL.

In: a session and the records that make a command fail. Out: the error. A program that tries one
bound after the other until it stops would else learn what one person has from where it stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.isolating import few_in

if TYPE_CHECKING:
    from discreet.output_checking.running.dataset import DataSet
    from discreet.output_checking.running.session import Session

__all__ = ["check_made", "failure", "nobody", "repeated"]


def failure(
    session: Session, rows: Any, what: str, *, code: int, data: DataSet | None = None
) -> DoError:
    """An error that records cause; untold where they are of a few.

    Args:
        session: The session.
        rows: The records, as a mask.
        what: What is wrong.
        code: Stata's return code.
        data: The data that they belong to, unless those in memory.
    """
    error = DoError(what, code=code)
    data = session.data if data is None else data
    error.untold = bool(data.rows) and few_in(session, data, rows)
    return error


def check_made(session: Session, name: str, rows: Any) -> None:
    """As `check_new`, for a variable that is made because some records have a value."""
    try:
        session.data.check_new(name)
    except DoError as error:
        raise failure(session, rows, error.failed, code=error.rc) from None


def nobody(session: Session) -> DoError:
    """No observations: untold if a condition asks for more than categories and missing values."""
    error = DoError("no observations", code=2000)
    error.untold = bool(session.data.rows) and not session.trace.plain
    return error


def repeated(codes: Any) -> Any:
    """Which records have a code that others have, too.

    >>> repeated(np.array([3, 5, 3]))
    array([ True, False,  True])
    """
    _, at, number = np.unique(codes, return_inverse=True, return_counts=True)
    return number[at] > 1
