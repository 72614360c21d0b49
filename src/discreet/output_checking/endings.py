"""Where a do-file ends before its text does; notes often follow.

In: a parsed do-file and findings. Out: the findings, milder where no program comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from discreet.output_checking.findings import Finding, Severity
from discreet.output_checking.stata.model import DoFile

__all__ = ["last_exit", "milder_behind"]

#: Findings that say how a text can be read.
_OF_READING = frozenset((
    "unknown-command", "no-command", "stray-end", "stray-brace", "open-quote", "open-comment",
    "open-brace", "open-block", "open-program", "open-macro", "continued-string", "command-in-text",
))  # fmt: skip


def last_exit(dofile: DoFile) -> int:
    """Where a do-file ends before its text does: at an ``exit`` under no condition."""
    for one in dofile.statements:
        if one.canonical == "exit" and not (
            one.prefixes or one.depth or one.in_program or one.joined or one.block
        ):
            return one.end
    return len(dofile.text)


def milder_behind(findings: Iterable[Finding], end: int) -> Iterator[Finding]:
    """Findings of reading matter less in notes that no program comes to."""
    for one in findings:
        milder = one.start > end and one.rule in _OF_READING
        yield replace(one, severity=Severity.INFO) if milder else one
