"""Reasons and zeros: what readers learn of hidden cells, so that it opens none. CONFIDENTIAL.

In: what was found in tables, and the reasons that somebody wants to tell. Out: whatever is
made with the reasons that may be told. That a cell is hidden for a zero says that it is zero;
that counts hide by a minimum frequency of two, that they are one. Cells that no pattern
protects while every zero is printed get zeros as partners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar

from discreet.errors import SuppressionError

#: What of hidden cells is told, coarsest last.
ToldReasons: TypeAlias = Literal["rule", "kind", "none"]
_Solved = TypeVar("_Solved")
#: Errors that say that no pattern protects the cells.
_HOPELESS = ("infeasible", "unprotected")
_ZEROS = (
    "zeros and empty cells may be hidden too: while all of them are shown, no pattern protects "
    "every sensitive cell"
)
_COARSER = "reasons are told in a coarser form ({!r}): told as asked, they would open cells"


def in_harmless_words(
    found: Sequence[Any],
    chosen: Mapping[str, Any],
    solved: Callable[[Mapping[str, Any]], _Solved],
    *,
    counts: bool,
) -> _Solved:
    """What comes out with the reasons asked for, or in a coarser form that opens no cell.

    Counts are told without reasons unless asked for: who knows which of them are sensitive
    knows all that the rule of minimum frequency says. Where no pattern protects the cells,
    zeros become partners unless the caller keeps them fixed. `solved` takes the reasons and
    the zeros as options, and with them notes.
    """
    wanted: ToldReasons = chosen.get("reasons") or ("none" if counts else "rule")
    reasons = _harmless(wanted, found, counts=counts)
    weights = _weight_notes(found)
    notes = [] if reasons == wanted else [_COARSER.format(reasons)]
    zeros = chosen.get("zero_cells", "auto")
    fullest: dict[str, Any] = {"reasons": reasons, "told": [*weights, *notes]}
    fullest["zero_cells"] = "partners" if zeros == "partners" else "fixed"
    ways = [fullest]
    if counts and reasons != "none":
        ways.append({**fullest, "reasons": "none", "told": [*weights, _COARSER.format("none")]})
    if zeros == "auto":
        ways.append({**ways[-1], "zero_cells": "partners", "told": [*ways[-1]["told"], _ZEROS]})
    refused: SuppressionError | None = None
    for way in ways:
        try:
            return solved(way)
        except SuppressionError as error:
            # A grid too large for partners says less than why they were needed.
            if refused is None or error.code != "empty-cells":
                refused = error
            if refused.code not in _HOPELESS:
                raise
    assert refused is not None
    raise (_without_hope(refused, zeros) if counts else refused) from None


def _weight_notes(primaries: Sequence[Any]) -> list[str]:
    """Which weights the rules used that found the sensitive cells, where there are weights."""
    used = {getattr(item, "weighted", None) for item in primaries}
    words = {
        True: "rules took each record, with its contribution, as often as its weight says",
        False: "rules took each record and its contribution once, whatever its weight",
    }
    return [text for weighted, text in words.items() if weighted in used]


def _without_hope(error: SuppressionError, zero_cells: str) -> SuppressionError:
    """The error, with what to do about counts that no dots protect from those who know the rule."""
    if error.code not in _HOPELESS or zero_cells == "partners":
        return error
    hide = 'hide zeros too (zero_cells="partners"), ' if zero_cells == "fixed" else ""
    advice = (
        "readers know that hidden counts are 1 or more, and sensitive ones below the number of "
        f"their rule: {hide}merge categories, or say that they do not know the rule "
        "(Knowledge(rules=False))"
    )
    problems = list(error.problems)
    if problems:  # a list of problems is shown with their own hints
        hints = [problems[-1].hint, advice]
        problems[-1] = replace(problems[-1], hint="; ".join(filter(None, hints)))
    hint = "; ".join(filter(None, [error.hint, advice]))
    return SuppressionError(
        error.what, code=error.code, where=error.where, hint=hint, problems=problems
    )


def _harmless(wanted: ToldReasons, primaries: Sequence[Any], *, counts: bool) -> ToldReasons:
    """The reasons that may be told: some make a cell as good as known, such as zeros."""
    telling = other = False
    for item in primaries:
        opens = getattr(item, "opens", None)
        if opens is not None:
            telling |= bool((item.sensitive & opens).any())
            other |= bool((item.sensitive & ~opens).any())
    if wanted == "none" or not telling:
        return wanted
    return "kind" if other and not counts else "none"
