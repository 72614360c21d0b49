"""The log of a script: what it printed, with safe outputs where their tokens stand.

In: what a program wrote, the statistics that it asked for (CONFIDENTIAL), texts that stand in the
program. Out: lines and outputs for a `RunResult`. Lines of the program itself begin with a bar, so
that none can pass for a command or for safe output. A line that is written in the program as it
is tells nothing by itself; all others are unchecked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from discreet_fire.runners.asked_statistics import AskedStatistic, token
from discreet_fire.runners.protocol import ShownOutput
from discreet_fire.statistics.results import Check, CheckVerdict, SafeResult

_TEXT = Check(
    rule="text", verdict=CheckVerdict.passed, reason="the text stands in the program as it is"
)
_BAR = "| "


@dataclass(kw_only=True, repr=False)
class ScriptLog:
    """Lines and outputs of a log; whether all its lines belong to outputs."""

    lines: list[str] = field(default_factory=list)
    outputs: list[ShownOutput] = field(default_factory=list)
    checked: bool = True


def script_log(
    output: bytes, answered: Sequence[AskedStatistic], literals: Collection[str]
) -> ScriptLog:
    r"""The log of what a script wrote.

    Args:
        output: What it wrote.
        answered: What it asked for, in order.
        literals: Lines that stand in the program as texts.

    >>> done = script_log(b"Table 1\n81250.5\n", (), {"Table 1"})
    >>> done.lines, done.checked
    (['. * text of the program', '| Table 1', '| 81250.5'], False)
    """
    log = ScriptLog()
    tokens = {token(at): one for at, one in enumerate(answered, start=1)}
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    for one, same in groupby(lines, key=tokens.get):
        if one is None:
            _put_text(log, list(same), literals)
            continue
        for _ in same:
            log.lines += [f". {one.result.command}", *one.result.shown.split("\n")]
            log.outputs.append(ShownOutput(one.line, one.result.command, one.result))
    return log


def _put_text(log: ScriptLog, lines: Sequence[str], literals: Collection[str]) -> None:
    """Text of the program between two outputs."""
    if not any(line.strip() for line in lines):
        return
    log.lines.append(". * text of the program")
    for known, part in groupby(lines, key=lambda line: _is_literal(line, literals)):
        shown = [f"{_BAR}{_printable(line)}".rstrip() for line in part]
        log.lines += shown
        if known:
            result = SafeResult(command="text", shown="\n".join(shown), checks=[_TEXT])
            log.outputs.append(ShownOutput(0, "text", result))
        else:
            log.checked = False


def _is_literal(line: str, literals: Collection[str]) -> bool:
    """Whether a line stands in the program, but for the marks that R puts around texts."""
    text = line.strip()
    if not text.isprintable():
        return False
    if text.startswith("[1] "):
        text = text[4:].strip()
    inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    return not inner or inner in literals


def _printable(line: str) -> str:
    return "".join(one if one.isprintable() else " " for one in line.expandtabs())
