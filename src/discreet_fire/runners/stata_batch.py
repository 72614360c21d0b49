"""Runs do-files in Stata, with the safe commands of the centre: `StataBatch`.

In: a do-file that `discreet fire pre` has rewritten, data (CONFIDENTIAL), the rules. Out: a
`RunResult` with Stata's log. Stata and the safe commands run in a closed process, which the program
could deceive; so nothing that they say is taken for granted. The safe commands leave evidence: the
records that each was about. From these the runner works the statistic out once more, by the rules
of its own, and finds them in the data files. An output that shows no figure and no word but those
of the runner's own output is checked; all others are for a person.

A program that does not come to its end shows nothing, since values may have stopped it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.catalogue import statistic_row
from discreet_fire.runners.asked_statistics import (
    AskedStatistic,
    AskedStatistics,
    StatisticRequest,
    columns_of,
)
from discreet_fire.runners.closed_process import Place, run_closed
from discreet_fire.runners.confinement import PROGRAM
from discreet_fire.runners.protocol import RunInput, RunResult, ShownOutput, StatisticShown
from discreet_fire.runners.script_run import CentreEngine, ScriptLog, ScriptRun, ScriptRunner
from discreet_fire.statistics import Check, CheckVerdict, SafeResult

_START = "discreet_start.do"
_EVIDENCE = "discreet_evidence"
#: The variable that says where a record stands in its file.
_PLACE = "fdz_place"
_SAFE = re.compile(r"(?:(?:noisily|noi)\s+)?fdz(\w+)\b")
_LOOP_LINE = re.compile(r"\s+\d+\.\s(.*)\Z")
_WORD = re.compile(r"[^\s|+\-]+")
_NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e[+-]?\d+)?\Z")
_QUOTED = re.compile(r'"([^"`]*)"')
_NAMES = re.compile(r"[A-Za-z_]\w*(?: [A-Za-z_]\w*)*\Z")
#: Relative difference of figures that Stata shows with fewer digits.
_CLOSE = 5e-6
_NOT_AGAIN = Check(
    rule="not-again",
    verdict=CheckVerdict.review,
    reason="created by the centre's Stata, and not recomputed from its evidence",
)
#: What is worked out again, with all that the safe command may show.
_STATISTICS = "n mean sd variance sum cv p1 p5 p10 p25 p50 p75 p90 p95 p99"


class StataEngine(CentreEngine):
    """Stata, such as `/usr/local/stata18/stata-mp`."""

    ado: Place  # the folder of the safe commands and their rules


@dataclass(frozen=True)
class StataBatch(ScriptRunner):
    """Runs do-files in Stata."""

    engine: StataEngine

    name = "stata"
    suffixes = frozenset((".do",))

    def result_of(self, script: ScriptRun) -> RunResult:
        """Run a do-file between two marks."""
        mark, given = secrets.token_hex(8), script.given
        start = script.folder / _START
        if start.exists():
            message = f"a file beside the program may not be called {_START}"
            raise OutputCheckError(message, code="program-folder", where=script.name)
        start.write_text(self._start(script, mark), encoding="utf-8")
        log = f"{Path(_START).stem}.log"
        plan = self.plan(
            script,
            ["-b", "do", _START],
            [self.engine.executable, self.engine.ado],
            DISCREET_EVIDENCE=f"{PROGRAM}/{_EVIDENCE}",
            DISCREET_ENTITY=given["entity"] or "",
        )
        end = run_closed(replace(plan, back=(log, _EVIDENCE)))
        lines = _between(script.folder / log, mark, script.name)
        if end.over or lines is None:
            return script.stopped(end.over)
        done = _StataLog(script.source.text, script.folder, self.engine.ado, given).of(lines)
        return script.logged(replace(done, checked=done.checked and bool(done.outputs)))

    def _start(self, script: ScriptRun, mark: str) -> str:
        """The do-file that Stata runs: data, safe commands, then the program between two marks."""
        data = script.given["data"]
        lines = ["version 14", "clear all", "set more off", "set linesize 255"]
        lines += [f'adopath ++ "{self.engine.ado}"', f"set seed {script.given['seed'] % 2**31}"]
        if data:
            name = data[0].name
            load = f'use "{name}", clear'
            if data[0].suffix.lower() == ".csv":
                load = f'import delimited "{name}", clear case(preserve) asdouble'
            elif data[0].suffix.lower() != ".dta":
                hint = "give a .dta or .csv file"
                message = "Stata cannot read data of this kind"
                raise OutputCheckError(message, code="file-kind", where=name, hint=hint)
            lines += [f"quietly {load}", f"quietly generate long {_PLACE} = _n - 1"]
        lines += [f'display "begin {mark}"', f'do "{script.name}"', f'display "end {mark}"']
        return "\n".join([*lines, "exit, clear", ""])


def _between(log: Path, mark: str, name: str) -> list[str] | None:
    """The lines of a log that the program of a name made; None if it did not finish."""
    if not log.is_file():
        return None
    data = log.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")  # of older versions, or what a program printed
    lines = text.replace("\r\n", "\n").split("\n")
    begin, end = f"begin {mark}", f"end {mark}"
    if lines.count(begin) != 1 or lines.count(end) != 1:
        return None
    inside = [line.rstrip() for line in lines[lines.index(begin) + 1 : lines.index(end)]]
    # What Stata says of the two do-files is no output of the program.
    called, last = f'. do "{name}"', f'. display "{end}"'
    while inside and inside[0] in ("", called):
        inside.pop(0)
    while inside and inside[-1] in ("", "end of do-file", last):
        inside.pop()
    return inside


class _StataLog:
    """Puts the log together (confidential)."""

    def __init__(self, program: str, folder: Path, ado: Path, given: RunInput) -> None:
        self._log = ScriptLog()
        self._program = [line.strip() for line in program.splitlines()]
        self._evidence = _Evidence(folder, given)
        self._known = {
            word
            for path in sorted(ado.glob("fdz*.ado"))
            for text in _QUOTED.findall(path.read_text(encoding="utf-8"))
            for word in _WORD.findall(text)
        }

    def of(self, lines: Sequence[str]) -> ScriptLog:
        """Cut the log at the commands that it echoes, and look at what each has shown."""
        command, block, place = "", list[str](), 0
        for line in lines:
            echoed = self._echo(line, place)
            if echoed is None:
                block.append(line)
                continue
            self._output(command, place, block)
            command, block, place = *echoed[:1], [], echoed[1]
            if command:
                self._log.lines.append(f". {command}")
        self._output(command, place, block)
        return self._log

    def _echo(self, line: str, after: int) -> tuple[str, int] | None:
        """A command that a line echoes, and where it stands in the program; None if it is output.

        What looks like an echo and is no line of the program was shown by the program.
        """
        text = line[2:] if line.startswith((". ", "> ")) else None
        if match := _LOOP_LINE.match(line):
            text = match[1]
        if line.rstrip() == ".":
            return "", after
        if text is None or text.strip() not in self._program:
            return None
        places = [at for at, one in enumerate(self._program, 1) if one == text.strip()]
        return text.strip(), next((at for at in places if at > after), places[0])

    def _output(self, command: str, place: int, block: list[str]) -> None:
        shown = [_quiet(line) for line in block]
        while shown and not shown[-1].strip():
            shown.pop()
        if not any(line.strip() for line in shown):
            return
        self._log.lines += shown
        match = _SAFE.match(command)
        if match is None:
            self._log.checked = False
            return
        text, name = "\n".join(shown), match[1]
        again = self._evidence.take(name, place, lambda one: self._agrees(text, one))
        result = SafeResult(command=command, shown=text, checks=[_NOT_AGAIN])
        if again is not None:
            result = replace(again, command=command, shown=text)
        self._log.outputs.append(ShownOutput(place, f"fdz{name}", result))

    def _agrees(self, text: str, result: SafeResult) -> bool:
        """Whether a text has no figure and no word but those of a safe result."""
        own = _WORD.findall(result.shown)
        words = self._known | set(own) | {"."}
        frame = pl.DataFrame() if result.frame is None else result.frame.select(cs.numeric())
        shown = [_number(word) for word in own] + [one for row in frame.rows() for one in row]
        known = np.array([abs(one) for one in shown if one is not None] + [*result.stored.values()])
        for word in _WORD.findall(text):
            value = _number(word)
            if value is None:
                if word not in words:
                    return False
                continue
            decimals = len(word.partition(".")[2].partition("e")[0])
            near = np.abs(known - abs(value)) <= _CLOSE * abs(value)
            near |= (np.abs(known - abs(value)) <= 0.51 * 10.0**-decimals) & (decimals > 0)
            if not near.any():
                return False
        return True


def _quiet(line: str) -> str:
    """Output that does not look like a command."""
    plain = "".join(one if one.isprintable() else " " for one in line.expandtabs()).rstrip()
    return f"| {plain}" if plain.startswith((". ", "> ")) or plain == "." else plain


def _number(word: str) -> float | None:
    return abs(float(word.replace(",", ""))) if _NUMBER.match(word) else None


class _Evidence:
    """What the safe commands say that they were about (confidential)."""

    def __init__(self, folder: Path, given: RunInput) -> None:
        self._folder, self._witness = folder, given["witness"]
        self._digits = given["limits"].digits
        self._asked = AskedStatistics(given["data"], given["limits"], given["entity"])
        #: Statistics that were worked out once more, with their commands
        self._left: list[tuple[str, AskedStatistic]] = []
        for entry in _entries(folder / _EVIDENCE):
            with suppress(DiscreetError, KeyError):
                if (again := self._worked_out(entry)) is not None:
                    self._left.append((entry["command"], again))

    def take(
        self, command: str, line: int, agrees: Callable[[SafeResult], bool]
    ) -> SafeResult | None:
        """The first statistic of a command that agrees with what was shown; None if none does.

        Whom it is about is told to the ledger, and where there is none that it is not known.
        """
        for entry in self._left:
            if entry[0] == command and agrees(entry[1].result):
                self._left.remove(entry)
                self._tell(replace(entry[1].told(self._digits), line=line))
                return entry[1].result
        row = statistic_row(command)
        tables = () if row is not None and row.groups == "nothing" else (None,)
        name = f"fdz{command}"
        self._tell(StatisticShown(line=line, command=name, universes="model", tables=tables))
        return None

    def _tell(self, statistic: StatisticShown) -> None:
        if self._witness is not None:
            self._witness(statistic)

    def _worked_out(self, entry: dict[str, Any]) -> AskedStatistic | None:
        names, by = entry["variables"].split(), entry["by"]
        file = self._folder / f"{_EVIDENCE}_{entry['number']}.dta"
        if not file.is_file() or file.is_symlink():
            return None
        columns = defaultdict(list)
        for one in columns_of(file):
            columns[one.name].append(one)
        command, options = entry["command"], dict[str, Any]()
        if command not in ("summarize", "tabstat", "tabulate"):
            return None
        arguments: list[Any] = names if command == "tabulate" else [names]
        # Of variables with labels the second column holds these.
        frame = {name: columns[name][-1 if command == "tabulate" else 0] for name in names}
        if command == "summarize":
            options["detail"] = True
        elif command == "tabstat":
            options["statistics"] = _STATISTICS
            if by:
                options["by"] = by
                frame[by] = columns[by][-1]
        places = columns[_PLACE][0].cast(pl.Int64).to_numpy() if _PLACE in columns else None
        request = StatisticRequest(
            line=0,
            command=command,
            arguments=arguments,
            options=options,
            frame=pl.DataFrame(list(frame.values())),
            places=places,
        )
        return self._asked.work_out(request)


def _entries(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of evidence; those that are broken are no evidence."""
    if not file.is_file() or file.is_symlink():
        return
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            document = json.loads(line)
            command, number = document["command"], document["number"]
            names, by = document["variables"], document["by"]
            good = isinstance(number, int) and bool(_NAMES.match(names))
            good = good and (not by or bool(_NAMES.match(by)))
        except (ValueError, KeyError, TypeError):
            continue
        if good and isinstance(command, str):
            yield document
