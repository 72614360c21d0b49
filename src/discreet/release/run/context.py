"""The context in which methods protect the tables of a release.

In: what spans tables, digests, who is told of the work. Out: a `ReleaseContext`, with what methods
may use that stands above them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.protection.protocol import ReleaseContext


def release_context(
    spanning: Mapping[str, Mapping[str, Any]],
    *,
    digests: Mapping[str, str] | None = None,
    printed: Mapping[str, Mapping[str, str]] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> ReleaseContext:
    """The context of a release, or of a part of one."""
    return ReleaseContext(
        spanning=spanning,
        digests=digests or {},
        printed=printed or {},
        tell=tell,
        round_shown=_round_shown,
        hide_less=_hide_less,
    )


def _round_shown(*arguments: Any, **options: Any) -> Any:
    from discreet.protection.rounding import round_shown

    return round_shown(*arguments, **options)


def _hide_less(*, knowledge: Any, **table: Any) -> Any:
    from discreet.release.coarser_tables import hide_less
    from discreet.release.record_tables import RecordTable

    return hide_less(RecordTable(**table, stated=True), method="fast", knowledge=knowledge)
