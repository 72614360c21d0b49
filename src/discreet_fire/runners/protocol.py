"""What every way to run a program takes, gives back and must keep to.

In: a program of a researcher, data (CONFIDENTIAL), the rules of output checking. Out: a
`RunResult`: the log, each output with its checks, what stopped the run. All of it may be shown
once the checks are looked at; only `StatisticShown`, given to a witness, is CONFIDENTIAL.

Rules for every runner; `run_program` holds each run against those marked with *, and the tests
run each runner of the registry against all of them:

1. Only files of the program's folder and `data` are read, only files of that folder written.
2. * Data files have distinct names; a program finds each by its name.
3. `data[0]` is in memory when the program starts.
4. * The head of the log names the program by its digest, and the data files.
5. No clock in the log: equal runs give equal logs.
6. * Where single values decide that the run stops, the log is empty and says no more than
   `RedactedError`; an error that nobody expected is such a stop.
7. * Outputs that come without checks are never a pass.
8. * Who says that all is checked has an output for each line of the log that is no command,
   unless it follows values of the data through the program itself.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack

import polars as pl

from discreet import __version__
from discreet.arrays import IntArray
from discreet.errors import DiscreetError, OutputCheckError
from discreet.files import check_writable, write_text
from discreet_fire.findings import Finding, Severity
from discreet_fire.linked_tables import ShownTable, linked_findings, uncompared
from discreet_fire.statistics import (
    Check,
    CheckVerdict,
    SafeLimits,
    SafeResult,
    borderline_facts,
    worst,
)
from discreet_fire.texts import SourceText, place_of, read_source

_RULE = "-" * 79
_MARK = "run by discreet fire run"


#: How variables of a statistic are about units: all of them in "cells", "each" by itself, each by
#: itself if there are "groups", in "pairs", all "together", or in a "model" with its categories.
Universes = Literal["cells", "each", "groups", "pairs", "together", "model"]


@dataclass(frozen=True, kw_only=True, repr=False)
class StatisticShown:
    """Whom one statistic is about, for whoever keeps a ledger of that (confidential)."""

    line: int  # where it is in the program, or in the file that the program calls
    file: str = ""
    command: str  # name of the safe command
    universes: Universes  # how its variables are about units
    #: Whom each record is about, None where that is not known; None if for no record
    units: list[Any] | None = None
    numbers: IntArray | None = None  # the number of each record, as in the tables; None if unknown
    first: int = 0  # how many records the first data file has; their numbers are the first
    frame: pl.DataFrame = field(default_factory=pl.DataFrame)  # its variables
    groups: tuple[str, ...] = ()  # those that span the output
    categories: frozenset[str] = frozenset()  # those whose values have coefficients of their own
    missing: bool = False  # whether missing values are a group of their own
    #: What it shows over groups of records; None stands for numbers that cannot be followed
    tables: tuple[ShownTable | None, ...] = ()
    left: frozenset[str] = frozenset()  # kinds of figures that it shows, and that are in no table

    @property
    def title(self) -> str:
        """Its place and command."""
        return f"{place_of(self.file, self.line)}, {self.command}"


Witness = Callable[[StatisticShown], None]
#: What stands in place of an output of which nothing is shown.
WITHHELD = "(withheld)"


@dataclass(frozen=True)
class ShownOutput:
    """One piece of output: where it came from and what was found about it."""

    line: int
    command: str
    result: SafeResult
    file: str = ""  # the file that the program calls, if it is there

    @property
    def place(self) -> dict[str, Any]:
        """Where it is, for JSON."""
        return {"line": self.line} | ({"file": self.file} if self.file else {})


class RedactedError(OutputCheckError):
    """A stop that single values of the data decide about: its place would tell them."""

    #: Errors of runners that are so stand for this one.
    redacted = True

    def __init__(
        self,
        what: str = "the program stopped where single values decide; its output is withheld",
        code: str = "do-file",
        hint: str = "look for a statement that uses a maximum, x[17] or a condition on few cases",
    ) -> None:
        super().__init__(what, code=code, hint=hint)


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult:
    """Result of a run; it may be shown once the checks were reviewed."""

    name: str  # name of the program
    log: str
    outputs: tuple[ShownOutput, ...]  # each output with its line and its checks
    checked: bool  # whether all that the log shows is among the outputs
    error: DiscreetError | None  # what stopped the run; None if it came to its end
    linked: tuple[Finding, ...] = ()  # what its tables tell about withheld cells, taken together

    @classmethod
    def of(
        cls,
        program: SourceText,
        data: Sequence[Path],
        *,
        lines: Sequence[str] = (),
        outputs: Sequence[ShownOutput] = (),
        checked: bool = False,
        error: DiscreetError | None = None,
    ) -> RunResult:
        """A result whose log, the lines of the run, has the head of rule 4 and keeps to rule 6."""
        if getattr(error, "redacted", False):
            error = error if isinstance(error, RedactedError) else RedactedError()
            lines, outputs = (), ()
        parts = [] if error is None else [error.where, error.what, error.hint]
        stop = ["", f"*** {'; '.join(filter(None, parts))}"] if parts else []
        log = "\n".join([*_head(program, data), *lines, *stop, _RULE]) + "\n"
        name = program.path.name
        return cls(name=name, log=log, outputs=tuple(outputs), checked=checked, error=error)

    @property
    def verdict(self) -> CheckVerdict:
        """The worst that any check found; what came without checks is no pass."""
        linked = any(one.severity is Severity.REVIEW for one in self.linked)
        checks = [check for one in self.outputs for check in _checks(one)]
        return worst([*checks, *[_UNCHECKED] * (linked or not self.checked)])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings for an officer."""
        findings = [] if self.checked else [_of_check("log", _UNCHECKED)]
        for one in self.outputs:
            broken = (check for check in _checks(one) if check.verdict is not CheckVerdict.passed)
            findings += [_of_check(one.command, check, one.line, one.file) for check in broken]
        findings += self.linked
        if (error := self.error) is not None:
            findings.append(
                Finding(
                    rule="unsupported" if error.code == "unsupported" else "stopped",
                    severity=Severity.ERROR,
                    what=f"the run stopped: {error.what}",
                    line=self.line or 0,
                    hint=error.hint,
                    file=getattr(error, "file", ""),
                )
            )
        return tuple(findings)

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
            "outputs": [one.place | one.result.to_dict() for one in self.outputs],
        }

    def __repr__(self) -> str:
        return f"<RunResult {self.name}: {self.verdict}>"


