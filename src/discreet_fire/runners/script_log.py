"""The log of a script: what it printed, with safe outputs where their tokens stand.

In: what a program wrote, the statistics that it asked for (CONFIDENTIAL), texts that stand in the
program. Out: lines and outputs for a `RunResult`. Lines of the program itself begin with a bar, so
that none can pass for a command or for safe output. A line that is written in the program as it
is tells nothing by itself, as often as it is written there: how often a loop prints it may be a
value. All others are unchecked, and so is an output that one place shows again. Empty lines and
blanks around texts are left out, since their number may be a value, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from discreet_fire.runners.asked_statistics import AskedStatistic, token
from discreet_fire.runners.protocol import ShownOutput
from discreet_fire.statistics import Check, CheckVerdict, SafeResult

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
    output: bytes, answered: Sequence[AskedStatistic], literals: Mapping[str, int]
) -> ScriptLog:
    r"""The log of what a script wrote.

    >>> done = script_log(b"Table 1\n81250.5\n", (), {"Table 1": 1})
    >>> done.lines, done.checked
    (['. * text of the program', '| Table 1', '| 81250.5'], False)
    """
    log = ScriptLog()
    tokens = {token(at): one for at, one in enumerate(answered, start=1)}
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = [line for line in text.split("\n") if line.strip()]
    left, shown = Counter(literals), set[tuple[int, str, str]]()
    for one, same in groupby(lines, key=tokens.get):
        if one is None:
            _put_text(log, list(same), left)
            continue
        for _ in same:
            place_and_text = (one.line, one.result.command, one.result.shown)
            log.checked &= place_and_text not in shown
            shown.add(place_and_text)
            log.lines += [f". {one.result.command}", *one.result.shown.split("\n")]
            log.outputs.append(ShownOutput(one.line, one.result.command, one.result))
    return log


def _put_text(log: ScriptLog, lines: Sequence[str], left: Counter[str]) -> None:
    """Text of the program between two outputs."""
    log.lines.append(". * text of the program")
    judged = []
    for line in lines:
        text = _literal(line)
        left[text] -= 1
        known = left[text] >= 0 and text.isprintable()
        judged.append((known, f"{_BAR}{text if known else _printable(line)}".rstrip()))
    for known, part in groupby(judged, key=itemgetter(0)):
        shown = [line for _, line in part]
        log.lines += shown
        log.checked &= known
        if known:
            result = SafeResult(command="text", shown="\n".join(shown), checks=[_TEXT])
            log.outputs.append(ShownOutput(0, "text", result))


def _literal(line: str) -> str:
    """The text of a line, without the marks that R puts around texts."""
    text = line.strip()
    if text.startswith("[1] "):
        text = text[4:].strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _printable(line: str) -> str:
    return "".join(one if one.isprintable() else " " for one in line.expandtabs())
