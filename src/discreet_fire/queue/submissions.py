"""Submissions: copied, rewritten, run, cleaned, with universes taken down, and then recorded.

In: a `Submission` of a do-file or a folder from a researcher (CONFIDENTIAL). Out: its number in the
queue, with outputs for release and everything an officer must know. It is processed first, then
recorded in one step: an interruption leaves either nothing or all of it. Links, special
files, names that hide something and files too large for programs are refused. A stage is a
function; others can be put in their place.

Whom the statistics of a run are about goes to the ledger: a statistic of one variable is about
those who have a value of it, a model about those who have one of each variable, a correlation of
pairs about those who have both.

A folder that `ResearchSession.finalise` wrote is taken in output by output. Where the data are
named, each call is made again, and an output that comes out otherwise is an error; without data an
officer is told that nobody checked how the outputs were made. Folders of SACRO are not repeated.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import sqlite3
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from discreet.errors import OutputCheckError, Problem
from discreet.files import file_digest, kept_on_disk
from discreet_fire.catalogue import Policy
from discreet_fire.findings import COPYING, Severity
from discreet_fire.linked_tables import LEFT, kinds_left
from discreet_fire.logs import CleaningRules, RunEvidence, clean_log_file
from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue.contents import (
    TABLES,
    StageFinding,
    SubmissionTables,
    content_digest,
    findings_against,
    tables_of_others,
)
from discreet_fire.queue.decisions import standing_of
from discreet_fire.queue.folder import (
    LOG_HELD,
    NOT_RUN,
    RESERVED,
    Queue,
    State,
    events,
    queue_error,
)
from discreet_fire.queue.parts import OutputPart, parts_of
from discreet_fire.research_session import (
    MANIFEST,
    OUTPUTS,
    RESULTS,
    CallResult,
    HandedOutput,
    HandedSession,
    SessionData,
    manifest_of,
    read_folder,
    read_sacro,
    repeated,
)
from discreet_fire.rewriting import rewrite_files
from discreet_fire.runners import (
    FIGURES,
    VARIABLE,
    StatisticShown,
    run_program,
    runner_for,
    runners,
    write_confidential,
    write_run,
)
from discreet_fire.scripts import PACKAGES, is_script
from discreet_fire.statistics import SafeLimits
from discreet_fire.units import UnitKey, read_units

#: Programs and logs are small; what is larger is data.
LARGEST_FILE = 50_000_000
MOST_FILES = 500
_PIECE = 1 << 20
#: Runners that a centre names in its settings, by the suffix of their programs.
_CONFIGURED = {".py": "python", ".r": "r"}


def program_copy(source: Path, target: Path, main: str | None = None) -> Path:
    """Copy a do-file, or a folder with one, into the queue.

    Returns:
        The copy of the do-file.
    """
    if source.is_symlink():
        raise _refused([_problem(source.name, "links are not allowed")])
    if not source.exists():
        raise queue_error("the file does not exist", "submission", str(source))
    target.mkdir(mode=0o700)
    if source.is_dir():
        return _folder(source, target, main)
    if runner_for(source) is None and source.suffix.lower() not in PACKAGES:
        _check_runner(source)
        suffixes = sorted(suffix for one in runners() for suffix in one.suffixes)
        hint = f"submit a file with suffix {' or '.join(suffixes)}, or a folder"
        raise queue_error("not a do-file", "submission", str(source), hint)
    return file_copy(source, target / source.name)


def _check_runner(program: Path) -> None:
    """Say which runner a centre has to name for a program; nothing if it names one, or cannot."""
    name = _CONFIGURED.get(program.suffix.lower())
    if name is not None and program.is_file() and runner_for(program) is None:
        what = f"this centre has no runner for {program.suffix} programs"
        hint = f"write [{name}] with executable in a file, and name the file in {VARIABLE}"
        raise queue_error(what, "runner", str(program), hint)


def file_copy(source: Path, target: Path) -> Path:
    """Copy one ordinary file; an error if it is none, or too large."""
    if (problem := _wrong(source, source.parent)) is not None:
        raise _refused([problem])
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(source, flags)
    except OSError as error:
        message = f"the file cannot be read ({error.strerror})"
        raise queue_error(message, "submission", source.name) from None
    with os.fdopen(handle, "rb") as opened, target.open("xb") as copy:
        status, left = os.fstat(opened.fileno()), LARGEST_FILE  # it may be another one by now
        while stat.S_ISREG(status.st_mode) and left >= 0 and (data := opened.read(_PIECE)):
            left -= copy.write(data)
        if not stat.S_ISREG(status.st_mode) or left < 0:
            message = "the file changed during the submission"
            raise queue_error(message, "submission", source.name, "submit it again")
        copy.flush()
        os.fsync(copy.fileno())
    return target


def _folder(source: Path, target: Path, main: str | None) -> Path:
    files, problems, seen = [], [], 0
    for place, folders, names in os.walk(source):
        folders.sort()
        here = Path(place)
        inside = [here / name for name in sorted([*names, *folders])]
        problems += [one for path in inside if (one := _wrong(path, source)) is not None]
        files += [here / name for name in sorted(names)]
        seen += len(inside)
        if seen > MOST_FILES:
            message = f"the folder has more than {MOST_FILES} files"
            raise queue_error(message, "submission", str(source), "submit programs only")
    if problems:
        raise _refused(problems)
    handed = manifest_of(source)
    if handed is not None:  # outputs, and what was asked for
        programs = [Path(handed)]
    else:
        programs = [
            path.relative_to(source)
            for path in files
            if runner_for(path) is not None or path.suffix.lower() in PACKAGES
        ]
    if main is not None and Path(main) not in programs:
        _check_runner(source / main)
        raise queue_error("do-file not found in the folder", "submission", main)
    if main is None and len(programs) != 1:
        message = "several do-files in the folder" if programs else "no do-file in the folder"
        hint = "select one with --main" if programs else ""
        raise queue_error(message, "submission", str(source), hint)
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file_copy(path, copy)
    return target / (programs[0] if main is None else main)


def _wrong(path: Path, root: Path) -> Problem | None:
    """What speaks against taking a file or folder."""
    if not path.name.isprintable() or "\\" in path.name:
        return Problem("the name contains invisible or misleading characters", path.name.__repr__())
    name = str(path.relative_to(root))
    try:
        status = path.lstat()
    except OSError as error:
        return _problem(name, f"the file cannot be read ({error.strerror})")
    if stat.S_ISLNK(status.st_mode):
        return _problem(name, "links are not allowed")
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return _problem(name, "not an ordinary file")
    large = status.st_size > LARGEST_FILE
    return _problem(name, "the file is too large for a program or a log") if large else None


def _problem(name: str, what: str) -> Problem:
    return Problem(what, name, "submit ordinary files, and add data with --data")


def _refused(problems: list[Problem]) -> OutputCheckError:
    return OutputCheckError.of(problems, "files that are not allowed", code="submission")


@dataclass(frozen=True, kw_only=True)
class Submission:
    """Submission of a researcher, and how to process it."""

    program: Path  # a do-file, or a folder with one
    researcher: str  # who hands it in
    project: str = ""  # what for
    main: str | None = None  # which do-file of the folder is to be run
    data: tuple[Path, ...] = ()  # microdata that it runs on. CONFIDENTIAL
    log: Path | None = None  # the log, if the program ran elsewhere. CONFIDENTIAL
    universes: tuple[Path, ...] = ()  # files of the units that outputs are about. CONFIDENTIAL
    unit: str | None = None  # the variable that says which person or firm a record is about
    policy: Policy | None = None  # what becomes of commands; the rules of the package if None
    limits: SafeLimits = field(default=SafeLimits(), repr=False)  # the rules of output checking
    #: What is taken out of logs
    rules: CleaningRules = field(default_factory=CleaningRules.default, repr=False)
    seconds: float | None = None  # how long the program may run
    #: The submission in whose place it is handed in; None if there is none
    replaces: int | None = None

    def __post_init__(self) -> None:
        if self.log is not None and self.data:
            hint = "give either the data of the run, or the log of a run elsewhere"
            raise queue_error("both a log and data given", "submission", "", hint)
        if self.log is None and not self.data and manifest_of(self.program) is None:
            hint = "add the data with --data, or the log of a run elsewhere with --log"
            raise queue_error("no data and no log given", "submission", "", hint)
        for path in (*self.data, *self.universes, *([] if self.log is None else [self.log])):
            if not path.is_file():
                raise queue_error("file not found", "submission", str(path))


@dataclass(kw_only=True, repr=False)
class SubmissionWork:
    """A submission on its way (confidential)."""

    submission: Submission  # what was submitted
    folder: Path  # where its files are; ``program`` holds the copy of what was submitted
    program: Path  # the do-file, its rewritten form once there is one
    key: UnitKey  # what digests of units are made with
    log: Path | None = None  # the log, once there is one
    #: That this log was checked as it was made, if a run here did so
    evidence: RunEvidence | None = None
    outputs: list[Path] = field(default_factory=list)  # what may be released, once it is approved
    findings: list[StageFinding] = field(default_factory=list)  # what an officer must know
    #: What outputs show over groups; None if nobody knows that
    tables: SubmissionTables | None = None
    #: The single outputs, if a stage knows them; else they are read from the outputs
    parts: list[OutputPart] | None = None
    #: Name and digest of each file of a program that an officer lets run
    permitted: frozenset[tuple[str, str]] = frozenset()
    stopped: bool = False  # whether later stages have nothing to work on
    copy: Path = field(init=False)  # the do-file as it was submitted

    def __post_init__(self) -> None:
        self.copy = self.program

    def note(
        self, stage: str, rule: str, severity: Severity, what: str, hint: str = "",
        *, file: str = "", line: int = 0,
    ) -> None:  # fmt: skip
        """Note something about a file, or the number of an output; else about the program."""
        told = {"line": line, "severity": severity, "rule": rule, "what": what, "hint": hint}
        self.findings.append(StageFinding.of(stage, file or self.program.name, told))

    def stop(self, rule: str, what: str, hint: str) -> None:
        """Note why the program is not run, or its log not taken; nothing comes after that."""
        self.note("run", rule, Severity.ERROR, what, hint)
        self.stopped = True

    def take(self, source: Path) -> Path:
        """Take a file that was handed in as an output."""
        copy = self.folder / "outputs" / source.name
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        copy.write_bytes(source.read_bytes())
        self.outputs.append(copy)
        return copy


Stage = Callable[[SubmissionWork], None]


def rewrite(work: SubmissionWork) -> None:
    """Put safe commands in place of unsafe ones, in do-files and in scripts."""
    if is_script(work.program) or work.program.suffix.lower() == ".do":
        done = rewrite_files([work.program], policy=work.submission.policy)
    else:
        message = "the program uses no safe commands: unsafe ones were not replaced"
        work.note("rewrite", "not-rewritten", Severity.REVIEW, message, "read the program")
        return
    for one in done:
        name = os.path.relpath(one.source, work.folder / "program")
        work.findings += [StageFinding.of("rewrite", name, finding) for finding in one.findings]
    main = done[0]  # the one that was named, or the original of a result that was named
    if main.output is None:
        work.stopped = True
    else:
        work.program = main.output


def run(work: SubmissionWork) -> None:
    """Run the rewritten program on the data, or take the log of a run elsewhere."""
    submission = work.submission
    target = work.folder / "log"
    target.mkdir(mode=0o700)
    if submission.log is not None:
        copying = any(one.rule in COPYING for one in work.findings)
        if copying and work.program.suffix.lower() in PACKAGES and not _permitted(work):
            message = "its log is kept back: statistic on values that were copied from few units"
            hint = "read it and permit it (discreet fire queue permit), then submit it again"
            work.stop(LOG_HELD, message, hint)
            return
        if is_script(work.program) and work.program.suffix.lower() not in PACKAGES:
            message = "it ran elsewhere: the records behind its figures are unknown"
            hint = "submit the script with its data, so that it runs here; or look at each figure"
            work.note("run", "elsewhere", Severity.REVIEW, message, hint)
        work.log = file_copy(submission.log, target / submission.log.name)
        return
    runner = runner_for(work.program)
    if runner is None and work.program.suffix.lower() in PACKAGES:
        message = "it was read, and not run: no runner for programs in SPSS and SAS is installed"
        hint = "run the rewritten program, and submit its listing with --log"
        work.stop("no-runner", message, hint)
        return
    if runner is None:
        raise queue_error("no runner takes this program", "submission", work.program.name)
    unknown = any(
        one.rule in _NOT_KNOWN and one.severity is Severity.REVIEW for one in work.findings
    )
    if unknown and not getattr(runner, "own_commands", False) and not _permitted(work):
        message = "not run: a reviewer must first look at the statements without a rule"
        hint = "read it and permit it (discreet fire queue permit), then submit it again"
        work.stop(NOT_RUN, message, hint)
        return
    limits = submission.limits
    work.tables = SubmissionTables()
    result = run_program(
        runner,
        work.program,
        data=submission.data,
        limits=limits,
        entity=submission.unit,
        seed=0,
        seconds=submission.seconds,
        witness=lambda told: record_tables(work, told),
    )
    name = work.program.name
    work.findings += [StageFinding.of("run", one.file or name, one) for one in result.findings]
    work.log = write_run(result, target)["log"]
    write_confidential(result, work.folder / FIGURES, limits)
    work.evidence = RunEvidence.of(result.log, limits, checked=result.checked)


#: Findings of the rewriter on what may do anything, as no rule knows it.
_NOT_KNOWN = frozenset(("call", "import", "not-rewritten", "package", "text", "unknown-command"))


def _permitted(work: SubmissionWork) -> bool:
    """Whether an officer has permitted exactly these files."""
    home = work.folder / "program"
    files = (path for path in home.rglob("*") if path.is_file())
    return {(str(path.relative_to(home)), file_digest(path)) for path in files} == work.permitted


def clean(work: SubmissionWork) -> None:
    """Take out of the log what tells about single cases."""
    if work.log is None:
        return
    target = work.folder / "outputs"
    target.mkdir(mode=0o700)
    name = work.log.with_stem(work.log.stem.removesuffix("_FiRe") or work.log.stem).name
    rules, evidence = work.submission.rules, work.evidence
    done = clean_log_file(work.log, rules=rules, out=target / name, evidence=evidence)
    head, rule = 0, "-" * 79
    if work.submission.log is None:  # above its log the runner puts lines, which are no doubt
        lines = work.log.read_text(encoding="utf-8").split("\n")[1:60]
        head = lines.index(rule) + 2 if rule in lines else 0
    for finding in done.described["findings"]:
        if finding["rule"] != "unknown-output" or int(finding["line"]) > head:
            work.findings.append(StageFinding.of("clean", name, finding))
    if done.out is not None:
        work.outputs.append(done.out)


def note_universes(work: SubmissionWork) -> None:
    """Take down whom the outputs are about."""
    unit, key = work.submission.unit, work.key
    for path in work.submission.universes:
        work.tables = work.tables or SubmissionTables()
        work.tables.note_units(path.stem, read_units(path, unit=unit, key=key))
    if work.outputs and not work.tables:
        message = "units of the outputs unknown; differences to other outputs are not checked"
        hint = "submit the identifiers of the units with --universe"
        work.note("ledger", "no-universe", Severity.REVIEW, message, hint)


#: What a submission goes through, in order.
STAGES: tuple[Stage, ...] = (rewrite, run, clean, note_universes)


def process(
    submission: Submission,
    folder: Path,
    *,
    key: UnitKey,
    stages: Sequence[Stage] = STAGES,
    permitted: frozenset[tuple[str, str]] = frozenset(),
) -> SubmissionWork:
    """Let a submission go through all stages."""
    copy = program_copy(submission.program, folder / "program", submission.main)
    work = SubmissionWork(
        submission=submission, folder=folder, program=copy, key=key, permitted=permitted
    )
    for stage in stages:
        if not work.stopped:
            stage(work)
    if work.tables is not None:
        for kind, commands in work.tables.kinds.items():
            named = ", ".join(f"{name} ({number})" for name, number in commands.items())
            message = f"{kind} were not compared with other outputs: {named}"
            work.note("ledger", LEFT, Severity.INFO, message)
        data = file_digest(submission.data[0]) if submission.data else ""
        place = folder / TABLES
        place.touch(mode=0o600)
        place.write_bytes(work.tables.written(key, data))
    if not work.outputs:
        message = "no output can be released"
        work.note("queue", "no-output", Severity.ERROR, message, "look at the other findings")
    parts = parts_of(work.outputs, [work.program, copy]) if work.parts is None else work.parts
    work.parts = [replace(one, number=at) for at, one in enumerate(parts, start=1)]
    return work


def record_tables(work: SubmissionWork, told: StatisticShown) -> None:
    """Take down what one statistic shows over which records, or whom it is about."""
    if work.tables is None:
        return
    work.tables.note(told)
    name = told.title
    if told.units is None or None in told.units:
        which = "units" if told.units is None else "units of some records"
        message = f"{name}: {which} unknown; differences to other outputs are not checked"
        work.note(
            "ledger", "no-universe", Severity.REVIEW, message, "name the variable with --entity"
        )
    if told.units is None or (told.tables and None not in told.tables):
        return
    # Variables that have values together in an output that cannot be followed.
    names = [one for one in told.frame.columns if one not in told.groups or told.missing is False]
    widths = {"pairs": (1, 2), "each": (1,)}.get(told.universes, (len(names),))
    units = pl.Series(told.units, strict=False)
    for about in (list(one) for width in widths for one in itertools.combinations(names, width)):
        known = told.frame.select(pl.all_horizontal(pl.lit(True), pl.col(about).is_not_null()))
        kept = units.is_not_null() & (known.to_series() if told.frame.width else True)
        digests = work.key.digests(units.filter(kept).to_list())
        work.tables.note_units(" ".join([name, *about]), digests)


_SEVERITIES = {"review": Severity.REVIEW, "fail": Severity.INFO}


def take_session(work: SubmissionWork) -> None:
    """Copy the outputs of a session, note what was found and said about each, and repeat it."""
    home, outputs = work.folder / "program", work.folder / "outputs"
    handed = read_folder(home)
    if handed.project != work.submission.project:
        message = f"the session is of the project {handed.project!a}"
        hint = "check the project of the submission"
        work.note("session", "project", Severity.REVIEW, message, hint)
    for one in handed.outputs:
        for name in one.files:
            work.take(home / OUTPUTS / name)
        for check in one.checks:
            severity = _SEVERITIES.get(check.verdict, Severity.REVIEW)
            where = f" ({check.where})" if check.where else ""
            hint = "withheld" if severity is Severity.INFO else ""
            _note(work, one, check.rule, severity, f"{check.reason}{where}", hint)
        if one.comment:
            _note(work, one, "comment", Severity.INFO, f"the researcher says: {one.comment}")
        if one.exception:
            message = f"an exception is asked for: {one.exception}"
            hint = "accept it or hold it back"
            _note(work, one, "exception-requested", Severity.REVIEW, message, hint)
    results, work.parts = _repeat(work, handed), []
    for one in handed.outputs:
        # Which variables its files are about is known once they were made here.
        result, title = results.get(one.number), f"{one.name}: {one.call}"
        lines = None if result is None else (one.number, one.number + 1)
        names = None if result is None else frozenset(result.variables)
        files = [outputs / name for name in one.files]
        work.parts += [OutputPart.of_file(path, title, lines, names) for path in files]


def _note(
    work: SubmissionWork,
    one: HandedOutput,
    rule: str,
    severity: Severity,
    what: str,
    hint: str = "",
) -> None:
    what = f"output {one.number}, {one.name}: {what}"
    work.note("session", rule, severity, what, hint, file=MANIFEST, line=one.number)


def _repeat(work: SubmissionWork, handed: HandedSession) -> dict[int, CallResult]:
    """Repeat a session on the data of the centre; the results that are as they were handed in."""
    data = work.submission.data
    if not data:
        message = "nobody repeated the session; its outputs are what the researcher submitted"
        hint = "submit it with --data, and every output is computed again"
        work.note("session", "not-repeated", Severity.REVIEW, message, hint)
        return {}
    if len(data) > 1:
        message = "a session is repeated on one file of data"
        raise queue_error(message, "submission", MANIFEST, "name it with --data")
    unit = work.submission.unit or handed.entity
    if handed.entity != unit:
        message = "the session did not count cases by the variable that the centre names"
        work.note("session", "entity", Severity.REVIEW, message, "begin it with entity=…")
    records = SessionData.of(Path(data[0]), unit)
    done, tables = repeated(handed, records, work.submission.limits)
    same: dict[int, CallResult] = {}
    for again in done:
        one, home = again.handed, work.folder / "outputs"
        files = {name: text.encode() for name, text in again.files.items()}
        if again.result is None:
            _note(work, one, "not-repeated", Severity.ERROR, f"it fails here: {again.failure}")
        elif files != {name: (home / name).read_bytes() for name in one.files}:
            message = "made again on the data of the centre it is another one"
            hint = "other data, other rules, or a changed output"
            _note(work, one, "repeated-differs", Severity.ERROR, message, hint)
        else:
            _note(work, one, "repeated", Severity.INFO, "made again, and the same")
            same[one.number] = again.result
    work.tables = SubmissionTables()
    for one in handed.outputs:
        result = same.get(one.number)
        if result is None or not result.used:  # texts are about nobody knows whom
            continue
        behind, numbers, units = records.taken(result.used, result.where)
        shown = StatisticShown(
            line=one.number,
            command=one.call.method,
            universes=result.about,
            units=units,
            numbers=numbers,
            first=records.frame.height,
            frame=behind.select(list(dict.fromkeys(result.used))),
            groups=result.groups,
            categories=frozenset(result.groups if result.about == "model" else ()),
            missing=result.missing,
            tables=tuple(one.numbers for one in result.linked),
            left=kinds_left(() if result.table is None else result.table.measures),
        )
        record_tables(work, shown)
    for at in tables.unfollowed:
        message = f"output {at}: its counts were not compared with those of other tables"
        work.note("session", "linked-tables", Severity.REVIEW, message, "weighted tables are not")
    work.findings += [StageFinding.of("session", MANIFEST, one) for one in tables.notes()]
    return same


def take_sacro(work: SubmissionWork) -> None:
    """Copy the outputs of a folder of SACRO, and note what it says and what is wrong with it."""
    home = work.folder / "program"
    folder = read_sacro(home)
    work.parts = []
    for at, (name, one) in enumerate(folder.outputs.items(), start=1):
        for file in one.files:
            copy = work.take(home / file.name)
            work.parts.append(OutputPart.of_file(copy, f"{name}: {one.command}"))
        status = [f"{one.status}: {' '.join(one.summary.split())}"] * (one.status != "pass")
        wrong = [message for key, message in folder.wrong if key == name]
        asked = [f"an exception is asked for: {one.exception}"] * bool(one.exception)
        comments = [f"the researcher says: {comment}" for comment in one.comments]
        for rule, severity, messages in (
            ("sacro-status", Severity.REVIEW, status),
            ("sacro-shown", Severity.ERROR, wrong),
            ("exception-requested", Severity.REVIEW, asked),
            ("comment", Severity.INFO, comments),
        ):
            for message in messages:
                what = f"output {name}: {message}"
                work.note("sacro", rule, severity, what, file=RESULTS, line=at)
    message = "another program created and checked the outputs; discreet did not repeat them"
    hint = "look at each output; rows, weights and other tables were not looked at"
    work.note("session", "not-repeated", Severity.REVIEW, message, hint)


#: What a session goes through, in order, and a folder of SACRO.
SESSION_STAGES: tuple[Stage, ...] = (take_session, note_universes)
SACRO_STAGES: tuple[Stage, ...] = (take_sacro, note_universes)


#: Lines of a log that repeat the program or name it.
_ECHO = re.compile(rb"(?:\{com\})?[.>](?: |$)|\s+(?:\{txt\})?(?:name|log|log type|opened on):")


def submit(queue: Queue, submission: Submission, *, stages: Sequence[Stage] | None = None) -> int:
    """Process a submission and put it into the queue.

    Returns:
        Its number.
    """
    researcher = plain_name(submission.researcher)
    project = plain_text(submission.project, "project") if submission.project else ""
    # The minimum of the queue holds for runs, for logs and for what tables tell together.
    limits, rules = submission.limits, submission.rules
    limits = replace(limits, minimum=max(limits.minimum, queue.settings.minimum))
    rules = replace(rules, minimum=max(rules.minimum, limits.minimum))
    submission = replace(
        submission, researcher=researcher, project=project, limits=limits, rules=rules
    )
    if stages is None:
        of_folders = {MANIFEST: SESSION_STAGES, RESULTS: SACRO_STAGES}
        stages = of_folders.get(manifest_of(submission.program) or "", STAGES)
    token = secrets.token_hex(16)
    folder = queue.store(token)
    files, before = [], submission.replaces
    if before is not None and standing_of(queue, before).state is State.permitted:
        files = queue.files(before)
    permitted = frozenset((one.name, one.sha256) for one in files if one.role == "program")
    with queue.at_work():
        folder.mkdir(mode=0o700)
        try:
            work = process(submission, folder, key=queue.units, stages=stages, permitted=permitted)
            known = _numbers(queue)
            if (tables := folder / TABLES).is_file():  # what all tell together
                others, seconds = tables_of_others(queue), submission.seconds
                for one in findings_against(tables, others, limits=limits, seconds=seconds):
                    work.findings.append(StageFinding.of("ledger", work.copy.name, one))
            for path in (*sorted(folder.rglob("*"), reverse=True), folder, folder.parent):
                kept_on_disk(path)  # all files, before the record says so
            with queue.writing():
                if more := sorted(_numbers(queue) - known):
                    message = "its tables were not compared with submission "
                    message += ", ".join(map(str, more))
                    hint, name = "submit it again", work.copy.name
                    work.note("ledger", LEFT, Severity.REVIEW, message, hint, file=name)
                return _enter(queue, work)
        except BaseException:
            count = "SELECT count(*) FROM submissions WHERE token = ?"
            try:
                entered = queue.connection.execute(count, (token,)).fetchone()[0]
            except sqlite3.Error:
                entered = 1  # not known: what is kept too long is removed at the next start
            if not entered:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _numbers(queue: Queue) -> set[int]:
    return {number for (number,) in queue.connection.execute("SELECT id FROM submissions")}


def _enter(queue: Queue, work: SubmissionWork) -> int:
    """Take the submission down, within a transaction."""
    connection, submission, folder = queue.connection, work.submission, work.folder
    researcher = submission.researcher
    for name in (path.name for path in work.outputs):  # to stand beside others, and in one line
        plain = name.isprintable() and "\\" not in name and name == name.strip()
        if name.casefold() in RESERVED or name.startswith(".") or not plain:
            message, hint = (
                "an output of this name cannot be released",
                "rename the log, and submit it again",
            )
            raise queue_error(message, "submission", ascii(name), hint)
    home = folder / "program"
    programs = [path for path in sorted(home.rglob("*")) if path.is_file()]
    files = [("program", str(path.relative_to(home)), path) for path in programs]
    files += [("output", path.name, path) for path in work.outputs]
    rows = [(role, name, file_digest(path), path.stat().st_size) for role, name, path in files]
    fingerprint = _digest([researcher.casefold(), submission.project, *rows])
    query = "SELECT id FROM submissions WHERE fingerprint = ?"
    for (same,) in connection.execute(query, (fingerprint,)).fetchall():
        if not standing_of(queue, same).state.replaceable:
            message, where = "the same was submitted before", f"submission {same}"
            raise queue_error(message, "duplicate", where, "see that submission")
    settings = queue.settings
    _note_replaced(queue, work)
    clean = all(one.severity in (Severity.INFO, Severity.REFUSED) for one in work.findings)
    # Of results alone: a remark, a name or another researcher is no second draw.
    lines = [line for path in work.outputs for line in path.read_bytes().splitlines()]
    figures = _digest([line.hex() for line in lines if not _ECHO.match(line)])
    drawn = clean and queue.drawn(figures, settings.rate)
    needed = settings.clean_approvals if clean and not drawn else settings.approvals
    row = (folder.name, researcher, submission.project, work.copy.name, fingerprint)
    into = "INSERT INTO submissions (token, researcher, project, program, fingerprint)"
    number = connection.execute(f"{into} VALUES (?,?,?,?,?)", row).lastrowid
    assert number is not None
    connection.executemany("INSERT INTO files VALUES (?,?,?,?,?)", [(number, *row) for row in rows])
    connection.executemany(
        "INSERT INTO findings VALUES (?,?,?,?,?,?,?,?)",
        [(number, *one.to_dict().values()) for one in work.findings],
    )
    facts: dict[str, object] = {"needed": needed, "drawn": drawn, "clean": clean}
    facts["content"] = content_digest(connection, number)
    facts["parts"] = [one.to_dict() for one in work.parts or ()]
    facts["replaces"] = submission.replaces
    if (folder / TABLES).is_file():
        facts["tables"] = file_digest(folder / TABLES)
    why = "submitted"
    queue.append("submitted", person=researcher, reason=why, submission=number, payload=facts)
    return int(number)


def _note_replaced(queue: Queue, work: SubmissionWork) -> None:
    """Note what is the same as in the submission that this one replaces, if it may."""
    submission, number = work.submission, work.submission.replaces
    if number is None:
        return
    before, where = standing_of(queue, number), f"submission {number}"
    if not same_person(queue.told(number, "researcher"), submission.researcher):
        raise queue_error("another researcher made that submission", "replaces", where)
    if not before.state.replaceable:
        message = f"what is {before.state.value} is not replaced"
        raise queue_error(message, "replaces", where, "wait until it was decided on")
    old = {one.sha256: one.number for one in before.parts}
    history = [one for one in events(queue.connection, number) if one.kind == before.state.value]
    sentences = [f"it replaces submission {number}, {before.state.value}: {history[-1].reason}"]
    sentences += [
        f"output {one.number} is output {old[one.sha256]} of submission {number}, letter by letter"
        for one in work.parts or ()
        if one.sha256 in old
    ]
    for sentence in sentences:
        work.note("queue", "replaces", Severity.INFO, sentence, file=work.copy.name)


def _digest(plain: list[object]) -> str:
    text = json.dumps(plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