class RunInput(TypedDict):
    """What a program runs on: microdata (CONFIDENTIAL), of which the first file is in memory when
    it starts; the rules of output checking; the variable that says whom a record is about; where
    random numbers start; how long it may take; who is told whom each statistic is about
    (CONFIDENTIAL).
    """

    data: Sequence[Path]
    limits: SafeLimits
    entity: str | None
    seed: int
    seconds: float | None
    witness: Witness | None


class Runner(Protocol):
    """A way to run programs so that only safe output leaves.

    Attributes:
        name: What it is called.
        suffixes: How names of its programs end, such as `.do`.
        own_commands: Whether it carries out each command itself. Others start a program of the
            system; what holds calls that no rule knows is run there once an officer permits it.
        follows_values: Whether it knows of each text of the log that it rests on no records;
            lines that belong to no output may be checked only then.
    """

    name: str
    suffixes: frozenset[str]
    own_commands: bool
    follows_values: bool

    def run(self, program: Path, **given: Unpack[RunInput]) -> RunResult:
        """Run a program."""
        ...


def run_program(runner: Runner, program: Path, **given: Unpack[RunInput]) -> RunResult:
    """Run a program, and hold the run against the rules for every runner."""
    source, data = read_source(program), given["data"]
    for file in data:
        if not file.is_file():
            raise OutputCheckError("data file not found", code="no-file", where=str(file))
    if len({file.name for file in data}) < len(data):
        raise OutputCheckError("two data files have the same name", code="data-files")
    witness, tables = given["witness"], list[ShownTable]()
    unknown, places = list[str](), set[tuple[str, int]]()

    def note(told: StatisticShown) -> None:
        places.add((told.file, told.line))
        tables.extend(one for one in told.tables if one is not None)
        unknown.extend([told.title] if None in told.tables else ())
        if witness is not None:
            witness(told)

    given["witness"] = note
    until = None if given["seconds"] is None else time.monotonic() + given["seconds"]
    try:
        result = _checked_result(runner, runner.run(program, **given), source, data)
        if getattr(result.error, "redacted", False):
            return result
        linked = linked_findings(tables, limits=given["limits"], until=until)
    except DiscreetError:
        raise
    except Exception as error:  # its text may quote data
        what = f"internal error, please report: {type(error).__name__}"
        hint = "the output is withheld, because single values may have caused the stop"
        return RunResult.of(source, data, error=RedactedError(what, "internal", hint))
    unknown += [
        f"{place_of(one.file, one.line)}, {one.command.partition(',')[0]}"
        for one in result.outputs
        if one.result.frame is not None and (one.file, one.line) not in places
    ]
    if unknown and len(tables) + len(set(unknown)) > 1:
        hint = "check whether they disclose values that another output withholds"
        outputs = f"the numbers of {len(set(unknown))} outputs were not compared with others"
        linked += (uncompared(outputs, unknown, hint),)
    return replace(result, linked=linked)


