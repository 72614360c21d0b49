"""What is told of hidden cells besides: reasons, in a form that opens no cell. CONFIDENTIAL.

In: what was found in tables, and the reasons that somebody wants to tell. Out: whatever is
made with the reasons that may be told. That a cell is hidden for a zero says that it is zero;
that counts hide by a minimum frequency of two, that they are one.
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
    knows all that the rule of minimum frequency says. `solved` takes the reasons as an
    option, and with it notes on them.
    """
    wanted: ToldReasons = chosen.get("reasons") or ("none" if counts else "rule")
    reasons = _harmless(wanted, found, counts=counts)
    weights = _weight_notes(found)
    notes = [] if reasons == wanted else [_COARSER.format(reasons)]
    told = {"reasons": reasons, "told": [*weights, *notes]}
    try:
        return solved(told)
    except SuppressionError as error:
        if not counts or error.code not in _HOPELESS:
            raise
        if reasons == "none":
            raise _without_hope(error, chosen.get("zero_cells", "fixed")) from None
    try:
        return solved({"reasons": "none", "told": [*weights, _COARSER.format("none")]})
    except SuppressionError as error:
        raise _without_hope(error, chosen.get("zero_cells", "fixed")) from None


def _weight_notes(found: Sequence[Any]) -> list[str]:
    """Which weights the rules used that found the sensitive cells, where there are weights."""
    used = {getattr(each, "weighted", None) for each in found}
    words = {
        True: "rules took each record, with its contribution, as often as its weight says",
        False: "rules took each record and its contribution once, whatever its weight",
    }
    return [text for weighted, text in words.items() if weighted in used]


def _without_hope(error: SuppressionError, zero_cells: str) -> SuppressionError:
    """The error, with what to do about counts that no dots protect from those who know the rule."""
    if error.code not in _HOPELESS or zero_cells == "partners":
        return error
    advice = (
        "readers know that hidden counts are 1 or more, and sensitive ones below the number of "
        'their rule: hide zeros too (zero_cells="partners"), merge categories, or say that they '
        "do not know the rule (Knowledge(rules=False))"
    )
    problems = list(error.problems)
    if problems:  # a list of problems is shown with their own hints
        hints = [problems[-1].hint, advice]
        problems[-1] = replace(problems[-1], hint="; ".join(filter(None, hints)))
    hint = "; ".join(filter(None, [error.hint, advice]))
    return SuppressionError(
        error.what, code=error.code, where=error.where, hint=hint, problems=problems
    )


def _harmless(wanted: ToldReasons, found: Sequence[Any], *, counts: bool) -> ToldReasons:
    """The reasons that may be told: some make a cell as good as known, such as zeros."""
    telling = other = False
    for each in found:
        opens = getattr(each, "opens", None)
        if opens is not None:
            telling |= bool((each.sensitive & opens).any())
            other |= bool((each.sensitive & ~opens).any())
    if wanted == "none" or not telling:
        return wanted
    return "kind" if other and not counts else "none"
