"""What a safe command gives back: the part that may be shown, and why the rest may not.

In: what a command worked out. Out: `SafeResult` with the text and the numbers that may be
published, `Check`s in words, and `OutputEvidence`, which is CONFIDENTIAL and never printed,
written as JSON or pickled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from html import escape
from types import MappingProxyType
from typing import Any, NoReturn

import polars as pl


class CheckVerdict(StrEnum):
    """Verdict of a check, from the best to the worst."""

    #: The rule holds for all that was asked for.
    passed = "pass"
    #: It is shown, and a person should look at it before it leaves the centre.
    review = "review"
    #: The rule is broken; what breaks it is withheld.
    fail = "fail"


_RANK = {verdict: rank for rank, verdict in enumerate(CheckVerdict)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One rule held against one output. May be shown: it never quotes a value or parameter.

    >>> Check(rule="minimum", verdict=CheckVerdict.fail, reason="few cases", where="rent").to_dict()
    {'rule': 'minimum', 'verdict': 'fail', 'reason': 'few cases', 'where': 'rent'}
    """

    rule: str  # short stable name of the rule, for programs
    verdict: CheckVerdict  # what was found
    reason: str  # the same in words
    where: str = ""  # the variable, group or statistic concerned

    def to_dict(self) -> dict[str, str]:
        """The check for JSON."""
        return asdict(self) | {"verdict": str(self.verdict)}


class OutputEvidence(Mapping[str, Any]):
    """True values behind a result, for people inside the centre. CONFIDENTIAL.

    >>> evidence = OutputEvidence(largest=400_000.0)
    >>> evidence, str(evidence), evidence["largest"]
    (<Evidence: confidential>, '<Evidence: confidential>', 400000.0)
    """

    __slots__ = ("_facts",)

    def __init__(self, **facts: Any) -> None:
        self._facts = facts

    def __getitem__(self, name: str) -> Any:
        if name not in self._facts:
            raise KeyError(name)
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return "<Evidence: confidential>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("evidence is confidential and does not leave the process")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SafeResult:
    """The output of a safe command. All but the evidence may be shown.

    >>> result = SafeResult(command="count", shown="  12", stored={"N": 12.0})
    >>> result, result.verdict
    (<SafeResult count: pass>, <CheckVerdict.passed: 'pass'>)
    """

    command: str  # the command as it was asked for
    shown: str  # what may be shown, laid out as the original command does
    frame: pl.DataFrame | None = None  # the same numbers as a table; withheld ones are null
    #: Stored results by their names (`r(mean)` is "mean"); withheld ones are absent
    stored: Mapping[str, float] = field(default_factory=dict)
    checks: Sequence[Check] = ()  # the rules that were held against the output
    evidence: OutputEvidence = field(default_factory=OutputEvidence)  # True values (confidential)

    def __post_init__(self) -> None:
        safe = {name: float(value) for name, value in self.stored.items()}
        object.__setattr__(self, "stored", MappingProxyType(safe))
        object.__setattr__(self, "checks", tuple(self.checks))

    @property
    def verdict(self) -> CheckVerdict:
        """The worst that any check found."""
        return worst(self.checks)

    def to_dict(self) -> dict[str, Any]:
        """All that may be shown, for JSON.

        >>> SafeResult(command="count", shown="  12", stored={"N": 12}).to_dict()["stored"]
        {'N': 12.0}
        """
        rows = [] if self.frame is None else self.frame.to_dicts()
        frame = [{name: _plain(x) for name, x in row.items()} for row in rows]
        return {
            "command": self.command,
            "verdict": str(self.verdict),
            "shown": self.shown,
            "frame": None if self.frame is None else frame,
            "stored": {name: _plain(value) for name, value in self.stored.items()},
            "checks": [check.to_dict() for check in self.checks],
        }

    def __str__(self) -> str:
        return self.shown

    def _repr_html_(self) -> str:
        """The output and its checks as notebooks show them, without the evidence."""
        checks = "".join(
            f"<li><b>{escape(check.verdict)}</b> {escape(check.where)}"
            f"{': ' if check.where else ''}{escape(check.reason)}</li>\n"
            for check in sorted(self.checks, key=lambda each: _RANK[each.verdict], reverse=True)
        )
        listed = f"<ul>\n{checks}</ul>\n" if checks else ""
        return (
            f'<div class="discreet-result">\n<p><code>{escape(self.command)}</code>: '
            f"<b>{escape(self.verdict)}</b></p>\n"
            f'<pre style="overflow-x: auto">{escape(self.shown)}</pre>\n{listed}</div>\n'
        )

    def __repr__(self) -> str:
        name = self.command.split()[0].rstrip(",") if self.command.split() else "command"
        return f"<SafeResult {name}: {self.verdict}>"


def worst(checks: Sequence[Check]) -> CheckVerdict:
    """The worst verdict among checks.

    >>> worst([]).value
    'pass'
    """
    return max(
        (check.verdict for check in checks),
        key=lambda each: _RANK[each],
        default=CheckVerdict.passed,
    )


def _plain(value: Any) -> Any:
    """JSON has no NaN; what is not a number is null there."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
