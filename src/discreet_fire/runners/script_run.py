"""One run of a script in a closed process, whatever its language.

In: a script, data (CONFIDENTIAL), the rules, a plan of its process. Out: a `RunResult`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.runners.asked_statistics import (
    AskedStatistic,
    AskedStatistics,
    BrokenRequestError,
)
from discreet_fire.runners.closed_process import (
    ProcessEnd,
    ProcessLimits,
    ProcessPlan,
    run_closed,
)
from discreet_fire.runners.confinement import PROGRAM
from discreet_fire.runners.exchanged_data import RENAMED, ExchangedData
from discreet_fire.runners.program_folder import program_folder
from discreet_fire.runners.protocol import (
    RedactedError,
    RunInput,
    RunResult,
    StatisticShown,
    Witness,
)
from discreet_fire.runners.script_log import script_log
from discreet_fire.runners.traced_records import DataRecords
from discreet_fire.runners.value_sources import (
    LOST,
    NAMES,
    HandedOver,
    changed,
    parts_for,
    rests_on_few,
)
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
        given, shown = self.given, list[StatisticShown]()
        try:
            end, answered = self._run(plan, given["data"], shown.append)
        except BrokenRequestError:
            return self._stopped("")
        if end.code != 0:
            return self._stopped(end.over)
        answered = self._without_few_sources(plan, answered)
        for one, statistic in zip(answered, shown, strict=True):
            if one.request is not None and given["witness"] is not None:
                given["witness"](statistic)
        log = script_log(end.output, answered, literals)
        return RunResult.of(
            self.source,
            given["data"],
            lines=log.lines,
            outputs=log.outputs,
            checked=log.checked,
            error=None,
        )

    def _run(
        self, plan: ProcessPlan, files: Sequence[Path], witness: Witness | None
    ) -> tuple[ProcessEnd, list[AskedStatistic]]:
        """Run it on files; what it asked for."""
        entity, limits = self.given["entity"], self.given["limits"]
        asked = AskedStatistics(DataRecords(files, entity), limits, entity, witness)
        return run_closed(replace(plan, data=files), asked.serve), asked.answered

    def _without_few_sources(
        self, plan: ProcessPlan, answered: list[AskedStatistic]
    ) -> list[AskedStatistic]:
        """The statistics without those whose values are copies of what few have.

        Where the data do not have all columns of a statistic, the script runs again on other data.
        """
        left = {at: one for at, one in enumerate(answered) if one.has_own_columns}
        if not left:
            return answered
        given, least = self.given, self.given["limits"].minimum
        parts = parts_for(least)
        data = ExchangedData(
            given["data"], given["entity"], parts=parts, least=least, seed=given["seed"]
        )
        reasons: dict[int, str | None] = {}
        for change in RENAMED:
            run = self._again(plan, data, change, left) if left else {}
            for at in list(left):
                if changed(left[at].records, run[at], data.size, data.names):
                    reasons[at] = LOST if run[at] is None else NAMES
                    del left[at]
        last = (*range(parts), "ends", "half", "other half")
        runs = [self._again(plan, data, change, left) for change in last if left]
        for at, one in left.items():
            reasons[at] = rests_on_few(
                one.records, [run[at] for run in runs], data.part, least=least, size=data.size
            )
        return [
            one if (reason := reasons.get(at)) is None else one.withheld(reason)
            for at, one in enumerate(answered)
        ]

    def _again(
        self, plan: ProcessPlan, data: ExchangedData, change: int | str, wanted: Iterable[int]
    ) -> dict[int, HandedOver | None]:
        """What some statistics are about when the script runs on exchanged data."""
        answered: list[AskedStatistic] = []
        with suppress(DiscreetError), TemporaryDirectory(prefix="discreet-data-") as folder:
            answered = self._run(plan, data.written(Path(folder), change), None)[1]
        return {at: answered[at].records if len(answered) > at else None for at in wanted}

    def _stopped(self, over: str) -> RunResult:
        error = ProgramStopError(over)
        data = self.given["data"]
        return RunResult.of(self.source, data, lines=(), outputs=(), checked=False, error=error)
