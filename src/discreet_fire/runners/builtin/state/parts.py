"""The parts of a session, each with one duty. CONFIDENTIAL.

In: what commands put in. Out: `DataMemory` (data), `MacroMemory` (macros and programs),
`ResultMemory` (scalars, stored results, models), `UnitHistory` (whom records and earlier
outputs are about), `RunLog` (what is shown), `ProgramOptions` (what the program has set).

Where single values decide that some steps run, later output may not depend on whether they
did. Each field therefore says what becomes of it afterwards: `restored` ones are put back,
`lasting` ones stay, as the trace marks them or nothing public depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from discreet_fire.runners.builtin.data.dataset import DataSet
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.state.trace import RecordMarks
from discreet_fire.runners.protocol import ShownOutput, Witness
from discreet_fire.statistics import SafeResult

_Part = TypeVar("_Part", bound="SessionPart")
#: How a field is copied that is put back after hidden steps; None if it lasts.
_COPY = "copy"


def restored(*, factory: Callable[[], Any], by: Callable[[Any], Any] = copy) -> Any:
    """A field that is put back after steps that single values have chosen."""
    return field(default_factory=factory, metadata={_COPY: by})


def lasting(*, factory: Callable[[], Any]) -> Any:
    """A field that stays as such steps leave it."""
    return field(default_factory=factory, metadata={_COPY: None})


class SessionPart:
    """A part that can be put back after steps that single values have chosen."""

    def checkpoint(self) -> dict[str, Any]:
        """Copies of all that is put back."""
        kept = {one.name: one.metadata[_COPY] for one in fields(self)}  # type: ignore[arg-type]
        return {name: by(getattr(self, name)) for name, by in kept.items() if by is not None}

    def restore(self, kept: dict[str, Any]) -> None:
        """Go back to a checkpoint."""
        for name, value in kept.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} (confidential)>"


@dataclass_transform(field_specifiers=(restored, lasting))
def _part(cls: type[_Part]) -> type[_Part]:
    """A dataclass each of whose fields says what becomes of it after hidden steps."""
    part = dataclass(repr=False)(cls)
    if missing := [one.name for one in fields(part) if _COPY not in one.metadata]:  # type: ignore[arg-type]
        raise TypeError(f"{cls.__name__}.{missing[0]}: neither restored nor lasting")
    return part


@dataclass(frozen=True)
class SavedData:
    """Data put aside, with the names of variables that rest on single values (confidential)."""

    data: DataSet
    variables: frozenset[str]
    made: frozenset[str] = frozenset()


@_part
class DataMemory(SessionPart):
    """The data in memory and put aside, and the files that a program may name (confidential).

    It reads and writes in its folder, `here` is where it changed to within, and sources may lie
    anywhere. With data that `preserve` put aside goes the depth of the program.
    """

    folder: Path = lasting(factory=Path)
    sources: dict[str, Path] = lasting(factory=dict)
    here: str = lasting(factory=str)
    data: DataSet = lasting(factory=DataSet)
    preserved: list[tuple[int, SavedData]] = restored(factory=list)
    files: dict[Path, SavedData] = restored(factory=dict)

    def path_of(self, name: str, suffix: str = "", *, single: bool) -> Path:
        """A file of the folder that the do-file names; the suffix is for a name without one."""
        text = name.strip().strip('"')
        if suffix and not Path(text.replace("\\", "/")).suffix:
            text += suffix
        if "://" in text or text.startswith(("~", "\\\\")) or "\x00" in text:
            raise DoError("files outside the folder of the program are not opened", code=603)
        DoError.when(single, "the name of a file may not hold single values of the data", code=198)
        home = self.folder.resolve()
        path = (home / self.here / text.replace("\\", "/")).resolve()
        if not path.is_relative_to(home):
            raise DoError("files outside the folder of the program are not opened", code=603)
        return path


@dataclass(frozen=True, repr=False)
class StoredResult:
    """A stored result, and whether it may be shown (confidential)."""

    value: float | str
    safe: bool

    def __repr__(self) -> str:
        return "<Result (confidential)>"


@dataclass(repr=False)
class ProgramFrame:
    """What one running program has of its own (confidential): local macros, the results that it
    gives back, and whether single values of the data may have decided about these.
    """

    local: dict[str, str] = field(default_factory=dict)
    returned: dict[str, StoredResult] = field(default_factory=dict)
    doubted: bool = False


@_part
class MacroMemory(SessionPart):
    """Macros and programs (confidential): the programs that run, the innermost last, global macros,
    how many temporary names were given, and the programs that the do-file has defined.
    """

    frames: list[ProgramFrame] = lasting(factory=lambda: [ProgramFrame()])
    shared: dict[str, str] = lasting(factory=dict)
    temporary: int = lasting(factory=int)
    programs: dict[str, Any] = lasting(factory=dict)

    @property
    def local(self) -> dict[str, str]:
        """Local macros of the program that runs."""
        return self.frame.local

    @property
    def frame(self) -> ProgramFrame:
        """The program that runs."""
        return self.frames[-1]

    @property
    def depth(self) -> int:
        """How many programs are running one inside the other."""
        return len(self.frames)

    def temporary_name(self) -> str:
        """A new name for `tempvar`, `tempname` or `tempfile`."""
        self.temporary += 1
        return f"__{self.temporary:06d}"


@_part
class ResultMemory(SessionPart):
    """What commands store for later ones (confidential).

    Results are of the kinds `r`, `e`, `s`, and `c` for values of the system; `origin` is the
    command that stored each kind. Later models are compared with the `fitted`; the code is `_rc`.
    """

    scalars: dict[str, float | str] = lasting(factory=dict)
    matrices: dict[str, Any] = lasting(factory=dict)
    stored: dict[str, dict[str, StoredResult]] = lasting(
        factory=lambda: {"r": {}, "e": {}, "s": {}, "c": {}}
    )
    origin: dict[str, str] = lasting(factory=dict)
    estimates: dict[str, Any] = lasting(factory=dict)
    model: Any = restored(factory=lambda: None, by=lambda model: model)
    fitted: list[SafeResult] = restored(factory=list)
    code: int = lasting(factory=int)


@_part
class UnitHistory(SessionPart):
    """Whom records are about, and what was asked and shown about them (confidential).

    Of each record that was read, `owners` has the unit's number; `known` has whom those in memory
    are about, with the variables that say so. The key, of all microdata that were read, blurs how
    near a bound may come; `sources` are files with the numbers of their records; `trims` are
    conditions that took away what a few have. For each output, `values` are marks of a variable's
    values, 0 for records that it is not about, and `sets` of which records there were; `close` is
    how many differed from earlier ones by a few.
    """

    records: int = lasting(factory=int)
    sources: dict[Path | None, tuple[int, int]] = lasting(factory=dict)
    owners: Any = lasting(factory=lambda: np.zeros(0, dtype=np.int64))
    known: tuple[Any, Any, Any] | None = lasting(factory=lambda: None)
    key: bytes = restored(factory=bytes)
    trims: set[str] = restored(factory=set)
    values: list[RecordMarks] = lasting(factory=list)
    sets: list[RecordMarks] = lasting(factory=list)
    close: int = lasting(factory=int)


@_part
class RunLog(SessionPart):
    """What is shown with its checks, where in the program and in how many `quietly` it is, and who
    is told: of each line of the log, and of each statistic that can be shown (witness:
    confidential).
    """

    tell: Callable[[str], None] = lasting(factory=lambda: _nowhere)
    witness: Witness | None = lasting(factory=lambda: None)
    outputs: list[ShownOutput] = lasting(factory=list)
    quiet: int = lasting(factory=int)
    line: int = lasting(factory=int)

    @contextmanager
    def quietly(self, more: int) -> Iterator[None]:
        """Be quieter for a while, or not at all as `noisily` wants it (-1)."""
        before = self.quiet
        self.quiet = 0 if more < 0 else before + more
        try:
            yield
        finally:
            self.quiet = before

    def keep(self, result: SafeResult) -> None:
        """Keep an output with its checks."""
        self.outputs.append(ShownOutput(self.line, result.command, result))


def _nowhere(line: str) -> None:
    """Takes a line of the log that nobody wants."""


@_part
class ProgramOptions(SessionPart):
    """What the program has set: random numbers, the default storage type, the last `reshape`."""

    draw: np.random.Generator = restored(factory=np.random.default_rng, by=deepcopy)
    values: dict[str, str] = restored(factory=dict)