def _checked_result(
    runner: Runner, result: object, program: SourceText, data: Sequence[Path]
) -> RunResult:
    broken = ""
    if not isinstance(result, RunResult):
        broken = "it gave no result of the run"
    elif not result.log.startswith("".join(f"{line}\n" for line in _head(program, data))):
        broken = "the head of the log does not name the program and the data"
    else:
        bare = RunResult.of(program, data, checked=result.checked, error=result.error)
        more = result.log != bare.log or bool(result.outputs)
        follows = getattr(runner, "follows_values", False) is True
        if getattr(result.error, "redacted", False) and more:
            broken = "something is shown of a run that single values have stopped"
        elif result.checked and not follows and _is_unchecked(result, bare):
            broken = "the log shows more than the outputs that are said to be all of it"
        if not broken:
            return result
    raise OutputCheckError(f"{broken}; nothing is shown", code="runner", where=runner.name)


def _is_unchecked(result: RunResult, bare: RunResult) -> bool:
    """Whether the log has lines without outputs, or a line that no output shows."""
    if not result.outputs:
        return result.log != bare.log
    known = {line for one in result.outputs for line in one.result.shown.splitlines()}
    known |= set(bare.log.splitlines())
    lines = (line for line in result.log.splitlines() if not line.startswith((". ", "> ")))
    return any(line not in known for line in lines if line.strip())


def _head(program: SourceText, data: Sequence[Path]) -> list[str]:
    """What stands above the log; no time, so that equal runs give equal logs."""
    return [
        _RULE,
        f"      name:  {program.path.name}",
        "  log type:  text",
        f". * {_MARK} {__version__}, with safe commands",
        f". * program {program.sha256}",
        *(f". * data {file.name}" for file in data),
        _RULE,
    ]


_UNCHECKED = Check(
    rule="unchecked",
    verdict=CheckVerdict.review,
    reason="the output was not checked when the log was written",
)
_SEVERITIES = {CheckVerdict.review: Severity.REVIEW, CheckVerdict.fail: Severity.INFO}


def _checks(output: ShownOutput) -> Sequence[Check]:
    return output.result.checks or [_UNCHECKED]


def _of_check(command: str, check: Check, line: int = 0, file: str = "") -> Finding:
    severity = Severity.REFUSED if check.rule == "refused" else _SEVERITIES[check.verdict]
    where = f" ({check.where})" if check.where else ""
    what = f"{command.split(',')[0]}: {check.reason}{where}"
    hint = "" if check.verdict is CheckVerdict.review else "withheld"
    return Finding(rule=check.rule, severity=severity, what=what, line=line, hint=hint, file=file)


def write_run(
    result: RunResult,
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    more: Mapping[str, Any] | None = None,
) -> Mapping[str, Path]:
    """Write the log and the checks of a run, each in one step; gives the files by "log" and
    "checks".

    With `overwrite` a log that this program did not make is replaced; `more` is written with the
    checks, such as a sealed mark.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    check_writable(place)
    stem = Path(result.name).stem
    files = {"log": place / f"{stem}.log", "checks": place / f"{stem}.run.json"}
    there = files["log"].exists() and not overwrite
    if there and _MARK.encode() not in files["log"].read_bytes()[:2000]:
        raise OutputCheckError(
            "there is a log that this program did not make",
            code="exists",
            where=str(files["log"]),
            hint="write to another folder with --out, or replace it with --overwrite",
        )
    content = result.to_dict() | dict(more or {})
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(files["checks"], text + "\n")
    write_text(files["log"], result.log)
    return files


#: The file of it beside the files of a submission.
FIGURES = "confidential.json"


def write_confidential(result: RunResult, path: Path, limits: SafeLimits) -> None:
    """Write what officers need for borderline cases, in one step: which rule each variable, group
    or cell breaks, and by which figures. CONFIDENTIAL.
    """
    outputs = []
    for one in result.outputs:
        facts = [fact.to_dict() for fact in borderline_facts(one.result, limits)]
        outputs.append(one.place | {"command": one.result.command, "facts": facts})
    content = {"program": result.name, "confidential": True, "outputs": outputs}
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(path, text + "\n", private=True)
