"""Upkeep: what the service does by itself once an hour.

In: a service. Out: old results and names deleted, proposals ended, the trail's head signed once a
day. Each is written down in the trail; one that fails keeps none of the others from being done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import make_folder
from discreet.release.packages.keys import read_signing_key
from discreet_service.operation.logs import log_event
from discreet_service.policies.patterns import forget_patterns

#: Who does it, in the trail.
SYSTEM = "service"
#: Folder of signed heads, in that of the service.
HEADS = "heads"

_DAY = 86_400_000


def keep_up(service: Any) -> None:
    """Do all of it.

    Args:
        service: The service.
    """
    steps: dict[str, Callable[[Any], object]] = {
        "results": lambda service: service.jobs.expire(),
        "names": _take_names_out,
        "rows": _delete_rows,
        "proposals": _end_proposals,
        "patterns": _forget_patterns,
        "head": sign_daily_head,
    }
    for name, step in steps.items():
        try:
            step(service)
        except DiscreetError as error:
            log_event("upkeep failed", step=name, code=error.code)


def _take_names_out(service: Any) -> None:
    before = service.clock() - service.settings.log_keep_days * _DAY
    service.query_log.pseudonymise(before, service.trail, SYSTEM)


def _delete_rows(service: Any) -> None:
    before = service.clock() - service.settings.log_delete_days * _DAY
    service.query_log.delete(before, service.trail, SYSTEM)


def _end_proposals(service: Any) -> None:
    with service.database.writing() as connection:
        service.approvals.expire(connection)


def _forget_patterns(service: Any) -> None:
    before = service.clock() - service.settings.log_keep_days * _DAY
    with service.database.writing() as connection:
        forget_patterns(connection, before)


def sign_daily_head(service: Any) -> bool:
    """Sign the head of the trail, unless that was done within a day; whether it was done.

    Args:
        service: The service.
    """
    place = service.settings.signing_key_file
    if place is None:
        return False
    last = service.trail.last_signed()
    if last is not None and service.clock() - last.at < _DAY:
        return False
    folder = service.settings.folder / HEADS
    make_folder(folder, 0o700)
    service.trail.sign_head(read_signing_key(place), folder, SYSTEM)
    return True
