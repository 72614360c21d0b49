"""Whether two outputs of a run differ by a few persons or firms. CONFIDENTIAL.

In: the records and variables of each output that is shown. Out: yes or no. What two outputs
have in common can be taken away: if only one person is left, his values are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.output_checking.running.isolating import ENTITY, RECORD, distinct
from discreet.output_checking.running.values import MISSING

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["Differences", "conflicting"]

_Marks = npt.NDArray[np.uint32]
#: Bytes that may be kept of earlier outputs.
_ROOM = 400_000_000
#: So many sets of records that differ from earlier ones by a few may be used in one run.
_SETS = 5


@dataclass(repr=False)
class Differences:
    """What outputs were about (confidential).

    Args:
        values: For each, marks of a variable's values by the number of the record; 0 for none.
        sets: The same for which records there were.
        close: How many sets differed from earlier ones by a few.
    """

    values: list[_Marks] = field(default_factory=list)
    sets: list[_Marks] = field(default_factory=list)
    close: int = 0


def conflicting(session: Session, mask: Any, names: Sequence[str]) -> bool:
    """Whether an output differs from an earlier one by a few; if not, it is remembered.

    Args:
        session: The session.
        mask: The records that it is about.
        names: Its variables.
    """
    record = session.data.hidden.get(RECORD)
    if record is None or len(record.values) != session.data.rows:
        return False
    used = np.asarray(mask, dtype=np.bool_) & (record.values < MISSING)
    at = record.values[used].astype(np.int64)
    who = _owners(session, used, at)
    held = session.differences
    found: list[_Marks] = []
    for name in dict.fromkeys(names):
        variable = session.data.variables.get(name)
        if variable is not None:
            marks = np.zeros(session.records, dtype=np.uint32)
            marks[at] = _marks(variable.values[used], text=variable.is_text)
            found.append(marks)
    everyone = np.zeros(session.records, dtype=np.uint32)
    everyone[at] = 1
    if any(_close(session, one, earlier, who) for one in found for earlier in held.values):
        return True
    new = all(not _same(everyone, earlier) for earlier in held.sets)
    if new and any(_close(session, everyone, earlier, who) for earlier in held.sets):
        held.close += 1
        if held.close > _SETS:
            return True
    for kept, fresh in ((held.values, found), (held.sets, [everyone])):
        kept += [one for one in fresh if all(not _same(one, earlier) for earlier in kept)]
        most = max(_ROOM // max(4 * session.records, 1), 20)
        del kept[:-most]
    return False


def _marks(values: Any, *, text: bool) -> _Marks:
    """A number from 1 for each value that is not missing, the same for equal ones."""
    if text:
        hashed = pl.Series(values.tolist(), dtype=pl.String).hash(seed=0).to_numpy()
        known = values != ""
    else:
        bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
        hashed = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        known = values < MISSING
    short = (hashed >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return np.where(np.asarray(known, dtype=np.bool_), short, np.uint32(0))


def _owners(session: Session, used: Any, at: Any) -> Any:
    """For each record that was ever read, whom it is about as far as that is known now."""
    known = session.record_owners
    if len(known) < session.records:
        more = np.arange(len(known), session.records, dtype=np.int64) + 2**40
        known = session.record_owners = np.concatenate([known, more])
    fresh = known[at] >= 2**40
    if session.entity is not None and fresh.any():
        known[at[fresh]] = _names(session, used)[fresh]
    return known


def _names(session: Session, used: Any) -> Any:
    """A number for each person or firm, the same in all data of a run."""
    kept = session.data.hidden.get(ENTITY)
    if kept is None or len(kept.values) != session.data.rows:
        return session.data.hidden[RECORD].values[used].astype(np.int64) + 2**40
    return _marks(kept.values[used], text=kept.is_text).astype(np.int64)


def _same(one: _Marks, other: _Marks) -> bool:
    size = min(len(one), len(other))
    longer = one if len(one) > size else other
    return bool(np.array_equal(one[:size], other[:size]) and not longer[size:].any())


def _close(session: Session, one: _Marks, other: _Marks, who: Any) -> bool:
    """Whether two differ in the records of a few, but of some."""
    size = min(len(one), len(other))
    longer = one if len(one) > size else other
    apart = np.concatenate(
        [np.flatnonzero(one[:size] != other[:size]), size + np.flatnonzero(longer[size:])]
    )
    least = session.limits.minimum
    return bool(apart.size) and distinct(who[apart], least) < least
