"""What people and programs are told about rewritten do-files and about the policy.

In: outcomes, or rules. Out: a text and plain values for JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from discreet.errors import OutputCheckError
from discreet.output_checking.findings import Severity
from discreet.output_checking.policy import Policy
from discreet.output_checking.stata.names import canonical
from discreet.output_checking.submission import Outcome

__all__ = ["described", "policy_report", "report"]

_SHOWN = (Severity.ERROR, Severity.REFUSED, Severity.REVIEW)
_MOST_LINES = 50
_WORD = re.compile(r"[^\s,:]+")


def report(outcomes: Sequence[Outcome]) -> str:
    """The text for the officer: one paragraph for each file, the gravest findings first."""
    return "\n".join(line for outcome in outcomes for line in _lines(outcome))


def _lines(outcome: Outcome) -> Iterable[str]:
    if outcome.output is None:
        yield f"{outcome.source}: NOT written"
    else:
        kept = "" if outcome.changed else ", as it was before"
        yield f"{outcome.source} -> {outcome.output.name}{kept}"
    edits = outcome.rewriting.edits
    refused = sum(edit.action == "refused" for edit in edits)
    yield (
        f"  {len(edits) - refused} places rewritten, {refused} commented out, "
        f"{outcome.count(Severity.REVIEW)} to review, {outcome.count(Severity.ERROR)} errors"
    )
    told = [each for each in outcome.findings if each.severity in _SHOWN]
    told.sort(key=lambda finding: (-finding.severity.rank, finding.start))
    for finding in told[:_MOST_LINES]:
        yield f"  {finding}".replace("\n", "\n  ")
    if len(told) > _MOST_LINES:
        yield f"  … and {len(told) - _MOST_LINES} more, all of them in the manifest"


def described(outcomes: Sequence[Outcome], policy: Policy) -> dict[str, Any]:
    """The same for programs."""
    return {
        "policy": policy.digest,
        "written": sum(outcome.state == "written" for outcome in outcomes),
        "review": any(outcome.needs_review for outcome in outcomes),
        "files": [outcome.described() for outcome in outcomes],
    }


def policy_report(policy: Policy, name: str | None) -> tuple[str, dict[str, Any]]:
    """What the policy says of one command, with its second words, or of how many commands.

    Args:
        policy: The rules.
        name: The command or an abbreviation of it, also with its second word; None for an
            overview.
    """
    if name is None:
        counts = Counter(verdict.action.value for verdict in policy.commands.values())
        text = [f"{action}: {count} commands" for action, count in sorted(counts.items())]
        lines = [*text, f"digest {policy.digest}"]
        return "\n".join(lines), {"digest": policy.digest, "commands": dict(sorted(counts.items()))}
    words = _WORD.findall(name)
    if not words:
        what, hint = "this is not the name of a command", "as in: --command tabulate"
        raise OutputCheckError(what, code="policy", where="--command", hint=hint)
    full = canonical(words[0]) or words[0]
    verdict = policy.verdict(full, words[1:2])
    rules = [verdict] if words[1:] else [verdict, *policy.second_words(full)]
    plain = [
        {"name": each.name, "action": each.action.value, "safe": each.safe, "reason": each.reason}
        for each in rules
    ]
    lines = [
        f"{each.name}: {each.action.value}{f' by {each.safe}' if each.safe else ''}; {each.reason}"
        for each in rules
    ]
    return "\n".join(lines), {"command": full, "rules": plain}
