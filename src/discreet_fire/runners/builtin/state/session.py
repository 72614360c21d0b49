"""The state of a run: data, macros, results, what has been shown. CONFIDENTIAL.

In: commands that change it. Out: data for the next command and a log with safe output only;
data put aside by `preserve`, taken back when a program or do-file ends. True results may steer
a program, but whatever shows them is stopped: a `Trace` follows values of the data through
macros, scalars and variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet_fire.runners.builtin.data.dataset import DataSet
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.state.trace import EarlierOutputs, Trace, masked, masked_result
from discreet_fire.runners.protocol import ShownOutput, Witness
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.results import Check, CheckVerdict, SafeResult

__all__ = [
    "SavedData",
    "Session",
    "StoredResult",
    "Trace",
    "preserve",
    "restore",
    "restore_left",
]

#: What stands in place of an output of which nothing is shown.
WITHHELD = "(withheld)"


@dataclass(frozen=True, repr=False)
class StoredResult:
    """A stored result, and whether it may be shown (confidential)."""

    value: float | str
    safe: bool

    def __repr__(self) -> str:
        return "<Result (confidential)>"


@dataclass(frozen=True)
class SavedData:
    """Data put aside, with the names of variables that rest on single values (confidential)."""

    data: DataSet
    variables: frozenset[str]
    made: frozenset[str] = frozenset()


@dataclass
class Session:
    """Everything a running do-file can see and change (confidential).

    Args:
        folder: Where the do-file may read and write.
        limits: The rules of output checking.
        entity: The variable that says which person or firm a record belongs to.
        seed: Where random numbers start.
        tell: Takes each line of the log.
        sources: Data files that may be read wherever they lie, by their file names.
        witness: Told of each statistic that is or can be shown.
        here: The folder that the do-file changed to, within its own.
    """

    folder: Path
    limits: SafeLimits
    entity: str | None = None
    seed: int = 0
    tell: Callable[[str], None] = lambda line: None
    data: DataSet = field(default_factory=DataSet)
    preserved: list[tuple[int, SavedData]] = field(default_factory=list)
    files: dict[Path, SavedData] = field(default_factory=dict)
    sources: dict[str, Path] = field(default_factory=dict)
    witness: Witness | None = None
    here: str = ""
    locals: list[dict[str, str]] = field(default_factory=lambda: [{}])
    shared: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, float | str] = field(default_factory=dict)
    matrices: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, dict[str, StoredResult]] = field(
        default_factory=lambda: {"r": {}, "e": {}, "s": {}, "c": {}}
    )
    origin: dict[str, str] = field(default_factory=dict)
    estimates: dict[str, Any] = field(default_factory=dict)
    model: Any = None
    fitted: list[SafeResult] = field(default_factory=list)
    programs: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, StoredResult] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    outputs: list[ShownOutput] = field(default_factory=list)
    quiet: int = 0
    line: int = 0
    code: int = 0
    temporary: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    records: int = 0
    key: bytes = b""
    trims: set[str] = field(default_factory=set)
    differences: EarlierOutputs = field(default_factory=EarlierOutputs)
    record_owners: Any = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    known_owners: tuple[Any, Any, Any] | None = None

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def __repr__(self) -> str:
        return "<Session (confidential)>"

    # --- what is shown -------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write public text to the log, line by line, unless the program runs quietly."""
        if not self.quiet and not self.trace.touched:
            self.note(text)

    def note(self, text: str) -> None:
        """A note of the runner itself; shown even when the program runs quietly."""
        if not self.trace.branches:
            for line in masked(text, self.trace.names).split("\n"):
                self.tell(line)

    def show(self, result: SafeResult) -> None:
        """Show a safe result and remember it with its checks.

        Nothing is shown of what single values decided whether, or about whom, it is shown.
        """
        if self.trace.branches:
            return
        if (self.trace.touched or self.trace.rests(())) and result.shown != WITHHELD:
            result = _unshown(result)
        result = masked_result(result, self.trace.names)
        if not self.quiet:
            self.outputs.append(ShownOutput(self.line, result.command, result))
            if result.shown:
                self.note(result.shown)

    def remember(self, result: SafeResult) -> None:
        """Remember checks, of what is not shown or is shown elsewhere."""
        if not self.trace.branches:
            result = masked_result(result, self.trace.names)
            self.outputs.append(ShownOutput(self.line, result.command, result))

    def withhold(self, command: str, rule: str, reason: str) -> None:
        """Say that something is not shown, and remember it."""
        check = Check(rule=rule, verdict=CheckVerdict.fail, reason=reason)
        self.show(SafeResult(command=command, shown=WITHHELD, checks=[check]))

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

    # --- results and names ---------------------------------------------------------

    def store(
        self, kind: str, values: Mapping[str, float | str], safe: Mapping[str, float] | None = None
    ) -> None:
        """Replace stored results of a kind (`r` or `e`).

        Args:
            kind: `r`, `e` or `s`.
            values: True values by name, for the program's own use.
            safe: Those that may be shown, as the safe command gives them; the value is
                then taken from here. None may be if single values chose what is described.
        """
        public = {} if self.trace.touched or self.trace.hidden else dict(safe or {})
        results = {name: StoredResult(value, safe=False) for name, value in values.items()}
        results.update(
            {name: StoredResult(float(value), safe=True) for name, value in public.items()}
        )
        self.stored[kind] = results
        if not self.trace.branches:
            self.trace.whole.discard(f"{kind}()")

    @property
    def local(self) -> dict[str, str]:
        """Local macros of the program that runs."""
        return self.locals[-1]

    def set_local(self, name: str, text: str) -> None:
        """Set a local macro; remembers whether its text rests on values of the data."""
        self.local[name] = text
        self._mark((len(self.locals), name))

    def set_global(self, name: str, text: str) -> None:
        """Set a global macro."""
        self.shared[name] = text
        self._mark((0, name))

    def _mark(self, key: tuple[int, str]) -> None:
        self.trace.levels.pop(key, None)
        if self.trace.touched:
            self.trace.macros.add(key)
        else:
            self.trace.macros.discard(key)

    def leave_program(self) -> None:
        """Forget the local macros of the program that ends."""
        depth = len(self.locals)
        self.trace.macros = {key for key in self.trace.macros if key[0] != depth}
        self.locals.pop()

    def set_scalar(self, name: str, value: float | str) -> None:
        """Set a scalar."""
        self.scalars[name] = value
        self.trace.mark(self.trace.scalars, name)

    def temporary_name(self) -> str:
        """A new name for `tempvar`, `tempname` or `tempfile`."""
        self.temporary += 1
        return f"__{self.temporary:06d}"

    def path_of(self, name: str, suffix: str = "") -> Path:
        """A file that the do-file names, inside its folder.

        Raises:
            DoError: The name leads out of the folder.
        """
        text = name.strip().strip('"')
        if suffix and not Path(text.replace("\\", "/")).suffix:
            text += suffix
        if "://" in text or text.startswith(("~", "\\\\")) or "\x00" in text:
            raise DoError("files outside the folder of the program are not opened", code=603)
        if self.trace.touched:
            raise DoError("the name of a file may not hold single values of the data", code=198)
        home = self.folder.resolve()
        path = (home / self.here / text.replace("\\", "/")).resolve()
        if not path.is_relative_to(home):
            raise DoError("files outside the folder of the program are not opened", code=603)
        return path


