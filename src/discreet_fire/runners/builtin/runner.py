"""Runs a do-file on microdata without Stata: `run_do`.

In: a do-file, data (CONFIDENTIAL), the rules. Out: `RunResult` and a log in which all output
comes from safe commands. The run stops at the first line that cannot be run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import DiscreetError, OutputCheckError
from discreet.files import check_writable, write_text
from discreet_fire.findings import Finding, Severity
from discreet_fire.runners.builtin.data.data_files import marks_of, read_data
from discreet_fire.runners.builtin.disclosure.units import number_microdata
from discreet_fire.runners.builtin.interpreter import Interpreter, LoopExit, ProgramEnd
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.steps import steps_of
from discreet_fire.runners.builtin.state.session import Session, ShownOutput
from discreet_fire.runners.protocol import StatisticShown
from discreet_fire.stata.parser import parse_do
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.results import CheckVerdict, worst
from discreet_fire.texts import SourceText, read_source

__all__ = ["RunResult", "run_do", "write_run"]

_RULE = "-" * 79
_MARK = "run by discreet fire run"


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult:
    """What a run gave; all of it may be shown once the checks are looked at.

    Args:
        name: Name of the do-file.
        log: The log.
        outputs: Each output with its line and its checks.
        findings: What an officer should look at.
        error: What stopped the run; None if it came to its end.
    """

    name: str
    log: str
    outputs: tuple[ShownOutput, ...]
    findings: tuple[Finding, ...]
    error: DiscreetError | None

    @property
    def verdict(self) -> CheckVerdict:
        """The worst that any check found."""
        return worst([check for one in self.outputs for check in one.result.checks])

    @property
    def line(self) -> int | None:
        """The line that stopped the run."""
        return getattr(self.error, "line", None)

    def to_dict(self) -> dict[str, Any]:
        """The run for JSON; no value of the data but those shown."""
        error = None
        if self.error is not None:
            error = {"code": self.error.code, "what": self.error.what, "line": self.line}
        return {
            "program": self.name,
            "verdict": str(self.verdict),
            "error": error,
            "findings": [one.to_dict() for one in self.findings],
            "outputs": [{"line": one.line, **one.result.to_dict()} for one in self.outputs],
        }

    def __repr__(self) -> str:
        return f"<RunResult {self.name}: {self.verdict}>"


def run_do(
    path: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    seed: int = 0,
    seconds: float | None = None,
    witness: Callable[[StatisticShown], None] | None = None,
) -> RunResult:
    """Run a do-file with safe commands in place of Stata's.

    Args:
        path: The do-file. It reads and writes files of its own folder only.
        data: Microdata. The first file is in memory when the program starts; `use` finds
            each by its file name. CONFIDENTIAL.
        limits: The rules of output checking.
        entity: The variable that says whom a record is about.
        seed: Where random numbers start.
        seconds: How long it may take.
        witness: Told whom each statistic that is or can be shown is about. CONFIDENTIAL.

    >>> import tempfile, polars
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.do").write_text("count if age > 30")
    >>> polars.DataFrame({"age": range(20, 60)}).write_csv(folder / "a.csv")
    >>> run_do(folder / "a.do", data=folder / "a.csv").log.splitlines()[-3:-1]
    ['. count if age > 30', '  29']
    """
    source = read_source(Path(path))
    files = _files(data)
    lines: list[str] = []
    session = Session(
        Path(path).absolute().parent,
        limits or SafeLimits(),
        entity=entity,
        seed=seed,
        tell=lines.append,
        witness=witness,
        sources={file.name: file.absolute() for file in files},
    )
    if files:
        _load(session, files[0])
    error = _run_steps(source, session, seconds)
    if error is not None and (getattr(error, "untold", False) or session.trace.branches):
        lines.clear()
        session.outputs.clear()
        error = error if isinstance(error, _InternalError) else _redacted_stop()
    if error is not None:
        lines += ["", f"*** {'; '.join(_error_texts(error))}"]
    return RunResult(
        name=source.path.name,
        log="\n".join([*_head(source, files), *lines, _RULE]) + "\n",
        outputs=tuple(session.outputs),
        findings=(*_findings(session.outputs), *_stop(error)),
        error=error,
    )


def _files(data: Any) -> list[Path]:
    if data is None:
        return []
    several = [data] if isinstance(data, str | os.PathLike) else list(data)
    files = [Path(one) for one in several]
    for file in files:
        if not file.is_file():
            raise OutputCheckError("there is no such data file", code="no-file", where=str(file))
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise OutputCheckError("two data files have the same name", code="data-files")
    return files


def _load(session: Session, file: Path) -> None:
    """Begin with the data of a file."""
    session.data = read_data(file)
    marked, made = marks_of(file)
    session.trace.variables, session.trace.made = set(marked), set(made)
    _check_entity(session, file)
    number_microdata(session, session.data)


def _check_entity(session: Session, file: Path) -> None:
    name = session.entity
    if name is not None and name not in session.data.variables:
        raise OutputCheckError(
            "the data has no such variable to tell persons or firms by",
            code="entity",
            where=f"{file.name}: {name}",
            hint="name a variable with --entity as it is written in the data",
        )


def _run_steps(source: SourceText, session: Session, seconds: float | None) -> DiscreetError | None:
    """Run the program; what stopped it."""
    try:
        Interpreter(session, seconds).steps(steps_of(parse_do(source.text)), echo=True)
    except ProgramEnd:
        return None
    except LoopExit:
        return DoError("continue stands in no loop", code=198, line=session.line)
    except DiscreetError as error:
        return error
    except Exception as error:  # its text may quote data, and its place tell of it
        return _InternalError(type(error).__name__)
    return None


def _redacted_stop() -> DiscreetError:
    """What is said of a stop that single values decided about: its place would tell them."""
    return OutputCheckError(
        "the program stopped where single values of the data decide; nothing of it is shown",
        code="do-file",
        hint="look for a statement that uses a maximum, x[17] or a condition on few cases",
    )


class _InternalError(OutputCheckError):
    """An error of the runner itself. Whether and where it comes may hang on one value."""

    untold = True

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"internal error, please report: {kind}",
            code="internal",
            hint="nothing of the run is shown, as single values may have led to it",
        )


def _error_texts(error: DiscreetError) -> list[str]:
    place = [error.where] if error.where else []
    return [*place, error.what, *([error.hint] if error.hint else [])]


def _head(source: SourceText, files: Sequence[Path]) -> list[str]:
    """What stands above the log; no time, so that equal runs give equal logs."""
    lines = [
        _RULE,
        f"      name:  {source.path.name}",
        "  log type:  text",
        f". * {_MARK} {__version__}, with safe commands",
        f". * program {source.sha256}",
    ]
    lines += [f". * data {file.name}" for file in files]
    return [*lines, _RULE]


def _findings(outputs: Sequence[ShownOutput]) -> list[Finding]:
    """One finding for each output with a check that does not pass."""
    found = []
    kinds = {CheckVerdict.review: Severity.REVIEW, CheckVerdict.fail: Severity.INFO}
    for one in outputs:
        for check in one.result.checks:
            if check.verdict is CheckVerdict.passed:
                continue
            refused = check.rule == "refused"
            what = f"{one.command.split(',')[0]}: {check.reason}"
            found.append(
                _finding(
                    check.rule,
                    Severity.REFUSED if refused else kinds[check.verdict],
                    f"{what} ({check.where})" if check.where else what,
                    one.line,
                    "" if check.verdict is CheckVerdict.review else "withheld",
                )
            )
    return found


def _stop(error: DiscreetError | None) -> list[Finding]:
    if error is None:
        return []
    rule = "unsupported" if isinstance(error, UnsupportedError) else "stopped"
    line = getattr(error, "line", None) or 0
    return [_finding(rule, Severity.ERROR, f"the run stopped: {error.what}", line, error.hint)]


def _finding(rule: str, severity: Severity, what: str, line: int, hint: str) -> Finding:
    return Finding(
        rule=rule, severity=severity, what=what, line=line, column=1, start=0, end=0, hint=hint
    )


def write_run(
    result: RunResult, folder: str | os.PathLike[str], *, overwrite: bool = False
) -> Mapping[str, Path]:
    """Write the log and the checks of a run, each in one step.

    Args:
        result: The run.
        folder: Where to; it is made if need be.
        overwrite: Whether a log that this program did not make is replaced.

    Returns:
        The files, by "log" and "checks".
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    check_writable(place)
    stem = Path(result.name).stem
    found = {"log": place / f"{stem}.log", "checks": place / f"{stem}.run.json"}
    if not overwrite and found["log"].exists() and not _own(found["log"]):
        raise OutputCheckError(
            "there is a log that this program did not make",
            code="exists",
            where=str(found["log"]),
            hint="write to another folder with --out, or replace it with --overwrite",
        )
    text = json.dumps(result.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
    write_text(found["checks"], text + "\n")
    write_text(found["log"], result.log)
    return found


def _own(log: Path) -> bool:
    with log.open("rb") as file:
        return _MARK.encode() in file.read(2000)
