"""The state of a run: data, macros, results, what has been shown. CONFIDENTIAL.

In: commands that change it. Out: data for the next command and a log with safe output only.
True results may steer a program, but whatever shows them is stopped: a `Trace` follows
values of the data through macros, scalars and variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.output_checking.running.dataset import DataSet
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.macros import Macros
from discreet.output_checking.running.masking import masked, masked_result
from discreet.output_checking.running.names import SessionNames
from discreet.output_checking.running.scope import Groups, Scope
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

__all__ = ["Kept", "Result", "Session", "Shown", "Trace"]

#: What stands in place of an output of which nothing is shown.
WITHHELD = "(withheld)"


@dataclass(frozen=True, repr=False)
class Result:
    """A stored result, and whether it may be shown (confidential)."""

    value: float | str
    safe: bool

    def __repr__(self) -> str:
        return "<Result (confidential)>"


@dataclass
class Trace:
    """Whether what is being worked out rests on values of the data that may not be shown.

    Args:
        touched: It does, since the last `fresh`.
        macros: Names of local macros (by depth) and global macros that do.
        scalars: Names of scalars and matrices that do.
        variables: Names of variables made from such values.
        labels: Names of value labels whose texts are values of the data.
        names: Names of variables and files that hold such values themselves.
        branches: In how many branches or loops, chosen by such values, the run is.
    """

    touched: bool = False
    macros: set[tuple[int, str]] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    branches: int = 0

    def fresh(self) -> None:
        """Begin with a new statement."""
        self.touched = False


@dataclass(frozen=True)
class Shown:
    """One piece of output: where it came from and what was found about it."""

    line: int
    command: str
    result: SafeResult


@dataclass(frozen=True)
class Kept:
    """Data put aside, with the names of variables that rest on single values (confidential)."""

    data: DataSet
    variables: frozenset[str]


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
        witness: Told of each statistic that is shown: its line and command, whom it is about
            (None if that is not known), and its variables.
        here: The folder that the do-file changed to, within its own.
    """

    folder: Path
    limits: SafeLimits
    entity: str | None = None
    seed: int = 0
    tell: Callable[[str], None] = lambda line: None
    data: DataSet = field(default_factory=DataSet)
    frames: dict[str, DataSet] = field(default_factory=dict)
    preserved: list[tuple[int, Kept]] = field(default_factory=list)
    files: dict[Path, Kept] = field(default_factory=dict)
    sources: dict[str, Path] = field(default_factory=dict)
    witness: Callable[[int, str, list[Any] | None, Any], None] | None = None
    here: str = ""
    locals: list[dict[str, str]] = field(default_factory=lambda: [{}])
    shared: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, float | str] = field(default_factory=dict)
    matrices: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, dict[str, Result]] = field(
        default_factory=lambda: {"r": {}, "e": {}, "s": {}, "c": {}}
    )
    estimates: dict[str, Any] = field(default_factory=dict)
    model: Any = None
    fitted: list[SafeResult] = field(default_factory=list)
    programs: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Result] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    outputs: list[Shown] = field(default_factory=list)
    quiet: int = 0
    line: int = 0
    code: int = 0
    temporary: int = 0
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def __repr__(self) -> str:
        return "<Session (confidential)>"

    # --- what is shown -------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write public text to the log, line by line, unless the program runs quietly."""
        if not self.quiet:
            for line in masked(text, self.trace.names).split("\n"):
                self.tell(line)

    def note(self, text: str) -> None:
        """A note of the runner itself; shown even when the program runs quietly."""
        self.tell(text)

    def show(self, result: SafeResult) -> None:
        """Show a safe result and remember it with its checks."""
        steered = self.trace.branches or self.trace.touched
        if steered and result.shown != WITHHELD:
            result = _with_doubt(result)
        result = masked_result(result, self.trace.names)
        if not self.quiet:
            self.outputs.append(Shown(self.line, result.command, result))
            if result.shown:
                self.write(result.shown)

    def remember(self, result: SafeResult) -> None:
        """Remember checks, of what is not shown or is shown elsewhere."""
        result = masked_result(result, self.trace.names)
        self.outputs.append(Shown(self.line, result.command, result))

    def withhold(self, command: str, rule: str, reason: str) -> None:
        """Say that something is not shown, and remember it."""
        check = Check(rule=rule, verdict=Verdict.fail, reason=reason)
        self.show(SafeResult(command=command, shown=WITHHELD, checks=[check]))

    # --- data ----------------------------------------------------------------------

    def kept(self) -> Kept:
        """A copy of the data to put aside."""
        return Kept(self.data.copy(), frozenset(self.trace.variables))

    def take(self, kept: Kept) -> None:
        """Work on with data that was put aside."""
        self.data = kept.data.copy()
        self.trace.variables |= kept.variables

    def derive(self, name: str, sources: Iterable[str]) -> None:
        """Remember a variable whose sources rest on single values of the data."""
        if self.trace.touched or self.trace.variables.intersection(sources):
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
        public = {} if self.trace.touched else dict(safe or {})
        results = {name: Result(value, safe=False) for name, value in values.items()}
        results.update({name: Result(float(value), safe=True) for name, value in public.items()})
        self.stored[kind] = results

    @property
    def local(self) -> dict[str, str]:
        """Local macros of the program that runs."""
        return self.locals[-1]

    def macros(self) -> Macros:
        """What macros are replaced with now; following values of the data."""
        from discreet.output_checking.running.expanding import TracedMacros

        return TracedMacros.of(self)

    def scope(self, groups: Groups | None = None, *, scalar: bool = False) -> Scope:
        """What expressions are evaluated in.

        Args:
            groups: Groups under `by`.
            scalar: Whether one value is wanted; a variable then gives its first value,
                and using one is remembered as a touch of the data.
        """
        names = SessionNames(self, scalar=scalar)
        return Scope(names, self.data.rows, groups, self.draw)

    def set_local(self, name: str, text: str) -> None:
        """Set a local macro; remembers whether its text rests on values of the data."""
        self.local[name] = text
        self._mark((len(self.locals), name))

    def set_global(self, name: str, text: str) -> None:
        """Set a global macro."""
        self.shared[name] = text
        self._mark((0, name))

    def _mark(self, key: tuple[int, str]) -> None:
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
        if self.trace.touched:
            self.trace.scalars.add(name)
        else:
            self.trace.scalars.discard(name)

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
        home = self.folder.resolve()
        path = (home / self.here / text.replace("\\", "/")).resolve()
        if not path.is_relative_to(home):
            raise DoError("files outside the folder of the program are not opened", code=603)
        return path


def _with_doubt(result: SafeResult) -> SafeResult:
    """The same, to be looked at: values of the data decided whether or how it is shown."""
    doubt = Check(
        rule="flow",
        verdict=Verdict.review,
        reason="single values of the data decided whether or how this is shown",
    )
    return SafeResult(
        command=result.command,
        shown=result.shown,
        frame=result.frame,
        stored=result.stored,
        checks=[*result.checks, doubt],
        evidence=result.evidence,
    )