def _unshown(result: SafeResult) -> SafeResult:
    """The same without its output: values of the data decided whether or how it is shown."""
    reason = "single values of the data decided whether or how this is shown"
    check = Check(rule="flow", verdict=CheckVerdict.fail, reason=reason)
    return SafeResult(command=result.command.split()[0], shown=WITHHELD, checks=[check])


def preserve(session: Session) -> None:
    """Put the data aside; each program or do-file may do so once at a time."""
    depth = len(session.locals)
    if session.preserved and session.preserved[-1][0] >= depth:
        raise DoError("already preserved", code=621)
    session.preserved.append((depth, session.kept()))


def restore(session: Session, *, take: bool = True, keep: bool = False) -> None:
    """Take the data back.

    Args:
        session: The session.
        take: Whether to; otherwise what was put aside is only forgotten.
        keep: Whether it stays put aside as well.
    """
    if not session.preserved or session.preserved[-1][0] < len(session.locals):
        raise DoError("nothing to restore", code=622)
    kept = session.preserved[-1][1]
    if not keep:
        session.preserved.pop()
    if take:
        session.take(kept)


def restore_left(session: Session) -> None:
    """Take back what the program that ends has put aside and not taken back."""
    depth = len(session.locals)
    while session.preserved and session.preserved[-1][0] >= depth:
        session.take(session.preserved.pop()[1])
