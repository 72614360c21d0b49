"""The state of a run: data, macros, results, what has been shown. CONFIDENTIAL.

In: commands that change it. Out: data for the next command and a log with safe output only;
data put aside by `preserve`, taken back when a program or do-file ends. True results may steer
a program, but whatever shows them is stopped: a `Trace` follows values of the data through
macros, scalars and variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable
from discreet_fire.runners.builtin.state.parts import (
    DataMemory,
    MacroMemory,
    ProgramFrame,
    ProgramOptions,
    ResultMemory,
    RunLog,
    SavedData,
    SessionPart,
    StoredResult,
    UnitHistory,
)
from discreet_fire.runners.builtin.state.trace import Trace, masked, masked_result
from discreet_fire.runners.protocol import Witness
from discreet_fire.statistics import Check, CheckVerdict, SafeLimits, SafeResult, refused_line

#: What stands in place of an output of which nothing is shown.
WITHHELD = "(withheld)"


class Session:
    """Everything a running do-file can see and change (confidential): the rules, whom a record
    belongs to, and its parts, each with one duty.
    """

    def __init__(
        self,
        folder: Path,
        limits: SafeLimits,
        *,
        entity: str | None = None,
        seed: int = 0,
        tell: Callable[[str], None] = lambda line: None,
        sources: Mapping[str, Path] | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.limits, self.entity = limits, entity
        self.memory = DataMemory(folder, dict(sources or {}))
        self.macros = MacroMemory()
        self.results = ResultMemory()
        self.history = UnitHistory()
        self.trace = Trace()
        self.log = RunLog(tell, witness)
        self.options = ProgramOptions(np.random.default_rng(seed))

    def __repr__(self) -> str:
        return "<Session (confidential)>"

    @property
    def parts(self) -> tuple[SessionPart, ...]:
        """All that may change, but the trace."""
        return (self.memory, self.macros, self.results, self.history, self.log, self.options)

    @property
    def data(self) -> DataSet:
        """The data in memory."""
        return self.memory.data

    @data.setter
    def data(self, data: DataSet) -> None:
        self.memory.data = data

    # --- what is shown -------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write public text to the log, line by line, unless the program runs quietly."""
        if not self.log.quiet and not self.trace.touched:
            self.note(text)

    @contextmanager
    def under(self, limits: SafeLimits) -> Iterator[None]:
        """Other rules for a while."""
        before, self.limits = self.limits, limits
        try:
            yield
        finally:
            self.limits = before

    def note(self, text: str) -> None:
        """A note of the runner itself; shown even when the program runs quietly."""
        if not self.trace.branches:
            for line in masked(text, self.trace.names).split("\n"):
                self.log.tell(line)

    def show(self, result: SafeResult) -> None:
        """Show a safe result and remember it with its checks.

        Nothing is shown of what single values decided whether, or about whom, it is shown.
        """
        if self.trace.branches:
            return
        if (self.trace.touched or self.trace.rests(())) and result.shown != WITHHELD:
            result = _unshown(result)
        result = masked_result(result, self.trace.names)
        if not self.log.quiet:
            self.log.keep(result)
            if result.shown:
                self.note(result.shown)

    def remember(self, result: SafeResult) -> None:
        """Remember checks, of what is not shown or is shown elsewhere."""
        if not self.trace.branches:
            result = masked_result(result, self.trace.names)
            self.log.keep(result)

    def flag(
        self, command: str, rule: str, verdict: CheckVerdict, reason: str, *, shown: str | None
    ) -> None:
        """Show a text with one check, or remember the check of what is not shown (None)."""
        check = Check(rule=rule, verdict=verdict, reason=reason)
        result = SafeResult(command=command, shown=shown or "", checks=[check])
        if shown is None:
            self.remember(result)
        else:
            self.show(result)

    def withhold(self, command: str, rule: str, reason: str) -> None:
        """Say that something is not shown, and remember it."""
        self.flag(command, rule, CheckVerdict.fail, reason, shown=WITHHELD)

    def refuse(self, command: str, reason: str) -> None:
        """Note a command that is never run."""
        self.note(f"{refused_line(self.limits.language)}: {command}")
        self.flag(command, "refused", CheckVerdict.fail, reason, shown=None)

    # --- data ----------------------------------------------------------------------

    def kept(self) -> SavedData:
        """A copy of the data to put aside."""
        trace = self.trace
        return SavedData(self.data.copy(), frozenset(trace.variables), frozenset(trace.made))

    def take(self, kept: SavedData) -> None:
        """Work on with data that was put aside."""
        self.data = kept.data.copy()
        self.trace.variables, self.trace.made = set(kept.variables), set(kept.made)

    def add(self, kept: SavedData) -> None:
        """Note that data that was put aside becomes part of those in memory."""
        self.trace.variables |= kept.variables
        self.trace.made |= kept.made

    def derive(self, name: str, sources: Iterable[str]) -> None:
        """Remember a variable whose sources rest on single values of the data."""
        if self.trace.touched or self.trace.rests(sources):
            self.trace.variables.add(name)

    def put(self, name: str, variable: DataVariable, sources: Iterable[str]) -> None:
        """Set a variable, and remember whether its sources rest on single values of the data."""
        self.data.put(name, variable)
        self.derive(name, sources)

    # --- results and names ---------------------------------------------------------

    def store(
        self,
        kind: str,
        values: Mapping[str, float | str],
        safe: SafeResult | Mapping[str, float] | None = None,
    ) -> None:
        """Replace stored results of a kind (`r`, `e` or `s`): true values, for the program's own
        use.

        Those that may be shown are in `safe`: a result that is shown, or what was worked out of
        such; None if it is withheld, or if single values may have chosen what is described.
        """
        known = safe.stored if isinstance(safe, SafeResult) else safe
        public = {} if self.trace.touched else dict(known or {})
        self.results.stored[kind] = {
            **{name: StoredResult(value, safe=False) for name, value in values.items()},
            **{name: StoredResult(float(value), safe=True) for name, value in public.items()},
        }
        if not self.trace.branches:
            self.trace.whole.discard(f"{kind}()")

    def set_local(self, name: str, text: str, *, held: bool | None = None) -> None:
        """Set a local macro; it is remembered whether its text rests on values of the data.

        Whether it is `held` so is as for the statement unless it is said.
        """
        self.macros.local[name] = text
        self._mark((self.macros.depth, name), held)

    def set_global(self, name: str, text: str) -> None:
        """Set a global macro."""
        self.macros.shared[name] = text
        self._mark((0, name), None)

    def _mark(self, key: tuple[int, str], held: bool | None) -> None:
        self.trace.levels.pop(key, None)
        if self.trace.touched if held is None else held:
            self.trace.macros.add(key)
        else:
            self.trace.macros.discard(key)

    @contextmanager
    def program(self, frame: ProgramFrame) -> Iterator[None]:
        """Run a program or do-file with macros and preserved data of its own."""
        self.macros.frames.append(frame)
        try:
            yield
        finally:
            depth = self.macros.depth
            while self.memory.preserved and self.memory.preserved[-1][0] >= depth:
                self.take(self.memory.preserved.pop()[1])
            self.trace.macros = {key for key in self.trace.macros if key[0] != depth}
            self.macros.frames.pop()

    def set_words(self, words: Sequence[str]) -> None:
        """Set the macros `1`, `2`, … of the program that runs."""
        for number, word in enumerate(words, 1):
            self.set_local(str(number), word)

    def set_scalar(self, name: str, value: float | str) -> None:
        """Set a scalar."""
        self.results.scalars[name] = value
        self.trace.mark(self.trace.scalars, name)

    def path_of(self, name: str, suffix: str = "") -> Path:
        """A file that the do-file names, inside its folder."""
        return self.memory.path_of(name, suffix, single=self.trace.touched)


def _unshown(result: SafeResult) -> SafeResult:
    """The same without its output: values of the data decided whether or how it is shown."""
    reason = "single values of the data decided whether or how this is shown"
    check = Check(rule="flow", verdict=CheckVerdict.fail, reason=reason)
    return SafeResult(command=result.command.split()[0], shown=WITHHELD, checks=[check])
