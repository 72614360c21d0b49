"""The ledger within the queue: universes of submissions, and those that were released.

In: universes. Out: conflicts with what is released, or being released, at this moment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.output_checking.ledger import Conflict, Shelf, Universe, conflicts_with
from discreet.output_checking.ledger.marks import MarkIndex, Marks
from discreet.output_checking.queue.errors import intact
from discreet.output_checking.queue.folder import Queue

__all__ = ["conflicts_now", "put", "released_shelf", "universes_in"]

#: Universes that are released, or about to be: of an intent that was not withdrawn.
_OUT = """
SELECT submission, name, label, count, sums, marks FROM universes
WHERE submission IS NOT ? AND submission IN (
    SELECT submission FROM events WHERE kind IN ('intent', 'withdrawn') GROUP BY submission
    HAVING sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END) > 0
)
ORDER BY submission, rowid
"""


def put(queue: Queue, number: int, universes: Sequence[Universe]) -> None:
    """Take down whom a submission is about, within a transaction.

    Args:
        queue: The queue.
        number: The submission.
        universes: Whom its outputs are about.
    """
    queue.connection.executemany(
        "INSERT INTO universes VALUES (?,?,?,?,?,?)",
        [
            (
                number,
                one.table,
                one.label,
                one.count,
                one.sums.astype("<i8").tobytes(),
                one.marks.astype("<u4").tobytes(),
            )
            for one in universes
        ],
    )


def universes_in(queue: Queue, number: int) -> list[Universe]:
    """Whom a submission is about.

    Args:
        queue: The queue.
        number: The submission.
    """
    rows = queue.connection.execute(
        "SELECT name, label, count, sums, marks FROM universes WHERE submission = ? ORDER BY rowid",
        (number,),
    )
    with intact(f"submission {number}"):
        return [_universe(*row) for row in rows]


def released_shelf(queue: Queue, without: int | None = None) -> Shelf:
    """All universes that were released, or are about to be.

    Args:
        queue: The queue.
        without: A submission that does not count.
    """
    rows = queue.connection.execute(_OUT, (without,)).fetchall()
    size = queue.settings.minimum
    data = b"".join(row[4] for row in rows)
    return Shelf(
        names=[f"{row[1]}: {row[2]}" if row[2] else row[1] for row in rows],
        releases=np.array([row[0] for row in rows], dtype=np.int64),
        counts=np.array([row[3] for row in rows], dtype=np.int64),
        sums=np.frombuffer(data, dtype="<i8").astype(np.int64).reshape(-1, 2, 2 * size - 1),
        marks=MarkIndex.of([_marks(row[5]) for row in rows]),
    )


def conflicts_now(
    queue: Queue, universes: Sequence[Universe], without: int | None = None
) -> list[Conflict]:
    """Conflicts of universes with all that is released at this moment.

    Args:
        queue: The queue.
        universes: Of a submission.
        without: The submission itself.
    """
    with intact(str(queue.folder)):
        shelf = released_shelf(queue, without)
    return sorted(set(conflicts_with(universes, shelf, size=queue.settings.minimum)))


def _universe(table: str, label: str, count: int, sums: bytes, marks: bytes) -> Universe:
    return Universe(
        table=table,
        label=label,
        count=count,
        sums=np.frombuffer(sums, dtype="<i8").astype(np.int64).reshape(2, -1),
        marks=_marks(marks),
    )


def _marks(data: bytes) -> Marks:
    return np.frombuffer(data, dtype="<u4").astype(np.uint32)
