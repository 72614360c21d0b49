"""Upkeep: what the service does by itself, each task on its own schedule, by whichever process
comes first. What changed something is in the trail; one that fails stops no other.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet.files import make_folder
from discreet.release import public_bytes, read_signing_key
from discreet_service.audit import AuditKind, SignedHead, TrailVerdict
from discreet_service.database import UPKEEP_RUNS, put_row, row_of
from discreet_service.operation import log_event, place_of_failure
from discreet_service.policies import forget_patterns

#: Who does it, in the trail.
SYSTEM = "service"
#: Folder of signed heads, in that of the service.
HEADS = "heads"

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
#: What failed is tried again after this time.
_AGAIN = 10 * _MINUTE
#: Seconds between two looks at what is due, and that a task has to end.
_LOOK, _GRACE = 60.0, 20.0


def keep_up(service: Any) -> list[str]:
    """Do what is due; the names of the tasks that were done."""
    done = []
    for name, (every, act) in TASKS.items():
        try:
            if _claim(service, name, every):
                try:
                    act(service)
                except BaseException:
                    again = service.clock() - every + min(_AGAIN, every)
                    with service.database.writing() as connection:
                        put_row(connection, UPKEEP_RUNS, {"task": name}, at=again)
                    raise
                done.append(name)
        except DiscreetError as error:
            log_event("upkeep failed", step=name, code=error.code)
        except Exception as error:  # What is not foreseen must not end upkeep for good.
            log_event("upkeep failed", step=name, **place_of_failure(error))
    return done


@contextmanager
def upkeep(service: Any, look: float = _LOOK) -> Iterator[None]:
    """Do what is due beside the block, on a thread of its own."""
    over = threading.Event()

    def run() -> None:
        while True:
            keep_up(service)
            try:
                show_chain(service)
            except DiscreetError as error:
                log_event("upkeep failed", step="metric", code=error.code)
            if over.wait(look):
                return

    thread = threading.Thread(target=run, daemon=True, name="upkeep")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_GRACE)


def show_chain(service: Any) -> None:
    """Tell metrics how the last verification of the trail ended, whichever process did it."""
    for entry in service.trail.search(kind=AuditKind.trail_verified, size=1).rows:
        service.metrics.chain.set(json.loads(entry.facts).get("whole") is True)


def _claim(service: Any, name: str, every: int) -> bool:
    now = service.clock()

    def due(connection: sa.Connection) -> bool:
        last = row_of(connection, UPKEEP_RUNS, task=name)
        return last is None or now - last.at >= every

    with service.database.reading() as connection:
        if not due(connection):
            return False
    with service.database.writing() as connection:
        # Another process may have come first meanwhile.
        if not due(connection):
            return False
        put_row(connection, UPKEEP_RUNS, {"task": name}, at=now)
    return True


def _before(service: Any, days: str) -> int:
    """What is older than the settings keep it."""
    return int(service.clock() - getattr(service.settings, days) * _DAY)


def _in_transaction(service: Any, act: Callable[[sa.Connection], object]) -> None:
    with service.database.writing() as connection:
        act(connection)


def verify_trail(
    service: Any, heads: Sequence[SignedHead] = (), person: str = SYSTEM
) -> TrailVerdict:
    """Verify the trail, and write down how that ended."""
    place = service.settings.signing_key_file
    keys = [] if place is None else [public_bytes(read_signing_key(place))]
    verdict: TrailVerdict = service.trail.verify(heads, keys)
    service.metrics.chain.set(verdict.whole)
    log_event("trail verified", whole=verdict.whole, entries=verdict.entries)
    with service.database.writing() as connection:
        service.trail.append(connection, AuditKind.trail_verified, person, facts=verdict.facts)
    return verdict


def sign_daily_head(service: Any) -> None:
    """Sign the head of the trail, unless that was done within a day."""
    place, last = service.settings.signing_key_file, service.trail.last_signed()
    if place is not None and (last is None or service.clock() - last.at >= _DAY):
        folder = service.settings.folder / HEADS
        make_folder(folder, 0o700)
        service.trail.sign_head(read_signing_key(place), folder, SYSTEM)


#: What there is to do, and after how many milliseconds it is due again. A head is signed of a trail
#: that was verified before.
TASKS: Mapping[str, tuple[int, Callable[[Any], object]]] = {
    "results": (_HOUR, lambda service: service.jobs.expire()),
    "publications": (_HOUR, lambda service: service.publications.settle()),
    "names": (_HOUR, lambda service: service.query_log.pseudonymise(
        _before(service, "log_keep_days"), service.trail, SYSTEM)),
    "rows": (_HOUR, lambda service: service.query_log.delete(
        _before(service, "log_delete_days"), service.trail, SYSTEM)),
    "proposals": (_HOUR, lambda service: _in_transaction(
        service, service.approvals.expire)),
    "patterns": (_HOUR, lambda service: _in_transaction(
        service, partial(forget_patterns, before=_before(service, "log_keep_days")))),
    "chain": (_DAY, verify_trail),
    "head": (_HOUR, sign_daily_head),
}  # fmt: skip
