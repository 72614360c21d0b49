"""One run of a script in a closed process, whatever its language.

In: a script, data (CONFIDENTIAL), the rules, a plan of its process. Out: a `RunResult`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import OutputCheckError
from discreet_fire.runners.asked_statistics import AskedStatistics, BrokenRequestError
from discreet_fire.runners.closed_process import ProcessLimits, ProcessPlan, run_closed
from discreet_fire.runners.confinement import PROGRAM
from discreet_fire.runners.program_folder import program_folder
from discreet_fire.runners.protocol import RedactedError, RunInput, RunResult
from discreet_fire.runners.script_log import script_log
from discreet_fire.runners.traced_records import DataRecords
from discreet_fire.texts import SourceText


class ProgramStopError(RedactedError):
    """A program that did not come to its end; values may have stopped it, so nothing is shown."""

    def __init__(self, over: str) -> None:
        ends = {
            "time": "its time was over",
            "output": "it wrote too much",
            "memory": "it used too much memory",
        }
        what = ends.get(over, "it ended with an error")
        OutputCheckError.__init__(
            self,
            f"the program did not come to its end: {what}; nothing of it is shown",
            code="time-limit" if over == "time" else "program",
            hint="values of the data may have led to it; try it on data that are not confidential",
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ScriptRun:
    """A script that is about to run (confidential)."""

    source: SourceText  # the script
    copy: Path  # its copy, in a folder of its own
    given: RunInput  # what it runs on

    @classmethod
    @contextmanager
    def of(cls, source: SourceText, given: RunInput) -> Iterator[ScriptRun]:
        """A run with a folder of its own, which is gone afterwards."""
        with program_folder(source.path, given["data"]) as copy:
            yield cls(source=source, copy=copy, given=given)

    @property
    def name(self) -> str:
        """Name of the script in its folder."""
        return self.copy.name

    @property
    def folder(self) -> Path:
        """Where its files are; it runs on a copy of them."""
        return self.copy.parent

    @property
    def environment(self) -> dict[str, str]:
        """All of its environment; the first data file is named there."""
        data, seed = self.given["data"], str(self.given["seed"])
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": PROGRAM,
            "LANG": "C.UTF-8",
            "DISCREET_SEED": seed,
            "DISCREET_DATA": data[0].name if data else "",
        }

    def within(self, limits: ProcessLimits) -> ProcessLimits:
        """Limits of the centre, with the time that this run was given."""
        seconds = self.given["seconds"]
        return limits if seconds is None else replace(limits, seconds=min(seconds, limits.seconds))

    def result(self, plan: ProcessPlan, literals: Mapping[str, int]) -> RunResult:
        """Run it, and put its log together."""
        given = self.given
        data = DataRecords(given["data"], given["entity"])
        asked = AskedStatistics(data, given["limits"], given["entity"], given["witness"])
        try:
            end = run_closed(plan, asked.serve)
        except BrokenRequestError:
            return self._stopped("")
        if end.code != 0:
            return self._stopped(end.over)
        log = script_log(end.output, asked.answered, literals)
        return RunResult.of(
            self.source,
            given["data"],
            lines=log.lines,
            outputs=log.outputs,
            checked=log.checked,
            error=None,
        )

    def _stopped(self, over: str) -> RunResult:
        error = ProgramStopError(over)
        data = self.given["data"]
        return RunResult.of(self.source, data, lines=(), outputs=(), checked=False, error=error)
