"""Names that hold values of the data, taken out of what is shown.

In: texts and results, and names such as `v7777` that a program made from a value. Out: the
same with each of the names replaced.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import replace

from discreet.output_checking.safe.results import SafeResult

__all__ = ["holds", "masked", "masked_result"]

_HIDDEN = "(withheld)"


def _pattern(names: AbstractSet[str]) -> str:
    longest = sorted(names, key=lambda name: (-len(name), name))
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)"


def holds(text: str, names: AbstractSet[str]) -> bool:
    """Whether a text has one of the names.

    >>> holds("drop v7777", {"v7777"}), holds("drop v77771", {"v7777"})
    (True, False)
    """
    return bool(names) and re.search(_pattern(names), text) is not None


def masked(text: str, names: AbstractSet[str]) -> str:
    """The text without the names.

    >>> masked("sum of v7777 by x", {"v7777"})
    'sum of (withheld) by x'
    """
    return re.sub(_pattern(names), _HIDDEN, text) if names else text


def masked_result(result: SafeResult, names: AbstractSet[str]) -> SafeResult:
    """A result without the names; its table is left out where it has one of them."""
    if not names:
        return result
    checks = [
        replace(one, where=masked(one.where, names), reason=masked(one.reason, names))
        for one in result.checks
    ]
    frame = result.frame
    if frame is not None and holds(f"{frame.columns} {frame.rows()}", names):
        frame = None
    return SafeResult(
        command=masked(result.command, names),
        shown=masked(result.shown, names),
        frame=frame,
        stored=result.stored,
        checks=checks,
        evidence=result.evidence,
    )
