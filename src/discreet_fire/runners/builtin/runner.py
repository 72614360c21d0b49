"""Runs do-files on microdata without Stata: the runner `BUILTIN`, and `run_do`.

In: a do-file, data (CONFIDENTIAL), the rules. Out: `RunResult` and a log in which all output
comes from safe commands. The run stops at the first line that cannot be run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.runners.builtin.data.data_files import marks_of, read_data
from discreet_fire.runners.builtin.disclosure.units import number_microdata
from discreet_fire.runners.builtin.interpreter import Interpreter, LoopExit, ProgramEnd
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.steps import steps_of
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.protocol import (
    InternalError,
    RedactedError,
    RunInput,
    RunResult,
    Witness,
    run_program,
)
from discreet_fire.stata import parse_do
from discreet_fire.statistics import SafeLimits
from discreet_fire.texts import SourceText, read_source


class _BuiltinRunner:
    """The small Stata of this project; every output is of a safe command."""

    name = "builtin"
    suffixes = frozenset((".do",))
    captures_universes = True
    own_commands = True
    follows_values = True

    def run(self, program: Path, **given: Unpack[RunInput]) -> RunResult:
        """Run a do-file."""
        source, data = read_source(program), given["data"]
        lines: list[str] = []
        session = Session(
            program.absolute().parent,
            given["limits"],
            entity=given["entity"],
            seed=given["seed"],
            tell=lines.append,
            witness=given["witness"],
            sources={file.name: file.absolute() for file in data},
        )
        if data:
            _load(session, data[0])
        error = _run_steps(source, session, given["seconds"])
        if session.trace.branches and error is not None:
            error = error if isinstance(error, RedactedError) else RedactedError()
        outputs = session.log.outputs
        return RunResult.of(source, data, lines=lines, outputs=outputs, checked=True, error=error)


BUILTIN = _BuiltinRunner()


def run_do(
    path: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    seed: int = 0,
    seconds: float | None = None,
    witness: Witness | None = None,
) -> RunResult:
    """Run a do-file with safe commands in place of Stata's.

    >>> import tempfile, polars
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.do").write_text("count if age > 30")
    >>> polars.DataFrame({"age": range(20, 60)}).write_csv(folder / "a.csv")
    >>> run_do(folder / "a.do", data=folder / "a.csv").log.splitlines()[-3:-1]
    ['. count if age > 30', '  29']
    """
    several = [data] if isinstance(data, str | os.PathLike) else data or []
    return run_program(
        BUILTIN,
        Path(path),
        data=[Path(one) for one in several],
        limits=limits or SafeLimits(),
        entity=entity,
        seed=seed,
        seconds=seconds,
        witness=witness,
    )


def _load(session: Session, file: Path) -> None:
    """Begin with the data of a file."""
    session.data = read_data(file)
    marked, made = marks_of(file)
    session.trace.variables, session.trace.made = set(marked), set(made)
    name = session.entity
    if name is not None and name not in session.data.variables:
        raise OutputCheckError(
            "the data has no such variable to tell persons or firms by",
            code="entity",
            where=f"{file.name}: {name}",
            hint="name a variable with --entity as it is written in the data",
        )
    number_microdata(session, session.data, file.absolute())


def _run_steps(source: SourceText, session: Session, seconds: float | None) -> DiscreetError | None:
    """Run the program; what stopped it."""
    try:
        Interpreter(session, seconds).steps(steps_of(parse_do(source.text)), echo=True)
    except ProgramEnd:
        return None
    except LoopExit:
        return DoError("continue stands in no loop", code=198, line=session.log.line)
    except DiscreetError as error:
        return error
    except Exception as error:  # its text may quote data, and its place tell of it
        return InternalError(type(error).__name__)
    return None
