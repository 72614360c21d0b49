"""What `suppress` can be told, and what readers may be told of hidden cells. CONFIDENTIAL.

Reasons must open no cell: that one is hidden for a zero says that it is zero; that counts hide by a
minimum frequency of two, that they are one. Cells that no pattern protects while every zero is
printed get zeros as partners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.registry import Progress
from discreet.protection.suppression.problem.linked_tables import Cost
from discreet.protection.suppression.problem.related_values import SharedOptions
from discreet.protection.suppression.settings import checked_settings

#: What of hidden cells is told, coarsest last.
ToldReasons: TypeAlias = Literal["rule", "kind", "none"]
#: Errors that say that no pattern protects the cells.
HOPELESS = ("infeasible", "unprotected")
_ZEROS = (
    "zeros and empty cells may be suppressed: without them, no suppression pattern protects "
    "every sensitive cell"
)
_COARSER = (
    "reasons are published in a coarser form ({!r}), because the requested form would "
    "disclose cells"
)
_WEIGHTED = {
    True: "rules count each record and its contribution as many times as its weight",
    False: "rules count each record and its contribution once, without weights",
}


class SuppressionOptions(SharedOptions, total=False):
    """Options of `suppress`; see there."""

    cost: str | Cost
    zero_cells: Literal["auto", "fixed", "partners"]
    singletons: bool | None
    reasons: ToldReasons | None
    intervals: bool | Literal["instead"]
    time_limit: float | None
    progress: Progress | None
    seed: int
    titles: Mapping[str, str]
    universe: Mapping[str, str]


def checked_options(options: SuppressionOptions) -> dict[str, Any]:
    """The options, once none of them is unknown."""
    known = SuppressionOptions.__optional_keys__
    unknown = sorted(set(options) - known)
    if unknown:
        message = f"unknown option {unknown[0]!r}"
        hint = f"options: {', '.join(sorted(known))}"
        raise SuppressionError(message, code="option", where="suppress", hint=hint)
    insiders = checked_settings(options, "suppress").insiders
    return {**{k: v for k, v in options.items() if k != "singletons"}, "insiders": insiders}


def options_among(chosen: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The given options that are among these."""
    return {name: chosen[name] for name in names if name in chosen}


def with_hint(error: SuppressionError, text: str) -> SuppressionError:
    """The error with more advice, also for the last of a list: it is shown with its own hint."""
    *problems, last = error.problems
    return SuppressionError(
        error.what,
        code=error.code,
        where=error.where,
        hint="; ".join(filter(None, [error.hint, text])),
        problems=[*problems, replace(last, hint="; ".join(filter(None, [last.hint, text])))],
    )


def ways_to_publish(
    found: Sequence[Any], chosen: Mapping[str, Any], *, counts: bool
) -> list[dict[str, Any]]:
    """Options on reasons and zeros, with notes on them, to be tried one after the other.

    The requested reasons come first, or coarser ones that open no cell. Counts are told without
    reasons unless asked for: who knows which of them are sensitive knows all that the rule of
    minimum frequency says. Where no pattern protects the cells, zeros become partners unless the
    caller keeps them fixed.
    """
    wanted: ToldReasons = chosen.get("reasons") or ("none" if counts else "rule")
    reasons, telling, other = wanted, False, False  # zeros, say, are as good as known
    for item in found if wanted != "none" else ():
        opens = getattr(item, "opens", None)
        if opens is not None:
            telling |= bool((item.sensitive & opens).any())
            other |= bool((item.sensitive & ~opens).any())
    if telling:
        reasons = "kind" if other and not counts else "none"
    # Which weights the rules used that found the sensitive cells, where there are weights.
    used = {getattr(item, "weighted", None) for item in found}
    told = [text for weighted, text in _WEIGHTED.items() if weighted in used]
    coarser = [] if reasons == wanted else [_COARSER.format(reasons)]
    zeros = chosen.get("zero_cells", "auto")
    shown = "partners" if zeros == "partners" else "fixed"
    ways: list[dict[str, Any]] = [
        {"reasons": reasons, "zero_cells": shown, "told": [*told, *coarser]}
    ]
    if counts and reasons != "none":
        told.append(_COARSER.format("none"))
        ways.append({"reasons": "none", "zero_cells": shown, "told": told})
    if zeros == "auto":
        ways.append({**ways[-1], "zero_cells": "partners", "told": [*ways[-1]["told"], _ZEROS]})
    return ways


def refused_counts(error: SuppressionError, zeros: str) -> SuppressionError:
    """The error, with what to do about counts that no dots protect from who knows the rule."""
    if error.code not in HOPELESS or zeros == "partners":
        return error
    hide = 'allow suppressed zeros (zero_cells="partners"), ' if zeros == "fixed" else ""
    return with_hint(
        error,
        "readers know that suppressed counts are at least 1, and sensitive counts below "
        f"the threshold of the rule: {hide}merge categories, or assume that readers do not "
        "know the rule (Knowledge(rules=False))",
    )
